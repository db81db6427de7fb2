/**
 * Reads submitted configs by their schema: hidden and unknown values are dropped, the others are checked and converted,
 * absent ones stay absent (rules/rates 2). Error keys are dotted: `modifier_configs.factor.ranges.0.from`.
 */
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import { compareDecimals, isPlainDecimalText } from "../values/decimal.ts"
import { parseTimeOfDay } from "../values/moment.ts"
import type { ConfigField, RepeaterField, ValueField } from "./config-schema.ts"

interface ReadConfig {
  readonly stored: JsonObject
  readonly errors: { readonly [field: string]: ReadonlyArray<string> }
}

/** Reads one config. `path` prefixes the error keys: `strategy_config`. */
export const readConfig = (fields: ReadonlyArray<ConfigField>, submitted: JsonObject, path: string): ReadConfig =>
  merge(
    fields.map((field) => {
      if (field.type === "repeater") return readRepeater(field, submitted[field.key], `${path}.${field.key}`)
      if (field.type !== "group") return readValue(field, submitted, path)
      // Hidden or not depends on what was submitted: an absent day_type is not "business", whatever the form's default.
      const visible = field.visible_when.every((rule) => submitted[rule.field] === rule.value)
      return visible ? merge(field.fields.map((inner) => readValue(inner, submitted, path))) : nothing
    })
  )

const nothing: ReadConfig = { stored: {}, errors: {} }
const merge = (parts: ReadonlyArray<ReadConfig>): ReadConfig => ({
  stored: Object.assign({}, ...parts.map(({ stored }) => stored)),
  errors: Object.assign({}, ...parts.map(({ errors }) => errors))
})

const readRepeater = (field: RepeaterField, value: Json | undefined, path: string): ReadConfig => {
  if (value === undefined) return nothing
  if (value === null) return { stored: { [field.key]: [] }, errors: {} }
  const refused = (text: string): ReadConfig => ({ stored: {}, errors: { [path]: [`The ${field.key} ${text}`] } })
  if (!isJsonArray(value)) return refused("must be an array.")
  if (value.length < field.min_items) return refused(`must have at least ${field.min_items} item.`)
  const rows = value.map((row, index) =>
    merge(field.fields.map((inner) => readValue(inner, isJsonObject(row) ? row : {}, `${path}.${index}`)))
  )
  return { stored: { [field.key]: rows.map(({ stored }) => stored) }, errors: merge(rows).errors }
}

const isJsonArray = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const readValue = (field: ValueField, submitted: JsonObject, path: string): ReadConfig => {
  const sent = submitted[field.key]
  // An emptied form field arrives as "" and means the same as null.
  const value = sent === "" ? null : sent
  const failed = (text: string): ReadConfig => ({
    stored: {},
    errors: { [`${path}.${field.key}`]: [`The ${field.key.replaceAll("_", " ")} ${text}`] }
  })
  if (value === undefined || value === null) {
    if (field.required) return failed("field is required.")
    return value === null ? { stored: { [field.key]: null }, errors: {} } : nothing
  }
  const read = castValue(field, value)
  if ("text" in read) return failed(read.text)
  const floor = field.type === "number" && field.not_below !== undefined ? submitted[field.not_below] : undefined
  if (floor !== undefined && isWholeNumber(floor) && compareDecimals(String(read.value), String(floor)) < 0) {
    return failed(`must not be below ${String(floor)}.`)
  }
  return { stored: { [field.key]: read.value }, errors: {} }
}

type Cast = { readonly value: Json } | { readonly text: string }

const castValue = (field: ValueField, value: Json): Cast => {
  switch (field.type) {
    case "number": {
      if (!isWholeNumber(value)) return { text: "must be a whole number." }
      const whole = Number(value)
      if (field.min !== null && whole < field.min) return { text: `must be at least ${field.min}.` }
      if (field.max !== null && whole > field.max) return { text: `must not be greater than ${field.max}.` }
      return { value: whole }
    }
    case "decimal": {
      // Stored as written, because neighbours with the same text share a line; so no exponent and no sign is allowed.
      const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : ""
      return isPlainDecimalText(text) ? { value: text } : { text: "must be a number of at least 0, written in digits." }
    }
    case "select":
      return typeof value === "string" && Object.hasOwn(field.options, value)
        ? { value }
        : { text: `must be one of: ${Object.keys(field.options).join(", ")}.` }
    case "time":
      return parseTimeOfDay(value) === undefined ? { text: "must be a time as HH:MM, 00:00 to 23:59." } : { value }
  }
}

const isWholeNumber = (value: Json): value is number | string =>
  (typeof value === "number" && Number.isSafeInteger(value)) ||
  (typeof value === "string" && /^-?\d{1,15}$/.test(value.trim()))
