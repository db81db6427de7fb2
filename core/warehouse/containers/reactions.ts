/**
 * Reactions of containers to events of other slices: changed cases hold or release packed units (rules/availability
 * 8.5), packed units must stay at their store, and containers follow their units on orders.
 */
import { type Statement } from "effect/sql"
import { Effect, Result } from "effect"
import { levelsAllocated, unitDispatched, unitReturned } from "../../orders/opportunities/events/lines.ts"
import { asset_assignments } from "../../orders/opportunities/tables/index.ts"
import { chunked, dataOf, isEventOf, later, reaction, reject, rowCreated, rowDeleted } from "../../kernel/index.ts"
import { rowUpdated, Store, type DataOf, type EventOf, type NewEvent } from "../../kernel/index.ts"
import { caseOf, type ComponentRow, product_components } from "../../products/kits/schema.ts"
import { container_items, type ContainerRow, containers, live_statuses } from "../../products/packing.ts"
import { type ProductRow, products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { containerDispatched, containerReturned } from "./events.ts"
import { loadPackedUnits, type PackedUnit, syncHolds } from "./facts.ts"

const partMade = rowCreated(product_components),
  partChanged = rowUpdated(product_components),
  partDeleted = rowDeleted(product_components),
  productChanged = rowUpdated(products)
type CaseEvent = EventOf<DataOf<typeof partMade | typeof partDeleted | typeof productChanged>>
/** Whether an event changes which packed units are held: by the case's mode or parts. */
const changesCase = (event: CaseEvent): boolean =>
  !isEventOf(productChanged, event) || "container_availability_mode" in event.data
const idsOf = (data: ReadonlyArray<{ readonly id: number }>): ReadonlyArray<number> => data.map(({ id }) => id)

/** Containers in use of products whose parts or mode these events change. One query per 500 products or parts. */
const containersOf = Effect.fnUntraced(function* (
  events: ReadonlyArray<CaseEvent>
): Store.Reads<ReadonlyArray<ContainerRow>> {
  const found: Array<ContainerRow> = []
  const { sql } = yield* Store
  const look = Effect.fnUntraced(function* (
    ids: ReadonlyArray<number>,
    condition: (some: ReadonlyArray<number>) => Statement.Fragment
  ) {
    for (const some of chunked([...new Set(ids)], 500))
      found.push(...(yield* Store.select(containers, () => sql`where status <> 'dissolved' and ${condition(some)}`)))
  })
  yield* look(
    [...dataOf(partMade, events).map(({ product_id }) => Number(product_id)), ...idsOf(dataOf(productChanged, events))],
    (some) => sql`product_id in ${sql.in(some)}`
  )
  yield* look(
    [...idsOf(dataOf(partChanged, events)), ...idsOf(dataOf(partDeleted, events))],
    (some) => sql`product_id in (select product_id from product_components where id in ${sql.in(some)})`
  )
  return [...new Map(found.map((row) => [row.id, row])).values()].sort((one, other) => one.id - other.id)
})

interface CaseFacts {
  readonly packed: ReadonlyArray<PackedUnit>
  readonly products: ReadonlyArray<ProductRow>
  /** Parts of the products before the events. */
  readonly components: ReadonlyArray<ComponentRow>
}
const no_cases: CaseFacts = { packed: [], products: [], components: [] }

const changedProduct = (product: ProductRow, events: ReadonlyArray<CaseEvent>): ProductRow =>
  dataOf(productChanged, events).reduce<ProductRow>(
    (row, data) => (data.id === row.id ? { ...row, ...data } : row),
    product
  )
/** The parts of the product after the events. */
const changedParts = (
  product_id: number,
  components: ReadonlyArray<ComponentRow>,
  events: ReadonlyArray<CaseEvent>
): ReadonlyArray<ComponentRow> =>
  events
    .reduce<ReadonlyArray<ComponentRow>>((rows, event) => {
      // Events that create parts have all columns.
      if (isEventOf(partMade, event)) return [...rows, event.data as ComponentRow]
      if (isEventOf(partChanged, event))
        return rows.map((row) => (row.id === event.data.id ? { ...row, ...event.data } : row))
      return isEventOf(partDeleted, event) ? rows.filter((row) => row.id !== event.data.id) : rows
    }, components)
    .filter((row) => row.product_id === product_id)

/** Field of the command to report an error on. */
const fieldOf = (events: ReadonlyArray<CaseEvent>): string =>
  events.some((event) => isEventOf(partDeleted, event))
    ? "component"
    : events.some((event) => isEventOf(productChanged, event))
      ? "availability_mode"
      : "binding"

const caseFacts = Effect.fnUntraced(function* (about: ReadonlyArray<CaseEvent>, now: string): Store.Reads<CaseFacts> {
  const found = yield* containersOf(about)
  if (found.length === 0) return no_cases
  const product_ids = [...new Set(found.flatMap(({ product_id }) => product_id ?? []))]
  return {
    packed: yield* loadPackedUnits(found, now),
    products: yield* Store.getMany(products, product_ids),
    components: yield* Store.find(product_components, { product_id: product_ids })
  }
})
/**
 * Holds or releases units packed in a case with new mode or parts. 422 on `binding`, `component` or `availability_mode`
 * if a unit to be held has another demand. Merges of products are left out, as their rule does it.
 */
export const casesChanged = reaction({
  on: [partMade, partChanged, partDeleted, productChanged],
  facts: ({ all, events }, { now }) => {
    const about = events.filter(changesCase)
    return about.length === 0 || all.some(({ type }) => type === products.merged_by?.event)
      ? Effect.succeed(no_cases)
      : caseFacts(about, now)
  },
  decide: ({ events }, { components, packed, products }, context) =>
    Result.gen(function* () {
      const about = events.filter(changesCase)
      const held: Array<NewEvent> = []
      for (const product of products) {
        const inside = packed.filter(({ container }) => container.product_id === product.id)
        const as_case = caseOf(changedProduct(product, about), changedParts(product.id, components, about))
        held.push(...(yield* syncHolds(inside, as_case, fieldOf(about), context)))
      }
      return held
    })
})

/** Whether the event moves a container as a whole: such commands book the case and record the state themselves. */
const isContainerMovement = (event: NewEvent): boolean =>
  isEventOf(containerDispatched, event) || isEventOf(containerReturned, event)
const booking = later(() => import("./booking.ts"))

/** Takes dispatched units out of their boxes, and moves kits with their case. */
export const unitsBooked = reaction({
  on: [unitDispatched, unitReturned],
  facts: ({ all, events }, { now }) =>
    Effect.gen(function* () {
      if (all.some(isContainerMovement)) return undefined
      const units = yield* Store.getMany(
        asset_assignments,
        events.map(({ data }) => data.assignment_id)
      )
      // Units allocated by the same command have no row yet, so their events are read, too.
      const unitOf = new Map([...units.map((unit) => [unit.id, unit.stock_level_id] as const), ...levelsAllocated(all)])
      if (unitOf.size === 0) return undefined
      const { sql } = yield* Store
      const level_ids = sql.in([...new Set(unitOf.values())])
      const found = yield* sql<{ id: number }>`
        select container_id as id from container_items where unpacked_at is null and serialised_item_id in ${level_ids}
        union select id from containers where status <> 'dissolved' and serialised_item_id in ${level_ids}`
      if (found.length === 0) return undefined
      const { bookedUnits } = yield* booking
      const order_ids = [...new Set(events.map(({ data }) => data.id))]
      const ids = found.map(({ id }) => Number(id))
      return { ...(yield* bookedUnits.load(ids, order_ids, now)), decide: bookedUnits.decide, unitOf }
    }),
  decide: ({ events }, known, context) =>
    Result.succeed(known === undefined ? [] : known.decide(events, known, context))
})

const containerChanged = rowUpdated(containers)
/** 422 `store_id` if a packed unit, or the case of a container in use, moves to another store without the container. */
export const unitsStay = reaction({
  on: [rowUpdated(stock_levels)],
  facts: Effect.fnUntraced(function* ({ all, events }) {
    const moved = idsOf(events.map(({ data }) => data).filter((data) => "store_id" in data))
    if (moved.length === 0) return false
    const packed = yield* Store.find(container_items, { serialised_item_id: moved, unpacked_at: null })
    const own = yield* Store.find(containers, { serialised_item_id: moved, status: live_statuses })
    const along = new Set(idsOf(dataOf(containerChanged, all).filter((data) => "store_id" in data)))
    return [...packed.map(({ container_id }) => container_id), ...idsOf(own)].some((id) => !along.has(id))
  }),
  decide: (_happened, is_contained) =>
    is_contained
      ? reject("store_id", "The unit belongs to a container; unpack it or dissolve the container first.")
      : Result.succeed([])
})

export const containerReactions = [unitsStay, casesChanged, unitsBooked]
