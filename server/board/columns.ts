/** Which lists stand in which column, and how many rows of each, so that a wall shows all without scrolling. Pure. */

/**
 * Heights in the page's own unit (rem), as its sheet makes them: a screen is 100 / 3.6 of them high (`html` there), of
 * which its heading, its foot and its margins leave this much to a column.
 */
const column_height = 23.4
const list_height = 2.2
const row_height = 1.48
const more_height = 1.2

const heightOf = (count: number, rows: number): number =>
  list_height + rows * row_height + (count > rows ? more_height : 0)
const heightOfAll = (counts: ReadonlyArray<number>, rows: ReadonlyArray<number>): number =>
  counts.reduce((sum, count, at) => sum + heightOf(count, rows[at] ?? 0), 0)

/** Rows of the lists of one column: one more for each in turn for as long as there is room. */
const rowsOfColumn = (counts: ReadonlyArray<number>): ReadonlyArray<number> => {
  let rows = counts.map((count) => Math.min(1, count))
  for (let has_changed = true; has_changed;) {
    has_changed = false
    for (const [at, count] of counts.entries()) {
      const more = rows.map((row, of) => (of === at ? row + 1 : row))
      if ((rows[at] ?? 0) >= count || heightOfAll(counts, more) > column_height) continue
      rows = more
      has_changed = true
    }
  }
  return rows
}

export interface BoardColumns {
  /** The first lists, so many, stand in the first column. */
  readonly first: number
  readonly rows: ReadonlyArray<number>
}
/**
 * Of all ways to part the lists into two columns the one whose shortest cut list is longest, so that none is starved by
 * another; then the one that hides the fewest rows, then the most even one.
 */
export const columnsFor = (counts: ReadonlyArray<number>): BoardColumns => {
  const ways = Array.from({ length: Math.max(1, counts.length - 1) }, (_, at) => at + 1).map((first) => {
    const columns = [counts.slice(0, first), counts.slice(first)]
    const rows = columns.map(rowsOfColumn)
    const heights = columns.map((own, at) => heightOfAll(own, rows[at] ?? []))
    const hidden = counts.reduce((sum, count, at) => sum + count - (rows.flat()[at] ?? 0), 0)
    const cut = rows.flat().filter((row, at) => row < (counts[at] ?? 0))
    const least = cut.length === 0 ? Infinity : Math.min(...cut)
    return { first, rows: rows.flat(), least, hidden, uneven: Math.abs((heights[0] ?? 0) - (heights[1] ?? 0)) }
  })
  const [best] = ways.toSorted(
    (one, other) =>
      (one.least === other.least ? 0 : other.least - one.least) ||
      one.hidden - other.hidden ||
      one.uneven - other.uneven
  )
  return { first: best?.first ?? 1, rows: best?.rows ?? [] }
}
