/** Schemas of declared fields: the form of their values in responses, and as stored in events. */
import { Schema } from "effect"
import type { Field, Fields, FieldType, Json, JsonObject } from "../fields/field.ts"
import { isJsonObject, isParsedJson, typed } from "../fields/field.ts"
import { mapValues } from "../../values/text.ts"
import { type AnyRow, articleOf, type RowOf, type Table, wordsOf } from "./table.ts"

type JsonSchema = { readonly [word: string]: unknown }

/** A check by a predicate, with its JSON Schema. */
const checked = <T>(holds: (value: T) => boolean, expected: string, json_schema: JsonSchema) =>
  Schema.makeFilter<T>(holds, { expected, toJsonSchema: () => json_schema })

export const wholeNumber: Schema.Codec<number> = Schema.Finite.check(
  checked(Number.isSafeInteger, "an integer", { type: "integer" })
)

const textLike = (pattern: RegExp): Schema.Codec<string> =>
  Schema.String.check(
    checked((text) => pattern.test(text), `a text like ${pattern.source}`, { pattern: pattern.source })
  )
const textOf = (holds: (text: string) => boolean, format: string): Schema.Codec<string> =>
  Schema.String.check(checked(holds, `a ${format}`, { format }))

const timestampText = textOf(
  (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time"
)
const dateText = textOf((text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)), "date")
/** No currency has more than four decimals. */
const moneyText = textLike(/^-?\d+(\.\d{1,4})?$/).annotate({ description: "Amount in the currency's major units" })

export const anyJson: Schema.Codec<Json> = Schema.suspend((): Schema.Codec<Json> =>
  Schema.Union([
    Schema.Null,
    Schema.Boolean,
    Schema.Finite,
    Schema.String,
    Schema.Array(anyJson),
    Schema.Record(Schema.String, anyJson)
  ])
).annotate({ identifier: "Json", description: "Any JSON value" })
export const anyObject: Schema.Codec<JsonObject> = Schema.Record(Schema.String, anyJson)

/** Description: "Id of an address" for a reference; else the labels, if one is unlike its value (`0: Delivery`). */
export const meaningOf = (
  type: FieldType & { readonly kind: "choice" | "code" | "ref" }
): { readonly description?: string } => {
  if (type.kind === "ref") {
    const one = wordsOf(type.table)
      .replace(/ies$/, "y")
      .replace(/(ss)es$|([^s])s$/, "$1$2")
    return { description: `Id of ${articleOf(one)} ${one}` }
  }
  const letters = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll("&", "and")
      .replace(/[^a-z0-9]/g, "")
  const entries = Object.entries(type.labels)
  if (entries.every(([value, label]) => letters(value) === letters(label))) return {}
  return { description: entries.map(([value, label]) => (value === label ? value : `${value}: ${label}`)).join(", ") }
}

const ofShape = (type: FieldType): Schema.Codec<unknown> => {
  switch (type.kind) {
    case "text":
      return Schema.String
    case "integer":
      return wholeNumber
    case "boolean":
      return Schema.Boolean
    case "money":
      return moneyText
    case "decimal":
      return textLike(new RegExp(`^-?\\d+(\\.\\d{1,${Math.max(type.scale, 1)}})?$`))
    case "date":
      return dateText
    case "timestamp":
      return timestampText
    case "choice":
      return Schema.Literals(Object.keys(type.labels)).annotate(meaningOf(type))
    case "code":
      return Schema.Literals(Object.keys(type.labels).map(Number)).annotate(meaningOf(type))
    case "ref":
      return wholeNumber.annotate(meaningOf(type))
    case "json":
      return type.form === "object" ? anyObject : type.form === "array" ? Schema.Array(anyJson) : anyJson
    case "list":
      return Schema.Array(schemaOfField(type.of))
    case "object":
      return structOf(type.fields)
  }
}
const structOf = (fields: Fields): Schema.Codec<unknown> => Schema.Struct(mapValues(fields, schemaOfField))

/** Adds the field's description before that of its kind. */
const describedAs = (
  schema: Schema.Codec<unknown>,
  { describe, visible_to }: Field,
  of_kind: unknown
): Schema.Codec<unknown> => {
  const permission = visible_to === undefined ? undefined : `Only with the permission ${visible_to}.`
  if (describe === undefined && permission === undefined) return schema
  const words = [describe, of_kind, permission].filter((text) => typeof text === "string")
  return schema.annotate({ description: words.join(". ").replaceAll("..", ".") })
}

const known = new WeakMap<Field, Schema.Codec<unknown>>()
/** Schema of a field in responses. Cached. */
export const schemaOfField = (field: Field): Schema.Codec<unknown> => {
  let schema = known.get(field)
  if (schema === undefined) {
    const one = ofShape(field.type)
    const own = field.nullable && one !== anyJson ? Schema.NullOr(one) : one
    known.set(field, (schema = describedAs(own, field, Schema.resolveAnnotations(one)?.description)))
  }
  return schema
}

// Schemas of the journal's values: columns as they are in memory, from the column declarations. Limits and formats are
// checked on input only; here only types count, so that data accepted by earlier releases stays readable.

/** Encoded and decoded form are the same: events are kept as they are in memory. */
export type Stored<T> = Schema.Codec<T, T>

export const storedJson: Stored<Json> = Schema.declare<Json>(isParsedJson, { identifier: "Json" })
export const jsonObject: Stored<JsonObject> = Schema.declare<JsonObject>(isJsonObject, { identifier: "JsonObject" })
const jsonArray: Stored<ReadonlyArray<Json>> = Schema.declare<ReadonlyArray<Json>>(Array.isArray, {
  identifier: "JsonArray"
})

/**
 * Accepts any text but describes this release's choices: journals of later releases, which devices may read, can have
 * more.
 */
const anyOfLater = (choices: ReadonlyArray<string>) =>
  Schema.makeFilter<string>(() => true, { toJsonSchema: () => ({ enum: choices }) })

const schemaOfType = (type: FieldType): Schema.Codec<unknown, unknown> => {
  switch (type.kind) {
    case "text":
    case "date":
    case "timestamp":
    case "decimal":
      return Schema.String
    case "integer":
    case "money":
    case "code":
    case "ref":
      return Schema.Int
    case "boolean":
      return Schema.Boolean
    case "choice":
      return Schema.String.check(anyOfLater(Object.keys(type.labels)))
    case "json":
      return type.form === "object" ? jsonObject : type.form === "array" ? jsonArray : storedJson
    case "list":
      return Schema.Array(storedValue(type.of))
    case "object":
      return Schema.Struct(mapValues(type.fields, (field) => storedValue(field)))
  }
}

export const storedValue = <T>(field: Field<T>): Stored<T> => {
  const schema = schemaOfType(field.type)
  return typed(field.nullable ? Schema.NullOr(schema) : schema)
}

export type SomeColumns<T extends Table> = { readonly [K in keyof RowOf<T>]?: RowOf<T>[K] }
export type KeyedColumns<T extends Table> = SomeColumns<T> & { readonly id: number }

/** All columns of a new row except its stamps. */
export type NewRow<T extends Table> = Without<RowOf<T>, "created_at" | "updated_at" | "deleted_at"> & {
  readonly id: number
}
/** All columns of a row except its id and stamps, as `initialRow` gives them. */
type Defaults<T extends Table> = Without<RowOf<T>, "id" | "created_at" | "updated_at" | "deleted_at">
/** Copies a row without these columns. */
export const without = <R extends { readonly [column: string]: unknown }, const Name extends string>(
  row: R,
  ...names: ReadonlyArray<Name>
): Without<R, Name> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name as Name))) as Without<R, Name>
/** A row without its stamps. On the path of every new row: a rest pattern is faster than copying entry by entry. */
export const withoutStamps = <R extends AnyRow>(row: R): Without<R, "created_at" | "updated_at" | "deleted_at"> => {
  const { created_at: _c, deleted_at: _d, updated_at: _u, ...kept }: AnyRow = row
  return kept as Without<R, "created_at" | "updated_at" | "deleted_at">
}
/** Placeholders for a new row's stamps, which projection sets. */
export const unstamped = { created_at: "", updated_at: "", deleted_at: null }
export type Without<Row, Names> = string extends Names
  ? { readonly [column: string]: Row[keyof Row] }
  : { readonly [K in keyof Row as K extends Names ? never : K]: Row[K] }

const stamps: ReadonlySet<string> = new Set(["created_at", "updated_at", "deleted_at"])
/** Schemas of a table's columns, except those left out. */
const columnSchemas = (
  table: Table,
  isLeftOut: (column: string) => boolean,
  schemaOf: (field: Field) => Schema.Top
): { readonly [column: string]: Schema.Top } =>
  Object.fromEntries(
    Object.entries(table.columns)
      .filter(([name]) => !isLeftOut(name))
      .map(([name, field]) => [name, schemaOf(field)])
  )
const noColumn = (): boolean => false
const isStamp = (column: string): boolean => stamps.has(column)
const optional = (field: Field): Schema.Top => Schema.optionalKey(storedValue(field))

/** Annotation with the table whose row or columns a Schema contains. */
const of_table = "flightcase/table"
/** `words`: description of the contained columns. */
const columnsOrRow = <T>(table: Table, words: string, columns: { readonly [column: string]: Schema.Top }): Stored<T> =>
  typed(Schema.Struct(columns).annotate({ identifier: `${words} of ${table.name}`, [of_table]: table.name }))
export const someColumns = <T extends Table>(table: T): Stored<SomeColumns<T>> =>
  columnsOrRow(table, "columns", columnSchemas(table, noColumn, optional))
/** Some columns of the row with this `id`. */
export const keyedColumns = <T extends Table>(table: T): Stored<KeyedColumns<T>> =>
  columnsOrRow(table, "the key and columns", { ...columnSchemas(table, noColumn, optional), id: Schema.Int })
/**
 * A new row without its stamps, which are the time of recording. Columns added by later releases are absent from
 * earlier events; such rows get their defaults.
 */
export const newRow = <T extends Table>(table: T): Stored<KeyedColumns<T>> =>
  columnsOrRow(table, "a row", { ...columnSchemas(table, isStamp, optional), id: Schema.Int })
/** A new row with further data, such as rows created along with it. */
export const newRowWith = <T extends Table, const More extends { readonly [name: string]: Schema.Top }>(
  table: T,
  more: More
): Stored<KeyedColumns<T> & Schema.Struct.Type<More>> =>
  columnsOrRow(table, "a row", { ...columnSchemas(table, isStamp, optional), id: Schema.Int, ...more })
/** A row with all columns except its stamps and those left out. */
export const wholeRow = <T extends Table, const Left extends string = never>(
  table: T,
  ...left_out: ReadonlyArray<Left>
): Stored<Without<NewRow<T>, Left>> => {
  const names = new Set<string>(left_out)
  const columns = columnSchemas(table, (name) => isStamp(name) || names.has(name), storedValue)
  return columnsOrRow(table, "a row", { ...columns, id: Schema.Int })
}

// New rows.

const initials = new WeakMap<Table, WeakMap<Fields, AnyRow>>()
const no_fields: Fields = {}
/**
 * A row without its id, every column at its declared default or null; cached. The caller supplies columns that must not
 * be null.
 */
export const initialRow = <T extends Table>(table: T, fields: Fields = no_fields): Defaults<T> => {
  let rows = initials.get(table)
  if (rows === undefined) initials.set(table, (rows = new WeakMap()))
  let row = rows.get(fields)
  if (row === undefined) {
    rows.set(
      fields,
      (row = Object.freeze(
        Object.fromEntries(
          Object.entries({ ...table.columns, ...fields })
            .filter(([name]) => table.columns[name] !== undefined && name !== "id")
            .map(([name, field]) => [name, field.default ?? null])
        )
      ))
    )
  }
  return row as Defaults<T>
}
