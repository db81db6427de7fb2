/** Completions of the word being typed: commands, flags, and names in the replica. */
import type { Command, Option } from "commander"
import type { AllCommands } from "../../../base/answers.ts"
import type { Environment } from "../../../base/server-choice.ts"
import type { CommandContext } from "../../../context/context.ts"
import { makeProgram, valuesOf } from "../../../output/program.ts"
import { firstWord } from "../../../base/first-word.ts"

/** A line from bash, parsed into words. */
interface Line {
  /** Words without quotes and backslashes; the last one is being typed, and empty after a space. */
  readonly words: ReadonlyArray<string>
  /** Quote left open by the last word; undefined if none. */
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

/** A candidate as bash inserts it: only the part after the last = or :, with backslashes unless quoted. */
export const forBash = (candidate: string, { quote, words }: Line): string => {
  const current = words.at(-1) ?? ""
  const kept = quote === undefined ? Math.max(current.lastIndexOf("="), current.lastIndexOf(":")) + 1 : 0
  const rest = candidate.slice(kept)
  if (quote === "'") return rest
  if (quote === '"') return rest.replace(/["\\$`]/g, "\\$&")
  return rest.replace(/[^\p{L}\p{N}_./,:=@%+-]/gu, "\\$&")
}

/**
 * Lines with candidates for the last word; none after an error. Never uses the network. `given`: the typed words, or
 * bash's line, after a `--` so that its flags are not parsed as this command's.
 */
export const complete = async (
  shell: "words" | "line",
  given: ReadonlyArray<string>,
  env: Environment,
  all: AllCommands
): Promise<string> => {
  const typed = given[0] === "--" ? given.slice(1) : given
  const line = shell === "line" ? readLine(typed[0] ?? "") : undefined
  const found = await wordsFor(line?.words.slice(1) ?? typed, env, all)
  return found.map((word) => `${line === undefined ? word : forBash(word, line)}\n`).join("")
}
/** Opens the replica, once names in it are needed. */
type Replica = () => Promise<CommandContext>

const wordsFor = async (
  typed: ReadonlyArray<string>,
  env: Environment,
  all: AllCommands
): Promise<ReadonlyArray<string>> => {
  const at = typed.lastIndexOf("--profile")
  const profile = at < 0 || at >= typed.length - 2 ? undefined : typed[at + 1]
  const names_server = typed.some((word) => word === "--url" || word.startsWith("--url="))
  let context: CommandContext | undefined
  const open = async (): Promise<CommandContext> => {
    const { openContext } = await import("../../../context/context.ts")
    return (context ??= openContext({ offline: true, ...(profile === undefined ? {} : { profile }) }, env, true))
  }
  try {
    return await candidates(typed, names_server ? undefined : open, all)
  } catch {
    return []
  } finally {
    await context?.close()
  }
}

/** Candidates for the last word. `replica`: undefined if none serves the typed command. */
const candidates = async (
  typed: ReadonlyArray<string>,
  replica: Replica | undefined,
  all: AllCommands
): Promise<ReadonlyArray<string>> => {
  const current = typed.at(-1) ?? ""
  const before = typed.slice(0, -1).filter((word) => word !== "")
  const program = makeProgram()
  const { word } = firstWord(before)
  if (word === undefined) {
    const [value] = await valueWords(program, before, current, replica)
    return value ?? matching(current.startsWith("-") ? flagsOf(program) : await all.firstWords(), current)
  }
  await all.load(program, word, before).catch(() => undefined)
  const { command, operands } = commandAt(program, before)
  const [value] = await valueWords(command, before, current, replica)
  if (value !== undefined) return value
  if (current.startsWith("-")) return matching(flagsOf(command), current)
  const argument = command.registeredArguments[operands] ?? lastVariadic(command)
  const inner = operands === 0 ? command.commands.map((child) => child.name()) : []
  if (argument === undefined) return matching(inner, current)
  const { words } = valuesOf(argument)
  return [
    ...matching([...inner, ...(words ?? [])], current),
    ...(words === undefined ? await namesOf(replica, await tableNamed(argument.name()), current) : [])
  ]
}
const lastVariadic = ({ registeredArguments }: Command) => registeredArguments.findLast(({ variadic }) => variadic)

/** Words with the prefix as typed, or else ignoring case. */
const matching = (words: ReadonlyArray<string>, current: string): ReadonlyArray<string> => {
  const sorted = [...new Set(words)].sort()
  const exact = sorted.filter((one) => one.startsWith(current))
  return exact.length > 0 ? exact : sorted.filter((one) => one.toLowerCase().startsWith(current.toLowerCase()))
}

/** Candidates for the value of the flag before the word, or of `--flag=`; empty if there is none. */
const valueWords = async (
  command: Command,
  before: ReadonlyArray<string>,
  current: string,
  replica: Replica | undefined
): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const joined = /^(--[\w-]+=)(.*)$/s.exec(current)
  const [, head = "", typed = current] = joined ?? []
  const named = joined === null ? before.at(-1) : head.slice(0, -1)
  const option = command.options.find(({ long, short }) => named !== undefined && (long === named || short === named))
  if (option === undefined || option.isBoolean() || (joined === null && option.optional)) return []
  return [(await wordsOf(option, typed, replica)).map((word) => `${head}${word}`)]
}
const wordsOf = async (option: Option, typed: string, replica: Replica | undefined) => {
  if (option.argChoices !== undefined) return matching(option.argChoices, typed)
  const { table, words } = valuesOf(option)
  if (words !== undefined) return matching(words, typed)
  return namesOf(replica, table ?? (await tableNamed(option.long ?? "")), typed)
}

/** The innermost command in the words, and the number of arguments after it. */
const commandAt = (
  program: Command,
  words: ReadonlyArray<string>
): { readonly command: Command; readonly operands: number } => {
  let command = program
  let operands = 0
  let is_value = false
  for (const word of words) {
    if (is_value) {
      is_value = false
      continue
    }
    const [name = ""] = word.startsWith("--") ? word.split("=") : [word]
    const flag = command.options.find((option) => option.long === name || option.short === name)
    const child = command.commands.find((inner) => inner.name() === word || inner.aliases().includes(word))
    if (flag !== undefined) is_value = !flag.isBoolean() && !flag.optional && name === word
    else if (child !== undefined && operands === 0) command = child
    else if (!word.startsWith("-")) operands++
  }
  return { command, operands }
}

/** Other words for rows of a table in commands. */
const other_words: { readonly [word: string]: string } = {
  opportunity: "order",
  quote: "order",
  "stock level": "asset",
  "rental product": "product"
}
/**
 * Table of the rows that an argument or flag names, such as `<product>`, `--store` or `--member-id`; undefined for
 * others.
 */
const tableOfNoun = async (word: string): Promise<string | undefined> => {
  const { nameableTables } = await import("../../../base/nameable.ts")
  const name = word.replace(/^--/, "").replace(/-id$/, "").replaceAll("-", " ")
  const called = other_words[name] ?? name
  return [...nameableTables()].find(([, { word: own }]) => own === called)?.[0]
}

/** Names of arguments that take a unit's code, possibly among others. */
const code_arguments: ReadonlySet<string> = new Set(["code", "codes", "words"])
const tableNamed = async (what: string): Promise<string | undefined> =>
  code_arguments.has(what) ? "stock_levels" : tableOfNoun(what)
/**
 * Names with the prefix, only from the replica, as completion does not wait for a network. Names with line breaks are
 * left out.
 */
const namesOf = async (
  replica: Replica | undefined,
  table: string | undefined,
  beginning: string
): Promise<ReadonlyArray<string>> => {
  if (table === undefined || replica === undefined) return []
  const context = await replica()
  if (!context.isDevice()) return []
  const { oneLine } = await import("../../../output/text.ts")
  const { namesStartingWith } = await import("../../../context/resolve-id.ts")
  return namesStartingWith(context, table, beginning).then(
    (names) => [...new Set(names)].filter((name) => name === oneLine(name)),
    () => []
  )
}
const flagsOf = (command: Command): ReadonlyArray<string> =>
  command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? [])
