/** Declares commands with commander: global flags on every verb, and one way to run actions. */
import { constants } from "node:os"
import { Argument, type Command, Option } from "commander"
import type { Globals } from "../base/answers.ts"
import { type CommandContext, openContext } from "./context.ts"
import { exit_codes } from "../base/exit-codes.ts"
import { isGlobal, withGlobals } from "../output/program.ts"

/** Action of a verb; returns an exit code, or undefined for 0. */
export type CommandAction = (
  context: CommandContext,
  args: ReadonlyArray<string>,
  flags: Flags
) => Promise<number | void>
/** Flags as parsed by commander, by camel-case name. */
export type Flags = { readonly [name: string]: string | boolean | ReadonlyArray<string> | undefined }
/** Text of a flag; undefined if it was not given. */
export const textFlag = (flags: Flags, name: string): string | undefined => {
  const given = flags[name]
  return typeof given === "string" ? given : undefined
}
/** Texts of a repeatable flag. */
export const listFlag = (flags: Flags, name: string): ReadonlyArray<string> => {
  const given = flags[name]
  return typeof given === "object" ? given : []
}

/** Exit codes returned by actions, by program. */
const endings = new WeakMap<Command, number>()
export const exitCodeOf = (program: Command): number => endings.get(program) ?? 0

/**
 * Sets a command's action, called with a context made from the global flags before and after the verb. The context is
 * closed when the action ends, and when a signal ends the program.
 */
export const withAction = (command: Command, act: CommandAction): Command =>
  withGlobals(command).action(async (...given: ReadonlyArray<unknown>) => {
    const self = given.at(-1) as Command
    import.meta.ran?.(nameOf(self))
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
      if (typeof code === "number") endings.set(rootOf(self), code)
    } finally {
      process.removeListener("SIGINT", interrupted)
      process.removeListener("SIGTERM", ended_by_others)
      // The built program ends with its command; tests run several in one process.
      await context.close(import.meta.ran !== undefined)
    }
  })
/** Words of a command, without the program's name. */
const nameOf = (command: Command): string =>
  command.parent === null ? "" : `${nameOf(command.parent)} ${command.name()}`.trim()
const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent))
/** Global flags given after the verb, except where the command has its own flag of that name. */
const explicit = (command: Command): Globals =>
  Object.fromEntries(
    command.options
      .filter((option) => isGlobal(option) && command.getOptionValueSource(option.attributeName()) === "cli")
      .map((option) => [option.attributeName(), command.getOptionValue(option.attributeName()) as unknown])
  ) as Globals

/** Help of an argument or flag, or what makes it of the declaration. */
type Parameter = string | ((typed: string) => Option | Argument)
/** Arguments (`<order>`, `[code...]`) and flags (`--to <time>`) by their declaration, in the order of help. */
type Parameters = { readonly [typed: `${"<" | "[" | "-"}${string}`]: Parameter }
interface Verb extends Parameters {
  /** Description in help. */
  readonly about: string
  readonly run: CommandAction
}
/** Declares a verb below a command: its help, arguments and flags, and its action. */
export const verb = (parent: Command, name: string, { about, run, ...parameters }: Verb): Command => {
  const command = parent.command(name).description(about)
  for (const [typed, given] of Object.entries<Parameter>(parameters)) {
    const made =
      typeof given !== "string"
        ? given(typed)
        : typed.startsWith("-")
          ? new Option(typed, given)
          : new Argument(typed, given)
    if (made instanceof Option) command.addOption(made)
    else command.addArgument(made)
  }
  return withAction(command, run)
}

/** A flag that may be given several times. */
export const repeatable =
  (text: string) =>
  (typed: string): Option =>
    new Option(typed, text).argParser((value: string, before: ReadonlyArray<string> | undefined) => [
      ...(before ?? []),
      value
    ])
/** A flag that must be given. */
export const required =
  (text: string) =>
  (typed: string): Option =>
    new Option(typed, text).makeOptionMandatory()
/** A flag whose value is one of these words. */
export const oneOf =
  (text: string, words: ReadonlyArray<string>) =>
  (typed: string): Option =>
    new Option(typed, text).choices(words)
