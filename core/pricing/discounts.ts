/** Stage 2 of pricing: discount rules, spread over the lines that meet their criteria (rules/billing 4). */
import { Result } from "effect"
import type { Json } from "../kernel/json.ts"
import { compareDecimals, formatDecimal, parseDecimal } from "../values/decimal.ts"
import { allocateMoney, formatMoney, parseMoney, percentOfMoney } from "../values/money.ts"
import { type Criteria, readCriteria } from "./criteria.ts"
import { type CriteriaFacts, meetsCriteria } from "./criteria-match.ts"
import { fromBase, type LineCurrency } from "./line-rate.ts"

export const discountTypes = { percentage: "Percentage", fixed_amount: "Fixed Amount" } as const
type DiscountType = keyof typeof discountTypes
/** `line`: computed for each line; `total`: once for all lines that meet the criteria, then spread over them. */
export const discountScopes = { line: "Line", total: "Total" } as const
type DiscountScope = keyof typeof discountScopes

export interface DiscountRule {
  readonly id: number
  readonly name: string
  readonly discount_type: DiscountType
  /** Percentage with 2 decimals, or an amount in major units of `currency_code`. */
  readonly discount_value: string
  readonly applies_to: DiscountScope
  /** Minor units: the most the rule takes off an opportunity, or null. */
  readonly max_discount_amount: number | null
  /** Null: for opportunities in any currency. */
  readonly currency_code: string | null
  readonly criteria: Json
  readonly auto_apply: boolean
  readonly stackable: boolean
  readonly priority: number
  readonly is_active: boolean
  /** Plain dates, both inclusive. */
  readonly valid_from: string | null
  readonly valid_to: string | null
  readonly store_id: number | null
  /** When it was deleted: after that it applies only to lines made before. */
  readonly deleted_at?: string | null
}

/**
 * A rule without a currency stores its maximum in the base currency; it is converted at the exchange rate of the
 * opportunity.
 */
export const discountRuleIn = (rule: DiscountRule, money: LineCurrency): DiscountRule =>
  rule.currency_code !== null || rule.max_discount_amount === null
    ? rule
    : { ...rule, max_discount_amount: fromBase(rule.max_discount_amount, money) }

/** A line as stage 1 left it. */
export interface DiscountableLine {
  /** Minor units. */
  readonly net: number
  /** False: no rule applies to it. */
  readonly discountable: boolean
  /** Offered but not charged: no rule applies to it. */
  readonly is_optional?: boolean
  /** It has a manual price or discount: automatic rules do not apply. */
  readonly priced_by_hand: boolean
  /** When the line was made; absent for a line made by this command. */
  readonly made_at?: string | undefined
  readonly facts: CriteriaFacts
}

export interface DiscountRequest {
  readonly rules: ReadonlyArray<DiscountRule>
  /** Rules named on the opportunity; rules without auto_apply apply only then. */
  readonly named_rule_ids: ReadonlyArray<number>
  readonly lines: ReadonlyArray<DiscountableLine>
  readonly currency: string
  readonly store_id: number | null
  /** Plain date the opportunity starts on. */
  readonly start_date: string
}

export interface AppliedRule {
  readonly rule_id: number
  readonly name: string
  /** Minor units, positive. */
  readonly amount: number
}
export interface Discounts {
  /** Minor units off each line, in the order of the lines; never more than its net. */
  readonly line_discounts: ReadonlyArray<number>
  readonly applied: ReadonlyArray<AppliedRule>
}

/**
 * Rules run by priority, then id. Stackable rules apply one after the other, each to what remains; other rules apply
 * alone. Of the stack and each single rule, the largest discount is taken; of equal ones the stack, then the first
 * rule.
 */
export const applyDiscountRules = (request: DiscountRequest): Discounts => {
  const { alone, stack } = discountCandidates(request)
  return alone.reduce((best, candidate) => (worth(candidate) > worth(best) ? candidate : best), stack)
}

/** The discounts of the stack and of each single rule: the candidates of which the largest is taken. */
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

/** The discount of a rule on a base amount, never more than the base. */
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
 * Reads `discount_value` of a body into the stored decimal string: a percentage above 0 up to 100 with 2 decimals, or
 * money above 0. The failure continues the field's name.
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

/** `discount_value` as shown: 2 decimals for a percentage, the currency's own scale for an amount. */
export const showDiscountValue = (type: DiscountType, stored: string): string =>
  type === "percentage" ? formatDecimal(stored, 2) : stored
