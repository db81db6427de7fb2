/** Declared fields as JSON Schema (2020-12, as in OpenAPI 3.1): bodies and query strings. */
import type { Endpoint, FieldType, JsonObject, TextFormat } from "../../../core/kernel/index.ts"
import { type Field, type Fields, meaningOf, paramNames, predicates } from "../../../core/kernel/index.ts"
import { subjectOf } from "../../../core/kernel/endpoints/ignored.ts"
import { kindOf, type ShownResource } from "../../../core/kernel/lists/answer-schema.ts"
import { title, words } from "./responses.ts"

const formats: { readonly [F in TextFormat]: JsonObject } = {
  email: { format: "email" },
  url: { format: "uri" },
  time: { pattern: "^([01]\\d|2[0-3]):[0-5]\\d$" },
  zone: { description: "IANA time zone" },
  language: { description: "Language tag (BCP 47)" },
  currency: { description: "ISO 4217 currency code", minLength: 3, maxLength: 3 },
  country: { description: "ISO 3166 country code", minLength: 2, maxLength: 2 },
  smtp: { format: "uri", pattern: "^smtps?://" },
  peppol: { pattern: "^\\d{4}:\\S{1,50}$" },
  slug: { pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" }
}

/** Pattern of a time without a zone, which the format date-time forbids. */
const zoneless = "^\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}"

const json_forms: { readonly [F in (FieldType & { readonly kind: "json" })["form"]]: JsonObject } = {
  object: { type: "object", additionalProperties: true },
  array: { type: "array", items: {} },
  any: { type: ["string", "number", "boolean", "object", "array"], additionalProperties: true, items: {} }
}

const shapeIn = (type: FieldType): JsonObject => {
  switch (type.kind) {
    case "text":
      return {
        type: "string",
        maxLength: type.max,
        ...(type.length === undefined ? {} : { minLength: type.length }),
        ...(type.format === undefined ? {} : formats[type.format])
      }
    case "integer":
      return { type: "integer", minimum: type.min, maximum: type.max }
    case "boolean":
      return { type: "boolean" }
    case "money":
      return type.minor_only
        ? { type: "integer", description: "Minor units" }
        : {
            description: "Integers are minor units (12550 is 125.50); strings and fractions are major units.",
            anyOf: [{ type: "integer" }, { type: "number" }, { type: "string" }]
          }
    case "decimal":
      return {
        anyOf: [{ type: "number" }, { type: "string" }],
        description: `Decimal with a scale of ${type.scale}${type.min === undefined ? "" : `, at least ${type.min}`}${type.max === undefined ? "" : `, at most ${type.max}`}`
      }
    case "date":
      return { type: "string", format: "date" }
    case "timestamp":
      return {
        description: "ISO 8601; UTC if no zone is given, midnight if no time",
        anyOf: [
          { type: "string", format: "date-time" },
          { type: "string", format: "date" },
          { type: "string", pattern: zoneless }
        ]
      }
    case "choice":
      return { type: "string", enum: Object.keys(type.labels), ...meaningOf(type) }
    case "code":
      return { type: "integer", enum: Object.keys(type.labels).map(Number), ...meaningOf(type) }
    case "ref":
      return { type: "integer", minimum: 1, ...meaningOf(type) }
    case "json":
      return json_forms[type.form]
    case "list":
      return {
        type: "array",
        items: described(type.of, orNull(shapeIn(type.of.type), type.of.nullable)),
        ...(type.min_items > 0 ? { minItems: type.min_items } : {}),
        maxItems: type.max_items
      }
    case "object":
      return bodySchema(type.fields, "create")
  }
}
/** Schema of a field in a body; also allows null where that means absent (create) or is accepted (update). */
const schemaIn = (field: Field, mode: "create" | "update" = "create"): JsonObject => {
  const schema = described(
    field,
    orNull(shapeIn(field.type), mode === "create" ? !field.required : field.on_null !== "reject")
  )
  return mode === "update" || field.default === undefined || field.default === null
    ? schema
    : { ...schema, default: field.default }
}
/** Schema of one value in a query string, where null does not exist. */
const schemaInQuery = (field: Field): JsonObject => {
  const schema = described(field, shapeIn(field.type))
  return field.default === undefined || field.default === null ? schema : { ...schema, default: field.default }
}

const orNull = (schema: JsonObject, nullable: boolean): JsonObject => {
  if (!nullable) return schema
  const { type } = schema
  if (typeof type === "string" || Array.isArray(type))
    return {
      ...schema,
      type: [...[type].flat(), "null"],
      ...(Array.isArray(schema["enum"]) ? { enum: [...schema["enum"], null] } : {})
    }
  if (Array.isArray(schema["anyOf"])) return { ...schema, anyOf: [...schema["anyOf"], { type: "null" }] }
  return "$ref" in schema ? { anyOf: [schema, { type: "null" }] } : schema
}
const described = (field: Field, schema: JsonObject): JsonObject => {
  const words = [
    field.describe,
    schema["description"],
    field.visible_to === undefined ? undefined : `Only with the permission ${field.visible_to}.`
  ].filter((one) => one !== undefined)
  return { ...schema, ...(words.length === 0 ? {} : { description: words.join(". ").replaceAll("..", ".") }) }
}

/** Schema of a body: an object in which unknown keys are ignored. */
export const bodySchema = (fields: Fields, mode: "create" | "update"): JsonObject => {
  const taken = Object.entries(fields).filter(
    ([, field]) => !field.computed && !(field.create_only && mode === "update")
  )
  const required = mode === "update" ? [] : taken.filter(([, field]) => field.required).map(([name]) => name)
  return {
    type: "object",
    properties: Object.fromEntries(taken.map(([name, field]) => [name, schemaIn(field, mode)])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: true
  }
}

// Path and query parameters of an operation, described for OpenAPI.

/** Descriptions of path parameters that do not identify a row, by name. */
const in_paths: { readonly [name: string]: string } = {
  group: "A group of settings, such as company",
  id: "ISO 4217 code of the currency, or its id",
  sha256: "SHA-256 of the file's content, in hex",
  source: "Name of the inbound source",
  type: "Kind of document, such as quotation",
  user: "Id of the user",
  uuid: "UUID of the file"
}
/** Path parameters of an endpoint; those that identify a row have the type of its table's key. */
export const pathParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> =>
  paramNames(endpoint.path).map((name) => {
    const param = endpoint.params[name]
    const isText = param === undefined || param.table.columns[param.table.key]?.type.kind === "text"
    return {
      name,
      in: "path",
      required: true,
      schema: isText ? { type: "string" } : { type: "integer", minimum: 1 },
      description:
        param === undefined ? (in_paths[name] ?? `The ${words(name)}`) : `Id of the ${words(param.table.entity)}`
    }
  })

const query = (name: string, schema: JsonObject, description: string): JsonObject => ({
  name,
  in: "query",
  required: false,
  schema,
  description
})

/** Query parameters: the fields of a read, and those common to all lists or resources. */
export const queryParameters = (endpoint: Endpoint): ReadonlyArray<JsonObject> => {
  const own = ownParameters(endpoint.method === "GET" ? endpoint.fields : endpoint.query)
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
/** Schema of a list as a repeated parameter; the description names the other accepted forms. */
const listForms = (name: string, field: Field, description: string): JsonObject => {
  const one = field.type.kind === "list" && field.type.of.type.kind === "text" ? ["a", "b"] : ["1", "2"]
  return {
    style: "form",
    explode: true,
    description: `${description}. Accepts ${name}=${one[0]}&${name}=${one[1]}, ${name}=${one.join(",")} or ${name}[]=${one[0]}&${name}[]=${one[1]}`
  }
}
const listParameters = (subject: ShownResource): ReadonlyArray<JsonObject> => [
  query("page", { type: "integer", minimum: 1, default: 1 }, "Page number, from 1"),
  query("per_page", { type: "integer", minimum: 1, maximum: 100, default: 20 }, "Rows per page"),
  query(
    "sort",
    { type: "string", enum: subject.sorts.flatMap((name) => [name, `-${name}`]) },
    "Sort field; a leading hyphen sorts descending"
  ),
  ...(subject.lists_archived
    ? [
        query(
          "archived",
          { type: "string", enum: ["with", "only"] },
          "Include deleted rows, or list only them; default: neither"
        )
      ]
    : []),
  query(
    "view_id",
    { type: "integer", minimum: 1 },
    "Custom view whose filters, sort and page size apply unless given here; " +
      "rows contain only the id and the view's columns"
  ),
  {
    name: "q",
    in: "query",
    required: false,
    style: "deepObject",
    explode: true,
    description: `q[<field>_<predicate>]=value. Fields: ${[...subject.filters, ...Object.keys(subject.aliases), ...Object.keys(subject.related)].join(", ")}${subject.custom_module === undefined ? "" : ", cf.<custom field>"}. Predicates: ${predicates.toSorted().join(", ")}; several values of in and not_in are separated by commas.`,
    schema: { type: "object", additionalProperties: { type: "string" } }
  }
]
