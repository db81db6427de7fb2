/** Scanning on devices: a plan predicts the scan's result, and refusals name unit and order. */
import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { randomOf } from "../sim/random.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

const dates = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }

describe.each(engines)("scans on devices, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, show } = server
  let orders: ReadonlyArray<{ readonly path: string; readonly number: string }>, codes: ReadonlyArray<string>
  beforeAll(async () => {
    const [head, lens] = [await server.serialised(), await server.serialised()]
    const cable = await server.product({ sku: "CABLE" })
    const kit = await server.product({ sku: "KIT" })
    await create(`/products/${kit}/components`, { component_product_id: lens, quantity: 1 })
    await server.hold(cable, 50)
    const heads: Array<number> = []
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) heads.push(await server.unit(head, 1, { asset_number: `H-${n}` }))
    for (const n of [1, 2, 3]) await server.unit(lens, 1, { asset_number: `L-${n}` })
    const box = async (barcode: string, units: ReadonlyArray<number>) => {
      const { id } = await create("/containers/temporary", { name: barcode, barcode, store_id: 1 })
      for (const serialised_item_id of units) await create(`/containers/${id}/pack`, { serialised_item_id })
      if (barcode !== "OPEN") await create(`/containers/${id}/seal`)
    }
    await box("SEALED", heads.slice(2, 4))
    await box("OPEN", heads.slice(4, 6))
    await box("SINGLE", heads.slice(6, 7))
    const made: Array<(typeof orders)[number]> = []
    for (const quantity of [5, 3]) {
      const { id } = await server.withLine({ subject: `Gig of ${quantity}`, ...dates }, { item_id: head, quantity })
      for (const [item_id, of] of [
        [cable, 6],
        [kit, 1]
      ] as const)
        await create(`/opportunities/${id}/items`, { name: "Goods", item_id, quantity: of })
      made.push({ path: `/opportunities/${id}`, number: (await server.confirm(id)).number! })
    }
    orders = made
    codes = [
      ...heads.map((_, at) => `H-${at + 1}`),
      ...["L-1", "L-2", "L-3", "SEALED", "OPEN", "SINGLE", "CABLE", "CABLE*3", "4 x CABLE", "KIT", "H-9", "NONSENSE"]
    ]
  })
  const scan = (device: TestDevice, { path }: { readonly path: string }, direction: string, code: string, more = {}) =>
    device.must("POST", `${path}/scan`, { direction, code, ...more })

  it("are refused for a unit that another device booked out, naming the order that has it", async () => {
    const [first, second] = [orders[0]!, orders[1]!]
    const [one, other] = [await server.enrol(), await server.enrol()]
    await scan(one, first, "out", "H-8")
    await scan(other, second, "out", "H-8")
    expect([(await one.sync()).rejected, (await other.sync()).rejected]).toEqual([0, 1])
    const [conflict] = await other.conflicts()
    expect(JSON.stringify(conflict)).toMatch(
      `H-8 is out with \\"Gig of 5\\" (order ${Number(first.number)}); check it in there first.`
    )
    // The code is sent as the device understood it: a unit of a product, for an order.
    expect(conflict).toMatchObject({
      about: {
        order: { id: Number(second.path.split("/").at(-1)) },
        product: { name: expect.any(String) },
        units: [{ name: "H-8" }]
      },
      intent: expect.stringMatching(/wanted to book out H-8 for order /)
    })
    for (const at of [other, server]) expect(await at.show(`${second.path}/assets`)).toEqual([])
    await other.resolve(conflict!.id, { drop: true })
    await server.sameOn(other)
  })
  it("can still put a damaged unit in quarantine after another device checked it in", async () => {
    const order = orders[0]!
    const [one, other] = [await server.enrol(), await server.enrol()]
    await scan(one, order, "out", "H-1")
    await one.sync()
    await other.sync()
    await scan(other, order, "in", "H-1", { condition: 1, damage_notes: "lens cracked" })
    await scan(one, order, "in", "H-1", { finalise: true })
    expect([(await one.sync()).rejected, (await other.sync()).rejected]).toEqual([0, 1])
    const { id, intent, n, ways_out } = (await other.conflicts())[0]!
    expect(intent).toMatch(/wanted to check in H-1 from order .* as damaged: lens cracked$/)
    expect(ways_out.map(({ command }) => command)).toContain(`flightcase sync resolve ${n} --quarantine`)
    expect((await other.resolve(id, { quarantine: true })).status).toBe(200)
    expect(await other.sync()).toMatchObject({ rejected: 0, conflicts: 0 })
    const record = { state: "quarantine", reason: "Checked in damaged", note: "lens cracked" }
    expect(await show("/service_records?q[is_open_true]=1")).toMatchObject([record])
    const [unit] = await show("/stock_levels?q[asset_number_eq]=H-1")
    await server.must("POST", `/stock_levels/${unit.id}/release`, {})
    expect((await other.resolve(id, { quarantine: true })).status).toBe(404)
  })
  it("return the same results as their plan", async () => {
    const device = await server.enrol()
    const random = randomOf(17)
    let done = 0
    for (let round = 0; round < 12; round++) {
      const requests = Array.from({ length: 10 }, () => {
        const code = random.pick(codes)
        const more = { break_seal: random.happens(0.4), finalise: random.happens(0.5) }
        const [path, body] = random.happens(0.2)
          ? ["/scan_in", { code, finalise: more.finalise }]
          : [`${random.pick(orders).path}/scan`, { direction: random.pick(["out", "out", "in"]), code, ...more }]
        return { method: "POST", path: `/api/v1${path}`, query: [], body }
      })
      const before = await device.tables()
      const planned = await device.plan(requests)
      expect(await device.tables()).toEqual(before)
      for (const [at, request] of requests.entries()) {
        const { body, status } = await device.ask(request)
        if (status === 200) done++
        expect([planned[at]?.status, planned[at]?.body], JSON.stringify(request.body)).toEqual([status, body])
      }
    }
    expect(done).toBeGreaterThan(10)
    expect((await device.sync()).rejected).toBe(0)
    await server.sameOn(device)
  })
})
