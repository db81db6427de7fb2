/** Taxes, permissions and webhooks of purchase orders over HTTP (rules/billing 2); the rest is in the scenarios. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { amounts } from "./calling.ts"
import {
  type Books,
  everything,
  hire,
  keyed,
  listening,
  needsBoth,
  now,
  openBooks,
  refusal
} from "./billing-black-box.ts"
import type { Body } from "../answers.ts"

const order_costs = ["exchange_rate", "subtotal", "tax_total", "total"]

describe.each(engines)("purchase orders over HTTP on %s", (engine) => {
  let yard: Books
  beforeAll(async () => {
    yard = await openBooks(engine)
  })
  afterAll(() => yard.close())

  describe("a purchase order (rules/billing 2.2, 2.3)", () => {
    it("is refused if it names a deleted opportunity, another's line, or a line without its opportunity", async () => {
      const [job, other] = [await yard.job(), await yard.job()]
      const row = { name: "A row", unit_cost: 1, opportunity_item_id: other.items[0].id }
      for (const opportunity_id of [job.id, undefined])
        expect(
          refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, opportunity_id, items: [row] }))
        ).toEqual([422, "items.0.opportunity_item_id"])
      const { id } = await yard.order({ opportunity_id: other.id, items: [row] })
      expect((await yard.order_of(id)).items[0].opportunity_item_id).toBe(other.items[0].id)
      await yard.remove(`/opportunities/${job.id}`)
      expect(
        refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, opportunity_id: job.id }))
      ).toEqual([...[422, "opportunity_id"]])
    })

    const row = (unit_cost: unknown, more: object = {}): object => ({ name: "A row", unit_cost, ...more })
    it.each(["no class", "a sales tax class only"])("is not taxed for a supplier with %s", async (kind) => {
      const supplier_id = await yard.organisation_of(
        kind === "no class" ? {} : { sale_tax_class_id: yard.organisation }
      )
      expect(amounts(await yard.order({ supplier_id }))).toEqual(["100.00", "0.00", "100.00"])
    })
    it("is taxed by the default classes if no rule joins supplier and class (rules/conventions 17)", async () => {
      expect(amounts(await yard.order({ items: [row("100.00", { tax_class_id: yard.exempt })] }))).toEqual([
        ...["100.00", "20.00", "120.00"]
      ])
    })
  })

  describe("repeated requests (rules/billing 2.1)", () => {
    it("create, send and cancel a purchase order once per idempotency key", async () => {
      const body = { supplier_id: yard.supplier, ...hire, items: [{ name: "Crane", unit_cost: 1 }] }
      const before = (await yard.get("/purchase_orders")).meta.total
      const make = (json: object) => yard.ask("POST", "/purchase_orders", json, keyed("P1"))
      const [first, again] = [await make(body), await make(body)]
      expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
      expect([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]]).toEqual([undefined, "true"])
      const other = await make({ ...body, subject: "Other" })
      expect(refusal(other)).toEqual([409, "idempotency_key"])
      expect((await yard.get("/purchase_orders")).meta.total).toBe(before + 1)
      const path = `/purchase_orders/${first.body.purchase_order.id}`
      for (const action of ["send", "cancel"]) {
        const go = () => yard.ask("POST", `${path}/${action}`, {}, keyed(`P-${action}`))
        const [one, two] = [await go(), await go()]
        expect([one.status, two.status, two.headers["idempotent-replayed"]]).toEqual([200, 200, "true"])
      }
      const refused = () => yard.ask("POST", `${path}/send`, {}, keyed("P-late"))
      expect([(await refused()).status, (await refused()).headers["idempotent-replayed"]]).toEqual([422, "true"])
      expect(refusal(await yard.ask("POST", `${path}/cancel`, {}, keyed("P1")))).toEqual([409, "idempotency_key"])
    })
  })

  describe("permissions and abilities for purchase orders (rules/conventions 11, rules/billing 2.2)", () => {
    const rights = ["view", "create", "edit", "delete", "send", "receive"]
    const draft = async (): Promise<string> => `/purchase_orders/${(await yard.order()).id}`
    const lines = async (path: string) => ({
      lines: (await yard.get(`${path}?include=items`)).purchase_order.items.map(everything)
    })
    const sent = async (): Promise<string> => `/purchase_orders/${(await yard.sent()).id}`
    const cases: ReadonlyArray<Parameters<typeof needsBoth>[2]> = [
      ["list", "GET", async () => (await draft()).replace(/\/\d+$/, ""), "read", "view", 200],
      ["show", "GET", draft, "read", "view", 200],
      [
        "create",
        "POST",
        async () => "/purchase_orders",
        "write",
        "create",
        201,
        () => ({ supplier_id: yard.supplier })
      ],
      ["update", "PUT", draft, "write", "edit", 200, () => ({ subject: "New" })],
      ["delete", "DELETE", draft, "write", "delete", 204],
      ["send", "POST", async () => `${await draft()}/send`, "write", "send", 200, () => ({})],
      [
        ...(["receive", "POST", async () => `${await sent()}/receive`, "write", "receive", 200] as const),
        (path) => lines(path.replace("/receive", ""))
      ],
      ["cancel", "POST", async () => `${await sent()}/cancel`, "write", "edit", 200, () => ({})]
    ]
    it.each(cases.map((one) => ({ name: one[0], one })))(
      "are both needed to $name, and costs are hidden without costs.view",
      async ({ one }) => {
        const done = await needsBoth(yard, ["purchase_orders", rights], one, { besides: ["costs.view"] })
        if (done.status === 204) return
        const order = done.body.purchase_order ?? done.body.purchase_orders[0]
        for (const key of order_costs) expect([key, key in order]).toEqual([key, false])
        expect(order).toMatchObject({ currency_code: "GBP", supplier_id: yard.supplier })
      }
    )
    it.each<[string, ReadonlyArray<number>]>([
      ["Warehouse", [200, 403, 200]],
      ["Operations Manager", [200, 201, 200]],
      ["Admin", [200, 201, 200]],
      ["Sales", [403, 403, 403]],
      ["Read Only", [200, 403, 403]]
    ])("give the role %s the statuses %j for listing, creating and receiving orders", async (role, expected) => {
      const token = await yard.tokenOfRole(role)
      const order = await yard.sent()
      const asked = async (method: string, path: string, json?: object) => yard.ask(method, path, json, { token })
      const list = await asked("GET", "/purchase_orders")
      const made = await asked("POST", "/purchase_orders", { supplier_id: yard.supplier })
      const got = await asked("POST", `/purchase_orders/${order.id}/receive`, { lines: order.items.map(everything) })
      expect([list.status, made.status, got.status]).toEqual(expected)
      if (list.status === 200)
        expect("total" in list.body.purchase_orders[0]).toBe(role === "Admin" || role === "Operations Manager")
    })
  })

  describe("webhooks of purchase orders (rules/billing 2.3)", () => {
    it("contain the full order with costs when it is created, sent, received and cancelled", async () => {
      const kinds = ["created", "sent", "received", "cancelled"].map((name) => `purchase_order.${name}`)
      const { webhook_events } = await yard.get("/webhook_events?per_page=100")
      for (const kind of kinds) expect(webhook_events.map((one: Record<"name", unknown>) => one.name)).toContain(kind)
      const ear = await listening(yard, kinds)
      const rights = ["create", "send", "receive", "view", "edit"].map((name) => `purchase_orders.${name}`)
      const token = await yard.tokenOf(rights, ["*"])
      const asked = async (path: string, json: object) => {
        const got = await yard.ask("POST", `/purchase_orders${path}`, json, { token })
        expect([200, 201], got.text).toContain(got.status)
        return got.body
      }
      const body = { supplier_id: yard.supplier, ...hire, items: [{ product_id: yard.cable, quantity: 2 }] }
      const { id } = (await asked("", body)).purchase_order
      const created = await ear.heard("purchase_order.created")
      expect(Object.keys(created).sort()).toEqual(["data", "event", "timestamp", "type"])
      expect([created.type, created.timestamp]).toEqual(["purchase_order.created", now])
      expect(created.data.purchase_order).toMatchObject({ id, status: "draft", subtotal: "2.50", total: "2.63" })
      expect(created.data.purchase_order.items[0]).toMatchObject({ unit_cost: "1.25", tax_total: "0.13" })
      await asked(`/${id}/send`, {})
      const sent = (await ear.heard("purchase_order.sent")).data.purchase_order
      expect(sent).toMatchObject({ id, status: "sent", sent_at: now, total: "2.63" })
      expect(sent.items[0].unit_cost).toBe("1.25")
      const item_id = sent.items[0].id
      const receipts: Array<number> = []
      for (const fully of [false, true]) {
        const { meta } = await asked(`/${id}/receive`, { lines: [{ item_id, quantity: 1 }] })
        const { data } = await ear.heard("purchase_order.received", (one) => one.fully_received === fully)
        expect(data.receipt).toMatchObject({ id: meta.receipt.id, received_at: now, lines: [{ item_id }] })
        expect(data.purchase_order).toMatchObject({ id, status: fully ? "received" : "partially_received" })
        expect(data.purchase_order.items[0].unit_cost).toBe("1.25")
        receipts.push(data.receipt.id)
      }
      expect([new Set(receipts).size, ear.told("purchase_order.received").length]).toEqual([2, 2])
      const other = (await asked("", body)).purchase_order
      await asked(`/${other.id}/cancel`, { reason: "No" })
      const { data } = await ear.heard("purchase_order.cancelled")
      expect(data.purchase_order).toMatchObject({ id: other.id, status: "cancelled", cancellation_reason: "No" })
      expect(ear.told("purchase_order.created").length).toBe(2)
      await ear.close()
    })
  })

  describe("a receipt (rules/billing 2.3)", () => {
    const crane = (quantity: unknown): object => ({ name: "Crane", quantity, unit_cost: 1 })
    const sent = (...items: ReadonlyArray<object>) => yard.sent({ items })
    const counts = (order: Body["purchase_order"]): ReadonlyArray<unknown> => [
      order.status,
      ...order.items.map((one) => `${one.received_quantity} of ${one.quantity}, ${one.outstanding_quantity} to come`)
    ]

    it("is recorded once per idempotency key", async () => {
      const { id, items } = await sent(crane(4))
      const once = (quantity: number) => yard.receive(id, [{ item_id: items[0].id, quantity }], {}, keyed("R1"))
      const [first, again] = [await once(1), await once(1)]
      expect([first.status, again.status, again.text === first.text]).toEqual([200, 200, true])
      expect(again.headers["idempotent-replayed"]).toBe("true")
      expect((await once(2)).status).toBe(409)
      expect(counts(await yard.order_of(id))[1]).toBe("1.00 of 4.00, 3.00 to come")
    })
  })
})
