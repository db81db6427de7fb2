/** Rules for adding lines to the waiting list and removing them (rules/availability 9). */
import { Result } from "effect"
import type { LineAvailability, LineRequest, LineShortage } from "../../availability/rules/line.ts"
import { lineAvailability } from "../../availability/rules/line.ts"
import { decision, invalidField, reject } from "../../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent } from "../../../kernel/index.ts"
import { type LeaveReason, leaves, matches, waitChanged, waitJoined } from "../events/waiting.ts"
import { shortage_waits, type WaitRow } from "../tables/index.ts"
import { type ActiveDemand, activeDemand, type Demand } from "../../availability/rules/demand.ts"
import type { AvailabilitySnapshot } from "../../availability/rules/snapshot.ts"

interface Short {
  readonly shortage: LineShortage
  readonly requested_quantity: number
}
export interface Join {
  readonly short: ReadonlyArray<Short>
  /** Waiting list rows of the opportunity's lines. */
  readonly rows: ReadonlyArray<WaitRow>
  /** Absent: all short lines that do not wait yet. */
  readonly line_ids: ReadonlyArray<number> | undefined
  readonly note: string | null
}

const pick = ({ line_ids, rows, short }: Join): Result.Result<ReadonlyArray<Short>, ReturnType<typeof invalidField>> =>
  Result.gen(function* () {
    if (short.length === 0) return yield* reject("shortages", "Nothing is short.")
    const waiting = new Set(
      rows.filter(({ status }) => status === "waiting").map(({ opportunity_item_id }) => opportunity_item_id)
    )
    if (line_ids === undefined) {
      const left = short.filter(({ shortage }) => !waiting.has(shortage.opportunity_item_id))
      if (left.length > 0) return left
      return yield* reject("shortages", "All that is short is on the waiting list already.")
    }
    const picked: Array<Short> = []
    for (const [at, id] of line_ids.entries()) {
      const refuse = (text: string) => reject(`lines.${at}.opportunity_item_id`, text)
      const one = short.find(({ shortage }) => shortage.opportunity_item_id === id)
      if (one === undefined) return yield* refuse("The line is not short; it has nothing to wait for.")
      if (waiting.has(id)) return yield* refuse("The line is on the waiting list already.")
      if (picked.includes(one)) return yield* refuse("The line is named twice.")
      picked.push(one)
    }
    return picked
  })

/** 422 on `shortages` if no line is left to add, on `lines.N.opportunity_item_id` for one that cannot wait. */
export const joinWaiting = (opportunity_id: number, join: Join, context: DecideContext): Decided =>
  Result.gen(function* () {
    const picked = yield* pick(join)
    const told = new Map(join.rows.map((row) => [row.opportunity_item_id, row]))
    const events = picked.flatMap(({ requested_quantity, shortage }) => {
      // A line that was notified and is short again moves to the end of the queue.
      const before = told.get(shortage.opportunity_item_id)
      const { ends_at, opportunity_item_id, product_id, shortfall, starts_at, store_id } = shortage
      const joined = waitJoined.make({
        id: context.id(shortage_waits),
        opportunity_id,
        opportunity_item_id,
        product_id,
        store_id,
        status: "waiting",
        quantity: shortfall,
        requested_quantity,
        starts_at,
        ends_at,
        waitlisted_by: context.viewer.user_id === 0 ? null : context.viewer.user_id,
        waitlisted_at: context.now,
        matched_at: null,
        note: join.note
      })
      return before === undefined ? [joined] : [leaves(before, "asked"), joined]
    })
    return decision(opportunity_id, events)
  })

/** 422 on `opportunity_item_ids` if a named line is not on the list, or the list has none. */
export const leaveWaiting = (
  opportunity_id: number,
  rows: ReadonlyArray<WaitRow>,
  line_ids: ReadonlyArray<number> | null
): Decided =>
  Result.gen(function* () {
    const waiting = rows.filter(({ status }) => status === "waiting")
    if (line_ids === null && waiting.length === 0)
      return yield* reject("opportunity_item_ids", "No line of this opportunity is on the waiting list.")
    for (const [at, id] of (line_ids ?? []).entries())
      if (!waiting.some(({ opportunity_item_id }) => opportunity_item_id === id))
        return yield* reject(`opportunity_item_ids.${at}`, "The line is not on the waiting list.")
    const going = waiting.filter(({ opportunity_item_id }) => line_ids?.includes(opportunity_item_id) ?? true)
    return decision(
      opportunity_id,
      going.map((row) => leaves(row, "asked"))
    )
  })

// Decides which waiting lines to notify when goods become available (rules/availability 9). Each line is judged as if
// those behind it demanded nothing, and those before it their full quantity.

/** A row of the list with its line's current state. */
export interface Queued {
  readonly row: WaitRow
  /** Undefined if it no longer waits; `gone` is the reason. */
  readonly line: (LineRequest & { readonly store_id: number }) | undefined
  readonly gone: LeaveReason
  /** Whether its opportunity holds stock. */
  readonly holds: boolean
  /** The line's demands, actual or as if its opportunity held stock. */
  readonly demands: ReadonlyArray<Demand>
}
export interface Looked {
  readonly queued: Queued
  readonly found: LineAvailability | undefined
}

const rank = ({ holds, row }: Queued): number => (holds ? 0 : row.status === "matched" ? 1 : 2)
const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
/**
 * Queue order: first lines of opportunities that hold stock, since these are binding; then notified lines; then by
 * waiting time; then by start of hire.
 */
const inQueue = (one: Queued, other: Queued): number =>
  rank(one) - rank(other) ||
  order(one.row.waitlisted_at, other.row.waitlisted_at) ||
  order(one.row.starts_at, other.row.starts_at) ||
  one.row.id - other.row.id

/** A snapshot to which lines' demands are added one by one: `now` is a new one each time, as sums are kept for each. */
const growing = (
  base: AvailabilitySnapshot,
  without: ReadonlySet<number>
): { readonly now: () => AvailabilitySnapshot; readonly add: (demands: ReadonlyArray<Demand>) => void } => {
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
    now: () => ({ ...base, demandsOf }),
    add: (demands) => {
      for (const demand of demands)
        if (demand.store_id === base.store_id) demandsOf(demand.product_id).push(activeDemand(demand, base.now))
    }
  }
}

/** Evaluates a store's queues from the start; notified rows add their demands but are not in the result. */
const looksAt = (snapshot: AvailabilitySnapshot, queue: ReadonlyArray<Queued>): ReadonlyArray<Looked> => {
  const lines = queue.flatMap(({ line }) => (line === undefined ? [] : [line.id]))
  const growth = growing(snapshot, new Set(lines))
  return queue.flatMap((queued) => {
    const { demands, line, row } = queued
    if (line === undefined) return []
    const found = row.status === "waiting" ? lineAvailability(growth.now(), line) : undefined
    growth.add(demands)
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
    : {
        requested_quantity,
        starts_at,
        ends_at,
        store_id,
        quantity: Math.max(1, Math.min(requested_quantity, found.shortage_quantity))
      }
}

/**
 * The event for an evaluated line. A line edited so that it is no longer short leaves without notification, as its
 * editor knows.
 */
const eventOf = ({ found, queued: { gone, holds, row } }: Looked, now: string): NewEvent | undefined => {
  if (found === undefined) return leaves(row, gone)
  const set = changedOf(row, found)
  if (found.has_shortage) return set && waitChanged.make({ id: row.id, opportunity_id: row.opportunity_id, set })
  return set === undefined ? matches(row, now, !holds) : leaves(row, "changed")
}
/** Events for all queues, each with its opportunity. */
export const settleQueue = (
  looked: ReadonlyArray<Looked>,
  now: string
): ReadonlyArray<{ readonly opportunity_id: number; readonly event: NewEvent }> =>
  looked.flatMap((one) => {
    const event = eventOf(one, now)
    return event === undefined ? [] : [{ opportunity_id: one.queued.row.opportunity_id, event }]
  })
