/** The word that somebody meant who wrote another. */

/** The candidate with the fewest edits; undefined where even that one is too far away. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined => {
  const scored = candidates
    .map((candidate) => [edits(word.toLowerCase(), candidate), candidate] as const)
    .sort(([a], [b]) => a - b)
  const [best] = scored
  return best !== undefined && best[0] <= Math.max(1, Math.floor(word.length / 3)) ? best[1] : undefined
}
/** Levenshtein's distance: letters to insert, delete or change to get from one word to the other. */
const edits = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...a].entries()) {
    let last = i + 1
    row = row.map((above, j) => {
      const before = row[j - 1]
      if (before === undefined) return last
      last = Math.min(above + 1, last + 1, before + (letter === b[j - 1] ? 0 : 1))
      return last
    })
  }
  return row.at(-1) ?? a.length
}
