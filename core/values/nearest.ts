/** Finds the most similar word. */

/** The candidate with the fewest edits; undefined if none is close enough. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined => {
  const scored = candidates
    .map((candidate) => [edits(word.toLowerCase(), candidate), candidate] as const)
    .sort(([a], [b]) => a - b)
  const [best] = scored
  return best !== undefined && best[0] <= Math.max(1, Math.floor(word.length / 3)) ? best[1] : undefined
}
/** Edit distance: letters inserted, deleted or changed, and neighbours swapped. */
const edits = (a: string, b: string): number => {
  let above: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const changed = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      const is_swapped = i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j]
      const swapped = is_swapped ? (above[j - 1] ?? 0) + 1 : changed
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, changed, swapped))
    }
    above = row
    row = next
  }
  return row.at(-1) ?? a.length
}
