/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import { Argument, type Command } from "commander"
import type { AllCommands } from "../../command-types.ts"
import { type CommandContext, openContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { withValues } from "../../derived/option-values.ts"
import { withAction } from "../../program.ts"
import { forBash, readLine } from "./line.ts"
import { scripts } from "./scripts.ts"

export const declare = (program: Command, all: AllCommands): void => {
  const completion = program
    .command("completion")
    .description("Completion for a shell: source <(flightcase completion bash)")
    .addArgument(withValues(new Argument("<shell>", "bash, zsh or fish"), { words: Object.keys(scripts) }))
    .argument("[words...]")
    .addHelpText(
      "after",
      `
bash: source <(flightcase completion bash)
zsh:  source <(flightcase completion zsh)
fish: flightcase completion fish | source`
    )
    .passThroughOptions()
  withAction(completion, async (context, [shell = "", ...given]) => {
    // Shells write -- before what was typed, so that none of it is taken for a flag of this command.
    const typed = given[0] === "--" ? given.slice(1) : given
    if (shell === "words") return print(context, await wordsFor(typed, context, all))
    if (shell === "line") {
      const line = readLine(typed[0] ?? "")
      const words = await wordsFor(line.words.slice(1), context, all)
      return print(
        context,
        words.map((word) => forBash(word, line))
      )
    }
    const script = scripts[shell]
    if (script === undefined)
      throw usageError(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
    context.print(script)
  })
}
const print = (context: CommandContext, words: ReadonlyArray<string>): void =>
  context.print(words.map((word) => `${word}\n`).join(""))

/** The words that may stand last; none where they cannot be found out. Nothing is said, and the network is not used. */
const wordsFor = async (
  typed: ReadonlyArray<string>,
  { env }: CommandContext,
  all: AllCommands
): Promise<ReadonlyArray<string>> => {
  const { candidates } = await import("./candidates.ts")
  const at = typed.lastIndexOf("--profile")
  const profile = at < 0 || at >= typed.length - 2 ? undefined : typed[at + 1]
  const names_server = typed.some((word) => word === "--url" || word.startsWith("--url="))
  try {
    const context = openContext({ offline: true, ...(profile === undefined ? {} : { profile }) }, env, {
      is_quiet: true
    })
    try {
      return await candidates(typed, names_server ? undefined : context, all)
    } finally {
      await context.close()
    }
  } catch {
    return []
  }
}
