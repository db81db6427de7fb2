/** `completion`: scripts for shells, which ask this command for the words that may follow. */
import { Argument, type Command } from "commander"
import type { AllCommands } from "../../../base/answers.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { withValues } from "../../../output/program.ts"
import { withAction } from "../../../context/program.ts"

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
    if (shell === "words" || shell === "line")
      return context.print(await (await import("./candidates.ts")).complete(shell, given, context.env, all))
    const script = scripts[shell]
    if (script === undefined)
      throw usageError(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
    context.print(script)
  })
}
