/** Where units are right now and who has them (rules/search 3): a fixed number of queries, however many units. */
import { backAloneAt, hasReturned } from "../../warehouse/containers/facts.ts"
import { allocated, asset_assignments, checked_in, dispatched } from "../../orders/opportunities/tables/index.ts"
import { finalised, isClosed, on_hire, opportunities, prepared } from "../../orders/opportunities/tables/index.ts"
import type { AssignmentRow, OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { Effect } from "effect"
import { columnsSeen, Store, type Viewer } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { type ContainerRow, container_items, containers, live_statuses, nesting_max } from "../../products/packing.ts"
import type { OutOfService, ServiceState, StockLevelRow } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { millisOf, openEnd, zoneOf } from "../../values/time.ts"
import { type ServiceReasons, serviceReasons, type Supplied, suppliedBy } from "./find.ts"
import type { unit_places } from "./kinds.ts"

// Place of a unit, from its steps on orders (rules/search 3). Pure.

type Step = Pick<AssignmentRow, "opportunity_id" | "returned_at" | "status">
/** Statuses of steps by how much they say about a unit's place: out before returned before prepared. */
const in_order = [dispatched, on_hire, checked_in, prepared, allocated]

/** The latest return, checked or not: earlier unchecked ones no longer matter. */
const lastReturn = (steps: ReadonlyArray<Step>): Step | undefined =>
  steps
    .filter(({ status }) => hasReturned(status))
    .toSorted((one, other) => ((one.returned_at ?? "") < (other.returned_at ?? "") ? 1 : -1))[0]
const telling = (steps: ReadonlyArray<Step>): Step | undefined => {
  const back = lastReturn(steps)
  return steps
    .filter(({ status }) => status !== finalised)
    .filter((step) => step.status !== checked_in || step === back)
    .toSorted((one, other) => in_order.indexOf(one.status) - in_order.indexOf(other.status))[0]
}

/** Order the unit is out on or came back from last; planned orders do not count. */
const cameFromOrder = (step: Step | undefined): number | null =>
  step === undefined || step.status === prepared || step.status === allocated ? null : step.opportunity_id

/**
 * The order that a unit is out with or returned from: by its own allocation, else by the outermost case around it,
 * which has none once returned. Planned orders do not count.
 */
const orderOfPlace = (
  place: "out" | "returned",
  step: Step | undefined,
  around: { readonly opportunity_id: number | null } | undefined
): number | null => {
  const says = place === "out" ? [dispatched, on_hire] : [checked_in]
  return step !== undefined && says.includes(step.status) ? step.opportunity_id : (around?.opportunity_id ?? null)
}

type UnitPlace = keyof typeof unit_places

export interface Whereabouts {
  readonly place: UnitPlace
  readonly store_id: number | null
  readonly store_name: string | null
  readonly timezone: string
  /** Storage location in the store, from the stock level. */
  readonly location: string | null
  readonly container: { readonly id: number; readonly name: string } | null
  /** Order it is out with, back from, or prepared or allocated for; null without one the reader may see. */
  readonly order: {
    readonly id: number
    readonly number: string | null
    readonly subject: string
    readonly member_name: string | null
    readonly until: string | null
  } | null
  /** Stock out of service now: for a unit one entry, for a bulk quantity one for each part. */
  readonly service: ReadonlyArray<{
    readonly state: OutOfService["state"]
    readonly quantity: number
    readonly since: string
    readonly expected_back_at: string | null
    readonly reason: string | null
  }>
  /** Supplier of sub-hired goods; null for own stock, and where the reader may not see it. */
  readonly supplier: Supplied | null
}

/** Where a case is; `inside`: the outermost case around it. */
export interface CaseWhere {
  readonly is_out: boolean
  readonly inside: Whereabouts["container"]
  readonly order: Whereabouts["order"]
}

/** These cases and all cases around them, by id. */
const withParents = Effect.fnUntraced(function* (
  first: ReadonlyArray<ContainerRow>
): Store.Reads<ReadonlyMap<number, ContainerRow>> {
  const known = new Map(first.map((one) => [one.id, one]))
  for (let level = first, depth = 0; level.length > 0 && depth < nesting_max; depth++) {
    const parents = level.flatMap(({ parent_container_id: id }) => (id === null || known.has(id) ? [] : [id]))
    level = yield* Store.getMany(containers, parents)
    for (const one of level) known.set(one.id, one)
  }
  return known
})
/** The outermost case around a case, or itself; its place is that of everything in it. */
const outermost = (one: ContainerRow, cases: ReadonlyMap<number, ContainerRow>): ContainerRow => {
  let at = one
  for (let depth = 0; depth < nesting_max; depth++) {
    const parent = cases.get(at.parent_container_id ?? 0)
    if (parent === undefined) return at
    at = parent
  }
  return at
}

type Placed = Pick<StockLevelRow, "given_back_at" | "is_gone" | "starts_at" | "stock_category" | "service_state">
/**
 * Place of a unit. Given back, sold, lost or gone takes precedence; a unit that is out is "out" whatever is planned for
 * it; one returned damaged is in quarantine rather than unchecked.
 */
export const placeOf = (
  unit: Placed,
  out_of_service: ServiceState | undefined,
  held: Pick<Step, "status"> | undefined,
  around: Pick<ContainerRow, "status"> | undefined,
  now: string
): UnitPlace => {
  if (unit.given_back_at !== null) return "given_back"
  if (unit.service_state === "sold") return "sold"
  if (out_of_service === "lost") return "lost"
  if (unit.is_gone) return "gone"
  if (held?.status === dispatched || held?.status === on_hire || around?.status === "dispatched") return "out"
  if (out_of_service === "quarantine" || out_of_service === "in_repair") return out_of_service
  if (held?.status === checked_in || around?.status === "returned") return "returned"
  if (unit.starts_at !== null && unit.starts_at > now) return "not_here_yet"
  if (held?.status === prepared) return "prepared"
  return around === undefined ? "in_store" : "in_case"
}
const bulk_stock = 10
/** Entries of stock out of service now; planned repairs may begin later. */
const serviceNow = (unit: StockLevelRow, now: string): ReadonlyArray<OutOfService> =>
  unit.out_of_service.filter((one) => millisOf(one.starts_at) <= millisOf(now))

/** The case that each unit is in, and the outermost around it, which may be the unit itself. */
const casesOf = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const packed = yield* Store.find(container_items, { serialised_item_id: ids, unpacked_at: null })
  const housings = yield* Store.find(containers, { serialised_item_id: ids, status: live_statuses })
  const direct = yield* Store.getMany(
    containers,
    packed.map(({ container_id }) => container_id)
  )
  const cases = yield* withParents([...direct, ...housings])
  const containerOf = new Map(packed.map((one) => [one.serialised_item_id, cases.get(one.container_id)]))
  const housed = new Map(housings.map((one) => [one.serialised_item_id, one]))
  const around = (id: number): ContainerRow | undefined => {
    const inside = containerOf.get(id) ?? housed.get(id)
    return inside === undefined ? undefined : outermost(inside, cases)
  }
  return { around, containerOf }
})

/** Without what is planned for orders that are closed or deleted; the order that starts first comes first. */
const stillPlanned = Effect.fnUntraced(function* (open: ReadonlyArray<AssignmentRow>) {
  const planned = open.filter(({ status }) => status === allocated || status === prepared)
  const orders = yield* Store.byId(
    opportunities,
    planned.map(({ opportunity_id }) => opportunity_id)
  )
  const isOver = (order: OpportunityRow): boolean => order.deleted_at !== null || isClosed(order)
  const over = new Set([...orders.values()].filter(isOver).map(({ id }) => id))
  const startOf = ({ opportunity_id }: AssignmentRow): string => orders.get(opportunity_id)?.starts_at ?? openEnd
  return open
    .filter((one) => !planned.includes(one) || !over.has(one.opportunity_id))
    .toSorted((one, other) => startOf(one).localeCompare(startOf(other)))
})

/**
 * Steps of each unit on its orders. Checked returns are read only for units with an unchecked one, or in a case that
 * is out or back.
 */
const stepsOf = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  around: (id: number) => ContainerRow | undefined
): Store.Reads<(id: number) => ReadonlyArray<Step>> {
  const open = yield* stillPlanned(yield* Store.find(asset_assignments, { stock_level_id: ids, status: [...in_order] }))
  const unchecked = new Set(open.filter(({ status }) => status === checked_in).map((one) => one.stock_level_id))
  const asked = ids.filter((id) => unchecked.has(id) || out_or_back.has(around(id)?.status ?? "open"))
  const checked =
    asked.length === 0 ? [] : yield* Store.find(asset_assignments, { stock_level_id: asked, status: finalised })
  const steps = Map.groupBy([...open, ...checked], (one) => one.stock_level_id)
  return (id) => steps.get(id) ?? []
})

const out_or_back: ReadonlySet<ContainerRow["status"]> = new Set(["dispatched", "returned"])
/** The case around a unit; as if open where it is back and the unit was checked since, of which it says nothing. */
const tellingCase = (steps: ReadonlyArray<Step>, around: ContainerRow | undefined): ContainerRow | undefined => {
  const back = lastReturn(steps)
  const is_checked = back?.status === finalised && (back.returned_at ?? "") >= (around?.dispatched_at ?? "")
  return around?.status === "returned" && is_checked ? { ...around, status: "open" } : around
}

interface Standing {
  readonly place: UnitPlace
  readonly container: ContainerRow | undefined
  readonly order_id: number | null
  readonly service: ReadonlyArray<OutOfService>
}
/** Place of each unit, the case it is in, the id of the order concerned, and its entries out of service. */
const standingsOf = Effect.fnUntraced(function* (
  units: ReadonlyArray<StockLevelRow>,
  reasons: ServiceReasons,
  now: string
): Store.Reads<ReadonlyMap<number, Standing>> {
  const ids = units.map(({ id }) => id)
  const cases = yield* casesOf(ids)
  const steps = yield* stepsOf(ids, cases.around)
  const came_from = cameFrom(units, reasons, now)
  return new Map(
    units.map((unit) => {
      const is_alone = backAloneAt(steps(unit.id), cases.around(unit.id)) !== undefined
      const around = is_alone ? undefined : tellingCase(steps(unit.id), cases.around(unit.id))
      const step = telling(steps(unit.id))
      const service = serviceNow(unit, now)
      const state = unit.stock_category === bulk_stock ? undefined : service[0]?.state
      const place = placeOf(unit, state, step, around, now)
      const order_id =
        place === "quarantine" || place === "in_repair" || place === "lost"
          ? (came_from.get(unit.id) ?? cameFromOrder(step))
          : place === "out" || place === "returned"
            ? orderOfPlace(place, step, around)
            : (step?.opportunity_id ?? around?.opportunity_id ?? null)
      const container = is_alone ? undefined : cases.containerOf.get(unit.id)
      return [unit.id, { place, container, order_id, service }] as const
    })
  )
})

/** Reads orders as the viewer may see them, by id: two queries. */
const shownOrders = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number | null>,
  viewer: Viewer
): Store.Reads<(id: number | null) => Whereabouts["order"]> {
  const orders = yield* Store.byId(opportunities, ids)
  const customers = new Map(
    (yield* Store.pickMany(
      members,
      ["id", "name"],
      [...orders.values()].flatMap(({ member_id }) => member_id ?? [])
    )).map((one) => [one.id, one.name])
  )
  const shown = shownOrder(viewer, customers)
  return (id) => {
    const order = orders.get(id ?? 0)
    return order === undefined ? null : shown(order)
  }
})

/** Where units are, by id of the stock level. */
export const whereaboutsOf = Effect.fnUntraced(function* (
  units: ReadonlyArray<StockLevelRow>,
  viewer: Viewer,
  now: string
): Store.Reads<ReadonlyMap<number, Whereabouts>> {
  if (units.length === 0) return new Map()
  const reasons = yield* serviceReasons(
    units.flatMap((unit) => serviceNow(unit, now)),
    viewer
  )
  const standings = yield* standingsOf(units, reasons, now)
  const orderOf = yield* shownOrders(
    [...standings.values()].map(({ order_id }) => order_id),
    viewer
  )
  const places = new Map((yield* Store.find(stores, {})).map((one) => [one.id, one]))
  const supplied = yield* suppliedBy(units, viewer)
  return new Map(
    units.flatMap((unit) => {
      const standing = standings.get(unit.id)
      if (standing === undefined) return []
      const { container, order_id, place, service } = standing
      const at = places.get(unit.store_id)
      const told: Whereabouts = {
        place,
        store_id: unit.store_id,
        store_name: at?.name ?? null,
        timezone: zoneOf(at?.timezone),
        location: unit.location,
        container: container === undefined ? null : { id: container.id, name: container.name },
        order: orderOf(order_id),
        service: service.map((one) => ({
          state: one.state,
          quantity: one.quantity,
          since: one.starts_at,
          expected_back_at: one.state === "lost" ? null : one.expected_back_at,
          reason: reasons.get(one.service_record_id)?.reason ?? null
        })),
        supplier: supplied.get(unit.id) ?? null
      }
      return [[unit.id, told] as const]
    })
  )
})

/** Where cases are, by id: by the outermost case around each, and with the order it is out on or back from. */
export const casesWhere = Effect.fnUntraced(function* (
  found: ReadonlyArray<ContainerRow>,
  viewer: Viewer
): Store.Reads<ReadonlyMap<number, CaseWhere>> {
  const cases = yield* withParents(found)
  const around = (one: ContainerRow): ContainerRow => outermost(one, cases)
  const gone = (one: ContainerRow): boolean => around(one).status === "dispatched" || around(one).status === "returned"
  const orderOf = yield* shownOrders(
    found.map((one) => (gone(one) ? around(one).opportunity_id : null)),
    viewer
  )
  return new Map(
    found.map((one) => [
      one.id,
      {
        is_out: around(one).status === "dispatched",
        inside: around(one).id === one.id ? null : { id: around(one).id, name: around(one).name },
        order: gone(one) ? orderOf(around(one).opportunity_id) : null
      }
    ])
  )
})

/** Orders that units out of service came back from, by unit. */
const cameFrom = (units: ReadonlyArray<StockLevelRow>, reasons: ServiceReasons, now: string) =>
  new Map(
    units
      .filter((unit) => unit.stock_category !== bulk_stock)
      .flatMap((unit) =>
        serviceNow(unit, now).map((one) => [unit.id, reasons.get(one.service_record_id)?.opportunity_id] as const)
      )
  )

const shownOrder = (viewer: Viewer, customers: ReadonlyMap<number, string>) => {
  const sees = columnsSeen(opportunities, viewer)
  const sees_customer = sees("member_id") && columnsSeen(members, viewer)("name")
  return ({ ends_at, id, member_id, number, subject }: OpportunityRow): Whereabouts["order"] =>
    sees("subject")
      ? {
          id,
          number,
          subject,
          member_name: sees_customer ? (customers.get(member_id ?? 0) ?? null) : null,
          until: ends_at
        }
      : null
}
