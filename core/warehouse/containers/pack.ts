/**
 * Rules of packing, unpacking, nesting, transferring and repacking, and their effect on stock (rules/availability 8.5).
 */
import { holderText } from "../../orders/opportunities/state/index.ts"
import { Result } from "effect"
import { isPackedUnitHeld } from "../../orders/availability/rules/line-demands.ts"
import { decided, integer, invalid, invalidField, list, reject, rowUpdated, Shown } from "../../kernel/index.ts"
import { updatedEvents, type DecideContext, type Decided, type NewEvent, type Rejection } from "../../kernel/index.ts"
import { serialised } from "../../products/products/schema.ts"
import { outOfServiceText, stock_levels } from "../../products/stock/schema.ts"
import { itemPacked, itemRepacked, itemUnpacked } from "./events.ts"
import { type ContainerFacts, holdUnit, releaseUnit, type Unit } from "./facts.ts"
import type { ContainerItemRow, ContainerRow, ContainerStatus, NewContainerItem } from "../../products/packing.ts"
import { container_items, containers } from "../../products/packing.ts"

/** Error of a container's status, on `container` and on the field that named it (rules/availability 8.6). */
export const wrongStatus = (field: string, text: string): Rejection => invalid({ container: [text], [field]: [text] })

/** 422 `container` unless the container is open. */
const requireOpenContainer = (
  { container }: Pick<ContainerFacts, "container">,
  field = "container"
): Rejection | undefined =>
  container.status === "open"
    ? undefined
    : wrongStatus(
        field,
        `The container is ${container.status}; only open ones are packed and unpacked. ${toBeOpen(container)}`
      )
/** Sentence for messages on how to open the container; empty if it is open. */
export const toBeOpen = ({ id, status }: Pick<ContainerRow, "id" | "status">): string => opening[status](id)
const repacking = (id: number): string => `flightcase containers repack start --container-id ${id}`
const opening: { readonly [S in ContainerStatus]: (id: number) => string } = {
  open: () => "",
  sealed: (id) => `Unseal it first (flightcase containers unseal ${id}).`,
  dispatched: () => "It has to come back first.",
  returned: (id) => `Start repacking it first (${repacking(id)}).`,
  dissolved: (id) => `Begin a new one like it (${repacking(id)}).`
}

/**
 * First reason a unit cannot be packed into a container; undefined if it can. `moving`: it leaves its current
 * container.
 */
const reasonNotPackable = (unit: Unit, target: ContainerFacts, moving = false): string | undefined => {
  const { child, conflicts, level, membership, product, subtree } = unit
  const { container } = target
  if (product?.stock_method !== serialised) return "Only serialised units can be packed."
  if (container.store_id !== null && level.store_id !== container.store_id)
    return "The unit is at another store than the container."
  if (membership !== undefined && !moving) {
    const other = unit.packed_in ?? `container ${membership.container_id}`
    return `The unit is already packed in ${membership.container_id === container.id ? "this container" : other}.`
  }
  if (level.is_gone || level.given_back_at !== null) return "The unit is no longer in stock."
  const [out] = level.out_of_service
  if (out !== undefined) return `The unit ${outOfServiceText(out)}; release it first.`
  const until = level.ends_at === null ? "" : ` until ${level.ends_at}`
  if (level.is_sub_hired && isPackedUnitHeld(target.as_case, level.product_id))
    return (
      `The unit is sub-hired${until}; a case that keeps its contents takes units of your own only. ` +
      "Pack it in a transport box or a temporary container."
    )
  const [holder] = conflicts
  if (holder !== undefined) return `The unit is committed ${whereHeld(holder)} from ${holder.starts_at}.`
  if (container.serialised_item_id === level.id) return "A case cannot be packed into itself."
  return child === undefined ? undefined : reasonNotNestable(level, subtree, target)
}

const whereHeld = (holder: Unit["conflicts"][number]): string =>
  holder.opportunity_id === null ? "elsewhere" : `to ${holderText(holder)}`

/** Whether `adding` units would exceed `max_items` of a strict container's template. */
const isFull = ({ container, items, product }: ContainerFacts, adding: number): boolean => {
  const max = container.scan_mode === "strict" ? (product?.container_template?.max_items ?? null) : null
  return max !== null && items.length + adding > max
}

interface Place {
  readonly position: string | null
  readonly notes: string | null
}

const nestedUnder = (child: ContainerRow, parent_container_id: number | null): NewEvent =>
  updatedEvents(containers, child, { parent_container_id })[0] ?? rowUpdated(containers).make({ id: child.id })

/**
 * Events of packing a unit now: its packing row, a demand if the case holds its contents, the case noted on its stock
 * level, and the parent of a nested container.
 */
const entering = (
  unit: Unit,
  target: ContainerFacts,
  place: Place,
  context: DecideContext
): { readonly row: NewContainerItem; readonly events: ReadonlyArray<NewEvent> } => {
  const { as_case, container } = target
  const id = context.id(container_items)
  const row: NewContainerItem = {
    id,
    container_id: container.id,
    serialised_item_id: unit.level.id,
    product_id: unit.level.product_id,
    packed_at: context.happened_at,
    packed_by_user_id: context.viewer.user_id || null,
    unpacked_at: null,
    unpacked_reason: null,
    transferred_to_container_id: null,
    returned_from_opportunity_id: null,
    repacked_at: null,
    verified_at: null,
    ...place
  }
  const unit_marked =
    container.serialised_item_id === null
      ? []
      : updatedEvents(stock_levels, unit.level, {
          container_stock_level_id: container.serialised_item_id,
          container_mode: as_case.container_mode ?? "transport"
        })
  return {
    row,
    events: [
      itemPacked.make(row),
      ...(isPackedUnitHeld(as_case, unit.level.product_id)
        ? [holdUnit(container.id, row, unit.level, context.happened_at, context)]
        : []),
      ...unit_marked,
      ...(unit.child === undefined ? [] : [nestedUnder(unit.child, container.id)])
    ]
  }
}

/**
 * Events of unpacking a unit now: end of its packing row and demand; its stock level's case and a nested container's
 * parent are cleared.
 */
export const leaving = (
  unit: Unit,
  membership: ContainerItemRow,
  reason: string,
  to: number | null,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  return [
    itemUnpacked(membership, context.happened_at, reason, to),
    releaseUnit(membership.container_id, membership.id),
    ...updatedEvents(stock_levels, unit.level, { container_stock_level_id: null, container_mode: null }),
    ...(unit.child === undefined ? [] : [nestedUnder(unit.child, null)])
  ]
}

/** Packs one unit. 422 `container` unless open or if full, `serialised_item_id` if the unit cannot be packed. */
export const packUnit = (
  unit: Unit | undefined,
  target: ContainerFacts,
  place: Place,
  context: DecideContext
): Decided => {
  const closed = requireOpenContainer(target)
  if (closed !== undefined) return Result.fail(closed)
  const reason = unit === undefined ? "The selected serialised item does not exist." : reasonNotPackable(unit, target)
  if (unit === undefined || reason !== undefined) return reject("serialised_item_id", reason ?? "")
  if (isFull(target, 1)) return reject("container", "The container is full.")
  const { events, row } = entering(unit, target, place, context)
  return decided(row.id, events)
}

/** Unpacks one unit. 422 `container` unless open, `serialised_item_id` if it is not packed there. */
export const unpackUnit = (unit: Unit | undefined, target: ContainerFacts, context: DecideContext): Decided => {
  const closed = requireOpenContainer(target)
  if (closed !== undefined) return Result.fail(closed)
  if (unit?.membership?.container_id !== target.container.id) return Result.fail(notPackedHere("serialised_item_id"))
  return decided(unit.membership.id, leaving(unit, unit.membership, "manual", null, context))
}
const notPackedHere = (field: string): Rejection => invalidField(field, "The unit is not packed in this container.")

/**
 * Puts a container without a unit of its own into another, or takes it out (`into` undefined). 422: `container` if it
 * has a unit, is out or dissolved, or in a closed one; `parent_container_id` if that one cannot hold it.
 */
export const nestContainer = (
  { chain, container }: ContainerFacts,
  subtree: ReadonlyArray<ReadonlyArray<ContainerRow>>,
  into: ContainerFacts | undefined
): Decided => {
  const [, parent] = chain
  if (container.serialised_item_id !== null)
    return reject("container", `${container.name} is a unit; pack and unpack it by the unit's code.`)
  if (container.status === "dispatched" || container.status === "dissolved")
    return reject("container", `${container.name} is ${container.status}; only containers at hand can be packed.`)
  if (parent !== undefined && parent.id === into?.container.id)
    return reject("parent_container_id", `${container.name} is already packed in this container.`)
  if (parent !== undefined && into !== undefined)
    return reject("parent_container_id", `${container.name} is already packed in ${parent.name}; take it out first.`)
  if (parent !== undefined && parent.status !== "open")
    return reject("container", `${container.name} is inside ${parent.name}, which is ${parent.status}.`)
  const closed = into === undefined ? undefined : requireOpenContainer(into, "parent_container_id")
  if (closed !== undefined) return Result.fail(closed)
  const reason = into === undefined ? undefined : reasonNotNestable(container, subtree, into)
  return reason === undefined
    ? decided(container.id, [nestedUnder(container, into?.container.id ?? null)])
    : reject("parent_container_id", reason)
}
/** First reason containers cannot lie in the target; undefined if they can. */
const reasonNotNestable = (
  { store_id }: Pick<ContainerRow, "store_id">,
  subtree: ReadonlyArray<ReadonlyArray<ContainerRow>>,
  { chain, container, nesting_max }: ContainerFacts
): string | undefined => {
  if (container.store_id !== null && store_id !== container.store_id)
    return "The case is at another store than the container."
  if (subtree.flat().some((one) => chain.some((above) => above.id === one.id)))
    return "The unit is a case this container is packed in; cases cannot contain each other."
  return chain.length + subtree.length > nesting_max
    ? `Containers here can be nested ${nesting_max} level${nesting_max === 1 ? "" : "s"} deep at most.`
    : undefined
}

/** Ids of packing rows that a transfer ended, then of those it created. */
export const transferred = Shown.keys({ ids: list(integer()) })
/**
 * Moves units between open containers of one store; each gets a new packing row. 422: `container`,
 * `target_container_id` (itself, not open, another store), `serialised_item_ids`.
 */
export const transferUnit = (
  units: ReadonlyArray<Unit | undefined>,
  from: ContainerFacts,
  to: ContainerFacts,
  context: DecideContext
): Decided<typeof transferred.Type> => {
  const closed = requireOpenContainer(from) ?? targetRejection(from, to, "target_container_id")
  if (closed !== undefined) return Result.fail(closed)
  return Result.map(transferEvents(units, from, to, "serialised_item_ids", context), ({ events, ids }) => ({
    events,
    result: { ids }
  }))
}

export const targetRejection = (from: ContainerFacts, to: ContainerFacts, field: string): Rejection | undefined =>
  to.container.id === from.container.id
    ? invalidField(field, "Choose another container than this one.")
    : (requireOpenContainer(to, field) ??
      (to.container.store_id !== from.container.store_id
        ? invalidField(field, "The other container is at another store.")
        : undefined))

/** Events of a transfer, by unit; `ids`: ended rows, then created ones. 422 on `field`. */
export const transferEvents = (
  units: ReadonlyArray<Unit | undefined>,
  from: ContainerFacts,
  to: ContainerFacts,
  field: string,
  context: DecideContext
): Result.Result<{ readonly events: ReadonlyArray<NewEvent>; readonly ids: ReadonlyArray<number> }, Rejection> => {
  const events: Array<NewEvent> = [],
    closed: Array<number> = [],
    begun: Array<number> = []
  for (const unit of units) {
    const membership = unit?.membership
    if (unit === undefined || membership?.container_id !== from.container.id) return Result.fail(notPackedHere(field))
    const reason = reasonNotPackable(unit, to, true)
    if (reason !== undefined) return reject(field, `Unit ${unit.level.id}: ${reason}`)
    const entered = entering(
      {
        ...unit,
        level: { ...unit.level, container_stock_level_id: null, container_mode: null },
        ...(unit.child === undefined ? {} : { child: { ...unit.child, parent_container_id: null } })
      },
      to,
      { position: membership.position, notes: membership.notes },
      context
    )
    events.push(...leaving(unit, membership, "transferred", to.container.id, context), ...entered.events)
    closed.push(membership.id)
    begun.push(entered.row.id)
  }
  return isFull(to, units.length)
    ? reject(field, "The other container has no room for all of them.")
    : Result.succeed({ events, ids: [...closed, ...begun] })
}

/**
 * Repacks one unit of a container being repacked: confirms it, or packs it. 422: `container` if not being repacked or
 * full, `serialised_item_id` if it cannot be packed or was repacked already.
 */
export const repackUnit = (
  unit: Unit | undefined,
  target: ContainerFacts,
  place: Place,
  context: DecideContext
): Decided => {
  const { container } = target
  if (container.status !== "open" || container.repack_started_at === null) {
    return reject("container", "The container is not being repacked; start repacking it first.")
  }
  const here = unit?.membership?.container_id === container.id ? unit.membership : undefined
  if (here === undefined) {
    const reason = unit === undefined ? "The selected serialised item does not exist." : reasonNotPackable(unit, target)
    if (unit === undefined || reason !== undefined) return reject("serialised_item_id", reason ?? "")
    if (isFull(target, 1)) return reject("container", "The container is full.")
    const { events, row } = entering(unit, target, place, context)
    return decided(row.id, [...events, itemRepacked(row, context.happened_at, row.position, row.notes)])
  }
  if (here.repacked_at !== null)
    return reject("serialised_item_id", "The unit has already been repacked in this session.")
  return decided(here.id, [
    itemRepacked(here, context.happened_at, place.position ?? here.position, place.notes ?? here.notes)
  ])
}
