/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import { Argument, type Command } from "commander"
import type { AllCommands } from "../../../base/answers.ts"
import { type CommandContext, openContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { withValues } from "../../../derived/option-values.ts"
import { withAction } from "../../../context/program.ts"

/** A line as bash hands it over: its words, and candidates in the form in which bash puts them into the line. */
interface Line {
  /** Without quotes and backslashes. The last one is what is being typed; it is empty after a space. */
  readonly words: ReadonlyArray<string>
  /** The quote that the last word has opened and not closed. */
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

/** Bash replaces what stands after the last = or : alone. Outside quotes it takes words with backslashes. */
export const forBash = (candidate: string, { quote, words }: Line): string => {
  const current = words.at(-1) ?? ""
  const kept = quote === undefined ? Math.max(current.lastIndexOf("="), current.lastIndexOf(":")) + 1 : 0
  const rest = candidate.slice(kept)
  if (quote === "'") return rest
  if (quote === '"') return rest.replace(/["\\$`]/g, "\\$&")
  return rest.replace(/[^\p{L}\p{N}_./,:=@%+-]/gu, "\\$&")
}

/**
 * What shells are given: functions that ask this program for the words that may follow. None of them prints anything of
 * its own, and where there is no word to offer, paths are completed.
 */
const scripts: { readonly [shell: string]: string } = {
  // Bash breaks words at = and : too, and leaves quotes in them: the line is read here, which gives words as bash wants
  // them. Its version 3.2, which macOS has, knows no mapfile.
  bash: `_flightcase() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(flightcase completion line -- "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o bashdefault -o default -F _flightcase flightcase
`,
  zsh: `#compdef flightcase
_flightcase() {
  local -a found before
  (( CURRENT > 2 )) && before=("\${(@Q)words[2,CURRENT-1]}")
  found=("\${(@f)$(flightcase completion words -- "\${before[@]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then
    compadd -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -- "\${found[@]}"
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" = _flightcase ]]; then
  _flightcase "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
  compdef _flightcase flightcase
fi
`,
  fish: `function __flightcase_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -e before[1]
  set -l found (flightcase completion words -- $before "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c flightcase -f -a '(__flightcase_words)'
`
}

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
