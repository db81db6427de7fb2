/** Responses of an operation: its successful answer and its refusals, each with its headers. */
import { type Endpoint, isJsonObject, type JsonObject, operationOf, paramNames } from "../../../core/kernel/index.ts"
import { kindOf } from "../../../core/kernel/lists/answer-schema.ts"
import { keepsAnswers } from "../../access/idempotency/slice.ts"
import { exampleOf } from "../../http/examples.ts"
import type { JsonSchemas } from "../../http/json-schema.ts"

/** A code name in words: `tax_classes` is "tax classes". */
export const words = (name: string): string => name.replaceAll("_", " ")
/** A code name as a title: `tax_classes` is "Tax classes". */
export const title = (name: string): string => words(name).replace(/^./, (letter) => letter.toUpperCase())

const integer: JsonObject = { type: "integer" }
const string: JsonObject = { type: "string" }
/** Headers that responses may have, other than general HTTP ones (Content-Type, Content-Length and the like). */
const known_headers: { readonly [name: string]: { readonly description: string; readonly schema: JsonObject } } = {
  "Cache-Control": { description: "no-store, unless the operation allows caching", schema: string },
  "Idempotent-Erased": {
    description: "true when the stored response was erased with personal data and rendered again",
    schema: { type: "string", enum: ["true"] }
  },
  "Idempotent-Replayed": {
    description: "true when this response repeats an earlier one",
    schema: { type: "string", enum: ["true"] }
  },
  "Link": { description: "Links to the next and last page, if there are several (RFC 8288)", schema: string },
  "Retry-After": { description: "Seconds to wait before retrying", schema: integer },
  "WWW-Authenticate": { description: "How to authenticate", schema: string },
  "X-Accel-Buffering": { description: "no: proxies must not buffer a stream", schema: string },
  "X-Content-Type-Options": { description: "nosniff: browsers must not guess the content type", schema: string },
  "X-Quota-Limit": { description: "Units per UTC calendar month for this token, if it has a quota", schema: integer },
  "X-Quota-Remaining": { description: "Units left after this response", schema: integer },
  "X-Quota-Reset": { description: "Start of the next month, in seconds since 1970", schema: integer },
  "X-RateLimit-Limit": { description: "Requests per minute for this token or address", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests left in this minute", schema: integer },
  "X-RateLimit-Reset": { description: "Start of the next minute, in seconds since 1970", schema: integer },
  "X-Request-Id": { description: "Request id, as sent or generated; appears in logs", schema: string }
}
const headersOf = (...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.toSorted().map((name) => [name, { $ref: `#/components/headers/${name}` }]))
const of_every_answer = (
  "Cache-Control X-Content-Type-Options X-Quota-Limit X-Quota-Remaining X-Quota-Reset " +
  "X-RateLimit-Limit X-RateLimit-Remaining X-Request-Id"
).split(" ")
const json = (schema: JsonObject, schemas: JsonSchemas["components"]): JsonObject => ({
  "application/json": { schema, example: exampleOf(schema, schemas) }
})

const error = (
  description: string,
  schema: "Message" | "Invalid" = "Message",
  ...more: ReadonlyArray<string>
): JsonObject => ({
  description,
  headers: headersOf(...of_every_answer, ...more),
  content: {
    "application/json": {
      schema: { $ref: `#/components/schemas/${schema}` },
      example: errorExample(description, schema)
    }
  }
})
const errorExample = (message: string, schema: "Message" | "Invalid"): JsonObject =>
  schema === "Message"
    ? { message: `${message}.` }
    : { message: "The name field is required.", errors: { name: ["The name field is required."] } }
const errors: { readonly [status: string]: JsonObject } = {
  "401": error("Missing or invalid token", "Message", "WWW-Authenticate"),
  "403": error("The account is deactivated, or a permission or an ability is missing"),
  "404": error("Not found"),
  "409": error("Conflict with the current state, or the Idempotency-Key was used for another request", "Message"),
  "410": error("Gone: the content was lost or erased", "Message"),
  "413": error("Body too long"),
  "415": error("Unsupported content type"),
  "422": error("Validation failed", "Invalid", "Idempotent-Replayed"),
  "425": error("The request with this Idempotency-Key is still in progress", "Message", "Retry-After"),
  "426": error("The device's release is too old: update it"),
  "429": error("Rate limit or monthly quota exceeded", "Message", "Retry-After", "X-RateLimit-Reset"),
  "500": error("Internal server error"),
  "503": error("The server is stopping or busy, or its database cannot be used", "Message", "Retry-After")
}

/** Components other than schemas that responses refer to: headers, including those of single endpoints, and errors. */
export const headersAndErrors = (endpoints: ReadonlyArray<Endpoint>): JsonObject => ({
  headers: {
    ...known_headers,
    ...Object.fromEntries(
      endpoints.flatMap(({ answer_headers }) =>
        Object.entries(answer_headers).map(([name, description]) => [name, { description, schema: string }] as const)
      )
    )
  },
  responses: errors
})

/** Examples of content other than JSON, by media type. */
const texts_of: { readonly [type: string]: string } = {
  "text/event-stream": 'id: 12\nevent: notification\ndata: {"id":12,"title":"Invoice 7 is overdue"}\n\n',
  "text/calendar": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"
}

/** Schema of a media type: text, or bytes, which generated clients must not decode. */
const contentOf = (media_type: string): JsonObject =>
  media_type.startsWith("text/")
    ? { schema: string, example: texts_of[media_type] ?? "" }
    : { schema: { type: "string", format: "binary" } }

/** Responses of an operation, by status. */
export const responsesOf = (endpoint: Endpoint, answers: JsonSchemas): JsonObject => ({
  ...success(endpoint, answers),
  ...refusals(endpoint, answers)
})

/** HTTP status on success: as declared, else 204 for DELETE, 201 for commands named `create`, and 200. */
export const statusOfAnswer = (endpoint: Endpoint): number => {
  if (endpoint.success_status !== undefined) return endpoint.success_status
  if (endpoint.method === "DELETE") return 204
  return endpoint.method === "POST" && endpoint.kind === "command" && operationOf(endpoint) === "create" ? 201 : 200
}
const success = (endpoint: Endpoint, answers: JsonSchemas): JsonObject => {
  const status = String(statusOfAnswer(endpoint))
  const headers = headersOf(
    ...of_every_answer,
    ...Object.keys(endpoint.answer_headers),
    ...(endpoint.produces === "text/event-stream" ? ["X-Accel-Buffering"] : []),
    ...(keepsAnswers(endpoint) ? ["Idempotent-Erased", "Idempotent-Replayed"] : []),
    ...(isList(endpoint) ? ["Link"] : [])
  )
  if (endpoint.produces !== undefined && endpoint.answer === undefined) {
    const known = { description: "Not modified: the client has this version (If-None-Match)", headers }
    return {
      [status]: {
        description: contentsOf(endpoint),
        headers,
        content: { [endpoint.produces]: contentOf(endpoint.produces) }
      },
      ...(endpoint.answer_headers["ETag"] === undefined ? {} : { "304": known })
    }
  }
  if (status === "204") return { "204": { description: "Success, with an empty body", headers } }
  const whole = endpoint.answer === undefined ? {} : answers.of(endpoint.answer)
  const held = endpoint.answer_headers["ETag"] === undefined ? {} : { "304": { description: "Not modified", headers } }
  const other = endpoint.produces === undefined ? {} : { [endpoint.produces]: contentOf(endpoint.produces) }
  const content = { ...json(whole, answers.components), ...other }
  return { [status]: { description: contentsOf(endpoint), headers, content }, ...held }
}

const contents_of_type: { readonly [type: string]: string } = {
  "text/calendar": "The calendar",
  "text/event-stream": "A stream of events",
  "application/pdf": "The PDF"
}
/** Description of a successful response: "The opportunity", "A page of products", "Object with payment, invoice". */
const contentsOf = ({ answer, produces }: Endpoint): string => {
  if (produces !== undefined && answer === undefined) return contents_of_type[produces] ?? "The file"
  const kind = answer === undefined ? undefined : kindOf(answer)
  if (kind?.kind === "page") return `A page of ${words(kind.resource().plural)}`
  const names = kind?.kind === "keys" ? Object.keys(kind.keys).filter((name) => !/^_?meta$/.test(name)) : []
  const [first, ...more] = names
  if (first === undefined) return "Result of the operation"
  return more.length === 0 ? `The ${words(first)}` : `Object with ${names.join(", ")}`
}

/** Whether the endpoint returns a list, to which saved views apply. */
const isList = ({ answer, method }: Endpoint): boolean => {
  const kind = answer === undefined || method !== "GET" ? undefined : kindOf(answer)
  if (kind?.kind !== "keys") return kind?.kind === "page"
  const [first] = Object.values(kind.keys)
  return first !== undefined && !("type" in first) && kindOf(first)?.kind === "list"
}

const refusals = (endpoint: Endpoint, answers: JsonSchemas): JsonObject => {
  const isRead = endpoint.method === "GET"
  const statuses = new Set([
    ...(endpoint.public ? [] : ["401", "403"]),
    // A list also responds with 404 if its saved view does not exist.
    ...(paramNames(endpoint.path).length > 0 || isList(endpoint) ? ["404"] : []),
    ...(isRead ? [] : ["413", "415"]),
    // With strict handling, any request may be rejected for unknown parameters.
    ...(endpoint.public && isRead && Object.keys(endpoint.fields).length === 0 ? [] : ["422"]),
    ...(keepsAnswers(endpoint) ? ["409", "425"] : []),
    ...Object.keys(endpoint.error_answers),
    "429",
    "500",
    "503"
  ])
  return Object.fromEntries(
    [...statuses].sort().map((status) => {
      const other = endpoint.error_answers[Number(status)]
      if (other === undefined || other === null) return [status, { $ref: `#/components/responses/${status}` }]
      const headers = headersOf(...of_every_answer, ...Object.keys(endpoint.answer_headers))
      const usual = errors[status]
      return [
        status,
        {
          description: usual?.["description"] ?? "Accepted; a job does the work",
          headers: { ...(isJsonObject(usual?.["headers"]) ? usual["headers"] : {}), ...headers },
          content: json(answers.of(other), answers.components)
        }
      ]
    })
  )
}
