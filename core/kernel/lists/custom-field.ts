/** Custom fields: defined by the business as rows; values are stored with the row they describe, by definition id. */
import { invalid, type Rejection } from "../fields/rejection.ts"
import { Effect, Result } from "effect"
import type { Field, Json, JsonObject } from "../fields/field.ts"
import { boolean, code, date, decimal, integer, isJsonObject, json, longText, ref, text } from "../fields/field.ts"
import { timestamp } from "../fields/field.ts"
import { parseJson, readFields } from "../fields/input.ts"
import { patternFrom } from "../fields/pattern.ts"
import { Store } from "../store/store.ts"
import type { CustomColumn } from "./query.ts"
import { visible_to_all } from "../tables/visibility.ts"
import { foldCase, type RowOf, table } from "../tables/table.ts"

export const field_types = {
  0: "String",
  1: "Text Area",
  2: "Number",
  3: "Boolean",
  4: "Date & Time",
  5: "Date",
  6: "Time",
  7: "Email",
  8: "Website",
  9: "List of Values",
  10: "Multi List",
  11: "Auto Number",
  12: "Currency",
  13: "Telephone",
  14: "File/Image",
  15: "Rich Text",
  16: "JSON Key-Value",
  17: "Colour",
  18: "Percentage"
} as const
/** Assigned by the server when a row is created (see `runtime/decide.ts`); never set by a body. */
export const auto_number = 11

export const custom_fields = table(
  "custom_fields",
  {
    name: text({ required: true, search: true }),
    display_name: text({ nullable: true, on_null: "clear" }),
    description: longText({ nullable: true, on_null: "clear" }),
    module_type: text({ required: true, create_only: true, search: true }),
    field_type: code(field_types, { required: true, create_only: true }),
    custom_field_group_id: ref("custom_field_groups", { nullable: true, on_null: "clear", on_delete: "clear" }),
    list_name_id: ref("list_names", {
      nullable: true,
      on_null: "clear",
      on_delete: "refuse",
      way_out: "delete the field first"
    }),
    sort_order: integer({ default: 0, min: 0 }),
    is_required: boolean({ default: false }),
    is_searchable: boolean({ default: false }),
    is_personal: boolean({ default: false, describe: "Whether its values are erased when the person is anonymised" }),
    settings: json<JsonObject>({ nullable: true, on_null: "clear" }),
    validation_rules: json<JsonObject>({ nullable: true, on_null: "clear" }),
    visibility_rules: json<ReadonlyArray<JsonObject>>({ nullable: true, on_null: "clear", form: "array" }),
    default_value: text({ nullable: true, on_null: "clear", max: 1000 }),
    plugin_name: text({ nullable: true, on_null: "clear" }),
    document_layout_name: text({ nullable: true, on_null: "clear" }),
    is_active: boolean({ default: true })
  },
  {
    reference: true,
    visibility: visible_to_all,
    indexes: [["module_type"]],
    uniques: [
      { columns: ["module_type", "name"], field: "name", message: "The name has already been taken in this module." }
    ]
  }
)
export type CustomFieldRow = RowOf<typeof custom_fields>
export const list_values = table(
  "list_values",
  {
    list_name_id: ref("list_names", { computed: true, on_delete: "handled" }),
    name: text({ required: true, search: true }),
    parent_id: ref("list_values", { nullable: true, on_delete: "clear" }),
    sort_order: integer({ default: 0, min: 0 }),
    is_system: boolean({ computed: true, default: false }),
    is_active: boolean({ default: true }),
    metadata: json<JsonObject>({ nullable: true })
  },
  { reference: true, visibility: visible_to_all, indexes: [["list_name_id", "sort_order"]] }
)

// The same objects each time, by which the server's cache knows a list.
const in_order = { order: ["sort_order", "id"], cached: true }
const active_in = new Map<string, { readonly module_type: string; readonly is_active: true }>()
/** Active definitions of a module, in display order. */
export const customFieldsFor = (module: string) => {
  let active = active_in.get(module)
  if (active === undefined) active_in.set(module, (active = { module_type: module, is_active: true }))
  return Store.find(custom_fields, active, in_order)
}

const text_length_max = 255
/** The field that checks a definition's values; undefined for auto numbers and files, which are not checked. */
const kindOf = (definition: CustomFieldRow): Field | undefined => {
  const rules = definition.validation_rules ?? {}
  const bound = (key: string): { readonly [k: string]: string } =>
    rules[key] === undefined ? {} : { [key]: String(rules[key]) }
  const max_length = typeof rules["max_length"] === "number" ? rules["max_length"] : undefined
  switch (definition.field_type) {
    case 0:
      return text({ max: max_length ?? text_length_max })
    case 1:
    case 15:
      return longText(max_length === undefined ? {} : { max: max_length })
    case 2:
    case 12:
    case 18:
      return decimal({ scale: 4, ...bound("min"), ...bound("max") })
    case 3:
      return boolean()
    case 4:
      return timestamp()
    case 5:
      return date()
    case 6:
      return text({ max: 8 })
    case 7:
      return text({ format: "email" })
    case 8:
      return text({ format: "url", max: 2048 })
    case 9:
      return integer({ min: 1 })
    case 10:
      return json({ form: "array" })
    case 13:
    case 17:
      return text({ max: 50 })
    case 16:
      return json({ form: "any" })
    default:
      return undefined
  }
}

export interface CustomFieldFacts {
  readonly definitions: ReadonlyArray<CustomFieldRow>
  readonly values: ReadonlyArray<RowOf<typeof list_values>>
}
/** Facts for checking a module's custom fields: definitions, and the list values they use. */
export const customFieldFacts = Effect.fnUntraced(function* (module: string) {
  const definitions = yield* customFieldsFor(module)
  const lists = definitions
    .filter((one) => one.field_type === 9 || one.field_type === 10)
    .map((one) => one.list_name_id)
    .filter((id) => id !== null)
  const values = lists.length === 0 ? [] : yield* Store.find(list_values, { list_name_id: lists, is_active: true })
  return { definitions, values } satisfies CustomFieldFacts
})

/** Targets of `q[cf.<name or id>_…]`: definitions marked searchable. */
export const searchableCustomFields = ({ definitions, values }: CustomFieldFacts): ReadonlyMap<string, CustomColumn> =>
  new Map(
    definitions
      .filter((one) => one.is_searchable)
      .flatMap((one) => {
        const listed = one.field_type === 9 || one.field_type === 10
        const names = new Map(
          values
            .filter((value) => value.list_name_id === one.list_name_id)
            .map((value) => [foldCase(value.name), value.id])
        )
        const entry: CustomColumn = {
          key: String(one.id),
          field: kindOf(one) ?? text(),
          ...(listed ? { names } : {}),
          ...(one.field_type === 10 ? { many: true } : {})
        }
        return [
          [one.name, entry],
          [String(one.id), entry]
        ] as const
      })
  )

interface CustomFieldsRead {
  /** The complete stored document, with the changes. */
  readonly stored: JsonObject
  readonly errors: { readonly [path: string]: ReadonlyArray<string> }
}
/**
 * Validates custom field values by name and merges them into the stored ones. Without stored ones it applies defaults
 * and requires values.
 */
export const readCustomFields = (
  facts: CustomFieldFacts,
  given: Json | undefined,
  before?: JsonObject
): CustomFieldsRead => {
  const errors: { [path: string]: Array<string> } = {}
  const stored: { [key: string]: Json } = { ...before }
  const fail = (name: string, message: string): void => {
    errors[name] = [message]
    errors[`custom_fields.${name}`] = [message]
  }
  const body = isJsonObject(given) ? given : {}
  const unknown = Object.keys(body).filter((name) => !facts.definitions.some((one) => one.name === name))
  for (const name of unknown) fail(name, `There is no custom field ${name} here.`)
  for (const definition of facts.definitions.filter((one) => one.field_type !== auto_number)) {
    const { name } = definition
    const raw = Object.hasOwn(body, name) ? body[name] : undefined
    if (raw === undefined && before !== undefined) continue
    const read = raw === undefined ? readAbsent(definition, facts) : readGiven(definition, raw, facts)
    if (read === undefined) continue
    if (read.error === undefined) stored[String(definition.id)] = read.value
    else fail(name, read.error)
  }
  return { stored, errors }
}
const required = ({ name }: CustomFieldRow): One => ({ error: `The ${name} field is required.` })
/** Value of a new row's field that was not sent: its default. Undefined if it has none. */
const readAbsent = (definition: CustomFieldRow, facts: CustomFieldFacts): One | undefined => {
  // A default that is no longer valid, such as a value removed from its list, is ignored.
  const value = definition.default_value === null ? null : defaultOf(definition, facts)
  if (definition.is_required && kindOf(definition) !== undefined && isBlank(value)) return required(definition)
  return definition.default_value === null ? undefined : { value }
}
const readGiven = (definition: CustomFieldRow, raw: Json, facts: CustomFieldFacts): One => {
  if (definition.is_required && isBlank(raw)) return required(definition)
  return raw === null || (typeof raw === "string" && raw.trim() === "")
    ? { value: null }
    : readOne(definition, raw, facts)
}
/** Validates like `readCustomFields`: returns the document to store, or fails with 422. */
export const customFieldsFrom = (
  ...read: Parameters<typeof readCustomFields>
): Result.Result<JsonObject, Rejection> => {
  const { errors, stored } = readCustomFields(...read)
  return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed(stored)
}
/** Null, blank text, an empty list or document: no value for a required field. */
const isBlank = (value: Json): boolean =>
  value === null ||
  (typeof value === "string" ? value.trim() === "" : typeof value === "object" && Object.keys(value).length === 0)
const defaultOf = (definition: CustomFieldRow, facts: CustomFieldFacts): Json => {
  const read = readDefault(definition, facts)
  return read.error === undefined ? read.value : null
}
const readDefault = (definition: CustomFieldRow, facts: CustomFieldFacts): One => {
  const written = definition.default_value ?? ""
  switch (definition.field_type) {
    case 3:
      return { value: ["1", "true"].includes(written) }
    case 10:
      return readOne(
        definition,
        written
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== ""),
        facts
      )
    case 16:
      try {
        return readOne(definition, parseJson(written), facts)
      } catch {
        return { error: "The default value must be JSON." }
      }
    default:
      return readOne(definition, written, facts)
  }
}
/** Problem of a definition's default value; undefined if it has none or a valid one. */
export const defaultProblem = (definition: CustomFieldRow, facts: CustomFieldFacts): string | undefined => {
  if (definition.default_value === null) return undefined
  const read = readDefault(definition, facts)
  return (
    read.error ??
    (definition.is_required && isBlank(read.value ?? null)
      ? "The default value of a required field must not be blank."
      : undefined)
  )
}
type One = { readonly value: Json; readonly error?: undefined } | { readonly error: string }
const readOne = (definition: CustomFieldRow, raw: Json, facts: CustomFieldFacts): One => {
  const { name } = definition
  const listed = (one: Json): number | undefined =>
    facts.values.find(
      (value) =>
        value.list_name_id === definition.list_name_id &&
        (value.id === one || value.name === one || (typeof one === "string" && String(value.id) === one))
    )?.id
  if (definition.field_type === 9) {
    const id = listed(raw)
    return id === undefined ? { error: `The selected ${name} is not on its list.` } : { value: id }
  }
  if (definition.field_type === 10) {
    if (!Array.isArray(raw)) return { error: `The ${name} field must be an array.` }
    const ids = raw.map(listed)
    return ids.some((id) => id === undefined)
      ? { error: `The selected ${name} is not on its list.` }
      : { value: ids.filter((id) => id !== undefined) }
  }
  if (definition.field_type === 16 && (typeof raw !== "object" || raw === null))
    return { error: `The ${name} field must be an object or an array.` }
  const kind = kindOf(definition)
  if (kind === undefined) return { value: raw }
  const read = readFields({ [name]: kind }, { [name]: raw }, { mode: "create", base_currency: "GBP" })
  const problem = Object.values(read.errors)[0]?.[0]
  if (problem !== undefined) return { error: problem }
  const value = read.values[name] ?? null
  const wrong = typeof value === "string" ? textProblem(definition, value) : undefined
  return wrong === undefined ? { value } : { error: `The ${name} field ${wrong}` }
}
/** Problem of a text by its definition's rules; undefined if it has none. */
const textProblem = (definition: CustomFieldRow, text: string): string | undefined => {
  const { min_length, pattern } = definition.validation_rules ?? {}
  if (typeof min_length === "number" && [...text].length < min_length)
    return `must be at least ${min_length} characters.`
  if (definition.field_type === 6 && !/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(text))
    return "must be a time (HH:MM:SS)."
  return definition.field_type === 0 && typeof pattern === "string" && patternOf(definition)?.test(text) !== true
    ? "has the wrong form."
    : undefined
}
/** A definition's pattern; undefined if it has none that is safe for its longest values. */
export const patternOf = ({ validation_rules }: CustomFieldRow): RegExp | undefined => {
  const { pattern, max_length } = validation_rules ?? {}
  return typeof pattern === "string"
    ? patternFrom(pattern, typeof max_length === "number" ? max_length : text_length_max)
    : undefined
}
