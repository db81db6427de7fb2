/** Quantities that each line of an order can have when several need the same goods. */
import { expect, it } from "vitest"
import { type AskFacts, shortLines } from "../../../../core/offline/conflicts/short-lines.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"

const [early, late] = [
  { from: "2030-12-02T00:00:00Z", to: "2030-12-05T00:00:00Z" },
  { from: "2030-12-06T00:00:00Z", to: "2030-12-09T00:00:00Z" }
]
const line = (opportunity_item_id: number, requested_quantity: number, available_for_item: number, when: object) => ({
  opportunity_item_id,
  product_id: 7,
  product_name: "Head",
  store_id: 1,
  requested_quantity,
  available_for_item,
  ...when
})
const short = (opportunity_item_id: number, on_order_quantity: number, remaining_shortfall: number) => ({
  opportunity_item_id,
  product_name: "Head",
  available_quantity: 2,
  on_order_quantity,
  remaining_shortfall
})
const facts =
  (shortages: ReadonlyArray<JsonObject>, availability: ReadonlyArray<JsonObject>): AskFacts =>
  async ({ path }) => ({
    status: 200,
    body: path.endsWith("/shortages")
      ? { shortages }
      : path.endsWith("/availability")
        ? { availability }
        : path.includes("/products/")
          ? { product: { track_availability: true } }
          : { opportunity: { id: 1, state: 1, status: 0 } }
  })
const quantities = async (...given: Parameters<typeof facts>) =>
  (await shortLines(facts(...given), 1)).lines.map((one) => [one.opportunity_item_id, one.quantity])

it("a short line needs no other goods if goods on order from suppliers cover it", async () => {
  expect(await quantities([short(1, 1, 0)], [line(1, 3, 2, early), line(2, 2, 2, late)])).toEqual([])
})
it("goods on order for a line leave the available goods to the other lines", async () => {
  expect(await quantities([short(1, 3, 0)], [line(1, 3, 0, early), line(2, 2, 2, early)])).toEqual([])
})
it("available goods are allotted to lines in their order", async () => {
  expect(await quantities([], [line(1, 2, 3, early), line(2, 2, 3, early), line(3, 2, 3, late)])).toEqual([[2, 1]])
})
