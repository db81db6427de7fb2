/** Scanning on devices: a plan says what the run then does; what the server refuses names unit and order. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Device } from "../../sync/device/device.ts"
import { type Engine, engines } from "../app.ts"
import { randomOf } from "../sim/random.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

interface World {
  readonly server: DeviceTestServer
  readonly orders: ReadonlyArray<{ readonly id: number; readonly number: string }>
  readonly codes: ReadonlyArray<string>
}
const dates = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }

const worldOn = async (engine: Engine): Promise<World> => {
  const server = await openDeviceTestServer(engine)
  const made = async (path: string, body: object = {}) => {
    const answer = await server.ask("POST", `/api/v1${path}`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return Object.values(answer.body)[0] as any
  }
  const head = await made("/products", { name: "Head", stock_method: 2 })
  const lens = await made("/products", { name: "Lens", stock_method: 2 })
  const cable = await made("/products", { name: "Cable", sku: "CABLE" })
  const kit = await made("/products", { name: "Kit", sku: "KIT" })
  await made(`/products/${kit.id}/components`, { component_product_id: lens.id, quantity: 1 })
  const [level] = (await server.ask("GET", `/api/v1/stock_levels?q[product_id_eq]=${cable.id}`)).body.stock_levels
  await server.ask("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: 50 })
  const unit = (product_id: number, asset_number: string) =>
    made("/stock_levels", { product_id, store_id: 1, asset_number })
  const heads = []
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) heads.push(await unit(head.id, `H-${n}`))
  for (const n of [1, 2, 3]) await unit(lens.id, `L-${n}`)
  const box = async (barcode: string, units: ReadonlyArray<{ id: number }>, seal: boolean) => {
    const { id } = await made("/containers/temporary", { name: barcode, barcode, store_id: 1 })
    for (const one of units) await made(`/containers/${id}/pack`, { serialised_item_id: one.id })
    if (seal) await made(`/containers/${id}/seal`)
  }
  await box("SEALED", heads.slice(2, 4), true)
  await box("OPEN", heads.slice(4, 6), false)
  await box("SINGLE", heads.slice(6, 7), true)
  const orders = []
  for (const quantity of [5, 3]) {
    const { id } = await made("/opportunities", { subject: `Gig of ${quantity}`, store_id: 1, ...dates })
    for (const [name, item_id, of] of [
      ["Head", head.id, quantity],
      ["Cable", cable.id, 6],
      ["Kit", kit.id, 1]
    ] as const)
      await made(`/opportunities/${id}/items`, { name, item_id, quantity: of })
    await made(`/opportunities/${id}/convert_to_quotation`)
    const order = await made(`/opportunities/${id}/convert_to_order`)
    orders.push({ id, number: order.number })
  }
  return {
    server,
    orders,
    codes: [
      ...heads.map(({ asset_number }) => asset_number),
      ...["L-1", "L-2", "L-3", "SEALED", "OPEN", "SINGLE", "CABLE", "CABLE*3", "4 x CABLE", "KIT", "H-9", "NONSENSE"]
    ]
  }
}

describe.each(engines)("scans on devices, with a server on %s", (engine) => {
  let w: World
  beforeAll(async () => {
    w = await worldOn(engine)
  })
  afterAll(() => w.server.close())
  const asking = (order: { id: number }, direction: string, code: string, more: object = {}) => ({
    method: "POST",
    path: `/api/v1/opportunities/${order.id}/scan`,
    query: [],
    body: { direction, code, ...more }
  })
  const unitsAt = async (device: Device, order: { id: number }) =>
    (await device.ask({ method: "GET", path: `/api/v1/opportunities/${order.id}/assets`, query: [], body: undefined }))
      .body as any

  it("what another device scanned first is refused, leaves nothing, and says which unit is where", async () => {
    const [first, second] = w.orders
    const [one, other] = [await w.server.enrol(`one-${engine}`), await w.server.enrol(`other-${engine}`)]
    await one.sync()
    await other.sync()
    const scan = (device: Device, order: { id: number }) => device.ask(asking(order, "out", "H-8"))
    expect([(await scan(one, first!)).status, (await scan(other, second!)).status]).toEqual([200, 200])
    expect((await one.sync()).rejected).toBe(0)
    expect((await other.sync()).rejected).toBe(1)
    const [conflict] = await other.conflicts()
    expect(JSON.stringify(conflict)).toMatch(
      `H-8 is out with \\"Gig of 5\\" (order ${Number(first!.number)}); check it in there first.`
    )
    // The code is told as what it names here: a unit of a product, for an order.
    expect(conflict).toMatchObject({
      about: { order: { id: second!.id }, product: { name: expect.any(String) }, units: [{ name: "H-8" }] },
      intent: expect.stringMatching(/wanted to book out H-8 for order /)
    })
    expect((await unitsAt(other, second!)).assets).toEqual([])
    expect((await w.server.ask("GET", `/api/v1/opportunities/${second!.id}/assets`)).body.assets).toEqual([])
    await other.resolve(conflict!.id, { drop: true })
    expect(await w.server.replicaTables(`other-${engine}`)).toEqual(await w.server.serverTables())
  })

  it("a check-in that another device was faster with still puts the damaged unit in quarantine", async () => {
    const [order] = w.orders
    const [one, other] = [await w.server.enrol(`quick-${engine}`), await w.server.enrol(`slow-${engine}`)]
    await one.sync()
    expect((await one.ask(asking(order!, "out", "H-1"))).status).toBe(200)
    await one.sync()
    await other.sync()
    const damage = { condition: 1, damage_notes: "lens cracked" }
    expect((await other.ask(asking(order!, "in", "H-1", damage))).status).toBe(200)
    expect((await one.ask(asking(order!, "in", "H-1", { finalise: true }))).status).toBe(200)
    expect((await one.sync()).rejected).toBe(0)
    expect((await other.sync()).rejected).toBe(1)
    const [conflict] = await other.conflicts()
    expect(conflict!.intent).toMatch(/wanted to check in H-1 from order .* as damaged: lens cracked$/)
    expect(conflict!.ways_out.map(({ command }) => command)).toContain(
      `flightcase sync resolve ${conflict!.n} --quarantine`
    )
    expect((await other.resolve(conflict!.id, { quarantine: true })).status).toBe(200)
    expect(await other.sync()).toMatchObject({ rejected: 0, conflicts: 0 })
    const { service_records: records } = (await w.server.ask("GET", "/api/v1/service_records?q[is_open_true]=1")).body
    expect(records).toMatchObject([{ state: "quarantine", reason: "Checked in damaged", note: "lens cracked" }])
    const { id } = (await w.server.ask("GET", "/api/v1/stock_levels?q[asset_number_eq]=H-1")).body.stock_levels[0]
    expect((await w.server.ask("POST", `/api/v1/stock_levels/${id}/release`, {})).status).toBe(200)
    expect((await other.resolve(conflict!.id, { quarantine: true })).status).toBe(404)
  })

  it("a plan of many codes says of each what the run then does", async () => {
    const device = await w.server.enrol(`plans-${engine}`)
    await device.sync()
    const random = randomOf(17)
    let done = 0
    for (let round = 0; round < 12; round++) {
      const requests = Array.from({ length: 10 }, () => {
        const code = random.pick(w.codes)
        const more = { break_seal: random.happens(0.4), finalise: random.happens(0.5) }
        return random.happens(0.2)
          ? { method: "POST", path: "/api/v1/scan_in", query: [], body: { code, finalise: more.finalise } }
          : asking(random.pick(w.orders), random.pick(["out", "out", "in"]), code, more)
      })
      const before = await w.server.replicaTables(`plans-${engine}`)
      const planned = await device.plan(requests)
      expect(await w.server.replicaTables(`plans-${engine}`)).toEqual(before)
      for (const [at, request] of requests.entries()) {
        const ran = await device.ask(request)
        if (ran.status === 200) done++
        expect([planned[at]?.status, planned[at]?.body], JSON.stringify(request.body)).toEqual([ran.status, ran.body])
      }
    }
    expect(done).toBeGreaterThan(10)
    const report = await device.sync()
    expect(report.rejected).toBe(0)
    expect(await w.server.replicaTables(`plans-${engine}`)).toEqual(await w.server.serverTables())
  })
})
