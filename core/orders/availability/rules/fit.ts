/**
 * Finds the first window in which a list of products is available: each product is counted once per slot, slots in
 * which it is short form blocked periods, and the search skips these. Cost: demands + slots + blocked periods.
 */
import { itemAt } from "../../../values/text.ts"
import { dayOf, instantOf, instantOfWall, startOfDay, wallOf } from "../../../values/time.ts"
import { dateAfter } from "../../../values/period.ts"
import { type AvailabilitySnapshot, isTracked } from "./snapshot.ts"
import { freeUnits, type FreeUnitsCache } from "./kits.ts"
import { requestedUnits } from "./line.ts"
import { plannedDemands } from "./planned.ts"
import { countBelow, slotBounds } from "./demand.ts"

/** Allowed starts of a window: with a slot, with a day of the store, or any time. */
type FitAlign = "slot" | "day" | "none"

export interface FitRequest {
  readonly lines: ReadonlyArray<{ readonly product_id: number; readonly quantity: number }>
  /** The period that must contain the window, in milliseconds. */
  readonly from: number
  readonly until: number
  /** Elapsed minutes, or days of the store's wall clock. */
  readonly duration: { readonly minutes: number } | { readonly days: number }
  readonly align: FitAlign
}

/**
 * Reasons for no window. `not_enough`: never that many free at once; `booked`: free at times, but never long enough;
 * `no_common_window`: each product fits, but never all together; `window_too_short`: no allowed start leaves enough
 * time.
 */
type FitFailure = "not_enough" | "booked" | "no_common_window" | "window_too_short"

interface Bottleneck {
  readonly product_id: number
  readonly product_name: string | null
  readonly needed_quantity: number
  /** The maximum available in any slot of the search. */
  readonly most_available: number
  /** Indexes (from 0) of the lines that need the product; for a part, of its kits' lines. */
  readonly lines: ReadonlyArray<number>
}
interface Fit {
  readonly window: { readonly starts_at: string; readonly ends_at: string } | null
  readonly reason: FitFailure | null
  readonly bottleneck: Bottleneck | null
}

/** A half-open period of slots in which a product is short. */
interface Stretch {
  readonly from: number
  readonly to: number
}
interface Need extends Bottleneck {
  readonly before: number
  readonly after: number
  readonly blocked: ReadonlyArray<Stretch>
}

/**
 * The earliest window of this length in which nothing on the list is short, with each product's buffers and kits by
 * their parts; otherwise the reason. Throws KitNestedTooDeep, KitTooLarge and TooManySlots.
 */
export const earliestFit = (snapshot: AvailabilitySnapshot, request: FitRequest): Fit => {
  const reach = widest(snapshot)
  const bounds = slotBounds(
    request.from - reach.before,
    request.until + reach.after,
    snapshot.resolution,
    snapshot.zone
  )
  const needs = needsOfList(snapshot, request, bounds)
  const clock = clockOf(snapshot, request, bounds)
  const found = firstStart(needs, clock)
  if (found !== undefined)
    return {
      window: { starts_at: instantOf(found), ends_at: instantOf(clock.endOf(found)) },
      reason: null,
      bottleneck: null
    }
  if (firstStart([], clock) === undefined) return { window: null, reason: "window_too_short", bottleneck: null }
  return { window: null, ...bottleneckOf(needs, clock) }
}

interface Clock {
  readonly from: number
  readonly until: number
  readonly endOf: (start: number) => number
  /** The first allowed start at or after an instant. */
  readonly aligned: (instant: number) => number
}

const clockOf = (
  snapshot: AvailabilitySnapshot,
  { align, duration, from, until }: FitRequest,
  bounds: ReadonlyArray<number>
): Clock => ({
  from,
  until,
  endOf: (start) =>
    "minutes" in duration
      ? start + duration.minutes * 60_000
      : instantOfWall(wallOf(start, snapshot.zone) + duration.days * 86_400_000, snapshot.zone),
  aligned: (instant) =>
    align === "none"
      ? instant
      : align === "slot"
        ? (bounds[countBelow(bounds, instant)] ?? Number.POSITIVE_INFINITY)
        : dayStartFrom(instant, snapshot.zone)
})

const dayStartFrom = (instant: number, zone: string): number => {
  const day = dayOf(instant, zone)
  const start = startOfDay(day, zone)
  return start === instant ? start : startOfDay(dateAfter(day), zone)
}

/** Searches for the first start; each round skips at least one blocked period. */
const firstStart = (needs: ReadonlyArray<Need>, { aligned, endOf, from, until }: Clock): number | undefined => {
  const pending = needs.map((need) => ({ need, next: 0 }))
  for (let start = aligned(from); start < until;) {
    const end = endOf(start)
    if (end > until) return undefined
    let free = start
    for (const one of pending) {
      const { after, before, blocked } = one.need
      while (one.next < blocked.length && itemAt(blocked, one.next).to <= start - before) one.next += 1
      const stretch = blocked[one.next]
      if (stretch !== undefined && stretch.from < end + after) free = Math.max(free, stretch.to + before)
    }
    if (free === start) return start
    start = aligned(free)
  }
  return undefined
}

const minute = 60_000
/** The longest preparation and turnaround of any product in the snapshot. */
const widest = (snapshot: AvailabilitySnapshot): { readonly before: number; readonly after: number } => {
  let before = 0,
    after = 0
  for (const product of snapshot.products.values()) {
    before = Math.max(before, product.before_minutes)
    after = Math.max(after, product.after_minutes)
  }
  return { before: before * minute, after: after * minute }
}

/** Stock demands of the list: kits by their parts, equal products summed. Untracked products are never short. */
const needsOfList = (
  snapshot: AvailabilitySnapshot,
  { from, lines, until }: FitRequest,
  bounds: ReadonlyArray<number>
): ReadonlyArray<Need> => {
  const wanted = new Map<number, { quantity: number; lines: Set<number> }>()
  const want = (product_id: number, quantity: number, line: number): void => {
    const before = wanted.get(product_id) ?? { quantity: 0, lines: new Set() }
    before.quantity += quantity
    before.lines.add(line)
    wanted.set(product_id, before)
  }
  lines.forEach(({ product_id, quantity }, line) => {
    if (!isTracked(snapshot, product_id)) return
    const demands = plannedDemands([{ product_id, quantity, store_id: snapshot.store_id, from, to: until }], snapshot)
    // A kit without countable parts is never available: it is demanded as itself.
    if (demands.length === 0) want(product_id, requestedUnits(quantity), line)
    for (const demand of demands) want(demand.product_id, demand.quantity, line)
  })
  const known: FreeUnitsCache = new Map()
  return [...wanted].map(([product_id, { lines: of, quantity }]) => {
    const product = snapshot.products.get(product_id)
    const free = freeUnits(snapshot, product_id, bounds, known)
    return {
      product_id,
      product_name: product?.name ?? null,
      needed_quantity: quantity,
      most_available: bounds
        .slice(1)
        .reduce(
          (most, end, slot) =>
            (bounds[slot] ?? until) < until && end > from ? Math.max(most, free?.[slot] ?? 0) : most,
          Number.NEGATIVE_INFINITY
        ),
      lines: [...of].sort((one, other) => one - other),
      before: (product?.before_minutes ?? 0) * minute,
      after: (product?.after_minutes ?? 0) * minute,
      blocked: blockedStretches(bounds, (slot) => (free?.[slot] ?? 0) < quantity)
    }
  })
}

const blockedStretches = (
  bounds: ReadonlyArray<number>,
  isShort: (slot: number) => boolean
): ReadonlyArray<Stretch> => {
  const stretches: Array<Stretch> = []
  for (let slot = 0; slot < bounds.length - 1; slot++) {
    if (!isShort(slot)) continue
    const first = slot
    while (slot + 1 < bounds.length - 1 && isShort(slot + 1)) slot++
    stretches.push({ from: itemAt(bounds, first), to: itemAt(bounds, slot + 1) })
  }
  return stretches
}

/**
 * The reason for no window, and the product that prevents it: the one with the largest shortage, else the one blocked
 * longest, of those that never fit alone or else of all.
 */
const bottleneckOf = (needs: ReadonlyArray<Need>, clock: Clock): Pick<Fit, "reason" | "bottleneck"> => {
  const lacking = needs.filter((need) => need.most_available < need.needed_quantity)
  if (lacking.length > 0)
    return {
      reason: "not_enough",
      bottleneck: shown(most(lacking, (need) => need.needed_quantity - need.most_available))
    }
  const blockedFor = (need: Need): number => need.blocked.reduce((sum, { from, to }) => sum + to - from, 0)
  const alone = needs.filter((need) => firstStart([need], clock) === undefined)
  return alone.length > 0
    ? { reason: "booked", bottleneck: shown(most(alone, blockedFor)) }
    : { reason: "no_common_window", bottleneck: shown(most(needs, blockedFor)) }
}

const most = (needs: ReadonlyArray<Need>, by: (need: Need) => number): Need =>
  needs.reduce((worst, need) => (by(need) > by(worst) ? need : worst))

const shown = ({ lines, most_available, needed_quantity, product_id, product_name }: Need): Bottleneck => ({
  product_id,
  product_name,
  needed_quantity,
  most_available,
  lines
})
