/** Planned lines: demands of a list as if it were an order (rules/availability 2.4). Nothing is stored. */
import { instantOf, millisOf } from "../../../values/time.ts"
import { inOrder, type Period } from "../../../values/period.ts"
import { type AvailabilitySnapshot, withDemands } from "./snapshot.ts"
import { type Demand, slotBounds } from "./demand.ts"
import { freeUnits } from "./kits.ts"
import { type AvailabilitySlot, lineAvailability, type RangeAvailability, rangeAvailability } from "./line.ts"
import { type DemandSettings, demandsOfLine } from "./line-demands.ts"

/** A planned line; instants in milliseconds. */
export interface PlannedLine extends Period {
  readonly product_id: number
  readonly quantity: number
  readonly store_id: number
}

const planned_source = "what_if"
const order = 2,
  active = 0

/** Demands as of an active order; `source_id` is the line's number from 1. Throws KitNestedTooDeep, KitTooLarge. */
export const plannedDemands = (
  lines: ReadonlyArray<PlannedLine>,
  snapshot: AvailabilitySnapshot
): ReadonlyArray<Demand> => {
  const settings: DemandSettings = {
    release_point: "returned",
    demand_date_source: "operational",
    kit_nesting_max_depth: snapshot.kit_depth,
    now: instantOf(snapshot.now)
  }
  const opportunity = {
    id: 0,
    state: order,
    status: active,
    store_id: null,
    starts_at: null,
    ends_at: null,
    charge_starts_at: null,
    charge_ends_at: null
  }
  const demands = lines.flatMap((line, at) =>
    demandsOfLine(
      {
        id: at + 1,
        product_id: line.product_id,
        quantity: line.quantity,
        dispatched_quantity: 0,
        returned_quantity: 0,
        starts_at: instantOf(line.from),
        ends_at: instantOf(line.to),
        dispatch_store_id: line.store_id,
        is_live: true,
        units: []
      },
      opportunity,
      snapshot.products,
      settings
    )
  )
  return demands.map((demand, at) => ({ ...demand, id: -(at + 1), source_type: planned_source, opportunity_id: null }))
}

interface PlannedSlot extends AvailabilitySlot {
  /** Availability without the plan. */
  readonly available_before: number
}
interface PlannedTimeline extends Omit<RangeAvailability, "slots"> {
  readonly slots: ReadonlyArray<PlannedSlot>
}
interface PlanResult {
  /** Index of the planned line, from 0. */
  readonly line: number
  readonly product_id: number
  readonly product_name: string | null
  readonly store_id: number
  readonly requested_quantity: number
  /** Minimum over the window's slots, with all other planned lines included; may be negative. */
  readonly available_for_line: number
  readonly shortage_quantity: number
  readonly has_shortage: boolean
  readonly starts_at: string
  readonly ends_at: string
}
interface PlanAnswers {
  readonly lines: ReadonlyArray<PlanResult>
  readonly timelines: ReadonlyArray<PlannedTimeline>
}

/**
 * Availability of one store's lines, each with all the others included; and their products slot by slot, from the first
 * demand to the last. Throws KitNestedTooDeep, KitTooLarge and TooManySlots.
 */
export const planAnswers = (
  snapshot: AvailabilitySnapshot,
  lines: ReadonlyArray<PlannedLine & { readonly line: number }>
): PlanAnswers => {
  const planned = withDemands(snapshot, plannedDemands(lines, snapshot))
  return {
    lines: lines.map((one, at) => {
      const found = lineAvailability(
        planned,
        {
          id: at + 1,
          product_id: one.product_id,
          quantity: one.quantity,
          starts_at: instantOf(one.from),
          ends_at: instantOf(one.to)
        },
        planned_source
      )
      const { available_for_item, from, has_shortage, opportunity_item_id: _id, to, ...rest } = found
      return {
        line: one.line,
        ...rest,
        product_name: snapshot.products.get(one.product_id)?.name ?? null,
        available_for_line: available_for_item,
        has_shortage,
        starts_at: from,
        ends_at: to
      }
    }),
    timelines: [...Map.groupBy(lines, (line) => line.product_id)].map(([product_id, of]) =>
      plannedTimeline(snapshot, planned, product_id, of)
    )
  }
}

const plannedTimeline = (
  snapshot: AvailabilitySnapshot,
  planned: AvailabilitySnapshot,
  product_id: number,
  lines: ReadonlyArray<Period>
): PlannedTimeline => {
  const product = snapshot.products.get(product_id)
  const window = inOrder({
    from: Math.min(...lines.map((line) => line.from)) - (product?.before_minutes ?? 0) * 60_000,
    to: Math.max(...lines.map((line) => line.to)) + (product?.after_minutes ?? 0) * 60_000
  })
  const range = rangeAvailability(planned, product_id, window)
  const first = range.slots.at(0),
    last = range.slots.at(-1)
  if (first === undefined || last === undefined) return { ...range, slots: [] }
  const before = freeUnits(
    snapshot,
    product_id,
    slotBounds(millisOf(first.slot_start), millisOf(last.slot_start) + 1, snapshot.resolution, snapshot.zone)
  )
  return { ...range, slots: range.slots.map((slot, at) => ({ ...slot, available_before: before?.[at] ?? 0 })) }
}
