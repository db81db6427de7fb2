import { describe, expect, it } from "vitest"
import { columnsFor } from "../../../../server/overview/board/page.ts"

describe("the columns of a board", () => {
  it("show all entries if there are few, divided evenly", () => {
    expect(columnsFor([2, 2, 2])).toEqual({ first: 1, rows: [2, 2, 2] })
    expect(columnsFor([5, 5])).toEqual({ first: 1, rows: [5, 5] })
    expect(columnsFor([3])).toEqual({ first: 1, rows: [3] })
    expect(columnsFor([])).toEqual({ first: 1, rows: [] })
  })
  it("have at most nine rows each, and at least one row of each list", () => {
    for (const counts of [[60, 60, 60, 60, 60], [500], [1, 500], [500, 1, 1, 1, 1], [20, 3, 4, 9, 60]]) {
      const { first, rows } = columnsFor(counts)
      expect(rows).toHaveLength(counts.length)
      for (const [at, row] of rows.entries()) {
        expect(row, counts.join()).toBeGreaterThan(0)
        expect(row, counts.join()).toBeLessThanOrEqual(counts[at] ?? 0)
      }
      for (const column of [rows.slice(0, first), rows.slice(first)])
        expect(
          column.reduce((sum, row) => sum + row, 0),
          counts.join()
        ).toBeLessThanOrEqual(9)
    }
  })
  it("show at least two rows of each long list", () => {
    for (const counts of [
      [8, 71, 8, 79, 59],
      [60, 60, 60, 60, 60],
      [500, 500, 500, 500]
    ])
      expect(Math.min(...columnsFor(counts).rows), counts.join()).toBeGreaterThanOrEqual(2)
  })
  it("give a long list its own column", () => {
    const { first, rows } = columnsFor([60, 1, 1])
    expect({ first, first_rows: (rows[0] ?? 0) >= 9 }).toEqual({ first: 1, first_rows: true })
  })
})
