/** The overview, printed without a command. */
import { catalogue } from "../../core/catalogue.ts"
import { commands } from "./command-list.ts"
import { kebab } from "../derived/names.ts"

const examples = [
  "flightcase login https://rental.example.com --token -",
  "flightcase products list -q name_cont=truss",
  "flightcase price MAC-AURA --from 2026-07-01T09:00 --to 2026-07-05T18:00 --quantity 12",
  'flightcase quote new --subject "Summer Gala" --from tomorrow --to +5d',
  "flightcase pack 12 < codes.txt"
]

/** Groups of nouns in the overview, for those that declare no heading; others are in `other_nouns`. */
const noun_groups: ReadonlyArray<readonly [title: string, nouns: ReadonlyArray<string>]> = [
  ["Deals", ["opportunities", "shortage-waits", "credit-drafts", "members", "activities", "accounting", "search"]],
  ["Warehouse", ["scan-in", "labels", "inspection-dues"]],
  [
    "Catalogue",
    [
      "products",
      "product-groups",
      "rate-definitions",
      "rate-engine",
      "discount-rules",
      "surcharge-groups",
      "stock-levels"
    ]
  ],
  [
    "Set-up",
    [
      "stores",
      "settings",
      "currencies",
      "exchange-rates",
      "countries",
      "product-tax-classes",
      "organisation-tax-classes",
      "tax-rates",
      "tax-rules",
      "revenue-groups",
      "cost-groups",
      "custom-fields",
      "custom-field-groups",
      "custom-views",
      "list-names",
      "document-types"
    ]
  ],
  [
    "People and server",
    [
      "roles",
      "permissions",
      "tokens",
      "login-codes",
      "abilities",
      "actions",
      "calendar-feeds",
      "inbound-sources",
      "webhook-events",
      "notification-preferences",
      "notification-settings",
      "request-logs",
      "boards",
      "endpoints",
      "system",
      "jobs"
    ]
  ]
]
const other_nouns = "More"

/** The overview. `nouns`: all nouns of the API, some of which may have handwritten commands. */
export const overview = (nouns: ReadonlyArray<string>): string => {
  const lines = Object.values(commands).map(({ usage_line }) => usage_line)
  const width = Math.max(...lines.map(([usage]) => usage.length))
  return `flightcase: the back office for equipment rental

Usage: flightcase <noun> <verb> [flags]

Examples:
${examples.map((line) => `  ${line}`).join("\n")}

Daily:
${lines.map(([usage, text]) => `  ${usage.padEnd(width)}  ${text}`).join("\n")}

Every noun of the API, with list, show, create, update, delete and its own verbs:
${grouped(nouns.filter((noun) => commands[noun] === undefined))
  .map(([title, words]) => wrapped(`  ${title}: `, words.join(", ")))
  .join("\n")}

Everywhere:
  --json      data only, as JSON with stable fields     --plan          what a write would do, writing nothing
  --offline   never touch the network (or set           --no-input      never ask
              FLIGHTCASE_OFFLINE=1)
  --profile   profile to use                            --remote        ask the server, not the replica
  --help      of any command                            --version

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 invalid, 6 conflict or shortage, 7 needs the network,
8 sync left conflicts, 130 interrupted.
`
}

const grouped = (nouns: ReadonlyArray<string>): ReadonlyArray<readonly [string, ReadonlyArray<string>]> => {
  const listed = noun_groups.flatMap(([title, words]) => words.map((noun) => [noun, title] as const))
  const declared = catalogue.resources.flatMap(({ heading, plural }) =>
    heading === undefined ? [] : [[kebab(plural), heading] as const]
  )
  const headings = new Map([...listed, ...declared])
  const titles = new Set([...headings.values(), other_nouns])
  const ordered = [...headings.keys()].filter((noun) => nouns.includes(noun))
  const groups = Map.groupBy([...new Set([...ordered, ...nouns])], (noun) => headings.get(noun) ?? other_nouns)
  return [...titles].flatMap((title) => {
    const words = groups.get(title)
    return words === undefined ? [] : [[title, words] as const]
  })
}

/** Wraps a text at about 110 columns, with later lines indented. */
const wrapped = (head: string, text: string): string => {
  const lines: Array<string> = []
  let line = head
  for (const word of text.split(" ")) {
    if (line.length + word.length > 110) {
      lines.push(line)
      line = "    "
    }
    line += `${line.endsWith(" ") ? "" : " "}${word}`
  }
  return [...lines, line].join("\n")
}
