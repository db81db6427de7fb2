/**
 * The OpenAPI 3.1 description, generated from the endpoint declarations. Generation takes about 80 ms of CPU time, so
 * other requests are served between its parts.
 */
import { Effect, Schema } from "effect"
import { isJsonObject, operationOf, resourceOf, schemaOfField } from "../../../core/kernel/index.ts"
import type { Catalogue, Endpoint, Fields, Json, JsonObject, SettingGroups } from "../../../core/kernel/index.ts"
import { exampleOf, withExample } from "../../http/examples.ts"
import { type JsonSchemas, jsonSchemas } from "../../http/json-schema.ts"
import { bodySchema, pathParameters, queryParameters } from "./schema-of.ts"
import { headersAndErrors, responsesOf, title, words } from "./responses.ts"
import { keepsAnswers } from "../../access/idempotency/slice.ts"

// The endpoint catalogue as rows (rules/conventions 16): paths, abilities and weights.

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Rows of the endpoints under /api, sorted by path, then method. Alternative abilities are joined by `|`. */
export const catalogueRows = (catalogue: Catalogue) =>
  catalogue.endpoints
    .filter((endpoint) => endpoint.path.startsWith("/api/"))
    .toSorted((a, b) => compare(a.path, b.path) || compare(a.method, b.method))
    .map((endpoint) => ({
      name: endpoint.name,
      method: endpoint.method,
      uri: endpoint.path,
      resource: resourceOf(endpoint) || null,
      operation: operationOf(endpoint),
      ability: endpoint.ability === null ? null : [endpoint.ability].flat().join("|"),
      price_weight: endpoint.metering_weight
    }))

// Bodies of refusals, unless an operation declares another in `error_answers`.

const texts = Schema.Array(Schema.String).check(Schema.isMinLength(1))
const by_field = Schema.Record(Schema.String, texts)

export const errorSchemas = {
  Message: Schema.Struct({ message: Schema.String, errors: Schema.optionalKey(by_field) }).annotate({
    identifier: "Message",
    description: "Reason, as a sentence"
  }),
  Invalid: Schema.Struct({
    message: Schema.String,
    errors: by_field.annotate({ description: "Errors by field, as dotted paths with indexes (items.0.name)" })
  }).annotate({ identifier: "Invalid", description: "First error, and all errors by field" })
}

// Schemas of each settings group: the response of GET /settings/{group}, and the body of PUT.

const settings_path = "/api/v1/settings/{group}"

/** Component name of a settings group, such as `SettingsOfCompany`. */
const nameOf = (group: string): string =>
  `SettingsOf${group.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`
const described = (schema: JsonObject, description: string | undefined): JsonObject =>
  description === undefined ? schema : { ...schema, description }
const shownSchema = (fields: Fields, answers: JsonSchemas): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      field.secret
        ? described({ type: ["string", "null"] }, `${field.describe ?? "Secret"}; masked as ******** if it is set`)
        : described(answers.of(schemaOfField(field)), field.describe)
    ])
  ),
  required: Object.keys(fields),
  additionalProperties: true
})

/** Components for each settings group, by name: its settings, and a change of some of them. */
const settingsSchemas = (groups: SettingGroups, answers: JsonSchemas): { readonly [name: string]: JsonObject } =>
  Object.fromEntries(
    Object.entries(groups).flatMap(([group, fields]) => {
      const shown = { ...shownSchema(fields, answers), description: `Settings in the group ${words(group)}` }
      const change = { ...bodySchema(fields, "update"), description: `Settings to change in the group ${words(group)}` }
      return [
        [nameOf(group), { ...shown, examples: [exampleOf(shown, answers.components)] }],
        [`${nameOf(group)}Change`, { ...change, examples: [exampleOf(change, answers.components)] }]
      ]
    })
  )

/** Replaces the schema under `settings` in a request's or response's content. */
const withSettings = (part: Json | undefined, settings: JsonObject, shown: Json): JsonObject => {
  const { content, ...rest } = isJsonObject(part) ? part : {}
  const json = isJsonObject(content) ? content["application/json"] : undefined
  const schema = isJsonObject(json) ? json["schema"] : undefined
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return rest
  const properties = { ...schema["properties"], settings }
  return {
    ...rest,
    content: { "application/json": { schema: { ...schema, properties }, example: { settings: shown } } }
  }
}
/** An operation on settings, described for all groups. */
const ofGroups = (
  operation: JsonObject,
  groups: ReadonlyArray<string>,
  schemas: { readonly [name: string]: JsonObject }
): JsonObject => {
  const example = (suffix: string): Json => {
    const examples = schemas[`${nameOf(groups[0] ?? "")}${suffix}`]?.["examples"]
    return Array.isArray(examples) ? (examples[0] ?? null) : null
  }
  const anyOf = (suffix: string): JsonObject => ({
    anyOf: groups.map((group) => ({ $ref: `#/components/schemas/${nameOf(group)}${suffix}` })),
    description: "Settings of the group, by key"
  })
  const { parameters, requestBody, responses } = operation
  return {
    ...operation,
    parameters: (Array.isArray(parameters) ? parameters : []).map((one) =>
      isJsonObject(one) && one["name"] === "group" ? { ...one, schema: { type: "string", enum: groups } } : one
    ),
    ...(requestBody === undefined
      ? {}
      : { requestBody: withSettings(requestBody, anyOf("Change"), example("Change")) }),
    responses: isJsonObject(responses)
      ? { ...responses, "200": withSettings(responses["200"], anyOf(""), example("")) }
      : {}
  }
}

type Objects = { [name: string]: Json }

const about = `The back office of an equipment-rental business. Responses hold money as decimal strings at the currency's scale, and timestamps in UTC with milliseconds.

New keys may be added to responses: ignore those you do not know. Unknown fields and parameters of a request are ignored and listed in \`meta.ignored\`; with \`Prefer: handling=strict\` (RFC 7240) it is a 422.`

const slice_max_millis = 8
/** Returns an effect that lets other requests run once this work has used some milliseconds. */
const makePause = (): Effect.Effect<void> => {
  let since = performance.now()
  return Effect.suspend(() => {
    if (performance.now() - since < slice_max_millis) return Effect.void
    return Effect.map(Effect.yieldNow, () => {
      since = performance.now()
    })
  })
}

/** The complete description. `url`: the API's base URL. */
export const openApi = Effect.fnUntraced(function* (catalogue: Catalogue, url: string) {
  const pause = makePause()
  const endpoints = catalogue.endpoints.filter(
    ({ path }) => path.startsWith("/api/") || path.startsWith("/files/") || path.endsWith(".ics")
  )
  const answers = jsonSchemas()
  for (const schema of Object.values(errorSchemas)) answers.of(schema)
  const of_settings = settingsSchemas(catalogue.settings, answers)
  const paths: { [path: string]: Objects } = {}
  for (const endpoint of endpoints) {
    const of_path = (paths[endpoint.path] ??= {})
    const one = operation(endpoint, answers, catalogue.pathsOf(endpoint).slice(1))
    of_path[endpoint.method.toLowerCase()] =
      endpoint.path === settings_path ? ofGroups(one, Object.keys(catalogue.settings), of_settings) : one
    yield* pause
  }
  const schemas: Objects = { ...of_settings }
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
      contact: { name: "The operator of this server", url },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" }
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
          description: "API token. `x-ability` names the abilities an operation accepts; any one of them suffices."
        }
      },
      schemas,
      parameters: { "Idempotency-Key": idempotency_key, Prefer: prefer },
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
    abilities.length === 0 ? "Any token suffices." : `Ability: ${abilities.join(" or ")}.`,
    permissions.length === 0 ? "" : `Permission: ${permissions.join(" or ")}.`,
    endpoint.server_only ? "" : "Works offline too.",
    other_paths.length === 0 ? "" : `Also under ${other_paths.join(", ")}.`
  ]
    .filter((one) => one !== "")
    .join(" ")
}

const operation = (endpoint: Endpoint, answers: JsonSchemas, other_paths: ReadonlyArray<string>): JsonObject => {
  const isRead = endpoint.method === "GET"
  const takesBody = !isRead && (endpoint.method !== "DELETE" || Object.keys(endpoint.fields).length > 0)
  return {
    operationId: endpoint.name,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    description: `${endpoint.summary}. ${needsOf(endpoint, other_paths)}`,
    // Abilities are not given as scopes: only OAuth schemes have scopes, and linters require each to be in a flow.
    security: endpoint.public ? [] : [{ bearer: [] }],
    "x-ability": endpoint.ability,
    "x-permission": endpoint.permission,
    "x-price-weight": endpoint.metering_weight,
    parameters: [
      ...pathParameters(endpoint),
      ...queryParameters(endpoint),
      ...(endpoint.public ? [] : [{ $ref: "#/components/parameters/Prefer" }]),
      ...(keepsAnswers(endpoint) ? [{ $ref: "#/components/parameters/Idempotency-Key" }] : [])
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
  description: "Key that makes the request idempotent: repeats within a day get the first response"
}
const prefer: JsonObject = {
  name: "Prefer",
  in: "header",
  required: false,
  schema: { type: "string", enum: ["handling=strict", "handling=lenient"] },
  description:
    "With handling=strict, unknown parameters and body fields fail with 422; otherwise meta.ignored lists them"
}
const signed_body: JsonObject = {
  required: true,
  description:
    "Body as sent, at most 256 kB; the signature covers exactly these bytes. " +
    "Sources of kind generic send X-Signals-Signature, the hex HMAC-SHA256 of the body, " +
    "keyed with the whole secret; standard sends webhook-id, webhook-timestamp and webhook-signature " +
    "(standardwebhooks.com); stripe sends Stripe-Signature. The latter two are valid for 5 minutes. " +
    "The same body (generic) or id is processed once.",
  content: json({ type: "object", additionalProperties: true }, { example: { type: "payment.recorded", data: {} } })
}
const requestBody = (endpoint: Endpoint): JsonObject => {
  if (endpoint.raw_body) return signed_body
  const body = bodySchema(endpoint.fields, endpoint.mode)
  if (endpoint.uploads) {
    // Bodies with files are always forms.
    const form = withFile(body)
    return { required: true, content: { "multipart/form-data": { schema: form, example: exampleOf(form, {}) } } }
  }
  return { required: Array.isArray(body["required"]), content: json(body, { example: exampleOf(body, {}) }) }
}
const withFile = (body: JsonObject): JsonObject => ({
  ...body,
  properties: {
    ...(isJsonObject(body["properties"]) ? body["properties"] : {}),
    file: {
      type: "string",
      format: "binary",
      contentMediaType: "application/octet-stream",
      description: "File part of the form, with a file name"
    }
  },
  required: [...(Array.isArray(body["required"]) ? body["required"] : []), "file"]
})
