/**
 * What answers hold, as JSON Schema made from their Schemas: what has a name stands among the components once, and the
 * rest where it is used.
 */
import { Schema } from "effect"
import type { Endpoint } from "../../core/kernel/endpoint.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { kindOf, type Part, type ShownResource } from "../../core/kernel/answer-schema.ts"
import { errorSchemas } from "./errors.ts"

export interface AnswerSchemas {
  readonly of: (schema: Part) => JsonObject
  /** Every schema that is referred to, by name. */
  readonly named: { readonly [name: string]: JsonObject }
}

/** The JSON Schemas of every answer of these endpoints, and of the refusals they share. */
export const answerSchemas = (endpoints: ReadonlyArray<Endpoint>): AnswerSchemas => {
  const parts = [
    ...new Set([
      ...Object.values(errorSchemas),
      ...endpoints
        .flatMap(({ answer, error_answers }) => [answer, ...Object.values(error_answers)])
        .filter((one) => one !== undefined && one !== null)
    ])
  ]
  const whole = Schema.toJsonSchemaDocument(
    Schema.Struct(Object.fromEntries(parts.map((part, at) => [String(at), part])))
  )
  const definitions = whole.definitions as { readonly [name: string]: JsonObject }
  const known = new Map(Object.entries(definitions).map(([name, one]) => [name, aliasedBy(one) ?? name]))
  const targetOf = (name: string): string => {
    const next = known.get(name)
    return next === undefined || next === name ? name : targetOf(next)
  }
  const tidy = (schema: JsonObject): JsonObject => tidied(schema, targetOf)
  const repeated = Object.keys(definitions).find((name) => /[-_]\d+$/.test(targetOf(name)))
  if (repeated !== undefined) {
    throw new Error(`two Schemas are described as ${repeated.replace(/[-_]\d+$/, "")}; give one of them a title`)
  }
  const properties = (whole.schema["properties"] ?? {}) as { readonly [at: string]: JsonObject }
  const by_part = new Map(parts.map((part, at) => [part, tidy(properties[String(at)]!)]))
  return {
    of: (schema) => by_part.get(schema) ?? {},
    named: Object.fromEntries(
      Object.entries(definitions)
        .filter(([name]) => targetOf(name) === name)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, schema]) => [name, name === "Json" ? json_value : tidy(schema)])
    )
  }
}
/** Not told as holding itself, which types of some clients cannot. */
const json_value: JsonObject = {
  description: "Any JSON value",
  anyOf: [
    { type: "null" },
    { type: "boolean" },
    { type: "number" },
    { type: "string" },
    { type: "array", items: {} },
    { type: "object", additionalProperties: {} }
  ]
}
const refName = (ref: string): string => ref.split("/").at(-1)!
/** A definition without a name of its own that is nothing but another. */
const aliasedBy = (schema: JsonObject): string | undefined =>
  typeof schema["$ref"] === "string" && Object.keys(schema).length === 1 ? refName(schema["$ref"]) : undefined

/**
 * The same in the forms clients are made from: components of OpenAPI, `type: [..., "null"]`, whole numbers as integers.
 * Objects are not closed: answers may get further keys with time.
 */
const tidied = (schema: JsonObject, targetOf: (name: string) => string): JsonObject => {
  const {
    $ref: ref,
    additionalProperties,
    allOf,
    anyOf,
    items,
    properties,
    ...rest
  } = schema as { readonly [word: string]: any }
  const inner = (one: JsonObject): JsonObject => tidied(one, targetOf)
  const each = (of: { readonly [name: string]: JsonObject }): JsonObject =>
    Object.fromEntries(Object.entries(of).map(([name, one]) => [name, inner(one)]))
  const whole: JsonObject = {
    ...rest,
    ...(typeof ref === "string" ? { $ref: `#/components/schemas/${targetOf(refName(ref))}` } : {}),
    ...(properties === undefined ? {} : { properties: each(properties) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: inner(additionalProperties) } : {}),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(inner) })
  }
  const merged = ((allOf ?? []) as ReadonlyArray<JsonObject>).reduce(
    (all: JsonObject, one) => ({ ...all, ...inner(one) }),
    whole
  )
  return orNullInType(wholeNumbers(merged))
}
const wholeNumbers = (schema: JsonObject): JsonObject =>
  schema["type"] === "number" && Array.isArray(schema["enum"]) && schema["enum"].every(Number.isInteger)
    ? { ...schema, type: "integer" }
    : schema
/** Something simple or null has both as its type. */
const orNullInType = (schema: JsonObject): JsonObject => {
  const { anyOf, ...rest } = schema
  if (Array.isArray(anyOf) && anyOf.length === 1) return { ...(anyOf[0] as JsonObject), ...rest }
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [one, other] = anyOf as ReadonlyArray<JsonObject>
  const { description, enum: values, type } = one!
  const has_two_texts = description !== undefined && rest["description"] !== undefined
  if (other!["type"] !== "null" || typeof type !== "string" || has_two_texts) return schema
  return {
    ...one,
    ...rest,
    type: [type, "null"],
    ...(Array.isArray(values) ? { enum: [...(values as ReadonlyArray<Json>), null] } : {})
  }
}

/** The resource an answer is of: a page of its rows, or one of them under its singular key. */
export const subjectOf = (answer: Part | undefined): ShownResource | undefined => {
  const kind = answer === undefined ? undefined : kindOf(answer)
  if (kind?.kind === "page") return kind.resource()
  if (kind?.kind !== "keys") return undefined
  const [[name, first] = []] = Object.entries(kind.keys)
  const inner = first === undefined || "type" in first ? undefined : kindOf(first as Part)
  if (inner?.kind !== "row") return undefined
  const resource = inner.resource()
  return resource.singular === name ? resource : undefined
}
