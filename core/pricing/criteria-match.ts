/** Whether an opportunity and one of its lines meet criteria (rules/billing 4). */
import { Result } from "effect"
import type { Json } from "../kernel/json.ts"
import { compareDecimals } from "../values/decimal.ts"
import { parseMoment, plainDateOf } from "../values/moment.ts"
import { parseMoney } from "../values/money.ts"
import {
  type Condition,
  type Criteria,
  type CriteriaField,
  criteriaFields,
  type CriteriaKind,
  stateWord,
  transactionWord,
  weekdayOf
} from "./criteria.ts"

/** The values that conditions compare; null means unknown. */
export type CriteriaFacts = { readonly [F in CriteriaField]: FactOf<(typeof criteriaFields)[F]> | null }
/** Money is in minor units, numbers are decimal strings, timestamps ISO, weekdays 1 Monday to 7 Sunday. */
type FactOf<K extends CriteriaKind> = K extends "id" | "money" | "weekday"
  ? number
  : K extends "tags"
    ? ReadonlyArray<string>
    : string

/** `currency`: of the amounts in conditions. */
export const meetsCriteria = (criteria: Criteria, facts: CriteriaFacts, currency: string): boolean => {
  if (criteria.conditions.length === 0) return true
  const test = (entry: Condition | Criteria): boolean =>
    "conditions" in entry ? meetsCriteria(entry, facts, currency) : meetsCondition(entry, facts, currency)
  return criteria.match === "all" ? criteria.conditions.every(test) : criteria.conditions.some(test)
}

const meetsCondition = ({ field, operator, value }: Condition, facts: CriteriaFacts, currency: string): boolean => {
  const fact = facts[field]
  const kind: CriteriaKind = criteriaFields[field]
  const equals = (expected: Json): boolean => isEqual(kind, fact, expected, currency)
  const order = (): number | undefined => compare(kind, fact, value, currency)
  switch (operator) {
    case "eq":
      return equals(value)
    case "not_eq":
      return !equals(value)
    case "in":
      return listOf(value).some(equals)
    case "not_in":
      return !listOf(value).some(equals)
    case "gt":
      return (order() ?? 0) > 0
    case "gteq":
      return (order() ?? -1) >= 0
    case "lt":
      return (order() ?? 0) < 0
    case "lteq":
      return (order() ?? 1) <= 0
    case "cont":
      return contains(fact, String(value))
  }
}

type Fact = CriteriaFacts[CriteriaField]

const listOf = (value: Json): ReadonlyArray<Json> => (Array.isArray(value) ? value : [value])

const fold = (text: string): string => text.trim().toLocaleLowerCase("en")

const contains = (fact: Fact, part: string): boolean => {
  if (fact === null) return false
  const texts = typeof fact === "object" ? fact : [String(fact)]
  return texts.some((text) => fold(text).includes(fold(part)))
}

const isEqual = (kind: CriteriaKind, fact: Fact, expected: Json, currency: string): boolean => {
  if (fact === null || expected === null) return fact === expected
  if (typeof fact === "object") return fact.some((tag) => fold(tag) === fold(String(expected)))
  if (kind === "text") return fold(String(fact)) === fold(String(expected))
  if (kind === "transaction_type") return transactionWord(expected) === fact
  if (kind === "state") return stateWord(expected) === fact
  return compare(kind, fact, expected, currency) === 0
}

/** Undefined when the two cannot be compared. */
const compare = (kind: CriteriaKind, fact: Fact, expected: Json, currency: string): number | undefined => {
  if (fact === null || expected === null || typeof fact === "object") return undefined
  switch (kind) {
    case "id":
      return Number(fact) - Number(expected)
    case "number":
      return compareDecimals(fact, String(expected))
    case "money":
      return Result.match(parseMoney(expected, currency, { signed: true }), {
        onSuccess: (minor) => Number(fact) - minor,
        onFailure: () => undefined
      })
    case "timestamp":
      return compareTimes(String(fact), String(expected))
    case "weekday":
      return Number(fact) - (weekdayOf(expected) ?? Number.NaN)
    default:
      return undefined
  }
}

/** Against a bare date the whole day counts, against a timestamp the instant. */
const compareTimes = (fact: string, expected: string): number | undefined => {
  const [left, right] = [parseMoment(fact), parseMoment(expected)]
  if (left === undefined || right === undefined) return undefined
  if (expected.length > 10) return left.epoch_ms - right.epoch_ms
  const [day, other] = [plainDateOf(left), expected]
  return day === other ? 0 : day < other ? -1 : 1
}
