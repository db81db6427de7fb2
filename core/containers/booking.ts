/**
 * What booking units out and in on orders means for containers (availability 8.3, 8.6): contents of boxes become units of
 * their line, a box whose case goes out or that is left empty ends, a case kit goes out and comes back with its case.
 */
import { Effect, Result } from "effect"
import { holdsPacked } from "../availability/line-claims.ts"
import type { DecideContext, Decided, Fault } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import type { JsonObject } from "../kernel/json.ts"
import { Store } from "../kernel/store/store.ts"
import { cameBack, containerDispatched, containerDissolved } from "./events.ts"
import { loadTargets, loadUnits, type Target, type Unit } from "./facts.ts"
import { leaving } from "./pack.ts"
import { type ContainerRow, container_items, containers, live_statuses } from "./schema.ts"

/** Containers that some of the units are packed in or are the case of, with everything inside. */
export interface Around {
  readonly targets: ReadonlyArray<Target>
  readonly units: ReadonlyMap<number, Unit>
}
const nothing: Around = { targets: [], units: new Map() }

/** Two queries where no container is concerned. */
export const containersAround = Effect.fnUntraced(function*(level_ids: ReadonlyArray<number>, now: string): Effect.fn.Return<Around, Fault, Store> {
  if (level_ids.length === 0) return nothing
  const store = yield* Store
  const packed = yield* store.find(container_items, { serialised_item_id: level_ids, unpacked_at: null })
  const housed = yield* store.find(containers, { serialised_item_id: level_ids, status: live_statuses })
  const ids = [...new Set([...packed.map((item) => item.container_id), ...housed.map((one) => one.id)])]
  if (ids.length === 0) return nothing
  const targets = yield* loadTargets(yield* store.getMany(containers, ids))
  return { targets, units: yield* loadUnits(targets.flatMap(({ items }) => items.map((item) => item.serialised_item_id)), now) }
})

interface Booking { readonly stock_level_id: number; readonly at: string }
export interface Bookings { readonly out: ReadonlyArray<Booking>; readonly back: ReadonlyArray<Booking> }

/** What a decision on an order books out and in, read from its events. */
export const bookingsIn = (events: ReadonlyArray<NewEvent>, unitOf: (assignment_id: number) => number | undefined): Bookings => {
  const of = (type: string, column: string): ReadonlyArray<Booking> => events.filter((event) => event.type === type).flatMap(({ data }) => {
    const stock_level_id = unitOf(Number(data["assignment_id"]))
    return stock_level_id === undefined ? [] : [{ stock_level_id, at: String((data["set"] as JsonObject)[column]) }]
  })
  return { out: of("opportunity.asset_dispatched", "dispatched_at"), back: of("opportunity.asset_returned", "returned_at") }
}

/** A decision on an order with what follows from it for containers. */
export const withContainers = (
  decided: Decided, around: Around, opportunity_id: number, unitOf: (assignment_id: number) => number | undefined, context: DecideContext
): Decided => around.targets.length === 0 ? decided : Result.map(decided, (decision) => {
  const { back, out } = bookingsIn(decision.events, unitOf)
  return { ...decision, events: [...decision.events, ...around.targets.flatMap((target) => followed(target, around, opportunity_id, { back, out }, context))] }
})

const followed = (target: Target, { units }: Around, opportunity_id: number, { back, out }: Bookings, context: DecideContext): ReadonlyArray<NewEvent> => {
  const { as_case, container, items } = target
  const isUnit = as_case.container_mode === "kit" || as_case.container_mode === "hybrid"
  const gone = out.find((one) => one.stock_level_id === container.serialised_item_id)
  const returned = back.find((one) => one.stock_level_id === container.serialised_item_id)
  const left = items.filter((item) => (gone !== undefined && !isUnit) ||
    (!holdsPacked(as_case, item.product_id) && out.some((one) => one.stock_level_id === item.serialised_item_id)))
  const events = left.flatMap((item) => {
    const unit = units.get(item.serialised_item_id)
    return unit === undefined ? [] : leaving(unit, item, "dispatch", null, context)
  })
  if (isUnit) {
    if (gone !== undefined && container.status === "sealed") events.push(wentOut(container, opportunity_id, gone.at))
    if (returned !== undefined && container.status === "dispatched" && container.opportunity_id === opportunity_id) events.push(cameBack(container, returned.at))
  } else if (gone !== undefined || (left.length > 0 && left.length === items.length)) {
    events.push(containerDissolved.make({ id: container.id,
      status: "dissolved", dissolved_at: context.now, dissolved_by_user_id: context.viewer.user_id || null, dissolved_reason: "dispatch",
      parent_container_id: null, repack_started_at: null
    }))
  }
  return events
}
const wentOut = (container: ContainerRow, opportunity_id: number, dispatched_at: string): NewEvent =>
  containerDispatched.make({ id: container.id, status: "dispatched", opportunity_id, dispatched_at, returned_at: null })
