/** Declared fields as Schemas: the form their values have in answers. */
import { Schema } from "effect"
import type { Field, Fields, FieldType, Json, JsonObject } from "../fields/field.ts"
import { wordsOf } from "./table.ts"

type JsonSchema = { readonly [word: string]: unknown }

/** A check by a predicate, with its JSON Schema. */
const checked = <T>(holds: (value: T) => boolean, expected: string, json_schema: JsonSchema) =>
  Schema.makeFilter<T>(holds, { expected, toJsonSchema: () => json_schema })

/** An integer. */
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
/** The currency with the most decimals has four. */
const moneyText = textLike(/^-?\d+(\.\d{1,4})?$/).annotate({ description: "Major units at the currency's scale" })

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
/** An object of any keys. */
export const anyObject: Schema.Codec<JsonObject> = Schema.Record(Schema.String, anyJson)

/** Meanings of values whose labels add something (`sub_hire: Sub-hire` does not). */
export const meaningOf = (labels: { readonly [value: string]: string }): { readonly description?: string } => {
  const letters = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll("&", "and")
      .replace(/[^a-z0-9]/g, "")
  const entries = Object.entries(labels)
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
      return Schema.Literals(Object.keys(type.labels)).annotate(meaningOf(type.labels))
    case "code":
      return Schema.Literals(Object.keys(type.labels).map(Number)).annotate(meaningOf(type.labels))
    case "ref":
      return wholeNumber.annotate({ description: `Id in ${wordsOf(type.table)}` })
    case "json":
      return type.form === "object" ? anyObject : type.form === "array" ? Schema.Array(anyJson) : anyJson
    case "list":
      return Schema.Array(schemaOfField(type.of))
    case "object":
      return structOf(type.fields)
  }
}
const structOf = (fields: Fields): Schema.Codec<unknown> =>
  Schema.Struct(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOfField(field)])))

/** With the words of the field before those of its kind. */
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
/** Schema of a field in answers. Cached. */
export const schemaOfField = (field: Field): Schema.Codec<unknown> => {
  let schema = known.get(field)
  if (schema === undefined) {
    const one = ofShape(field.type)
    const own = field.nullable && one !== anyJson ? Schema.NullOr(one) : one
    known.set(field, (schema = describedAs(own, field, Schema.resolveAnnotations(one)?.description)))
  }
  return schema
}
