/**
 * Answers held against what openapi.json says of them: the operation's status is declared, the body is as its schema says
 * with no key beside those declared, and so are the headers. The parts of JSON Schema that are published are known here;
 * a schema that uses another is a fault of this file and told as one.
 */
import { match } from "../../core/kernel/dispatch.ts"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import { pathOf } from "../../server/pipeline.ts"
import { openApi } from "../../server/system/openapi.ts"

export interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}
const known_words = new Set([
  "$ref", "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "pattern", "format", "minimum", "maximum", "minLength",
  "maxLength", "minItems", "maxItems", "description", "examples", "default", "contentMediaType"
])
interface Response { readonly headers?: { readonly [name: string]: unknown }; readonly content?: { readonly [type: string]: { readonly schema: Schema } } }
interface Operation { readonly operationId: string; readonly responses: { readonly [status: string]: Response & { readonly $ref?: string } } }
export interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: Schema }
    readonly headers: { readonly [name: string]: { readonly schema: Schema } }
    readonly responses: { readonly [status: string]: Response }
  }
}
export interface Given { readonly status: number; readonly headers: { readonly [name: string]: string }; readonly text: string; readonly body: unknown }

/** Headers that every HTTP answer may carry; what they say is HTTP's. */
const of_http = new Set(["content-type", "content-length", "connection", "date", "allow"])

/** What in an answer is not as described; undefined when all is. */
export const problemOf = (description: Description, path: string, method: string, got: Given, at = { headers: true }): string | undefined => {
  const operation = description.paths[path]?.[method.toLowerCase()]
  if (operation === undefined) return undefined
  const declared = operation.responses[String(got.status)]
  if (declared === undefined) return `status ${got.status} is not described`
  const response: Response = declared.$ref === undefined ? declared : description.components.responses[declared.$ref.split("/").at(-1)!]!
  return (at.headers ? headerProblem(description, response, got) : undefined) ?? bodyProblem(description, response, got)
}

const headerProblem = (description: Description, { headers = {} }: Response, got: Given): string | undefined => {
  const described = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]))
  for (const [name, value] of Object.entries(got.headers)) {
    if (of_http.has(name)) continue
    const known = described.get(name)
    if (known === undefined) return `header ${name} is not described`
    const { schema } = description.components.headers[known]!
    const wrong = schemaProblem(description, schema, schema.type === "integer" ? Number(value) : value, `header ${name}`)
    if (wrong !== undefined) return wrong
  }
  return undefined
}
const bodyProblem = (description: Description, { content }: Response, got: Given): string | undefined => {
  if (content === undefined) return got.text === "" ? undefined : `a body where none is described: ${got.text.slice(0, 100)}`
  const type = (got.headers["content-type"] ?? "").split(";")[0]!
  const declared = Object.entries(content).find(([name]) => name.split(";")[0] === type)
  if (declared === undefined) return `${type || "nothing"} instead of ${Object.keys(content).join(" or ")}`
  return type === "application/json" ? schemaProblem(description, declared[1].schema, got.body, "") : undefined
}

const typeOf = (value: unknown): string => value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value
const formats: { readonly [format: string]: (text: string) => boolean } = {
  "date-time": (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: (text) => text.includes("@"),
  uri: (text) => URL.canParse(text)
}

/** What of a value is not as its schema says, every object closed; undefined when all is. */
export const schemaProblem = (description: Pick<Description, "components">, schema: Schema, value: unknown, path: string): string | undefined => {
  const strange = Object.keys(schema).find((word) => !known_words.has(word))
  if (strange !== undefined) throw new Error(`the schema of ${path} uses ${strange}, which is not checked here`)
  const shown = path === "" ? "the body" : path
  const inner = (part: Schema, one: unknown, at: string): string | undefined => schemaProblem(description, part, one, at)
  if (schema.$ref !== undefined) {
    const target = description.components.schemas[schema.$ref.split("/").at(-1)!]
    return target === undefined ? `${schema.$ref} leads nowhere` : inner(target, value, path)
  }
  if (schema.anyOf !== undefined) {
    const problems = schema.anyOf.map((part) => inner(part, value, path))
    if (problems.every((one) => one !== undefined)) return `${shown} is none of what it may be (${problems.filter((one) => !/ is \w+, not null$/.test(one)).join("; ")})`
  }
  const types = schema.type === undefined ? [] : [schema.type].flat()
  const type = typeOf(value)
  if (types.length > 0 && !types.includes(type) && !(type === "integer" && types.includes("number"))) return `${shown} is ${type}, not ${types.join(" or ")}`
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${shown} is ${JSON.stringify(value)}, none of ${JSON.stringify(schema.enum)}`
  if (typeof value === "string") {
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) return `${shown} ${JSON.stringify(value)} does not match ${schema.pattern}`
    if (schema.format !== undefined && formats[schema.format]?.(value) !== true) return `${shown} ${JSON.stringify(value)} is no ${schema.format}`
    if (value.length > (schema.maxLength ?? Infinity) || value.length < (schema.minLength ?? 0)) return `${shown} is ${value.length} long`
  }
  if (typeof value === "number" && (value > (schema.maximum ?? Infinity) || value < (schema.minimum ?? -Infinity))) return `${shown} is ${value}`
  if (Array.isArray(value)) {
    if (value.length > (schema.maxItems ?? Infinity) || value.length < (schema.minItems ?? 0)) return `${shown} has ${value.length} items`
    return firstOf(value.entries(), ([at, item]) => schema.items === undefined ? undefined : inner(schema.items, item, `${path}[${at}]`))
  }
  return typeof value === "object" && value !== null ? objectProblem(schema, value as { readonly [name: string]: unknown }, path, inner) : undefined
}

const objectProblem = (
  schema: Schema, value: { readonly [name: string]: unknown }, path: string, inner: (part: Schema, one: unknown, at: string) => string | undefined
): string | undefined => {
  const absent = schema.required?.find((name) => !Object.hasOwn(value, name))
  if (absent !== undefined) return `${path}.${absent} is missing`
  // Open where nothing at all is said, or only that one of several must fit.
  const closed = schema.type !== undefined && schema.additionalProperties !== true
  return firstOf(Object.entries(value), ([name, one]) => {
    const part = schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name]
      : typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined
    return part !== undefined ? inner(part, one, `${path}.${name}`) : closed ? `${path}.${name} is not described` : undefined
  })
}
const firstOf = <A>(all: Iterable<A>, problem: (one: A) => string | undefined): string | undefined => {
  for (const one of all) {
    const found = problem(one)
    if (found !== undefined) return found
  }
  return undefined
}

/** The description of a catalogue, read as a client reads it. Catalogues of the same endpoints are described alike. */
export const descriptionOf = (catalogue: Catalogue): Description => {
  const key = catalogue.endpoints.map((endpoint) => `${endpoint.method} ${endpoint.path}`).join("\n")
  let known = descriptions.get(key)
  if (known === undefined) descriptions.set(key, known = JSON.parse(JSON.stringify(openApi(catalogue, "/"))) as Description)
  return known
}
const descriptions = new Map<string, Description>()

/** What is wrong with the answer to a request, with the operation it was asked of; undefined for what is no operation. */
export const answerProblem = (catalogue: Catalogue, method: string, target: string, got: Given, at?: { readonly headers: boolean }): string | undefined => {
  const found = match(catalogue, method, pathOf(target))
  // HEAD is answered as GET is, without its body.
  if (found instanceof Rejection || method === "HEAD") return undefined
  const { name, path, method: declared } = found.endpoint
  const problem = problemOf(descriptionOf(catalogue), path, declared, got, at)
  return problem === undefined ? undefined : `${name} answered ${got.status}: ${problem}`
}
