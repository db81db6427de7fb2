/** Which of a product's rates applies, and which overlap (rules/rates 5). */
import { parseMoment, plainDateOf } from "../../values/moment.ts"
import type { RateMethod } from "./engine.ts"
import type { RateTransactionType } from "./strategies.ts"

/**
 * The columns of a product rate that decide whether it applies. Dates are plain days, both ends inclusive; null is
 * open.
 */
export interface ProductRateWindow {
  readonly id: number
  /** Null: every store. */
  readonly store_id: number | null
  readonly transaction_type: string
  readonly priority: number
  readonly valid_from: string | null
  readonly valid_to: string | null
}

/** A product rate together with the method of its definition. */
export interface PricedRate extends ProductRateWindow {
  readonly rate_definition_id: number
  /** Minor units of `currency`. */
  readonly price: number
  readonly currency: string
  readonly method: RateMethod
  /** The name of the rate definition; only explanations use it. */
  readonly definition_name?: string
}

export interface RateLookup {
  readonly transaction_type: RateTransactionType
  readonly store_id: number | null
  /** ISO 8601 as submitted; the day it names in its own offset is the one that counts. */
  readonly start: string
}

/**
 * The rates of one product that apply to a request, the chosen one first: highest priority, then the store's own before
 * all-stores, then the newest. Only the start date is looked at; one rate covers the whole hire.
 */
export const applicableRates = <R extends ProductRateWindow>(
  rates: ReadonlyArray<R>,
  question: RateLookup
): ReadonlyArray<R> => {
  const start = parseMoment(question.start)
  if (start === undefined) return []
  const day = plainDateOf(start)
  return rates
    .filter((rate) => rate.transaction_type === question.transaction_type)
    .filter((rate) => rate.store_id === null || rate.store_id === question.store_id)
    .filter((rate) => (rate.valid_from ?? day) <= day && day <= (rate.valid_to ?? day))
    .sort(byPrecedence)
}

/** The chosen rate among those of one product, or null. */
export const resolveProductRate = <R extends ProductRateWindow>(
  rates: ReadonlyArray<R>,
  question: RateLookup
): R | null => applicableRates(rates, question)[0] ?? null

const byPrecedence = (a: ProductRateWindow, b: ProductRateWindow): number =>
  b.priority - a.priority || Number(b.store_id !== null) - Number(a.store_id !== null) || b.id - a.id

/**
 * Ids, ascending, of the product's other rates that a saved one overlaps: same store (all-stores only equals
 * all-stores), transaction type and priority, and at least one day in common. A warning, never a refusal.
 */
export const overlappingRateIds = (
  saved: ProductRateWindow,
  rates: ReadonlyArray<ProductRateWindow>
): ReadonlyArray<number> =>
  rates
    .filter(
      (rate) =>
        rate.id !== saved.id &&
        rate.store_id === saved.store_id &&
        rate.transaction_type === saved.transaction_type &&
        rate.priority === saved.priority &&
        startsBeforeEnd(rate, saved) &&
        startsBeforeEnd(saved, rate)
    )
    .map((rate) => rate.id)
    .sort((a, b) => a - b)

const startsBeforeEnd = (a: ProductRateWindow, b: ProductRateWindow): boolean =>
  a.valid_from === null || b.valid_to === null || a.valid_from <= b.valid_to
