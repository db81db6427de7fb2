/** Builds an answer of an endpoint's schema from placeholders, for stored answers whose rows are gone. */
import type { Part } from "../../../core/kernel/lists/answer-schema.ts"
import { isJsonObject, objectsIn, type Json, type JsonObject } from "../../../core/kernel/index.ts"
import { exampleOf } from "../../http/examples.ts"
import { jsonSchemas } from "../../http/json-schema.ts"

/**
 * Null where allowed, else an empty value, the first choice, an example of a format, or "(erased)"; `id` becomes that
 * of the answer's rows.
 */
export const placeholdersOf = (answer: Part, id: Json | undefined): Json => {
  const schemas = jsonSchemas()
  const body = placeholderOf(schemas.of(answer), schemas.components)
  if (!isJsonObject(body) || typeof id !== "number") return body
  return Object.fromEntries(
    Object.entries(body).map(([key, one]) => [key, isJsonObject(one) && "id" in one ? { ...one, id } : one])
  )
}

const placeholderOf = (schema: JsonObject, schemas: { readonly [name: string]: JsonObject }): Json => {
  const { $ref: ref, anyOf, enum: values, format, pattern, properties, required, type } = schema
  if (typeof ref === "string") return placeholderOf(schemas[ref.slice(ref.lastIndexOf("/") + 1)] ?? {}, schemas)
  const either = objectsIn(anyOf)
  if ([type].flat().includes("null") || either.some((one) => one["type"] === "null")) return null
  if (either[0] !== undefined) return placeholderOf(either[0], schemas)
  if (Array.isArray(values)) return values[0] ?? null
  switch ([type].flat()[0]) {
    case "string":
      return format === undefined && pattern === undefined ? "(erased)" : exampleOf(schema, schemas)
    case "integer":
    case "number":
      return 0
    case "boolean":
      return false
    case "array":
      return []
    case "object": {
      const of = isJsonObject(properties) ? properties : {}
      const names = Array.isArray(required) ? required.map(String) : []
      return Object.fromEntries(
        names.map((name) => {
          const one = of[name]
          return [name, isJsonObject(one) ? placeholderOf(one, schemas) : null]
        })
      )
    }
    default:
      return null
  }
}
