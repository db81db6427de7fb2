/** Declared fields as JSON Schema (2020-12, as OpenAPI 3.1 has it): what a body and a query string may hold. */
import type { Field, Fields, FieldType, TextFormat } from "../../core/kernel/field.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"

const formats: { readonly [F in TextFormat]: JsonObject } = {
  email: { format: "email" },
  url: { format: "uri" },
  time: { pattern: "^([01]\\d|2[0-3]):[0-5]\\d$" },
  zone: { description: "IANA time zone" },
  currency: { description: "ISO 4217 currency code", minLength: 3, maxLength: 3 },
  country: { description: "ISO 3166 country code", minLength: 2, maxLength: 2 },
  smtp: { format: "uri", pattern: "^smtps?://" },
  peppol: { pattern: "^\\d{4}:\\S{1,50}$" },
  slug: { pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" }
}
const labelled = (labels: { readonly [value: string]: string }): string =>
  Object.entries(labels)
    .map(([value, label]) => (value === label ? value : `${value}: ${label}`))
    .join(", ")

/** A time of day without a zone, which the format date-time does not allow. */
const zoneless = "^\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}"

const anyJson: JsonObject = {
  type: ["string", "number", "boolean", "object", "array"],
  additionalProperties: true,
  items: {}
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
            description:
              "A whole number is minor units (12550 is 125.50); a text or a number with a fraction is major units.",
            anyOf: [{ type: "integer" }, { type: "number" }, { type: "string" }]
          }
    case "decimal":
      return {
        anyOf: [{ type: "number" }, { type: "string" }],
        description: `Decimal, ${type.scale} places${type.min === undefined ? "" : `, from ${type.min}`}${type.max === undefined ? "" : `, to ${type.max}`}`
      }
    case "date":
      return { type: "string", format: "date" }
    case "timestamp":
      return {
        description: "ISO 8601; without a zone UTC, without a time midnight",
        anyOf: [
          { type: "string", format: "date-time" },
          { type: "string", format: "date" },
          { type: "string", pattern: zoneless }
        ]
      }
    case "choice":
      return { type: "string", enum: Object.keys(type.labels), description: labelled(type.labels) }
    case "code":
      return { type: "integer", enum: Object.keys(type.labels).map(Number), description: labelled(type.labels) }
    case "ref":
      return { type: "integer", minimum: 1, description: `Id in ${type.table.replaceAll("_", " ")}` }
    case "json":
      return type.form === "object"
        ? { type: "object", additionalProperties: true }
        : type.form === "array"
          ? { type: "array", items: {} }
          : anyJson
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
/** What may be sent: a null where it means absent (create) or something else than a refusal (update). */
export const schemaIn = (field: Field, mode: "create" | "update" = "create"): JsonObject => {
  const schema = described(
    field,
    orNull(shapeIn(field.type), mode === "create" ? !field.required : field.on_null !== "reject")
  )
  return mode === "update" || field.default === undefined || field.default === null
    ? schema
    : { ...schema, default: field.default }
}
/** One value of a query string, where nothing is null. */
export const schemaInQuery = (field: Field): JsonObject => {
  const schema = described(field, shapeIn(field.type))
  return field.default === undefined || field.default === null ? schema : { ...schema, default: field.default }
}

const orNull = (schema: JsonObject, nullable: boolean): JsonObject => {
  if (!nullable) return schema
  const { type } = schema
  if (typeof type === "string" || Array.isArray(type))
    return {
      ...schema,
      type: [...([type].flat() as ReadonlyArray<Json>), "null"],
      ...(Array.isArray(schema["enum"]) ? { enum: [...schema["enum"], null] } : {})
    }
  if (Array.isArray(schema["anyOf"]))
    return { ...schema, anyOf: [...(schema["anyOf"] as ReadonlyArray<Json>), { type: "null" }] }
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

/** The object a body is: unknown keys are ignored. */
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
