/**
 * Explains the price of a hire: which rate was chosen, how the time was counted, what each modifier did, and where it
 * was rounded (rules/rates 4, 5). It uses the functions that compute the price.
 */
import { Result } from "effect"
import { isJsonObject } from "../kernel/json.ts"
import { exact } from "../values/decimal.ts"
import { parseMoment, plainDateOf } from "../values/moment.ts"
import { formatMoney } from "../values/money.ts"
import type { CalculatedModifier, RateCalculation } from "./breakdown.ts"
import { calculateRateMinor, type RateRequest } from "./engine.ts"
import { countText, roundingWords, type Step } from "./explain-step.ts"
import { explainUnits, singular, unitWords } from "./explain-units.ts"
import { factorFor } from "./modifiers.ts"
import { applicableRates, type PricedRate, type RateLookup } from "./resolution.ts"
import { basePeriods, strategyLabel } from "./strategies.ts"
import { integerOr } from "./units.ts"

const rateName = (rate: PricedRate): string =>
  `rate ${rate.id} (${rate.definition_name ?? strategyLabel(rate.method.calculation_strategy)}, ` +
  `${formatMoney(rate.price, rate.currency)} ${rate.currency})`

/** Which of the `rates` prices the hire, and why. */
export const explainChoice = (rates: ReadonlyArray<PricedRate>, question: RateLookup): Step => {
  const start = parseMoment(question.start)
  const day = start === undefined ? question.start : plainDateOf(start)
  const place = question.store_id === null ? "for all stores" : `at store ${question.store_id}`
  const [winner, second, ...others] = applicableRates(rates, question)
  const of = `for ${question.transaction_type} ${place} on ${day}`
  const step = { figure: "product_rate_id", from: null }
  if (winner === undefined)
    return { ...step, rule: "no_rate", words: `No rate of the product holds ${of}.`, to: "none" }
  const choice = { ...step, to: String(winner.id) }
  const name = `${rateName(winner).charAt(0).toUpperCase()}${rateName(winner).slice(1)}`
  if (second === undefined) return { ...choice, rule: "only_rate", words: `${name} is the only one that holds ${of}.` }
  const beaten = others.length === 0 ? rateName(second) : `${rateName(second)} and ${countText(others.length, "other")}`
  const [rule, why] =
    winner.priority !== second.priority
      ? ["highest_priority", `its priority ${winner.priority} is higher than ${second.priority}`]
      : (winner.store_id === null) !== (second.store_id === null)
        ? ["own_store", "of the same priority, the store's own goes before one for all stores"]
        : ["newest", "of the same priority and reach, the newest goes first"]
  return { ...choice, rule, words: `${name} wins over ${beaten} ${of}: ${why}.` }
}

/**
 * How the engine came to its total: the time, the strategy, each modifier, the quantity. Empty where the engine fails.
 */
export const explainCalculation = (request: RateRequest): ReadonlyArray<Step> => {
  const start = parseMoment(request.start),
    end = parseMoment(request.end)
  const priced = calculateRateMinor(request)
  if (start === undefined || end === undefined || Result.isFailure(priced)) return []
  const calculation = priced.success
  const { base_period, calculation_strategy, currency } = request
  const money = (minor: bigint): string => formatMoney(minor, currency)
  return [
    ...(calculation_strategy === "fixed" || base_period === null
      ? []
      : explainUnits(base_period, request.strategy_config, start, end)),
    explainStrategy(request, calculation),
    ...calculation.applied.flatMap((applied) => explainModifier(applied, request, calculation)),
    {
      figure: "total",
      rule: "quantity",
      from: money(calculation.per_unit_subtotal),
      to: money(calculation.total),
      words: `${request.quantity} × ${money(calculation.per_unit_subtotal)} is ${money(calculation.total)} ${currency}.`
    }
  ]
}

const explainStrategy = (
  request: RateRequest,
  { applied, per_unit_subtotal, unit_price, units }: RateCalculation
): Step => {
  const money = (minor: bigint): string => formatMoney(minor, request.currency)
  const subtotal = applied[0]?.before ?? per_unit_subtotal
  const step = {
    figure: "per_unit_subtotal",
    rule: request.calculation_strategy,
    from: money(unit_price),
    to: money(subtotal)
  }
  const period = request.base_period
  if (request.calculation_strategy === "fixed" || period === null) {
    return { ...step, words: `One price for the whole hire, however long it is: ${money(subtotal)}.` }
  }
  if (request.calculation_strategy === "period") {
    return { ...step, words: `${unitWords(units, period)} at ${money(unit_price)}: ${money(subtotal)} for one.` }
  }
  const block = Math.max(0, integerOr(request.strategy_config["fixed_period_units"], 0))
  const charge = BigInt(integerOr(request.strategy_config["fixed_charge"], 0))
  const extra = Math.max(0, units - block)
  const beyond = extra === 0 ? "none lies beyond" : `${unitWords(extra, period)} beyond at ${money(unit_price)} each`
  return {
    ...step,
    words: `The first ${unitWords(block, period)} cost ${money(charge)} together, however few are used; ${beyond}: ${money(subtotal)} for one.`
  }
}

const explainModifier = (
  applied: CalculatedModifier,
  request: RateRequest,
  calculation: RateCalculation
): ReadonlyArray<Step> => {
  const { currency } = request
  const money = (minor: bigint): string => formatMoney(minor, currency)
  const sum: Omit<Step, "words"> = {
    figure: "per_unit_subtotal",
    rule: applied.key,
    from: money(applied.before),
    to: money(applied.after)
  }
  if (applied.key === "factor") {
    const config = request.modifier_configs["factor"]
    const factor = factorFor(config !== undefined && isJsonObject(config) ? config : {}, request.quantity)
    if (factor === undefined)
      return [{ ...sum, words: `No range holds a quantity of ${request.quantity}: the factor is 1.0.` }]
    const rounding = roundingWords(exact(applied.before).times(exact(factor)), currency)
    return [
      {
        ...sum,
        words: `Factor ${factor} for a quantity of ${request.quantity}: ${money(applied.before)} × ${factor} is ${money(applied.after)}${rounding}.`
      }
    ]
  }
  const period = request.base_period ?? "daily"
  const lines = calculation.lines.map((line, at): Step => {
    const places =
      line.from === line.to
        ? `${singular[period]} ${line.from}`
        : `${basePeriods[period].unit_label} ${line.from} to ${line.to}`
    const rounding = roundingWords(exact(calculation.unit_price).times(exact(line.multiplier)), currency)
    return {
      figure: `line_items.${at}.unit_price`,
      rule: "multiplier",
      from: money(calculation.unit_price),
      to: money(line.unit_price),
      words: `Multiplier ${line.multiplier} for ${places}: ${money(calculation.unit_price)} × ${line.multiplier} is ${money(line.unit_price)}${rounding}${line.from === line.to ? "" : `, ${line.to - line.from + 1} times`}.`
    }
  })
  return [
    ...lines,
    {
      ...sum,
      words: `With its multipliers the time costs ${money(applied.after)} for one instead of ${money(applied.before)}.`
    }
  ]
}

/** Explains an answer of calculate_rate: the choice of the rate, then the calculation. */
export const explainRate = (
  rates: ReadonlyArray<PricedRate>,
  question: RateLookup,
  request: RateRequest
): ReadonlyArray<Step> => [explainChoice(rates, question), ...explainCalculation(request)]
