/**
 * What booking units out and in on orders means for containers (rules/availability 8.3, 8.6): contents of boxes become units of
 * their line, a box whose case goes out or that is left empty ends, a case kit goes out and comes back with its case.
 */
import { Effect, Result } from "effect"
import { isPackedUnitHeld } from "../availability/line-demands.ts"
import type { DecideContext, Failure } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { dataOf, type DataOf, type EventOf, isEventOf } from "../kernel/event-type.ts"
import { reaction } from "../kernel/react.ts"
import { bindings } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { cameBack, containerDispatched, containerDissolved, containerReturned } from "./events.ts"
import { asset_assignments } from "../opportunities/child-tables.ts"
import { unitDispatched, unitReturned } from "../opportunities/part-events.ts"
import { loadTargets, loadUnits, type ContainerFacts, type Unit } from "./facts.ts"
import { leaving } from "./pack.ts"
import { type ContainerRow, containers } from "../packing/schema.ts"

/** Containers that some of the units are packed in or are the case of, with everything inside. */
interface AffectedContainers {
  readonly targets: ReadonlyArray<ContainerFacts>
  readonly units: ReadonlyMap<number, Unit>
}
const nothing: AffectedContainers = { targets: [], units: new Map() }

/** One query where no container is concerned. */
const affectedContainers = Effect.fnUntraced(function* (
  level_ids: ReadonlyArray<number>,
  now: string
): Effect.fn.Return<AffectedContainers, Failure, Store> {
  if (level_ids.length === 0) return nothing
  const store = yield* Store
  const bound = bindings(store.dialect)
  const named = (): string => level_ids.map(bound.bind).join(", ")
  // Those the units are packed in first, then those they are the case of.
  const found = yield* store.run<{ id: number }>(
    `select container_id as id, 0 as by_case, id as place from container_items where unpacked_at is null and serialised_item_id in (${named()}) ` +
      `union all select id, 1, id from containers where status <> 'dissolved' and serialised_item_id in (${named()}) order by by_case, place`,
    bound.values
  )
  const ids = [...new Set(found.map(({ id }) => Number(id)))]
  if (ids.length === 0) return nothing
  const rows = new Map((yield* store.getMany(containers, ids)).map((row) => [row.id, row]))
  const targets = yield* loadTargets(ids.flatMap((id) => rows.get(id) ?? []))
  return {
    targets,
    units: yield* loadUnits(
      targets.flatMap(({ items }) => items.map((item) => item.serialised_item_id)),
      now
    )
  }
})

interface Booking {
  readonly stock_level_id: number
  readonly opportunity_id: number
  readonly at: string
}
type UnitEvent = EventOf<DataOf<typeof unitDispatched>>
interface Bookings {
  readonly out: ReadonlyArray<Booking>
  readonly back: ReadonlyArray<Booking>
}

/** What a command books out and in, read from its events. */
const bookingsOfEvents = (events: ReadonlyArray<UnitEvent>, unitOf: ReadonlyMap<number, number>): Bookings => {
  const of = (kind: typeof unitDispatched, column: "dispatched_at" | "returned_at"): ReadonlyArray<Booking> =>
    dataOf(kind, events).flatMap(({ assignment_id, id, set }) => {
      const stock_level_id = unitOf.get(assignment_id)
      return stock_level_id === undefined ? [] : [{ stock_level_id, opportunity_id: id, at: String(set[column]) }]
    })
  return { out: of(unitDispatched, "dispatched_at"), back: of(unitReturned, "returned_at") }
}
/** A container that is sent out or taken back as one books its case itself, and says what becomes of it. */
const isOuting = (event: NewEvent): boolean =>
  isEventOf(containerDispatched, event) || isEventOf(containerReturned, event)

/** Units booked out leave their boxes; a case kit goes where its case does. */
export const unitsBooked = reaction({
  on: [unitDispatched, unitReturned],
  facts: ({ all, events }, { now }) =>
    Effect.gen(function* () {
      if (all.some(isOuting)) return { around: nothing, unitOf: new Map<number, number>() }
      const units = yield* (yield* Store).getMany(
        asset_assignments,
        events.map(({ data }) => data.assignment_id)
      )
      return {
        around: yield* affectedContainers([...new Set(units.map((unit) => unit.stock_level_id))], now),
        unitOf: new Map(units.map((unit) => [unit.id, unit.stock_level_id]))
      }
    }),
  decide: ({ events }, { around, unitOf }, context) => {
    const bookings = bookingsOfEvents(events, unitOf)
    return Result.succeed(around.targets.flatMap((target) => followed(target, around, bookings, context)))
  }
})

const followed = (
  target: ContainerFacts,
  { units }: AffectedContainers,
  { back, out }: Bookings,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const { as_case, container, items } = target
  const isUnit = as_case.container_mode === "kit" || as_case.container_mode === "hybrid"
  const gone = out.find((one) => one.stock_level_id === container.serialised_item_id)
  const returned = back.find((one) => one.stock_level_id === container.serialised_item_id)
  const left = items.filter(
    (item) =>
      (gone !== undefined && !isUnit) ||
      (!isPackedUnitHeld(as_case, item.product_id) && out.some((one) => one.stock_level_id === item.serialised_item_id))
  )
  const events = left.flatMap((item) => {
    const unit = units.get(item.serialised_item_id)
    return unit === undefined ? [] : leaving(unit, item, "dispatch", null, context)
  })
  if (isUnit) {
    if (gone !== undefined && container.status === "sealed")
      events.push(wentOut(container, gone.opportunity_id, gone.at))
    if (
      returned !== undefined &&
      container.status === "dispatched" &&
      container.opportunity_id === returned.opportunity_id
    )
      events.push(cameBack(container, returned.at))
  } else if (gone !== undefined || (left.length > 0 && left.length === items.length)) {
    events.push(
      containerDissolved.make({
        id: container.id,
        status: "dissolved",
        dissolved_at: context.now,
        dissolved_by_user_id: context.viewer.user_id || null,
        dissolved_reason: "dispatch",
        parent_container_id: null,
        repack_started_at: null
      })
    )
  }
  return events
}
const wentOut = (container: ContainerRow, opportunity_id: number, dispatched_at: string): NewEvent =>
  containerDispatched.make({ id: container.id, status: "dispatched", opportunity_id, dispatched_at, returned_at: null })
