/**
 * Effects of booking units on containers (rules/availability 8.3, 8.6). A dispatched unit leaves its box; a box is
 * dissolved with its case's dispatch, or once empty (`endsWhenEmpty`); a kit goes and returns with its case.
 */
import { Effect } from "effect"
import { isPackedUnitHeld } from "../../orders/availability/rules/line-demands.ts"
import { dataOf, lockStreams, Store, streamOf } from "../../kernel/index.ts"
import type { DataOf, DecideContext, EventOf, NewEvent } from "../../kernel/index.ts"
import { cameBack, containerDispatched, containerDissolved, scannedOutReason, sealBroken } from "./events.ts"
import { sealedAround } from "./events.ts"
import { asset_assignments, dispatched, on_hire, opportunities } from "../../orders/opportunities/tables/index.ts"
import { unitDispatched, unitReturned } from "../../orders/opportunities/events/lines.ts"
import { type ContainerFacts, loadTargets, loadUnits, type Unit } from "./facts.ts"
import { leaving } from "./pack.ts"
import { type ContainerItemRow, type ContainerRow, containers, live_statuses } from "../../products/packing.ts"
import { numberText } from "../../values/text.ts"

/** Containers in use that hold some of the units, or have one as their case. */
interface AffectedContainers {
  readonly targets: ReadonlyArray<ContainerFacts>
  /** Units packed in them, by stock level id. */
  readonly units: ReadonlyMap<number, Unit>
  /** Units still out on the order with which their container was dispatched as a whole, by container id. */
  readonly still_out: ReadonlyMap<number, ReadonlySet<number>>
}
interface BookedFacts {
  readonly around: AffectedContainers
  readonly orders: Bookings["orders"]
}

/** On Postgres containers are locked before reading, as commands that pack or dissolve lock only the container. */
const load = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  order_ids: ReadonlyArray<number>,
  now: string
): Store.Reads<BookedFacts> {
  yield* lockStreams(ids.map((id) => streamOf("container", id)))
  const targets = yield* loadTargets(yield* Store.find(containers, { id: ids, status: live_statuses }))
  const packed_ids = targets.flatMap(({ items }) => items.map((item) => item.serialised_item_id))
  const around = { targets, units: yield* loadUnits(packed_ids, now), still_out: yield* loadStillOut(targets) }
  const orders = targets.length === 0 ? [] : yield* Store.getMany(opportunities, order_ids)
  return { around, orders: new Map(orders.map(({ id, number }) => [id, numberText(number, id)])) }
})

/** One query for each dispatched container; a command books units of few. */
const loadStillOut = Effect.fnUntraced(function* (
  targets: ReadonlyArray<ContainerFacts>
): Store.Reads<ReadonlyMap<number, ReadonlySet<number>>> {
  const found = new Map<number, ReadonlySet<number>>()
  for (const { container, items } of targets) {
    if (container.status !== "dispatched" || container.opportunity_id === null) continue
    const inside = items.map((item) => item.serialised_item_id)
    const rows = yield* Store.find(asset_assignments, {
      opportunity_id: container.opportunity_id,
      stock_level_id: container.serialised_item_id === null ? inside : [container.serialised_item_id, ...inside],
      status: [dispatched, on_hire]
    })
    found.set(container.id, new Set(rows.map((row) => row.stock_level_id)))
  }
  return found
})

interface Booking {
  readonly stock_level_id: number
  readonly opportunity_id: number
  readonly at: string
}
interface Bookings {
  readonly out: ReadonlyArray<Booking>
  readonly back: ReadonlyArray<Booking>
  /** Numbers of the orders, by id. */
  readonly orders: ReadonlyMap<number, string>
}

/** Units that a command dispatches and returns, from its events. `unitOf`: stock level of an assignment. */
const bookingsOfEvents = (
  events: ReadonlyArray<EventOf<DataOf<typeof unitDispatched>>>,
  unitOf: ReadonlyMap<number, number>
): Omit<Bookings, "orders"> => {
  const of = (kind: typeof unitDispatched, column: "dispatched_at" | "returned_at"): ReadonlyArray<Booking> =>
    dataOf(kind, events).flatMap(({ assignment_id, id, set }) => {
      const stock_level_id = unitOf.get(assignment_id)
      return stock_level_id === undefined ? [] : [{ stock_level_id, opportunity_id: id, at: String(set[column]) }]
    })
  return { out: of(unitDispatched, "dispatched_at"), back: of(unitReturned, "returned_at") }
}
const decide = (
  events: Parameters<typeof bookingsOfEvents>[0],
  { around, orders, unitOf }: BookedFacts & { readonly unitOf: ReadonlyMap<number, number> },
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const bookings = { ...bookingsOfEvents(events, unitOf), orders }
  const broken = new Set<number>()
  return around.targets.flatMap((target) => containerEvents(target, around, bookings, broken, context))
}
/** Facts and rule of the reaction of containers to booked units. */
export const bookedUnits = { load, decide }

/**
 * Events of one container: contents that leave, broken seals, and its change of state. `broken`: containers whose seal
 * the command has broken; new ones are added.
 */
const containerEvents = (
  target: ContainerFacts,
  { still_out, units }: AffectedContainers,
  { back, orders, out }: Bookings,
  broken: Set<number>,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const { as_case, container, items } = target
  const isUnit = as_case.container_mode === "kit" || as_case.container_mode === "hybrid"
  const gone = out.find((one) => one.stock_level_id === container.serialised_item_id)
  const returned = back.find((one) => one.stock_level_id === container.serialised_item_id)
  const leaving_items = items.filter(
    (item) =>
      (gone !== undefined && !isUnit) ||
      (!isPackedUnitHeld(as_case, item.product_id) && out.some((one) => one.stock_level_id === item.serialised_item_id))
  )
  const events = [
    ...(gone !== undefined && !isUnit
      ? []
      : sealsBroken(target, { units, items: leaving_items, out, orders }, broken, context)),
    ...leaving_items.flatMap((item) => {
      const unit = units.get(item.serialised_item_id)
      return unit === undefined ? [] : leaving(unit, item, "dispatch", null, context)
    })
  ]
  const out_still = still_out.get(container.id)
  // A box dispatched as a whole is returned when the last of its units is.
  if (out_still !== undefined && !isUnit && [...out_still].every((id) => back.some((one) => one.stock_level_id === id)))
    return out_still.size === 0 || back.length === 0
      ? events
      : [...events, ...cameBack(container, back[0]?.at ?? context.happened_at, true)]
  if (isUnit) {
    if (gone !== undefined && container.status === "sealed")
      events.push(wentOut(container, gone.opportunity_id, gone.at))
    if (
      returned !== undefined &&
      container.status === "dispatched" &&
      container.opportunity_id === returned.opportunity_id
    )
      events.push(...cameBack(container, returned.at, false))
  } else if (
    gone !== undefined ||
    (leaving_items.length > 0 && leaving_items.length === items.length && endsWhenEmpty(target))
  ) {
    events.push(
      containerDissolved.make({
        id: container.id,
        status: "dissolved",
        dissolved_at: context.happened_at,
        dissolved_by_user_id: context.viewer.user_id || null,
        dissolved_reason: "dispatch",
        parent_container_id: null,
        repack_started_at: null
      })
    )
  }
  return events
}
/**
 * Whether a container is dissolved when its last unit leaves: temporary ones, and boxes of a product, which frees their
 * case. Kits stay, and so do containers that have no product and are not temporary.
 */
export const endsWhenEmpty = ({ as_case, container }: Pick<ContainerFacts, "as_case" | "container">): boolean =>
  as_case.container_mode !== "kit" &&
  as_case.container_mode !== "hybrid" &&
  (container.is_temporary || container.product_id !== null)
/** Events that break the seal of a closed container and of closed ones around it, as content is removed. */
const sealsBroken = (
  target: ContainerFacts,
  going: Pick<Bookings, "out" | "orders"> & {
    readonly units: ReadonlyMap<number, Unit>
    readonly items: ReadonlyArray<ContainerItemRow>
  },
  broken: Set<number>,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  if (going.items.length === 0) return []
  const levels = going.items.flatMap((item) => going.units.get(item.serialised_item_id)?.level ?? [])
  const order_id = going.out.find((one) => levels.some(({ id }) => id === one.stock_level_id))?.opportunity_id ?? 0
  const reason = scannedOutReason(going.orders.get(order_id) ?? String(order_id), levels)
  return sealedAround(target).flatMap((container) => {
    if (broken.has(container.id)) return []
    broken.add(container.id)
    return [sealBroken(container, reason, context)]
  })
}
const wentOut = (container: ContainerRow, opportunity_id: number, dispatched_at: string): NewEvent =>
  containerDispatched.make({ id: container.id, status: "dispatched", opportunity_id, dispatched_at, returned_at: null })
