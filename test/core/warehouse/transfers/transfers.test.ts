/**
 * Transfers over the API, on both engines (rules/transfers): goods in transit, availability meanwhile, and the ledger.
 */
import { beforeEach, describe, expect, it } from "vitest"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { engines } from "../../../app.ts"

const day = (date: number): string => `2026-06-${String(date).padStart(2, "0")}`
const at = (date: number, hour = 12): string => `${day(date)}T${String(hour).padStart(2, "0")}:00:00Z`

describe.each(engines)("a transfer on %s", (engine) => {
  const w = appHouse(engine)
  beforeEach(() => w.app.setClock("2026-06-10T12:00:00.000Z"))

  const freeOf = async (product_id: number, store_id: number, date: number): Promise<number> =>
    (await w.show(`/availability?product_id=${product_id}&store_id=${store_id}&date=${day(date)}`)).available
  /** Availability at both stores on these days. */
  const offered = async (product_id: number, stores: ReadonlyArray<number>, ...dates: ReadonlyArray<number>) =>
    Promise.all(stores.map((store) => Promise.all(dates.map((date) => freeOf(product_id, store, date)))))
  const ledgerOf = async (product: number, level: number) =>
    (await w.show(`/products/${product}/stock_levels/${level}/stock_transactions`)).map((one) => [
      one.transaction_type_name,
      Number(one.quantity_move),
      one.store_id
    ])
  const places = async (policy = "warn") => {
    const from = await w.store({ shortage_policy: policy })
    return { from, to: await w.store(), fromTo: { from_store_id: from, to_store_id: 0 } }
  }
  /** Creates two stores, the first with units that have asset numbers. */
  const shop = async (many: number, policy = "warn") => {
    const from = await w.store({ shortage_policy: policy })
    const to = await w.store()
    const product = await w.serialised()
    const units: Array<{ readonly id: number; readonly code: string }> = []
    for (let made = 0; made < many; made++) {
      const code = `T-${from}-${made}`
      units.push({ id: await w.unit(product, from, { asset_number: code }), code })
    }
    return { from, to, product, units, codes: units.map(({ code }) => code) }
  }
  const plan = (from_store_id: number, to_store_id: number, more: object) =>
    w.post("/transfers", { from_store_id, to_store_id, starts_at: at(12), ...more })
  const planned = async (from: number, to: number, more: object): Promise<{ readonly id: number }> => {
    const { body, status } = await plan(from, to, more)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.transfer
  }
  const move = (id: number, verb: string, body: object = {}) => w.must("POST", `/transfers/${id}/${verb}`, body)

  it("moves stock out of one store when it is sent, and into the other when it is received", async () => {
    const { codes, from, product, to, units } = await shop(3)
    const { id } = await planned(from, to, { codes: codes.slice(0, 2), arrives_at: at(14) })
    expect(await offered(product, [from, to], 11, 12, 13, 14, 20)).toEqual([
      [3, 1, 1, 1, 1],
      [0, 0, 0, 2, 2]
    ])
    w.app.setClock(at(12))
    expect((await move(id, "send")).transfer).toMatchObject({ status: "sent", is_late: false })
    expect(await offered(product, [from, to], 12, 13, 14)).toEqual([
      [1, 1, 1],
      [0, 0, 2]
    ])
    w.app.setClock(at(14))
    expect((await move(id, "receive", { codes: [codes[0]] })).transfer.status).toBe("sent")
    expect(await offered(product, [from, to], 14, 15)).toEqual([
      [1, 1],
      [1, 2]
    ])
    const { transfer } = await move(id, "receive")
    expect(transfer).toMatchObject({ status: "received", items: [{ received_quantity: 1 }, { received_quantity: 1 }] })
    expect(await offered(product, [from, to], 14, 15)).toEqual([
      [1, 1],
      [2, 2]
    ])
    expect((await w.show(`/stock_levels/${units[0]!.id}`)).store_id).toBe(to)
    expect(await ledgerOf(product, units[0]!.id)).toEqual([
      ["Transfer In", 1, to],
      ["Transfer Out", -1, from],
      ["Opening Balance", 1, from]
    ])
  })

  it("is late once the day of its arrival has ended, and then supplies nothing until it arrives", async () => {
    const { codes, from, product, to } = await shop(1)
    const { id } = await planned(from, to, { codes })
    w.app.setClock(at(12, 13))
    await move(id, "send")
    expect(await offered(product, [from, to], 12, 13)).toEqual([
      [0, 0],
      [0, 1]
    ])
    w.app.setClock(at(13))
    expect((await w.show(`/transfers/${id}`)).is_late).toBe(true)
    expect(await offered(product, [from, to], 13, 20)).toEqual([
      [0, 0],
      [0, 0]
    ])
    await move(id, "receive")
    expect(await offered(product, [from, to], 13, 20)).toEqual([
      [0, 0],
      [1, 1]
    ])
  })

  it("moves bulk quantities in parts, and creates a missing stock level at the receiving store", async () => {
    const { from, to } = await places()
    const sku = `CABLE-${from}`
    const { id: product, level } = await w.bulk(from, 40, { sku })
    const { id } = await planned(from, to, { items: [{ product_id: product, quantity: 30 }] })
    expect(await offered(product, [from, to], 11, 12)).toEqual([
      [40, 10],
      [0, 30]
    ])
    w.app.setClock(at(12))
    const sent = await move(id, "send", { codes: [`${sku}*25`] })
    expect(sent.meta.warnings).toEqual([expect.stringMatching(/^Left behind: 5 × /)])
    expect((await w.show(`/stock_levels/${level}`)).quantity_held).toBe("15.00")
    await move(id, "receive", { codes: [`${sku}*20`] })
    await refused(w.post(`/transfers/${id}/receive`, { codes: [`${sku}*6`] }), "codes.0")
    expect((await move(id, "receive", { items: [{ product_id: product, quantity: 5 }] })).transfer.status).toBe(
      "received"
    )
    const [there] = await w.show(`/stock_levels?q[product_id_eq]=${product}&q[store_id_eq]=${to}`)
    expect(there.quantity_held).toBe("25.00")
    expect(await ledgerOf(product, there.id)).toEqual([
      ["Transfer In", 5, to],
      ["Transfer In", 20, to]
    ])
    expect(await offered(product, [from, to], 13)).toEqual([[15], [25]])
  })

  it("plans a return transfer for ends_at when the goods arrive", async () => {
    const { codes, from, product, to } = await shop(2)
    const cable = await w.bulk(from, 10)
    const items = [{ product_id: cable.id, quantity: 4 }]
    const { id } = await planned(from, to, { codes, items, arrives_at: at(13), ends_at: at(16) })
    const everywhere = async () => [
      await offered(product, [from, to], 12, 13, 15, 16, 17, 18),
      await offered(cable.id, [from, to], 12, 13, 15, 16, 17, 18)
    ]
    const promised = [
      [
        [0, 0, 0, 0, 2, 2],
        [0, 2, 2, 2, 0, 0]
      ],
      [
        [6, 6, 6, 6, 10, 10],
        [0, 4, 4, 4, 0, 0]
      ]
    ]
    expect(await everywhere()).toEqual(promised)
    w.app.setClock(at(12))
    await move(id, "send")
    expect(await everywhere()).toEqual(promised)
    w.app.setClock(at(13))
    await move(id, "receive", { codes: [codes[0]] })
    await move(id, "receive")
    const [back, ...others] = await w.show(`/transfers?q[return_of_transfer_id_eq]=${id}&include=items`)
    expect(others).toEqual([])
    expect(back).toMatchObject({
      status: "draft",
      from_store_id: to,
      to_store_id: from,
      starts_at: "2026-06-16T12:00:00.000Z"
    })
    expect(back.items.map(({ code, quantity }) => [code, quantity])).toEqual([
      [codes[0], 1],
      [codes[1], 1],
      [null, 4]
    ])
    expect(await offered(product, [from, to], 14, 15, 17)).toEqual([
      [0, 0, 2],
      [2, 2, 0]
    ])
    w.app.setClock(at(16))
    await move(back.id, "send")
    w.app.setClock(at(17))
    await move(back.id, "receive")
    expect(await offered(product, [from, to], 17, 18)).toEqual([
      [2, 2],
      [0, 0]
    ])
    expect(await offered(cable.id, [from, to], 17, 18)).toEqual([
      [10, 10],
      [0, 0]
    ])
  })

  it("can be received before it is recorded as sent, and recorded as sent afterwards", async () => {
    const { codes, from, product, to } = await shop(2)
    const cable = await w.bulk(from, 10)
    const cables = { product_id: cable.id, quantity: 4 }
    const { id } = await planned(from, to, { items: [{ product_id: product, quantity: 2 }, cables] })
    await refused(w.post(`/transfers/${id}/receive`, {}), "codes")
    await move(id, "receive", { items: [cables] })
    const sku = `CABLE-${from}`
    await w.put(`/products/${cable.id}`, { sku })
    expect((await move(id, "receive", { codes })).transfer).toMatchObject({ status: "received", sent_at: null })
    expect((await move(id, "send", { codes: [...codes, `${sku}*4`] })).transfer).toMatchObject({
      status: "received",
      sent_at: expect.any(String)
    })
    expect((await move(id, "receive", { codes })).transfer.status).toBe("received")
    expect((await w.show(`/stock_levels/${cable.level}`)).quantity_held).toBe("6.00")
    await refused(w.post(`/transfers/${id}/send`, {}), "transfer")
    await refused(w.post(`/transfers/${id}/receive`, {}), "transfer")
    expect(await offered(product, [from, to], 12)).toEqual([[0], [2]])
  })

  it("brings the goods back to the sending store if it is cancelled, before and after it was sent", async () => {
    const { codes, from, product, to } = await shop(1)
    const { id: cable, level } = await w.bulk(from, 10)
    for (const is_sent of [false, true]) {
      const { id } = await planned(from, to, { codes, items: [{ product_id: cable, quantity: 4 }] })
      if (is_sent) await move(id, "send")
      expect((await move(id, "cancel")).transfer.status).toBe("cancelled")
      await refused(w.post(`/transfers/${id}/cancel`), "transfer")
      expect(await offered(product, [from, to], 12)).toEqual([[1], [0]])
      expect(await offered(cable, [from, to], 12)).toEqual([[10], [0]])
    }
    expect((await ledgerOf(cable, level)).slice(0, 2)).toEqual([
      ["Transfer In", 4, from],
      ["Transfer Out", -4, from]
    ])
  })

  it("is rejected or gives a warning, by the store's policy, if orders of the sending store need the goods", async () => {
    const blocking = await shop(2, "block")
    const warning = await shop(2, "warn")
    for (const { from, product } of [blocking, warning])
      await w.order(product, 1, { store_id: from, starts_at: at(13), ends_at: at(15) })
    const words = /would be short of 1 × .*, promised to "Gig/
    const [said] = (await refused(plan(blocking.from, blocking.to, { codes: blocking.codes }), "items")).items
    expect(said).toMatch(words)
    expect((await plan(blocking.from, blocking.to, { codes: [blocking.codes[0]] })).status).toBe(201)
    const { body } = await plan(warning.from, warning.to, { codes: warning.codes })
    expect(body.meta.warnings).toEqual([expect.stringMatching(words)])
  })

  it("judges the content of a case as promised goods, also where the case is all that is named", async () => {
    const { from, product, to, units } = await shop(2, "block")
    const { container } = await w.must("POST", "/containers", { name: "Heads", barcode: `C-${from}`, store_id: from })
    for (const { id } of units) await w.must("POST", `/containers/${container.id}/pack`, { serialised_item_id: id })
    const alone = await plan(from, to, { codes: [`C-${from}`] })
    expect([alone.status, alone.body.meta]).toEqual([201, undefined])
    await move(alone.body.transfer.id, "cancel")
    await w.order(product, 1, { store_id: from, starts_at: at(13), ends_at: at(15) })
    const { name } = await w.show(`/products/${product}`)
    const [said] = (await refused(plan(from, to, { codes: [`C-${from}`] }), "items")).items
    expect(said).toContain(`would be short of 1 × ${name}, promised to "Gig`)
  })

  it("rejects allocated, quarantined, transferred, repeated and unknown units, and keeps its own from orders", async () => {
    const { codes, from, product, to, units } = await shop(4)
    const order = await w.order(product, 1, { store_id: from, starts_at: at(20), ends_at: at(22) })
    await w.allocate(order, units[0]!.id)
    await w.must("POST", `/stock_levels/${units[1]!.id}/quarantine`, { reason: "noise" })
    await planned(from, to, { codes: [codes[2]] })
    const errors = await refused(
      plan(from, to, { codes: [...codes, codes[3], "NO-SUCH"] }),
      "codes.0",
      "codes.1",
      "codes.2",
      "codes.4",
      "codes.5"
    )
    expect(errors["codes.0"][0]).toMatch(/is allocated to "Gig/)
    expect(errors["codes.1"][0]).toMatch(/is in quarantine/)
    expect(errors["codes.2"][0]).toMatch(/is on transfer \d+ already/)
    const other = await w.order(product, 1, { store_id: from, starts_at: at(13), ends_at: at(14) })
    const { body, status } = await w.allocate(other, units[2]!.id)
    expect([status, body.message]).toEqual([422, expect.stringMatching(/is held by transfer \d+ from \S+Z on\.$/)])
    await refused(w.put(`/stock_levels/${units[2]!.id}`, { store_id: to }), "store_id")
  })

  it("leaves units behind that are out of service, and warns of those that are scanned all the same", async () => {
    const { codes, from, to, units } = await shop(4)
    const [lost, damaged] = units
    const { id } = await planned(from, to, { codes: codes.slice(0, 3) })
    await w.must("POST", `/stock_levels/${lost!.id}/lost`, { reason: "gone" })
    await w.must("POST", `/stock_levels/${damaged!.id}/quarantine`, { reason: "smoke" })
    const sent = await move(id, "send")
    expect(sent.meta.warnings).toEqual([
      `Left behind: ${codes[0]} (lost).`,
      `Left behind: ${codes[1]} (in quarantine).`
    ])
    expect(sent.transfer.items.map(({ code }) => code)).toEqual([codes[2]])
    const { id: scanned } = await planned(from, to, { codes: [codes[3]] })
    await w.must("POST", `/stock_levels/${units[3]!.id}/quarantine`, { reason: "smoke" })
    const { codes: nothing } = await refused(w.post(`/transfers/${scanned}/send`), "codes")
    expect(nothing).toEqual([`Nothing of the transfer leaves. Left behind: ${codes[3]} (in quarantine).`])
    const goes = await move(scanned, "send", { codes: [codes[3]] })
    expect(goes.meta.warnings).toEqual([`${codes[3]} leaves, though it is in quarantine.`])
    await move(scanned, "receive")
    expect((await w.show(`/stock_levels/${units[3]!.id}`)).store_id).toBe(to)
  })

  it("moves a case with all its content, and rejects a packed unit on its own", async () => {
    const { codes, from, product, to, units } = await shop(3)
    const flight = await w.serialised()
    await w.update(`/products/${flight}/container_template`, { is_containerable: true })
    const housing = await w.unit(flight, from, { asset_number: `CASE-${from}` })
    const { id: container } = await w.create("/containers", {
      name: "Case",
      serialised_item_id: housing,
      store_id: from
    })
    for (const { id } of units.slice(0, 2))
      await w.must("POST", `/containers/${container}/pack`, { serialised_item_id: id })
    const { id } = await planned(from, to, { codes: [`CASE-${from}`, codes[2]] })
    await refused(plan(from, to, { codes: [codes[0]] }), "codes.0")
    expect(await offered(product, [from, to], 12)).toEqual([[0], [3]])
    await move(id, "send", { codes: [`CASE-${from}`, codes[2]] })
    expect((await move(id, "receive", { items: [{ container_id: container }] })).transfer.status).toBe("sent")
    await move(id, "receive")
    expect((await w.show(`/containers/${container}`)).store_id).toBe(to)
    for (const level of [housing, ...units.map((unit) => unit.id)])
      expect((await w.show(`/stock_levels/${level}`)).store_id).toBe(to)
    expect(await offered(product, [from, to], 12)).toEqual([[0], [3]])
  })

  it("appears in the calendar, the chart and the explanation of availability of both stores", async () => {
    const { codes, from, product, to } = await shop(2)
    const { id } = await planned(from, to, { codes, arrives_at: at(13) })
    const span = `from=${day(12)}&to=${day(13)}`
    const calendar = async (store: number) =>
      (await w.show(`/availability/calendar?store_id=${store}&${span}&product_ids[]=${product}`)).products[0].days.map(
        ({ available }) => available
      )
    expect([await calendar(from), await calendar(to)]).toEqual([
      [0, 0],
      [0, 2]
    ])
    const chart = async (store: number) => w.show(`/availability/${product}/gantt?store_id=${store}&${span}`)
    expect((await chart(from)).demands).toMatchObject([
      { source_type: "store_transfer", source_id: id, source_name: `Transfer #${id}`, colour: "#8B5CF6" },
      { source_type: "store_transfer" }
    ])
    expect((await chart(to)).supplies).toMatchObject([{ source_id: id, quantity: 1 }, { quantity: 1 }])
    const why = async (store: number) =>
      w.show(`/availability/why?product_id=${product}&store_id=${store}&date=${day(13)}`)
    expect(await why(from)).toMatchObject({ available: 0, demand_breakdown: { store_transfer: 2 }, supplies: [] })
    expect(await why(to)).toMatchObject({
      total_stock: 2,
      available: 2,
      stock_level_ids: [],
      supplies: [{ source_name: `Transfer #${id}`, quantity: 1 }, { quantity: 1 }]
    })
    const free = async (store: number) =>
      (await w.show(`/products/${product}/available-assets?store_id=${store}&from=${day(13)}&to=${day(14)}`)).length
    expect([await free(from), await free(to)]).toEqual([0, 0])
    const as_of = await w.show(
      `/availability?product_id=${product}&store_id=${to}&date=${day(13)}&as_of=2026-06-10T12:00:00.000Z`
    )
    expect(as_of.available).toBe(2)
  })

  it("updates the shortages of orders at both stores", async () => {
    const { codes, from, product, to } = await shop(1)
    const hire = { starts_at: at(14), ends_at: at(15) }
    const there = await w.order(product, 1, { store_id: to, ...hire })
    const short = async (id: number) => (await w.show(`/opportunities/${id}`)).has_shortage
    expect(await short(there.id)).toBe(true)
    const { id } = await planned(from, to, { codes })
    expect(await short(there.id)).toBe(false)
    const here = await w.order(product, 1, { store_id: from, ...hire })
    expect(await short(here.id)).toBe(true)
    await move(id, "cancel")
    expect([await short(there.id), await short(here.id)]).toEqual([true, false])
  })

  it("can be planned for the shortage of an order, with the quantity the other store has available", async () => {
    const { from, product, to } = await shop(3)
    await w.order(product, 1, { store_id: from, starts_at: at(14), ends_at: at(15) })
    const { id } = await w.order(product, 5, { store_id: to, starts_at: at(14), ends_at: at(15) })
    const { elsewhere } = (await w.get(`/opportunities/${id}/shortages`)).body
    expect(elsewhere).toMatchObject([{ store_id: from, available: 2, ready_on: day(10), needed_on: day(14) }])
    const transfer = await planned(from, to, { opportunity_id: id })
    expect(transfer).toMatchObject({ opportunity_id: id, items: [{ product_id: product, quantity: 2 }] })
    const after = (await w.get(`/opportunities/${id}/shortages`)).body
    expect([after.shortages[0].shortfall, after.elsewhere]).toEqual([3, []])
    await refused(plan(from, to, { opportunity_id: id }), "items")
  })

  it("keeps its units from being reported missing in a stocktake while they are on their way", async () => {
    const { codes, from, to } = await shop(2)
    const { id } = await planned(from, to, { codes: [codes[0]], starts_at: at(10) })
    await move(id, "send")
    const count = (await w.create("/stocktakes", { store_id: from })).id
    await w.must("POST", `/stocktakes/${count}/scans`, { codes: [codes[1]] })
    expect((await w.show(`/stocktakes/${count}`)).stocktake_lines).toMatchObject([
      { code: codes[0], status: "out", on_close: "nothing", way_out: expect.stringContaining(`on transfer ${id}`) },
      { code: codes[1], status: "found" }
    ])
  })

  it("is rejected at the field for invalid stores, dates and goods", async () => {
    const { codes, from, to } = await shop(1)
    await refused(plan(from, from, { codes }), "to_store_id")
    await refused(plan(from, to, { codes, arrives_at: at(11) }), "arrives_at")
    await refused(plan(from, to, { codes, ends_at: at(12) }), "ends_at")
    await refused(plan(from, to, {}), "items")
    await refused(plan(to, from, { codes }), "codes.0")
    await refused(plan(from, to, { items: [{}] }), "items.0")
  })

  itFoldsAgain(w)
})
