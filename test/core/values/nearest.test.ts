import { expect, it } from "vitest"
import { nearest } from "../../../core/values/nearest.ts"

it.each([
  ["nmae", ["id", "name"], "name"],
  ["prodcuts", ["members", "products"], "products"],
  ["Ordrs", ["orders", "stores"], "orders"],
  ["colour", ["id", "name"], undefined],
  ["", [], undefined]
] as const)("the word nearest to %s among %j is %s", (word, among, meant) => {
  expect(nearest(word, among)).toBe(meant)
})
