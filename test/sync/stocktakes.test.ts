/**
 * Stocktakes on devices: several people count offline in any order; counts that arrive after the end are kept
 * (rules/stocktakes 2).
 */
import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { randomOf } from "../sim/random.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

interface Line {
  readonly code: string
  readonly status: string
  readonly counted: number
}

describe.each(engines)("stocktakes on devices, with a server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create } = server
  const count = (device: TestDevice, id: number, codes: ReadonlyArray<string>, more: object = {}) =>
    device.must("POST", `/stocktakes/${id}/scans`, { codes, ...more })
  const linesAt = async (at: Pick<TestDevice, "show">, id: number) =>
    (await at.show(`/stocktakes/${id}`)).stocktake_lines.map(({ code, counted, status }: Line) => [
      code,
      status,
      counted
    ])
  const shop = async (many: number) => {
    const store = await server.store()
    const head = await server.serialised()
    const codes: Array<string> = []
    for (let at = 0; at < many; at++) {
      codes.push(`S${store}-${at}`)
      await server.unit(head, store, { asset_number: codes[at] })
    }
    const sku = `CABLE-${store}`
    await server.bulk(store, 40, { sku })
    return { store, codes, sku }
  }

  it.each([1, 2, 3, 4])("add up the scans of three devices in any order: seed %i", async (seed) => {
    const random = randomOf(seed)
    const { codes, sku, store } = await shop(8)
    const { id } = await create("/stocktakes", { store_id: store })
    const devices = [await server.enrol(), await server.enrol(), await server.enrol()]
    const scanned = new Set<string>()
    let cables = 0
    for (let step = 0; step < 12; step++) {
      const device = random.pick(devices)
      const code = random.pick([...codes.slice(0, 6), "NO-SUCH"])
      const pieces = random.pick([1, 2, 3])
      scanned.add(code)
      cables += pieces
      await count(device, id, [code, `${sku}*${pieces}`, code])
      if (step % 4 === 3) await random.pick(devices).sync()
    }
    for (const device of [...devices, ...devices]) expect(await device.sync()).toMatchObject({ rejected: 0 })
    const lines = await linesAt(server, id)
    for (const code of codes)
      expect(lines).toContainEqual(scanned.has(code) ? [code, "found", 1] : [code, "missing", 0])
    expect(lines).toContainEqual([sku, "missing", cables])
    for (const device of devices) {
      expect(await linesAt(device, id)).toEqual(lines)
      await server.sameOn(device)
    }
  })

  it("are not affected by a dispatch on another device", async () => {
    const { codes, sku, store } = await shop(2)
    const [counter, dock] = [await server.enrol(), await server.enrol()]
    const product = (await server.show(`/products?q[sku_eq]=${sku}`))[0].id
    const order = await server.order(product, 5, { store_id: store })
    await dock.sync()
    await counter.sync()
    const { stocktake } = await counter.must("POST", "/stocktakes", { store_id: store })
    await count(counter, stocktake.id, [codes[0]!, codes[1]!, `${sku}*40`])
    await counter.sync()
    await dock.sync()
    await dock.must("PATCH", `/opportunities/${order.id}/items/${order.line.id}/fulfilment`, {
      action: "dispatch",
      quantity: 5
    })
    await dock.sync()
    await counter.sync()
    expect(await linesAt(counter, stocktake.id)).toContainEqual([sku, "found", 40])
    await counter.must("POST", `/stocktakes/${stocktake.id}/close`, {})
    expect(await counter.sync()).toMatchObject({ rejected: 0 })
    const [level] = await server.show(`/stock_levels?q[product_id_eq]=${product}&q[store_id_eq]=${store}`)
    expect(level.quantity_held).toBe("40.00")
    await server.sameOn(counter)
  })

  it("report a scan that arrives after the close as a conflict, with its codes", async () => {
    const { codes, store } = await shop(2)
    const { id } = await create("/stocktakes", { store_id: store })
    const device = await server.enrol()
    await count(device, id, [codes[0]!, codes[1]!])
    await create(`/stocktakes/${id}/scans`, { codes: [codes[0]] })
    await server.must("POST", `/stocktakes/${id}/close`, {})
    expect((await device.sync()).rejected).toBe(1)
    const [conflict] = await device.conflicts()
    expect(conflict).toMatchObject({ payload: { body: { codes } } })
    expect(conflict!.intent).toMatch(new RegExp(`wanted to count scanned codes.*: stocktake ${id}$`))
    expect(JSON.stringify(conflict)).toContain(`Stocktake ${id} was closed at`)
    await device.resolve(conflict!.id, { drop: true })
    await server.sameOn(device)
  })
})
