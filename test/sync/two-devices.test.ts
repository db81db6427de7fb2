/** Two devices change the same record offline: which changes remain, which conflict, and how conflicts are resolved. */
import { beforeAll, describe, expect, it } from "vitest"
import type { ResolutionRequest } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

/** Paths are relative to the record's. */
type Sent = readonly [method: string, path: string, body?: object]
interface Meeting {
  readonly what: string
  /** Creates the record at the server, known to both devices; returns its path. */
  readonly thing: () => Promise<string>
  /** Commands of each device on the record as it is at the server; the till syncs first. */
  readonly till?: ReadonlyArray<Sent>
  readonly van?: ReadonlyArray<Sent> | (() => ReadonlyArray<Sent>)
  /** Answer to the till's first command on the device. */
  readonly answer?: object
  /** Work at the server before either device syncs, and after the van's refusal. */
  readonly meanwhile?: (path: string) => Promise<unknown>
  readonly afterwards?: (path: string) => Promise<unknown>
  /** Text of the van's conflict. */
  readonly refused?: RegExp
  /** A resolution that does not help. */
  readonly in_vain?: ResolutionRequest
  /** The resolution applied; default: drop. */
  readonly way?: ResolutionRequest
  readonly include?: string
  readonly stands: object
}

describe.each(engines)("commands that two devices record offline, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, must } = server
  let till: TestDevice, van: TestDevice, member_id: number, desk: number
  beforeAll(async () => {
    member_id = await server.customer()
    desk = await server.serialised({ name: "Desk" })
    till = await server.enrol("till")
    van = await server.enrol("van")
  })

  const invoice = async (...paid: ReadonlyArray<object>): Promise<string> => {
    const { id } = await create("/invoices", {
      member_id,
      items: [{ name: "Heads", quantity: "4", unit_price: "25.00" }]
    })
    await create(`/invoices/${id}/issue`)
    for (const amount of paid) await create(`/invoices/${id}/payments`, amount)
    return `/invoices/${id}`
  }
  const all = { amount: "100.00" }
  const purchase = async (): Promise<string> => {
    const items = [{ name: "Truss", quantity: "4", unit_cost: "25.00" }]
    return `/purchase_orders/${(await create("/purchase_orders", { supplier_id: member_id, po_type: "purchase", items })).id}`
  }
  const short = async (): Promise<string> => {
    const dates = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }
    const { id } = await server.withLine(dates, { item_id: await server.product({ stock_method: 1 }), quantity: 2 })
    return `/opportunities/${id}`
  }
  const day = (of_september: number): string => `2026-09-${String(of_september).padStart(2, "0")}T09:00:00.000Z`
  const hire = async (subject = "Fair", from = 1, to = 5): Promise<string> => {
    const dates = { starts_at: day(from), ends_at: day(to) }
    const { id } = await server.withLine({ subject, ...dates }, { item_id: desk, quantity: 1, unit_price: "10.00" })
    await create(`/opportunities/${id}/items`, { name: "Cable", unit_price: "1.00" })
    await server.confirm(id)
    return `/opportunities/${id}`
  }
  const lineOf = async (path: string): Promise<string> =>
    `${path}/items/${(await server.show(`${path}?include=items`)).items[0].id}`
  const extended = (to: number): Sent => ["POST", "/extend?include=items", { ends_at: day(to) }]
  const moved = (what: string, method: string, below: string, body: object): Meeting => ({
    what: `lines follow an extension as shown, even if somebody changed ${what} meanwhile`,
    thing: hire,
    include: "items",
    till: [extended(8)],
    answer: {
      extension: { lines_followed: [{}, {}] },
      opportunity: { items: [{ total: "70.00" }, { total: "7.00" }] }
    },
    meanwhile: async (path) => {
      await must(method, path + below, body)
      await create(`${path}/items`, { name: "Case", unit_price: "2.00" })
      await create(`${path}/items`, { name: "Spare", unit_price: "2.00", ends_at: day(3) })
    },
    stands: {
      ends_at: day(8),
      items: [
        { ends_at: day(8), total: "70.00" },
        { ends_at: day(8), total: "7.00" },
        { ends_at: day(8) },
        { ends_at: day(3) }
      ]
    }
  })

  const meetings: ReadonlyArray<Meeting> = [
    {
      what: "both record full payment: the second is a conflict that says what is outstanding",
      thing: invoice,
      till: [["POST", "/payments", { ...all, method: "cash" }]],
      van: [["POST", "/payments", { ...all, method: "card" }]],
      refused:
        /422.*"Invoice \d{10} is paid already; nothing is outstanding\. If this money came as well, give it back or record it on another invoice\."/,
      include: "payments",
      stands: { status: "paid", amount_paid: "100.00", payments: [{ method: "cash" }] }
    },
    {
      what: "one records a part payment, the other full payment: the remainder can be recorded instead",
      thing: invoice,
      till: [["POST", "/payments", { amount: "60.00", method: "cash" }]],
      van: [["POST", "/payments", { ...all, method: "card" }]],
      refused: /"amount":.*more than the 40\.00 GBP that are outstanding/,
      way: { amend: { amount: "40.00", method: "card" } },
      stands: { status: "paid", amount_outstanding: "0.00" }
    },
    ...[
      {
        what: "refund",
        thing: () => invoice(all),
        path: "/refunds",
        stands: { status: "issued", amount_paid: "0.00" }
      },
      {
        what: "credit",
        thing: invoice,
        path: "/credit_notes",
        stands: { status: "credited", amount_outstanding: "0.00" }
      }
    ].map(({ path, stands, thing, what }): Meeting => ({
      what: `both ${what} a part, together too much: the second can ${what} the remainder instead`,
      thing,
      till: [["POST", path, { amount: "70.00" }]],
      van: [["POST", path, { amount: "50.00" }]],
      refused: /"amount":.*the 30\.00 GBP that are/,
      way: { amend: { amount: "30.00" } },
      stands
    })),
    {
      what: "one credits a paid invoice, the other refunds it: both are accepted",
      thing: () => invoice(all),
      till: [["POST", "/credit_notes", {}]],
      van: [["POST", "/refunds", all]],
      stands: { status: "credited", amount_paid: "0.00", amount_outstanding: "0.00" }
    },
    {
      what: "both refund and credit the full amount: the second of each is a conflict",
      thing: () => invoice(all),
      till: [
        ["POST", "/refunds", all],
        ["POST", "/credit_notes", {}]
      ],
      van: [
        ["POST", "/refunds", all],
        ["POST", "/credit_notes", {}]
      ],
      refused: /422/,
      include: "payments,credit_notes",
      stands: { status: "credited", payments: [{}, {}], credit_notes: [{}] }
    },
    {
      what: "a void refused because of a payment can be retried once that is refunded",
      thing: invoice,
      till: [["POST", "/payments", { amount: "40.00" }]],
      van: [["POST", "/void", { reason: "Made twice" }]],
      refused: /"status":\["The invoice has payments; refund them first, or issue a credit note\."\]/,
      afterwards: async (path) => {
        expect(await van.show(path)).toMatchObject({ status: "partially_paid" })
        await create(`${path}/refunds`, { amount: "40.00" })
        await van.sync()
      },
      way: { retry: true },
      stands: { status: "voided", void_reason: "Made twice", amount_paid: "0.00" }
    },
    {
      what: "a void refused because of a payment can be dropped, but not amended",
      thing: invoice,
      till: [["POST", "/payments", all]],
      van: [["POST", "/void", {}]],
      refused: /payments/,
      in_vain: { amend: { reason: "Other" } },
      stands: { status: "paid", void_reason: null }
    },
    {
      what: "a payment of a voided invoice is a conflict that says so",
      thing: invoice,
      till: [["POST", "/void", {}]],
      van: [["POST", "/payments", all]],
      refused: /voided/,
      stands: { status: "voided" }
    },
    {
      what: "one sends a purchase order, the other cancels it: both are accepted",
      thing: purchase,
      till: [["POST", "/send", {}]],
      van: [["POST", "/cancel", {}]],
      stands: { status: "cancelled", sent_at: expect.any(String) }
    },
    {
      what: "one cancels a purchase order, the other changes it: the change is a conflict with the reason",
      thing: purchase,
      till: [["POST", "/cancel", {}]],
      van: [["PUT", "", { subject: "More" }]],
      refused: /"status":\["The order is cancelled; only a draft can be changed\."\]/,
      stands: { status: "cancelled" }
    },
    {
      what: "both change different fields of a purchase order: both are accepted",
      thing: purchase,
      till: [["PUT", "", { subject: "Rig" }]],
      van: [["PUT", "", { delivery_instructions: "Dock 2" }]],
      stands: { subject: "Rig", delivery_instructions: "Dock 2" }
    },
    {
      what: "both receive a purchase order in full: the second delivery is a conflict",
      thing: async () => {
        const path = await purchase()
        await must("POST", `${path}/send`, {})
        const [{ id }] = (await server.show(`${path}?include=items`)).items
        received = [["POST", "/receive", { lines: [{ item_id: id, quantity: "4" }] }]]
        return path
      },
      van: () => received,
      meanwhile: async (path) => till.must("POST", `${path}/receive`, received[0]?.[2]),
      refused: /received in full/,
      include: "items",
      stands: { status: "received", items: [{ received_quantity: "4.00" }] }
    },
    {
      what: "both put the same line on the waiting list: the second is a conflict",
      thing: short,
      till: [["POST", "/shortages/resolve", { resolution: "waitlist", note: "Mrs Ito" }]],
      van: [["POST", "/shortages/resolve", { resolution: "waitlist", note: "Mrs Ito" }]],
      answer: { waiting: [{ quantity: 2, free_quantity: 0, position: 1, note: "Mrs Ito" }] },
      refused: /waiting list already/,
      afterwards: async (path) => {
        const waiting = async () => (await van.get(`${path}/shortages`)).body.waiting
        await till.must("POST", `${path}/shortages/leave`, {})
        await till.sync()
        expect(await waiting()).toMatchObject([{ note: "Mrs Ito" }])
        await van.sync()
        expect(await waiting()).toEqual([])
      },
      stands: {}
    },
    {
      what: "one extends a hire: the server comes to the same dates and totals",
      thing: async () => {
        const path = await hire()
        const { id } = await server.labelled(desk)
        await create(`${await lineOf(path)}/assets`, { stock_level_id: id })
        return path
      },
      till: [extended(8)],
      answer: {
        extension: {
          before: { ends_at: day(5), charge_total: "44.00" },
          after: { ends_at: day(8), charge_total: "77.00" },
          original_ends_at: day(5),
          lines_kept: []
        }
      },
      include: "items",
      stands: { ends_at: day(8), charge_total: "77.00", items: [{ ends_at: day(8) }, { ends_at: day(8) }] }
    },
    {
      what: "one extends a hire whose unit is allocated to another order: the conflict names that order",
      thing: async () => {
        const path = await hire()
        unit = (await server.labelled(desk, { item_name: "Desk A-2" })).id
        await create(`${await lineOf(path)}/assets`, { stock_level_id: unit })
        return path
      },
      van: [extended(8)],
      meanwhile: async () => create(`${await lineOf(await hire("Gala", 6, 7))}/assets`, { stock_level_id: unit }),
      refused: /Desk A-2 is held by \\"Gala\\" \(order \d+\)/,
      include: "items",
      stands: { ends_at: day(5), charge_total: "44.00", items: [{ ends_at: day(5) }, { ends_at: day(5) }] }
    },
    moved("only the header", "PUT", "", { ends_at: day(6) }),
    moved("the end without the lines", "POST", "/extend", { ends_at: day(6), lines: "keep" }),
    {
      what: "both extend a hire to different days: the later sync wins, for header and lines",
      thing: hire,
      till: [extended(7)],
      van: [extended(9)],
      include: "items",
      stands: { ends_at: day(9), original_ends_at: day(5), items: [{ ends_at: day(9) }, { ends_at: day(9) }] }
    }
  ]
  let received: ReadonlyArray<Sent> = [],
    unit = 0

  it.each(meetings)(
    "end alike on both devices and the server: $what",
    async ({ answer = {}, include, in_vain, meanwhile, refused, stands, afterwards, way, ...row }) => {
      const path = await row.thing()
      for (const device of [till, van]) await device.sync()
      const [by_till, by_van] = [row.till ?? [], typeof row.van === "function" ? row.van() : (row.van ?? [])]
      const answers: Array<unknown> = []
      for (const [device, recorded] of [
        [till, by_till],
        [van, by_van]
      ] as const)
        for (const [method, below, body] of recorded) answers.push(await device.must(method, path + below, body))
      expect(answers[0]).toMatchObject(answer)
      await meanwhile?.(path)
      expect(await till.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
      const count = by_van.length
      expect(await van.sync()).toMatchObject(
        refused === undefined ? { accepted: count, conflicts: 0 } : { accepted: 0, rejected: count, conflicts: count }
      )
      for (const { error, id } of await van.conflicts()) {
        expect(JSON.stringify(error)).toMatch(refused ?? /^nothing/)
        await afterwards?.(path)
        if (in_vain !== undefined) expect((await van.resolve(id, in_vain)).status).toBe(422)
        expect((await van.resolve(id, way ?? { drop: true })).status).toBeLessThan(300)
        expect(await van.sync()).toMatchObject({ accepted: way === undefined ? 0 : 1, rejected: 0 })
      }
      await server.syncedAlike(till, van)
      expect(await server.show(path + (include === undefined ? "" : `?include=${include}`))).toMatchObject(stands)
    }
  )
  it("a container keeps the UUID assigned by the device that created it", async () => {
    const { id, uuid } = await van.create("/containers", { name: "Case", store_id: 1 })
    await van.sync()
    expect(await server.show(`/containers/${id}`)).toMatchObject({ uuid })
  })
  it("credit notes are numbered without a gap, whichever device created them", async () => {
    const numbers = (await server.show("/credit_notes?sort=number")).map(({ number }) => Number(number))
    expect(numbers).toEqual(numbers.map((_: number, at: number) => at + 1))
  })
})
