/** How commands are declared: commander, with the global flags on every verb and one way to run an action. */
import { constants } from "node:os"
import { Command, Option, type ParseOptionsResult } from "commander"
import type { Globals } from "../base/answers.ts"
import { type CommandContext, openContext } from "./context.ts"
import { exit_codes, usageError } from "../base/exit-codes.ts"
import { printErr, printOut } from "../output/out.ts"

/** The action of a verb; a number is its exit code, undefined is 0. */
type CommandAction = (context: CommandContext, args: ReadonlyArray<string>, flags: Flags) => Promise<number | void>
/** Flags as commander gives them, by camel-case name. */
export type Flags = { readonly [name: string]: string | boolean | ReadonlyArray<string> | undefined }
/** The text of a flag; undefined where it was not given. */
export const textFlag = (flags: Flags, name: string): string | undefined => {
  const given = flags[name]
  return typeof given === "string" ? given : undefined
}
/** The texts of a flag that may be given several times. */
export const listFlag = (flags: Flags, name: string): ReadonlyArray<string> => {
  const given = flags[name]
  return typeof given === "object" ? given : []
}

const globals: ReadonlyArray<readonly [flags: string, text: string]> = [
  ["--json", "data only, as JSON with stable fields"],
  ["--offline", "never touch the network"],
  ["--no-input", "never ask; a missing value is an error that names its flag"],
  ["--plan", "print what a write would do, write nothing"],
  ["--profile <name>", "which replica (default: default)"],
  ["--remote", "answered by the server, not by the replica"],
  ["--url <url>", "a server to ask directly"],
  ["--token <token>", "its token"]
]
/** Adds the global flags, except where the verb has a flag of that name. */
const withGlobals = (command: Command): Command => {
  const taken = new Set(command.options.map((option) => option.long))
  for (const [flags, text] of globals) {
    const option = new Option(flags, text).helpGroup("Global flags:")
    if (!taken.has(option.long)) command.addOption(option)
  }
  return command
}

/** Commands in which a flag is no value of the flag before it: `--name --plan` would name something "--plan". */
class StrictCommand extends Command {
  override createCommand(name?: string): Command {
    return new StrictCommand(name)
  }
  override parseOptions(words: Array<string>): ParseOptionsResult {
    refuseFlagsAsValues(this, words)
    return super.parseOptions(words)
  }
}
/** Looks at the words up to those of an inner command, which looks at its own. */
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

export const makeProgram = (): Command => {
  ended = undefined
  return withGlobals(new StrictCommand("flightcase"))
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: printOut, writeErr: printErr, outputError: () => {} })
    .configureHelp({ showGlobalOptions: false })
}

/** The first exit code an action ended with. */
let ended: number | undefined
export const lastExitCode = (): number => ended ?? 0

/**
 * Gives a command its action, which gets a context made from the global flags before and after the verb. The context is
 * closed when the action ends, and when a signal ends the program.
 */
export const withAction = (command: Command, act: CommandAction): Command =>
  withGlobals(command).action(async (...given: ReadonlyArray<unknown>) => {
    const self = given.at(-1) as Command
    const above = (self.parent === null ? {} : rootOf(self).opts()) as Globals
    const context = openContext({ ...above, ...explicit(self) })
    const leave = (code: number) => (): void => {
      void context.close().finally(() => process.exit(code))
    }
    const [interrupted, ended_by_others] = [leave(exit_codes.interrupted), leave(128 + constants.signals.SIGTERM)]
    process.once("SIGINT", interrupted)
    process.once("SIGTERM", ended_by_others)
    try {
      const code = await act(
        context,
        self.processedArgs.flat().filter((one): one is string => typeof one === "string"),
        self.opts() as Flags
      )
      if (typeof code === "number") ended = code
    } finally {
      process.removeListener("SIGINT", interrupted)
      process.removeListener("SIGTERM", ended_by_others)
      await context.close()
    }
  })
const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent))
/** Global flags given after the verb; a flag for a field of the same name is not one of them. */
const explicit = (command: Command): Globals =>
  Object.fromEntries(
    command.options
      .filter(
        (option) =>
          option.helpGroupHeading === "Global flags:" && command.getOptionValueSource(option.attributeName()) === "cli"
      )
      .map((option) => [option.attributeName(), command.getOptionValue(option.attributeName()) as unknown])
  ) as Globals

/** A flag that may be given several times. */
export const repeatable = (flags: string, text: string): Option =>
  new Option(flags, text).argParser((value: string, before: ReadonlyArray<string> | undefined) => [
    ...(before ?? []),
    value
  ])
