/** Deliveries from suppliers, their effect on stock, and returns to suppliers (rules/billing 2). */
import { expect } from "vitest"
import { from, orders, type Scenario, scenario, to } from "../receiving-scenarios.ts"
import type { Made } from "../calling.ts"

const inside = "2026-06-22"
const before = "2026-06-19"
const after = "2026-06-26"

const deliveries: ReadonlyArray<Scenario> = [
  scenario("r1", "counts a received bulk line during its hire, and not before or after", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "4" })
    const { body, status } = await s.receive(id, [{ item_id: items[0].id, quantity: "4" }], { reference: "LS-1" })
    expect([status, body.purchase_order.status, body.purchase_order.received_at]).toEqual([
      200,
      "received",
      "2026-06-18T12:00:00.000Z"
    ])
    expect(body.purchase_order.items[0]).toMatchObject({ received_quantity: "4.00", outstanding_quantity: "0.00" })
    expect(body.meta.receipt).toMatchObject({ reference: "LS-1", received_at: "2026-06-18T12:00:00.000Z" })
    expect(body.meta.receipt.lines).toMatchObject([{ item_id: items[0].id, quantity: "4.00", is_return: false }])
    expect([
      await s.total(product_id, before),
      await s.total(product_id, inside),
      await s.total(product_id, after)
    ]).toEqual([0, 4, 0])
    const [, level] = await s.levels(product_id)
    expect(level).toMatchObject({
      is_sub_hired: true,
      quantity_held: "4.00",
      starts_at: from,
      ends_at: to,
      purchase_order_item_id: items[0].id
    })
  }),
  scenario(
    "r2",
    "adds partial deliveries to one stock level, and marks the order as received with the last",
    async (s) => {
      const product_id = await s.product()
      const { id, items } = await s.sent({}, { product_id, quantity: "5" })
      const line = (quantity: string) => [{ purchase_order_item_id: items[0].id, quantity }]
      expect((await s.receive(id, line("1.25"))).body.purchase_order).toMatchObject({
        status: "partially_received",
        received_at: null
      })
      await s.refused(s.receive(id, line("3.76")), "lines.0.quantity")
      expect((await s.receive(id, line("3.75"))).body.purchase_order.status).toBe("received")
      expect((await s.levels(product_id)).map((one) => one.quantity_held)).toEqual(["0.00", "5.00"])
    }
  ),
  scenario("r3", "adds up several lines for one row of the order in one request", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "5" })
    const item_id = items[0].id
    const { body } = await s.receive(id, [
      { item_id, quantity: "2", notes: "first case" },
      { item_id, quantity: "1", notes: "second case" }
    ])
    expect(body.meta.receipt.lines).toMatchObject([{ quantity: "3.00", notes: "first case\nsecond case" }])
    await s.refused(
      s.receive(id, [
        { item_id, quantity: "1" },
        { item_id, quantity: "2" }
      ]),
      "lines.1.quantity",
      /1 are outstanding/
    )
    expect((await s.shown(id)).items[0].received_quantity).toBe("3.00")
  }),
  scenario("r4", "refuses a delivery of more than is outstanding, and changes nothing", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "2" }, { name: "Transport", quantity: "1" })
    await s.refused(
      s.receive(id, [
        { item_id: items[1].id, quantity: "1" },
        { item_id: items[0].id, quantity: "2.01" }
      ]),
      "lines.1.quantity"
    )
    expect(await s.shown(id)).toMatchObject({ status: "sent", items: [{}, { received_quantity: "0.00" }] })
    expect(await s.total(product_id, inside)).toBe(0)
  }),
  scenario("r5", "refuses a row of another order, naming the line of the request", async (s) => {
    const product_id = await s.product()
    const { id } = await s.sent({}, { product_id, quantity: "2" })
    const other = await s.sent({}, { product_id, quantity: "2" })
    await s.refused(s.receive(id, [{ item_id: other.items[0].id, quantity: "1" }]), "lines.0.item_id")
  }),
  scenario("r6", "refuses deliveries for draft, received and cancelled orders", async (s) => {
    const product_id = await s.product()
    const draft = await s.draft({}, { product_id, quantity: "1" })
    const line = [{ item_id: draft.items[0].id, quantity: "1" }]
    await s.refused(s.receive(draft.id, line), "status", /send it before/)
    await s.post(`${orders}/${draft.id}/send`)
    expect((await s.receive(draft.id, line)).status).toBe(200)
    await s.refused(s.receive(draft.id, line), "status", /received in full/)
    const gone = await s.sent({}, { product_id, quantity: "1" })
    await s.post(`${orders}/${gone.id}/cancel`)
    await s.refused(s.receive(gone.id, [{ item_id: gone.items[0].id, quantity: "1" }]), "status", /cancelled/)
  }),
  scenario("r7", "refuses deliveries without lines, without a row, or without a positive quantity", async (s) => {
    const { id, items } = await s.sent({}, { name: "Crane", quantity: "1" })
    await s.refused(s.receive(id, []), "lines")
    await s.refused(s.receive(id, [{ item_id: items[0].id, quantity: "0" }]), "lines.0.quantity")
    await s.refused(s.receive(id, [{ item_id: items[0].id, quantity: "-1" }]), "lines.0.quantity")
    await s.refused(s.receive(id, [{ item_id: items[0].id }]), "lines.0.quantity")
    await s.refused(s.receive(id, [{ quantity: "1" }]), "lines.0.item_id")
  }),
  scenario("r8", "accepts a time of delivery in the past, and none in the future", async (s) => {
    const { id, items } = await s.sent({}, { name: "Crane", quantity: "2" })
    const line = [{ item_id: items[0].id, quantity: "1" }]
    await s.refused(s.receive(id, line, { received_at: "2026-06-18T12:30:00Z" }), "received_at")
    const { body } = await s.receive(id, line, { received_at: "2026-06-17T08:00:00Z", notes: "by the night porter" })
    expect(body.meta.receipt).toMatchObject({ received_at: "2026-06-17T08:00:00.000Z", notes: "by the night porter" })
  }),
  scenario("r9", "creates a unit for each serial number received", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "2" })
    const { body } = await s.receive(id, [{ item_id: items[0].id, quantity: "2", serial_numbers: ["R9-A", " R9-B "] }])
    expect(body.meta.receipt.lines[0].serial_numbers).toEqual(["R9-A", "R9-B"])
    expect((await s.levels(product_id)).map((one) => [one.serial_number, one.quantity_held, one.is_sub_hired])).toEqual(
      [
        ["R9-A", "1.00", true],
        ["R9-B", "1.00", true]
      ]
    )
    expect([await s.total(product_id, inside), await s.total(product_id, after)]).toEqual([2, 0])
  }),
  scenario("r10", "creates units for serialised goods received without serial numbers", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "3" })
    expect((await s.receive(id, [{ item_id: items[0].id, quantity: "3" }])).status).toBe(200)
    expect((await s.levels(product_id)).map((one) => one.serial_number)).toEqual([null, null, null])
  }),
  scenario("r11", "refuses fewer serial numbers than pieces, and part of a piece", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "3" })
    const item_id = items[0].id
    await s.refused(
      s.receive(id, [{ item_id, quantity: "2", serial_numbers: ["R11-A"] }]),
      "lines.0.serial_numbers",
      /one for each piece/
    )
    await s.refused(s.receive(id, [{ item_id, quantity: "1.5" }]), "lines.0.quantity", /whole number/)
    expect(await s.levels(product_id)).toEqual([])
  }),
  scenario("r12", "refuses a serial number given twice, in one line or two", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "4" })
    const item_id = items[0].id
    await s.refused(
      s.receive(id, [{ item_id, quantity: "2", serial_numbers: ["R12-A", "R12-A"] }]),
      "lines.0.serial_numbers",
      /twice/
    )
    await s.refused(
      s.receive(id, [
        { item_id, quantity: "1", serial_numbers: ["R12-A"] },
        { item_id, quantity: "1", serial_numbers: ["R12-A"] }
      ]),
      "lines.1.serial_numbers",
      /twice/
    )
  }),
  scenario("r13", "refuses the serial number of an existing unit, naming the number", async (s) => {
    const product_id = await s.units()
    await s.post("/api/v1/stock_levels", { product_id, store_id: 1, serial_number: "R13-A" })
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    await s.refused(
      s.receive(id, [{ item_id: items[0].id, quantity: "1", serial_numbers: ["R13-A"] }]),
      "lines.0.serial_numbers",
      /R13-A is on stock level/
    )
  }),
  scenario("r14", "creates no stock for lines without a product", async (s) => {
    const { id, items } = await s.sent({}, { name: "Crane hire", quantity: "1" })
    const { body } = await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    expect(body.meta.receipt.lines[0].stock_level_ids).toEqual([])
    expect(body.purchase_order.status).toBe("received")
  }),
  scenario("r15", "prefers a line's own dates to the order's", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent(
      {},
      { product_id, quantity: "2", starts_at: "2026-06-22T00:00:00Z", ends_at: "2026-06-23T00:00:00Z" }
    )
    await s.receive(id, [{ item_id: items[0].id, quantity: "2" }])
    expect([
      await s.total(product_id, "2026-06-21"),
      await s.total(product_id, inside),
      await s.total(product_id, "2026-06-23")
    ]).toEqual([0, 2, 0])
  }),
  scenario("r16", "keeps two sub-hires of one product apart from each other and from own stock", async (s) => {
    const product_id = await s.product()
    const first = await s.sent({}, { product_id, quantity: "2" }, { product_id, quantity: "1" })
    const second = await s.sent({ ends_at: "2026-06-23T00:00:00Z" }, { product_id, quantity: "3" })
    await s.receive(
      first.id,
      first.items.map((item) => ({ item_id: item.id, quantity: item.quantity }))
    )
    await s.receive(second.id, [{ item_id: second.items[0].id, quantity: "3" }])
    expect((await s.levels(product_id)).map((one) => one.quantity_held)).toEqual(["0.00", "2.00", "1.00", "3.00"])
    expect([await s.total(product_id, inside), await s.total(product_id, "2026-06-24")]).toEqual([6, 3])
  })
]

const purchases: ReadonlyArray<Scenario> = [
  scenario("b1", "adds bought bulk goods to the store's level, with a stock transaction", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({ po_type: "purchase" }, { product_id, quantity: "6" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "6" }], { reference: "LS-6" })
    const levels = await s.levels(product_id)
    expect(levels).toMatchObject([{ quantity_held: "6.00", is_sub_hired: false, starts_at: null }])
    const ledger = `/api/v1/products/${product_id}/stock_levels/${levels[0].id}/stock_transactions`
    expect((await s.get(ledger)).body.stock_transactions).toMatchObject([
      {
        transaction_type: 4,
        quantity: "6.0",
        quantity_move: "6.0",
        source_type: "purchase_order",
        source_id: id,
        manual: false,
        description: "LS-6"
      }
    ])
    expect([await s.total(product_id, inside), await s.total(product_id, "2026-12-01")]).toEqual([6, 6])
  }),
  scenario("b2", "creates bought units without an end date, each with a stock transaction", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({ po_type: "purchase" }, { product_id, quantity: "2" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "2", serial_numbers: ["B2-A", "B2-B"] }])
    const levels = await s.levels(product_id)
    expect(levels).toMatchObject([
      { serial_number: "B2-A", ends_at: null, is_sub_hired: false },
      { serial_number: "B2-B", ends_at: null, is_sub_hired: false }
    ])
    for (const { id: level } of levels) {
      const { body } = await s.get(`/api/v1/products/${product_id}/stock_levels/${level}/stock_transactions`)
      expect(body.stock_transactions).toMatchObject([{ transaction_type: 4, quantity: "1.0" }])
    }
    expect(await s.total(product_id, "2026-12-01")).toBe(2)
  }),
  scenario("b3", "creates a stock level if the store has none", async (s) => {
    const product_id = await s.product()
    const store = (await s.post("/api/v1/stores", { name: "Depot of b3" })).body.store
    const { id, items } = await s.sent(
      { po_type: "purchase", store_id: store.id },
      { product_id, quantity: "2" },
      { product_id, quantity: "3" }
    )
    await s.receive(
      id,
      items.map((item) => ({ item_id: item.id, quantity: item.quantity }))
    )
    const there = (await s.levels(product_id)).filter((one) => one.store_id === store.id)
    expect(there.map((one) => one.quantity_held)).toEqual(["5.00"])
  }),
  scenario("b4", "refuses to delete the stock transaction of a delivery", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({ po_type: "purchase" }, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    const [level] = await s.levels(product_id)
    const ledger = `/api/v1/products/${product_id}/stock_levels/${level.id}/stock_transactions`
    const [line] = (await s.get(ledger)).body.stock_transactions
    await s.refused(s.ask("DELETE", `${ledger}/${line.id}`), "stock_transaction")
  }),
  scenario("b5", "refuses to return bought goods", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({ po_type: "purchase" }, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    await s.refused(s.giveBack(id), "po_type", /your own/)
  })
]

const returns: ReadonlyArray<Scenario> = [
  scenario("g1", "returns all goods at once, which then no longer count", async (s) => {
    const [cables, heads] = [await s.product(), await s.units()]
    const { id, items } = await s.sent({}, { product_id: cables, quantity: "4" }, { product_id: heads, quantity: "2" })
    await s.receive(
      id,
      items.map((item) => ({ item_id: item.id, quantity: item.quantity }))
    )
    expect([await s.total(cables, inside), await s.total(heads, inside)]).toEqual([4, 2])
    const { body, status } = await s.giveBack(id, { reference: "RS-1" })
    expect([status, body.purchase_order.returned_at]).toEqual([200, "2026-06-18T12:00:00.000Z"])
    expect(body.meta.receipt.lines.map((line: any) => [line.quantity, line.is_return])).toEqual([
      ["4.00", true],
      ["2.00", true]
    ])
    expect([await s.total(cables, inside), await s.total(heads, inside)]).toEqual([0, 0])
    await s.refused(s.giveBack(id), "status", /nothing of it is here/)
  }),
  scenario("g2", "returns part of a received bulk line", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "5" })
    const item_id = items[0].id
    await s.receive(id, [{ item_id, quantity: "5" }])
    const { body } = await s.giveBack(id, { lines: [{ item_id, quantity: "2" }] })
    expect(body.purchase_order).toMatchObject({ returned_at: null, items: [{ returned_quantity: "2.00" }] })
    expect(await s.total(product_id, inside)).toBe(3)
    await s.refused(s.giveBack(id, { lines: [{ item_id, quantity: "4" }] }), "lines.0.quantity", /3 are here/)
    expect((await s.giveBack(id)).body.purchase_order.returned_at).not.toBeNull()
    expect((await s.levels(product_id)).map((one) => one.quantity_held).sort()).toEqual(["0.00", "2.00", "3.00"])
  }),
  scenario("g3", "returns units by serial number or stock level", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "3" })
    const item_id = items[0].id
    await s.receive(id, [{ item_id, quantity: "3", serial_numbers: ["G3-A", "G3-B", "G3-C"] }])
    await s.refused(s.giveBack(id, { lines: [{ item_id, quantity: "1" }] }), "lines.0.serial_numbers", /which units/)
    await s.refused(
      s.giveBack(id, { lines: [{ item_id, serial_numbers: ["G3-X"] }] }),
      "lines.0.serial_numbers",
      /G3-X is here/
    )
    expect((await s.giveBack(id, { lines: [{ item_id, serial_numbers: ["G3-B"] }] })).status).toBe(200)
    const left = (await s.levels(product_id)).filter((one) => one.given_back_at === null)
    expect(left.map((one) => one.serial_number)).toEqual(["G3-A", "G3-C"])
    expect(
      (await s.giveBack(id, { lines: [{ item_id, stock_level_ids: [left[0]!.id] }] })).body.purchase_order.items[0]
    ).toMatchObject({ returned_quantity: "2.00" })
    await s.refused(s.giveBack(id, { lines: [{ item_id, serial_numbers: ["G3-B"] }] }), "lines.0.serial_numbers")
    expect(await s.total(product_id, inside)).toBe(1)
  }),
  scenario("g4", "receives a unit again that was returned before", async (s) => {
    const product_id = await s.units()
    const first = await s.sent({}, { product_id, quantity: "1" })
    const line = (order: Made<"purchase_order">) => [
      { item_id: order.items[0].id, quantity: "1", serial_numbers: ["G4-A"] }
    ]
    await s.receive(first.id, line(first))
    const second = await s.sent({}, { product_id, quantity: "1" })
    await s.refused(s.receive(second.id, line(second)), "lines.0.serial_numbers")
    await s.giveBack(first.id)
    expect((await s.receive(second.id, line(second))).status).toBe(200)
    expect(await s.total(product_id, inside)).toBe(1)
  }),
  scenario("g5", "refuses to return a unit allocated to an order", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1", serial_numbers: ["G5-A"] }])
    const [level] = await s.levels(product_id)
    const job = await s.job(product_id, 1)
    const path = `/api/v1/opportunities/${job.id}`
    await s.post(`${path}/convert_to_quotation`)
    await s.post(`${path}/convert_to_order`)
    const allocated = await s.post(`${path}/items/${job.line.id}/assets`, { stock_level_id: level.id })
    expect(allocated.status, JSON.stringify(allocated.body)).toBe(201)
    await s.refused(s.giveBack(id), "lines.0.serial_numbers", /G5-A is allocated to "Job of g5"/)
    await s.ask("DELETE", `${path}/items/${job.line.id}/assets/${allocated.body.asset.id}`)
    expect((await s.giveBack(id)).status).toBe(200)
  }),
  scenario("g6", "refuses to return a unit that is on hire", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({ starts_at: "2026-06-18T00:00:00Z" }, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1", serial_numbers: ["G6-A"] }])
    const [level] = await s.levels(product_id)
    const job = await s.job(product_id, 1)
    const path = `/api/v1/opportunities/${job.id}`
    await s.post(`${path}/convert_to_quotation`)
    await s.post(`${path}/convert_to_order`)
    const { body } = await s.post(`${path}/items/${job.line.id}/assets`, { stock_level_id: level.id })
    expect((await s.post(`${path}/quick_book_out`, { asset_ids: [body.asset.id] })).status).toBe(200)
    await s.refused(s.giveBack(id), "lines.0.serial_numbers", /out on hire/)
    expect((await s.post(`${path}/quick_check_in`, { asset_ids: [body.asset.id], finalise: true })).status).toBe(200)
    expect((await s.giveBack(id)).status).toBe(200)
  }),
  scenario("g7", "refuses to return bulk goods that are on hire", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({ starts_at: "2026-06-18T00:00:00Z" }, { product_id, quantity: "4" })
    const item_id = items[0].id
    await s.receive(id, [{ item_id, quantity: "4" }])
    const job = await s.job(product_id, 3)
    const path = `/api/v1/opportunities/${job.id}`
    await s.post(`${path}/convert_to_quotation`)
    await s.post(`${path}/convert_to_order`)
    const out = await s.ask("PATCH", `${path}/items/${job.line.id}/fulfilment`, { action: "dispatch", quantity: 3 })
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    await s.refused(s.giveBack(id), "lines.0.quantity", /Only 1 of .* in the house/)
    expect((await s.giveBack(id, { lines: [{ item_id, quantity: "1" }] })).status).toBe(200)
  }),
  scenario("g8", "refuses to return a packed unit, and to pack a sub-hired one into a case", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1", serial_numbers: ["G8-A"] }])
    const [level] = await s.levels(product_id)
    const kit = await s.units({ name: "Case of g8" })
    const template = { is_containerable: true, availability_mode: "kit" }
    expect((await s.ask("PUT", `/api/v1/products/${kit}/container_template`, template)).status).toBe(200)
    const housing = (await s.post("/api/v1/stock_levels", { product_id: kit, store_id: 1, asset_number: "G8-CASE" }))
      .body.stock_level
    const made = await s.post("/api/v1/containers", { name: "Case", product_id: kit, serialised_item_id: housing.id })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    await s.refused(
      s.post(`/api/v1/containers/${made.body.container.id}/pack`, { serialised_item_id: level.id }),
      "serialised_item_id",
      /sub-hired until/
    )
    const box = (await s.post("/api/v1/containers/temporary", { name: "Box", barcode: "G8-BOX", store_id: 1 })).body
      .container
    expect((await s.post(`/api/v1/containers/${box.id}/pack`, { serialised_item_id: level.id })).status).toBe(201)
    await s.refused(s.giveBack(id), "lines.0.serial_numbers", /packed in container/)
    await s.post(`/api/v1/containers/${box.id}/unpack`, { serialised_item_id: level.id })
    expect((await s.giveBack(id)).status).toBe(200)
  }),
  scenario("g9", "refuses to allocate a unit to an order that ends after the unit's hire", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1", serial_numbers: ["G9-A"] }])
    const [level] = await s.levels(product_id)
    const late = await s.job(product_id, 1, { ends_at: "2026-06-25T18:00:00.000Z" })
    await s.post(`/api/v1/opportunities/${late.id}/convert_to_quotation`)
    await s.post(`/api/v1/opportunities/${late.id}/convert_to_order`)
    await s.refused(
      s.post(`/api/v1/opportunities/${late.id}/items/${late.line.id}/assets`, { stock_level_id: level.id }),
      "stock_level_id",
      /only for part of the line's time: from 2026-06-20/
    )
  }),
  scenario("g10", "refuses to delete sub-hired stock", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    const [level] = await s.levels(product_id)
    await s.refused(s.ask("DELETE", `/api/v1/stock_levels/${level.id}`), "stock_level", /give it back/)
  }),
  scenario("g13", "returns bulk goods and units of a product made serialised between deliveries", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "4" })
    const item_id = items[0].id
    await s.receive(id, [{ item_id, quantity: "2" }])
    await s.ask("PUT", `/api/v1/products/${product_id}`, { stock_method: 2 })
    await s.receive(id, [{ item_id, quantity: "2", serial_numbers: ["G13-A", "G13-B"] }])
    expect((await s.giveBack(id, { lines: [{ item_id, quantity: "1" }] })).status).toBe(200)
    expect((await s.giveBack(id, { lines: [{ item_id, serial_numbers: ["G13-A"] }] })).status).toBe(200)
    const { body } = await s.giveBack(id)
    expect(body.meta.receipt.lines).toMatchObject([{ quantity: "2.00" }])
    expect(body.purchase_order).toMatchObject({ items: [{ returned_quantity: "4.00" }] })
    expect(body.purchase_order.returned_at).not.toBeNull()
    const here = (await s.levels(product_id)).filter((one) => one.is_sub_hired && one.given_back_at === null)
    expect(here).toEqual([])
    expect(await s.total(product_id, inside)).toBe(0)
  }),
  scenario("g14", "refuses to change quantity and dates of sub-hired stock by hand", async (s) => {
    const [bulk, units] = [await s.product(), await s.units()]
    const { id, items } = await s.sent({}, { product_id: bulk, quantity: "4" }, { product_id: units, quantity: "1" })
    await s.receive(
      id,
      items.map((item) => ({ item_id: item.id, quantity: item.quantity }))
    )
    const [, level] = await s.levels(bulk)
    const [unit] = await s.levels(units)
    const put = (level_id: number, set: object) => s.ask("PUT", `/api/v1/stock_levels/${level_id}`, set)
    await s.refused(put(level.id, { quantity_held: "3" }), "quantity_held", /purchase order/)
    await s.refused(put(level.id, { ends_at: "2026-07-01T00:00:00Z" }), "ends_at", /extend/)
    await s.refused(put(unit.id, { starts_at: "2026-06-01T00:00:00Z" }), "starts_at")
    await s.refused(put(unit.id, { member_id: await s.supplier() }), "member_id")
    for (const [product_id, one] of [
      [bulk, level],
      [units, unit]
    ] as const)
      await s.refused(
        s.post(`/api/v1/products/${product_id}/stock_levels/${one.id}/stock_transactions`, {
          transaction_type: 6,
          quantity: "1"
        }),
        "stock_level",
        /given back with a note/
      )
    expect((await put(unit.id, { location: "Bay 4", asset_number: "SH-1" })).status).toBe(200)
    expect((await s.giveBack(id)).body.purchase_order.returned_at).not.toBeNull()
  }),
  scenario("g15", "receives and returns goods of a deleted product without creating stock", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "2" })
    expect((await s.ask("DELETE", `/api/v1/products/${product_id}`)).status).toBe(204)
    const { body, status } = await s.receive(id, [{ item_id: items[0].id, quantity: "2" }])
    expect([status, body.meta.receipt.lines[0].stock_level_ids]).toEqual([200, []])
    expect((await s.giveBack(id)).body.purchase_order.returned_at).not.toBeNull()
  }),
  scenario("x1", "counts an extended hire until its new end, also for outstanding goods", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "4" })
    const item_id = items[0].id
    await s.receive(id, [{ item_id, quantity: "2" }])
    const { body, status } = await s.post(`${orders}/${id}/extend`, { ends_at: "2026-06-28T00:00:00Z" })
    expect([status, body.purchase_order]).toMatchObject([
      200,
      {
        ends_at: "2026-06-28T00:00:00.000Z",
        starts_at: from,
        status: "partially_received",
        items: [{ ends_at: "2026-06-28T00:00:00.000Z", received_quantity: "2.00" }]
      }
    ])
    expect(await s.total(product_id, after)).toBe(2)
    await s.receive(id, [{ item_id, quantity: "2" }])
    expect([await s.total(product_id, after), await s.total(product_id, "2026-06-28")]).toEqual([4, 0])
    expect((await s.levels(product_id)).map((one) => one.quantity_held)).toEqual(["0.00", "4.00"])
    await s.post(`${orders}/${id}/extend`, { ends_at: "2026-06-30T00:00:00Z" })
    expect(await s.total(product_id, "2026-06-29")).toBe(4)
  }),
  scenario(
    "x2",
    "extends the rows named, and rows without their own end when the whole order is extended",
    async (s) => {
      const [one, other] = [await s.product(), await s.product()]
      const short = "2026-06-23T00:00:00.000Z"
      const { id, items } = await s.sent(
        {},
        { product_id: one, quantity: "1" },
        { product_id: other, quantity: "1", ends_at: short }
      )
      await s.receive(
        id,
        items.map((item) => ({ item_id: item.id, quantity: "1" }))
      )
      await s.post(`${orders}/${id}/extend`, { ends_at: "2026-06-28T00:00:00Z" })
      expect([await s.total(one, after), await s.total(other, "2026-06-23")]).toEqual([1, 0])
      await s.post(`${orders}/${id}/extend`, { ends_at: "2026-06-27T00:00:00Z", item_ids: [items[1].id] })
      expect(await s.shown(id)).toMatchObject({
        ends_at: "2026-06-28T00:00:00.000Z",
        items: [{ ends_at: "2026-06-28T00:00:00.000Z" }, { ends_at: "2026-06-27T00:00:00.000Z" }]
      })
      expect(await s.total(other, after)).toBe(1)
    }
  ),
  scenario("x3", "refuses to extend drafts, purchases, and returned or cancelled sub-hires", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "1" })
    const extend = (order: number, more: object = {}) =>
      s.post(`${orders}/${order}/extend`, { ends_at: "2026-06-28T00:00:00Z", ...more })
    await s.refused(extend(id, { item_ids: [items[0].id, 999_999] }), "item_ids.1")
    const draft = await s.draft({}, { product_id, quantity: "1" })
    await s.refused(extend(draft.id), "status", /draft/)
    const bought = await s.sent({ po_type: "purchase" }, { product_id, quantity: "1" })
    await s.refused(extend(bought.id), "po_type")
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    await s.giveBack(id)
    await s.refused(extend(id), "status", /went back/)
    const gone = await s.sent({}, { product_id, quantity: "1" })
    await s.post(`${orders}/${gone.id}/cancel`)
    await s.refused(extend(gone.id), "status", /cancelled/)
  }),
  scenario("g11", "refuses to return goods before they were received, and in the future", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({}, { product_id, quantity: "2" })
    await s.refused(s.giveBack(id), "status", /nothing of it is here/)
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    await s.refused(s.giveBack(id, { returned_at: "2026-07-01T00:00:00Z" }), "returned_at")
    // One piece is still to come, so the return of the other does not complete the order.
    expect((await s.giveBack(id)).body.purchase_order).toMatchObject({
      status: "partially_received",
      returned_at: null
    })
  }),
  scenario(
    "g16",
    "completes a sub-hire received in part once all of it went back at the end of its hire",
    async (s) => {
      const product_id = await s.product()
      const hire = { starts_at: "2026-06-15T00:00:00Z", ends_at: "2026-06-19T08:00:00Z" }
      const { id, items } = await s.sent(hire, { product_id, quantity: "3" })
      const item_id = items[0].id
      await s.receive(id, [{ item_id, quantity: "2" }], { received_at: "2026-06-15T08:00:00Z" })
      const first = await s.giveBack(id, { lines: [{ item_id, quantity: "1" }] })
      expect(first.body.purchase_order).toMatchObject({ status: "partially_received", returned_at: null })
      expect((await s.giveBack(id)).body.purchase_order).toMatchObject({
        status: "received",
        received_at: null,
        returned_at: "2026-06-18T12:00:00.000Z",
        is_due_back: false
      })
      await s.refused(
        s.receive(id, [{ item_id, quantity: "1" }]),
        "status",
        /went back to its supplier; order what comes on top/
      )
    }
  ),
  scenario("g12", "counts goods returned early until they were returned", async (s) => {
    const product_id = await s.product()
    const { id, items } = await s.sent({ starts_at: "2026-06-15T00:00:00Z" }, { product_id, quantity: "2" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "2" }], { received_at: "2026-06-15T08:00:00Z" })
    await s.giveBack(id, { lines: [{ item_id: items[0].id, quantity: "1" }] })
    expect([
      await s.total(product_id, "2026-06-17"),
      await s.total(product_id, "2026-06-18"),
      await s.total(product_id, inside)
    ]).toEqual([2, 1, 1])
  })
]

export const receivingScenarios: ReadonlyArray<Scenario> = [...deliveries, ...purchases, ...returns]
