/** The interface described for machines: OpenAPI 3.1, made from the endpoint tables, so that it cannot fall behind them. */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { type Endpoint, operationOf, type Params, paramNames, resourceOf } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { predicates } from "../../core/kernel/query.ts"
import { kindOf, type ShownResource } from "../../core/kernel/answer-schema.ts"
import { keepsAnswers } from "../idempotency/slice.ts"
import { type AnswerSchemas, answerSchemas, subjectOf } from "./answers.ts"
import { interfaceOf } from "./catalogue-rows.ts"
import { exampleOf, withExamples } from "./examples.ts"
import { components, responsesOf } from "./responses.ts"
import { bodySchema, schemaInQuery } from "./schema-of.ts"

type Objects = { [name: string]: Json }

const words = (name: string): string => name.replaceAll("_", " ")
const title = (name: string): string => words(name).replace(/^./, (letter) => letter.toUpperCase())

const about = `The back office of an equipment-rental business. Money leaves as decimal texts at the currency's scale; timestamps are UTC with milliseconds.

Answers may get further keys with time: pass over those you do not know. What is sent beside the described fields is ignored.`

/** The whole description. `url`: where the interface is reached. */
export const openApi = (catalogue: Catalogue, url: string): JsonObject => {
  const endpoints = interfaceOf(catalogue)
  const answers = answerSchemas(endpoints)
  const paths: { [path: string]: Objects } = {}
  for (const endpoint of endpoints)
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(
      endpoint,
      answers,
      catalogue.pathsOf(endpoint).slice(1)
    )
  const tags = Map.groupBy(endpoints, tagOf)
  const headers = new Map(
    endpoints.flatMap((endpoint) => Object.entries(endpoint.answer_headers as { [name: string]: string }))
  )
  const parts = components(answers, headers)
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
    tags: [...tags]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => ({ name, description: of.map((endpoint) => endpoint.summary).join(". ") })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A token. Each operation names the ability the token must carry."
        }
      },
      ...parts,
      schemas: withExamples(parts["schemas"] as { readonly [name: string]: JsonObject })
    }
  }
}
const json = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({ "application/json": { schema, ...more } })

const tagOf = (endpoint: Endpoint): string => title(resourceOf(endpoint) || operationOf(endpoint))

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

const operation = (endpoint: Endpoint, answers: AnswerSchemas, other_paths: ReadonlyArray<string>): JsonObject => {
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
const requestBody = (endpoint: Endpoint): JsonObject => {
  const body = bodySchema(endpoint.fields, endpoint.mode)
  const example = { example: exampleOf(body, {}) }
  return {
    required: Array.isArray(body["required"]),
    content: {
      ...json(body, example),
      ...(endpoint.uploads
        ? { "multipart/form-data": { schema: withFile(body), example: exampleOf(withFile(body), {}) } }
        : {})
    }
  }
}
const withFile = (body: JsonObject): JsonObject => ({
  ...body,
  properties: {
    ...(body["properties"] as JsonObject),
    file: { type: "string", contentMediaType: "application/octet-stream" }
  }
})

const pathParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> =>
  paramNames(endpoint.path).map((name) => {
    const param = (endpoint.params as Params)[name]
    const isText = param === undefined || param.table.columns[param.table.key]?.type.kind === "text"
    return {
      name,
      in: "path",
      required: true,
      schema: isText ? { type: "string" } : { type: "integer", minimum: 1 },
      description: param === undefined ? `The ${words(name)}` : `Id of the ${words(param.table.entity)}`
    }
  })

const query = (name: string, schema: JsonObject, description: string): JsonObject => ({
  name,
  in: "query",
  required: false,
  schema,
  description
})

/** What is read from the query string: the fields of a read, and what lists and resources take. */
const queryParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> => {
  const own = endpoint.method === "GET" ? ownParameters(endpoint.fields) : []
  const named = new Set(own.map((one) => one["name"]))
  const subject = subjectOf(endpoint.answer)
  const standard =
    subject === undefined
      ? []
      : [
          ...(endpoint.answer !== undefined && kindOf(endpoint.answer)?.kind === "page" ? listParameters(subject) : []),
          ...(Object.keys(subject.includes).length === 0
            ? []
            : [query("include", { type: "string" }, `Comma-separated: ${Object.keys(subject.includes).join(", ")}`)])
        ]
  return [...own, ...standard.filter((one) => !named.has(one["name"]!))]
}
const ownParameters = (fields: Fields): ReadonlyArray<JsonObject> =>
  Object.entries(fields)
    .filter(([, field]) => !field.computed)
    .map(([name, field]) => {
      const { description = title(name), ...schema } = schemaInQuery(field)
      const parameter = { ...query(name, schema, String(description)), required: field.required }
      return field.type.kind === "list" ? { ...parameter, ...listForms(name, field, String(description)) } : parameter
    })
/** A list is described as repeated; the other forms that are taken are told in words. */
const listForms = (name: string, field: Field, description: string): JsonObject => {
  const one = field.type.kind === "list" && field.type.of.type.kind === "text" ? ["a", "b"] : ["1", "2"]
  return {
    style: "form",
    explode: true,
    description: `${description}. Taken as ${name}=${one[0]}&${name}=${one[1]}, as ${name}=${one.join(",")} and as ${name}[]=${one[0]}&${name}[]=${one[1]}`
  }
}
const listParameters = (subject: ShownResource): ReadonlyArray<JsonObject> => [
  query("page", { type: "integer", minimum: 1, default: 1 }, "Which page, from 1"),
  query("per_page", { type: "integer", minimum: 1, maximum: 100, default: 20 }, "Rows a page"),
  query(
    "sort",
    { type: "string", enum: subject.sorts.flatMap((name) => [name, `-${name}`]) },
    "A leading hyphen: descending"
  ),
  ...(subject.lists_archived
    ? [
        query(
          "archived",
          { type: "string", enum: ["with", "only"] },
          "Deleted ones too, or nothing else; without it they are left out"
        )
      ]
    : []),
  query(
    "view_id",
    { type: "integer", minimum: 1 },
    "A custom view: its columns, filters, sort and page size, where they are not asked for"
  ),
  {
    name: "q",
    in: "query",
    required: false,
    style: "deepObject",
    explode: true,
    description: `q[<field>_<predicate>]=value. Fields: ${[...subject.filters, ...Object.keys(subject.aliases), ...Object.keys(subject.related)].join(", ")}${subject.custom_module === undefined ? "" : ", cf.<custom field>"}. Predicates: ${predicates.toSorted().join(", ")}.`,
    schema: {
      type: "object",
      additionalProperties: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }
    }
  }
]
