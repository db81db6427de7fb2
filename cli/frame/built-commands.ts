/** Commands as data, written by the build: help and completion read them without loading the commands. */
import { readFileSync } from "node:fs"
import { Argument, type Command, Option } from "commander"
import type { AllCommands } from "../base/answers.ts"
import { isGlobal, makeProgram, valuesOf, withGlobals, withValues } from "../output/program.ts"
import { exit_codes } from "../base/exit-codes.ts"
import { printErr, printOut } from "../output/out.ts"

interface BuiltValue {
  /** Usage as in commander: `--name <name>`, `[words...]`. */
  readonly flags: string
  /** Description. A leading ~ stands for the default text by the flag's name; absent if equal to that text. */
  readonly text?: string
  readonly heading?: string | undefined
  readonly default?: readonly [value: unknown, text: string | undefined]
  readonly choices?: ReadonlyArray<string> | undefined
  readonly values?: ReturnType<typeof valuesOf>
  readonly is_hidden?: boolean
}
/** A command as data; empty and false members are left out. */
interface BuiltCommand {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
  readonly text?: string
  /** Description in lists, if shorter than `text`. */
  readonly summary?: string
  readonly heading?: string
  /** Text at the end of its help. */
  readonly after?: string
  readonly arguments?: ReadonlyArray<BuiltValue>
  readonly options?: ReadonlyArray<BuiltValue>
  readonly takes_globals?: boolean
  readonly lists_help?: boolean
  readonly commands?: ReadonlyArray<BuiltCommand>
}
interface BuiltIndex {
  readonly overview: string
  readonly first_words: ReadonlyArray<string>
}

const isSaid = (value: unknown): boolean =>
  value !== undefined &&
  value !== "" &&
  value !== false &&
  !(typeof value === "object" && Object.keys(value ?? {}).length === 0)
const said = <T extends object>(all: T): T =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => isSaid(value))) as T

type Plain = (one: Option | Argument, command: Command, parent: Command | null) => string
const valueOf = (flags: string, one: Option | Argument, command: Command, plain: Plain): BuiltValue =>
  said({
    flags,
    text: withoutPlain(one.description, plain(one, command, command.parent)),
    choices: one.argChoices,
    ...(one.defaultValue === undefined ? {} : { default: [one.defaultValue, one.defaultValueDescription] as const }),
    values: valuesOf(one)
  })
const withoutPlain = (text: string, plain: string): string =>
  text === plain ? "" : text.startsWith(`${plain}; `) ? text.replace(plain, () => "~") : text
const argumentFlags = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`
  return argument.required ? `<${name}>` : `[${name}]`
}
const builtOf = (command: Command, plain: Plain): BuiltCommand => {
  let shown = ""
  command.configureOutput({ writeOut: (part) => void (shown += part) }).outputHelp()
  const after = shown.slice(command.helpInformation().length)
  return said({
    name: command.name(),
    aliases: command.aliases(),
    text: command.description(),
    summary: command.summary(),
    heading: command.helpGroup(),
    after: after.replace(/\n$/, ""),
    arguments: command.registeredArguments.map((one) => valueOf(argumentFlags(one), one, command, plain)),
    options: command.options
      .filter((one) => !isGlobal(one))
      .map((one) =>
        said({ ...valueOf(one.flags, one, command, plain), heading: one.helpGroupHeading, is_hidden: one.hidden })
      ),
    takes_globals: command.options.some(isGlobal),
    lists_help: command.createHelp().visibleCommands(command).length > command.commands.length,
    commands: command.commands.map((one) => builtOf(one, plain))
  })
}

/** Builds data of all first words with their commands, and the overview. */
export const builtFrom = async (
  { firstWords, load }: AllCommands,
  overview: (words: ReadonlyArray<string>) => string
): Promise<{ readonly index: BuiltIndex; readonly commands: { readonly [word: string]: BuiltCommand } }> => {
  const words = await firstWords()
  const { flag_texts } = await import("../derived/flag-texts.ts")
  const commands: { [word: string]: BuiltCommand } = {}
  for (const word of words) {
    const program = makeProgram()
    await load(program, word, [word, "--help"])
    const [command] = program.commands
    if (command !== undefined) commands[word] = builtOf(command, flag_texts.plainText)
  }
  return { index: { overview: overview(words), first_words: words }, commands }
}

const isTyped = ({ aliases = [], name }: BuiltCommand, typed: ReadonlySet<string>): boolean =>
  [name, ...aliases].some((one) => typed.has(one))
/** A command as its line in help of the command above, which says whether it has options. */
const lineOf = ({ commands = [], options = [], takes_globals, ...built }: BuiltCommand): BuiltCommand => ({
  ...built,
  commands: commands.slice(0, 1).map(({ name }) => ({ name })),
  options: takes_globals === true ? [{ flags: "--json" }] : options.slice(0, 1)
})
/** Declares a command from its data; with `typed` words only what help of them shows. */
export const declareBuilt = (parent: Command, built: BuiltCommand, typed?: ReadonlySet<string>): void => {
  const command = parent.createCommand(built.name).copyInheritedSettings(parent).enablePositionalOptions()
  command
    .aliases(built.aliases ?? [])
    .description(built.text ?? "")
    .summary(built.summary ?? "")
  if (built.heading !== undefined) command.helpGroup(built.heading)
  if (built.after !== undefined) command.addHelpText("after", built.after)
  for (const one of built.arguments ?? []) command.addArgument(withMore(new Argument(one.flags, one.text), one))
  for (const one of built.options ?? []) {
    const option = withMore(new Option(one.flags, one.text), one)
    if (one.heading !== undefined) option.helpGroup(one.heading)
    command.addOption(option.hideHelp(one.is_hidden === true))
  }
  if (built.takes_globals === true) withGlobals(command)
  if (built.lists_help !== true) command.helpCommand(false)
  for (const inner of built.commands ?? [])
    declareBuilt(command, typed === undefined || isTyped(inner, typed) ? inner : lineOf(inner), typed)
  parent.addCommand(command)
}
const withMore = <T extends Option | Argument>(made: T, { choices, values, ...more }: BuiltValue): T => {
  if (choices !== undefined) made.choices(choices)
  if (more.default !== undefined) made.default(...more.default)
  return withValues(made, values ?? {})
}

/** Content of a file written by the build; undefined if there is none, as when sources are run. */
const read = (folder: URL, name: string): string | undefined => {
  try {
    return readFileSync(new URL(`${name}.json`, folder), "utf8")
  } catch {
    return undefined
  }
}
const index = (folder: URL): BuiltIndex | undefined => {
  const text = read(folder, "index")
  return text === undefined ? undefined : JSON.parse(text)
}
/** Declares the command of a word from its file; false if it has none. */
const declareWord = (folder: URL, program: Command, word: string, typed?: ReadonlySet<string>): boolean => {
  const text = /^[a-z-]+$/.test(word) ? read(folder, `command-${word}`) : undefined
  if (text !== undefined) declareBuilt(program, JSON.parse(text), typed)
  return text !== undefined
}

/** Prints the requested help; false if the build has none, or none is requested. */
const printHelp = async (folder: URL, word: string, argv: ReadonlyArray<string>): Promise<boolean> => {
  const program = makeProgram()
  let text = ""
  program.configureOutput({ writeOut: (part) => void (text += part), writeErr: () => {} })
  if (!declareWord(folder, program, word, new Set(argv))) return false
  const { flag_texts } = await import("../derived/flag-texts.ts")
  for (const command of program.commands) flag_texts.addTexts(command)
  try {
    await program.parseAsync(argv, { from: "user" })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "commander.helpDisplayed")) return false
    printOut(text)
    return true
  }
  return false
}
/** Access to commands from the build's files; `live` declares those without one. */
const builtCommands = (folder: URL, live: () => Promise<AllCommands>): AllCommands => ({
  firstWords: async () => index(folder)?.first_words ?? (await live()).firstWords(),
  load: async (program, word, argv) =>
    declareWord(folder, program, word) ? [...argv] : (await live()).load(program, word, argv)
})

const liveCommands = async (): Promise<AllCommands> => (await import("./command-loader.ts")).all_commands

/**
 * Answers the overview, help and completion from the build's files. Returns the exit code; undefined for other command
 * lines. `folder`: the build's files, without which commands are loaded.
 */
export const answeredByBuild = async (
  folder: URL,
  word: string | undefined,
  argv: ReadonlyArray<string>,
  at: number
): Promise<number | undefined> => {
  const wants_help = argv.includes("--help") || argv.includes("-h")
  if (word === undefined) {
    const text =
      index(folder)?.overview ?? (await import("./help.ts")).overview(await (await liveCommands()).firstWords())
    const show = wants_help ? printOut : printErr
    show(text)
    return wants_help ? exit_codes.ok : exit_codes.usage
  }
  if (wants_help) return (await printHelp(folder, word, argv)) ? exit_codes.ok : undefined
  const asked = argv[at + 1]
  if (asked === "words" || asked === "line") {
    const { complete } = await import("../commands/operations/completion/candidates.ts")
    printOut(await complete(asked, argv.slice(at + 2), process.env, builtCommands(folder, liveCommands)))
    return exit_codes.ok
  }
  if (asked !== "data") return undefined
  const { overview } = await import("./help.ts")
  printOut(`${JSON.stringify(await builtFrom(await liveCommands(), overview))}\n`)
  return exit_codes.ok
}
