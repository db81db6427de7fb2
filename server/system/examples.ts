/** Examples of what is described: made from the schemas, so that each is one of what it stands beside. */
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { title } from "./titles.ts"

type Schemas = { readonly [name: string]: JsonObject }

/** A named schema with an example of it. */
export const withExample = (name: string, schemas: Schemas): JsonObject => {
  const schema = schemas[name] ?? {}
  return { ...schema, examples: [exampleOf(schema, schemas, "", 1)] }
}

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

/**
 * One value that is as described: lists have one row, and rows inside rows are left to their own examples (null where
 * they may be).
 */
export const exampleOf = (schema: JsonObject, schemas: Schemas, name = "", depth = 0): Json => {
  const { $ref: ref, anyOf, default: usual, enum: values, format, items, minimum, pattern, properties, type } = schema
  if (typeof ref === "string") return exampleOfComponent(ref.slice(ref.lastIndexOf("/") + 1), schemas, name, depth)
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
const component_examples = new WeakMap<Schemas, Map<string, Json>>()
/**
 * Most answers refer to the same components: the example of each is made once for every key and depth it is found at.
 */
const exampleOfComponent = (component: string, schemas: Schemas, name: string, depth: number): Json => {
  const examples = component_examples.get(schemas) ?? new Map<string, Json>()
  component_examples.set(schemas, examples)
  const place = `${component} ${name} ${depth}`
  const known = examples.get(place)
  if (known !== undefined) return known
  const example = exampleOf(schemas[component] ?? {}, schemas, name, depth)
  examples.set(place, example)
  return example
}
const patterns = new Map<string, RegExp>()
const matches = (text: string, pattern: string): boolean => {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u")
  patterns.set(pattern, known)
  return known.test(text)
}
const refersTo = (items: Json | undefined): boolean => typeof items === "object" && items !== null && "$ref" in items

const textOf = (
  { maxLength, minLength }: JsonObject,
  format: string,
  pattern: string | undefined,
  name: string
): string => {
  const fits = (text: string): boolean =>
    (pattern === undefined || matches(text, pattern)) &&
    text.length <= Number(maxLength ?? Infinity) &&
    text.length >= Number(minLength ?? 0)
  const named = by_name.find(([ends]) => ends.test(name))?.[1]
  const plain = name === "" ? "Text" : title(name)
  return (
    [
      by_format[format],
      named,
      ...(pattern === undefined ? [plain] : by_pattern),
      "x".repeat(Number(minLength ?? 1))
    ].find((text) => text !== undefined && fits(text)) ?? ""
  )
}
