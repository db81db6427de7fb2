/** Late decisions of the server: events count from when they were recorded, and other differences are not reported. */
import { afterEach, describe, expect, it, vi } from "vitest"
import { serverOfSuite, type TestDevice } from "../../opening.ts"

describe("a command sent later than recorded", () => {
  const server = serverOfSuite()
  const { create, show } = server
  afterEach(() => void vi.useRealTimers())
  const recordedOf = async (product_id: number) =>
    (await show("/service_records")).find((one) => one.product_id === product_id)!
  /** Records a command at one moment and sends it at another. */
  const recordedAt = async (device: TestDevice, moment: number, path: string, body: object) => {
    vi.setSystemTime(moment)
    await device.must("POST", path, body)
  }
  const sentAt = async (device: TestDevice, moment: number, accepted: number) => {
    vi.setSystemTime(moment)
    expect(await device.sync()).toMatchObject({ accepted, conflicts: 0 })
    expect(device.told(false)).toEqual([])
  }

  it("starts a quarantine at the time of recording", async () => {
    const { id, units } = await server.units(1, 1)
    const device = await server.enrol()
    vi.useFakeTimers({ toFake: ["Date"] })
    const recorded = Date.now() + 60_000
    await recordedAt(device, recorded, `/stock_levels/${units[0]}/quarantine`, { reason: "Hums" })
    await sentAt(device, recorded + 3 * 3_600_000, 1)
    const record = await recordedOf(id)
    expect(record).toMatchObject({ starts_at: new Date(recorded).toISOString() })
    expect(record.created_at).not.toBe(record.starts_at)
  })
  it.each([
    ["by the scan if sent days later", -3 * 86_400_000],
    ["by the server's receipt if the device's clock is ahead", 3_600_000]
  ])("dates dispatch, return and sealing %s", async (when, ahead_millis) => {
    const product_id = await server.serialised()
    const [unit, packed] = [await server.labelled(product_id), await server.labelled(product_id)]
    const code = unit.asset_number
    const { id } = await server.order(product_id, 2, {
      starts_at: "2031-05-01T09:00:00Z",
      ends_at: "2031-05-05T17:00:00Z"
    })
    const box = await create("/containers/temporary", { name: "Box", barcode: when, store_id: 1 })
    await create(`/containers/${box.id}/pack`, { serialised_item_id: packed.id })
    const device = await server.enrol()
    vi.useFakeTimers({ toFake: ["Date"] })
    const sent = Date.now() + 60_000
    const at = (minutes: number): number => sent + ahead_millis + minutes * 60_000
    await recordedAt(device, at(1), `/opportunities/${id}/scan`, { direction: "out", code })
    await recordedAt(device, at(2), "/scan_in", { code, condition: 1 })
    await recordedAt(device, at(3), `/containers/${box.id}/seal`, {})
    await sentAt(device, sent, 3)
    const [left, back, sealed] = [1, 2, 3].map((minutes) =>
      new Date(ahead_millis > 0 ? sent : at(minutes)).toISOString()
    )
    const moved = { dispatched_at: left, returned_at: back, checked_at: back }
    expect(await show(`/opportunities/${id}/assets`)).toMatchObject([moved])
    expect(await recordedOf(product_id)).toMatchObject({ starts_at: back })
    expect((await show(`/containers/${box.id}`)).sealed_at).toBe(sealed)
  })
  it("reports no difference for a case created offline", async () => {
    const device = await server.enrol()
    vi.useFakeTimers({ toFake: ["Date"] })
    const recorded = Date.now() + 60_000
    await recordedAt(device, recorded, "/containers", { name: "Case 7", barcode: "CASE-7", store_id: 1 })
    await sentAt(device, recorded + 3 * 3_600_000, 1)
  })
})
