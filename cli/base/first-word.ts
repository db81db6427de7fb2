/** Finds the word of a command line that names the command. */
/** Global flags whose value is the next word. */
const flags_with_value: ReadonlySet<string> = new Set(["--profile", "--url", "--token"])

/** First word that is neither a flag nor its value, and its index; the length if there is none. */
export const firstWord = (argv: ReadonlyArray<string>): { readonly word: string | undefined; readonly at: number } => {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]
    if (word === undefined) break
    if (word === "--") return { word: argv[at + 1], at: at + 1 }
    if (!word.startsWith("-")) return { word, at }
    if (flags_with_value.has(word)) at++
  }
  return { word: undefined, at: argv.length }
}
