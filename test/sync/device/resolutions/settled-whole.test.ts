/** A way out is taken whole or not at all; and where lines of one order share goods, there are ways out as well. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Device, ResolutionRequest } from "../../../../sync/device/device.ts"
import { engines } from "../../../app.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "../../filling.ts"
import type { Must } from "../../people.ts"

describe.each(engines)("an order refused for goods that are short, on %s", (engine) => {
  let server: FillTestServer, device: Device, mine: number
  const at: Must = (method, path, body) => server.must(method, path.slice(1), body)
  const ask = (method: string, path: string, body?: any) =>
    device.ask({ method, path: `/api/v1${path}`, query: [["include", "items"]], body }) as Promise<any>
  const product = async (name: string, quantity_held: number): Promise<number> => {
    const { id } = (await at("POST", "/products", { name, stock_method: 1 })).product
    const { product: made } = await at("GET", `/products/${id}?include=stock_levels`)
    await at("PUT", `/stock_levels/${made.stock_levels[0].id}`, { quantity_held })
    return id
  }
  const quotation = async (month: number, lines: ReadonlyArray<readonly [product: number, quantity: number]>) => {
    const [starts_at, ends_at] = [`2030-${month}-03T09:00:00Z`, `2030-${month}-05T17:00:00Z`]
    const { opportunity } = await at("POST", "/opportunities", { subject: "Fest", store_id: 1, starts_at, ends_at })
    const path = `/opportunities/${opportunity.id}`
    for (const [item_id, quantity] of lines) await at("POST", `${path}/items`, { name: "Goods", item_id, quantity })
    await at("POST", `${path}/convert_to_quotation`)
    return path
  }
  const order = async (...asked: Parameters<typeof quotation>) =>
    at("POST", `${await quotation(...asked)}/convert_to_order`)
  /** Recorded here as an order, and refused by the server for what was taken meanwhile. */
  const refused = async (path: string, meanwhile: () => Promise<unknown>) => {
    mine = Number(path.split("/").at(-1))
    device = await enrolledDevice(server, "one", (await server.letIn({ name: "Sam", roles: ["Sales"] })).token)
    expect(await ask("POST", `${path}/convert_to_order`, {})).toMatchObject({ status: 200 })
    await meanwhile()
    expect(await device.sync()).toMatchObject({ rejected: 1 })
    return (await device.conflicts())[0]!
  }

  beforeEach(async () => {
    server = await openFillTestServer(engine)
    await at("PUT", "/stores/1", { shortage_policy: "block" })
  })
  afterEach(async () => {
    await device?.close()
    await server?.close()
  })

  it.each<ResolutionRequest>([
    { reduce_to: "free" },
    { dates: { starts_at: "2030-11-03T09:00:00Z", ends_at: "2030-11-05T17:00:00Z" } }
  ])("keeps nothing of %j where that does not help", async (how) => {
    const [some, none] = [await product("Robe", 3), await product("Mac", 1)]
    const wanted = [
      [some, 2],
      [none, 1]
    ] as const
    await order(11, wanted)
    const conflict = await refused(await quotation(12, wanted), () => order(12, wanted))
    const before = await ask("GET", `/opportunities/${mine}`)
    const planned = await device.resolve(conflict.id, how, { plan: true })
    expect(planned).toMatchObject({ status: 422 })
    expect(await device.resolve(conflict.id, how)).toEqual(planned)
    expect(await device.status()).toMatchObject({ pending: 0, conflicts: 1 })
    expect(await ask("GET", `/opportunities/${mine}`)).toEqual(before)
  })

  it.each([
    { asked: [2, 2], kept: ["2.00", "1.00"], says: "1 × Robe besides the 2 of the other lines" },
    { asked: [3, 3], kept: ["3.00"], says: "no more Robe than the 3 of the other lines" }
  ])("asks for the three there are where its lines want $asked", async ({ asked, kept, says }) => {
    const robe = await product("Robe", 6)
    const path = await quotation(
      12,
      asked.map((quantity) => [robe, quantity] as const)
    )
    const conflict = await refused(path, () => order(12, [[robe, 3]]))
    expect(conflict.ways_out).toMatchObject([
      {
        way: "reduce",
        command: "flightcase sync resolve 1 --reduce-to free",
        says: `ask for what is free, ${says}, and record it again`
      },
      { way: "dates" },
      { way: "drop" }
    ])
    expect(await device.resolve(conflict.id, { reduce_to: "free" })).toMatchObject({ status: 200 })
    expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0 })
    const settled = (await at("GET", `${path}?include=items`)).opportunity
    expect([settled.state, settled.items.map((one: any) => one.quantity)]).toEqual([2, kept])
  })
})
