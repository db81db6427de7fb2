/**
 * The rate engine: calculates the price of a hire from a price, a rate method and a window (rules/rates 4). Amounts are
 * whole minor units; only multipliers of positions and the factor round.
 */
import { Result } from "effect"
import { isJsonObject, type FieldErrors, type JsonObject } from "../../kernel/index.ts"
import { parseMoment, plainDateOf } from "../../values/moment.ts"
import { formatMoney, isCurrency } from "../../values/money.ts"
import type {
  BasePeriod,
  CalculatedLine,
  CalculationStrategy,
  RateBreakdown,
  RateCalculation,
  RateTransactionType
} from "./modifiers.ts"
import { applyModifier, basePeriods, integerOr, measureUnits, runningModifiers, strategyOf } from "./modifiers.ts"

/** Calculation method of a rate: the part of a rate definition that the engine uses. */
export interface RateMethod {
  readonly calculation_strategy: CalculationStrategy
  /** Base period; null for `fixed` only. */
  readonly base_period: BasePeriod | null
  readonly strategy_config: JsonObject
  readonly enabled_modifiers: ReadonlyArray<string>
  readonly modifier_configs: JsonObject
}

export interface RateRequest extends RateMethod {
  /** Minor units of `currency`. */
  readonly price: number
  readonly currency: string
  /** Start and end as sent (ISO 8601); times of day are those of the written offset (rules/rates 4.2). */
  readonly start: string
  readonly end: string
  /** Quantity, a whole number of at least 1. */
  readonly quantity: number
}

const toBreakdown = (calculation: RateCalculation): RateBreakdown => {
  const money = (minor: bigint): string => formatMoney(minor, calculation.currency)
  return {
    currency: calculation.currency,
    unit_price: money(calculation.unit_price),
    units: calculation.units,
    unit_label: calculation.unit_label,
    per_unit_subtotal: money(calculation.per_unit_subtotal),
    quantity: calculation.quantity,
    total: money(calculation.total),
    line_items: calculation.lines.map((line) => ({
      period_from: line.from,
      period_to: line.to,
      multiplier: line.multiplier,
      unit_price: money(line.unit_price),
      line_total: money(line.total)
    })),
    applied_modifiers: calculation.applied.map(({ after, before, ...modifier }) => ({
      ...modifier,
      before: money(before),
      after: money(after)
    }))
  }
}

/** Calculates the breakdown for the API; errors are keyed by request field. */
export const calculateRate = (request: RateRequest): Result.Result<RateBreakdown, FieldErrors> =>
  Result.map(calculateRateMinor(request), toBreakdown)

/** Calculates the breakdown in minor units, as big integers. */
export const calculateRateMinor = (request: RateRequest): Result.Result<RateCalculation, FieldErrors> => {
  const strategy = strategyOf(request.calculation_strategy)
  if (strategy === undefined) return Result.fail({ calculation_strategy: ["The calculation strategy is unknown."] })
  if (!isCurrency(request.currency)) return Result.fail({ currency: ["The currency is unknown."] })
  return Result.map(counted(request), (count) => {
    const modified = runningModifiers(strategy, request.enabled_modifiers).reduce(
      (calculation, facts) => {
        const config = request.modifier_configs[facts.identifier]
        return applyModifier(facts, isJsonObject(config) ? config : {}, calculation)
      },
      basePrice(request, count)
    )
    return { ...modified, total: modified.per_unit_subtotal * BigInt(modified.quantity) }
  })
}

interface Counted {
  readonly units: number
  readonly unit_label: string
}

/** Units of the window in the method's period; 1 for fixed prices. */
const counted = (request: RateRequest): Result.Result<Counted, FieldErrors> => {
  const start = parseMoment(request.start)
  const end = parseMoment(request.end)
  if (start === undefined) return Result.fail({ start: ["The start is not a valid date."] })
  if (end === undefined) return Result.fail({ end: ["The end is not a valid date."] })
  if (request.calculation_strategy === "fixed") return Result.succeed({ units: 1, unit_label: "fixed" })
  const period = request.base_period
  if (period === null) return Result.fail({ base_period: ["The base period is required."] })
  const { unit_label } = basePeriods[period]
  return Result.map(measureUnits(period, request.strategy_config, start, end), ({ units }) => ({ units, unit_label }))
}

const basePrice = (request: RateRequest, { unit_label, units }: Counted): RateCalculation => {
  const price = BigInt(request.price)
  return request.calculation_strategy === "hybrid"
    ? hybridPrice(request, units, unit_label)
    : unmodified(request, units, unit_label, price * BigInt(units), [flatLine(1, units, price)])
}

/** Units and total of a line, in minor units. Above 2^53 the total is not exact, but near enough to exceed limits. */
interface RateTotal {
  readonly units: number
  readonly total: number
}
/** Units and total as of `calculateRateMinor`, without calculating a breakdown unless modifiers need it. */
export const calculateRateTotal = (request: RateRequest): Result.Result<RateTotal, FieldErrors> => {
  const strategy = strategyOf(request.calculation_strategy)
  if (
    strategy === undefined ||
    !isCurrency(request.currency) ||
    runningModifiers(strategy, request.enabled_modifiers).length > 0
  )
    return wholeTotal(request)
  const count = counted(request)
  if (Result.isFailure(count)) return Result.fail(count.failure)
  const { units } = count.success
  const { block, charge } = request.calculation_strategy === "hybrid" ? blockOf(request) : { block: 0, charge: 0 }
  const per_unit = charge + request.price * Math.max(0, units - block)
  const total = per_unit * request.quantity
  return Number.isSafeInteger(per_unit) && Number.isSafeInteger(total)
    ? Result.succeed({ units, total })
    : wholeTotal(request)
}
const wholeTotal = (request: RateRequest): Result.Result<RateTotal, FieldErrors> =>
  Result.map(calculateRateMinor(request), ({ total, units }) => ({ units, total: Number(total) }))

const blockOf = ({ strategy_config }: RateRequest): { readonly block: number; readonly charge: number } => ({
  block: Math.max(0, integerOr(strategy_config["fixed_period_units"], 0)),
  charge: integerOr(strategy_config["fixed_charge"], 0)
})
/** Price of a hybrid rate: one charge for a block of units, used or not, and a price for each unit beyond. */
const hybridPrice = (request: RateRequest, units: number, unit_label: string): RateCalculation => {
  const price = BigInt(request.price)
  const { block, ...fixed } = blockOf(request)
  const charge = BigInt(fixed.charge)
  const extra = Math.max(0, units - block)
  const lines: Array<CalculatedLine> = []
  if (block > 0)
    lines.push({ from: 1, to: Math.min(units, block), multiplier: "1.0", unit_price: charge, total: charge })
  if (extra > 0) lines.push(flatLine(block + 1, units, price))
  return unmodified(request, units, unit_label, charge + price * BigInt(extra), lines)
}

const flatLine = (from: number, to: number, price: bigint): CalculatedLine => ({
  from,
  to,
  multiplier: "1.0",
  unit_price: price,
  total: price * BigInt(to - from + 1)
})

const unmodified = (
  request: RateRequest,
  units: number,
  unit_label: string,
  subtotal: bigint,
  lines: ReadonlyArray<CalculatedLine>
): RateCalculation => ({
  currency: request.currency,
  unit_price: BigInt(request.price),
  units,
  unit_label,
  per_unit_subtotal: subtotal,
  quantity: request.quantity,
  total: subtotal * BigInt(request.quantity),
  lines,
  applied: []
})

/** Method for products without a matching rate: price zero, counted in plain days (rules/rates 4.7). */
export const noRateMethod: RateMethod = {
  calculation_strategy: "period",
  base_period: "daily",
  strategy_config: {},
  enabled_modifiers: [],
  modifier_configs: {}
}

// Chooses a product's rate, and finds overlapping ones (rules/rates 5).

/** Columns that decide whether a product rate applies. Dates are plain days, both inclusive; null is open. */
interface ProductRateWindow {
  readonly id: number
  /** Store of the rate; null for all stores. */
  readonly store_id: number | null
  readonly transaction_type: string
  readonly priority: number
  readonly valid_from: string | null
  readonly valid_to: string | null
}

/** A product rate with the method of its definition. */
export interface PricedRate extends ProductRateWindow {
  readonly rate_definition_id: number
  /** Minor units of `currency`. */
  readonly price: number
  readonly currency: string
  readonly method: RateMethod
  /** Name of the rate definition, for explanations. */
  readonly definition_name?: string
}

export interface RateLookup {
  readonly transaction_type: RateTransactionType
  readonly store_id: number | null
  /** Start as sent (ISO 8601); its date in the written offset counts. */
  readonly start: string
}

/**
 * Rates of one product that apply, best first: highest priority, then the store's own before all-stores, then newest.
 * Only the start date counts; one rate covers the whole hire.
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

/** The rate to use of one product's rates; null if none applies. */
export const resolveProductRate = <R extends ProductRateWindow>(
  rates: ReadonlyArray<R>,
  question: RateLookup
): R | null => applicableRates(rates, question)[0] ?? null

const byPrecedence = (a: ProductRateWindow, b: ProductRateWindow): number =>
  b.priority - a.priority || Number(b.store_id !== null) - Number(a.store_id !== null) || b.id - a.id

/**
 * Ids of the product's rates that overlap with a saved one, ascending: equal store, transaction type and priority, and
 * a common day. Overlaps are only warned about.
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
