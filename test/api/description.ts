/**
 * Checks responses against their declared endpoints: the status is declared, the body decodes through the response's
 * Schema without excess keys, and each header is declared.
 */
import { Result, Schema } from "effect"
import { match } from "../../core/kernel/runtime/engine.ts"
import type { Catalogue, Endpoint } from "../../core/kernel/endpoints/endpoint.ts"
import { statusOfAnswer } from "../../server/operations/system/responses.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import { Rejection } from "../../core/kernel/fields/rejection.ts"
import { pathOf } from "../../server/host/pipeline.ts"
import { errorSchemas } from "../../server/operations/system/openapi.ts"
import type { JsonSchemas } from "../../server/http/json-schema.ts"
import { headersAndErrors, responsesOf } from "../../server/operations/system/responses.ts"

export interface Given {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly text: string
  readonly body: unknown
}
interface Header {
  readonly schema: { readonly type: string; readonly enum?: ReadonlyArray<string> }
}
interface Response {
  readonly $ref?: string
  readonly headers?: { readonly [name: string]: unknown }
  readonly content?: { readonly [type: string]: { readonly schema: { readonly $ref?: string } } }
}

/** HTTP's own headers, which any response may carry. */
const of_http = new Set(["content-type", "content-length", "connection", "date", "allow", "vary"])
/** Headers of cross-origin requests. */
const of_fetch = /^access-control-/
/** Bodies are decoded by the Schemas themselves; only statuses, types and headers are read from the description. */
const no_schemas: JsonSchemas = { of: () => ({}), components: {} }
const { headers: known_headers, responses: known_responses } = headersAndErrors([]) as {
  readonly [part: string]: { readonly [name: string]: JsonObject }
}
const shared = {
  headers: known_headers as { readonly [name: string]: Header & JsonObject },
  responses: known_responses as { readonly [status: string]: Response }
}
const nameIn = (ref: string): string => ref.split("/").at(-1)!

/** How a response differs from its declaration; undefined if it does not. */
export const problemOf = (endpoint: Endpoint, got: Given, at = { headers: true }): string | undefined => {
  const declared = responsesFor(endpoint)[String(got.status)]
  if (declared === undefined) return `status ${got.status} is not described`
  const response = declared.$ref === undefined ? declared : shared.responses[nameIn(declared.$ref)]!
  return (at.headers ? headerProblem(endpoint, response, got) : undefined) ?? bodyProblem(endpoint, response, got)
}
const responses = new WeakMap<Endpoint, { readonly [status: string]: Response }>()
const responsesFor = (endpoint: Endpoint): { readonly [status: string]: Response } => {
  let known = responses.get(endpoint)
  if (known === undefined) {
    responses.set(endpoint, (known = responsesOf(endpoint, no_schemas) as { readonly [status: string]: Response }))
  }
  return known
}

const headerProblem = (endpoint: Endpoint, { headers = {} }: Response, got: Given): string | undefined => {
  const described = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]))
  for (const [name, value] of Object.entries(got.headers)) {
    if (of_http.has(name) || of_fetch.test(name)) continue
    const known = described.get(name)
    if (known === undefined) return `header ${name} is not described`
    // An endpoint's own headers are declared as text.
    const { schema } =
      endpoint.answer_headers[known] === undefined ? shared.headers[known]! : ({ schema: { type: "string" } } as Header)
    if (schema.type === "integer" && !/^\d+$/.test(value)) return `header ${name} is ${value}, not an integer`
    if (schema.enum !== undefined && !schema.enum.includes(value))
      return `header ${name} is ${value}, none of ${schema.enum.join(", ")}`
  }
  return undefined
}

const bodyProblem = (endpoint: Endpoint, { content }: Response, got: Given): string | undefined => {
  if (content === undefined)
    return got.text === "" ? undefined : `a body where none is described: ${got.text.slice(0, 100)}`
  const type = (got.headers["content-type"] ?? "").split(";")[0]!
  const declared = Object.entries(content).find(([name]) => name.split(";")[0] === type)
  if (declared === undefined) return `${type || "nothing"} instead of ${Object.keys(content).join(" or ")}`
  return type !== "application/json"
    ? undefined
    : decodingProblem(schemaFor(endpoint, got.status, declared[1].schema.$ref), got.body)
}
const schemaFor = (endpoint: Endpoint, status: number, ref: string | undefined): Schema.Codec<unknown> => {
  const { answer, error_answers } = endpoint
  if (status === statusOfAnswer(endpoint) && answer !== undefined) return answer
  return error_answers[status] ?? errorSchemas[nameIn(ref!) as keyof typeof errorSchemas]
}
const decoders = new WeakMap<Schema.Codec<unknown>, (value: unknown) => Result.Result<unknown, Schema.SchemaError>>()
/** How a value violates its Schema, with excess keys; undefined if it does not. */
export const decodingProblem = (schema: Schema.Codec<unknown>, value: unknown): string | undefined => {
  let decode = decoders.get(schema)
  if (decode === undefined)
    decoders.set(schema, (decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })))
  const decoded = decode(value)
  return Result.isFailure(decoded) ? String(decoded.failure.message) : undefined
}

/** How a response violates its operation's description; undefined for paths without an operation. */
export const answerProblem = (
  catalogue: Catalogue,
  method: string,
  target: string,
  got: Given,
  at?: { readonly headers: boolean }
): string | undefined => {
  const found = match(catalogue, method, pathOf(target))
  // HEAD responds like GET without a body; pages and metrics outside the API are not described.
  if (found instanceof Rejection || method === "HEAD" || !isDescribed(found.endpoint)) return undefined
  const problem = problemOf(found.endpoint, got, at)
  return problem === undefined ? undefined : `${found.endpoint.name} answered ${got.status}: ${problem}`
}
const isDescribed = ({ path }: Endpoint): boolean => path.startsWith("/api/") || path.endsWith(".ics")
