/** Every first word there is. Modules are named, not loaded: the word decides what is needed. */
import type { Command } from "commander"

export interface HandMade {
  /** One line for the overview; undefined when another line speaks for it. */
  readonly says: readonly [usage: string, text: string] | undefined
  readonly load: () => Promise<{ readonly declare: (program: Command) => void }>
  /** The API's noun whose own verbs stand beside the hand-made ones. */
  readonly noun?: string
}

export const hand_made: { readonly [word: string]: HandMade } = {
  login: { says: ["login URL --token T [--name DEVICE]", "make this machine's replica and fill it"], load: () => import("./daily/login.ts") },
  sync: { says: ["sync [status|conflicts|report|resolve|bundle]", "send what was done here, fetch what was done elsewhere; --watch goes on"], load: () => import("./daily/sync.ts") },
  devices: { says: ["devices list|rename|revoke", "the machines that hold replicas"], load: () => import("./daily/devices.ts") },
  price: { says: ["price PRODUCT --from --to [--quantity N]", "the rate breakdown"], load: () => import("./daily/price.ts") },
  availability: {
    says: ["availability PRODUCT --from --to", "what is free; also calendar, gantt, why, what-if, fit PRODUCT"], load: () => import("./daily/availability.ts"), noun: "availability"
  },
  shortages: { says: ["shortages [--from --to]", "where more is promised than there is"], load: () => import("./daily/shortages.ts") },
  quote: { says: ["quote new|add|show|convert|list", "the counter's daily work"], load: () => import("./daily/quote.ts") },
  orders: { says: ["orders list|show|history|…", "orders by id or number"], load: () => import("./daily/orders.ts"), noun: "opportunities" },
  containers: {
    says: ["containers manifest CONTAINER [--labels qr]", "what is in a case, as list, page or labels; also list, show, seal, …"], load: () => import("./daily/containers.ts"), noun: "containers"
  },
  pack: { says: ["pack CONTAINER [--file F]", "pack the codes that come line by line"], load: () => import("./daily/pack.ts") },
  scan: { says: ["scan out ORDER · scan in [ORDER]", "book out and check in by code"], load: () => import("./daily/scan.ts") },
  calendar: { says: ["calendar export [--user ID] [-o FILE]", "the calendar feed; links: addresses to subscribe to"], load: () => import("./daily/calendar.ts") },
  import: { says: ["import products|rates|all FILE [--dry-run]", "price lists from CSV or JSON; all: an export, into an empty server"], load: () => import("./import/command.ts") },
  export: { says: ["export DIR", "all data as files, and the journal for import all"], load: () => import("./daily/export.ts") },
  api: { says: ["api METHOD PATH [-q k=v] [-d JSON|@FILE]", "any operation of the API"], load: () => import("./daily/api.ts") },
  smoke: { says: ["smoke URL --token T", "try a server's main job, and clean up"], load: () => import("./smoke/command.ts") },
  doctor: { says: ["doctor [--repair]", "check the replica"], load: () => import("./daily/doctor.ts") },
  serve: { says: ["serve", "the server itself; --help tells what it can be set to"], load: () => import("./serve.ts") },
  completion: { says: ["completion bash|zsh|fish", "completion for a shell"], load: () => import("./daily/completion.ts") }
}

/** The API's nouns, as the overview groups them. A test holds this list to the endpoint tables. */
export const nouns: ReadonlyArray<readonly [noun: string, group: string]> = [
  ...group("Deals", ["opportunities", "members", "activities"]),
  ...group("Catalogue", ["products", "product-groups", "rate-definitions", "rate-engine", "discount-rules", "surcharge-groups", "stock-levels"]),
  ...group("Set-up", [
    "stores", "settings", "currencies", "exchange-rates", "countries", "product-tax-classes", "organisation-tax-classes", "tax-rates", "tax-rules",
    "revenue-groups", "cost-groups", "custom-fields", "custom-field-groups", "custom-views", "list-names"
  ]),
  ...group("People and server", ["users", "roles", "permissions", "tokens", "abilities", "actions", "calendar-feeds", "endpoints", "system"])
]
function group(name: string, words: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> {
  return words.map((word) => [word, name] as const)
}
