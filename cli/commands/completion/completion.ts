/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import type { Command } from "commander"
import type { AllCommands } from "../../command-types.ts"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { profileExists } from "../../profile-folder.ts"
import { oneLine } from "../../output/text.ts"
import { firstWord } from "../../first-word.ts"
import { makeProgram, withAction } from "../../program.ts"

export const declare = (program: Command, all: AllCommands): void => {
  const completion = program
    .command("completion")
    .description("Completion for a shell: source <(flightcase completion bash)")
    .argument("<shell>", "bash, zsh or fish")
    .argument("[words...]")
    .addHelpText(
      "after",
      `
bash: source <(flightcase completion bash)
zsh:  source <(flightcase completion zsh)
fish: flightcase completion fish | source`
    )
    .passThroughOptions()
  withAction(completion, async (context, [shell = "", ...typed]) => {
    if (shell === "words")
      return context.print((await candidates(typed, context, all)).map((word) => `${word}\n`).join(""))
    const script = scripts[shell]
    if (script === undefined)
      throw usageError(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
    context.print(script)
  })
}

/** Words that may stand where the last one is being typed: verbs, flags, and names and ids of what the replica knows. */
const candidates = async (
  typed: ReadonlyArray<string>,
  context: CommandContext,
  all: AllCommands
): Promise<ReadonlyArray<string>> => {
  const current = typed.at(-1) ?? ""
  const before = typed.slice(0, -1).filter((word) => word !== "")
  const matching = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
    [...new Set(words)].filter((one) => one.startsWith(current)).sort()
  const program = makeProgram()
  const { word } = firstWord(before)
  if (word === undefined) return matching(current.startsWith("-") ? flagsOf(program) : await all.firstWords())
  await all.load(program, word, before).catch(() => undefined)
  const { command, operands } = commandAt(program, before)
  const flag = command.options.find((option) => option.long === before.at(-1) && !option.isBoolean())
  if (flag !== undefined)
    return flag.argChoices === undefined ? namesOf(context, flag.long ?? "", current) : matching(flag.argChoices)
  if (current.startsWith("-")) return matching(flagsOf(command))
  const argument = command.registeredArguments[operands]
  return [
    ...matching(command.commands.map((child) => child.name())),
    ...(argument === undefined ? [] : await namesOf(context, argument.name(), current))
  ]
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
    const flag = command.options.find((option) => option.long === word || option.short === word)
    const child = command.commands.find((inner) => inner.name() === word || inner.aliases().includes(word))
    if (flag !== undefined) is_value = !flag.isBoolean()
    else if (child !== undefined && operands === 0) command = child
    else operands++
  }
  return { command, operands }
}
/**
 * Names of rows that begin so, from the replica alone: completion waits for no network. Left out are names that a
 * command line cannot hold, such as those with a line break.
 */
const namesOf = async (context: CommandContext, what: string, beginning: string): Promise<ReadonlyArray<string>> => {
  const { namesStartingWith, tableOfNoun } = await import("../../resolve-id.ts")
  const table = tableOfNoun(what)
  if (table === undefined || context.options.url !== undefined || !profileExists(context.profile(), context.env))
    return []
  return namesStartingWith(context, table, beginning).then(
    (names) => [...new Set(names)].filter((name) => name === oneLine(name)),
    () => []
  )
}
const flagsOf = (command: Command): ReadonlyArray<string> =>
  command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? [])

const scripts: { readonly [shell: string]: string } = {
  bash: `_flightcase() {
  local IFS=$'\\n'
  COMPREPLY=($(flightcase completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [ \${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi
}
complete -o filenames -F _flightcase flightcase
`,
  zsh: `#compdef flightcase
_flightcase() {
  local -a found
  found=("\${(@f)$(flightcase completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _flightcase flightcase
`,
  fish: `function __flightcase_words
  set -l typed (commandline -opc) (commandline -ct)
  flightcase completion words -- $typed[2..-1] 2>/dev/null
end
complete -c flightcase -a '(__flightcase_words)'
`
}
