/**
 * Fields. One declaration gives the column, input validation, the form in responses, the OpenAPI description, the
 * command-line flag and the import column. In memory, dates (`YYYY-MM-DD`), timestamps (`YYYY-MM-DDTHH:mm:ss.sssZ`) and
 * decimals (at their scale) are strings, money is an integer of minor units.
 */
import type { Schema } from "effect"

export type FieldType =
  | {
      readonly kind: "text"
      readonly max: number
      readonly search: boolean
      readonly folded?: true | undefined
      readonly format?: TextFormat | undefined
      readonly length?: number | undefined
    }
  /** `names`: the table whose ids it holds, if the rule itself checks that the row exists (else use `ref`). */
  | { readonly kind: "integer"; readonly min: number; readonly max: number; readonly names?: NamedTable | undefined }
  | { readonly kind: "boolean" }
  /** Minor units. `currency`: the field with the currency code; the base currency by default. */
  | {
      readonly kind: "money"
      readonly currency?: string | undefined
      readonly minor_only: boolean
      readonly signed: boolean
    }
  | {
      readonly kind: "decimal"
      readonly scale: number
      readonly min?: string | undefined
      readonly max?: string | undefined
      readonly strict: boolean
      readonly shown_scale?: number | undefined
    }
  | { readonly kind: "date" }
  | { readonly kind: "timestamp" }
  | { readonly kind: "choice"; readonly labels: { readonly [value: string]: string }; readonly any_case: boolean }
  | { readonly kind: "code"; readonly labels: { readonly [code: number]: string } }
  | { readonly kind: "ref"; readonly table: string; readonly live: boolean; readonly rule?: ReferenceRule | undefined }
  /**
   * `search`: texts of the document are case-folded in a separate column, like searchable text. `by_item`: readers
   * check each item, so that one invalid item does not invalidate the others.
   */
  | {
      readonly kind: "json"
      readonly form: "object" | "array" | "any"
      readonly search?: boolean
      readonly by_item?: true | undefined
      readonly levels: number
    }
  | {
      readonly kind: "list"
      readonly of: Field
      readonly min_items: number
      readonly max_items: number
      readonly distinct: boolean
    }
  | { readonly kind: "object"; readonly fields: Fields }

/**
 * Effect of deleting a row on the holder, a row that refers to it. `refuse`: 422 that names the holder;
 * `clear`: the column becomes null, a list loses the id; `delete`: the holder is deleted too; `keep`: the holder is a
 * historical record and keeps the id; `handled`: the deletion's own events move or delete the holders.
 */
export type OnDelete = "refuse" | "clear" | "delete" | "keep" | "handled"
export type ColumnValues = {
  readonly [column: string]: string | number | boolean | null | ReadonlyArray<string | number>
}
export interface ReferenceRule {
  readonly on_delete: OnDelete
  /** With `refuse`: only holders that meet one of these conditions prevent the deletion; by default all do. */
  readonly while?: ReadonlyArray<ColumnValues>
  /** With `refuse`: holders only count while the row in their `column` meets one of these conditions. */
  readonly while_of?: { readonly column: string; readonly table: string; readonly is: ReadonlyArray<ColumnValues> }
  /** With `refuse`: the effect on holders that do not count. */
  readonly otherwise?: Exclude<OnDelete, "refuse">
  /** With `clear`: other columns to clear, as they mean nothing without this one. */
  readonly clears?: ReadonlyArray<string>
  /** With `clear`, for a list: the column that the removed ids are moved to. */
  readonly clears_into?: string
  /** With `refuse`: what to do about the holder, for the 422. */
  readonly way_out?: string
  /**
   * Effect of merging the row into another one: `follow` changes the reference to the other row (if `merge_while`
   * holds), `follow_updated` also sets the holder's `updated_at`, `stay` keeps it.
   */
  readonly on_merge?: "follow" | "follow_updated" | "stay"
  readonly merge_while?: ColumnValues
  /**
   * With a followed merge: only one holder per value of this column may name the row. The second one is deleted; the
   * event names it, as found by `doublesOf` (`reference-checks.ts`).
   */
  readonly merge_once_per?: string
}

/** A table, or the tables by value of another field (`by`) of the same row. */
type NamedTable = string | { readonly by: string; readonly tables: { readonly [value: string]: string } }
export type TextFormat =
  | "email"
  | "url"
  | "time"
  | "zone"
  | "language"
  | "currency"
  | "country"
  | "slug"
  | "smtp"
  | "peppol"

/** Meaning of an explicit null on update: keep, clear or reject (rules/conventions 8; rules/opportunities 4). */
type OnNull = "keep" | "clear" | "reject"

interface FieldTraits {
  readonly nullable: boolean
  readonly required: boolean
  readonly default: Json | undefined
  readonly on_null: OnNull
  /** Set by the system, never read from a body. */
  readonly computed: boolean
  /** Read from a body on create only. */
  readonly create_only: boolean
  /** Permission without which responses and replicas omit the field. */
  readonly visible_to: string | undefined
  /** Accepted in a body, but not stored as a column. */
  readonly input_only: boolean
  /** Stored, but never in a response. */
  readonly hidden: boolean
  /** Stored on the server only, encrypted or hashed: never in responses, events, replicas or exports. */
  readonly secret: boolean
  readonly describe: string | undefined
}
/** `T`: the value in memory; `S`: the value in responses; `P`: true if bodies read in mode `create` always have one. */
export interface Field<out T = Json, out S = T, out P extends boolean = boolean> extends FieldTraits {
  readonly type: FieldType
  readonly _type?: T
  readonly _shown?: S
  readonly _present?: P
}
export type Fields = { readonly [name: string]: Field }
export type ValueOf<F> = F extends Field<infer T extends Json, unknown> ? T : never
export type ValuesOf<F extends Fields> = { -readonly [K in keyof F]: ValueOf<F[K]> }
type ValuesShown<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<unknown, infer S> ? S : never
}

type Options = Partial<FieldTraits>
type OptionsOf<K extends FieldType["kind"]> = Options & Partial<Omit<Extract<FieldType, { readonly kind: K }>, "kind">>
/** The field type that results from the options. */
type Made<O, T, S = T> = Field<
  Out<O, T>,
  Out<O, S>,
  O extends { readonly computed: true }
    ? boolean
    : O extends { readonly required: true } | { readonly nullable: true } | { readonly default: Json }
      ? true
      : boolean
>
type Out<O, T> = O extends { readonly nullable: true } ? T | null : T

const field = <T, O extends Options, S = T>(type: FieldType, o: O | undefined): Made<O, T, S> => ({
  type,
  nullable: o?.nullable ?? false,
  required: o?.required ?? false,
  default: o?.default,
  on_null: o?.on_null ?? "keep",
  computed: o?.computed ?? false,
  create_only: o?.create_only ?? false,
  visible_to: o?.visible_to,
  input_only: o?.input_only ?? false,
  hidden: o?.hidden ?? o?.secret ?? false,
  secret: o?.secret ?? false,
  describe: o?.describe
})

/**
 * `search`: case-insensitive filters (`cont`, `start`, `end`) and sorting use a second, case-folded column,
 * `<name>_folded`. `folded`: the text is case-folded already (names from the program), and needs none.
 */
export const text = <const O extends OptionsOf<"text">>(o?: O): Made<O, string> =>
  field<string, O>(
    {
      kind: "text",
      max: o?.max ?? 255,
      search: o?.search ?? false,
      folded: o?.folded,
      format: o?.format,
      length: o?.length
    },
    o
  )
/** A secret setting: a password, or an address that contains one. Null removes it. For settings only. */
export const secretText = <
  const O extends { readonly max?: number; readonly format?: TextFormat; readonly describe?: string }
>(
  o?: O
): Field<string | null> => text({ ...o, nullable: true, on_null: "clear", secret: true })
/** Long free text: descriptions, notes. */
export const longText = <const O extends Options & { readonly max?: number; readonly search?: boolean }>(
  o?: O
): Made<O, string> => field<string, O>({ kind: "text", max: o?.max ?? 65_535, search: o?.search ?? false }, o)
export const integer = <const O extends OptionsOf<"integer">>(o?: O): Made<O, number> =>
  field<number, O>({ kind: "integer", min: o?.min ?? -2_147_483_648, max: o?.max ?? 2_147_483_647, names: o?.names }, o)
/** The key that a text matches, ignoring case and separators: `stock_level` matches StockLevel. */
export const keyInAnyCase = (keys: { readonly [key: string]: string }, text: string): string | undefined => {
  if (Object.hasOwn(keys, text)) return text
  const wanted = withoutCase(text)
  return Object.keys(keys).find((key) => withoutCase(key) === wanted)
}
const withoutCase = (text: string): string => text.replaceAll(/[\s_-]+/g, "").toLowerCase()
/** The code whose label a text matches, ignoring case and separators: `on-hire` is On Hire. */
export const codeLabelled = (labels: { readonly [code: number]: string }, text: string): number | undefined => {
  const plain = (one: string): string => one.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
  const found = Object.entries(labels).find(([, label]) => plain(label) === plain(text))
  return found === undefined ? undefined : Number(found[0])
}
export const boolean = <const O extends Options>(o?: O): Made<O, boolean> => field<boolean, O>({ kind: "boolean" }, o)
export const money = <const O extends OptionsOf<"money">>(o?: O): Made<O, number, string> =>
  field<number, O, string>(
    { kind: "money", minor_only: o?.minor_only ?? false, signed: o?.signed ?? false, currency: o?.currency },
    o
  )
/** The field that holds an amount's currency; undefined for other fields. */
export const currencyColumn = (field: Field | undefined): string | undefined =>
  field?.type.kind === "money" ? field.type.currency : undefined
/** `strict`: more decimals than the scale are refused; otherwise they are rounded half away from zero. */
export const decimal = <const O extends OptionsOf<"decimal"> & { readonly scale: number }>(o: O): Made<O, string> =>
  field<string, O>(
    { kind: "decimal", scale: o.scale, strict: o.strict ?? true, min: o.min, max: o.max, shown_scale: o.shown_scale },
    o
  )
export const date = <const O extends Options>(o?: O): Made<O, string> => field<string, O>({ kind: "date" }, o)
export const timestamp = <const O extends Options>(o?: O): Made<O, string> => field<string, O>({ kind: "timestamp" }, o)
export const choice = <
  const L extends { readonly [value: string]: string },
  const O extends Options & { readonly any_case?: boolean }
>(
  labels: L,
  o?: O
): Made<O, keyof L & string> =>
  field<keyof L & string, O>({ kind: "choice", labels, any_case: o?.any_case ?? false }, o)
/** An integer with labels: 1 Bulk, 2 Serialised. */
export const code = <const O extends Options>(labels: { readonly [code: number]: string }, o?: O): Made<O, number> =>
  field<number, O>({ kind: "code", labels }, o)
/**
 * The id of another row; its existence (and that it is not deleted, with `live`) is checked before any rule runs.
 * Columns declare with `on_delete` the effect of deleting that row (see {@link ReferenceRule}); body fields need not.
 */
export const ref = <const O extends Options & { readonly live?: boolean } & Partial<ReferenceRule>>(
  table: string,
  o?: O
): Made<O, number> =>
  field<number, O>(
    { kind: "ref", table, live: o?.live ?? true, rule: o !== undefined && hasRule(o) ? o : undefined },
    o
  )
const hasRule = (options: Partial<ReferenceRule>): options is ReferenceRule => options.on_delete !== undefined
/** Maximum depth of a document, well below that of a request body. */
export const json_levels_max = 32
export const json = <
  T = Json,
  const O extends Options & {
    readonly form?: "object" | "array" | "any"
    readonly levels?: number
    readonly by_item?: true
  } = {}
>(
  o?: O
): Made<O, T> =>
  field<T, O>({ kind: "json", form: o?.form ?? "object", levels: o?.levels ?? json_levels_max, by_item: o?.by_item }, o)
export const list = <
  T extends Json,
  S extends Json,
  const O extends Options & { readonly min_items?: number; readonly max_items?: number; readonly distinct?: boolean }
>(
  of: Field<T, S>,
  o?: O
): Made<O, ReadonlyArray<T>, ReadonlyArray<S>> =>
  field<ReadonlyArray<T>, O, ReadonlyArray<S>>(
    {
      kind: "list",
      of,
      min_items: o?.min_items ?? 0,
      max_items: o?.max_items ?? 10_000,
      distinct: o?.distinct ?? false
    },
    o
  )
export const object = <F extends Fields, const O extends Options>(
  fields: F,
  o?: O
): Made<O, ValuesOf<F>, ValuesShown<F>> => field<ValuesOf<F>, O, ValuesShown<F>>({ kind: "object", fields }, o)
/** Free labels; an empty list clears them, null only with `on_null: "clear"`. */
export const tags = (o?: { readonly on_null?: OnNull }): Field<ReadonlyArray<string>> =>
  list(text({ max: 255 }), { default: [], on_null: o?.on_null ?? "keep" })

/** The id of the row itself. */
export const id = (): Field<number> =>
  field<number, Options>({ kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER }, { computed: true })

/** Plain JSON data, as in bodies, events and commands. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Types a JSON parser's result: always Json unless undefined. */
export const isParsedJson = (value: unknown): value is Json => value !== undefined
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
/** The objects of a list; empty if the value is no list. */
export const objectsIn = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

/** The same text for equal data, whatever the order of its keys: used for fingerprints and comparisons. */
export const canonicalJson = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (isJsonObject(value)) {
    return `{${Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`)
      .join(",")}}`
  }
  return JSON.stringify(value)
}
/** `canonicalJson` in small pieces, so that a server can handle other requests in between. */
export function* canonicalPieces(value: Json): Generator<string> {
  const isList = Array.isArray(value)
  if ((!isList && !isJsonObject(value)) || !holdsMore(value, values_per_piece)) return yield canonicalJson(value)
  let before = isList ? "[" : "{"
  for (const key of isList ? value.keys() : Object.keys(value).sort()) {
    yield isList ? before : `${before}${JSON.stringify(key)}:`
    yield* canonicalPieces((value as { readonly [key: string | number]: Json })[key] ?? null)
    before = ","
  }
  yield isList ? "]" : "}"
}
const values_per_piece = 2_000
const holdsMore = (value: Json, max: number): boolean => {
  let left = max
  const fits = (one: Json): boolean =>
    left-- > 0 &&
    (typeof one !== "object" || one === null || (Array.isArray(one) ? one.every(fits) : Object.values(one).every(fits)))
  return !fits(value)
}
/** Whether two values are equal, ignoring the order of keys, as if comparing their `canonicalJson`. */
export const sameJson = (a: Json, b: Json): boolean => {
  if (a === b) return true
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((one: Json, at) => sameJson(one, b[at]))
  if (!isJsonObject(a)) return !Array.isArray(b) && !isJsonObject(b) && JSON.stringify(a) === JSON.stringify(b)
  if (!isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] ?? null, b[key] ?? null))
  )
}

// Types of responses; `answer-schema.ts` has the builders.

/**
 * A Schema built at run time from declarations (fields, tables, keys of an answer), with their declared type.
 * TypeScript cannot derive one from the other; tests decode stored data and answers.
 */
export const typed = <S>(schema: Schema.Top): S => schema as unknown as S

/** Schemas of plain JSON, without transformations. */
export type Part<T = unknown> = Schema.Codec<T>
export type OptionalKey<T = unknown> = Schema.optionalKey<Schema.Codec<T>>
export type Shown = Field | Part | OptionalKey
export interface Keys {
  readonly [name: string]: Shown
}
/** Body of a successful answer: the keys of an object, or a Schema. */
export type AnswerShown = Keys | Part

/** The type of a value in responses. */
export type ValueShown<S> = S extends { readonly "Type": infer T } ? T : S extends Field<unknown, infer T> ? T : never
type OptionalNames<K> = { [N in keyof K]: K[N] extends OptionalKey ? N : never }[keyof K]
type Flat<T> = { readonly [N in keyof T]: T[N] }
export type KeysShown<K extends Keys> = Flat<
  { readonly [N in Exclude<keyof K, OptionalNames<K>>]: ValueShown<K[N]> } & {
    readonly [N in OptionalNames<K>]?: ValueShown<K[N]> | undefined
  }
>
/** A declared type as JSON: interfaces become object types, undefined is removed. */
export type AsJson<T> = T extends Json ? T : { readonly [N in keyof T]: AsJson<Exclude<T[N], undefined>> }
/** The type of a response body. */
export type BodyShown<A> = [A] extends [never]
  ? never
  : A extends { readonly "Type": infer T; readonly ast: unknown }
    ? T
    : A extends Keys
      ? KeysShown<A>
      : never
