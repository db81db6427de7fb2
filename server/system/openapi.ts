/**
 * The interface described for machines: OpenAPI 3.1, made from the endpoint tables, so that it cannot fall behind them.
 * Making it takes some 80 ms of processor time, so other requests are served between its parts.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { type Endpoint, operationOf, resourceOf } from "../../core/kernel/endpoint.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { keepsAnswers } from "../idempotency/slice.ts"
import { interfaceOf } from "./catalogue-rows.ts"
import { errorSchemas } from "./errors.ts"
import { exampleOf, withExample } from "./examples.ts"
import { type JsonSchemas, jsonSchemas } from "./json-schema.ts"
import { pathParameters, queryParameters } from "./parameters.ts"
import { headersAndErrors, responsesOf } from "./responses.ts"
import { bodySchema } from "./schema-of.ts"
import { title } from "./titles.ts"

type Objects = { [name: string]: Json }

const about = `The back office of an equipment-rental business. Money leaves as decimal texts at the currency's scale; timestamps are UTC with milliseconds.

Answers may get further keys with time: pass over those you do not know. What is sent beside the described fields is ignored.`

const slice_max_millis = 8
/** A point at which other requests get their turn, once this work has kept the process busy for some milliseconds. */
const makePause = (): Effect.Effect<void> => {
  let since = performance.now()
  return Effect.suspend(() => {
    if (performance.now() - since < slice_max_millis) return Effect.void
    return Effect.map(Effect.yieldNow, () => {
      since = performance.now()
    })
  })
}

/** The whole description. `url`: where the interface is reached. */
export const openApi = Effect.fnUntraced(function* (catalogue: Catalogue, url: string) {
  const pause = makePause()
  const endpoints = interfaceOf(catalogue)
  const answers = jsonSchemas()
  for (const schema of Object.values(errorSchemas)) answers.of(schema)
  const paths: { [path: string]: Objects } = {}
  for (const endpoint of endpoints) {
    const of_path = (paths[endpoint.path] ??= {})
    of_path[endpoint.method.toLowerCase()] = operation(endpoint, answers, catalogue.pathsOf(endpoint).slice(1))
    yield* pause
  }
  const schemas: Objects = {}
  for (const name of Object.keys(answers.components).toSorted()) {
    schemas[name] = withExample(name, answers.components)
    yield* pause
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Flightcase",
      version: "1",
      description: about,
      license: { name: "All rights reserved", identifier: "LicenseRef-All-Rights-Reserved" }
    },
    servers: [{ url, description: "This server" }],
    security: [{ bearer: [] }],
    tags: tagsOf(endpoints),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A token. Each operation names the ability the token must carry."
        }
      },
      schemas,
      ...headersAndErrors(endpoints)
    }
  } satisfies JsonObject
})

const tagOf = (endpoint: Endpoint): string => title(resourceOf(endpoint) || operationOf(endpoint))
const tagsOf = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<JsonObject> =>
  [...Map.groupBy(endpoints, tagOf)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, of]) => ({ name, description: of.map((endpoint) => endpoint.summary).join(". ") }))

const json = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({ "application/json": { schema, ...more } })

const needsOf = (endpoint: Endpoint, other_paths: ReadonlyArray<string>): string => {
  const abilities = endpoint.ability === null ? [] : [endpoint.ability].flat()
  const permissions = endpoint.permission === null ? [] : [endpoint.permission].flat()
  if (endpoint.public) return "Needs no token."
  return [
    abilities.length === 0 ? "Any token will do." : `Ability: ${abilities.join(" or ")}.`,
    permissions.length === 0 ? "" : `Permission: ${permissions.join(" or ")}.`,
    endpoint.server_only ? "" : "Works offline too.",
    other_paths.length === 0 ? "" : `Also under ${other_paths.join(", ")}.`
  ]
    .filter((one) => one !== "")
    .join(" ")
}

const operation = (endpoint: Endpoint, answers: JsonSchemas, other_paths: ReadonlyArray<string>): JsonObject => {
  const abilities = endpoint.ability === null ? [] : [endpoint.ability].flat()
  const isRead = endpoint.method === "GET"
  const takesBody = !isRead && (endpoint.method !== "DELETE" || Object.keys(endpoint.fields).length > 0)
  return {
    operationId: endpoint.name,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    description: `${endpoint.summary}. ${needsOf(endpoint, other_paths)}`,
    security: endpoint.public
      ? []
      : abilities.length === 0
        ? [{ bearer: [] }]
        : abilities.map((ability) => ({ bearer: [ability] })),
    "x-permission": endpoint.permission as Json,
    "x-price-weight": endpoint.metering_weight,
    parameters: [
      ...pathParameters(endpoint),
      ...queryParameters(endpoint),
      ...(keepsAnswers(endpoint) ? [idempotency_key] : [])
    ],
    ...(takesBody ? { requestBody: requestBody(endpoint) } : {}),
    responses: responsesOf(endpoint, answers)
  }
}

const idempotency_key: JsonObject = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
  description: "Makes the request happen once, however often it is sent: a day long the same key gets the same answer"
}
const signed_body: JsonObject = {
  required: true,
  description:
    "As its sender makes it: the signature holds for these bytes and no others, 256 kB at most. " +
    "A source of the kind generic sends X-Signals-Signature, the hex of HMAC-SHA256 over the body, " +
    "its key the whole secret as shown; standard sends webhook-id, webhook-timestamp and webhook-signature " +
    "(standardwebhooks.com); stripe sends Stripe-Signature. The latter two hold for 5 minutes. " +
    "The same body of a generic source, or the same id, is taken once.",
  content: json({ type: "object", additionalProperties: true }, { example: { type: "payment.recorded", data: {} } })
}
const requestBody = (endpoint: Endpoint): JsonObject => {
  if (endpoint.raw_body) return signed_body
  const body = bodySchema(endpoint.fields, endpoint.mode)
  if (endpoint.uploads) {
    // Nothing but a form holds a file.
    const form = withFile(body)
    return { required: true, content: { "multipart/form-data": { schema: form, example: exampleOf(form, {}) } } }
  }
  return { required: Array.isArray(body["required"]), content: json(body, { example: exampleOf(body, {}) }) }
}
const withFile = (body: JsonObject): JsonObject => ({
  ...body,
  properties: {
    ...(body["properties"] as JsonObject),
    file: {
      type: "string",
      format: "binary",
      contentMediaType: "application/octet-stream",
      description: "A part of the form with a file name"
    }
  },
  required: [...(Array.isArray(body["required"]) ? body["required"] : []), "file"]
})
