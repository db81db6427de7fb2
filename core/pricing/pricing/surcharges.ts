/** Stage 3 of pricing: surcharges of groups enabled for an opportunity (rules/billing 5). */
import { Result } from "effect"
import { parseDecimal } from "../../values/decimal.ts"
import { formatMoney, parseMoney, percentOfMoney } from "../../values/money.ts"
import type { TransactionType } from "./line.ts"
import { type AppliedRule, applyDiscountRules, type DiscountRequest, fromBase, type LineCurrency } from "./discounts.ts"
import type { NetCharge, RollUp, TotalCost, TotalLine, TotalsRequest } from "./totals.ts"
import { rollUp, SURCHARGE_COST_TYPE } from "./totals.ts"
import type { FieldErrors } from "../../kernel/index.ts"

export const surchargeCalculations = {
  percentage: "Percentage",
  fixed_amount: "Fixed Amount",
  per_day: "Per Day"
} as const
type SurchargeCalculation = keyof typeof surchargeCalculations
export const surchargeScopes = { all: "All", rental: "Rental", sale: "Sale", service: "Service" } as const
type SurchargeScope = keyof typeof surchargeScopes

interface Surcharge {
  readonly id: number
  readonly name: string
  readonly calculation_type: SurchargeCalculation
  /** Percentage with 2 decimals, or an amount: stored in the base currency, converted by `surchargeGroupIn`. */
  readonly value: string
  readonly applies_to: SurchargeScope
  /** Product tax class; null for the default. */
  readonly tax_class_id: number | null
  /** Limits in minor units; null for none. */
  readonly min_amount: number | null
  readonly max_amount: number | null
  readonly sort_order: number
}
export interface SurchargeGroup {
  readonly id: number
  readonly name: string
  readonly is_active: boolean
  readonly store_id: number | null
  readonly sort_order: number
  readonly surcharges: ReadonlyArray<Surcharge>
}

/** The group with its amounts, stored in the base currency, converted by the opportunity's exchange rate. */
export const surchargeGroupIn = (group: SurchargeGroup, money: LineCurrency): SurchargeGroup =>
  group.surcharges.length === 0 || money.currency === money.base_currency
    ? group
    : {
        ...group,
        surcharges: group.surcharges.map((surcharge) => ({
          ...surcharge,
          value:
            surcharge.calculation_type === "percentage"
              ? surcharge.value
              : formatMoney(
                  fromBase(
                    Result.getOrElse(parseMoney(surcharge.value, money.base_currency), () => 0),
                    money
                  ),
                  money.currency
                ),
          min_amount: surcharge.min_amount === null ? null : fromBase(surcharge.min_amount, money),
          max_amount: surcharge.max_amount === null ? null : fromBase(surcharge.max_amount, money)
        }))
      }

interface SurchargeRequest {
  /** Enabled groups; inactive ones and those of other stores charge nothing. */
  readonly groups: ReadonlyArray<SurchargeGroup>
  /** Charged lines, net after discounts. */
  readonly lines: ReadonlyArray<{ readonly transaction_type: TransactionType; readonly net: number }>
  /** Chargeable days of the opportunity, at least 1. */
  readonly days: number
  readonly currency: string
  readonly store_id: number | null
}

/** A calculated surcharge, as a read-only cost of type Surcharge, net. */
interface AppliedSurcharge extends NetCharge {
  readonly surcharge_group_id: number
  readonly surcharge_id: number
  readonly name: string
}

/** A calculated surcharge with its base amount. */
export interface CalculatedSurcharge extends AppliedSurcharge {
  readonly surcharge: Surcharge
  readonly group: SurchargeGroup
  /** Net of the lines in its scope, in minor units. */
  readonly base: number
  /** Amount before minimum and maximum. */
  readonly unlimited: number
}

/**
 * Calculates surcharges in the order of groups and of surcharges in them. A surcharge without lines in its scope
 * charges nothing, not even its minimum.
 */
export const applySurcharges = (request: SurchargeRequest): ReadonlyArray<AppliedSurcharge> =>
  calculateSurcharges(request).map(
    ({ base: _base, group: _group, surcharge: _surcharge, unlimited: _unlimited, ...applied }) => applied
  )

export const calculateSurcharges = (request: SurchargeRequest): ReadonlyArray<CalculatedSurcharge> =>
  request.groups
    .filter((group) => group.is_active && (group.store_id === null || group.store_id === request.store_id))
    .sort(bySortOrder)
    .flatMap((group) =>
      [...group.surcharges].sort(bySortOrder).flatMap((surcharge): ReadonlyArray<CalculatedSurcharge> => {
        let found = false
        let base = 0
        for (const { net, transaction_type } of request.lines) {
          if (!isInScope(surcharge.applies_to, transaction_type)) continue
          found = true
          base += net
        }
        if (!found) return []
        const unlimited = surchargeAmount(surcharge, base, request)
        return [
          {
            surcharge,
            group,
            base,
            unlimited,
            surcharge_group_id: group.id,
            surcharge_id: surcharge.id,
            name: surcharge.name,
            cost_type: SURCHARGE_COST_TYPE,
            product_tax_class_id: surcharge.tax_class_id,
            net: withinLimits(surcharge, unlimited)
          }
        ]
      })
    )

interface Sorted {
  readonly sort_order: number
  readonly id: number
}
const bySortOrder = (a: Sorted, b: Sorted): number => a.sort_order - b.sort_order || a.id - b.id

/** Whether a line is in a surcharge's scope; sub-rentals count as rental, as customers hire them alike. */
const isInScope = (scope: SurchargeScope, type: TransactionType): boolean =>
  scope === "all" || scope === type || (scope === "rental" && type === "sub_rental")

const surchargeAmount = (surcharge: Surcharge, base: number, { currency, days }: SurchargeRequest): number => {
  const amount = (): number => Result.getOrElse(parseMoney(surcharge.value, currency), () => 0)
  switch (surcharge.calculation_type) {
    case "percentage":
      return percentOfMoney(base, surcharge.value)
    case "fixed_amount":
      return amount()
    case "per_day":
      return amount() * Math.max(1, days)
  }
}

const withinLimits = ({ max_amount, min_amount }: Surcharge, amount: number): number =>
  Math.min(max_amount ?? Number.POSITIVE_INFINITY, Math.max(min_amount ?? Number.NEGATIVE_INFINITY, amount))

/** Parses `value` into the stored decimal string: a percentage of 0 to 100 with 2 decimals, or money. */
export const readSurchargeValue = (
  type: SurchargeCalculation,
  value: unknown,
  currency: string
): Result.Result<string, string> =>
  type === "percentage"
    ? parseDecimal(value, { scale: 2, min: "0", max: "100" })
    : Result.map(parseMoney(value, currency), (minor) => formatMoney(minor, currency))

// The four stages of pricing (rules/billing 4): 1 lines (input here), 2 discount rules, 3 surcharges, 4 totals and tax.
// A deal price skips stages 2 and 3; a price lock keeps their earlier results.

export interface StageLine {
  readonly id: number
  readonly transaction_type: TransactionType
  /** Net in minor units: the total of `priceLine`. */
  readonly net: number
  readonly product_tax_class_id: number | null
  readonly tax_rate?: string | null | undefined
  readonly is_optional: boolean
  readonly discountable: boolean
  readonly priced_by_hand: boolean
  readonly made_at?: string | undefined
  readonly facts: DiscountRequest["lines"][number]["facts"]
}

/** Results of stages 2 and 3, which locked opportunities keep. */
export interface RuleOutcome {
  /** Discount by rules in minor units, by line id; missing lines have none. */
  readonly line_discounts: ReadonlyMap<number, number>
  readonly applied_rules: ReadonlyArray<AppliedRule>
  readonly surcharges: ReadonlyArray<AppliedSurcharge>
}

export interface StagesRequest
  extends
    Pick<DiscountRequest, "rules" | "named_rule_ids" | "currency" | "store_id" | "start_date">,
    Pick<TotalsRequest, "prices_include_tax" | "deal_total" | "default_product_tax_class_id" | "taxOf"> {
  readonly lines: ReadonlyArray<StageLine>
  readonly costs: ReadonlyArray<TotalCost>
  readonly surcharge_groups: ReadonlyArray<SurchargeGroup>
  /** Chargeable days of the opportunity. */
  readonly days: number
  /** Whether tax is locked; `taxOf` then gives the stored percentages. */
  readonly tax_locked: boolean
  /** Earlier results to use while pricing is locked, else null. */
  readonly locked: RuleOutcome | null
}

export interface PricedOpportunity extends RuleOutcome, RollUp {
  /** Net in minor units after all discounts, by line id. */
  readonly line_nets: ReadonlyMap<number, number>
}

/** Prices an opportunity by all stages; fails under `charge_total` if a sum is too large to be exact. */
export const priceOpportunity = (request: StagesRequest): Result.Result<PricedOpportunity, FieldErrors> => {
  const outcome = request.deal_total !== null ? nothing : (request.locked ?? runRules(request))
  const line_nets = new Map<number, number>()
  const lines = request.lines.map((line): TotalLine => {
    const net = netOf(line, outcome)
    line_nets.set(line.id, net)
    return {
      transaction_type: line.transaction_type,
      net,
      product_tax_class_id: line.product_tax_class_id,
      is_optional: line.is_optional,
      tax_rate: line.tax_rate
    }
  })
  const { tax_groups, totals } = rollUp({ ...request, lines, surcharges: outcome.surcharges })
  return Object.values(totals).every(Number.isSafeInteger)
    ? Result.succeed({ ...outcome, line_nets, totals, tax_groups })
    : Result.fail({ charge_total: ["The total is too large."] })
}

const nothing: RuleOutcome = { line_discounts: new Map(), applied_rules: [], surcharges: [] }

/** Net of a line after rules, at least 0: a discount kept by a lock may exceed a line whose price changed since. */
const netOf = (line: StageLine, { line_discounts }: RuleOutcome): number => {
  const discount = line_discounts.get(line.id) ?? 0
  return discount === 0 ? line.net : Math.max(0, line.net - discount)
}

/** Lines by id, so that moving lines does not change which of them get minor units left over by rounding. */
const asEntered = ({ lines }: StagesRequest): ReadonlyArray<StageLine> =>
  lines.every((line, index) => line.id >= (lines[index - 1]?.id ?? line.id))
    ? lines
    : [...lines].sort((a, b) => a.id - b.id)

/** Input of stage 2: the priced lines in order of id. */
export const discountRequestOf = (request: StagesRequest): DiscountRequest => ({
  ...request,
  lines: asEntered(request)
})

/** Input of stage 3: charged lines, net of discounts by rules. */
export const surchargeRequestOf = (
  request: StagesRequest,
  line_discounts: RuleOutcome["line_discounts"]
): SurchargeRequest => ({
  ...request,
  groups: request.surcharge_groups,
  lines: request.lines
    .filter(({ is_optional }) => !is_optional)
    .map(({ id, net, transaction_type }) => ({ transaction_type, net: net - (line_discounts.get(id) ?? 0) }))
})

const runRules = (request: StagesRequest): RuleOutcome => {
  const { applied, line_discounts } = applyDiscountRules(discountRequestOf(request))
  const byLine = new Map<number, number>()
  asEntered(request).forEach((line, index) => byLine.set(line.id, line_discounts[index] ?? 0))
  const surcharges = request.surcharge_groups.length === 0 ? [] : applySurcharges(surchargeRequestOf(request, byLine))
  return { line_discounts: byLine, applied_rules: applied, surcharges }
}
