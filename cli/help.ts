/** What is shown for no command at all. */
import { commands, nouns } from "./command-list.ts"

const examples = [
  "flightcase login https://rental.example.com --token -",
  "flightcase products list -q name_cont=truss",
  "flightcase price MAC-AURA --from 2026-07-01T09:00 --to 2026-07-05T18:00 --quantity 12",
  'flightcase quote new --subject "Summer Gala" --from 2026-07-01 --to 2026-07-05',
  "flightcase pack 12 < codes.txt"
]

export const overview = (): string => {
  const lines = Object.values(commands).flatMap(({ usage_line }) => usage_line ?? [])
  const width = Math.max(...lines.filter((_, at) => at % 2 === 0).map((usage) => usage.length))
  const pairs: Array<string> = []
  for (let at = 0; at < lines.length; at += 2) pairs.push(`  ${lines[at]!.padEnd(width)}  ${lines[at + 1]!}`)
  const groups = [...new Set(nouns.map(([, group]) => group))].map((group) =>
    wrapped(
      `  ${group}: `,
      nouns
        .filter((one) => one[1] === group)
        .map(([noun]) => noun)
        .join(", ")
    )
  )
  return `flightcase: the back office for equipment rental

Usage: flightcase <noun> <verb> [flags]

Examples:
${examples.map((line) => `  ${line}`).join("\n")}

Daily:
${pairs.join("\n")}

Every noun of the API, with list, show, create, update, delete and its own verbs:
${groups.join("\n")}

Everywhere:
  --json      data only, as JSON with stable fields     --plan          what a write would do, writing nothing
  --offline   never touch the network                   --no-input      never ask
  --profile   which replica                             --remote        ask the server, not the replica
  --help      of any command                            --version

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 invalid, 6 conflict or shortage, 7 needs the network,
8 sync left conflicts, 130 interrupted.
`
}

const wrapped = (head: string, text: string): string => {
  const lines = [head]
  for (const word of text.split(" ")) {
    if (lines.at(-1)!.length + word.length > 110) lines.push("    ")
    lines[lines.length - 1] += `${lines.at(-1)!.endsWith(" ") ? "" : " "}${word}`
  }
  return lines.join("\n")
}
