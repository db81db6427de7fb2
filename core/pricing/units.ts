/** How many units a window counts (rules/rates 4.1). Constant work however long the window is. */
import { Result } from "effect"
import type { JsonObject } from "../kernel/json.ts"
import type { FieldErrors } from "../kernel/rejection.ts"
import {
  DAY_MINUTES,
  DAY_MS,
  MINUTE_MS,
  minuteOfDay,
  type Moment,
  parseTimeOfDay,
  startOfDay,
  wallClockMs
} from "../values/moment.ts"
import { type BasePeriod, basePeriods } from "./strategies.ts"

/** Limit of hourly and half-hourly hires: more is a mistake in the dates (rules/rates 10). */
const MAX_CLOCK_UNITS = 100_000

/** How a window was counted, step by step. */
export interface UnitCount {
  readonly units: number
  /** The window after the cut-offs. */
  readonly start: Moment
  readonly end: Moment
  /** Minutes before the leeway is taken off: all that passed, or those within business hours. */
  readonly minutes: number
  readonly leeway_minutes: number
  readonly unit_minutes: number
}

/**
 * Units of a hire: at least one, parts always round up. Cut-offs move the window of day-based periods, business hours
 * count only the opening minutes, the leeway is taken off once from the whole.
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
      : elapsedMinutes(window.start, window.end)
  const leeway_minutes = integerOr(config["leeway_minutes"], 0)
  const unit_minutes = minutesPerUnit(period, config)
  const units = Math.max(1, Math.ceil((minutes - leeway_minutes) / unit_minutes))
  return kind === "clock" && units > MAX_CLOCK_UNITS
    ? Result.fail({ end: [`The hire is longer than ${MAX_CLOCK_UNITS} ${basePeriods[period].unit_label}.`] })
    : Result.succeed({ units, start: window.start, end: window.end, minutes, leeway_minutes, unit_minutes })
}

export const countUnits = (
  period: BasePeriod,
  config: JsonObject,
  start: Moment,
  end: Moment
): Result.Result<number, FieldErrors> => Result.map(measureUnits(period, config, start, end), ({ units }) => units)

const minutesPerUnit = (period: BasePeriod, config: JsonObject): number =>
  period === "weekly"
    ? Math.max(1, integerOr(config["rental_days_per_week"], 7)) * DAY_MINUTES
    : basePeriods[period].minutes

/** A time equal to the cut-off does not move the window. Times are read in the offset they were written with. */
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

/** Offsets up to an hour apart are one place before and after a clock change; otherwise the start's offset is used. */
const onClockOf = (start: Moment, end: Moment): Moment =>
  Math.abs(end.offset_minutes - start.offset_minutes) <= 60 ? end : { ...end, offset_minutes: start.offset_minutes }

const elapsedMinutes = (start: Moment, end: Moment): number =>
  Math.max(0, Math.floor((end.epoch_ms - start.epoch_ms) / MINUTE_MS))

/** Opening minutes of every calendar day, weekends included, in one offset; seconds are dropped day by day. */
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

/** A stored whole number; absent and null count as the fallback. */
export const integerOr = (value: unknown, fallback: number): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.trunc(value) : fallback
