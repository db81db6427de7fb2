/** Stocktakes over the API, on both engines (rules/stocktakes): counting, lines, closing, and moves meanwhile. */
import { beforeEach, describe, expect, it } from "vitest"
import { engines, type Reply, viewerWith } from "../../../app.ts"
import type { Order } from "../../../rental-house.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

const hire = { starts_at: "2026-06-18T09:00:00Z", ends_at: "2026-06-20T17:00:00Z" }

describe.each(engines)("a stocktake on %s", (engine) => {
  const w = appHouse(engine)
  let minute = 0
  /** Sets the clock one minute later than the last call did. */
  const tick = () => w.app.setClock(new Date(Date.parse("2026-06-18T12:00:00Z") + ++minute * 60_000).toISOString())
  beforeEach(tick)

  const start = async (store_id: number, more: object = {}): Promise<number> =>
    (await w.create("/stocktakes", { store_id, ...more })).id
  const scan = async (id: number, ...codes: ReadonlyArray<string>): Promise<ReadonlyArray<unknown>> => {
    tick()
    return (await w.must("POST", `/stocktakes/${id}/scans`, { codes })).scans
  }
  const takeBack = async (id: number, ...codes: ReadonlyArray<string>): Promise<ReadonlyArray<unknown>> =>
    (await w.must("POST", `/stocktakes/${id}/scans`, { codes, take_back: true })).scans
  const show = (id: number) => w.show(`/stocktakes/${id}`)
  const lineOf = async (id: number, key: "code" | "stock_level_id" | "name", value: unknown) =>
    (await show(id)).stocktake_lines.find((line) => line[key] === value)!
  const close = (id: number, body: object = {}): Promise<Reply> => {
    tick()
    return w.post(`/stocktakes/${id}/close`, body)
  }
  const level = (id: number) => w.show(`/stock_levels/${id}`)
  const ledgerOf = async (product: number, id: number): Promise<ReadonlyArray<unknown>> =>
    (await w.show(`/products/${product}/stock_levels/${id}/stock_transactions`)).map((one) => [
      one.transaction_type_name,
      Number(one.quantity),
      one.source_type
    ])
  /** Creates a store with units that have asset numbers. */
  const shop = async (many: number) => {
    const store = await w.store()
    const product = await w.serialised()
    const units: Array<{ readonly id: number; readonly code: string }> = []
    for (let at = 0; at < many; at++) {
      const code = `C-${store}-${at}`
      units.push({ id: await w.unit(product, store, { asset_number: code }), code })
    }
    return { store, product, units }
  }
  /** Dispatches the unit with an order. */
  const sendOut = async (store_id: number, product: number, unit: number) => {
    const order = await w.order(product, 1, { store_id, ...hire })
    const [asset] = (await w.allocate(order, unit)).body.opportunity.items[0].assets
    await w.must("POST", `/opportunities/${order.id}/quick_book_out`, { asset_ids: [asset.id] })
    const back = (more: object = {}) =>
      w.must("POST", `/opportunities/${order.id}/quick_check_in`, { asset_ids: [asset.id], ...more })
    return { ...order, back }
  }
  const counted = async (quantity: number, more: object = {}) => {
    const store = await w.store()
    const sku = `SKU-${store}`
    return { store, sku, ...(await w.bulk(store, quantity, { sku, ...more })) }
  }
  const fulfil = (order: Order, action: string, quantity: number) =>
    w.patch(`/opportunities/${order.id}/items/${order.line.id}/fulfilment`, { action, quantity })

  it("counts each unit once, withdraws wrong scans, and reports missing units", async () => {
    const { store, units } = await shop(3)
    const [one, two, three] = units
    const id = await start(store)
    expect(await scan(id, one!.code, one!.code.toLowerCase(), two!.code, "NO-SUCH")).toMatchObject([
      { code: one!.code, kind: "unit", outcome: "counted", status: "found", quantity: 1 },
      { outcome: "counted_before", quantity: 0 },
      { outcome: "counted", status: "found" },
      { code: "NO-SUCH", kind: "unknown", outcome: "counted", status: "unexpected" }
    ])
    expect(await takeBack(id, two!.code, three!.code)).toMatchObject([
      { outcome: "taken_back", quantity: 1, status: null },
      { outcome: "not_counted", quantity: 0 }
    ])
    const take = await show(id)
    expect(take).toMatchObject({
      status: "open",
      totals: { expected: 3, counted: 2, found: 1, missing: 2, unexpected: 1 }
    })
    expect(take.stocktake_lines.map(({ code, status }) => [code, status])).toEqual([
      [two!.code, "missing"],
      [three!.code, "missing"],
      ["NO-SUCH", "unexpected"],
      [one!.code, "found"]
    ])
    expect(take.stocktake_lines[2]!.way_out).toContain("no unit and no product has this code")
  })

  it("reports units of other stores, out on orders, in quarantine and in sealed cases, with advice for each", async () => {
    const { product, store, units } = await shop(4)
    const other = await shop(1)
    const [out, ill, boxed, lone] = units
    const gig = await sendOut(store, product, out!.id)
    await w.must("POST", `/stock_levels/${ill!.id}/quarantine`, { reason: "Hums" })
    const box = await w.create("/containers/temporary", { name: "Box", barcode: `BOX-${store}`, store_id: store })
    for (const { id } of [boxed!, lone!]) await w.must("POST", `/containers/${box.id}/pack`, { serialised_item_id: id })
    await w.must("POST", `/containers/${box.id}/seal`)
    tick()
    const id = await start(store)
    await scan(id, other.units[0]!.code, out!.code, ill!.code, lone!.code)
    expect(await lineOf(id, "code", other.units[0]!.code)).toMatchObject({
      status: "elsewhere",
      store_id: other.store,
      way_out: expect.stringContaining("It belongs to Store")
    })
    expect(await lineOf(id, "code", out!.code)).toMatchObject({
      status: "out",
      opportunity_id: gig.id,
      way_out: expect.stringContaining(`It is out on order ${gig.id}: check it in: flightcase scan in`)
    })
    expect(await lineOf(id, "code", ill!.code)).toMatchObject({
      status: "quarantined",
      is_counted: true,
      way_out: expect.stringContaining("flightcase units release")
    })
    expect(await lineOf(id, "code", lone!.code)).toMatchObject({
      status: "in_case",
      is_counted: true,
      way_out: `It should be in Box, which is sealed: scan BOX-${store}, or unseal it and take the unit out: flightcase containers unseal ${box.id}`
    })
    expect(await lineOf(id, "code", boxed!.code)).toMatchObject({
      status: "in_case",
      is_counted: false,
      way_out: expect.stringContaining(`scan BOX-${store}`)
    })
    expect(await scan(id, `BOX-${store}`)).toMatchObject([{ kind: "case", outcome: "counted", quantity: 1 }])
    expect((await lineOf(id, "code", boxed!.code)).status).toBe("found")
    expect((await close(id)).status).toBe(200)
    for (const unit of [out!, boxed!, lone!]) expect((await level(unit.id)).service_state).toBe("in_service")
    expect(await level(other.units[0]!.id)).toMatchObject({ store_id: other.store, service_state: "in_service" })
    expect((await show(id)).stocktake_lines.map(({ code, status }) => [code, status]).sort()).toEqual(
      [
        [boxed!.code, "found"],
        [ill!.code, "quarantined"],
        [lone!.code, "in_case"],
        [other.units[0]!.code, "elsewhere"],
        [out!.code, "out"]
      ].sort()
    )
  })

  it("records missing units as lost or written off, and puts lost units back in service if they are counted", async () => {
    const { product, store, units } = await shop(4)
    const [here, gone, lost, off] = units
    await w.must("POST", `/stock_levels/${lost!.id}/lost`, {})
    await w.must("POST", `/stock_levels/${off!.id}/lost`, { write_off: true })
    tick()
    const id = await start(store)
    await scan(id, here!.code, lost!.code, off!.code)
    expect((await lineOf(id, "code", off!.code)).on_close).toBe("found")
    const closed = await close(id)
    expect(closed.body.stocktake).toMatchObject({
      status: "closed",
      missing_as: "lost",
      totals: { found: 3, missing: 1 }
    })
    expect(await level(here!.id)).toMatchObject({ service_state: "in_service", quantity_held: "1.00" })
    expect(await level(gone!.id)).toMatchObject({ service_state: "lost", quantity_held: "1.00" })
    expect(await level(lost!.id)).toMatchObject({ service_state: "in_service", out_of_service: [] })
    expect(await level(off!.id)).toMatchObject({ service_state: "in_service", quantity_held: "1.00" })
    expect((await ledgerOf(product, off!.id))[0]).toEqual(["Find", 1, "Stocktake"])
    tick()
    const again = await start(store)
    await scan(again, here!.code, gone!.code, lost!.code)
    expect((await close(again, { missing_as: "written_off" })).status).toBe(200)
    expect(await level(gone!.id)).toMatchObject({ service_state: "in_service" })
    expect(await level(off!.id)).toMatchObject({ service_state: "lost", quantity_held: "0.00" })
    expect((await ledgerOf(product, off!.id))[0]).toEqual(["Write Off", 1, "Stocktake"])
  })

  it("adds up bulk quantities, and posts the difference to their ledger", async () => {
    const { id: product, level: stock, sku, store } = await counted(40)
    const id = await start(store)
    expect(await scan(id, `${sku}*20`, `${sku}*7`, sku)).toMatchObject([
      { kind: "bulk", quantity: 20 },
      { quantity: 7 },
      { quantity: 1, status: "missing" }
    ])
    expect(await takeBack(id, `${sku}*8`)).toMatchObject([{ outcome: "not_counted" }])
    expect(await takeBack(id, `${sku}*7`)).toMatchObject([{ outcome: "taken_back", quantity: 7 }])
    await scan(id, `${sku}*16`)
    expect(await lineOf(id, "stock_level_id", stock)).toMatchObject({
      kind: "bulk",
      status: "missing",
      expected: 40,
      counted: 37,
      on_close: "difference"
    })
    await close(id)
    expect((await level(stock)).quantity_held).toBe("37.00")
    expect((await ledgerOf(product, stock))[0]).toEqual(["Write Off", 3, "Stocktake"])
    tick()
    const again = await start(store)
    await scan(again, `${sku}*38`)
    await close(again)
    expect((await level(stock)).quantity_held).toBe("38.00")
    expect((await ledgerOf(product, stock))[0]).toEqual(["Find", 1, "Stocktake"])
  })

  it("reports no unit as missing that goes out or comes back during the count", async () => {
    const { product, store, units } = await shop(5)
    const [leaves, returns, visits, away, ill] = units
    const returning = await sendOut(store, product, returns!.id)
    await sendOut(store, product, away!.id)
    tick()
    const id = await start(store)
    await scan(id, leaves!.code, ill!.code)
    await sendOut(store, product, leaves!.id)
    tick()
    await returning.back()
    tick()
    const visiting = await sendOut(store, product, visits!.id)
    tick()
    await visiting.back()
    tick()
    // Lost after it was counted: closing does not find it again.
    await w.must("POST", `/stock_levels/${ill!.id}/lost`, {})
    await close(id)
    const states = await Promise.all(units.map(async (unit) => (await level(unit.id)).service_state))
    expect(states).toEqual(["in_service", "in_service", "in_service", "in_service", "lost"])
    expect((await show(id)).totals).toMatchObject({ missing: 0 })
  })

  it("advises on a case that is not sealed by its status, in whole sentences", async () => {
    const { product, store, units } = await shop(1)
    const barcode = `CASE-${store}`
    const box = await w.create("/containers/temporary", { name: "Box", barcode, store_id: store })
    await w.must("POST", `/containers/${box.id}/pack`, { serialised_item_id: units[0]!.id })
    const id = await start(store)
    await scan(id, barcode)
    const advice = async () => (await lineOf(id, "code", barcode)).way_out
    const taken_back = ` Label what it is on, or take it back: flightcase count scan --remove ${barcode}`
    const scanned = "Box is not sealed: scan what is in it piece by piece, or seal it"
    expect(await advice()).toBe(`${scanned} (flightcase containers seal ${box.id}).${taken_back}`)
    await takeBack(id, barcode)
    await w.must("POST", `/containers/${box.id}/seal`)
    const order = await w.order(product, 1, { store_id: store, ...hire })
    await w.must("POST", `/opportunities/${order.id}/scan`, { direction: "out", code: barcode })
    tick()
    await w.must("POST", `/opportunities/${order.id}/scan`, { direction: "in", code: barcode })
    await scan(id, barcode)
    expect(await advice()).toBe(
      `${scanned}. Start repacking it first (flightcase containers repack start --container-id ${box.id}).${taken_back}`
    )
  })

  it("reports no unit as missing that another stocktake or an inspection saw since the start", async () => {
    const { store, units } = await shop(4)
    const [first, other, inspected, unseen] = units
    const before = await start(store)
    await scan(before, unseen!.code)
    const id = await start(store)
    tick()
    await scan(id, first!.code)
    await scan(before, other!.code)
    const kind = (await w.create("/inspection_kinds", { name: `PAT ${store}` })).id
    await w.create("/inspections", { stock_level_id: inspected!.id, inspection_kind_id: kind, result: "pass" })
    expect(await lineOf(id, "stock_level_id", other!.id)).toMatchObject({
      status: "found",
      is_counted: false,
      way_out: `It was not counted, but was scanned in stocktake ${before} meanwhile.`
    })
    await close(id)
    const states = await Promise.all(units.map(async (unit) => (await level(unit.id)).service_state))
    expect(states).toEqual(["in_service", "in_service", "in_service", "lost"])
  })

  it.each([
    ["before the scan", 35, ["out", "count"]],
    ["after the scan", 40, ["count", "out"]],
    ["before it, and back after it", 35, ["out", "count", "back"]],
    ["before it, and back before it", 40, ["out", "back", "count"]],
    ["after it, and back", 40, ["count", "out", "back"]],
    ["before it, though nothing ever left", 40, ["out", "revert", "count"]]
  ] as const)("compares a bulk count with the stock at its scan: five left %s", async (_when, found, steps) => {
    const { id: product, level: stock, sku, store } = await counted(40)
    const order = await w.order(product, 8, { store_id: store, ...hire })
    await fulfil(order, "dispatch", 3)
    tick()
    await fulfil(order, "return", 3)
    const id = await start(store)
    for (const step of steps) {
      tick()
      if (step === "count") await scan(id, `${sku}*${found}`)
      if (step === "out") expect((await fulfil(order, "dispatch", 5)).status).toBe(200)
      if (step === "back") expect((await fulfil(order, "return", 5)).status).toBe(200)
      if (step === "revert") expect((await fulfil(order, "revert_dispatch", 5)).status).toBe(200)
    }
    tick()
    expect(await lineOf(id, "stock_level_id", stock)).toMatchObject({
      status: "found",
      expected: found,
      counted: found
    })
    await close(id)
    expect((await level(stock)).quantity_held).toBe("40.00")
  })

  it("keeps purchases made after the scan, and corrects the stock once if two stocktakes count it", async () => {
    const { id: product, level: stock, sku, store } = await counted(40)
    const [first, second] = [await start(store), await start(store)]
    await scan(first, `${sku}*38`)
    await scan(second, `${sku}*38`)
    tick()
    await w.must("POST", `/products/${product}/stock_levels/${stock}/stock_transactions`, {
      transaction_type: 4,
      quantity: 10
    })
    await close(first)
    expect((await level(stock)).quantity_held).toBe("48.00")
    await close(second)
    expect((await level(stock)).quantity_held).toBe("48.00")
  })

  it("counts a product group with its subgroups, and nothing else", async () => {
    const store = await w.store()
    const group = (await w.create("/product_groups", { name: `Group ${store}` })).id
    const inner = (await w.create("/product_groups", { name: `Inner ${store}`, parent_id: group })).id
    const within = await w.unit(await w.serialised({ product_group_id: inner }), store, { asset_number: `G-${store}` })
    const outside = await w.unit(await w.serialised(), store, { asset_number: `O-${store}` })
    const id = await start(store, { product_group_id: group })
    await scan(id, `O-${store}`)
    expect(await lineOf(id, "stock_level_id", outside)).toMatchObject({ status: "unexpected", on_close: "nothing" })
    await close(id)
    expect((await level(within)).service_state).toBe("lost")
    expect((await level(outside)).service_state).toBe("in_service")
  })

  it("rejects closing if nothing is counted or it has ended, and scans and cancelling once it is closed", async () => {
    const { store, units } = await shop(1)
    const id = await start(store)
    expect((await refused(close(id), "stocktake")).stocktake[0]).toContain("Nothing is counted yet")
    await scan(id, units[0]!.code)
    await close(id)
    const late = await refused(w.post(`/stocktakes/${id}/scans`, { codes: [units[0]!.code] }), "stocktake")
    expect(late.stocktake[0]).toMatch(/was closed at 2026-06-18.*flightcase count start/)
    await refused(close(id), "stocktake")
    await refused(w.post(`/stocktakes/${id}/cancel`), "stocktake")
    const other = await start(store)
    expect((await w.post(`/stocktakes/${other}/cancel`)).body.stocktake.status).toBe("cancelled")
    await refused(close(other), "stocktake")
  })

  it("is closed by another user than the one who counted, if the setting requires it", async () => {
    await w.must("PUT", "/settings/stocktakes", { settings: { second_person: true } })
    const { store, units } = await shop(2)
    const id = await start(store)
    const helper = viewerWith(["stock.view", "stock.count", "stock.adjust"], ["*"])
    await scan(id, units[0]!.code)
    await refused(close(id), "stocktake")
    tick()
    expect((await w.post(`/stocktakes/${id}/close`, {}, helper)).status).toBe(200)
    await w.must("PUT", "/settings/stocktakes", { settings: { second_person: false } })
  })

  it("requires stock.count to count, and stock.adjust to close", async () => {
    const { store } = await shop(1)
    const viewer = viewerWith(["stock.view"], ["*"]),
      counter = viewerWith(["stock.view", "stock.count"], ["*"])
    expect((await w.post("/stocktakes", { store_id: store }, viewer)).status).toBe(403)
    const { body } = await w.post("/stocktakes", { store_id: store }, counter)
    expect((await w.post(`/stocktakes/${body.stocktake.id}/close`, {}, counter)).status).toBe(403)
    expect((await w.get(`/stocktakes/${body.stocktake.id}`, viewer)).status).toBe(200)
  })

  it("shows unit costs and values only to users who may see costs", async () => {
    const store = await w.store()
    const product = await w.serialised({ purchase_price: "250.00" })
    for (const at of [1, 2, 3]) await w.unit(product, store, { asset_number: `V-${store}-${at}` })
    const id = await start(store)
    await scan(id, `V-${store}-1`)
    const priced = await show(id)
    expect(priced.totals).toMatchObject({ expected_value: "750.00", missing_value: "500.00" })
    expect(priced.stocktake_lines[0].unit_cost).toBe("250.00")
    await close(id)
    expect((await show(id)).totals).toMatchObject({ missing: 2, missing_value: "500.00" })
    const { stocktake } = (await w.get(`/stocktakes/${id}`, viewerWith(["stock.view"], ["*"]))).body
    expect([stocktake.totals?.missing_value, stocktake.stocktake_lines[0].unit_cost]).toEqual([undefined, undefined])
  })

  it("is listed by store and status, and is the last sighting of the units it counted", async () => {
    const { store, units } = await shop(1)
    const id = await start(store)
    await scan(id, units[0]!.code)
    const listed = await w.show(`/stocktakes?q[store_id_eq]=${store}&q[status_eq]=open`)
    expect(listed).toMatchObject([{ id, store_id: store, status: "open" }])
    expect("stocktake_lines" in listed[0]).toBe(false)
    expect((await w.show(`/stock_levels/${units[0]!.id}?include=last_seen`)).last_seen).toMatchObject({
      as: "counted",
      stocktake_id: id,
      store_id: store,
      by_user_id: 1
    })
  })

  it("is replaced as the last sighting of a unit by its later transfers and inspections", async () => {
    const { store, units } = await shop(1)
    const { code, id: unit } = units[0]!
    const seen = async () => (await w.show(`/stock_levels/${unit}?include=last_seen`)).last_seen
    await scan(await start(store), code)
    const to = await w.store()
    const place = { from_store_id: store, to_store_id: to, starts_at: hire.starts_at }
    const { id } = await w.create("/transfers", { ...place, codes: [code] })
    tick()
    await w.must("POST", `/transfers/${id}/send`, { codes: [code] })
    expect(await seen()).toMatchObject({ as: "sent", transfer_id: id, store_id: store, by_user_id: 1 })
    tick()
    await w.must("POST", `/transfers/${id}/receive`, { codes: [code] })
    expect(await seen()).toMatchObject({ as: "received", transfer_id: id, store_id: to, by_user_id: 1 })
    tick()
    const kind = (await w.create("/inspection_kinds", { name: `PAT ${unit}` })).id
    await w.create("/inspections", { stock_level_id: unit, inspection_kind_id: kind, result: "pass" })
    expect(await seen()).toMatchObject({ as: "inspected", by_user_id: 1 })
  })

  it("is not needed for a unit's last sighting: a transfer's receipt is one, its cancellation none", async () => {
    const { store, units } = await shop(2)
    const seen = async (unit: number) => (await w.show(`/stock_levels/${unit}?include=last_seen`)).last_seen
    const to = await w.store()
    const place = { from_store_id: store, to_store_id: to, starts_at: hire.starts_at }
    const [first, second] = [units[0]!, units[1]!]
    const { id } = await w.create("/transfers", { ...place, codes: [first.code] })
    await w.must("POST", `/transfers/${id}/receive`, { codes: [first.code] })
    expect(await seen(first.id)).toMatchObject({ as: "received", transfer_id: id, store_id: to })
    const other = await w.create("/transfers", { ...place, codes: [second.code] })
    await w.must("POST", `/transfers/${other.id}/send`, {})
    tick()
    await w.must("POST", `/transfers/${other.id}/cancel`, {})
    expect(await seen(second.id)).toMatchObject({ as: "sent", transfer_id: other.id, store_id: store })
  })
  itFoldsAgain(w)
})
