import { expect, it } from "vitest"
import { scenarios, sceneOf, today, v1 } from "./availability-scenarios.ts"
import type { Body } from "../answers.ts"
import { type Ask, playEverywhere } from "./playing.ts"

type Kept = "containers" | "opportunities" | "products" | "stock_levels"
const pagesOf = async <const Noun extends Kept>(ask: Ask, noun: Noun, include: string) => {
  const found: Array<Body[Noun][number]> = []
  for (let page = 1; ; page++) {
    const rows = (await ask("GET", `${v1}/${noun}?per_page=100&page=${page}&include=${include}`)).body[noun]
    if (rows.length === 0) return found
    found.push(...rows)
  }
}
/** Final opportunities, containers and products, without ids and timestamps. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> =>
  [
    ...(await pagesOf(ask, "opportunities", "items,items.assets")).map((one) => [
      one.subject,
      one.state,
      one.status,
      one.availability_phase,
      one.has_shortage,
      one.items.map((item) => [
        item.quantity,
        item.dispatched_quantity,
        item.returned_quantity,
        item.assets.map((asset) => asset.status)
      ])
    ]),
    ...(await pagesOf(ask, "containers", "container_items")).map((one) => [
      one.name,
      one.barcode,
      one.status,
      one.scan_mode,
      one.availability_mode,
      one.container_items.map((item) => [item.position, item.unpacked_reason])
    ]),
    ...(await pagesOf(ask, "products", "")).map((one) => [one.name, one.product_type, one.is_kit, one.custom_fields]),
    ...(await pagesOf(ask, "stock_levels", "")).map((one) => [
      one.serial_number,
      one.quantity_held,
      one.quantity_allocated,
      one.container_mode
    ])
  ]
    .map((one) => JSON.stringify(one))
    .sort()

it("each family of availability scenarios has all of its scenarios", () => {
  const letters = [...Map.groupBy(scenarios, ({ n }) => n[0]!)].map(([letter, of]) => `${letter}${of.length}`).sort()
  expect(letters).toEqual(["A9", "B7", "C6", "D11", "E4", "F6", "G10", "H14", "I10", "J5", "K2"])
})

// Each resolution has its own servers: it cannot change once something is reserved.
for (const resolution of ["daily", "half_daily", "hourly"] as const) {
  playEverywhere({
    title: `availability by ${resolution} slots`,
    scenarios: scenarios.filter((one) => one.resolution === resolution),
    sceneOf,
    endOf,
    now: today,
    prepare: async (ask) => {
      expect((await ask("PUT", `${v1}/settings/availability`, { settings: { resolution } })).status).toBe(200)
    }
  })
}
