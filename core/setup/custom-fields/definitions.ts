/**
 * Definitions of custom fields and the groups they are shown in (rules/members-activities 5, rules/availability 11).
 */
import { Effect, Result } from "effect"
import { auto_number, CommandRuntime, crudResource, custom_fields, defaultProblem } from "../../kernel/index.ts"
import { field_types, get, invalid, isJsonObject, isStorableText, list_values, ok } from "../../kernel/index.ts"
import { patternOf, renderOne, resource, Shown, Store, text, viewContext } from "../../kernel/index.ts"
import { viewManageAccess } from "../../kernel/index.ts"
import type { CustomFieldFacts, CustomFieldRow, FieldErrors, Json, JsonObject, Resource } from "../../kernel/index.ts"
import { custom_field_groups, customFieldGroupFields, modulesOf } from "./schema.ts"

const access = viewManageAccess("custom-fields", "custom-fields.view", "custom-fields.manage")

const customFieldResource = resource({
  singular: "custom_field",
  shows: { field_type_name: text() },
  table: custom_fields,
  filters: [
    "name",
    "module_type",
    "field_type",
    "is_active",
    "is_required",
    "is_personal",
    "custom_field_group_id",
    "list_name_id"
  ],
  sorts: ["name", "module_type", "sort_order", "created_at"],
  view: (base, row) => ({ ...base, field_type_name: field_types[row.field_type as keyof typeof field_types] })
})

const operators = ["eq", "not_eq", "in", "not_in", "present", "blank", "gt", "gte", "lt", "lte", "contains"]
const listed = (row: CustomFieldRow): boolean => row.field_type === 9 || row.field_type === 10

interface DefinitionFacts {
  readonly modules: ReadonlyArray<string>
  /** Active values of the list the field chooses from. */
  readonly values: CustomFieldFacts["values"]
}
/** A module by its name in any case, with or without "_" and blanks: "stock level" is StockLevel. */
const moduleNamed = (modules: ReadonlyArray<string>, given: string): string | undefined =>
  modules.find((one) => one.toLowerCase() === given.replace(/[_ ]/g, "").toLowerCase())

const prefix_max = 50
const pad_max = 20
const start_max = 1_000_000_000
/** Problem with the settings of a field of automatic numbers; undefined if they are valid. */
const autoNumberProblem = ({ settings }: Pick<CustomFieldRow, "settings">): string | undefined => {
  const { pad, prefix, start } = settings ?? {}
  const isWhole = (value: unknown, min: number, max: number): boolean =>
    value === undefined || value === null || (Number.isInteger(value) && Number(value) >= min && Number(value) <= max)
  if (
    prefix !== undefined &&
    prefix !== null &&
    !(typeof prefix === "string" && [...prefix].length <= prefix_max && isStorableText(prefix))
  ) {
    return `The setting prefix must be a text of at most ${prefix_max} characters.`
  }
  if (!isWhole(pad, 0, pad_max)) return `The setting pad must be a whole number from 0 to ${pad_max}.`
  if (!isWhole(start, 1, start_max)) return `The setting start must be a whole number from 1 to ${start_max}.`
  return undefined
}

const problems = (next: CustomFieldRow, { modules, values }: DefinitionFacts): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const module = moduleNamed(modules, next.module_type)
  if (module === undefined) errors["module_type"] = [`The module type must be one of ${modules.join(", ")}.`]
  if (listed(next) && next.list_name_id === null)
    errors["list_name_id"] = ["A field that chooses from a list needs one."]
  const numbering = next.field_type === auto_number ? autoNumberProblem(next) : undefined
  if (numbering !== undefined) errors["settings"] = [numbering]
  if (next.visibility_rules?.some((rule) => !isVisibilityRule(rule)) === true) {
    errors["visibility_rules"] = [`Each visibility rule needs a field and an operator out of ${operators.join(", ")}.`]
  }
  const validation = validationProblem(next)
  if (validation !== undefined) errors["validation_rules"] = [validation]
  if (next.is_personal && module !== "Member")
    errors["is_personal"] = ["Only custom fields of members describe a person."]
  const problem = validation === undefined ? defaultProblem(next, { definitions: [next], values }) : undefined
  if (problem !== undefined) errors["default_value"] = [problem]
  return errors
}
/** The last problem of the validation rules; undefined if they have none. */
const validationProblem = (next: CustomFieldRow): string | undefined => {
  const given = (key: string): Json => next.validation_rules?.[key] ?? null
  const isLength = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0
  const isLimit = (value: Json): boolean => /^-?\d{1,12}(\.\d{1,4})?$/.test(String(value))
  const wrong = (keys: ReadonlyArray<string>, isValid: (value: Json) => boolean, form: string) =>
    keys
      .filter((key) => given(key) !== null && !isValid(given(key)))
      .map((key) => `The validation rule ${key} must be ${form}.`)
  return [
    ...wrong(["min_length", "max_length"], isLength, "a whole number"),
    ...wrong(["min", "max"], isLimit, "a number"),
    ...wrong(
      ["pattern"],
      () => patternOf(next) !== undefined,
      "a regular expression that is quickly tried: begin it with ^, repeat no group and few parts, or give a shorter max_length"
    )
  ].at(-1)
}
/** Field types with free text, which may hold personal data. */
const written: ReadonlySet<number> = new Set([0, 1, 7, 8, 13, 15, 16])
/** A hint, when a free-text field of members is defined, that its values stay when a member is anonymised. */
const hintOf = (row: CustomFieldRow): JsonObject | undefined =>
  row.module_type !== "Member" || row.is_personal || !written.has(row.field_type)
    ? undefined
    : {
        hint: "Values of this field stay when a member is anonymised. If it holds personal data, set is_personal to true."
      }
/** 422 for a changed `start` of an auto number: counted from another start, numbers would repeat or be left out. */
const startProblem = (next: CustomFieldRow, before: CustomFieldRow): FieldErrors =>
  before.field_type === auto_number && (next.settings?.["start"] ?? null) !== (before.settings?.["start"] ?? null)
    ? { settings: ["The setting start of a numbering stays as it was; make another field to number anew."] }
    : {}
const isVisibilityRule = (rule: unknown): boolean =>
  isJsonObject(rule) && typeof rule["field"] === "string" && operators.includes(String(rule["operator"]))

const { id: _id, created_at: _c, updated_at: _u, deleted_at: _d, ...definitionFields } = custom_fields.columns
export const customFieldDefinitions = crudResource({
  resource: customFieldResource,
  fields: definitionFields,
  path: "/api/v1/custom_fields",
  access,
  rules: {
    facts: (input, before) =>
      Effect.gen(function* () {
        const list = input.values.list_name_id ?? before?.list_name_id ?? null
        const { catalogue } = yield* CommandRuntime
        const values = list === null ? [] : yield* Store.find(list_values, { list_name_id: list, is_active: true })
        return { modules: modulesOf(catalogue), values }
      }),
    save: ({ next, before, facts }) => {
      const errors = { ...problems(next, facts), ...(before === undefined ? {} : startProblem(next, before)) }
      // An unknown module has been reported above.
      const module_type = moduleNamed(facts.modules, next.module_type) ?? next.module_type
      return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed({ set: { module_type } })
    },
    meta: (row) => Effect.succeed(hintOf(row)),
    meta_shows: Shown.optional(Shown.keys({ hint: text() }))
  }
})

const customFieldGroupResource: Resource<typeof custom_field_groups, "custom_field_group"> = resource({
  singular: "custom_field_group",
  table: custom_field_groups,
  filters: ["name", "created_at"],
  sorts: ["name", "sort_order", "created_at"],
  includes: {
    custom_fields: {
      kind: "many",
      via: "custom_field_group_id",
      resource: () => customFieldResource,
      order: ["sort_order", "id"]
    }
  }
})
const groups = crudResource({
  resource: customFieldGroupResource,
  fields: customFieldGroupFields,
  path: "/api/v1/custom_field_groups",
  access,
  only: ["list", "create", "update", "delete"]
})
/** Shows one group, always with its fields. */
const showGroup = get("/api/v1/custom_field_groups/{id}", {
  answer: { custom_field_group: Shown.row(() => customFieldGroupResource) },
  name: "custom_field_groups.show",
  summary: "Show one custom field group with its fields",
  ability: access.read,
  permission: access.view,
  params: { id: { table: custom_field_groups } },
  run: (input) =>
    Effect.map(
      renderOne(
        customFieldGroupResource,
        input.rows.id,
        [...input.query, ["include", "custom_fields"]],
        viewContext(input)
      ),
      ok
    )
})
export const customFieldGroups = { ...groups, endpoints: [...(groups.endpoints ?? []), showGroup] }
