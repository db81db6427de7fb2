import { expect, it } from "vitest"
import { type Ask, playEverywhere } from "./playing.ts"
import { now, orders, sceneOf } from "./receiving-scenarios.ts"
import { hireWindowScenarios } from "./scenarios/hire-windows.ts"
import { receivingScenarios } from "./scenarios/receiving.ts"
import { resolutionScenarios } from "./scenarios/resolutions.ts"

const scenarios = [...receivingScenarios, ...resolutionScenarios, ...hireWindowScenarios]

/** Final orders and stock, without ids and timestamps. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> => {
  const ends: Array<string> = []
  for (const path of [`${orders}?include=items&`, "/api/v1/stock_levels?"])
    for (let page = 1; ; page++) {
      const { purchase_orders, stock_levels } = (await ask("GET", `${path}per_page=100&page=${page}`)).body
      const found = [
        ...(stock_levels ?? []).map((one) => [
          ...[one.product_name, one.serial_number, one.quantity_held, one.starts_at, one.ends_at, one.given_back_at]
        ]),
        ...(purchase_orders ?? []).map((one) => [
          ...[one.subject, one.number, one.status, one.received_at, one.returned_at],
          one.items.map((row) => [row.name, row.quantity, row.received_quantity, row.returned_quantity])
        ])
      ]
      if (found.length === 0) break
      ends.push(...found.map((one) => JSON.stringify(one)))
    }
  return ends.sort()
}

it("every receiving scenario has a unique id", () => {
  expect(scenarios.length).toBeGreaterThanOrEqual(40)
  expect(new Set(scenarios.map(({ n }) => n)).size).toBe(scenarios.length)
})

playEverywhere({ title: "deliveries and returns", scenarios, sceneOf, endOf, now, typed: true })
