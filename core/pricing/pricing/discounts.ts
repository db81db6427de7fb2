/** Stage 2 of pricing: discount rules, spread over matching lines (rules/billing 4). */
import { Result } from "effect"
import type { Json } from "../../kernel/index.ts"
import { compareDecimals, exact, formatDecimal, parseDecimal, roundHalfAway } from "../../values/decimal.ts"
import { parseMoment, plainDateOf } from "../../values/moment.ts"
import { allocateMoney, formatMoney, parseMoney, percentOfMoney, scaleOf } from "../../values/money.ts"
import type { Condition, Criteria, CriteriaField, CriteriaKind } from "./criteria.ts"
import { criteriaFields, readCriteria, stateWord, transactionWord, weekdayOf } from "./criteria.ts"
import { type PricedRate, type RateLookup, type RateMethod, resolveProductRate } from "./engine.ts"
import { integerOr } from "./modifiers.ts"

// Compares an opportunity and its lines with criteria (rules/billing 4).

/** Values that conditions are compared with; null if unknown. */
type CriteriaFacts = { readonly [F in CriteriaField]: FactOf<(typeof criteriaFields)[F]> | null }
/** Type of a compared value: minor units, decimal strings, ISO timestamps, weekdays from 1 Monday to 7 Sunday. */
type FactOf<K extends CriteriaKind> = K extends "id" | "money" | "weekday"
  ? number
  : K extends "tags"
    ? ReadonlyArray<string>
    : string

/** Whether a line meets criteria. `currency`: that of amounts in conditions. */
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

/** Order of a value and an expected one, as a number for sorting; undefined if they cannot be compared. */
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

/** Compares times: with a plain date by day, with a timestamp by instant. Undefined if one is invalid. */
const compareTimes = (fact: string, expected: string): number | undefined => {
  const [left, right] = [parseMoment(fact), parseMoment(expected)]
  if (left === undefined || right === undefined) return undefined
  if (expected.length > 10) return left.epoch_ms - right.epoch_ms
  const [day, other] = [plainDateOf(left), expected]
  return day === other ? 0 : day < other ? -1 : 1
}

// Chooses the product rate of a line, and converts its price to the opportunity's currency (rules/rates 9.1).

export interface LineCurrency {
  readonly currency: string
  readonly base_currency: string
  /**
   * Stored exchange rate of the opportunity: value of one unit of `currency` in the base currency, as a decimal string.
   */
  readonly exchange_rate: string
}

export interface LineRate {
  readonly product_rate_id: number
  readonly rate_definition_id: number
  /** Minor units of the opportunity's currency. */
  readonly price: number
  readonly method: RateMethod
}

/**
 * Chooses the rate of a line: one in the opportunity's currency, or else one in the base currency, converted by the
 * opportunity's exchange rate. Rates in other currencies are ignored.
 */
export const resolveLineRate = (
  rates: ReadonlyArray<PricedRate>,
  question: RateLookup,
  money: LineCurrency
): LineRate | null => {
  const own = resolveProductRate(
    rates.filter(({ currency }) => currency === money.currency),
    question
  )
  if (own !== null) return lineRate(own, own.price, own.method)
  if (money.currency === money.base_currency || exact(money.exchange_rate).isZero()) return null
  const base = resolveProductRate(
    rates.filter(({ currency }) => currency === money.base_currency),
    question
  )
  if (base === null) return null
  const charge = integerOr(base.method.strategy_config["fixed_charge"], 0)
  const strategy_config =
    charge === 0
      ? base.method.strategy_config
      : { ...base.method.strategy_config, fixed_charge: fromBase(charge, money) }
  return lineRate(base, fromBase(base.price, money), { ...base.method, strategy_config })
}

const lineRate = (rate: PricedRate, price: number, method: RateMethod): LineRate => ({
  product_rate_id: rate.id,
  rate_definition_id: rate.rate_definition_id,
  price,
  method
})

/**
 * Converts minor units from base currency to the opportunity's; unchanged if both are the same or the exchange rate is
 * 0.
 */
export const fromBase = (minor: number, { base_currency, currency, exchange_rate }: LineCurrency): number => {
  if (currency === base_currency || exact(exchange_rate).isZero()) return minor
  const scale = exact(10).pow(scaleOf(currency) - scaleOf(base_currency))
  return roundHalfAway(exact(minor).times(scale).dividedBy(exact(exchange_rate))).toNumber()
}

export const discountTypes = { percentage: "Percentage", fixed_amount: "Fixed Amount" } as const
type DiscountType = keyof typeof discountTypes
/** Scopes of rules: `line` is calculated per line, `total` once for all matching lines and then spread over them. */
export const discountScopes = { line: "Line", total: "Total" } as const

export interface DiscountRule {
  readonly id: number
  readonly name: string
  readonly discount_type: DiscountType
  /** Percentage with 2 decimals, or an amount in `currency_code`. */
  readonly discount_value: string
  readonly applies_to: keyof typeof discountScopes
  /** Maximum discount per opportunity, in minor units; null for none. */
  readonly max_discount_amount: number | null
  /** Currency of opportunities the rule applies to; null for any. */
  readonly currency_code: string | null
  readonly criteria: Json
  readonly auto_apply: boolean
  readonly stackable: boolean
  readonly priority: number
  readonly is_active: boolean
  /** First and last day, both inclusive, as plain dates. */
  readonly valid_from: string | null
  readonly valid_to: string | null
  readonly store_id: number | null
  /** Time of deletion; the rule still applies to lines made before. */
  readonly deleted_at?: string | null
}

/** The rule with its maximum in the opportunity's currency; rules without a currency store it in the base currency. */
export const discountRuleIn = (rule: DiscountRule, money: LineCurrency): DiscountRule =>
  rule.currency_code !== null || rule.max_discount_amount === null
    ? rule
    : { ...rule, max_discount_amount: fromBase(rule.max_discount_amount, money) }

/** A line as priced by stage 1. */
interface DiscountableLine {
  /** Net in minor units. */
  readonly net: number
  /** Whether rules may apply to the line. */
  readonly discountable: boolean
  /** Whether it is offered but not charged; rules do not apply to it then. */
  readonly is_optional?: boolean
  /** Whether it has a manual price or discount; automatic rules do not apply to it then. */
  readonly priced_by_hand: boolean
  /** Time the line was made; absent for lines of the current command. */
  readonly made_at?: string | undefined
  readonly facts: CriteriaFacts
}

export interface DiscountRequest {
  readonly rules: ReadonlyArray<DiscountRule>
  /** Ids of rules selected for the opportunity; rules without `auto_apply` need that. */
  readonly named_rule_ids: ReadonlyArray<number>
  readonly lines: ReadonlyArray<DiscountableLine>
  readonly currency: string
  readonly store_id: number | null
  /** Start date of the opportunity. */
  readonly start_date: string
}

export interface AppliedRule {
  readonly rule_id: number
  readonly name: string
  /** Discount in minor units, positive. */
  readonly amount: number
}
export interface Discounts {
  /** Discount of each line in minor units, in the order of lines; never above its net. */
  readonly line_discounts: ReadonlyArray<number>
  readonly applied: ReadonlyArray<AppliedRule>
}

/**
 * Applies rules by priority, then id. Stackable rules apply one after the other, each to the remainder; others apply
 * alone. The largest discount of the stack and each single rule is taken; if equal, the stack, then the first rule.
 */
export const applyDiscountRules = (request: DiscountRequest): Discounts => {
  const { alone, stack } = discountCandidates(request)
  return alone.reduce((best, candidate) => (worth(candidate) > worth(best) ? candidate : best), stack)
}

/** Possible discounts: that of the stack, and those of each single rule. */
export const discountCandidates = (
  request: DiscountRequest
): { readonly stack: Discounts; readonly alone: ReadonlyArray<Discounts> } => {
  const rules = request.rules
    .filter((rule) => isInForce(rule, request))
    .flatMap((rule) =>
      Result.match(readCriteria(rule.criteria), {
        onSuccess: (criteria): ReadonlyArray<ReadyRule> => [{ ...rule, criteria }],
        onFailure: () => []
      })
    )
    .sort((a, b) => b.priority - a.priority || a.id - b.id)
  const none: Discounts = { line_discounts: request.lines.map(() => 0), applied: [] }
  return {
    stack: rules.filter(({ stackable }) => stackable).reduce((soFar, rule) => applyRule(rule, request, soFar), none),
    alone: rules.filter(({ stackable }) => !stackable).map((rule) => applyRule(rule, request, none))
  }
}

type ReadyRule = Omit<DiscountRule, "criteria"> & { readonly criteria: Criteria }

const isInForce = (rule: DiscountRule, request: DiscountRequest): boolean =>
  rule.is_active &&
  (rule.auto_apply || request.named_rule_ids.includes(rule.id)) &&
  (rule.store_id === null || rule.store_id === request.store_id) &&
  (rule.currency_code === null || rule.currency_code === request.currency) &&
  (rule.valid_from ?? request.start_date) <= request.start_date &&
  request.start_date <= (rule.valid_to ?? request.start_date)

const worth = ({ line_discounts }: Discounts): number => line_discounts.reduce((sum, amount) => sum + amount, 0)

const applyRule = (rule: ReadyRule, request: DiscountRequest, soFar: Discounts): Discounts => {
  const { currency, lines } = request
  const named = request.named_rule_ids.includes(rule.id)
  const takenOff = takerOf(rule, currency)
  const bases: Array<number> = []
  let whole = 0
  for (const line of lines) {
    const there = rule.deleted_at == null || (line.made_at !== undefined && line.made_at < rule.deleted_at)
    const eligible =
      there &&
      line.discountable &&
      line.is_optional !== true &&
      (named || !line.priced_by_hand) &&
      meetsCriteria(rule.criteria, line.facts, currency)
    const base = eligible ? Math.max(0, line.net - (soFar.line_discounts[bases.length] ?? 0)) : 0
    whole += base
    bases.push(base)
  }
  const parts =
    rule.applies_to === "line"
      ? capped(
          rule,
          bases.map((base) => (base === 0 ? 0 : takenOff(base)))
        )
      : // The maximum is applied before spreading: rounded parts would otherwise be rounded twice.
        allocateMoney(Math.min(takenOff(whole), rule.max_discount_amount ?? Infinity), bases)
  const amount = parts.reduce((sum, part) => sum + part, 0)
  if (amount === 0) return soFar
  return {
    line_discounts: soFar.line_discounts.map((taken, index) => taken + (parts[index] ?? 0)),
    applied: [...soFar.applied, { rule_id: rule.id, name: rule.name, amount }]
  }
}

/** Function from a base amount to a rule's discount, which never exceeds the base. */
const takerOf = (rule: ReadyRule, currency: string): ((base: number) => number) => {
  if (rule.discount_type === "percentage") return (base) => Math.min(base, percentOfMoney(base, rule.discount_value))
  const amount = Result.getOrElse(parseMoney(rule.discount_value, currency), () => 0)
  return (base) => Math.min(base, amount)
}

const capped = (rule: ReadyRule, parts: ReadonlyArray<number>): ReadonlyArray<number> => {
  const amount = parts.reduce((sum, part) => sum + part, 0)
  return rule.max_discount_amount === null || amount <= rule.max_discount_amount
    ? parts
    : allocateMoney(rule.max_discount_amount, parts)
}

/**
 * Parses `discount_value` into the stored decimal string: a percentage above 0 up to 100 with 2 decimals, or money
 * above 0. Failures are texts that follow the field's name.
 */
export const readDiscountValue = (
  type: DiscountType,
  value: unknown,
  currency: string
): Result.Result<string, string> => {
  const read =
    type === "percentage"
      ? parseDecimal(value, { scale: 2, min: "0", max: "100" })
      : Result.map(parseMoney(value, currency), (minor) => formatMoney(minor, currency))
  return Result.flatMap(read, (text) =>
    compareDecimals(text, 0) > 0 ? Result.succeed(text) : Result.fail("must be greater than 0.")
  )
}

/** `discount_value` in responses: 2 decimals for percentages, the currency's decimals for amounts. */
export const showDiscountValue = (type: DiscountType, stored: string): string =>
  type === "percentage" ? formatDecimal(stored, 2) : stored
