/** A line as bash hands it over: its words, and candidates in the form in which bash puts them into the line. */

interface Line {
  /** Without quotes and backslashes. The last one is what is being typed; it is empty after a space. */
  readonly words: ReadonlyArray<string>
  /** The quote that the last word has opened and not closed. */
  readonly quote: '"' | "'" | undefined
}

export const readLine = (line: string): Line => {
  const words: Array<string> = []
  let word: string | undefined
  let quote: Line["quote"]
  for (let at = 0; at < line.length; at++) {
    const sign = line.charAt(at)
    if (quote === "'" || (quote === '"' && sign !== "\\")) {
      if (sign === quote) quote = undefined
      else word = (word ?? "") + sign
    } else if (sign === "\\") {
      at++
      word = (word ?? "") + line.charAt(at)
    } else if (sign === '"' || sign === "'") {
      quote = sign
      word ??= ""
    } else if (/\s/.test(sign)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? "") + sign
  }
  return { words: [...words, word ?? ""], quote }
}

/** Bash replaces what stands after the last = or : alone. Outside quotes it takes words with backslashes. */
export const forBash = (candidate: string, { quote, words }: Line): string => {
  const current = words.at(-1) ?? ""
  const kept = quote === undefined ? Math.max(current.lastIndexOf("="), current.lastIndexOf(":")) + 1 : 0
  const rest = candidate.slice(kept)
  if (quote === "'") return rest
  if (quote === '"') return rest.replace(/["\\$`]/g, "\\$&")
  return rest.replace(/[^\p{L}\p{N}_./,:=@%+-]/gu, "\\$&")
}
