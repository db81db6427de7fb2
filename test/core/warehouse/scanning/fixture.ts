/** Orders, units and cases for tests of scanning. */
import { expect } from "vitest"
import type { RentalHouse } from "../../../rental-house.ts"
import { refused } from "../../../app-house.ts"

export const day = (at: number): string => `2031-05-${String(at).padStart(2, "0")}`
export const dates = (from = 1, to = 5) => ({ starts_at: `${day(from)}T09:00:00Z`, ends_at: `${day(to)}T17:00:00Z` })

interface NewBox {
  readonly barcode?: string
  readonly name?: string
  /** Default: true. */
  readonly sealed?: boolean
}
export type ScanFixture = ReturnType<typeof scanFixture>
export const scanFixture = (w: RentalHouse) => {
  let count = 0
  const order = async (lines: ReadonlyArray<object>, on: object = dates()) => {
    const opportunity = await w.opportunity({ subject: `Gig ${++count}`, ...on })
    let body = opportunity
    for (const line of lines)
      body = await w.create(`/opportunities/${opportunity.id}/items`, { name: "Line", unit_price: "10.00", ...line })
    const { id, number } = await w.confirm(opportunity.id)
    return { id: id as number, number: number as string, items: body.items }
  }
  const scan = (at: { id: number }, direction: "out" | "in", code: string, more: object = {}) =>
    w.post(`/opportunities/${at.id}/scan`, { direction, code, ...more })
  /** Result of a scan that must succeed. */
  const done = async (...asked: Parameters<typeof scan>) => {
    const { body, status } = await scan(...asked)
    expect(status, JSON.stringify(body)).toBe(200)
    return body.scan
  }
  /** First error about the code of a scan. */
  const refusal = async (...asked: Parameters<typeof scan>): Promise<string> =>
    (await refused(scan(...asked), "code")).code[0]
  const units = async (at: { id: number }) =>
    (await w.show(`/opportunities/${at.id}/assets`)).map((one) => [one.stock_level_id, one.status_label])
  const box = async (items: ReadonlyArray<{ id: number }>, more: NewBox = {}) => {
    const { barcode = `BOX-${++count}`, name = `Box ${count}` } = more
    const container = await w.create("/containers/temporary", { name, barcode, store_id: 1 })
    for (const { id } of items)
      expect((await w.post(`/containers/${container.id}/pack`, { serialised_item_id: id })).status).toBe(201)
    if (more.sealed !== false) expect((await w.post(`/containers/${container.id}/seal`)).status).toBe(200)
    return { id: container.id as number, barcode, name }
  }
  /** Returns a function of minutes: the scan time that long after the order was created. */
  const clockOf = async ({ id }: { id: number }) => {
    const now = Date.parse((await w.show(`/opportunities/${id}`)).created_at)
    return (minutes: number) => ({ scanned_at: new Date(now + minutes * 60_000).toISOString() })
  }
  const containerAt = async ({ id }: { id: number }) => w.show(`/containers/${id}`)
  const heads = async (many: number) => {
    const product = await w.create("/products", { name: `Product ${++count}`, stock_method: 2 })
    const units: Array<{ readonly id: number; readonly asset_number: string }> = []
    for (let n = 0; n < many; n++) {
      const asset_number = `U-${++count}`
      units.push({ id: await w.unit(product.id, 1, { asset_number }), asset_number })
    }
    return [product, ...units] as const
  }
  return { order, scan, done, refusal, units, box, clockOf, containerAt, heads, next: () => ++count }
}
