/** Stage 3 of pricing: the surcharges of the groups switched on for an opportunity (rules/billing 5). */
import { Result } from "effect"
import { parseDecimal } from "../values/decimal.ts"
import { formatMoney, parseMoney, percentOfMoney } from "../values/money.ts"
import type { TransactionType } from "./line.ts"
import { fromBase, type LineCurrency } from "./line-rate.ts"
import { type NetCharge, SURCHARGE_COST_TYPE } from "./totals.ts"

export const surchargeCalculations = {
  percentage: "Percentage",
  fixed_amount: "Fixed Amount",
  per_day: "Per Day"
} as const
type SurchargeCalculation = keyof typeof surchargeCalculations
export const surchargeScopes = { all: "All", rental: "Rental", sale: "Sale", service: "Service" } as const
type SurchargeScope = keyof typeof surchargeScopes

export interface Surcharge {
  readonly id: number
  readonly name: string
  readonly calculation_type: SurchargeCalculation
  /** Percentage with 2 decimals, or an amount in major units of the opportunity's currency. */
  readonly value: string
  readonly applies_to: SurchargeScope
  /** Product tax class; null for the default one. */
  readonly tax_class_id: number | null
  /** Minor units. */
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

/** A group with its amounts, stored in the base currency, converted at the exchange rate of the opportunity. */
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

export interface SurchargeRequest {
  /** The groups switched on; inactive ones and those of another store charge nothing. */
  readonly groups: ReadonlyArray<SurchargeGroup>
  /** Lines that are charged, net after discounts. */
  readonly lines: ReadonlyArray<{ readonly transaction_type: TransactionType; readonly net: number }>
  /** Chargeable days of the opportunity, at least 1. */
  readonly days: number
  readonly currency: string
  readonly store_id: number | null
}

/** One computed cost, read-only: cost type Surcharge, net. */
export interface AppliedSurcharge extends NetCharge {
  readonly surcharge_group_id: number
  readonly surcharge_id: number
  readonly name: string
}

/** A surcharge with the amount it is computed on. */
export interface CalculatedSurcharge extends AppliedSurcharge {
  readonly surcharge: Surcharge
  readonly group: SurchargeGroup
  /** Minor units: the net of the lines of its kind. */
  readonly base: number
  /** Before its minimum and maximum. */
  readonly unlimited: number
}

/**
 * In the order of groups, then of surcharges. Without a line of its kind a surcharge charges nothing, not even its
 * minimum.
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

/** Sub-rental lines count as rental: the customer hires them like any other. */
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

/** Reads `value` of a body into the stored decimal string: a percentage of 0 to 100 with 2 decimals, or money. */
export const readSurchargeValue = (
  type: SurchargeCalculation,
  value: unknown,
  currency: string
): Result.Result<string, string> =>
  type === "percentage"
    ? parseDecimal(value, { scale: 2, min: "0", max: "100" })
    : Result.map(parseMoney(value, currency), (minor) => formatMoney(minor, currency))
