/**
 * Decides which of the lines waiting for the same goods are notified when these become free (rules/availability 9).
 * Each line is judged as if those behind it needed nothing, and those before it all of their demand.
 */
import { type ActiveDemand, activeDemand, type Demand } from "../../availability/rules/demand.ts"
import { lineAvailability, type LineAvailability, type LineRequest } from "../../availability/rules/line.ts"
import type { AvailabilitySnapshot } from "../../availability/rules/snapshot.ts"
import type { NewEvent } from "../../../kernel/events/event-type.ts"
import { type LeaveReason, leaves, matches, waitChanged } from "../events/waiting.ts"
import type { WaitRow } from "../tables/waiting.ts"

/** A row of the list, and its line as it is now. */
export interface Queued {
  readonly row: WaitRow
  /** Undefined where it waits for nothing any more, for `gone`. */
  readonly line: (LineRequest & { readonly store_id: number }) | undefined
  readonly gone: LeaveReason
  /** Its opportunity holds stock. */
  readonly holds: boolean
  /** The line's demand, actual or as if its opportunity held stock. */
  readonly demands: ReadonlyArray<Demand>
}
export interface Looked {
  readonly queued: Queued
  readonly found: LineAvailability | undefined
}

const rank = ({ holds, row }: Queued): number => (holds ? 0 : row.status === "matched" ? 1 : 2)
const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
/**
 * Orders before quotations, since orders are promises; then lines already notified; then by waiting time; then by start
 * of hire.
 */
const inQueue = (one: Queued, other: Queued): number =>
  rank(one) - rank(other) ||
  order(one.row.waitlisted_at, other.row.waitlisted_at) ||
  order(one.row.starts_at, other.row.starts_at) ||
  one.row.id - other.row.id

/** A snapshot to which the demands of one line after the other are added. */
const growing = (
  base: AvailabilitySnapshot,
  without: ReadonlySet<number>
): { readonly snapshot: AvailabilitySnapshot; readonly add: (demands: ReadonlyArray<Demand>) => void } => {
  const found = new Map<number, Array<ActiveDemand>>()
  const demandsOf = (product_id: number): Array<ActiveDemand> => {
    let demands = found.get(product_id)
    if (demands === undefined) {
      demands = base
        .demandsOf(product_id)
        .filter(({ demand }) => demand.source_type !== "opportunity_item" || !without.has(demand.source_id))
      found.set(product_id, demands)
    }
    return demands
  }
  return {
    snapshot: { ...base, demandsOf },
    add: (demands) => {
      for (const demand of demands)
        if (demand.store_id === base.store_id) demandsOf(demand.product_id).push(activeDemand(demand, base.now))
    }
  }
}

/** Each of a store's queues from its beginning. Rows of other stores are left out. */
const looksAt = (snapshot: AvailabilitySnapshot, queue: ReadonlyArray<Queued>): ReadonlyArray<Looked> => {
  const lines = queue.flatMap(({ line }) => (line === undefined ? [] : [line.id]))
  const now = growing(snapshot, new Set(lines))
  return queue.flatMap((queued) => {
    const { demands, line, row } = queued
    if (line === undefined) return []
    const found = row.status === "waiting" ? lineAvailability(now.snapshot, line) : undefined
    now.add(demands)
    return found === undefined ? [] : [{ queued, found }]
  })
}

export const lookAtQueue = (
  snapshots: ReadonlyMap<number, AvailabilitySnapshot>,
  all: ReadonlyArray<Queued>
): ReadonlyArray<Looked> => {
  const sorted = [...all].sort(inQueue)
  const gone = sorted.filter(({ line }) => line === undefined).map((queued) => ({ queued, found: undefined }))
  const here = [...Map.groupBy(sorted, ({ line }) => line?.store_id)].flatMap(([store_id, queue]) => {
    const snapshot = store_id === undefined ? undefined : snapshots.get(store_id)
    return snapshot === undefined ? [] : looksAt(snapshot, queue)
  })
  return [...gone, ...here]
}

/** Difference between the line and its entry on the list; undefined if none. */
const changedOf = (row: WaitRow, found: LineAvailability) => {
  const { from: starts_at, requested_quantity, store_id, to: ends_at } = found
  return row.requested_quantity === requested_quantity &&
    row.starts_at === starts_at &&
    row.ends_at === ends_at &&
    row.store_id === store_id
    ? undefined
    : { requested_quantity, starts_at, ends_at, store_id, quantity: Math.max(1, found.shortage_quantity) }
}

/**
 * The event for a checked line. A line edited so that it is no longer short leaves without notification, as its editor
 * knows.
 */
const eventOf = ({ found, queued: { gone, holds, row } }: Looked, now: string): NewEvent | undefined => {
  if (found === undefined) return leaves(row, gone)
  const set = changedOf(row, found)
  if (found.has_shortage) return set && waitChanged.make({ id: row.id, opportunity_id: row.opportunity_id, set })
  return set === undefined ? matches(row, now, !holds) : leaves(row, "changed")
}
/** The events for the complete queue, each with its opportunity. */
export const settleQueue = (
  looked: ReadonlyArray<Looked>,
  now: string
): ReadonlyArray<{ readonly opportunity_id: number; readonly event: NewEvent }> =>
  looked.flatMap((one) => {
    const event = eventOf(one, now)
    return event === undefined ? [] : [{ opportunity_id: one.queued.row.opportunity_id, event }]
  })
