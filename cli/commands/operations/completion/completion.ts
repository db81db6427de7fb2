/** `completion`: prints shell scripts that call this program for candidates. */
import { Argument, type Command } from "commander"
import { usageError } from "../../../base/exit-codes.ts"
import { withValues } from "../../../output/program.ts"
import { verb } from "../../../context/program.ts"

/** Scripts by shell: functions that call this program for candidates, and complete paths if there are none. */
const scripts: { readonly [shell: string]: string } = {
  // Bash splits words at = and :, and keeps quotes, so the line is parsed by this program. Version 3.2 on macOS lacks
  // mapfile.
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

export const declare = (program: Command): void => {
  verb(program, "completion", {
    about: "Print a shell's completion script: source <(flightcase completion bash)",
    "<shell>": (typed) => withValues(new Argument(typed, "bash, zsh or fish"), { words: Object.keys(scripts) }),
    "[words...]": "words typed so far",
    run: async (context, [shell = ""]) => {
      const script = scripts[shell]
      if (script === undefined)
        throw usageError(`There is no completion for ${JSON.stringify(shell)}; bash, zsh and fish have one.`)
      context.print(script)
    }
  })
    .addHelpText(
      "after",
      `
bash: source <(flightcase completion bash)
zsh:  source <(flightcase completion zsh)
fish: flightcase completion fish | source`
    )
    .passThroughOptions()
}
