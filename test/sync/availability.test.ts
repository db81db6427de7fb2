import { beforeAll, describe, expect, it } from "vitest"
import { serverOfSuite, type TestDevice } from "./opening.ts"

/** Availability computed on a device equals the server's, for plans and past times too. */
describe("availability on a device", () => {
  const server = serverOfSuite()
  let device: TestDevice, lamp: number, pair: number
  beforeAll(async () => {
    lamp = await server.product()
    await server.hold(lamp, 4)
    pair = await server.product()
    await server.create(`/products/${pair}/components`, { component_product_id: lamp, quantity: 2 })
    device = await server.enrol()
  })
  const soon = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const later = () => new Promise((resolve) => setTimeout(resolve, 5))

  it("equals the server's for kits, calendars, earliest fits and past times, and counts orders made offline", async () => {
    const store_id = 1
    const lines = [{ product_id: pair, quantity: 2 }]
    const questions = (as_of: string): ReadonlyArray<readonly [string, string, object?]> => [
      ["GET", `/availability/calendar?store_id=1&from=${soon(1)}&to=${soon(5)}&include_kits=1`],
      ["GET", `/products/${pair}/availability?store_id=1&date=${soon(3)}&as_of=${as_of}`],
      ["POST", "/availability/what_if", { store_id, lines: [{ ...lines[0], starts_at: soon(2), ends_at: soon(4) }] }],
      ["POST", "/availability/earliest_fit", { store_id, lines, from: soon(1), until: soon(20), duration_days: 2 }]
    ]
    const before = new Date().toISOString()
    const sameAnswers = async () => {
      for (const asked of questions(before)) {
        const { body, status } = await server.call(...asked)
        expect([asked[1], status]).toEqual([asked[1], 200])
        expect(await device.call(...asked)).toMatchObject({ status: 200, body })
      }
    }
    await sameAnswers()
    await later()
    await server.stop()
    await device.order(lamp, 3, { starts_at: `${soon(2)}T00:00:00Z`, ends_at: `${soon(4)}T00:00:00Z` })
    await later()
    const after = new Date().toISOString()
    const kits = async (as_of: string) =>
      (await device.show(`/products/${pair}/availability?store_id=1&date=${soon(3)}&as_of=${as_of}`)).available
    expect([await kits(before), await kits(after)]).toEqual([2, 0])
    const wanted = { store_id, lines: [{ product_id: pair, quantity: 1 }], from: soon(2), until: soon(20) }
    const fit = await device.create("/availability/earliest_fit", { ...wanted, duration_days: 1 })
    expect(fit.window.starts_at.slice(0, 10)).toBe(soon(4))
    await server.start()
    await server.syncedAlike(device)
    await sameAnswers()
  })
})
