/** Which day it is where, and when an order leaves and comes back by its own plan (rules/today 1). Pure. */
import type { OpportunityRow } from "../opportunities/schema.ts"
import { dateAfter } from "../values/period.ts"
import { millisOf } from "../values/time.ts"
import { dayOf, startOfDay } from "../values/zone.ts"

/** How long something that has not left on its day stays on the list. */
export const not_left_days = 14
/** How far ahead shortages are told. */
export const short_days = 7
/** What leaves up to the end of the next day is to be prepared. */
export const prepared_ahead_days = 1

export interface Day {
  /** `YYYY-MM-DD` on the store's clock. */
  readonly date: string
  /** Instants in milliseconds: the day from its first to the first of the next. */
  readonly from: number
  readonly to: number
  /** The end of the next day. */
  readonly prepare_to: number
  readonly short_to: number
  readonly not_left_from: number
  /** Of today the present; of another day its beginning: what was due before has not come. */
  readonly late_before: number
}
/** The day that was named, or the present one on this clock. */
export const dayIn = (zone: string, now_millis: number, date?: string): Day => {
  const today = dayOf(now_millis, zone)
  const on = date ?? today
  const start = (days: number): number => startOfDay(dateAfter(on, days), zone)
  return {
    date: on,
    from: start(0),
    to: start(1),
    prepare_to: start(1 + prepared_ahead_days),
    short_to: start(short_days),
    not_left_from: start(-not_left_days),
    late_before: on === today ? now_millis : Math.min(start(0), now_millis)
  }
}

/** Columns that say when the goods leave, the first that is set counts; and when they are back. */
export const leaving_columns = ["load_starts_at", "deliver_starts_at", "starts_at"] as const
export const back_columns = ["unload_starts_at", "collect_ends_at", "ends_at"] as const

type Leaving = Pick<OpportunityRow, (typeof leaving_columns)[number]>
type Returning = Pick<OpportunityRow, (typeof back_columns)[number]>
export const leavesAt = (order: Leaving): string | null =>
  order.load_starts_at ?? order.deliver_starts_at ?? order.starts_at
export const isBackAt = (order: Returning): string | null =>
  order.unload_starts_at ?? order.collect_ends_at ?? order.ends_at

/** Whether an instant is in [from, to); nothing is on no day. */
export const isWithin = (at: string | null, from: number, to: number): boolean => {
  if (at === null) return false
  const millis = millisOf(at)
  return millis >= from && millis < to
}
