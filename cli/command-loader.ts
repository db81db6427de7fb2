/** The word that says which command is meant, and where that command is declared. */
import type { Command } from "commander"
import { usageError } from "./exit-codes.ts"
import { commands, nouns } from "./command-list.ts"

/** Global flags that take a value, which is no word of its own. */
const with_value: ReadonlySet<string> = new Set(["--profile", "--url", "--token"])

/** The first operand. */
export const firstWord = (argv: ReadonlyArray<string>): { readonly word: string | undefined; readonly at: number } => {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!
    if (word === "--") return { word: argv[at + 1], at: at + 1 }
    if (!word.startsWith("-")) return { word, at }
    if (with_value.has(word)) at++
  }
  return { word: undefined, at: argv.length }
}

/** Declares the command of a word on the program; gives the words to parse. Exit 2, with a guess, when there is none. */
export const loadCommand = async (
  program: Command,
  word: string,
  argv: ReadonlyArray<string>
): Promise<Array<string>> => {
  const plural = `${word}s`
  // A noun with verbs made by hand is known by one of its things too: container.
  if (commands[word] === undefined && commands[plural]?.noun === plural)
    return loadCommand(program, plural, argv.with(argv.indexOf(word), plural))
  const made = commands[word]
  if (made !== undefined) {
    const { declare } = await made.load()
    declare(program)
  }
  // A hand-made command may stand beside the noun's own verbs (availability, quote): those are added when there are any.
  if (made !== undefined && made.noun === undefined) return [...argv]
  const { addDerivedCommands } = await import("./derived/command.ts")
  const { coreEndpoints, serverEndpoints } = await import("./derived/endpoints.ts")
  const { kebab, nounOf, verbsOf } = await import("./derived/names.ts")
  const { normalizeFlags } = await import("./derived/flags.ts")
  const noun =
    made?.noun ??
    nounOf(
      word,
      nouns.map(([one]) => one)
    )
  const among = (endpoints: Parameters<typeof verbsOf>[0]) =>
    verbsOf(endpoints).filter((verb) => verb.words[0] === noun)
  const here = among(coreEndpoints)
  // Servers add nouns and verbs of their own; they are loaded only when the core has not what is asked for.
  const said = argv
    .slice(argv.indexOf(word) + 1)
    .filter((one) => !one.startsWith("-"))
    .map(kebab)
  const known =
    !argv.includes("--help") &&
    !argv.includes("-h") &&
    here.some(({ words }) => words.slice(1).every((one, at) => one === said[at]))
  const verbs = known ? here : among([...coreEndpoints, ...(await serverEndpoints())])
  if (verbs.length === 0 && made === undefined) throw unknown(word)
  // `orders items create` is `opportunities items create`; an alias stays beside the noun's own name.
  const booleans = addDerivedCommands(
    program,
    made === undefined ? verbs : verbs.map((verb) => ({ ...verb, words: [word, ...verb.words.slice(1)] }))
  )
  const alias = kebab(word)
  for (const other of made === undefined ? new Set([alias, word]) : []) {
    if (other !== noun)
      program.commands.find((one) => one.name() === noun && !one.aliases().includes(other))?.alias(other)
  }
  return normalizeFlags(argv, booleans)
}

const unknown = (word: string) => {
  const guess = nearest(word, [...Object.keys(commands), ...nouns.map(([noun]) => noun)])
  return usageError(
    `There is no command ${JSON.stringify(word)}.${guess === undefined ? "" : ` Did you mean ${guess}?`}`,
    "flightcase --help lists them."
  )
}

/** The candidate with the fewest edits, when few enough. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined => {
  const scored = candidates
    .map((candidate) => [edits(word.toLowerCase(), candidate), candidate] as const)
    .sort(([a], [b]) => a - b)
  const [best] = scored
  return best !== undefined && best[0] <= Math.max(1, Math.floor(word.length / 3)) ? best[1] : undefined
}
const edits = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
