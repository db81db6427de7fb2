/** Hires that devices extend without a network: one command, one verdict, whichever way it goes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

const deals = "/api/v1/opportunities"
const hire = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T09:00:00Z" }
const later = "2026-09-08T09:00:00.000Z"
const ask = (device: Device, method: string, path: string, body?: Json) =>
  device.ask({ method, path, query: [["include", "items"]], body })

describe.each(engines)("a hire on %s", (engine) => {
  let grounds: DeviceTestServer, counter: Device, office: Device, product_id: number
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    product_id = (await made("products", { name: "Desk", stock_method: 2 }, "product")).id
    counter = await grounds.enrol("counter")
    office = await grounds.enrol("office")
  })
  afterAll(() => grounds.close())

  const desk = (asset_number: string) =>
    made("stock_levels", { product_id, store_id: 1, asset_number, item_name: `Desk ${asset_number}` }, "stock_level")
  const ordered = async (subject: string, dates: object): Promise<any> => {
    const { id } = await made("opportunities", { subject, store_id: 1, ...dates }, "opportunity")
    await made(`opportunities/${id}/items`, { name: "Desk", item_id: product_id, unit_price: "10.00" }, "opportunity")
    await made(`opportunities/${id}/items`, { name: "Cable", unit_price: "1.00" }, "opportunity")
    await made(`opportunities/${id}/convert_to_quotation`, {}, "opportunity")
    await made(`opportunities/${id}/convert_to_order`, {}, "opportunity")
    return shown(id)
  }
  const shown = async (id: number) => (await grounds.ask("GET", `${deals}/${id}?include=items`)).body.opportunity
  const allocated = (order: any, unit: any) =>
    made(`opportunities/${order.id}/items/${order.items[0].id}/assets`, { stock_level_id: unit.id }, "asset")
  const synced = async (): Promise<void> => {
    for (const device of [counter, office]) await device.sync()
  }
  const sameEverywhere = async (): Promise<void> => {
    await synced()
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("counter")).toEqual(truth)
    expect(await grounds.replicaTables("office")).toEqual(truth)
  }

  it("a hire that is extended without a network is one command, and the same on the server", async () => {
    const unit = await desk("A-1")
    const order = await ordered("Fair", hire)
    await allocated(order, unit)
    await synced()
    const offline = await ask(counter, "POST", `${deals}/${order.id}/extend`, { ends_at: later })
    expect(offline.status, JSON.stringify(offline.body)).toBe(200)
    const { extension } = offline.body as any
    expect(extension).toMatchObject({
      before: { ends_at: "2026-09-05T09:00:00.000Z", charge_total: "44.00" },
      after: { ends_at: later, charge_total: "77.00" },
      original_ends_at: "2026-09-05T09:00:00.000Z",
      lines_kept: []
    })
    expect(await counter.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const after = await shown(order.id)
    expect(after).toMatchObject({ ends_at: later, charge_total: "77.00" })
    expect(after.items.map((item: any) => item.ends_at)).toEqual([later, later])
    await sameEverywhere()
  })
  it("is refused whole where its unit was promised meanwhile, and the conflict names to whom", async () => {
    const unit = await desk("A-2")
    const order = await ordered("Fair", hire)
    await allocated(order, unit)
    await synced()
    const next = await ordered("Gala", { starts_at: "2026-09-06T09:00:00Z", ends_at: "2026-09-07T09:00:00Z" })
    await allocated(next, unit)
    const before = await shown(order.id)
    const offline = await ask(counter, "POST", `${deals}/${order.id}/extend`, { ends_at: later })
    expect(offline.status).toBe(200)
    expect(await counter.sync()).toMatchObject({ accepted: 0, conflicts: 1 })
    const [conflict] = await counter.conflicts()
    expect(conflict?.error?.message).toContain(`Desk A-2 is held by "Gala" (order ${Number(next.number)})`)
    expect(await shown(order.id)).toEqual(before)
    await counter.resolve(conflict?.id ?? "", { drop: true })
    await sameEverywhere()
  })
  it.each<readonly [what: string, method: string, path: string, body: Json]>([
    ["the header alone", "PUT", "", { ends_at: "2026-11-06T09:00:00.000Z" }],
    ["the hire without its lines", "POST", "/extend", { ends_at: "2026-11-06T09:00:00.000Z", lines: "keep" }]
  ])("lines go along as was shown, also where somebody moved %s meanwhile", async (_what, method, path, body) => {
    const order = await ordered("Fair", { starts_at: "2026-11-01T09:00:00Z", ends_at: "2026-11-05T09:00:00Z" })
    await synced()
    const ends_at = "2026-11-08T09:00:00.000Z"
    const offline = await ask(counter, "POST", `${deals}/${order.id}/extend`, { ends_at })
    expect((offline.body as any).extension.lines_followed).toHaveLength(2)
    expect((await grounds.ask(method, `${deals}/${order.id}${path}`, body)).status).toBe(200)
    await made(`opportunities/${order.id}/items`, { name: "Case", unit_price: "2.00" }, "opportunity")
    await made(
      `opportunities/${order.id}/items`,
      { name: "Spare", unit_price: "2.00", ends_at: "2026-11-03T09:00:00.000Z" },
      "opportunity"
    )
    expect(await counter.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const after = await shown(order.id)
    expect([after.ends_at, ...after.items.map((item: any) => item.ends_at)]).toEqual([
      ...Array(4).fill(ends_at),
      "2026-11-03T09:00:00.000Z"
    ])
    expect(after.items.slice(0, 2).map((item: any) => item.total)).toEqual(
      (offline.body as any).opportunity.items.map((item: any) => item.total)
    )
    await sameEverywhere()
  })
  it("two people who extend it to different days: the last one holds, for header and lines alike", async () => {
    const order = await ordered("Fair", { starts_at: "2026-10-01T09:00:00Z", ends_at: "2026-10-05T09:00:00Z" })
    await synced()
    for (const [device, ends_at] of [
      [counter, "2026-10-07T09:00:00.000Z"],
      [office, "2026-10-09T09:00:00.000Z"]
    ] as const)
      expect((await ask(device, "POST", `${deals}/${order.id}/extend`, { ends_at })).status).toBe(200)
    for (const device of [counter, office]) expect(await device.sync()).toMatchObject({ accepted: 1 })
    const after = await shown(order.id)
    expect([after.ends_at, ...after.items.map((item: any) => item.ends_at)]).toEqual(
      Array(3).fill("2026-10-09T09:00:00.000Z")
    )
    expect(after.original_ends_at).toBe("2026-10-05T09:00:00.000Z")
    await sameEverywhere()
  })
})
