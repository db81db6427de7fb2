/** Declares the command of a word: handwritten, a noun of the API, or both. */
import type { Command } from "commander"
import { nearest } from "../../core/values/nearest.ts"
import { catalogue } from "../../core/catalogue.ts"
import { allEndpoints } from "../context/routing.ts"
import { exitCodeOf } from "../context/program.ts"
import { kebab, nounOf, nounsIn, normalizeFlags, type Verb, verbsOf } from "../derived/names.ts"
import { makeProgram } from "../output/program.ts"
import { type CommandEntry, commands } from "./command-list.ts"
import { type CliError, usageError } from "../base/exit-codes.ts"

/** Possible first words of a command line. Loads all endpoints, the server's included. */
const firstWords = async (): Promise<ReadonlyArray<string>> => {
  return [...new Set([...Object.keys(commands), ...nounsIn(await allEndpoints())])]
}

/**
 * Declares the command of a word on the program; returns the words to parse. Exit 2 with a suggestion if there is none.
 */
const loadCommand = async (program: Command, word: string, argv: ReadonlyArray<string>): Promise<Array<string>> => {
  if (word === "server") return loadCommand(program, "serve", argv.with(argv.indexOf(word), "serve"))
  const plural = `${word}s`
  // Nouns with handwritten verbs may be singular: `container`.
  if (commands[word] === undefined && commands[plural]?.noun === plural)
    return loadCommand(program, plural, argv.with(argv.indexOf(word), plural))
  const by_hand = commands[word]
  if (by_hand !== undefined) (await by_hand.load()).declare(program)
  const declared = program.commands.find((one) => one.name() === word)
  if (by_hand !== undefined && (by_hand.noun === undefined || namesNoVerb(declared, word, argv))) return [...argv]
  return addNoun(program, word, by_hand, argv)
}
/** Whether a command with arguments of its own gets one that is no verb's name, such as the id in `availability 12`. */
const namesNoVerb = (command: Command | undefined, word: string, argv: ReadonlyArray<string>): boolean => {
  if (command === undefined || command.registeredArguments.length === 0) return false
  const typed = argv.slice(argv.indexOf(word) + 1)
  const takesValue = (flag: string): boolean =>
    command.options.some(({ long, required, short }) => required && (long === flag || short === flag))
  const operands = typed.filter((one, at) => !one.startsWith("-") && !takesValue(typed[at - 1] ?? ""))
  return (
    operands.length > 0 &&
    !operands.some((one) => /^[a-z]/.test(one)) &&
    !typed.some((one) => /^(-h|--help)$/.test(one))
  )
}
export const all_commands = { firstWords, load: loadCommand }

/** Runs the command of a word; returns the exit code. */
export const runWord = async (word: string, argv: ReadonlyArray<string>): Promise<number> => {
  const program = makeProgram()
  await program.parseAsync(await loadCommand(program, word, argv), { from: "user" })
  return exitCodeOf(program)
}

/** Adds the verbs of the API's noun, under its own name or the handwritten command's. */
const addNoun = async (
  program: Command,
  word: string,
  by_hand: CommandEntry | undefined,
  argv: ReadonlyArray<string>
): Promise<Array<string>> => {
  const { addDerivedCommands } = await import("../derived/command.ts")
  const { noun, verbs } = await verbsFor(by_hand?.noun ?? word, word, argv)
  if (verbs.length === 0 && by_hand === undefined) throw await unknownCommand(word)
  if (by_hand !== undefined) {
    // `orders items create` is `opportunities items create`.
    const renamed = verbs.map((verb) => ({ ...verb, words: [word, ...verb.words.slice(1)] }))
    const booleans = addDerivedCommands(program, renamed)
    await describeAll(program, argv)
    return normalizeFlags(argv, booleans)
  }
  const booleans = addDerivedCommands(program, verbs)
  for (const alias of new Set([kebab(word), word])) {
    if (alias !== noun)
      program.commands.find((one) => one.name() === noun && !one.aliases().includes(alias))?.alias(alias)
  }
  await describeAll(program, argv)
  return normalizeFlags(argv, booleans)
}
/** Adds missing descriptions if help is shown: on request, and for groups without a verb. */
const describeAll = async (program: Command, argv: ReadonlyArray<string>): Promise<void> => {
  const named = (above: Command, word: string): Command =>
    above.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? above
  if (!argv.some((word) => /^(-h|--help|help)$/.test(word)) && argv.reduce(named, program).commands.length === 0) return
  const { flag_texts } = await import("../derived/flag-texts.ts")
  for (const command of program.commands) flag_texts.addTexts(command)
}

/**
 * The noun for a word, and its verbs. Server-only endpoints are loaded if the next words are no verb of `core/`, or for
 * help, which lists all.
 */
const verbsFor = async (
  named: string,
  word: string,
  argv: ReadonlyArray<string>
): Promise<{ readonly noun: string; readonly verbs: ReadonlyArray<Verb> }> => {
  const among = (endpoints: typeof catalogue.endpoints) => {
    const noun = nounOf(named, nounsIn(endpoints))
    return { noun, verbs: verbsOf(endpoints).filter((verb) => verb.words[0] === noun) }
  }
  const typed = argv
    .slice(argv.indexOf(word) + 1)
    .filter((one) => !one.startsWith("-"))
    .map(kebab)
  const wants_help = argv.includes("--help") || argv.includes("-h")
  const isEnough = ({ verbs }: ReturnType<typeof among>): boolean =>
    !wants_help && verbs.some(({ words }) => words.slice(1).every((one, at) => one === typed[at]))
  const loaded = among(catalogue.loaded.endpoints)
  const in_core = isEnough(loaded) ? loaded : among(catalogue.endpoints)
  if (!isEnough(in_core)) return among(await allEndpoints())
  // Only what is below the next word, each verb having an option for every field.
  const below = in_core.verbs.filter(({ words }) => words[1] === typed[0])
  return below.length === 0 ? in_core : { ...in_core, verbs: below }
}

const unknownCommand = async (word: string): Promise<CliError> => {
  const guess = nearest(word, await firstWords())
  return usageError(
    `There is no command ${JSON.stringify(word)}.${guess === undefined ? "" : ` Did you mean ${guess}?`}`,
    "flightcase --help lists them."
  )
}
