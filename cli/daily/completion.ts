/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import type { Command } from "commander"
import { misused } from "../exits.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const completion = program.command("completion").description("Completion for a shell: source <(flightcase completion bash)")
    .argument("<shell>", "bash, zsh or fish").argument("[words...]").addHelpText("after", `
bash: source <(flightcase completion bash)
zsh:  source <(flightcase completion zsh)
fish: flightcase completion fish | source`)
    .passThroughOptions()
  acting(completion, async (desk, [shell = "", ...typed]) => {
    if (shell === "words") return desk.print((await candidates(typed)).map((word) => `${word}\n`).join(""))
    const script = scripts[shell]
    if (script === undefined) throw misused(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
    desk.print(script)
  })
}

/** Words that may stand where the last one is being typed. */
export const candidates = async (typed: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const current = typed.at(-1) ?? ""
  const before = typed.slice(0, -1).filter((word) => word !== "")
  const { hand_made, nouns } = await import("../commands.ts")
  const { firstWord, findNoun } = await import("../first-word.ts")
  const { word } = firstWord(before)
  const matching = (words: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(words)].filter((one) => one.startsWith(current)).sort()
  const { makeProgram } = await import("../program.ts")
  const program = makeProgram()
  if (word === undefined) {
    return matching(current.startsWith("-") ? flagsOf(program) : [...Object.keys(hand_made), ...nouns.map(([noun]) => noun)])
  }
  await findNoun(program, word, before).catch(() => undefined)
  let at = program
  for (const one of before) at = at.commands.find((child) => child.name() === one || child.aliases().includes(one)) ?? at
  return matching(current.startsWith("-") ? flagsOf(at) : at.commands.map((child) => child.name()))
}
const flagsOf = (command: Command): ReadonlyArray<string> => command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? [])

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
