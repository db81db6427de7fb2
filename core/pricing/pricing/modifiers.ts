/** Strategies and periods of the rate engine, counting of units, and modifiers (rules/rates 1, 4.1, 4.4, 4.5). */
import { timesMoney } from "../../values/money.ts"
import { Result } from "effect"
import { objectsIn, type FieldErrors, type Json, type JsonObject } from "../../kernel/index.ts"
import {
  DAY_MINUTES,
  DAY_MS,
  MINUTE_MS,
  minuteOfDay,
  type Moment,
  parseTimeOfDay,
  startOfDay,
  wallClockMs
} from "../../values/moment.ts"

/** Strategies, base periods and modifiers of the rate engine, and the combinations supported (rules/rates 1). */
export type CalculationStrategy = "period" | "fixed" | "hybrid"
export type BasePeriod = "half_hourly" | "hourly" | "daily" | "weekly" | "monthly"
export type Modifier = "multiplier" | "factor"
/** Transaction types that product rates can have. */
export type RateTransactionType = "rental" | "sale" | "service"

export interface StrategyFacts {
  readonly identifier: CalculationStrategy
  readonly label: string
  readonly allowed_base_periods: ReadonlyArray<BasePeriod>
  readonly supports_multiplier: boolean
  readonly supports_factor: boolean
}
interface ModifierFacts {
  readonly identifier: Modifier
  readonly label: string
  readonly priority: number
}
interface BasePeriodFacts {
  readonly label: string
  readonly unit_label: string
  /** Minutes of one unit: a month has 30 days, and a week depends on its rental days. */
  readonly minutes: number
  /** Whether cut-offs of first and last day apply: only to `day` periods. */
  readonly kind: "clock" | "day"
}

/** Strategies, in the order of GET /rate_engine/strategies. */
export const strategies: ReadonlyArray<StrategyFacts> = [
  {
    identifier: "period",
    label: "Period-based",
    supports_multiplier: true,
    supports_factor: true,
    allowed_base_periods: ["half_hourly", "hourly", "daily", "weekly", "monthly"]
  },
  { identifier: "fixed", label: "Fixed", supports_multiplier: false, supports_factor: true, allowed_base_periods: [] },
  {
    identifier: "hybrid",
    label: "Hybrid",
    supports_multiplier: false,
    supports_factor: false,
    allowed_base_periods: ["daily", "weekly", "monthly"]
  }
]

/** Modifiers, in the order they run, whatever order is sent. */
export const modifiers: ReadonlyArray<ModifierFacts> = [
  { identifier: "multiplier", label: "Multiplier", priority: 100 },
  { identifier: "factor", label: "Factor", priority: 200 }
]

export const basePeriods: { readonly [P in BasePeriod]: BasePeriodFacts } = {
  half_hourly: { label: "Half-Hourly", unit_label: "half-hours", minutes: 30, kind: "clock" },
  hourly: { label: "Hourly", unit_label: "hours", minutes: 60, kind: "clock" },
  daily: { label: "Daily", unit_label: "days", minutes: 1_440, kind: "day" },
  weekly: { label: "Weekly", unit_label: "weeks", minutes: 10_080, kind: "day" },
  monthly: { label: "Monthly", unit_label: "months", minutes: 43_200, kind: "day" }
}

export const strategyOf = (identifier: unknown): StrategyFacts | undefined =>
  strategies.find((strategy) => strategy.identifier === identifier)

export const modifierOf = (identifier: unknown): ModifierFacts | undefined =>
  modifiers.find((modifier) => modifier.identifier === identifier)

export const supportsModifier = (strategy: StrategyFacts, modifier: Modifier): boolean =>
  modifier === "multiplier" ? strategy.supports_multiplier : strategy.supports_factor

/** Enabled modifiers that the strategy supports, without duplicates, in the order they run. */
export const runningModifiers = (
  strategy: StrategyFacts,
  enabled: ReadonlyArray<string>
): ReadonlyArray<ModifierFacts> =>
  modifiers.filter(({ identifier }) => enabled.includes(identifier) && supportsModifier(strategy, identifier))

/** Labels of strategy and base period, for `calculation_strategy_name` and `base_period_name`. */
export const strategyLabel = (strategy: CalculationStrategy): string => strategyOf(strategy)?.label ?? strategy
export const basePeriodLabel = (period: BasePeriod | null): string | null =>
  period === null ? null : basePeriods[period].label

export const rateTransactionTypes: { readonly [T in RateTransactionType]: string } = {
  rental: "Rental",
  sale: "Sale",
  service: "Service"
}
export const isRateTransactionType = (value: unknown): value is RateTransactionType =>
  typeof value === "string" && Object.hasOwn(rateTransactionTypes, value)

// Result of the rate engine in responses (rules/rates 4.6).

interface RateLineItem {
  /** Positions of first and last unit, from 1, both inclusive. */
  readonly period_from: number
  readonly period_to: number
  /** Multiplier as configured: "1.0" and "1" differ. */
  readonly multiplier: string
  readonly unit_price: string
  readonly line_total: string
}
interface AppliedModifier {
  readonly key: Modifier
  readonly label: string
  /** Description for people; not for parsing. */
  readonly description: string
  /** Subtotal per unit before and after, as money strings. */
  readonly before: string
  readonly after: string
}
export interface RateBreakdown {
  readonly currency: string
  readonly unit_price: string
  readonly units: number
  readonly unit_label: string
  readonly per_unit_subtotal: string
  readonly quantity: number
  readonly total: string
  readonly line_items: ReadonlyArray<RateLineItem>
  readonly applied_modifiers: ReadonlyArray<AppliedModifier>
}

/** A `RateBreakdown` in minor units, as calculated; big integers keep every digit. */
export interface RateCalculation {
  readonly currency: string
  readonly unit_price: bigint
  readonly units: number
  readonly unit_label: string
  readonly per_unit_subtotal: bigint
  readonly quantity: number
  readonly total: bigint
  readonly lines: ReadonlyArray<CalculatedLine>
  readonly applied: ReadonlyArray<CalculatedModifier>
}
export interface CalculatedLine {
  readonly from: number
  readonly to: number
  readonly multiplier: string
  readonly unit_price: bigint
  readonly total: bigint
}
export interface CalculatedModifier {
  readonly key: Modifier
  readonly label: string
  readonly description: string
  readonly before: bigint
  readonly after: bigint
}

// Counts the units of a window (rules/rates 4.1), in constant time whatever its length.

/** Maximum units of hourly and half-hourly hires; more are taken as mistaken dates (rules/rates 10). */
const MAX_CLOCK_UNITS = 100_000

/** Result of counting a window, with intermediate values. */
export interface UnitCount {
  readonly units: number
  /** Start and end after cut-offs. */
  readonly start: Moment
  readonly end: Moment
  /** Minutes before the leeway: all of the window, or those within business hours. */
  readonly minutes: number
  readonly leeway_minutes: number
  readonly unit_minutes: number
}

/**
 * Counts units of a hire: at least one, and parts as whole ones. Cut-offs move the window of day-based periods, with
 * business hours only opening minutes count, and the leeway is subtracted once.
 */
export const measureUnits = (
  period: BasePeriod,
  config: JsonObject,
  start: Moment,
  end: Moment
): Result.Result<UnitCount, FieldErrors> => {
  const { kind } = basePeriods[period]
  const window = kind === "day" ? cutOff(config, start, end) : { start, end }
  const minutes =
    config["day_type"] === "business"
      ? businessMinutes(config, window.start, window.end)
      : Math.max(0, Math.floor((window.end.epoch_ms - window.start.epoch_ms) / MINUTE_MS))
  const leeway_minutes = integerOr(config["leeway_minutes"], 0)
  const unit_minutes = minutesPerUnit(period, config)
  const units = Math.max(1, Math.ceil((minutes - leeway_minutes) / unit_minutes))
  return kind === "clock" && units > MAX_CLOCK_UNITS
    ? Result.fail({ end: [`The hire is longer than ${MAX_CLOCK_UNITS} ${basePeriods[period].unit_label}.`] })
    : Result.succeed({ units, start: window.start, end: window.end, minutes, leeway_minutes, unit_minutes })
}

const minutesPerUnit = (period: BasePeriod, config: JsonObject): number =>
  period === "weekly"
    ? Math.max(1, integerOr(config["rental_days_per_week"], 7)) * DAY_MINUTES
    : basePeriods[period].minutes

/**
 * Moves start and end by the cut-off times; times equal to the cut-off do not move. Times of day are those of the
 * written offset.
 */
const cutOff = (config: JsonObject, start: Moment, end: Moment): { readonly start: Moment; readonly end: Moment } => {
  const last = parseTimeOfDay(config["last_day_cutoff"])
  const first = parseTimeOfDay(config["first_day_cutoff"])
  return first === undefined && last === undefined
    ? { start, end }
    : {
        start: first !== undefined && minuteOfDay(start) > first ? startOfDay(start) : start,
        end: last !== undefined && minuteOfDay(end) < last ? startOfDay(end) : end
      }
}

/** Brings the end to the start's offset, unless they differ by an hour at most, as before and after a clock change. */
const onClockOf = (start: Moment, end: Moment): Moment =>
  Math.abs(end.offset_minutes - start.offset_minutes) <= 60 ? end : { ...end, offset_minutes: start.offset_minutes }

/** Opening minutes of each calendar day, weekends included, in one offset; seconds are dropped per day. */
const businessMinutes = (config: JsonObject, start: Moment, end: Moment): number => {
  const open = (parseTimeOfDay(config["business_hours_start"]) ?? 0) * MINUTE_MS
  const close = (parseTimeOfDay(config["business_hours_end"]) ?? DAY_MINUTES) * MINUTE_MS
  const from = wallClockMs(start)
  const to = wallClockMs(onClockOf(start, end))
  const firstDay = Math.floor(from / DAY_MS)
  const lastDay = Math.floor(to / DAY_MS)
  if (end.epoch_ms <= start.epoch_ms || to <= from || close <= open) return 0
  const openOn = (day: number): number => {
    const overlap = Math.min(to, day * DAY_MS + close) - Math.max(from, day * DAY_MS + open)
    return Math.max(0, Math.floor(overlap / MINUTE_MS))
  }
  if (firstDay === lastDay) return openOn(firstDay)
  const wholeDays = lastDay - firstDay - 1
  return openOn(firstDay) + wholeDays * ((close - open) / MINUTE_MS) + openOn(lastDay)
}

/** A stored whole number; the fallback for anything else. */
export const integerOr = (value: unknown, fallback: number): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.trunc(value) : fallback

export const applyModifier = (
  facts: ModifierFacts,
  config: JsonObject,
  calculation: RateCalculation
): RateCalculation => {
  const before = calculation.per_unit_subtotal
  const changed =
    facts.identifier === "multiplier" ? applyMultiplier(config, calculation) : applyFactor(config, calculation)
  const applied = {
    key: facts.identifier,
    label: facts.label,
    description: changed.description,
    before,
    after: changed.per_unit_subtotal
  }
  return {
    ...calculation,
    per_unit_subtotal: changed.per_unit_subtotal,
    lines: changed.lines,
    applied: [...calculation.applied, applied]
  }
}

interface Change {
  readonly per_unit_subtotal: bigint
  readonly lines: ReadonlyArray<CalculatedLine>
  readonly description: string
}

/**
 * Price by position: each has a multiplier, and further positions have the last one's. Neighbours with multipliers of
 * equal text share a line.
 */
const applyMultiplier = (config: JsonObject, calculation: RateCalculation): Change => {
  const tiers = objectsIn(config["tiers"]).map((row) => decimalOrOne(row["multiplier"]))
  const lines = multiplierRuns(tiers, calculation.units).map(({ from, multiplier, to }): CalculatedLine => {
    const unit_price = timesMoney(calculation.unit_price, multiplier)
    return { from, to, multiplier, unit_price, total: unit_price * BigInt(to - from + 1) }
  })
  return {
    per_unit_subtotal: lines.reduce((sum, line) => sum + line.total, 0n),
    lines,
    description: `Price of each position over ${calculation.units} ${calculation.unit_label}`
  }
}

interface Run {
  readonly from: number
  readonly to: number
  readonly multiplier: string
}

/**
 * Runs of positions with equal multipliers. Takes time by tiers, not units: all units after the last tier are one run.
 */
const multiplierRuns = (tiers: ReadonlyArray<string>, units: number): ReadonlyArray<Run> => {
  const used = tiers.length === 0 ? ["1.0"] : tiers.slice(0, units)
  const runs: Array<{ from: number; to: number; multiplier: string }> = []
  used.forEach((multiplier, index) => {
    const position = index + 1
    const to = position === used.length ? units : position
    const last = runs.at(-1)
    if (last?.multiplier === multiplier) last.to = to
    else runs.push({ from: position, to, multiplier })
  })
  return runs
}

/** Factor of the first range that contains the quantity, in list order; undefined if none does. */
export const factorFor = (config: JsonObject, quantity: number): string | undefined => {
  const range = objectsIn(config["ranges"]).find(
    (row) => quantity >= integerOr(row["from"], 1) && quantity <= integerOr(row["to"], Number.POSITIVE_INFINITY)
  )
  return range === undefined ? undefined : decimalOrOne(range["factor"])
}

/** Multiplies the subtotal by the factor for the quantity, 1.0 without a matching range. Lines do not change. */
const applyFactor = (config: JsonObject, calculation: RateCalculation): Change => {
  const { quantity } = calculation
  const factor = factorFor(config, quantity) ?? "1.0"
  return {
    per_unit_subtotal: timesMoney(calculation.per_unit_subtotal, factor),
    lines: calculation.lines,
    description: `Factor ${factor} for a quantity of ${quantity}`
  }
}

const decimalOrOne = (value: Json | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "1.0"
