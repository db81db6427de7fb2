/** Completions of the word being typed: commands, flags, and names in the replica. */
import type { Command, Option } from "commander"
import type { AllCommands } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { valuesOf } from "../../../derived/option-values.ts"
import { firstWord } from "../../../base/first-word.ts"
import { oneLine } from "../../../output/text.ts"
import { makeProgram } from "../../../context/program.ts"

/** `context`: undefined where no replica answers for what is being typed. */
export const candidates = async (
  typed: ReadonlyArray<string>,
  context: CommandContext | undefined,
  all: AllCommands
): Promise<ReadonlyArray<string>> => {
  const current = typed.at(-1) ?? ""
  const before = typed.slice(0, -1).filter((word) => word !== "")
  const program = makeProgram()
  const { word } = firstWord(before)
  if (word === undefined) {
    const [value] = await valueWords(program, before, current, context)
    return value ?? matching(current.startsWith("-") ? flagsOf(program) : await all.firstWords(), current)
  }
  await all.load(program, word, before).catch(() => undefined)
  const { command, operands } = commandAt(program, before)
  const [value] = await valueWords(command, before, current, context)
  if (value !== undefined) return value
  if (current.startsWith("-")) return matching(flagsOf(command), current)
  const argument = command.registeredArguments[operands] ?? lastVariadic(command)
  const inner = operands === 0 ? command.commands.map((child) => child.name()) : []
  if (argument === undefined) return matching(inner, current)
  const { words } = valuesOf(argument)
  return [
    ...matching([...inner, ...(words ?? [])], current),
    ...(words === undefined ? await namesOf(context, await tableNamed(argument.name()), current) : [])
  ]
}
const lastVariadic = ({ registeredArguments }: Command) => registeredArguments.findLast(({ variadic }) => variadic)

/** Those that begin so; where none does, those that do in other case. */
const matching = (words: ReadonlyArray<string>, current: string): ReadonlyArray<string> => {
  const sorted = [...new Set(words)].sort()
  const exact = sorted.filter((one) => one.startsWith(current))
  return exact.length > 0 ? exact : sorted.filter((one) => one.toLowerCase().startsWith(current.toLowerCase()))
}

/** Values of the flag before what is typed, or of `--flag=` in it; an empty list where neither is there. */
const valueWords = async (
  command: Command,
  before: ReadonlyArray<string>,
  current: string,
  context: CommandContext | undefined
): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const joined = /^(--[\w-]+=)(.*)$/s.exec(current)
  const [, head = "", typed = current] = joined ?? []
  const named = joined === null ? before.at(-1) : head.slice(0, -1)
  const option = command.options.find(({ long, short }) => named !== undefined && (long === named || short === named))
  if (option === undefined || option.isBoolean() || (joined === null && option.optional)) return []
  return [(await wordsOf(option, typed, context)).map((word) => `${head}${word}`)]
}
const wordsOf = async (option: Option, typed: string, context: CommandContext | undefined) => {
  if (option.argChoices !== undefined) return matching(option.argChoices, typed)
  const { table, words } = valuesOf(option)
  if (words !== undefined) return matching(words, typed)
  return namesOf(context, table ?? (await tableNamed(option.long ?? "")), typed)
}

/** The innermost command these words lead to, and how many of its arguments they give. */
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

/** Arguments that take a unit's code, alone or among other words. */
const code_arguments: ReadonlySet<string> = new Set(["code", "codes", "words"])
const tableNamed = async (what: string): Promise<string | undefined> =>
  code_arguments.has(what) ? "stock_levels" : (await import("../../../context/resolve-id.ts")).tableOfNoun(what)
/**
 * Names of rows that begin so, from the replica alone: completion waits for no network. Left out are names that a
 * command line cannot hold, such as those with a line break.
 */
const namesOf = async (
  context: CommandContext | undefined,
  table: string | undefined,
  beginning: string
): Promise<ReadonlyArray<string>> => {
  if (table === undefined || context === undefined || !context.isDevice()) return []
  const { namesStartingWith } = await import("../../../context/resolve-id.ts")
  return namesStartingWith(context, table, beginning).then(
    (names) => [...new Set(names)].filter((name) => name === oneLine(name)),
    () => []
  )
}
const flagsOf = (command: Command): ReadonlyArray<string> =>
  command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? [])
