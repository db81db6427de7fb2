/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import type { Command } from "commander"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { profileExists } from "../../profile-folder.ts"
import { oneLine } from "../../output/text.ts"
import { withAction } from "../../program.ts"

export const declare = (program: Command): void => {
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
    if (shell === "words") return context.print((await candidates(typed, context)).map((word) => `${word}\n`).join(""))
    const script = scripts[shell]
    if (script === undefined)
      throw usageError(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
    context.print(script)
  })
}

/** Words that may stand where the last one is being typed: verbs, flags, and names and ids of what the replica knows. */
const candidates = async (typed: ReadonlyArray<string>, context: CommandContext): Promise<ReadonlyArray<string>> => {
  const current = typed.at(-1) ?? ""
  const before = typed.slice(0, -1).filter((word) => word !== "")
  const { commands, nouns } = await import("../../command-list.ts")
  const { firstWord, loadCommand } = await import("../../command-loader.ts")
  const { word } = firstWord(before)
  const matching = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
    [...new Set(words)].filter((one) => one.startsWith(current)).sort()
  const { makeProgram } = await import("../../program.ts")
  const program = makeProgram()
  if (word === undefined) {
    return matching(
      current.startsWith("-") ? flagsOf(program) : [...Object.keys(commands), ...nouns.map(([noun]) => noun)]
    )
  }
  await loadCommand(program, word, before).catch(() => undefined)
  let at = program
  const operands: Array<string> = []
  for (let next = 0; next < before.length; next++) {
    const one = before[next]!
    const flag = at.options.find((option) => option.long === one || option.short === one)
    const child = at.commands.find((inner) => inner.name() === one || inner.aliases().includes(one))
    if (flag !== undefined) next += flag.isBoolean() ? 0 : 1
    else if (child !== undefined && operands.length === 0) at = child
    else operands.push(one)
  }
  const flag = at.options.find((option) => option.long === before.at(-1) && !option.isBoolean())
  if (flag !== undefined)
    return flag.argChoices === undefined ? namesOf(context, flag.long!, current) : matching(flag.argChoices)
  if (current.startsWith("-")) return matching(flagsOf(at))
  const argument = at.registeredArguments[operands.length]
  return [
    ...matching(at.commands.map((child) => child.name())),
    ...(argument === undefined ? [] : await namesOf(context, argument.name(), current))
  ]
}
/** Names a line of a shell cannot hold are left out. From the replica alone: whoever presses the tab key waits for no network. */
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
