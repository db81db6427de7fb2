/**
 * Explains the price of a hire: which rate was chosen, how the time was counted, what each modifier did, and where it
 * was rounded (rules/rates 4, 5). It uses the functions that compute the price.
 */
import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../kernel/index.ts"
import { type Moment, parseMoment, parseTimeOfDay, plainDateOf } from "../../values/moment.ts"
import { countText, roundingWords, type Step } from "./explain-step.ts"
import type { BasePeriod, CalculatedModifier, RateCalculation, UnitCount } from "../pricing/modifiers.ts"
import { basePeriods, factorFor, integerOr, measureUnits, strategyLabel } from "../pricing/modifiers.ts"
import { exact } from "../../values/decimal.ts"
import { formatMoney } from "../../values/money.ts"
import type { PricedRate, RateLookup, RateRequest } from "../pricing/engine.ts"
import { applicableRates, calculateRateMinor } from "../pricing/engine.ts"

// Describes how the duration of a hire is counted in units (rules/rates 4.1).

const clockOf = ({ epoch_ms, offset_minutes }: Moment): string => {
  const sign = offset_minutes < 0 ? "-" : "+"
  const size = Math.abs(offset_minutes)
  const two = (part: number): string => String(Math.trunc(part)).padStart(2, "0")
  const local = new Date(epoch_ms + offset_minutes * 60_000).toISOString().slice(0, 19)
  return `${local}${offset_minutes === 0 ? "Z" : `${sign}${two(size / 60)}:${two(size % 60)}`}`
}

const singular: { readonly [P in BasePeriod]: string } = {
  half_hourly: "half-hour",
  hourly: "hour",
  daily: "day",
  weekly: "week",
  monthly: "month"
}
const unitWords = (units: number, period: BasePeriod): string =>
  countText(units, singular[period], basePeriods[period].unit_label)

/** Steps from a window to units; empty if the window is longer than rates can measure. */
const explainUnits = (period: BasePeriod, config: JsonObject, start: Moment, end: Moment): ReadonlyArray<Step> =>
  Result.match(measureUnits(period, config, start, end), {
    onFailure: () => [],
    onSuccess: (count) => [
      ...explainCutOffs(count, config, start, end),
      ...explainMinutes(count, config),
      explainCount(count, period)
    ]
  })

/** Steps that move start and end of the window by cut-off times. */
const explainCutOffs = (count: UnitCount, config: JsonObject, start: Moment, end: Moment): ReadonlyArray<Step> => {
  const first = String(config["first_day_cutoff"]),
    last = String(config["last_day_cutoff"])
  const late = `It starts after the first day's cut-off ${first}, so it is counted from the beginning of that day.`
  const early = `It ends before the last day's cut-off ${last}, so it is counted to the beginning of that day.`
  const moved = (figure: string, rule: string, words: string, before: Moment, after: Moment): ReadonlyArray<Step> =>
    after.epoch_ms === before.epoch_ms ? [] : [{ figure, rule, from: clockOf(before), to: clockOf(after), words }]
  return [
    ...moved("start", "first_day_cutoff", late, start, count.start),
    ...moved("end", "last_day_cutoff", early, end, count.end)
  ]
}

/** Steps that count minutes and subtract the leeway. */
const explainMinutes = (count: UnitCount, config: JsonObject): ReadonlyArray<Step> => {
  const { leeway_minutes, minutes } = count
  const window = `From ${clockOf(count.start)} to ${clockOf(count.end)}`
  const open = timeOr(config["business_hours_start"], "00:00"),
    close = timeOr(config["business_hours_end"], "24:00")
  const step = { figure: "minutes", from: null, to: String(minutes) }
  const time = countText(minutes, "minute")
  const [rule, words] =
    config["day_type"] === "business"
      ? ["business_hours", `${window} only the time from ${open} to ${close} of each day counts: ${time}.`]
      : ["elapsed", `${window} ${minutes === 1 ? "passes" : "pass"} ${time}.`]
  const counted: Step = { ...step, rule, words }
  const taken = `${countText(leeway_minutes, "minute")} of leeway ${leeway_minutes === 1 ? "is" : "are"} taken off, once.`
  if (leeway_minutes === 0) return [counted]
  return [counted, { ...step, rule: "leeway", from: step.to, to: String(remainingOf(count)), words: taken }]
}
const remainingOf = ({ leeway_minutes, minutes }: UnitCount): number => Math.max(0, minutes - leeway_minutes)

/** Step that divides the counted minutes into units. */
const explainCount = (count: UnitCount, period: BasePeriod): Step => {
  const { unit_minutes } = count
  const days = period === "weekly" ? `${unit_minutes / 1440} rental days, ` : ""
  const size = `A ${singular[period]} is ${days}${unit_minutes} minutes`
  const remaining = remainingOf(count)
  const whole = Math.floor(remaining / unit_minutes),
    over = remaining % unit_minutes
  const [rule, how] =
    remaining === 0
      ? ["at_least_one", "nothing is left, and one is the least"]
      : over === 0
        ? ["whole_units", "they divide evenly"]
        : [
            "part_counts_whole",
            `${whole} whole and ${countText(over, "minute")} over, and a part counts as a whole one`
          ]
  const words = `${size}: ${how}, so ${unitWords(count.units, period)}.`
  return { figure: "units", rule, from: null, to: String(count.units), words }
}

const timeOr = (value: unknown, fallback: string): string =>
  parseTimeOfDay(value) === undefined ? fallback : String(value)

const rateName = (rate: PricedRate): string =>
  `rate ${rate.id} (${rate.definition_name ?? strategyLabel(rate.method.calculation_strategy)}, ` +
  `${formatMoney(rate.price, rate.currency)} ${rate.currency})`

/** Step that chooses one of the `rates`, with the reason. */
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

/** Steps from a request to the engine's total: time, strategy, modifiers, quantity. Empty if the engine fails. */
export const explainCalculation = (request: RateRequest): ReadonlyArray<Step> => {
  const start = parseMoment(request.start),
    end = parseMoment(request.end)
  const priced = calculateRateMinor(request)
  if (start === undefined || end === undefined || Result.isFailure(priced)) return []
  const calculation = priced.success
  const { base_period, calculation_strategy, currency } = request
  const [from, to] = [formatMoney(calculation.per_unit_subtotal, currency), formatMoney(calculation.total, currency)]
  const words = `${request.quantity} × ${from} is ${to} ${currency}.`
  return [
    ...(calculation_strategy === "fixed" || base_period === null
      ? []
      : explainUnits(base_period, request.strategy_config, start, end)),
    explainStrategy(request, calculation),
    ...calculation.applied.flatMap((applied) => explainModifier(applied, request, calculation)),
    { figure: "total", rule: "quantity", from, to, words }
  ]
}

const explainStrategy = (
  request: RateRequest,
  { applied, per_unit_subtotal, unit_price, units }: RateCalculation
): Step => {
  const money = (minor: bigint): string => formatMoney(minor, request.currency)
  const [from, to] = [money(unit_price), money(applied[0]?.before ?? per_unit_subtotal)]
  const step = { figure: "per_unit_subtotal", rule: request.calculation_strategy, from, to }
  const period = request.base_period
  if (request.calculation_strategy === "fixed" || period === null)
    return { ...step, words: `One price for the whole hire, however long it is: ${to}.` }
  if (request.calculation_strategy === "period")
    return { ...step, words: `${unitWords(units, period)} at ${from}: ${to} for one.` }
  const block = Math.max(0, integerOr(request.strategy_config["fixed_period_units"], 0))
  const charge = BigInt(integerOr(request.strategy_config["fixed_charge"], 0))
  const extra = Math.max(0, units - block)
  const beyond = extra === 0 ? "none lies beyond" : `${unitWords(extra, period)} beyond at ${from} each`
  const first = `The first ${unitWords(block, period)} cost ${money(charge)} together, however few are used`
  return { ...step, words: `${first}; ${beyond}: ${to} for one.` }
}

const explainModifier = (
  applied: CalculatedModifier,
  request: RateRequest,
  calculation: RateCalculation
): ReadonlyArray<Step> => {
  const { currency } = request
  const money = (minor: bigint): string => formatMoney(minor, currency)
  const [before, after] = [money(applied.before), money(applied.after)]
  const sum = { figure: "per_unit_subtotal", rule: applied.key, from: before, to: after }
  if (applied.key === "factor") {
    const config = request.modifier_configs["factor"]
    const factor = factorFor(config !== undefined && isJsonObject(config) ? config : {}, request.quantity)
    if (factor === undefined)
      return [{ ...sum, words: `No range holds a quantity of ${request.quantity}: the factor is 1.0.` }]
    const rounding = roundingWords(exact(applied.before).times(exact(factor)), currency)
    const product = `${before} × ${factor} is ${after}${rounding}`
    return [{ ...sum, words: `Factor ${factor} for a quantity of ${request.quantity}: ${product}.` }]
  }
  const period = request.base_period ?? "daily"
  const lines = calculation.lines.map((line, at): Step => {
    const places =
      line.from === line.to
        ? `${singular[period]} ${line.from}`
        : `${basePeriods[period].unit_label} ${line.from} to ${line.to}`
    const rounding = roundingWords(exact(calculation.unit_price).times(exact(line.multiplier)), currency)
    const [from, to] = [money(calculation.unit_price), money(line.unit_price)]
    const times = line.from === line.to ? "" : `, ${line.to - line.from + 1} times`
    const product = `${from} × ${line.multiplier} is ${to}${rounding}${times}`
    const words = `Multiplier ${line.multiplier} for ${places}: ${product}.`
    return { figure: `line_items.${at}.unit_price`, rule: "multiplier", from, to, words }
  })
  return [...lines, { ...sum, words: `With its multipliers the time costs ${after} for one instead of ${before}.` }]
}
