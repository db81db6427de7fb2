/** The commander program with global flags on every verb. Completion and `--help` load it without commands. */
import { type Argument, Command, Help, Option, type ParseOptionsResult } from "commander"
import { usageError } from "../base/exit-codes.ts"
import { printErr, printOut, terminals } from "./out.ts"

const global_flags = "Global flags:"
const globals: ReadonlyArray<readonly [flags: string, text: string]> = [
  ["--json", "data only, as JSON with stable fields"],
  ["--offline", "never touch the network"],
  ["--no-input", "never ask; a missing value is an error that names its flag"],
  ["--plan", "print what a write would do, write nothing"],
  ["--profile <name>", "profile with its login and replica (default: default)"],
  ["--remote", "ask the server, not the replica"],
  ["--url <url>", "server to ask directly"],
  ["--token <token>", "token for the server"]
]
/** Adds the global flags, except those with the name of a verb's own flag. */
export const withGlobals = (command: Command): Command => {
  const taken = new Set(command.options.map((option) => option.long))
  for (const [flags, text] of globals) {
    const option = new Option(flags, text).helpGroup(global_flags)
    if (!taken.has(option.long)) command.addOption(option)
  }
  return command
}

/**
 * Commands that do not take a flag as the value of another: `--name --plan` would name something "--plan". Their errors
 * name the help.
 */
class StrictCommand extends Command {
  override createCommand(name?: string): Command {
    return new StrictCommand(name)
  }
  override error(message: string): never {
    throw usageError(message.replace(/^error: /, ""), `${pathOf(this)} --help shows what it takes.`)
  }
  override parseOptions(words: Array<string>): ParseOptionsResult {
    refuseFlagsAsValues(this, words)
    return super.parseOptions(words)
  }
}
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
/** Checks the words before a subcommand, which checks its own. */
const refuseFlagsAsValues = ({ commands, options }: Command, words: ReadonlyArray<string>): void => {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ""
    if (word === "--" || commands.some((one) => one.name() === word || one.aliases().includes(word))) return
    const option = options.find(({ long, short }) => long === word || short === word)
    if (option?.required !== true) continue
    at++
    const value = words[at]
    if (value?.startsWith("--") === true)
      throw usageError(
        `${word} wants a value, and what follows is ${value}.`,
        `If that is its value, write ${option.long ?? word}=${value}.`
      )
  }
}

/** Removes aliases with underscores from help; they are accepted all the same. */
const withoutTwin = (term: string): string => term.replaceAll(/\|[a-z]+(?:_[a-z]+)+/g, "")

export const makeProgram = (): Command =>
  withGlobals(new StrictCommand("flightcase"))
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: printOut,
      writeErr: printErr,
      outputError: () => {},
      getOutHelpWidth: () => terminals.out()?.columns ?? 80,
      getErrHelpWidth: () => terminals.err()?.columns ?? 80,
      // Help has no colours; asking for them would make the streams.
      getOutHasColors: () => false,
      getErrHasColors: () => false
    })
    .configureHelp({
      showGlobalOptions: false,
      subcommandTerm: (command) => withoutTwin(Help.prototype.subcommandTerm(command)),
      commandUsage: (command) => withoutTwin(Help.prototype.commandUsage(command))
    })

export const isGlobal = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === global_flags

// Values for completion, registered with flags and arguments; commander's own choices would be validated with its
// messages.

interface OfferedValues {
  /** Table of the rows it names. */
  readonly table?: string
  /** Words it may be. */
  readonly words?: ReadonlyArray<string>
}
const noted = new WeakMap<Option | Argument, OfferedValues>()
export const withValues = <T extends Option | Argument>(made: T, values: OfferedValues): T => {
  noted.set(made, values)
  return made
}
export const valuesOf = (made: Option | Argument): OfferedValues => noted.get(made) ?? {}
