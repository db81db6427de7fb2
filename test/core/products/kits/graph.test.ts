import { describe, expect, it } from "vitest"
import { contains, depthThrough } from "../../../../core/products/kits/decide.ts"

/** Reads "1>2 2>3" as edges: product 1 contains 2, and 2 contains 3. */
const edges = (text: string) =>
  text
    .split(" ")
    .filter((one) => one !== "")
    .map((one) => {
      const [product_id, component_product_id] = one.split(">").map(Number)
      return { product_id: product_id!, component_product_id: component_product_id! }
    })

describe("compositions", () => {
  it.each([
    ["", 1, 2, false],
    ["1>2", 1, 2, true],
    ["1>2", 2, 1, false],
    ["1>2 2>3 3>4", 1, 4, true],
    ["1>2 1>3 3>4", 1, 4, true],
    ["1>2 2>1", 1, 9, false]
  ])("show whether one product contains another: in %j, product %i contains %i: %s", (text, from, to, expected) => {
    expect(contains(edges(text), from, to)).toBe(expected)
  })
  it.each([
    ["", 1, 2, 1],
    ["2>3", 1, 2, 2],
    ["8>1 9>8", 1, 2, 3],
    ["8>1 2>3 3>4", 1, 2, 4],
    ["8>1 7>8 9>1 2>3 2>4 4>5", 1, 2, 5]
  ])(
    "show how long the longest chain becomes by an addition: in %j, adding %i > %i gives %i",
    (text, parent, component, expected) => {
      expect(depthThrough(edges(text), parent, component)).toBe(expected)
    }
  )
})
