/** The interface described for machines: OpenAPI 3.1, made from the endpoint tables, so that it cannot fall behind them. */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { type Endpoint, operationOf, paramNames, resourceOf } from "../../core/kernel/endpoint.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { predicates } from "../../core/kernel/query.ts"
import type { Resource } from "../../core/kernel/resource.ts"
import { interfaceOf } from "./catalogue-rows.ts"
import { bodySchema, resourceSchema, schemaIn } from "./schema-of.ts"

type Objects = { [name: string]: Json }

const words = (name: string): string => name.replaceAll("_", " ")
const title = (name: string): string => words(name).replace(/^./, (letter) => letter.toUpperCase())
const schemaName = (singular: string): string => singular.split("_").map(title).join("")
const refTo = (resource: Resource): JsonObject => ({ $ref: `#/components/schemas/${schemaName(resource.singular)}` })

/** The whole description. `version` of the interface; `url` where it is served. */
export const openApi = (catalogue: Catalogue, url: string): JsonObject => {
  const endpoints = interfaceOf(catalogue)
  const resources = new Map(catalogue.resources.map((resource) => [resource.plural, resource]))
  const paths: { [path: string]: Objects } = {}
  for (const endpoint of endpoints) (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint, resources, catalogue.pathsOf(endpoint).slice(1))
  const tags = [...new Set(endpoints.map(tagOf))].sort()
  return {
    openapi: "3.1.0",
    info: {
      title: "Flightcase", version: "1",
      description: "The back office of an equipment-rental business. Money leaves as decimal texts at the currency's scale; timestamps are UTC with milliseconds."
    },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "A token. Each operation names the ability the token must carry." } },
      schemas: { ...Object.fromEntries(catalogue.resources.map((resource) => [schemaName(resource.singular), resourceSchema(resource)])), Message: message, Invalid: invalid, Meta: meta },
      headers: {
        "X-RateLimit-Limit": { description: "Requests this token may make a minute", schema: { type: "integer" } },
        "X-RateLimit-Remaining": { description: "How many are left in this minute", schema: { type: "integer" } },
        "X-Request-Id": { description: "The id sent along, or one made up; logs name it", schema: { type: "string" } }
      },
      responses: errors
    }
  }
}

const message: JsonObject = { type: "object", properties: { message: { type: "string" } }, required: ["message"] }
const invalid: JsonObject = {
  type: "object", required: ["message", "errors"],
  properties: { message: { type: "string" }, errors: { type: "object", additionalProperties: { type: "array", items: { type: "string" } } } }
}
const meta: JsonObject = {
  type: "object", required: ["total", "per_page", "page"],
  properties: { total: { type: "integer" }, per_page: { type: "integer" }, page: { type: "integer" } }, additionalProperties: true
}
const headers: JsonObject = Object.fromEntries(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-Request-Id"].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
const json = (schema: JsonObject): JsonObject => ({ "application/json": { schema } })
const error = (description: string, schema = "Message"): JsonObject => ({ description, headers, content: json({ $ref: `#/components/schemas/${schema}` }) })
const errors: JsonObject = {
  "401": error("No valid token"), "403": error("The account is deactivated, or a permission or an ability is missing"),
  "404": error("There is no such thing"), "409": error("In conflict with what is"), "413": error("The body is too long"), "415": error("The content type is not taken"),
  "422": error("What was sent does not hold", "Invalid"), "429": error("Too many requests; Retry-After says when to come back"), "500": error("Something went wrong in the server")
}
const errorRef = (status: string): JsonObject => ({ $ref: `#/components/responses/${status}` })

const tagOf = (endpoint: Endpoint): string => title(resourceOf(endpoint) || operationOf(endpoint))

/** The resource an endpoint lists, shows or changes: by its route's name, or by what its path ends in. */
const subjectOf = (endpoint: Endpoint, resources: ReadonlyMap<string, Resource>): Resource | undefined =>
  resources.get(resourceOf(endpoint)) ?? resources.get(endpoint.path.split("/").filter((part) => !part.startsWith("{")).at(-1) ?? "")

const operation = (endpoint: Endpoint, resources: ReadonlyMap<string, Resource>, other_paths: ReadonlyArray<string>): JsonObject => {
  const abilities = endpoint.ability === null ? [] : [endpoint.ability].flat()
  const permissions = endpoint.permission === null ? [] : [endpoint.permission].flat()
  const needs = [
    abilities.length === 0 ? "" : `Ability: ${abilities.join(" or ")}.`,
    permissions.length === 0 ? "" : `Permission: ${permissions.join(" or ")}.`,
    other_paths.length === 0 ? "" : `Also under ${other_paths.join(", ")}.`
  ].filter((one) => one !== "").join(" ")
  const subject = subjectOf(endpoint, resources)
  const isRead = endpoint.method === "GET"
  const takesBody = !isRead && (endpoint.method !== "DELETE" || Object.keys(endpoint.fields).length > 0)
  const body = bodySchema(endpoint.fields, endpoint.mode)
  return {
    operationId: endpoint.name, tags: [tagOf(endpoint)], summary: endpoint.summary,
    ...(needs === "" ? {} : { description: needs }),
    security: endpoint.public ? [] : abilities.length === 0 ? [{ bearer: [] }] : abilities.map((ability) => ({ bearer: [ability] })),
    "x-permission": endpoint.permission as Json, "x-price-weight": endpoint.weight,
    parameters: [...pathParameters(endpoint), ...(isRead ? queryParameters(endpoint, subject) : [])],
    ...(takesBody ? { requestBody: {
      required: Array.isArray(body["required"]),
      content: { ...json(body), ...(endpoint.uploads ? { "multipart/form-data": { schema: withFile(body) } } : {}) }
    } } : {}),
    responses: { ...success(endpoint, subject), ...failures(endpoint) }
  }
}

const withFile = (body: JsonObject): JsonObject =>
  ({ ...body, properties: { ...body["properties"] as JsonObject, file: { type: "string", contentMediaType: "application/octet-stream" } } })

const pathParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> => paramNames(endpoint.path).map((name) => {
  const param = (endpoint.params as { readonly [name: string]: { readonly table: { readonly key: string; readonly entity: string; readonly columns: { readonly [column: string]: { readonly shape: { readonly kind: string } } } } } })[name]
  const isText = param === undefined || param.table.columns[param.table.key]?.shape.kind === "text"
  return {
    name, in: "path", required: true, schema: isText ? { type: "string" } : { type: "integer", minimum: 1 },
    ...(param === undefined ? {} : { description: `Id of the ${words(param.table.entity)}` })
  }
})

const isList = (endpoint: Endpoint): boolean => endpoint.method === "GET" && operationOf(endpoint) === "list"
const query = (name: string, schema: JsonObject, description?: string): JsonObject =>
  ({ name, in: "query", required: false, schema, ...(description === undefined ? {} : { description }) })

const queryParameters = (endpoint: Endpoint, subject: Resource | undefined): ReadonlyArray<JsonObject> => {
  const own = Object.entries(bodyFields(endpoint)).map(([name, { schema, required }]): JsonObject => ({ ...query(name, schema), required }))
  const named = new Set(own.map((one) => one["name"]))
  const standard = subject === undefined ? [] : [
    ...(isList(endpoint) ? [
      query("page", { type: "integer", minimum: 1, default: 1 }), query("per_page", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
      query("sort", { type: "string", enum: subject.sorts.flatMap((name) => [name, `-${name}`]) }, "A leading hyphen: descending"),
      ...(subject.lists_archived ? [query("archived", { type: "string", enum: ["with", "only"] }, "Deleted ones too, or nothing else; without it they are left out")] : []),
      query("view_id", { type: "integer", minimum: 1 }, "A custom view: its columns, filters, sort and page size, where they are not asked for"),
      {
        name: "q", in: "query", required: false, style: "deepObject", explode: true,
        description: `q[<field>_<predicate>]=value. Fields: ${[...subject.filters, ...Object.keys(subject.aliases), ...Object.keys(subject.related)].join(", ")}${subject.custom_module === undefined ? "" : ", cf.<custom field>"}. Predicates: ${predicates.toSorted().join(", ")}.`,
        schema: { type: "object", additionalProperties: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] } }
      }
    ] : []),
    ...(Object.keys(subject.includes).length === 0 ? [] : [query("include", { type: "string" }, `Comma-separated: ${Object.keys(subject.includes).join(", ")}`)])
  ]
  return [...own, ...standard.filter((one) => !named.has(one["name"] as string))]
}
const bodyFields = (endpoint: Endpoint): { readonly [name: string]: { readonly schema: JsonObject; readonly required: boolean } } =>
  Object.fromEntries(Object.entries(endpoint.fields as Parameters<typeof bodySchema>[0]).filter(([, field]) => !field.computed)
    .map(([name, field]) => [name, { schema: schemaIn(field), required: field.required }]))

const success = (endpoint: Endpoint, subject: Resource | undefined): JsonObject => {
  const operation = operationOf(endpoint)
  if (endpoint.produces !== undefined) return { "200": { description: "As asked", headers, content: { [endpoint.produces]: { schema: { type: "string" } } } } }
  if (endpoint.method === "DELETE" && endpoint.answers === undefined) return { "204": { description: "Done", headers } }
  const whole: JsonObject = subject === undefined ? { type: "object" }
    : isList(endpoint) ? {
      type: "object", required: [subject.plural, "meta"],
      properties: { [subject.plural]: { type: "array", items: refTo(subject) }, meta: { $ref: "#/components/schemas/Meta" } }
    }
    : operation === "show" || operation === "create" || operation === "update"
      ? { type: "object", required: [subject.singular], properties: { [subject.singular]: refTo(subject) } }
      : { type: "object" }
  if (endpoint.answers !== undefined) return { [endpoint.answers]: { description: "As asked", headers, content: json(whole) } }
  const status = endpoint.kind === "command" && endpoint.method === "POST" && (operation === "create" || operation === "duplicate" || operation === "clone") ? "201" : "200"
  const found: JsonObject = { description: "As asked", headers, content: json(whole) }
  return endpoint.method === "POST" && status === "200" && endpoint.kind === "command" ? { "200": found, "201": found } : { [status]: found }
}

const failures = (endpoint: Endpoint): JsonObject => {
  const isRead = endpoint.method === "GET"
  const statuses = [
    ...(endpoint.public ? [] : ["401", "403"]),
    ...(paramNames(endpoint.path).length > 0 ? ["404"] : []),
    ...(isRead ? [] : ["413", "415"]),
    ...(isRead && Object.keys(endpoint.fields).length === 0 ? [] : ["422"]),
    "429", "500"
  ]
  return Object.fromEntries(statuses.map((status) => [status, errorRef(status)]))
}
