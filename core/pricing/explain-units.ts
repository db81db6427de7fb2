/** How the time of a hire was counted in units, in words (rules/rates 4.1). */
import { Result } from "effect"
import type { JsonObject } from "../kernel/json.ts"
import { type Moment, parseTimeOfDay } from "../values/moment.ts"
import { countText, type Step } from "./explain-step.ts"
import { type BasePeriod, basePeriods } from "./strategies.ts"
import { measureUnits, type UnitCount } from "./units.ts"

const clockOf = ({ epoch_ms, offset_minutes }: Moment): string => {
  const sign = offset_minutes < 0 ? "-" : "+"
  const size = Math.abs(offset_minutes)
  const two = (part: number): string => String(Math.trunc(part)).padStart(2, "0")
  const local = new Date(epoch_ms + offset_minutes * 60_000).toISOString().slice(0, 19)
  return `${local}${offset_minutes === 0 ? "Z" : `${sign}${two(size / 60)}:${two(size % 60)}`}`
}

export const singular: { readonly [P in BasePeriod]: string } = {
  half_hourly: "half-hour",
  hourly: "hour",
  daily: "day",
  weekly: "week",
  monthly: "month"
}
export const unitWords = (units: number, period: BasePeriod): string =>
  countText(units, singular[period], basePeriods[period].unit_label)

/** How the time was counted; empty for windows that cannot be read or counted. */
export const explainUnits = (period: BasePeriod, config: JsonObject, start: Moment, end: Moment): ReadonlyArray<Step> =>
  Result.match(measureUnits(period, config, start, end), {
    onFailure: () => [],
    onSuccess: (count) => [
      ...explainCutOffs(count, config, start, end),
      ...explainMinutes(count, config),
      explainCount(count, period)
    ]
  })

/** The window moved by the cut-off times of its first and last day. */
const explainCutOffs = (count: UnitCount, config: JsonObject, start: Moment, end: Moment): ReadonlyArray<Step> => {
  const first = String(config["first_day_cutoff"]),
    last = String(config["last_day_cutoff"])
  const atStart: Step = {
    figure: "start",
    rule: "first_day_cutoff",
    from: clockOf(start),
    to: clockOf(count.start),
    words: `It starts after the first day's cut-off ${first}, so it is counted from the beginning of that day.`
  }
  const atEnd: Step = {
    figure: "end",
    rule: "last_day_cutoff",
    from: clockOf(end),
    to: clockOf(count.end),
    words: `It ends before the last day's cut-off ${last}, so it is counted to the beginning of that day.`
  }
  return [
    ...(count.start.epoch_ms === start.epoch_ms ? [] : [atStart]),
    ...(count.end.epoch_ms === end.epoch_ms ? [] : [atEnd])
  ]
}

/** The minutes that count, and the leeway taken off them. */
const explainMinutes = (count: UnitCount, config: JsonObject): ReadonlyArray<Step> => {
  const { leeway_minutes, minutes } = count
  const window = `From ${clockOf(count.start)} to ${clockOf(count.end)}`
  const open = timeOr(config["business_hours_start"], "00:00"),
    close = timeOr(config["business_hours_end"], "24:00")
  const step = { figure: "minutes", from: null, to: String(minutes) }
  const counted: Step =
    config["day_type"] === "business"
      ? {
          ...step,
          rule: "business_hours",
          words: `${window} only the time from ${open} to ${close} of each day counts: ${countText(minutes, "minute")}.`
        }
      : {
          ...step,
          rule: "elapsed",
          words: `${window} ${minutes === 1 ? "passes" : "pass"} ${countText(minutes, "minute")}.`
        }
  const taken = `${countText(leeway_minutes, "minute")} of leeway ${leeway_minutes === 1 ? "is" : "are"} taken off, once.`
  return leeway_minutes === 0
    ? [counted]
    : [
        counted,
        { figure: "minutes", rule: "leeway", from: String(minutes), to: String(remainingOf(count)), words: taken }
      ]
}
const remainingOf = ({ leeway_minutes, minutes }: UnitCount): number => Math.max(0, minutes - leeway_minutes)

/** How the minutes that remain divide into units. */
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
  return {
    figure: "units",
    rule,
    from: null,
    to: String(count.units),
    words: `${size}: ${how}, so ${unitWords(count.units, period)}.`
  }
}

const timeOr = (value: unknown, fallback: string): string =>
  parseTimeOfDay(value) === undefined ? fallback : String(value)
