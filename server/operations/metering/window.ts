/** Resolves the requested calls and hours of a usage query. Pure. */
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import type { FieldErrors } from "../../../core/kernel/fields/rejection.ts"
import { instantOf } from "../../../core/values/time.ts"
import { hour_millis } from "./metered.ts"

export const windows = {
  "24h": "The last 24 hours",
  "7d": "The last seven days",
  "30d": "The last thirty days",
  custom: "Whole days, from one to another"
} as const
export type WindowPreset = keyof typeof windows
const day_millis = 24 * hour_millis
const rolling_millis = { "24h": day_millis, "7d": 7 * day_millis, "30d": 30 * day_millis } as const

export interface UsageWindow {
  readonly preset: WindowPreset
  /** Instants of rolling windows, the days of a custom one. */
  readonly from: string
  readonly to: string
  /** Milliseconds since 1970; `end_millis` is no part of it. */
  readonly begin_millis: number
  readonly end_millis: number
}

/** Errors of a custom window's dates. */
export const windowErrors = ({ from, to, window }: JsonObject): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (window === "custom") {
    if (typeof from !== "string") errors["from"] = ["Say from which day, as 2026-06-18: the window is custom."]
    if (typeof to !== "string") errors["to"] = ["Say to which day, as 2026-06-18: the window is custom."]
  }
  if (typeof from === "string" && typeof to === "string" && to < from)
    errors["to"] = ["The last day must not be before the first."]
  return errors
}

/** Days are full UTC days; other windows end now. */
export const windowOf = (
  preset: WindowPreset,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now_millis: number
): UsageWindow => {
  if (preset === "custom") {
    const days = { from: from ?? "", to: to ?? "" }
    const begin_millis = Date.parse(`${days.from}T00:00:00.000Z`)
    return { preset, ...days, begin_millis, end_millis: Date.parse(`${days.to}T00:00:00.000Z`) + day_millis }
  }
  const begin_millis = now_millis - rolling_millis[preset]
  return {
    preset,
    from: instantOf(begin_millis),
    to: instantOf(now_millis),
    begin_millis,
    // Includes calls within this millisecond.
    end_millis: now_millis + 1
  }
}

/** A window in terms of its sums: full hours, and the partial first hour, which is read from the logs. */
interface Hours {
  /** Hours since 1970; `end` is no part of them. */
  readonly first: number
  readonly end: number
  /** The part of the hour before `first`, in milliseconds; undefined where the window begins with an hour. */
  readonly part: { readonly from_millis: number; readonly to_millis: number } | undefined
}
/**
 * `logs_from_millis`: since when logs are kept. Where those of the first hour are gone, all of that hour counts. The
 * hour it ends in has no calls beyond its end but where clocks differ.
 */
export const hoursOf = ({ begin_millis, end_millis }: UsageWindow, logs_from_millis: number): Hours => {
  const end = Math.ceil(end_millis / hour_millis)
  const begun = Math.floor(begin_millis / hour_millis)
  const is_whole = begin_millis === begun * hour_millis
  if (is_whole || begin_millis < logs_from_millis) return { first: begun, end, part: undefined }
  return { first: begun + 1, end, part: { from_millis: begin_millis, to_millis: (begun + 1) * hour_millis } }
}
