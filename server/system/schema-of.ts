/** Declared fields as JSON Schema (2020-12, as OpenAPI 3.1 has it): what a body may hold, what an answer does. */
import type { Field, Fields, Shape, TextFormat } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Resource } from "../../core/kernel/resource.ts"

const formats: { readonly [F in TextFormat]: JsonObject } = {
  email: { format: "email" }, url: { format: "uri" }, time: { pattern: "^([01]\\d|2[0-3]):[0-5]\\d$" },
  zone: { description: "IANA time zone" }, currency: { description: "ISO 4217 currency code", minLength: 3, maxLength: 3 },
  country: { description: "ISO 3166 country code", minLength: 2, maxLength: 2 }, slug: { pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" }
}
const labelled = (labels: { readonly [value: string]: string }): string =>
  Object.entries(labels).map(([value, label]) => value === label ? value : `${value}: ${label}`).join(", ")
const decimalText = (scale: number): JsonObject => ({ type: "string", pattern: `^-?\\d+(\\.\\d{1,${Math.max(scale, 1)}})?$` })

const shapeIn = (shape: Shape): JsonObject => {
  switch (shape.kind) {
    case "text": return { type: "string", maxLength: shape.max, ...(shape.length === undefined ? {} : { minLength: shape.length }), ...(shape.format === undefined ? {} : formats[shape.format]) }
    case "integer": return { type: "integer", minimum: shape.min, maximum: shape.max }
    case "boolean": return { type: "boolean" }
    case "money": return shape.minor_only
      ? { type: "integer", description: "Minor units" }
      : { description: "A whole number is minor units (12550 is 125.50); a text or a number with a fraction is major units.", anyOf: [{ type: "integer" }, { type: "number" }, { type: "string" }] }
    case "decimal": return { anyOf: [{ type: "number" }, { type: "string" }], description: `Decimal, ${shape.scale} places${shape.min === undefined ? "" : `, from ${shape.min}`}${shape.max === undefined ? "" : `, to ${shape.max}`}` }
    case "date": return { type: "string", format: "date" }
    case "timestamp": return { type: "string", description: "ISO 8601; without a zone UTC, without a time midnight" }
    case "choice": return { type: "string", enum: Object.keys(shape.labels), description: labelled(shape.labels) }
    case "code": return { type: "integer", enum: Object.keys(shape.labels).map(Number), description: labelled(shape.labels) }
    case "ref": return { type: "integer", minimum: 1, description: `Id in ${shape.table.replaceAll("_", " ")}` }
    case "json": return shape.form === "object" ? { type: "object", additionalProperties: true } : shape.form === "array" ? { type: "array", items: {} } : {}
    case "list": return { type: "array", items: schemaIn(shape.of), ...(shape.min_items > 0 ? { minItems: shape.min_items } : {}), maxItems: shape.max_items }
    case "object": return bodySchema(shape.fields, "create")
  }
}
/** What may be sent. */
export const schemaIn = (field: Field): JsonObject => described(field, orNull(shapeIn(field.shape), field.nullable || !field.required))

const shapeOut = (shape: Shape): JsonObject => {
  switch (shape.kind) {
    case "text": return { type: "string" }
    case "money": return { type: "string", description: "Major units at the currency's scale" }
    case "decimal": return decimalText(shape.scale)
    case "timestamp": return { type: "string", format: "date-time" }
    case "ref": return { type: "integer", description: `Id in ${shape.table.replaceAll("_", " ")}` }
    case "integer": return { type: "integer" }
    case "list": return { type: "array", items: schemaOut(shape.of) }
    case "object": return { type: "object", properties: Object.fromEntries(Object.entries(shape.fields).map(([name, field]) => [name, schemaOut(field)])) }
    default: return shapeIn(shape)
  }
}
/** What an answer holds. */
export const schemaOut = (field: Field): JsonObject => described(field, orNull(shapeOut(field.shape), field.nullable))

const orNull = (schema: JsonObject, nullable: boolean): JsonObject => {
  if (!nullable) return schema
  if (typeof schema["type"] === "string") return { ...schema, type: [schema["type"], "null"], ...(Array.isArray(schema["enum"]) ? { enum: [...schema["enum"], null] } : {}) }
  if (Array.isArray(schema["anyOf"])) return { ...schema, anyOf: [...schema["anyOf"], { type: "null" }] }
  return schema
}
const described = (field: Field, schema: JsonObject): JsonObject => {
  const words = [field.describe, schema["description"], field.visible_to === undefined ? undefined : `Only with the permission ${field.visible_to}.`].filter((one) => one !== undefined)
  return { ...schema, ...(words.length === 0 ? {} : { description: words.join(". ").replaceAll("..", ".") }), ...(field.default === undefined || field.default === null ? {} : { default: field.default }) }
}

/** The object a body is: unknown keys are ignored. */
export const bodySchema = (fields: Fields, mode: "create" | "update"): JsonObject => {
  const taken = Object.entries(fields).filter(([, field]) => !field.computed && !(field.create_only && mode === "update"))
  const required = mode === "update" ? [] : taken.filter(([, field]) => field.required).map(([name]) => name)
  return {
    type: "object", properties: Object.fromEntries(taken.map(([name, field]) => [name, schemaIn(field)])),
    ...(required.length === 0 ? {} : { required }), additionalProperties: true
  }
}

/** A resource as it is shown. What a view adds to its columns is not declared anywhere, hence the open end. */
export const resourceSchema = (resource: Resource): JsonObject => {
  const columns = Object.entries(resource.table.columns).filter(([name, field]) => !field.hidden && name !== "deleted_at")
  return {
    type: "object",
    properties: {
      ...Object.fromEntries(columns.map(([name, field]) => [name, schemaOut(field)])),
      ...Object.fromEntries(Object.entries(resource.includes).filter(([, include]) => include.kind !== "always").map(([name, include]) =>
        [name, { type: [include.kind === "many" ? "array" : "object", "null"], description: `With include=${name}` }]))
    },
    additionalProperties: true
  }
}
