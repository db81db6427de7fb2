/** Figures as blocks of text. */
import { describe, expect, it } from "vitest"
import { gathered, shareBar, sparkline } from "../../../cli/commands/operations/usage.ts"

describe("a line chart of block characters", () => {
  it("draws a full block for the maximum, lower ones for less, and a dot for zero", () => {
    expect(sparkline([0, 1, 2, 4, 8])).toBe("·▁▂▄█")
    expect(sparkline([1, 1_000_000])).toBe("▁█")
    expect(sparkline([0, 0])).toBe("··")
    expect(sparkline([])).toBe("")
  })
  it("sums neighbours if there are more values than columns", () => {
    expect(gathered([1, 2, 3, 4, 5], 5)).toEqual([1, 2, 3, 4, 5])
    expect(gathered([1, 2, 3, 4, 5], 3)).toEqual([3, 7, 5])
    expect(gathered([1, 2, 3], 0)).toEqual([6])
    expect(gathered([], 3)).toEqual([])
  })
})
describe("a bar four characters wide", () => {
  it.each([
    [0, ""],
    [1, "████"],
    [0.5, "██"],
    [0.53125, "██▏"],
    [0.000_01, "▏"],
    [2, "████"],
    [Number.NaN, ""]
  ])("shows the share %d as %j", (share, bar) => expect(shareBar(share, 4)).toBe(bar))
})
