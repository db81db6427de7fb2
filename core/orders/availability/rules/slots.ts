/** Slots: the periods for which availability is computed, in the store's time zone (rules/availability 4). */
import { dateAfter } from "../../../values/period.ts"
import { dayOf, instantOfWall } from "../../../values/time.ts"

/** Setting `availability.resolution`. Half-daily slots last six hours, despite the name. */
export type Resolution = "daily" | "half_daily" | "hourly"

export const resolutions: ReadonlyArray<Resolution> = ["daily", "half_daily", "hourly"]

export const slotCeiling = 50_000

/** A window has more slots than one response may contain. */
export class TooManySlots extends Error {
  readonly _tag = "TooManySlots"
  constructor() {
    super(`The window needs more than ${slotCeiling} slots. Ask for a shorter one.`)
  }
}

const hourMillis = 3_600_000
const wallHours: { readonly [R in "daily" | "half_daily"]: ReadonlyArray<number> } = {
  daily: [0],
  half_daily: [0, 6, 12, 18]
}

/**
 * Bounds of the slots of [from, to): n + 1 ascending instants for n slots, the first at or before `from`, the last at
 * or after `to`; one slot for an empty window. Days have 23 to 25 hours; hourly slots start at full UTC hours in every
 * zone. Throws TooManySlots beyond 50,000.
 */
export const slotBounds = (from: number, to: number, resolution: Resolution, zone: string): ReadonlyArray<number> => {
  if (
    last_bounds === undefined ||
    last_bounds.from !== from ||
    last_bounds.to !== to ||
    last_bounds.resolution !== resolution ||
    last_bounds.zone !== zone
  ) {
    last_bounds = { from, to, resolution, zone, bounds: boundsOf(from, to, resolution, zone) }
  }
  return last_bounds.bounds
}
/** Cache of the last bounds: lines of an opportunity are computed in sequence, mostly over the same window. */
let last_bounds:
  | {
      readonly from: number
      readonly to: number
      readonly resolution: Resolution
      readonly zone: string
      readonly bounds: ReadonlyArray<number>
    }
  | undefined

const boundsOf = (from: number, to: number, resolution: Resolution, zone: string): ReadonlyArray<number> => {
  const bounds: Array<number> = []
  for (const bound of resolution === "hourly" ? hours(from) : wallBounds(from, wallHours[resolution], zone)) {
    if (bound <= from) {
      bounds[0] = bound
      continue
    }
    bounds.push(bound)
    if (bound >= to) return bounds
    if (bounds.length > slotCeiling) throw new TooManySlots()
  }
  return bounds
}

/** Inclusive indexes of the slots that a half-open period meets; `last` < `first` if it meets none. */
export const slotsTouched = (
  bounds: ReadonlyArray<number>,
  from: number,
  to: number
): { readonly first: number; readonly last: number } => ({
  first: Math.max(0, countUpTo(bounds, from) - 1),
  last: Math.min(bounds.length - 2, countBelow(bounds, to) - 1)
})

/** Merges two ascending lists of bounds, without duplicates. */
export const mergedBounds = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): ReadonlyArray<number> =>
  [...new Set([...one, ...other])].sort((left, right) => left - right)

function* hours(from: number): Generator<number> {
  for (let bound = Math.floor(from / hourMillis) * hourMillis; ; bound += hourMillis) yield bound
}

/** Wall-clock bounds from the local day of `from` on; bounds made equal by a clock change are yielded once. */
function* wallBounds(from: number, hoursOfDay: ReadonlyArray<number>, zone: string): Generator<number> {
  let last = Number.NEGATIVE_INFINITY
  for (let date = dayOf(from, zone); ; date = dateAfter(date)) {
    const midnight = Date.parse(`${date}T00:00:00Z`)
    for (const hour of hoursOfDay) {
      const bound = instantOfWall(midnight + hour * hourMillis, zone)
      if (bound > last) yield bound
      last = Math.max(last, bound)
    }
  }
}

/** Number of bounds at or before an instant. */
const countUpTo = (bounds: ReadonlyArray<number>, instant: number): number => {
  let low = 0,
    high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? instant) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** Number of bounds before an instant. */
export const countBelow = (bounds: ReadonlyArray<number>, instant: number): number => {
  let low = 0,
    high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? instant) < instant) low = middle + 1
    else high = middle
  }
  return low
}
