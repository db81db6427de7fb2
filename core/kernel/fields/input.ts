/** Reads input: values of declared fields from a body, or errors with advice by field. */
import type { Field, Fields, FieldType, Json, JsonObject, TextFormat } from "./field.ts"
import { codeLabelled, isJsonObject, isParsedJson, keyInAnyCase } from "./field.ts"
import { isCountry } from "../../values/country.ts"
import { parseDecimal } from "../../values/decimal.ts"
import { isCurrency, normaliseCurrency, parseMoney } from "../../values/money.ts"
import { parseSmtpUrl, smtp_url_form } from "../../values/mail-address.ts"
import { parseDate, parseTimestamp, unreadTimeText } from "../../values/time.ts"
import { Result } from "effect"
import type { FieldErrors } from "./rejection.ts"

export type Values = { readonly [name: string]: Json }
export interface Reference {
  readonly path: string
  readonly table: string
  readonly live: boolean
  readonly id: number
}
interface ReadResult {
  /** Update: only the fields sent that may change. Create: also defaults, and null for nullable fields. */
  readonly values: Values
  readonly errors: { readonly [path: string]: ReadonlyArray<string> }
  /** Ids whose rows must exist. */
  readonly references: ReadonlyArray<Reference>
}
interface ReadOptions {
  readonly mode: "create" | "update"
  readonly base_currency: string
  /** Stored values of the changed row, or of its parent: money is read in its currency if the body names none. */
  readonly current?: Values
  /** Prefix of error paths (`items.0.`). */
  readonly path?: string
}

/** Reads the writable fields out of a body. Unknown keys are ignored (rules/conventions 8). */
export const readFields = (fields: Fields, body: JsonObject, options: ReadOptions): ReadResult => {
  const values: { [name: string]: Json } = {}
  const errors: { [path: string]: Array<string> } = {}
  const references: Array<Reference> = []
  const prefix = options.path ?? ""
  const context: Context = { body, options, references, fail: (path, text) => void (errors[path] ??= []).push(text) }
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (field === undefined || field.computed || (field.create_only && options.mode === "update")) continue
    const raw = Object.hasOwn(body, name) ? body[name] : undefined
    const path = prefix + name
    const read =
      raw === undefined || raw === null
        ? readAbsent(field, raw, path, name, context)
        : typeof raw === "string" && raw.trim() === ""
          ? readBlank(field, path, name, context)
          : readValue(field, raw, path, name, context)
    if (read !== undefined) values[name] = read
  }
  return { values, errors, references }
}

interface Context {
  readonly body: JsonObject
  readonly options: ReadOptions
  readonly references: Array<Reference>
  readonly fail: (path: string, text: string) => undefined
}

const requiredText = (name: string): string => `The ${fieldLabel(name)} field is required.`
const blankText = (name: string): string => `The ${fieldLabel(name)} field must have a value; leave it out to keep it.`
/** Value of a field that is absent or null; undefined if it has none or is invalid. */
const readAbsent = (field: Field, raw: null | undefined, path: string, name: string, context: Context) => {
  if (context.options.mode === "create") {
    if (field.required) return context.fail(path, requiredText(name))
    return field.default !== undefined ? field.default : field.nullable ? null : undefined
  }
  if (raw === undefined) return undefined
  if (field.on_null === "reject") return context.fail(path, blankText(name))
  return field.on_null === "clear" ? (field.nullable ? null : (field.default ?? null)) : undefined
}
const readBlank = (field: Field, path: string, name: string, context: Context) => {
  if (field.nullable) return null
  if (field.required) return context.fail(path, requiredText(name))
  return field.type.kind === "text" ? "" : context.fail(path, blankText(name))
}

/** Reads a value; undefined if it is invalid, after adding the error. */
const readValue = (field: Field, raw: Json, path: string, name: string, context: Context): Json | undefined => {
  const type = field.type
  const fail = (text: string): undefined => context.fail(path, `The ${fieldLabel(name)} field ${text}`)
  switch (type.kind) {
    case "text":
      return readText(type, raw, fail)
    case "boolean":
      return readBoolean(raw) ?? fail("must be true or false.")
    case "integer":
      return readInteger(type, raw, fail)
    case "code":
      return readCode(type, raw, fail)
    case "choice":
      return choiceNamed(type, raw) ?? fail(`must be one of ${Object.keys(type.labels).join(", ")}.`)
    case "ref": {
      const id = wholeNumberOf(raw)
      if (id === undefined) return fail("must be an integer.")
      if (id < 1 || id > Number.MAX_SAFE_INTEGER) return context.fail(path, missingReferenceText(name))
      context.references.push({ path, table: type.table, live: type.live, id })
      return id
    }
    case "date":
      return parseDate(textOf(raw)) ?? fail("must be a date (YYYY-MM-DD).")
    case "timestamp":
      return parseTimestamp(textOf(raw)) ?? fail(unreadTimeText(textOf(raw)))
    case "decimal":
      return readDecimal(type, raw, fail)
    case "money":
      return readMoney(type, raw, context, fail)
    case "json":
      return readDocument(type, raw, path, name, context, fail)
    case "list":
      return Array.isArray(raw) ? readItems(type, raw, path, name, context, fail) : fail("must be an array.")
    case "object":
      return isJsonObject(raw) ? readObject(type, raw, path, context) : fail("must be an object.")
  }
}

type Fail = (text: string) => undefined

/** A text without spaces around it; blank for any other value. */
const textOf = (raw: Json): string => (typeof raw === "string" ? raw.trim() : "")
const readBoolean = (raw: Json): boolean | undefined =>
  raw === true || raw === 1 || raw === "1" ? true : raw === false || raw === 0 || raw === "0" ? false : undefined
const readCode = ({ labels }: FieldType & { kind: "code" }, raw: Json, fail: Fail): Json | undefined => {
  const value = wholeNumberOf(raw) ?? (typeof raw === "string" ? codeLabelled(labels, raw) : undefined)
  if (value !== undefined && Object.hasOwn(labels, String(value))) return value
  const named = Object.entries(labels).map(([code, label]) => `${code} (${label})`)
  return fail(`must be one of ${named.join(", ")}.`)
}
const choiceNamed = ({ any_case, labels }: FieldType & { readonly kind: "choice" }, raw: Json): string | undefined => {
  if (typeof raw !== "string") return undefined
  const text = raw.trim()
  return any_case ? keyInAnyCase(labels, text) : Object.hasOwn(labels, text) ? text : undefined
}
const readText = (type: FieldType & { kind: "text" }, raw: Json, fail: Fail): Json | undefined => {
  if (typeof raw !== "string") return fail("must be a string.")
  const value = raw.trim()
  if (!isStorableText(value)) return fail(broken_text)
  if (type.length !== undefined && value.length !== type.length) return fail(`must be ${type.length} characters.`)
  // Characters are counted only where there may be too many: there are no more of them than UTF-16 units.
  if (value.length > type.max && [...value].length > type.max)
    return fail(`must not be longer than ${type.max} characters.`)
  if (type.format !== undefined && !formats[type.format].test(value))
    return fail(`must be ${formats[type.format].words}.`)
  return type.format === "currency" || type.format === "country" ? value.toUpperCase() : value
}

const readItems = (
  type: FieldType & { kind: "list" },
  raw: ReadonlyArray<Json>,
  path: string,
  name: string,
  context: Context,
  fail: Fail
): Json | undefined => {
  if (raw.length < type.min_items)
    return fail(`must have at least ${type.min_items} item${type.min_items === 1 ? "" : "s"}.`)
  if (raw.length > type.max_items) return fail(`must not have more than ${type.max_items} items.`)
  const items = raw.map((item: Json, index: number) =>
    item === null && !type.of.nullable
      ? context.fail(`${path}.${index}`, `The ${fieldLabel(name)} field must not hold null.`)
      : item === null
        ? null
        : readValue(type.of, item, `${path}.${index}`, `${name}.${index}`, context)
  )
  if (items.some((item) => item === undefined)) return undefined
  const kept = items.filter((item) => item !== undefined)
  return type.distinct ? [...new Set(kept)] : kept
}

const readObject = (type: FieldType & { kind: "object" }, raw: JsonObject, path: string, context: Context) => {
  const inner = readFields(type.fields, raw, { ...context.options, mode: "create", path: `${path}.` })
  for (const [at, texts] of Object.entries(inner.errors)) for (const text of texts) context.fail(at, text)
  context.references.push(...inner.references)
  return Object.keys(inner.errors).length > 0 ? undefined : inner.values
}

/** Errors inside a document are reported at their path: `custom_fields.colour`. */
const readDocument = (
  type: FieldType & { kind: "json" },
  raw: Json,
  path: string,
  name: string,
  context: Context,
  fail: Fail
): Json | undefined => {
  if (type.form === "object" && !isJsonObject(raw)) return fail("must be an object.")
  if (type.form === "array" && !Array.isArray(raw)) return fail("must be an array.")
  const wrong = type.by_item === true ? undefined : findUnstorableText(raw, type.levels)
  if (wrong === undefined) return raw
  const at = [name, ...wrong.at].join(".")
  return context.fail([path, ...wrong.at].join("."), `The ${fieldLabel(at)} field ${wrong.says}`)
}

const readInteger = (type: FieldType & { kind: "integer" }, raw: Json, fail: Fail): Json | undefined => {
  const value = wholeNumberOf(raw)
  return value === undefined
    ? fail("must be an integer.")
    : value < type.min
      ? fail(`must be at least ${type.min}.`)
      : value > type.max
        ? fail(`must not be greater than ${type.max}.`)
        : value
}

const readDecimal = (type: FieldType & { kind: "decimal" }, raw: Json, fail: Fail): Json | undefined => {
  const { max = "1000000000000", min = "-1000000000000", scale, strict } = type
  const parsed = parseDecimal(raw, { scale, strict, min, max })
  return Result.isSuccess(parsed) ? parsed.success : fail(parsed.failure)
}

const readMoney = (type: FieldType & { kind: "money" }, raw: Json, context: Context, fail: Fail): Json | undefined => {
  const named =
    type.currency === undefined ? undefined : (context.body[type.currency] ?? context.options.current?.[type.currency])
  const parsed = parseMoney(raw, normaliseCurrency(named) ?? context.options.base_currency, type)
  return Result.isSuccess(parsed) ? parsed.success : fail(parsed.failure)
}

/** Parses an integer, or text of digits; undefined for anything else. */
export const wholeNumberOf = (raw: unknown): number | undefined => {
  if (typeof raw === "number") return Number.isSafeInteger(raw) ? (raw === 0 ? 0 : raw) : undefined
  if (typeof raw === "string" && /^\s*-?\d{1,15}\s*$/.test(raw)) {
    const n = Number(raw)
    return n === 0 ? 0 : n
  }
  return undefined
}

/** Text both databases can hold: no NUL, no lone surrogate. */
export const isStorableText = (value: string): boolean => !value.includes("\u0000") && value.isWellFormed()
const broken_text = "holds a NUL or a broken character."
/**
 * Path and reason of the first value that no database can store, or that is nested too deep; an invalid key is reported
 * at its parent, excessive depth at the root.
 */
export const findUnstorableText = (
  value: Json,
  levels: number
): { readonly at: ReadonlyArray<string>; readonly says: string } | undefined => {
  const wrong = unstorableIn(value, levels)
  if (wrong === "too deep") return { at: [], says: `must not hold more than ${levels} levels.` }
  return wrong === undefined ? undefined : { at: wrong, says: broken_text }
}
/** The path to the first such value. Nearly every value is fine: the path is made on the way back. */
const unstorableIn = (value: Json, levels: number): ReadonlyArray<string> | "too deep" | undefined => {
  if (typeof value === "string") return isStorableText(value) ? undefined : []
  if (typeof value !== "object" || value === null) return undefined
  if (levels <= 0) return "too deep"
  const is_list = Array.isArray(value)
  for (const key of Object.keys(value)) {
    if (!is_list && !isStorableText(key)) return []
    const item: Json = Reflect.get(value, key)
    const wrong = unstorableIn(item, levels - 1)
    if (wrong !== undefined) return wrong === "too deep" ? wrong : [key, ...wrong]
  }
  return undefined
}

const fieldLabel = (name: string): string => name.replace(/_id$/, "").replace(/_/g, " ")
export const missingReferenceText = (name: string): string => `The selected ${fieldLabel(name)} does not exist.`

const matches = (pattern: RegExp, words: string) => ({ test: (value: string) => pattern.test(value), words })
let languages: Intl.DisplayNames | undefined
const formats: { readonly [F in TextFormat]: { readonly test: (value: string) => boolean; readonly words: string } } = {
  email: matches(/^[^\s@"<>,;:]+@[^\s@"<>,;:.]+(\.[^\s@"<>,;:.]+)*$/, "a valid e-mail address"),
  url: {
    test: (value) => /^https?:\/\/[^\s]+$/i.test(value) && URL.canParse(value),
    words: "a valid http or https address"
  },
  time: matches(/^([01]\d|2[0-3]):[0-5]\d$/, "a time (HH:MM)"),
  zone: {
    test: (value) => {
      try {
        new Intl.DateTimeFormat("en", { timeZone: value })
        return true
      } catch {
        return false
      }
    },
    words: "an IANA time zone such as Europe/London"
  },
  language: {
    test: (value) => {
      try {
        languages ??= new Intl.DisplayNames("en", { type: "language", fallback: "none" })
        return languages.of(new Intl.Locale(value.replaceAll("_", "-")).language) !== undefined
      } catch {
        return false
      }
    },
    words: "a language tag such as de-DE"
  },
  currency: { test: (value) => isCurrency(value.toUpperCase()), words: "a known ISO 4217 currency code" },
  country: { test: (value) => isCountry(value.toUpperCase()), words: "a known ISO 3166 country code such as GB" },
  smtp: { test: (value) => Result.isSuccess(parseSmtpUrl(value)), words: smtp_url_form },
  peppol: matches(/^\d{4}:\S{1,50}$/, "an id in Peppol such as 0088:1234567890128"),
  slug: matches(/^[a-z0-9]+(-[a-z0-9]+)*$/, "lower-case words joined by hyphens")
}

// The range of dates in business data. It ends a year before years get a fifth digit, as queries look at the days
// around a date. Instants end with the start of 2199 (`parseTimestamp`).

export const first_day = "1900-01-01"
export const last_day = "9998-12-31"

/** Errors for instants of these fields before `first_day`, such as those of year 1. */
export const calendarErrors = (sent: JsonObject, fields: ReadonlyArray<string>): FieldErrors =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const instant = sent[field]
      return typeof instant === "string" && instant < first_day
        ? [[field, [`The ${field.replaceAll("_", " ")} field must be a time from ${first_day} on.`]] as const]
        : []
    })
  )

// Maximum length and depth of a request's body, whether from HTTP, a device or a file.

export const json_body_bytes_max = 1_048_576
/** Default maximum for a file in a form, in bytes (rules/members-activities 4). */
export const upload_bytes_max = 20_480 * 1_024
/** Maximum depth of objects and lists, for recursive readers of bodies. */
export const body_depth_max = 64
/** Depth for messages between device and server, which contain bodies and events made from them. */
export const wire_body_depth_max = 2 * body_depth_max

/**
 * Whether JSON text nests deeper than `max`. Counts brackets outside strings: parsing does not recurse, but code that
 * walks the result does.
 */
export const isDeeperThan = (text: string, max: number): boolean => {
  if (text.length <= max) return false
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inText) {
      if (char === 0x5c) at++
      else if (char === 0x22) inText = false
    } else if (char === 0x22) inText = true
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > max) return true
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}
export class TooDeep extends SyntaxError {
  constructor(max: number) {
    super(`it nests deeper than ${max} levels`)
  }
}

/** Parses external JSON; throws a SyntaxError with the reason, also for excessive depth. */
export const parseJson = (text: string, depth_max = body_depth_max): Json => {
  if (isDeeperThan(text, depth_max)) throw new TooDeep(depth_max)
  const value: unknown = JSON.parse(text)
  if (!isParsedJson(value)) throw new SyntaxError("it is no JSON")
  return value
}

/** Estimates whether the value's JSON is longer than `max` characters, not counting escapes, without serialising it. */
export const isLongerThan = (value: Json, max: number): boolean => {
  let left = max
  const fits = (one: Json): boolean => {
    if (typeof one === "string") left -= one.length + 2
    else if (typeof one !== "object" || one === null) left -= String(one).length
    else if (Array.isArray(one)) {
      left -= 2 + Math.max(0, one.length - 1)
      return left >= 0 && one.every(fits)
    } else
      for (const [key, inner] of Object.entries(one)) {
        left -= key.length + 4
        if (left < 0 || !fits(inner)) return false
      }
    return left >= 0
  }
  return !fits(value)
}
