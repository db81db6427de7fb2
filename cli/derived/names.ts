/** Nouns, verbs and flags of derived commands. */
import { operationOf, paramNames, parseJson, resourceOf } from "../../core/kernel/index.ts"
import type { Endpoint, Field, Fields, FieldType, Json } from "../../core/kernel/index.ts"
import { scaleOf } from "../../core/values/money.ts"
import { usageError } from "../base/exit-codes.ts"
import type { valuesOf } from "../output/program.ts"

// Names of commands by endpoint: `POST /products/{product}/rates` is `products rates create PRODUCT`.

export interface Verb {
  /** Words of the command, noun first: `products rates create`. */
  readonly words: ReadonlyArray<string>
  readonly endpoint: Endpoint
  /** Path parameters in order. */
  readonly params: ReadonlyArray<string>
  /** Whether it may end something for good, or cancel an order: it asks on a terminal, and takes --yes. */
  readonly may_end: boolean
}
const crud: ReadonlySet<string> = new Set(["list", "show", "create", "update", "delete"])

export const kebab = (name: string): string => name.replaceAll("_", "-")

/**
 * Words of an endpoint's command; undefined for those without one: sync protocol, feeds, files, signed bodies, endless
 * streams.
 */
export const wordsOf = (endpoint: Endpoint): ReadonlyArray<string> | undefined => {
  if (!known_words.has(endpoint)) known_words.set(endpoint, wordsFrom(endpoint))
  return known_words.get(endpoint)
}
const known_words = new WeakMap<Endpoint, ReadonlyArray<string> | undefined>()
const wordsFrom = (endpoint: Endpoint): ReadonlyArray<string> | undefined => {
  if (
    endpoint.raw_body ||
    endpoint.produces === "text/event-stream" ||
    !endpoint.path.startsWith("/api/v1/") ||
    endpoint.path.startsWith("/api/v1/sync/") ||
    endpoint.path.includes(".")
  )
    return undefined
  const segments = endpoint.path.slice("/api/v1/".length).split("/")
  const named = segments.filter((segment) => !segment.startsWith("{")).map(kebab)
  // Resources of the server keep their name: jobs, not system jobs.
  const literals = named[0] === "system" && named[1] === kebab(resourceOf(endpoint)) ? named.slice(1) : named
  const [noun = "", ...inner] = literals
  const operation = kebab(operationOf(endpoint))
  if (crud.has(operation)) return [...literals, operation]
  const last = inner.at(-1)
  // The path ends with the operation (…/items/tree), or its last words are the operation (containers/repack/start).
  if (last === operation) return literals
  if (inner.join("-") === operation) return [noun, operation]
  // The operation ends with its object: add_item below …/items, set_deal_price at …/deal_price.
  for (const [at, literal] of [...inner.entries()].reverse()) {
    const object = [literal, literal.replace(/s$/, "")].find((one) => operation.endsWith(`-${one}`))
    if (object !== undefined) return [noun, ...inner.slice(0, at + 1), operation.slice(0, -object.length - 1)]
  }
  // The operation acts on the row at the end of the path, or shares the path with another (DELETE …/deal_price).
  return inner.length === 0 || segments.at(-1)?.startsWith("{") === true
    ? [...literals, operation]
    : [...literals.slice(0, -1), operation]
}

/** Whether an endpoint is a paged list: `list`, or a list below a row, such as its activity. */
export const isList = (endpoint: Endpoint): boolean =>
  operationOf(endpoint) === "list" ||
  (!crud.has(operationOf(endpoint)) && /\/(assets|activity|attachments)$/.test(endpoint.path))

export const verbsOf = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<Verb> => {
  const taken = new Set<string>()
  return endpoints.flatMap((endpoint): ReadonlyArray<Verb> => {
    const words = wordsOf(endpoint)
    if (words === undefined || taken.has(words.join(" "))) return []
    taken.add(words.join(" "))
    const may_end = endpoint.destructive || endpoint.name === "opportunities.change_status"
    return [{ words, endpoint, params: paramNames(endpoint.path), may_end }]
  })
}

export const nounsIn = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<string> => [
  ...new Set(endpoints.flatMap((endpoint) => wordsOf(endpoint)?.slice(0, 1) ?? []))
]

/** Usual words for verbs with other names in the API. */
export const verb_aliases: { readonly [verb: string]: string } = { add: "create", remove: "delete" }

/** Short names of nouns. */
export const noun_aliases: { readonly [alias: string]: string } = {
  rates: "rate-definitions",
  assets: "stock-levels",
  stock: "stock-levels",
  groups: "product-groups"
}
/** The noun for a word: `rate_definitions` and `rates` mean `rate-definitions`, `product` means `products`. */
export const nounOf = (word: string, nouns: ReadonlyArray<string>): string => {
  const noun = kebab(word)
  return noun_aliases[noun] ?? (!nouns.includes(noun) && nouns.includes(`${noun}s`) ? `${noun}s` : noun)
}

// Flags for fields: their names, and parsing of their values.

export interface Flag {
  /** Name of the flag: `--product-group-id`. */
  readonly flag: string
  readonly name: string
  readonly field: Field
}
export const flagsOf = (fields: Fields, mode: "create" | "update"): ReadonlyArray<Flag> =>
  Object.entries(fields)
    .filter(([, field]) => !field.computed && !(mode === "update" && field.create_only))
    .map(([name, field]) => ({ flag: `--${kebab(name)}`, name, field }))

/** Placeholder of the value in usage: `<text>`, `<amount>`, `[true|false]`. */
export const placeholder = (field: Field): string => {
  const type = field.type
  switch (type.kind) {
    case "boolean":
      return "[true|false]"
    case "integer":
      return "<number>"
    case "decimal":
      return "<decimal>"
    case "money":
      return "<amount>"
    case "date":
      return "<date>"
    case "timestamp":
      return "<time>"
    case "choice":
      return `<${short(Object.keys(type.labels))}>`
    case "code":
      return `<${short(Object.values(type.labels).map(typedForm))}>`
    case "ref":
      return "<id>"
    case "json":
    case "object":
      return "<json>"
    case "list":
      return inCommas(type) ? "<a,b,…>" : "<json>"
    default:
      return "<text>"
  }
}
const short = (words: ReadonlyArray<string>): string =>
  words.length <= 4 ? words.join("|") : `${words.slice(0, 3).join("|")}|…`
/** Values of a field that completion offers. */
export const valuesFor = ({ type }: Field): ReturnType<typeof valuesOf> => {
  const one = type.kind === "list" ? type.of.type : type
  switch (one.kind) {
    case "ref":
      return { table: one.table }
    case "choice":
      return { words: Object.keys(one.labels) }
    case "code":
      return { words: Object.values(one.labels).map(typedForm) }
    default:
      return {}
  }
}
/** A label as typed: `on-hire` for `On Hire`. */
const typedForm = (label: string): string =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "")
const inCommas = (type: FieldType & { kind: "list" }): boolean =>
  !["object", "json", "list"].includes(type.of.type.kind)

/** Lookups for parsing flags: ids by name, the store's zone, the currency. */
export interface FlagContext {
  readonly idOf: (table: string, text: string, flag: string) => Promise<Json>
  readonly moment: (text: string, flag: string) => Promise<string>
  /** Currency of an amount: the flag of its currency field if given, else the base currency. */
  readonly currency: (field: string | undefined) => Promise<string>
}

/** Parses a flag's value. An empty text stays empty, or is an empty list, which clears the field. */
export const readFlag = async ({ flag, field }: Flag, text: string, reading: FlagContext): Promise<Json> => {
  const type = field.type
  if (text === "") return type.kind === "list" ? [] : ""
  switch (type.kind) {
    case "boolean":
      return truth(text, flag)
    case "integer":
      return whole(text)
    case "money":
      return type.minor_only ? minorUnits(text, await reading.currency(type.currency), flag) : text
    case "timestamp":
      return reading.moment(text, flag)
    case "ref":
      return reading.idOf(type.table, text, flag)
    case "code":
      return codeOf(type.labels, text)
    case "choice":
      return (
        Object.entries(type.labels).find(
          ([key, label]) => key === text || typedForm(key) === typedForm(text) || typedForm(label) === typedForm(text)
        )?.[0] ?? text
      )
    case "json":
    case "object":
      return documentOf(text, flag, type.kind === "json" && type.form === "any")
    case "list": {
      if (text.trimStart().startsWith("[") || !inCommas(type)) return documentOf(text, flag, false)
      const parts = text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "")
      const values: Array<Json> = []
      for (const part of parts) values.push(await readFlag({ flag, name: "", field: type.of }, part, reading))
      return values
    }
    default:
      return text
  }
}

const truth = (text: string, flag: string): boolean => {
  if (/^(true|yes|y|on|1)$/i.test(text)) return true
  if (/^(false|no|n|off|0)$/i.test(text)) return false
  throw usageError(`${flag}: say true or false, not ${JSON.stringify(text)}.`)
}
/** A number if the text is an integer; other texts are sent unchanged, for the API to reject. */
const whole = (text: string): Json => (/^-?\d{1,15}$/.test(text) ? Number(text) : text)
const codeOf = (labels: { readonly [code: number]: string }, text: string): Json => {
  const found = Object.entries(labels).find(([, label]) => typedForm(label) === typedForm(text))
  return found === undefined ? whole(text) : Number(found[0])
}
/** Minor units of an amount, for the few fields that only accept these: 1250 for "12.50". */
const minorUnits = (text: string, currency: string, flag: string): Json => {
  const scale = scaleOf(currency)
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim())
  if (match === null || (match[3] ?? "").length > scale)
    throw usageError(`${flag}: ${JSON.stringify(text)} is no amount in ${currency}.`)
  return Number(`${match[1]}${match[2]}${(match[3] ?? "").padEnd(scale, "0")}`)
}
const documentOf = (text: string, flag: string, lenient: boolean): Json => {
  try {
    return parseJson(text)
  } catch (cause) {
    if (lenient) return text
    throw usageError(`${flag}: ${cause instanceof Error ? cause.message : "no JSON"}.`)
  }
}

/**
 * Rewrites `--is-active` and `--no-is-active` to `--is-active=true` and `=false`, so that the next word is never taken
 * as the value unless it is true, false, yes or no.
 */
export const normalizeFlags = (argv: ReadonlyArray<string>, booleans: ReadonlySet<string>): Array<string> => {
  const out: Array<string> = []
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ""
    if (word === "--") return [...out, ...argv.slice(at)]
    const next = argv[at + 1]
    if (booleans.has(word)) {
      const has_value = next !== undefined && /^(true|false|yes|no)$/i.test(next)
      out.push(`${word}=${has_value ? next : "true"}`)
      if (has_value) at++
    } else if (word.startsWith("--no-") && booleans.has(`--${word.slice(5)}`)) out.push(`--${word.slice(5)}=false`)
    else out.push(word)
  }
  return out
}
