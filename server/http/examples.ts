/** Generates OpenAPI examples from the schemas, so they always validate. */
import { firstOf } from "../../core/values/text.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"

type Schemas = { readonly [name: string]: JsonObject }

/** A named schema with a generated example. */
export const withExample = (name: string, schemas: Schemas): JsonObject => {
  const schema = schemas[name] ?? {}
  const example = exampleOf({ $ref: `#/components/schemas/${name}` }, schemas, "", 1)
  // Linters would mistake an example with the keys `type` and `default` for a schema.
  const is_like_schema = isJsonObject(example) && "type" in example && "default" in example
  return is_like_schema ? schema : { ...schema, examples: [example] }
}

const by_format: { readonly [format: string]: string } = {
  "date-time": "2026-07-01T09:00:00.000Z",
  date: "2026-07-01",
  email: "ann@example.com",
  uri: "https://example.com"
}
/** Example texts, of which the first that matches a field's pattern is used. */
const by_pattern: ReadonlyArray<string> =
  "12.50 12.5 12 09:00 quote-1 * smtp://mail.example.com:587 0088:5012345678900".split(" ")
/** Example values by a key's name; the first matching pattern counts. */
const by_name: ReadonlyArray<readonly [ends: RegExp, value: string]> = [
  [/currency/, "GBP"],
  [/country_code/, "GB"],
  [/timezone/, "Europe/London"],
  [/locale|language/, "en-GB"],
  [/email|_address$|reply_to$/, "ann@example.com"],
  [/number$/, "0001"],
  [/secret$/, "12|…"],
  [/(state|status)_(name|label)$/, "Reserved"],
  [/tax_(rate|class)_name$/, "Standard"],
  [/(product|item|component)_name$/, "LED wash light"],
  [/store_name$/, "Main Warehouse"],
  [/(user|person|owner|created_by)(_name)?$/, "Ann Arbor"],
  [/file_?name$/, "quotation-0012.pdf"],
  [/name$|title$/, "Northlight Ltd"],
  [/subject$/, "Summer stage"],
  [/label$/, "Second choice"],
  [/instructions$/, "By the stage door, ring twice"],
  [/description$|notes?$|comment$|text$/, "Two cases, and a spare lamp"],
  [/reason$/, "Damaged in transport"],
  [/message$/, "The quotation was sent."],
  [/reference$/, "PO-1184"],
  [/barcode$/, "5012345678900"],
  [/postcode$/, "W14 8UX"],
  [/(sku|code)$/, "LED-WASH"],
  [/url$/, "https://hire.example.com/files/7"],
  [/uuid$/, "0198c3f2-7b1e-7c44-9d0a-5e2f81c6a913"],
  [/mime_type$/, "application/pdf"],
  [/membership_type$/, "organisation"],
  [/(auditable|attachable|regarding|related|relatable|source|documentable)_type$/, "Opportunity"],
  [/relationship_type$/, "Employee"],
  [/category$/, "Lighting"],
  [/street$/, "1 Hall Road"],
  [/city$/, "London"],
  [/county$/, "Greater London"],
  [/phone$/, "+44 20 7946 0000"],
  [/location$|place$/, "A-12"],
  [/(net|tax|gross|total|amount|price|paid|balance)$/, "120.00"]
]
/** Example names by component. */
const names_of: { readonly [component: string]: string } = {
  Product: "LED wash light",
  ProductGroup: "Lighting",
  Store: "Main Warehouse",
  User: "Ann Arbor",
  Role: "Warehouse",
  Token: "Till at the counter",
  IssuedToken: "Till at the counter",
  TaxClass: "Standard",
  TaxRate: "VAT 20%",
  RateDefinition: "Daily rate",
  Vehicle: "Van 3",
  OpportunityItem: "LED wash light"
}

/** An example value of a schema: nullable components are null; lists have one row, nested lists of components none. */
export const exampleOf = (schema: JsonObject, schemas: Schemas, name = "", depth = 0): Json => {
  const { $ref: ref, anyOf, default: usual, enum: values, items, minimum, pattern, properties, type } = schema
  if (typeof ref === "string") return exampleOfComponent(ref.slice(ref.lastIndexOf("/") + 1), schemas, name, depth)
  const is_odd = typeof usual === "string" && typeof pattern === "string" && !matches(usual, pattern)
  if (usual !== undefined && !is_odd) return usual
  const [first]: ReadonlyArray<Json> = Array.isArray(values) ? values : []
  if (first !== undefined) return first
  const either = anyOf as ReadonlyArray<JsonObject> | undefined
  if (either !== undefined)
    return either.some((one) => one["type"] === "null") ? null : exampleOf(firstOf(either), schemas, name, depth)
  const row = isJsonObject(items) ? items : {}
  switch ([type].flat()[0]) {
    case "string":
      return textOf(schema, name)
    case "integer":
      return typeof minimum === "number" ? Math.max(minimum, 1) : 1
    case "number":
      return 1
    case "boolean":
      return true
    case "array":
      return hasRow(schema, depth) ? [exampleOf(row, schemas, name, depth + 1)] : []
    case "object":
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([key, one]) => [key, exampleOf(one, schemas, key, depth + 1)])
      )
    default:
      return null
  }
}
const component_examples = new WeakMap<Schemas, Map<string, Json>>()
/** The example of a component, cached by component, key and depth, as most answers refer to the same components. */
const exampleOfComponent = (component: string, schemas: Schemas, name: string, depth: number): Json => {
  const examples = component_examples.get(schemas) ?? new Map<string, Json>()
  component_examples.set(schemas, examples)
  const place = `${component} ${name} ${depth}`
  const known = examples.get(place)
  if (known !== undefined) return known
  const made = exampleOf(schemas[component] ?? {}, schemas, name, depth)
  const own = names_of[component]
  const example = own !== undefined && isJsonObject(made) && "name" in made ? { ...made, name: own } : made
  examples.set(place, example)
  return example
}
const patterns = new Map<string, RegExp>()
const matches = (text: string, pattern: string): boolean => {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u")
  patterns.set(pattern, known)
  return known.test(text)
}
const hasRow = ({ items, minItems }: JsonObject, depth: number): boolean =>
  depth <= 1 || (depth <= 4 && (!isJsonObject(items) || !("$ref" in items) || Number(minItems) > 0))

const textOf = ({ format, maxLength, minLength, pattern }: JsonObject, name: string): string => {
  const fits = (text: string): boolean =>
    (typeof pattern !== "string" || matches(text, pattern)) &&
    text.length <= Number(maxLength ?? Infinity) &&
    text.length >= Number(minLength ?? 0)
  const named = by_name.find(([ends]) => ends.test(name))?.[1]
  return (
    [
      typeof format === "string" ? by_format[format] : undefined,
      named,
      ...(typeof pattern === "string" ? by_pattern : ["Example"]),
      "x".repeat(Number(minLength ?? 1))
    ].find((text) => text !== undefined && fits(text)) ?? ""
  )
}
