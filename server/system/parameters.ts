/** What an operation takes from its path and its query string, described for OpenAPI. */
import { type Endpoint, type Params, paramNames } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { predicates } from "../../core/kernel/query.ts"
import { isSchema, kindOf, type Part, type ShownResource } from "../../core/kernel/answer-schema.ts"
import { title, words } from "./titles.ts"
import { schemaInQuery } from "./schema-of.ts"

/** Every parameter in the path; whether it is a number follows from the key of the table it names. */
export const pathParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> =>
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

/** What is read from the query string: the fields of a read, and what every list and every resource take. */
export const queryParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> => {
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
/** A list is described as a repeated parameter; the description names the other forms that are accepted. */
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

/** The resource an answer is of: a page of its rows, or one of them under its singular key. */
const subjectOf = (answer: Part | undefined): ShownResource | undefined => {
  const kind = answer === undefined ? undefined : kindOf(answer)
  if (kind?.kind === "page") return kind.resource()
  if (kind?.kind !== "keys") return undefined
  const [[name, first] = []] = Object.entries(kind.keys)
  const inner = first === undefined || !isSchema(first) ? undefined : kindOf(first)
  if (inner?.kind !== "row") return undefined
  const resource = inner.resource()
  return resource.singular === name ? resource : undefined
}
