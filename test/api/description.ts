/** Answers held against what openapi.json says of them: the parts of JSON Schema it uses. */
import type { Endpoint } from "../../core/kernel/endpoint.ts"
import type { Got } from "../server/serving.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: ReadonlyArray<string>
  readonly items?: Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
}
interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: { readonly responses: { readonly [status: string]: { readonly content?: { readonly [type: string]: { readonly schema: Schema } } } } } } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

/** Tells what in a successful answer is not as described; undefined when all is. */
export const conformance = (document: Document) => (endpoint: Endpoint, got: Got): string | undefined => {
  const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()]
  if (operation === undefined) return undefined
  const response = operation.responses[String(got.status)]
  if (response === undefined) return `status ${got.status} is not described`
  const described = response.content?.["application/json"]?.schema
  if (got.status === 204) return got.text === "" ? undefined : "204 with a body"
  if (described === undefined) return undefined
  return got.body === undefined ? `no JSON but ${got.headers["content-type"]}` : problemIn(document, described, got.body, "")
}

const typeOf = (value: unknown): string => value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value

const problemIn = (document: Document, schema: Schema, value: unknown, path: string): string | undefined => {
  if (schema.$ref !== undefined) return problemIn(document, document.components.schemas[schema.$ref.split("/").at(-1)!]!, value, path)
  const inner = (part: Schema, one: unknown, at: string): string | undefined => problemIn(document, part, one, at)
  if (schema.anyOf !== undefined && schema.anyOf.every((part) => inner(part, value, path) !== undefined)) return `${path} is none of what it may be`
  const types = schema.type === undefined ? [] : [schema.type].flat()
  const type = typeOf(value)
  if (types.length > 0 && !types.includes(type) && !(type === "integer" && types.includes("number"))) return `${path} is ${type}, not ${types.join(" or ")}`
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${path} is ${JSON.stringify(value)}, none of ${JSON.stringify(schema.enum)}`
  if (schema.pattern !== undefined && typeof value === "string" && !new RegExp(schema.pattern, "u").test(value)) return `${path} ${JSON.stringify(value)} does not match ${schema.pattern}`
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const wrong = schema.items === undefined ? undefined : inner(schema.items, item, `${path}[${at}]`)
      if (wrong !== undefined) return wrong
    }
  } else if (typeof value === "object" && value !== null) {
    const absent = schema.required?.find((name) => !Object.hasOwn(value, name))
    if (absent !== undefined) return `${path}.${absent} is missing`
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      const wrong = Object.hasOwn(value, name) ? inner(part, (value as { [name: string]: unknown })[name], `${path}.${name}`) : undefined
      if (wrong !== undefined) return wrong
    }
  }
  return undefined
}
