/** What may go into a container, what may come out, and what either does to stock (rules/availability 8.5). */
import { Result } from "effect"
import { isPackedUnitHeld } from "../availability/line-demands.ts"
import type { DecideContext, Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { invalid, invalidField, type Rejection } from "../kernel/rejection.ts"
import { serialised } from "../products/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { itemPacked, itemRepacked, itemUnpacked, nestedUnder } from "./events.ts"
import type { ContainerFacts, Unit } from "./facts.ts"
import { holdUnit, releaseUnit } from "./stock-holds.ts"
import {
  type ContainerItemRow,
  container_items,
  type ContainerStatus,
  type NewContainerItem
} from "../packing/schema.ts"
import { integer, list } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

/** 422 `container`, as for every wrong status, and the field that named the container where one did (rules/availability 8.6). */
export const wrongStatus = (field: string, text: string): Rejection => invalid({ container: [text], [field]: [text] })

/** 422 `container` unless it is open. */
export const requireOpenContainer = (
  { container }: Pick<ContainerFacts, "container">,
  field = "container"
): Rejection | undefined =>
  container.status === "open"
    ? undefined
    : wrongStatus(
        field,
        `The container is ${container.status}; only open ones are packed and unpacked.${wayOut[container.status]}`
      )
const wayOut: { readonly [S in ContainerStatus]: string } = {
  open: "",
  sealed: " Unseal it first.",
  dispatched: " It has to come back first.",
  returned: " Start repacking it first.",
  dissolved: ""
}

/** Why a unit cannot go into a container; undefined when it can. The first reason counts. `moving`: out of where it is packed now. */
export const reasonNotPackable = (unit: Unit, target: ContainerFacts, moving = false): string | undefined => {
  const { child, conflicts, level, membership, product, subtree } = unit
  const { chain, container, nesting_max } = target
  if (product?.stock_method !== serialised) return "Only serialised units can be packed."
  if (container.store_id !== null && level.store_id !== container.store_id)
    return "The unit is at another store than the container."
  if (membership !== undefined && !moving) {
    return membership.container_id === container.id
      ? "The unit is already packed in this container."
      : `The unit is already packed in container ${membership.container_id}.`
  }
  if (level.is_gone) return "The unit is no longer in stock."
  const holder = conflicts[0]
  if (holder !== undefined) {
    return `The unit is committed ${holder.opportunity_id === null ? "elsewhere" : `to opportunity ${holder.opportunity_id}`} from ${holder.starts_at}.`
  }
  if (container.serialised_item_id === level.id) return "A case cannot be packed into itself."
  if (child === undefined) return undefined
  if (subtree.flat().some((one) => chain.some((above) => above.id === one.id)))
    return "The unit is a case this container is packed in; cases cannot contain each other."
  return chain.length + subtree.length > nesting_max
    ? `Containers here can be nested ${nesting_max} level${nesting_max === 1 ? "" : "s"} deep at most.`
    : undefined
}

/** A strict case takes no more than its template's `max_items`. */
const isFull = ({ container, items, product }: ContainerFacts, adding: number): boolean => {
  const max = container.scan_mode === "strict" ? (product?.container_template?.max_items ?? null) : null
  return max !== null && items.length + adding > max
}

export interface Place {
  readonly position: string | null
  readonly notes: string | null
}

/** A membership beginning now: the row, the demand where contents are held, the unit's mark, the nested container's parent. */
export const enteringRejection = (
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
    packed_at: context.now,
    packed_by_user_id: context.viewer.user_id || null,
    unpacked_at: null,
    unpacked_reason: null,
    transferred_to_container_id: null,
    returned_from_opportunity_id: null,
    repacked_at: null,
    verified_at: null,
    ...place
  }
  const marked =
    container.serialised_item_id === null
      ? undefined
      : updatedEvent(stock_levels, unit.level, {
          container_stock_level_id: container.serialised_item_id,
          container_mode: as_case.container_mode ?? "transport"
        })
  return {
    row,
    events: [
      itemPacked.make(row),
      ...(isPackedUnitHeld(as_case, unit.level.product_id)
        ? [holdUnit(container.id, row, unit.level, context.now, context)]
        : []),
      ...(marked === undefined ? [] : [marked]),
      ...(unit.child === undefined ? [] : [nestedUnder(unit.child, container.id)])
    ]
  }
}

/** A membership ending now, with its demand, the unit's mark and the nested container's parent. */
export const leaving = (
  unit: Unit,
  membership: ContainerItemRow,
  reason: string,
  to: number | null,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const unmarked = updatedEvent(stock_levels, unit.level, { container_stock_level_id: null, container_mode: null })
  return [
    itemUnpacked(membership, context.now, reason, to),
    releaseUnit(membership.container_id, membership.id),
    ...(unmarked === undefined ? [] : [unmarked]),
    ...(unit.child === undefined ? [] : [nestedUnder(unit.child, null)])
  ]
}

/** Packs one unit. 422 `container` unless open, then `serialised_item_id` for whatever speaks against the unit. */
export const packUnit = (
  unit: Unit | undefined,
  target: ContainerFacts,
  place: Place,
  context: DecideContext
): Decided => {
  const closed = requireOpenContainer(target)
  if (closed !== undefined) return Result.fail(closed)
  const reason = unit === undefined ? "The selected serialised item does not exist." : reasonNotPackable(unit, target)
  if (unit === undefined || reason !== undefined) return Result.fail(invalidField("serialised_item_id", reason ?? ""))
  if (isFull(target, 1)) return Result.fail(invalidField("container", "The container is full."))
  const { events, row } = enteringRejection(unit, target, place, context)
  return Result.succeed({ events, result: { id: row.id } })
}

/** Takes one unit out. 422 `container` unless open, `serialised_item_id` when it is not packed there. */
export const unpackUnit = (unit: Unit | undefined, target: ContainerFacts, context: DecideContext): Decided => {
  const closed = requireOpenContainer(target)
  if (closed !== undefined) return Result.fail(closed)
  if (unit?.membership?.container_id !== target.container.id) return Result.fail(notPackedHere("serialised_item_id"))
  return Result.succeed({
    events: leaving(unit, unit.membership, "manual", null, context),
    result: { id: unit.membership.id }
  })
}
export const notPackedHere = (field: string): Rejection =>
  invalidField(field, "The unit is not packed in this container.")

/** The rows begun. */
export const transferred = Shown.keys({ ids: list(integer()) })
/**
 * Moves units from one open container into another at the same store, each with a row closed and a row begun. 422:
 * `container`, `target_container_id` (itself, not open, another store), `serialised_item_ids`.
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

/** Closed rows first, then those begun, unit by unit. */
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
    if (reason !== undefined) return Result.fail(invalidField(field, `Unit ${unit.level.id}: ${reason}`))
    const entered = enteringRejection(
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
    ? Result.fail(invalidField(field, "The other container has no room for all of them."))
    : Result.succeed({ events, ids: [...closed, ...begun] })
}

/** One unit of a container being gone through after its return: confirmed where it is, or packed anew. */
export const repackUnit = (
  unit: Unit | undefined,
  target: ContainerFacts,
  place: Place,
  context: DecideContext
): Decided => {
  const { container } = target
  if (container.status !== "open" || container.repack_started_at === null) {
    return Result.fail(invalidField("container", "The container is not being repacked; start repacking it first."))
  }
  const here = unit?.membership?.container_id === container.id ? unit.membership : undefined
  if (here === undefined) {
    const reason = unit === undefined ? "The selected serialised item does not exist." : reasonNotPackable(unit, target)
    if (unit === undefined || reason !== undefined) return Result.fail(invalidField("serialised_item_id", reason ?? ""))
    if (isFull(target, 1)) return Result.fail(invalidField("container", "The container is full."))
    const { events, row } = enteringRejection(unit, target, place, context)
    return Result.succeed({
      events: [...events, itemRepacked(row, context.now, row.position, row.notes)],
      result: { id: row.id }
    })
  }
  if (here.repacked_at !== null)
    return Result.fail(invalidField("serialised_item_id", "The unit has already been repacked in this session."))
  return Result.succeed({
    events: [itemRepacked(here, context.now, place.position ?? here.position, place.notes ?? here.notes)],
    result: { id: here.id }
  })
}
