/** Criteria of discount rules: fields, operators and parser (rules/billing 4). */
import { Result } from "effect"
import { isJsonObject, type FieldErrors, type Json, type JsonObject } from "../../kernel/index.ts"
import { isNumericText } from "../../values/decimal.ts"
import { parseMoment } from "../../values/moment.ts"

export type CriteriaKind =
  | "id"
  | "text"
  | "number"
  | "money"
  | "timestamp"
  | "weekday"
  | "tags"
  | "transaction_type"
  | "state"

/**
 * Fields that a condition may name, with their kinds. Money is in the opportunity's currency, written as in request
 * bodies.
 */
export const criteriaFields = {
  member_id: "id",
  "member.membership_type": "text",
  "member.discount_category_id": "id",
  "member.price_category_id": "id",
  "member.tag_list": "tags",
  store_id: "id",
  product_id: "id",
  product_group_id: "id",
  product_type: "text",
  transaction_type: "transaction_type",
  quantity: "number",
  chargeable_days: "number",
  line_total: "money",
  charge_total: "money",
  starts_at: "timestamp",
  ends_at: "timestamp",
  day_of_week: "weekday",
  state: "state"
} as const satisfies { readonly [field: string]: CriteriaKind }
export type CriteriaField = keyof typeof criteriaFields

const criteriaOperators = ["eq", "not_eq", "in", "not_in", "gt", "gteq", "lt", "lteq", "cont"] as const
type CriteriaOperator = (typeof criteriaOperators)[number]

export interface Condition {
  readonly field: CriteriaField
  readonly operator: CriteriaOperator
  readonly value: Json
}
export interface Criteria {
  readonly match: "all" | "any"
  /** Conditions and groups; groups are nested one level at most. */
  readonly conditions: ReadonlyArray<Condition | Criteria>
}

const isCriteriaField = (value: unknown): value is CriteriaField =>
  typeof value === "string" && Object.hasOwn(criteriaFields, value)
const isOperator = (value: unknown): value is CriteriaOperator =>
  criteriaOperators.some((operator) => operator === value)

const listOperators: ReadonlySet<CriteriaOperator> = new Set(["in", "not_in"])
const orderOperators: ReadonlySet<CriteriaOperator> = new Set(["gt", "gteq", "lt", "lteq"])
const orderedKinds: ReadonlySet<CriteriaKind> = new Set(["number", "money", "timestamp", "weekday"])
const MAX_CONDITIONS = 100

/**
 * Parses criteria: `{match, conditions}`, or a plain map of field to value (lists match any of their values). `{}`
 * matches everything. Error keys: `criteria`, `criteria.match`, `criteria.conditions.<n>.field|operator|value`, and
 * `criteria.<field>` for a map.
 */
export const readCriteria = (input: Json | undefined): Result.Result<Criteria, FieldErrors> => {
  if (input === undefined || !isJsonObject(input)) return Result.fail({ criteria: ["The criteria must be an object."] })
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const structured = Object.hasOwn(input, "conditions") || Object.hasOwn(input, "match")
  const criteria = structured ? readGroup(input, "criteria", 0, errors) : readMap(input, errors)
  return Object.keys(errors).length > 0 ? Result.fail(errors) : Result.succeed(criteria)
}

const unknownField = `The field must be one of: ${Object.keys(criteriaFields).join(", ")}.`

type Errors = { [field: string]: ReadonlyArray<string> }

const readGroup = (input: JsonObject, path: string, depth: number, errors: Errors): Criteria => {
  const match = input["match"] ?? "all"
  if (match !== "all" && match !== "any") errors[`${path}.match`] = ["The match must be one of: all, any."]
  const conditionsSent = input["conditions"] ?? []
  const sent: ReadonlyArray<Json> | undefined = Array.isArray(conditionsSent) ? conditionsSent : undefined
  if (sent === undefined || sent.length > MAX_CONDITIONS) {
    errors[`${path}.conditions`] = [`The conditions must be a list of at most ${MAX_CONDITIONS}.`]
    return { match: "all", conditions: [] }
  }
  const conditions = sent.flatMap((entry, index): ReadonlyArray<Condition | Criteria> => {
    const at = `${path}.conditions.${index}`
    if (!isJsonObject(entry)) {
      errors[at] = ["The condition must be an object."]
      return []
    }
    if (!Object.hasOwn(entry, "conditions")) return readCondition(entry, at, errors)
    if (depth > 0) {
      errors[at] = ["Groups of conditions nest one level deep."]
      return []
    }
    return [readGroup(entry, at, depth + 1, errors)]
  })
  return { match: match === "any" ? "any" : "all", conditions }
}

const readCondition = (entry: JsonObject, path: string, errors: Errors): ReadonlyArray<Condition> => {
  const { field, operator = "eq", value = null } = entry
  if (!isCriteriaField(field)) errors[`${path}.field`] = [unknownField]
  if (!isOperator(operator))
    errors[`${path}.operator`] = [`The operator must be one of: ${criteriaOperators.join(", ")}.`]
  if (!isCriteriaField(field) || !isOperator(operator)) return []
  const wrong = valueError(field, operator, value)
  if (wrong !== undefined) errors[wrong.on === "operator" ? `${path}.operator` : `${path}.value`] = [wrong.text]
  return [{ field, operator, value }]
}

const readMap = (input: JsonObject, errors: Errors): Criteria => ({
  match: "all",
  conditions: Object.entries(input).flatMap(([field, value]): ReadonlyArray<Condition> => {
    if (!isCriteriaField(field)) {
      errors[`criteria.${field}`] = [unknownField]
      return []
    }
    const operator = Array.isArray(value) ? "in" : "eq"
    const wrong = valueError(field, operator, value)
    if (wrong !== undefined) errors[`criteria.${field}`] = [wrong.text]
    return [{ field, operator, value }]
  })
})

interface Wrong {
  readonly on: "operator" | "value"
  readonly text: string
}

const valueError = (field: CriteriaField, operator: CriteriaOperator, value: Json): Wrong | undefined => {
  const kind = criteriaFields[field]
  if (orderOperators.has(operator) && !orderedKinds.has(kind)) {
    return { on: "operator", text: `The ${field} cannot be compared with ${operator}.` }
  }
  if (listOperators.has(operator)) {
    const list: ReadonlyArray<Json> | undefined = Array.isArray(value) ? value : undefined
    return list !== undefined && list.every((entry) => fitsKind(kind, entry))
      ? undefined
      : { on: "value", text: `The value must be a list that fits ${field}.` }
  }
  if (value === null && (operator === "eq" || operator === "not_eq")) return undefined
  if (operator === "cont") {
    return typeof value === "string" ? undefined : { on: "value", text: "The value must be a string." }
  }
  return fitsKind(kind, value) ? undefined : { on: "value", text: `The value does not fit ${field}.` }
}

const fitsKind = (kind: CriteriaKind, value: Json): boolean => {
  switch (kind) {
    case "id":
      return Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,15}$/.test(value))
    case "number":
    case "money":
      return typeof value === "number" || (typeof value === "string" && isNumericText(value.trim()))
    case "timestamp":
      return typeof value === "string" && parseMoment(value) !== undefined
    case "weekday":
      return weekdayOf(value) !== undefined
    case "transaction_type":
      return transactionWord(value) !== undefined
    case "state":
      return stateWord(value) !== undefined
    case "text":
    case "tags":
      return typeof value === "string"
  }
}

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

/**
 * Weekday, 1 Monday to 7 Sunday, from a number (0 is Sunday, too), a name or its first three letters; undefined if
 * invalid.
 */
export const weekdayOf = (value: Json): number | undefined => {
  const text = String(value).trim().toLowerCase()
  if (/^[0-7]$/.test(text)) return text === "0" ? 7 : Number(text)
  const index = weekdays.findIndex((name) => name === text || name.slice(0, 3) === text)
  return index < 0 ? undefined : index + 1
}

/** Parses one of the words, given in any case or by its index; undefined if invalid. */
const wordOf =
  (words: ReadonlyArray<string>) =>
  (value: Json): string | undefined => {
    const text = String(value).trim().toLowerCase()
    return /^\d$/.test(text) ? words[Number(text)] : words.find((word) => word === text)
  }
export const transactionWord = wordOf(["rental", "sale", "service", "sub_rental"])
export const stateWord = wordOf(["draft", "quotation", "order"])
