/** Purchase orders from outside: rules/billing 2, the rulings, and the interface 2.10, 3.3, 4.12, 5 and 6. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import {
  type Books,
  everything,
  hire,
  keyed,
  listening,
  now,
  openBooks,
  refusal,
  soon,
  sums
} from "./billing-black-box.ts"

const order_costs = ["exchange_rate", "subtotal", "tax_total", "total"]

describe.each(engines)("Purchase orders, on %s", (engine) => {
  let yard: Books
  beforeAll(async () => {
    yard = await openBooks(engine)
  })
  afterAll(() => yard.close())

  describe("A purchase order (rules/billing 2.2, 2.3)", () => {
    it("is numbered in sequence across stores, without gaps for refused or deleted ones", async () => {
      const store = (await yard.made("/stores", { name: "Elsewhere" })).id
      const first = Number((await yard.order()).number)
      expect(refusal(await yard.post("/purchase_orders", {}))[0]).toBe(422)
      const second = await yard.order({ store_id: store })
      expect(Number(second.number)).toBe(first + 1)
      expect((await yard.remove(`/purchase_orders/${second.id}`)).status).toBe(204)
      expect(Number((await yard.order()).number)).toBe(first + 2)
    })

    const item = (more: object): object => ({ items: [{ name: "A row", unit_cost: "1.00", ...more }] })
    it.each<[string, string, object]>([
      ["items that are no list", "items", { items: "all" }],
      ["a row's name of 256 characters", "items.0.name", item({ name: "x".repeat(256) })],
      ["fewer pieces than none", "items.0.quantity", item({ quantity: "-1" })],
      ["pieces that are no number", "items.0.quantity", item({ quantity: "many" })],
      ["a discount below nothing", "items.0.discount_percent", item({ discount_percent: -1 })],
      ["a line of no opportunity", "items.0.opportunity_item_id", item({ opportunity_item_id: 999_999 })],
      ["an unknown custom field", "custom_fields.colour", { custom_fields: { colour: "red" } }]
    ])("is refused for %s", async (_, field, more) => {
      const before = (await yard.get("/purchase_orders")).meta.total
      const [status, ...fields] = refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, ...more }))
      expect([status, fields.includes(field), fields.length <= 2]).toEqual([422, true, true])
      expect((await yard.get("/purchase_orders")).meta.total).toBe(before)
    })
    it("is refused for a deleted opportunity, and for lines of another one or without one", async () => {
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
    it("needs a rate to the base for a currency that is not the base", async () => {
      expect((await yard.put("/currencies/SEK", { is_enabled: true })).status).toBe(200)
      expect(refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, currency: "SEK" }))).toEqual([
        ...[422, "currency"]
      ])
    })

    const row = (unit_cost: unknown, more: object = {}): object => ({ name: "A row", unit_cost, ...more })
    it.each<[string, ReadonlyArray<object>, object, ReadonlyArray<string>]>([
      ["nothing", [], {}, ["0.00", "0.00", "0.00"]],
      ["what is free", [row(0)], {}, ["0.00", "0.00", "0.00"]],
      ["whole numbers are pence", [row(10_000)], {}, ["100.00", "20.00", "120.00"]],
      ["texts are pounds", [row("100")], {}, ["100.00", "20.00", "120.00"]],
      ["two and a half of 10.00", [row("10.00", { quantity: "2.5" })], {}, ["25.00", "5.00", "30.00"]],
      ["half a penny rounds up", [row("0.01", { quantity: "1.5" })], {}, ["0.02", "0.00", "0.02"]],
      ["a discount", [row("33.33", { quantity: 3, discount_percent: "10" })], {}, ["89.99", "18.00", "107.99"]],
      ["a discount of all", [row("33.33", { discount_percent: 100 })], {}, ["0.00", "0.00", "0.00"]],
      ["yen", [row(333)], { currency: "JPY" }, ["333", "67", "400"]],
      ["yen as text", [row("1000")], { currency: "JPY" }, ["1000", "200", "1200"]],
      ["dinars", [row("1.001")], { currency: "KWD" }, ["1.001", "0.200", "1.201"]],
      ["fils", [row(1001)], { currency: "KWD" }, ["1.001", "0.200", "1.201"]]
    ])("comes to: %s", async (_, rows, more, expected) => {
      const items = rows.map((one) => ({ tax_class_id: yard.standard, ...one }))
      const order = await yard.order_of((await yard.order({ items, ...more })).id)
      expect(sums(order)).toEqual(expected)
      const scale = order.currency_code === "JPY" ? 1 : order.currency_code === "KWD" ? 1000 : 100
      const sumOf = (key: string): number =>
        order.items.reduce((sum: number, one: any) => sum + Math.round(Number(one[key]) * scale), 0) / scale
      expect(["subtotal", "tax_total", "total"].map(sumOf)).toEqual(expected.map(Number))
    })
    it("rounds once for each class, and adds the rest to the class's last row", async () => {
      const { id } = await yard.order({
        items: [
          row("10.00", { tax_class_id: yard.reduced }),
          row("33.33", { tax_class_id: yard.standard }),
          row("33.33", { tax_class_id: yard.standard })
        ]
      })
      const { items, ...order } = await yard.order_of(id)
      expect(sums(order)).toEqual(["76.66", "13.83", "90.49"])
      expect(items.map((one: any) => [one.tax_rate, one.tax_total])).toEqual([
        ["5.0000", "0.50"],
        ["20.0000", "6.67"],
        ["20.0000", "6.66"]
      ])
    })
    it.each(["no class", "a class for what it buys of us"])("is not taxed of a supplier with %s", async (kind) => {
      const supplier_id = await yard.organisation_of(
        kind === "no class" ? {} : { sale_tax_class_id: yard.organisation }
      )
      expect(sums(await yard.order({ supplier_id }))).toEqual(["100.00", "0.00", "100.00"])
    })
    it("is taxed by the rule of the default classes where none joins supplier and class (rules/conventions 17)", async () => {
      expect(sums(await yard.order({ items: [row("100.00", { tax_class_id: yard.exempt })] }))).toEqual([
        ...["100.00", "20.00", "120.00"]
      ])
    })

    it("refuses changes for the same reasons as creation", async () => {
      const { id } = await yard.order()
      for (const [field, body] of [
        ["supplier_id", { supplier_id: 999_999 }],
        ["subject", { subject: "x".repeat(256) }],
        ["ends_at", { ends_at: "2026-06-01" }],
        ["items.0.quantity", { items: [row(1, { quantity: 0 })] }]
      ] as const)
        expect(refusal(await yard.put(`/purchase_orders/${id}`, body))).toEqual([422, field])
      expect(await yard.order_of(id)).toMatchObject({ supplier_id: yard.supplier, total: "120.00" })
    })
  })

  describe("A purchase order moves on (rules/billing 2.1)", () => {
    const act = (id: number, name: string, json: object = {}) => yard.post(`/purchase_orders/${id}/${name}`, json)
    const two = { items: [{ name: "Crane", quantity: 2, unit_cost: "100.00" }] }
    const reached: { readonly [status: string]: () => Promise<any> } = {
      draft: () => yard.order(two),
      sent: () => yard.sent(two),
      partially_received: async () => {
        const { id, items } = await yard.sent(two)
        expect((await yard.receive(id, [{ item_id: items[0].id, quantity: 1 }])).status).toBe(200)
        return yard.order_of(id)
      },
      received: () => yard.received(two),
      cancelled: async () => {
        const { id } = await yard.order(two)
        expect((await act(id, "cancel")).status).toBe(200)
        return yard.order_of(id)
      }
    }
    const names: { readonly [status: string]: string } = {
      ...{ draft: "Draft", sent: "Sent", partially_received: "Partially Received", received: "Received" },
      cancelled: "Cancelled"
    }
    const moves: { readonly [status: string]: { readonly [action: string]: string | number } } = {
      draft: { update: "draft", delete: 204, send: "sent", receive: 422, cancel: "cancelled" },
      sent: { update: 422, delete: 422, send: 422, receive: "received", cancel: "cancelled" },
      partially_received: { update: 422, delete: 422, send: 422, receive: "received", cancel: 422 },
      received: { update: 422, delete: 422, send: 422, receive: 422, cancel: 422 },
      cancelled: { update: 422, delete: 422, send: 422, receive: 422, cancel: 422 }
    }
    it.each(
      Object.entries(moves).flatMap(([status, actions]) =>
        Object.entries(actions).map(([action, to]) => ({ status, action, to }))
      )
    )("$status, $action: $to", async ({ status, action, to }) => {
      const { id, number, items, ...order } = await reached[status]!()
      expect([order.status, order.status_name]).toEqual([status, names[status]])
      const lines = [{ item_id: (items ?? (await yard.order_of(id)).items)[0].id, quantity: status === "sent" ? 2 : 1 }]
      const got =
        action === "update"
          ? await yard.put(`/purchase_orders/${id}`, { subject: "New" })
          : action === "delete"
            ? await yard.remove(`/purchase_orders/${id}`)
            : await act(id, action, action === "receive" ? { lines } : {})
      if (to === 204) return expect(got.status).toBe(204)
      if (to === 422) {
        expect(refusal(got)).toEqual([422, "status"])
        return expect((await yard.order_of(id)).status).toBe(status)
      }
      expect([got.status, got.body.purchase_order.status, got.body.purchase_order.number]).toEqual([200, to, number])
      expect((await yard.order_of(id)).status).toBe(to)
    })
    it("is created, sent and cancelled once per idempotency key, and the answer replayed", async () => {
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

  describe("Permissions for purchase orders (interface 5, rules/billing 2.2)", () => {
    const rights = ["view", "create", "edit", "delete", "send", "receive"].map((name) => `purchase_orders.${name}`)
    const abilities = ["purchase_orders:read", "purchase_orders:write"]
    const draft = async (): Promise<string> => `/purchase_orders/${(await yard.order()).id}`
    const lines = async (path: string) => ({
      lines: (await yard.get(`${path}?include=items`)).purchase_order.items.map(everything)
    })
    const sent = async (): Promise<string> => `/purchase_orders/${(await yard.sent()).id}`
    type Case = readonly [string, string, () => Promise<string>, string, string, number, ((path: string) => any)?]
    const cases: ReadonlyArray<Case> = [
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
    it.each(cases.map((one) => ({ name: one[0], one })))("$name", async ({ one }) => {
      const [, method, at, able, permission, status, json] = one
      const [ability, right] = [`purchase_orders:${able}`, `purchase_orders.${permission}`]
      const path = await at()
      const body = await json?.(path)
      const asked = async (held: ReadonlyArray<string>, can: ReadonlyArray<string>) =>
        yard.ask(method, path, body, { token: await yard.tokenOf(held, can) })
      const others = rights.filter((name) => name !== right)
      expect((await asked([...others, "costs.view"], ["*"])).status).toBe(403)
      const unable = await asked(
        rights,
        abilities.filter((name) => name !== ability)
      )
      expect(unable.status).toBe(403)
      const done = await asked([right], [ability])
      expect(done.status, done.text.slice(0, 300)).toBe(status)
      if (status === 204) return
      const order = done.body.purchase_order ?? done.body.purchase_orders[0]
      for (const key of order_costs) expect([key, key in order]).toEqual([key, false])
      expect(order).toMatchObject({ currency_code: "GBP", supplier_id: yard.supplier })
      expect((await yard.ask(method, path, body, { token: null })).status).toBe(401)
    })
    it("a missing order is 404, even to users without permissions", async () => {
      const token = await yard.tokenOf([], ["products:read"])
      for (const path of ["/purchase_orders/999999", "/purchase_orders/abc"])
        expect((await yard.ask("GET", path, undefined, { token })).status).toBe(404)
      for (const action of ["send", "receive", "cancel"])
        expect((await yard.ask("POST", `/purchase_orders/999999/${action}`, {}, { token })).status).toBe(404)
    })
    it.each<[string, ReadonlyArray<number>]>([
      ["Warehouse", [200, 403, 200]],
      ["Operations Manager", [200, 201, 200]],
      ["Admin", [200, 201, 200]],
      ["Sales", [403, 403, 403]],
      ["Read Only", [200, 403, 403]]
    ])("the role %s lists, creates and receives: %j (rules/conventions 11)", async (role, expected) => {
      const email = `${role.replaceAll(" ", "")}@example.com`
      const user = await yard.made("/users", { name: role, email, roles: [role], active: true })
      const token = (await yard.made("/tokens", { name: role, abilities: ["*"], user_id: user.id })).secret
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

  describe("Webhooks and activity of purchase orders (rules/billing 2.3, interface 6)", () => {
    it("subscribers receive creation, sending, each receipt and cancellation, each with the full order and its costs", async () => {
      const kinds = ["created", "sent", "received", "cancelled"].map((name) => `purchase_order.${name}`)
      const { webhook_events } = await yard.get("/webhook_events?per_page=100")
      for (const kind of kinds) expect(webhook_events.map((one: any) => one.name)).toContain(kind)
      const ear = await listening(yard, kinds)
      const rights = ["create", "send", "receive", "view", "edit"].map((name) => `purchase_orders.${name}`)
      const token = await yard.tokenOf(rights, ["*"])
      const asked = async (path: string, json: object): Promise<any> => {
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
    it("nothing is published for refused requests", async () => {
      const ear = await listening(yard, ["*"])
      const { id } = await yard.order({ items: [] })
      expect((await yard.post(`/purchase_orders/${id}/send`)).status).toBe(422)
      await yard.order()
      await expect.poll(() => ear.told("purchase_order.created").length, soon).toBe(2)
      expect(ear.told("purchase_order.sent").length).toBe(0)
      await ear.close()
    })
  })

  describe("A receipt (rules/billing 2.3)", () => {
    const crane = (quantity: unknown): object => ({ name: "Crane", quantity, unit_cost: 1 })
    const sent = (...items: ReadonlyArray<object>): Promise<any> => yard.sent({ items })
    const counts = (order: any): ReadonlyArray<unknown> => [
      order.status,
      ...order.items.map(
        (one: any) => `${one.received_quantity} of ${one.quantity}, ${one.outstanding_quantity} to come`
      )
    ]

    it("of a part leaves the rest outstanding, any number of times", async () => {
      const { id, items } = await sent(crane("2.5"), crane(1))
      const one = async (item: any, quantity: unknown) =>
        (await yard.receive(id, [{ item_id: item.id, quantity }])).body.purchase_order
      const first = await one(items[0], "1.25")
      expect(counts(first)).toEqual(["partially_received", "1.25 of 2.50, 1.25 to come", "0.00 of 1.00, 1.00 to come"])
      expect([first.received_at, first.status_name]).toEqual([null, "Partially Received"])
      const second = await one(items[1], 1)
      expect(counts(second)).toEqual(["partially_received", "1.25 of 2.50, 1.25 to come", "1.00 of 1.00, 0.00 to come"])
      const over = await yard.receive(id, [{ item_id: items[0].id, quantity: "1.26" }])
      expect(refusal(over)).toEqual([422, "lines.0.quantity"])
      yard.setClock("2026-06-19T08:00:00.000Z")
      const last = await one(items[0], "1.25")
      yard.setClock(now)
      expect([...counts(last), last.received_at]).toEqual([
        ...["received", "2.50 of 2.50, 0.00 to come", "1.00 of 1.00, 0.00 to come", "2026-06-19T08:00:00.000Z"]
      ])
    })
    it.each<[string, string, unknown, object]>([
      ["no lines", "lines", undefined, {}],
      ["lines that are no list", "lines", "all", {}],
      ["a row that is not there", "lines.0.item_id", [{ item_id: 999_999, quantity: 1 }], {}],
      ["what is no number", "lines.0.quantity", [{ quantity: "some" }], {}],
      ["serial numbers that are no list", "lines.0.serial_numbers", [{ quantity: 1, serial_numbers: "T-1" }], {}],
      ["more serial numbers than pieces", "lines.0.serial_numbers", [{ quantity: 1, serial_numbers: ["A", "B"] }], {}],
      ["a time that is none", "received_at", [{ quantity: 1 }], { received_at: "today" }],
      ["a reference of 256 characters", "reference", [{ quantity: 1 }], { reference: "x".repeat(256) }]
    ])("of %s is refused, and nothing is received", async (_, field, lines, more) => {
      const { id, items } = await sent({ product_id: yard.lamp, quantity: 2 })
      const named = Array.isArray(lines) ? lines.map((one) => ({ item_id: items[0].id, ...one })) : lines
      const got = await yard.receive(id, named, more)
      expect([got.status, Object.keys(got.body.errors)[0]?.startsWith(field)], got.text).toEqual([422, true])
      expect(counts(await yard.order_of(id))).toEqual(["sent", "0.00 of 2.00, 2.00 to come"])
    })
    it("under an idempotency key happens once", async () => {
      const { id, items } = await sent(crane(4))
      const once = (quantity: number) => yard.receive(id, [{ item_id: items[0].id, quantity }], {}, keyed("R1"))
      const [first, again] = [await once(1), await once(1)]
      expect([first.status, again.status, again.text === first.text]).toEqual([200, 200, true])
      expect(again.headers["idempotent-replayed"]).toBe("true")
      expect((await once(2)).status).toBe(409)
      expect(counts(await yard.order_of(id))[1]).toBe("1.00 of 4.00, 3.00 to come")
    })
    it("of a serial number already received is refused, and a new one accepted", async () => {
      const { id, items } = await sent({ product_id: yard.lamp, quantity: 2 })
      const one = (serial: string) =>
        yard.receive(id, [{ item_id: items[0].id, quantity: 1, serial_numbers: [serial] }])
      expect([(await one("R-1")).status, (await one("R-1")).status, (await one("R-2")).status]).toEqual([200, 422, 200])
    })
    it("of bulk, units and text lines creates stock for each product line", async () => {
      const depot = (await yard.made("/stores", { name: "Quay" })).id
      const bought = { po_type: "purchase", starts_at: null, ends_at: null, store_id: depot }
      const items = [
        { product_id: yard.cable, quantity: 4 },
        { name: "Carriage" },
        { product_id: yard.lamp, quantity: 2 }
      ]
      const order = await yard.sent({ ...bought, items })
      const [a, b, c] = order.items
      const lines = [everything(a), everything(b), { ...everything(c), serial_numbers: ["M-1", "M-2"] }]
      expect((await yard.receive(order.id, lines)).body.purchase_order.status).toBe("received")
      const { stock_levels } = await yard.get(`/stock_levels?q[store_id_eq]=${depot}&per_page=100`)
      expect(stock_levels.map((one: any) => [one.product_id, one.serial_number, Number(one.quantity_held)])).toEqual([
        [yard.cable, null, 4],
        [yard.lamp, "M-1", 1],
        [yard.lamp, "M-2", 1]
      ])
    })
  })
})

describe.each(engines)("Purchase orders are found, on %s (interface 2.10, rules/billing 2.3)", (engine) => {
  let yard: Books
  const ids: { [name: string]: number } = {}
  beforeAll(async () => {
    yard = await openBooks(engine)
    ids["job"] = (await yard.job()).id
    ids["depot"] = (await yard.made("/stores", { name: "Depot" })).id
    ids["other"] = await yard.organisation_of({ default_currency_code: "JPY" })
    yard.setClock("2026-06-10T12:00:00.000Z")
    ids["done"] = (await yard.received()).id
    yard.setClock(now)
    ids["plain"] = (await yard.order({ subject: "Summer gala" })).id
    ids["bought"] = (
      await yard.order({
        ...{ po_type: "purchase", supplier_id: ids["other"], store_id: ids["depot"], reference: "QQ" },
        ...{ expected_at: "2026-07-10T00:00:00Z", starts_at: null, ends_at: null, items: [] }
      })
    ).id
    ids["early"] = (await yard.sent({ starts_at: "2026-01-05T00:00:00Z", ends_at: "2026-02-01T00:00:00Z" })).id
    const part = await yard.sent({
      ...{ opportunity_id: ids["job"], expected_at: "2026-06-20T00:00:00Z" },
      items: [{ name: "Crane", quantity: 2, unit_cost: 1 }]
    })
    await yard.receive(part.id, [{ item_id: part.items[0].id, quantity: 1 }])
    ids["part"] = part.id
    ids["gone"] = (await yard.order()).id
    await yard.made(`/purchase_orders/${ids["gone"]}/cancel`)
  })
  afterAll(() => yard.close())
  const named = async (query: string): Promise<ReadonlyArray<string>> => {
    const at = query.replaceAll(/[A-Z]{3,}(?=$|&)/g, (word) => String(ids[word.toLowerCase()] ?? word))
    const { purchase_orders } = await yard.get(`/purchase_orders?${at}`)
    const made = ["done", "plain", "bought", "early", "part", "gone"]
    return purchase_orders.map((one: any) => made.find((name) => ids[name] === one.id))
  }
  const all = ["done", "plain", "bought", "early", "part", "gone"]
  it.each<[string, ReadonlyArray<string>]>([
    ["", all],
    ["q[status_eq]=draft", ["plain", "bought"]],
    ["q[status_eq]=sent", ["early"]],
    ["q[status_eq]=Cancelled", ["gone"]],
    ["q[status_eq]=nonsense", []],
    ["q[status_in]=partially_received,received", ["done", "part"]],
    ["q[status_not_eq]=draft", ["done", "early", "part", "gone"]],
    ["q[po_type_eq]=purchase", ["bought"]],
    ["q[po_type_eq]=subhire&q[status_eq]=draft", ["plain"]],
    ["q[po_type_eq]=sub_hire&q[status_eq]=draft", ["plain"]],
    ["q[number_eq]=0000000002", ["plain"]],
    ["q[number_end]=3", ["bought"]],
    ["q[supplier_id_eq]=OTHER", ["bought"]],
    ["q[store_id_eq]=DEPOT", ["bought"]],
    ["q[opportunity_id_eq]=JOB", ["part"]],
    ["q[opportunity_id_null]=1&q[status_eq]=received", ["done"]],
    ["q[expected_at_gteq]=2026-07-10", ["bought"]],
    ["q[expected_at_lt]=2026-07-10", ["part"]],
    ["q[starts_at_lt]=2026-02-01", ["early"]],
    ["q[ends_at_lteq]=2026-02-01", ["early"]],
    ["q[starts_at_null]=1", ["bought"]],
    ["q[sent_at_lt]=2026-06-15", ["done"]],
    ["q[received_at_present]=1", ["done"]],
    ["q[cancelled_at_gteq]=2026-06-18", ["gone"]],
    ["q[created_at_lt]=2026-06-15", ["done"]],
    ["q[updated_at_lt]=2026-06-15", ["done"]],
    ["sort=-number", all.toReversed()],
    ["sort=number&per_page=2&page=2", ["bought", "early"]],
    ["sort=-created_at&per_page=1&page=6", ["done"]],
    ["sort=starts_at&q[starts_at_lt]=2026-07-02&per_page=1", ["early"]],
    ["sort=-expected_at&q[expected_at_present]=1", ["bought", "part"]],
    ["sort=expected_at&q[expected_at_present]=1", ["part", "bought"]],
    ["page=9", []]
  ])("%s", async (query, expected) => {
    expect(await named(query)).toEqual(expected)
  })
  it("sorted by status, ascending and descending", async () => {
    const status = async (sort: string) =>
      (await yard.get(`/purchase_orders?sort=${sort}`)).purchase_orders.map((one: any) => one.status)
    const up = await status("status")
    expect(await status("-status")).toEqual(up.toReversed())
    expect(up.filter((one: string, at: number) => one !== up[at - 1]).length).toBe(5)
  })
  it("with pages, and how many there are", async () => {
    expect((await yard.get("/purchase_orders?per_page=4&page=2")).meta).toEqual({ total: 6, per_page: 4, page: 2 })
    expect((await yard.get("/purchase_orders")).meta).toEqual({ total: 6, per_page: 20, page: 1 })
  })
  it("by a user's own view, with just its columns", async () => {
    const view = await yard.made("/custom_views", {
      ...{ name: "Short", entity_type: "purchase_orders", visibility: "personal", columns: ["number", "status"] },
      filters: [{ field: "status", predicate: "eq", value: "sent" }]
    })
    const { purchase_orders, meta } = await yard.get(`/purchase_orders?view_id=${view.id}`)
    expect(purchase_orders).toEqual([{ id: ids["early"], number: "0000000004", status: "sent" }])
    expect(meta).toMatchObject({ total: 1, view: { id: view.id, name: "Short" } })
  })
})
