/** Examples of what is described: made from the schemas, so that each is one of what it stands beside. */
import type { Json, JsonObject } from "../../core/kernel/json.ts"

type Schemas = { readonly [name: string]: JsonObject }

/** Every schema with an example of it. */
export const withExamples = (schemas: Schemas): JsonObject =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      { ...schema, examples: [exampleOf(schema, schemas, "", 1)] }
    ])
  )

const by_format: { readonly [format: string]: string } = {
  "date-time": "2026-07-01T09:00:00.000Z",
  date: "2026-07-01",
  email: "ann@example.com",
  uri: "https://example.com"
}
/** Texts for the patterns that fields are described with. */
const by_pattern: ReadonlyArray<string> = ["12.50", "12.5", "12", "09:00", "quote-1", "*"]
/** Values of keys that say by their name what they hold. */
const by_name: ReadonlyArray<readonly [ends: RegExp, value: string]> = [
  [/currency/, "GBP"],
  [/country_code/, "GB"],
  [/timezone/, "Europe/London"],
  [/email/, "ann@example.com"],
  [/number$/, "0001"],
  [/secret$/, "12|…"]
]

/** One value that is as described: lists have one row, and rows inside rows are left to their own examples (null where they may be). */
export const exampleOf = (schema: JsonObject, schemas: Schemas, name = "", depth = 0): Json => {
  const { $ref: ref, anyOf, default: usual, enum: values, format, items, minimum, pattern, properties, type } = schema
  if (typeof ref === "string") return exampleOf(schemas[ref.split("/").at(-1)!] ?? {}, schemas, name, depth)
  if (usual !== undefined) return usual
  if (Array.isArray(values)) return values[0] as Json
  const either = anyOf as ReadonlyArray<JsonObject> | undefined
  if (either !== undefined)
    return either.some((one) => one["type"] === "null") ? null : exampleOf(either[0]!, schemas, name, depth)
  switch ([type].flat()[0]) {
    case "string":
      return textOf(
        schema,
        typeof format === "string" ? format : "",
        typeof pattern === "string" ? pattern : undefined,
        name
      )
    case "integer":
      return typeof minimum === "number" ? Math.max(minimum, 1) : 1
    case "number":
      return 1
    case "boolean":
      return true
    case "array":
      return depth > 4 || (depth > 1 && refersTo(items) && !Number(schema["minItems"]))
        ? []
        : [exampleOf(items as JsonObject, schemas, name, depth + 1)]
    case "object":
      return Object.fromEntries(
        Object.entries((properties as Schemas | undefined) ?? {}).map(([key, one]) => [
          key,
          exampleOf(one, schemas, key, depth + 1)
        ])
      )
    default:
      return null
  }
}
const refersTo = (items: Json | undefined): boolean => typeof items === "object" && items !== null && "$ref" in items

const textOf = (
  { maxLength, minLength }: JsonObject,
  format: string,
  pattern: string | undefined,
  name: string
): string => {
  const fits = (text: string): boolean =>
    (pattern === undefined || new RegExp(pattern, "u").test(text)) &&
    text.length <= Number(maxLength ?? Infinity) &&
    text.length >= Number(minLength ?? 0)
  const named = by_name.find(([ends]) => ends.test(name))?.[1]
  const plain = name === "" ? "Text" : name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase())
  return (
    [
      by_format[format],
      named,
      ...(pattern === undefined ? [plain] : by_pattern),
      "x".repeat(Number(minLength ?? 1))
    ].find((text) => text !== undefined && fits(text)) ?? ""
  )
}
