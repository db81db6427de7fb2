/**
 * Conflicts in users' words: the reason, what changed meanwhile, resolutions, waiting commands; and changes merged
 * without conflict.
 */
import { join } from "node:path"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { openOutboxAt, type Outbox } from "../../../../sync/device/outbox/outbox.ts"
import { engines } from "../../../app.ts"
import { serverOfSuite, type TestDevice } from "../../opening.ts"

const hire = { starts_at: "2030-07-01T09:00:00Z", ends_at: "2030-07-04T09:00:00Z" }

describe.each(engines)("commands of a device that meet others' changes, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, must, show } = server
  let ann: string
  beforeAll(async () => {
    ann = (await server.person({ name: "Ann", roles: ["Admin"] })).secret
  })
  afterEach(() => void vi.useRealTimers())
  const byAnn = (method: string, path: string, body?: object) => must(method, path, body, ann)
  const enrol = () => server.enrol()
  const inOutbox = <A>({ folder }: TestDevice, look: (outbox: Outbox) => A): A => {
    const outbox = openOutboxAt(join(folder, "outbox.sqlite"))
    try {
      return look(outbox)
    } finally {
      outbox.close()
    }
  }
  const counts = (device: TestDevice) => inOutbox(device, (outbox) => outbox.counts())
  const onlyConflict = async (device: TestDevice) => {
    const conflicts = await device.conflicts()
    expect(conflicts).toHaveLength(1)
    return conflicts[0]!
  }
  const dispatch = (quantity: number) => ({ action: "dispatch", quantity })
  let serial = 0
  const asset_number = (): string => `A-${++serial}`

  /** Two orders for the same days and three units; the first needs two, both allocated here. */
  const twoOrders = async () => {
    const product_id = await server.serialised()
    const units: Array<any> = []
    for (const _ of [1, 2, 3]) units.push(await server.labelled(product_id, { asset_number: asset_number() }))
    const [mine, theirs] = [await server.order(product_id, 2, hire), await server.order(product_id, 1, hire)]
    const path = `/opportunities/${mine.id}` as const
    const device = await enrol()
    const allocations = units.slice(0, 2).map(({ id }) => ({ opportunity_item_id: mine.line.id, stock_level_id: id }))
    const { opportunity } = await device.must("POST", `${path}/quick_allocate`, { allocations })
    const made: ReadonlyArray<number> = opportunity.items.flatMap((item) => item.assets).map(({ id }) => id)
    const prepare = (...asset_ids: ReadonlyArray<number>) => device.must("POST", `${path}/quick_prepare`, { asset_ids })
    const taken = (unit: { readonly id: number }) =>
      byAnn("POST", `/opportunities/${theirs.id}/items/${theirs.line.id}/assets`, { stock_level_id: unit.id })
    const assets = async () => (await show(`${path}?include=items.assets`)).items.flatMap((item) => item.assets)
    return { device, units, made, line: mine.line.id, prepare, taken, assets }
  }

  it("are reported with the holder of a taken unit, and accepted with another, as are those they held", async () => {
    const { assets, device, made, prepare, taken, units } = await twoOrders()
    await prepare(...made)
    await taken(units[1])
    expect(await device.sync()).toMatchObject({ accepted: 0, rejected: 1, conflicts: 1, pending: 0 })
    expect(await device.status()).toMatchObject({ conflicts: 1, held: 1 })
    const [{ asset_number: lost }, { asset_number: other, id: other_id }] = [units[1], units[2]]
    const { changes, error, held, id, ways_out } = await onlyConflict(device)
    expect(error.errors).toEqual({ "allocations.1.stock_level_id": [expect.stringContaining(`${lost} is held by`)] })
    const what = expect.stringContaining(lost)
    expect(changes).toMatchObject([{ who: "Ann", what, field: "held_by", to: expect.stringContaining("Gig") }])
    expect(held).toMatchObject([{ n: 2, name: "opportunities.quick_prepare", error: { status: 424, cause: id } }])
    expect(ways_out.map(({ way }) => way)).toEqual(["substitute", "split", "amend", "drop"])
    const substitute = { command: `flightcase sync resolve 1 --unit ${other}`, says: expect.stringContaining(other) }
    expect(ways_out[0]).toMatchObject(substitute)
    expect(await device.alternatives(id)).toMatchObject([{ id: other_id, name: other }])
    expect(await device.resolve(id, { substitute: units[1].id })).toMatchObject({ status: 422 })
    expect(await device.resolve(id, { substitute: true })).toMatchObject({ status: 200, released: [4] })
    expect(counts(device)).toEqual({ substituted: 1, released: 1, pending: 2 })
    expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    // The rows kept the ids they got on this device.
    expect((await assets()).map((asset) => [asset.id, asset.stock_level_id, asset.status])).toEqual([
      [made[0], units[0].id, 1],
      [made[1], other_id, 1]
    ])
  })
  it("can be split, if they allocate units, into those still free and the rest, with the same row ids", async () => {
    const { assets, device, line, made, prepare, taken, units } = await twoOrders()
    for (const one of made) await prepare(one)
    await taken(units[0])
    await device.sync()
    const conflict = await onlyConflict(device)
    expect(conflict.held.map(({ n }) => n)).toEqual([2, 3])
    // The second unit is free, so the commands on it are applied; the first waits for the rest.
    expect(await device.resolve(conflict.id, { split: true })).toMatchObject({ status: 200, released: [6] })
    expect(counts(device)).toEqual({ split: 1, pending: 3, held: 1, released: 1 })
    expect(await device.status()).toMatchObject({ stalled: 1 })
    expect(await device.sync()).toMatchObject({ accepted: 2, rejected: 1 })
    expect((await assets()).map((asset) => [asset.id, asset.stock_level_id])).toEqual([[made[1], units[1].id]])
    const rest = await onlyConflict(device)
    expect(rest.payload.body).toEqual({ allocations: [{ opportunity_item_id: line, stock_level_id: units[0].id }] })
    await device.sync()
    expect(await device.conflicts()).toMatchObject([{ id: rest.id, held: [{ n: 2 }] }])
    expect(await device.resolve(rest.id, { drop: true, with_dependants: true })).toMatchObject({ status: 200 })
    expect(counts(device)).toEqual({ split: 1, accepted: 2, released: 1, dropped: 2 })
  })
  it("can be split, if they dispatch a quantity, into what the line still needs and the rest", async () => {
    const { id, line } = await server.order(await server.product({ stock_method: 1 }), 8, hire)
    const path = `/opportunities/${id}/items/${line.id}/fulfilment`
    const device = await enrol()
    await device.must("PATCH", path, dispatch(5))
    await byAnn("PATCH", path, dispatch(6))
    await device.sync()
    const { changes, error, id: conflict, name, ways_out } = await onlyConflict(device)
    expect([name, error.errors]).toEqual(["opportunities.fulfil_item", { quantity: [expect.any(String)] }])
    expect(changes).toMatchObject([{ who: "Ann", field: "dispatched_quantity", from: "0.00", to: "6.00" }])
    expect(ways_out.find(({ way }) => way === "split")?.says).toContain("2 of 5")
    await device.resolve(conflict, { split: true })
    await device.sync()
    expect((await show(`/opportunities/${id}?include=items`)).items[0].dispatched_quantity).toBe("8.00")
    expect((await onlyConflict(device)).payload.body["quantity"]).toBe(3)
  })

  /** A unit created and changed here, with an asset number that Ann takes meanwhile. */
  const takenNumber = async (device: TestDevice, product_id: number, number: string): Promise<number> => {
    const { id } = await device.create("/stock_levels", { product_id, store_id: 1, asset_number: number })
    await device.must("PUT", `/stock_levels/${id}`, { location: "Shelf" })
    return id
  }
  const takeNumber = (product_id: number, number: string) =>
    byAnn("POST", "/stock_levels", { product_id, store_id: 1, asset_number: number, item_name: "Hers" })

  it("are held if they depend on a refused creation, and recorded again with the same ids when it is amended", async () => {
    const product = await server.serialised()
    const { id, line } = await server.order(product, 1, hire)
    const device = await enrol()
    const [number, other] = [asset_number(), asset_number()]
    const unit = await takenNumber(device, product, number)
    const group = await device.create("/product_groups", { name: "Apart" })
    await device.allocate({ id, line }, unit)
    await takeNumber(product, number)
    expect(await device.sync()).toMatchObject({ sent: 4, accepted: 1, rejected: 1, conflicts: 1 })
    const conflict = await onlyConflict(device)
    const what = expect.stringContaining("Hers")
    expect(conflict.changes).toMatchObject([{ who: "Ann", what, field: "asset_number", from: null, to: number }])
    expect(conflict.held).toMatchObject([
      { n: 2, name: "stock_levels.update" },
      { n: 4, name: "opportunities.quick_allocate" }
    ])
    // Recorded in the same run, but independent of it.
    expect((await show(`/product_groups/${group.id}`)).name).toBe("Apart")
    const amend = { ...conflict.payload.body, asset_number: other }
    expect(await device.resolve(conflict.id, { amend })).toMatchObject({ status: 201, released: [6, 7] })
    expect(counts(device)).toEqual({ accepted: 1, amended: 1, released: 2, pending: 3 })
    expect(await device.sync()).toMatchObject({ accepted: 3, conflicts: 0 })
    expect(await show(`/stock_levels/${unit}`)).toMatchObject({ asset_number: other, location: "Shelf" })
    expect(await show(`/opportunities/${id}/assets`)).toMatchObject([{ stock_level_id: unit }])
  })
  it("are held again if the amended command they depend on is refused, too", async () => {
    const product = await server.serialised()
    const device = await enrol()
    const [number, other] = [asset_number(), asset_number()]
    await takenNumber(device, product, number)
    await takeNumber(product, number)
    await device.sync()
    const first = await onlyConflict(device)
    await device.resolve(first.id, { amend: { ...first.payload.body, asset_number: other } })
    await takeNumber(product, other)
    expect(await device.sync()).toMatchObject({ accepted: 0, conflicts: 1 })
    expect(await onlyConflict(device)).toMatchObject({ n: 3, held: [{ n: 4 }] })
    expect(counts(device)).toEqual({ amended: 1, released: 1, rejected: 1, held: 1 })
  })
  it("are dropped together with dependent commands, or leave those as conflicts", async () => {
    const product = await server.serialised()
    const device = await enrol()
    for (const with_dependants of [false, true]) {
      const number = asset_number()
      await takenNumber(device, product, number)
      await takeNumber(product, number)
      await device.sync()
      const conflict = (await device.conflicts()).find((one) => one.payload.body["asset_number"] === number)!
      const answer: any = await device.resolve(conflict.id, { drop: true, with_dependants })
      expect(answer.body.conflict.dependants).toMatchObject([{ state: with_dependants ? "dropped" : "rejected" }])
    }
    expect(counts(device)).toEqual({ dropped: 3, rejected: 1 })
    const error = { status: 424, message: expect.stringContaining("dropped") }
    expect(await onlyConflict(device)).toMatchObject({ name: "stock_levels.update", error })
  })
  it("are held by the earlier command whose refusal caused theirs", async () => {
    const { id, items } = await server.withLine(hire, { item_id: await server.product(), quantity: 1 })
    const [path, line] = [`/opportunities/${id}`, `/opportunities/${id}/items/${items[0].id}`]
    await must("POST", `${path}/convert_to_quotation`)
    const device = await enrol()
    await device.must("POST", `${path}/convert_to_order`)
    await device.must("PATCH", `${line}/fulfilment`, dispatch(1))
    await byAnn("DELETE", line)
    await device.sync()
    expect(await onlyConflict(device)).toMatchObject({
      name: "opportunities.convert_to_order",
      held: [{ name: "opportunities.fulfil_item", error: { status: expect.any(Number) } }],
      changes: [{ who: "Ann", event: "opportunity.item_removed", field: null }]
    })
  })

  it("merge if they edit other fields of a row, even when the complete row is sent back", async () => {
    const path = `/products/${await server.product({ weight: "3.5", tag_list: ["old"] })}`
    const device = await enrol()
    await device.must("PUT", path, { ...(await device.show(path)), name: "Moving head" })
    await byAnn("PUT", path, { sku: "HEAD-2", weight: "4.5", tag_list: ["new"] })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const merged = { name: "Moving head", sku: "HEAD-2", weight: "4.5000", tag_list: ["new"] }
    expect(await show(path)).toMatchObject(merged)
    expect(device.told(true)).toEqual([])
  })
  it("record only the changed custom fields and settings when all are sent back", async () => {
    for (const name of ["colour", "crew"])
      await create("/custom_fields", { name, display_name: name, module_type: "Product", field_type: 0 })
    const product = `/products/${await server.product({ custom_fields: { colour: "black", crew: "A" } })}`
    const group = `/surcharge_groups/${(await create("/surcharge_groups", { name: "Fuel" })).id}`
    const device = await enrol()
    const shown = await device.show(product)
    const { settings } = (await device.get("/settings/company")).body
    const custom_fields = { ...shown.custom_fields, colour: "white" }
    await device.must("PUT", product, { ...shown, custom_fields })
    await device.must("PUT", group, { ...(await device.show(group)), description: "Diesel" })
    await device.must("PUT", "/settings/company", { settings: { ...settings, name: "Mine Ltd" } })
    await byAnn("PUT", product, { custom_fields: { crew: "B" } })
    await byAnn("PUT", "/settings/company", { settings: { website: "https://example.com" } })
    expect(await device.sync()).toMatchObject({ accepted: 3, conflicts: 0 })
    expect((await show(product)).custom_fields).toEqual({ colour: "white", crew: "B" })
    const merged = { name: "Mine Ltd", website: "https://example.com" }
    expect((await server.get("/settings/company")).body.settings).toMatchObject(merged)
    const bodies = inOutbox(device, (outbox) => outbox.byState("accepted").map(({ payload }) => payload.body))
    expect(bodies).toEqual([
      { custom_fields: { colour: "white" } },
      { description: "Diesel" },
      { settings: { name: "Mine Ltd" } }
    ])
  })
  it("are not recorded if they change nothing, and are refused at once if they are invalid", async () => {
    const path = `/products/${await server.product({ name: "Head", sku: "HEAD" })}`
    const device = await enrol()
    expect((await device.put(path, { name: "Head", sku: "HEAD" })).command).toBeUndefined()
    const errors = { name: [expect.any(String)] }
    expect(await device.put(path, { name: "", sku: "HEAD" })).toMatchObject({ status: 422, body: { errors } })
    expect(await device.pending()).toEqual([])
  })
  it("overwrite the same field, and report the overwritten value and its author", async () => {
    const path = `/opportunities/${(await server.opportunity({ subject: "Job", reference: "R-0" })).id}`
    const device = await enrol()
    await device.must("PUT", path, { subject: "Mine", reference: "R-1" })
    await byAnn("PUT", path, { subject: "Hers", description: "Loud" })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await show(path)).toMatchObject({ subject: "Mine", reference: "R-1", description: "Loud" })
    const merged = [{ field: "subject", was: "Job", theirs: "Hers", mine: "Mine", who: "Ann" }]
    expect(device.told(false)).toMatchObject([{ n: 1, merged, differences: [] }])
    device.seen(1)
    expect([device.told(false), device.told(true).length]).toEqual([[], 1])
  })
  it("report each value that the server computed differently", async () => {
    const item_id = await server.product()
    const rate = (price: string) =>
      create(`/products/${item_id}/rates`, {
        ...{ rate_definition_id: 1, transaction_type: "rental", currency: "GBP" },
        ...{ price, priority: Number(price) }
      })
    await rate("3")
    const device = await enrol()
    const { id } = await device.create("/opportunities", { subject: "Job", store_id: 1, ...hire })
    const added = await device.create(`/opportunities/${id}/items`, { name: "Heads", item_id, quantity: 1 })
    await rate("5")
    await device.sync()
    const stands = await show(`/opportunities/${id}?include=items`)
    expect(stands.number).toMatch(/\d$/)
    // The number assigned by the server is not reported: offline there was none.
    const told = device.told(false)
    expect(told.map(({ n }) => n)).toEqual([2])
    const of = (field: string) => told[0]!.differences.filter((one) => one.field === field)
    const [here, there] = [added.items[0].unit_price, stands.items[0].unit_price]
    expect(of("unit_price")).toMatchObject([{ here, there }])
    expect(here).not.toBe(there)
    expect(of("charge_total").length).toBe(1)
  })
  it("report an invoice dated another day because it was sent after midnight, but no difference of seconds", async () => {
    const member_id = await server.customer()
    const store_id = await server.store({ timezone: "Europe/Paris" })
    const draft = async (): Promise<string> => {
      const items = [{ name: "Heads", quantity: "4", unit_price: "25.00" }]
      return `/invoices/${(await create("/invoices", { member_id, store_id, items })).id}`
    }
    const [one, other] = [await draft(), await draft()]
    const device = await enrol()
    vi.useFakeTimers({ toFake: ["Date"] })
    const next_year = new Date().getUTCFullYear() + 1
    const record = async (path: string, recorded: string, sent: string) => {
      vi.setSystemTime(`${next_year}-06-18T${recorded}.000Z`)
      await device.must("POST", `${path}/issue`, {})
      await device.must("POST", `${path}/payments`, { amount: "10.00" })
      vi.setSystemTime(`${next_year}-06-18T${sent}.000Z`)
      expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
      return device.told(false).map(({ differences }) => differences.map(({ field }) => field))
    }
    expect(await record(one, "20:00:00", "20:00:07")).toEqual([])
    // Midnight in Paris lies between them.
    expect(await record(other, "21:59:58", "22:00:05")).toEqual([["issued_at", "due_at"]])
  })
})
