/** A row of any declared table with valid but meaningless values, so that every path finds one. */
import type { Field, Fields, Json, JsonObject } from "../../core/kernel/fields/field.ts"
import type { AnyRow, Table } from "../../core/kernel/tables/table.ts"

export const row_id = 777
/** A digit, as some texts hold numbers. */
export const text_value = "1"

/** Texts by format; of others any text is valid. */
const texts: { readonly [format: string]: string } = {
  email: "a@example.com",
  url: "https://example.com",
  zone: "UTC",
  language: "en-GB",
  currency: "GBP",
  country: "GB",
  time: "09:00"
}
const anyValue = (name: string, field: Field): Json => {
  const { type } = field
  if (field.default !== undefined && field.default !== null) return field.default
  if (field.nullable) return null
  switch (type.kind) {
    case "text":
      return texts[type.format ?? ""] ?? text_value.repeat(type.length ?? 1)
    case "integer":
      return name === "id" ? row_id : Math.max(1, type.min)
    case "boolean":
      return name === "is_active"
    case "money":
      return 100
    case "decimal":
      return (1).toFixed(type.scale)
    case "date":
      return "2026-06-18"
    case "timestamp":
      return "2026-06-18T09:00:00.000Z"
    case "choice":
      return Object.keys(type.labels)[0]!
    case "code":
      return Number(Object.keys(type.labels)[0]!)
    case "ref":
      return row_id
    case "json":
      return type.form === "array" ? [] : {}
    case "list":
      return []
    case "object":
      return anyBody(type.fields)
  }
}
export const anyBody = (fields: Fields): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, anyValue(name, field)]))
export const anyRow = (table: Table): AnyRow => ({
  ...anyBody(table.columns),
  ...(table.columns["deleted_at"] === undefined ? {} : { deleted_at: null })
})
