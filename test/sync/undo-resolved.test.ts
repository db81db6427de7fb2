/** An undo that the server refused is a conflict, and however that is settled, a command is taken back only once. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Device, ResolutionRequest } from "../../sync/device/device.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "./filling.ts"
import type { Must } from "./people.ts"

describe("an undo that the server refused", () => {
  let server: FillTestServer, device: Device, order: number
  const at: Must = (method, path, body) => server.must(method, path.slice(1), body)
  const lines = async (): Promise<number> =>
    (await at("GET", `/opportunities/${order}?include=items`)).opportunity.items.length
  const conflict = async () => (await device.conflicts())[0]!

  /** A line was taken out here and that was sent; the order was cancelled before taking that back arrived. */
  beforeEach(async () => {
    server = await openFillTestServer("sqlite")
    order = (await at("POST", "/opportunities", { subject: "Gala", store_id: 1 })).opportunity.id
    const { opportunity } = await at("POST", `/opportunities/${order}/items`, { name: "Stage", quantity: 1 })
    await at("POST", `/opportunities/${order}/convert_to_quotation`)
    await at("POST", `/opportunities/${order}/convert_to_order`)
    device = await enrolledDevice(server, "one")
    const path = `/api/v1/opportunities/${order}/items/${opportunity.items[0].id}`
    expect(await device.ask({ method: "DELETE", path, query: [], body: undefined })).toMatchObject({
      command: { n: 1 }
    })
    await device.sync()
    await at("POST", `/opportunities/${order}/change_status`, { status: 6 })
    expect(await device.undo.undo("1", false)).toMatchObject({ ok: true, recorded: [2] })
    expect(await device.sync()).toMatchObject({ rejected: 1 })
  })
  afterEach(async () => {
    await device?.close()
    await server?.close()
  })

  it("is settled as the conflict that it is before the same is undone again", async () => {
    const says = "Undoing it was refused by the server, and waits as command 2."
    const plan = { steps: [{ n: 1, way: "refused", says, instead: "settle that: flightcase sync resolve 2" }] }
    const refused = { ok: false, failure: { kind: "refused", plan } }
    expect(await device.undo.plan("1")).toMatchObject({ ok: true, plan })
    expect(await device.undo.undo("1", false)).toMatchObject(refused)
    expect(await device.undo.undo(undefined, false)).toMatchObject(refused)
    expect(await device.undo.list(5)).toMatchObject([{ n: 1, way: "refused", instead: expect.any(String) }])
    await device.resolve((await conflict()).id, { drop: true })
    await at("POST", `/opportunities/${order}/reinstate`)
    await device.sync()
    expect(await device.undo.undo("1", false)).toMatchObject({ ok: true, recorded: [3] })
    await device.sync()
    expect(await lines()).toBe(1)
  })

  it.each<ResolutionRequest>([{ retry: true }, { amend: { name: "Stage", quantity: "1" } }])(
    "and is recorded once more with %j has undone it",
    async (how) => {
      await at("POST", `/opportunities/${order}/reinstate`)
      await device.sync()
      expect(await device.resolve((await conflict()).id, how)).toMatchObject({ command: { n: 3 } })
      await device.sync()
      expect(await lines()).toBe(1)
      expect(await device.undo.undo("1", false)).toMatchObject({ ok: false, failure: { kind: "undone" } })
      expect(await device.undo.redo("1")).toMatchObject({ ok: true })
      await device.sync()
      expect(await lines()).toBe(0)
    }
  )

  it("nor is it recorded once more while that waits as a conflict", async () => {
    await at("POST", `/opportunities/${order}/reinstate`)
    await device.sync()
    await device.resolve((await conflict()).id, { retry: true })
    await device.sync()
    await at("POST", `/opportunities/${order}/change_status`, { status: 6 })
    expect(await device.undo.redo("1")).toMatchObject({ ok: true, recorded: [4] })
    expect(await device.sync()).toMatchObject({ rejected: 1 })
    expect(await device.undo.redo("1")).toMatchObject({ ok: false, failure: { kind: "conflict", command: { n: 4 } } })
    expect(await device.undo.redo(undefined)).toMatchObject({ ok: false, failure: { kind: "conflict" } })
  })
})
