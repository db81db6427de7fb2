/** Reads facts for the rules of containers, for many units at once. */
import { firstOf, lastOf } from "../../values/text.ts"
import { Effect, Result } from "effect"
import { assetConflicts } from "../../orders/availability/api/window.ts"
import { withHolders, type HeldDemand } from "../../orders/opportunities/state/index.ts"
import { referredRows, reject, Store, streamOf, updatedEvents } from "../../kernel/index.ts"
import type { DecideContext, Failure, NewEvent, Rejection } from "../../kernel/index.ts"
import { caseOf, type CaseProduct, product_components } from "../../products/kits/schema.ts"
import { type ProductRow, products } from "../../products/products/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { openEnd } from "../../values/time.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { container_items, containers, live_statuses } from "../../products/packing.ts"
import { checked_in, finalised, type AssignmentRow } from "../../orders/opportunities/tables/index.ts"
import { demandOfPackedUnit, isPackedUnitHeld } from "../../orders/availability/rules/line-demands.ts"
import { type DemandRow, demands, demandsReplaced } from "../../orders/demands/schema.ts"

/** A container with the facts for moving units into or out of it. */
export interface ContainerFacts {
  readonly container: ContainerRow
  readonly product: ProductRow | undefined
  /** Its mode and parts, which decide what contents are held, that is, taken out of general stock. */
  readonly as_case: CaseProduct
  /** The container itself, the container it is packed in, and so on. */
  readonly chain: ReadonlyArray<ContainerRow>
  /** Maximum nesting depth in the outermost container of the chain. */
  readonly nesting_max: number
  /** Units packed in it now. */
  readonly items: ReadonlyArray<ContainerItemRow>
  /** Stock levels of those units. */
  readonly inside?: ReadonlyArray<StockLevelRow>
}
/** A unit to be packed, unpacked or transferred. */
export interface Unit {
  readonly level: StockLevelRow
  readonly product: ProductRow | undefined
  /** Its current packing; undefined if it is not packed. */
  readonly membership: ContainerItemRow | undefined
  /** Demands on it from now on, except that of its current packing. */
  readonly conflicts: ReadonlyArray<HeldDemand>
  /** Name of the container it is packed in. */
  readonly packed_in?: string
  /** The container it is the case of. `subtree`: that one, then all nested ones, level by level. */
  readonly child: ContainerRow | undefined
  readonly subtree: ReadonlyArray<ReadonlyArray<ContainerRow>>
}

const default_nesting_depth = 2
/** Maximum levels to read, above any setting; ends loops of containers. */
const levels_max = 25

/** A container followed by those around it, up to the outermost; read by one query per level. */
type Chain = readonly [ContainerRow, ...ReadonlyArray<ContainerRow>]
const chainsOf = Effect.fnUntraced(function* (of: ReadonlyArray<ContainerRow>): Store.Reads<ReadonlyArray<Chain>> {
  const chains = of.map((one): [ContainerRow, ...Array<ContainerRow>] => [one])
  for (let level = 1; level < levels_max; level++) {
    const wanted = chains.map((chain) => lastOf(chain).parent_container_id).filter((id) => id !== null)
    if (wanted.length === 0) break
    const parents = yield* Store.byId(containers, wanted)
    let grown = false
    for (const chain of chains) {
      const parent = parents.get(lastOf(chain).parent_container_id ?? 0)
      if (chain.length !== level || parent === undefined || chain.some((one) => one.id === parent.id)) continue
      chain.push(parent)
      grown = true
    }
    if (!grown) break
  }
  return chains
})

/** Facts of these containers, in their order: four queries, and one per level of nesting. */
export const loadTargets = Effect.fnUntraced(function* (
  of: ReadonlyArray<ContainerRow>
): Store.Reads<ReadonlyArray<ContainerFacts>> {
  if (of.length === 0) return []
  const chains = yield* chainsOf(of)
  const product_ids = [
    ...new Set(chains.flatMap((chain) => [chain[0].product_id, lastOf(chain).product_id]).filter((id) => id !== null))
  ]
  const found = yield* Store.byId(products, product_ids)
  const own = [...new Set(of.map((one) => one.product_id).filter((id) => id !== null))]
  const components = Map.groupBy(
    own.length === 0 ? [] : yield* Store.find(product_components, { product_id: own }),
    (one) => one.product_id
  )
  const items = Map.groupBy(
    yield* Store.find(container_items, { container_id: of.map((one) => one.id), unpacked_at: null }),
    (one) => one.container_id
  )
  const levels = yield* referredRows(stock_levels, [...items.values()].flat(), "serialised_item_id")
  return chains.map((chain) => {
    const [container] = chain
    const product = container.product_id === null ? undefined : found.get(container.product_id)
    return {
      container,
      product,
      chain,
      as_case: caseOf(
        { container_availability_mode: product?.container_availability_mode ?? null },
        product === undefined ? [] : (components.get(product.id) ?? [])
      ),
      nesting_max: found.get(lastOf(chain).product_id ?? 0)?.container_max_nesting_depth ?? default_nesting_depth,
      items: items.get(container.id) ?? [],
      inside: (items.get(container.id) ?? []).flatMap((item) => levels.get(item.serialised_item_id) ?? [])
    }
  })
})
export const loadTarget = (container: ContainerRow): Effect.Effect<ContainerFacts, Failure, Store> =>
  Effect.map(loadTargets([container]), firstOf)

/** Existing units by id, with their facts: eight queries. */
export const loadUnits = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  now: string
): Store.Reads<ReadonlyMap<number, Unit>> {
  const levels = yield* Store.getMany(stock_levels, ids)
  if (levels.length === 0) return new Map()
  const level_ids = levels.map((one) => one.id)
  const productsById = yield* referredRows(products, levels, "product_id")
  const memberships = new Map(
    (yield* Store.find(container_items, { serialised_item_id: level_ids, unpacked_at: null })).map((one) => [
      one.serialised_item_id,
      one
    ])
  )
  const places = new Map(
    (yield* Store.pickMany(
      containers,
      ["id", "name"],
      [...memberships.values()].map((one) => one.container_id)
    )).map((one) => [one.id, one.name])
  )
  const conflicts = Map.groupBy(
    yield* withHolders(yield* assetConflicts(level_ids, { from: now, to: openEnd }, now)),
    (demand) => demand.asset_id
  )
  const children = new Map(
    (yield* Store.find(containers, { serialised_item_id: level_ids, status: live_statuses })).map((one) => [
      one.serialised_item_id,
      one
    ])
  )
  const nested = yield* nestedIn([...children.values()])
  return new Map(
    levels.map((level) => {
      const membership = memberships.get(level.id),
        child = children.get(level.id),
        packed_in = membership === undefined ? undefined : places.get(membership.container_id)
      return [
        level.id,
        {
          level,
          product: productsById.get(level.product_id),
          membership,
          child,
          ...(packed_in === undefined ? {} : { packed_in }),
          conflicts: (conflicts.get(level.id) ?? []).filter(
            (demand) => demand.source_type !== "container" || demand.source_id !== membership?.id
          ),
          subtree: child === undefined ? [] : subtreeOf(child, nested)
        }
      ]
    })
  )
})

/** These containers and all nested in them. */
const nestedIn = Effect.fnUntraced(function* (
  roots: ReadonlyArray<ContainerRow>
): Store.Reads<ReadonlyArray<ContainerRow>> {
  if (roots.length === 0) return []
  return yield* Store.select(
    containers,
    (sql) => sql`where id in (with recursive nested(id) as (
    select id from containers where id in ${sql.in(roots.map((one) => one.id))} union
    select c.id from containers c join nested on c.parent_container_id = nested.id where c.status <> 'dissolved')
    select id from nested)`
  )
})

/** A container followed by all nested in it, level by level. */
export const loadSubtree = (container: ContainerRow) =>
  Effect.map(nestedIn([container]), (nested) => subtreeOf(container, nested))

const subtreeOf = (
  root: ContainerRow,
  all: ReadonlyArray<ContainerRow>
): ReadonlyArray<ReadonlyArray<ContainerRow>> => {
  const levels: Array<ReadonlyArray<ContainerRow>> = [[root]]
  while (levels.length < levels_max) {
    const above = new Set(lastOf(levels).map((one) => one.id))
    const next = all.filter((one) => one.parent_container_id !== null && above.has(one.parent_container_id))
    if (next.length === 0) break
    levels.push(next)
  }
  return levels
}

// Units that were returned without their case, which is still out: they are present, but not in the case.

type Return = Pick<AssignmentRow, "opportunity_id" | "returned_at" | "status">
/** Time a unit was returned without its case; undefined if it was not. `around`: the outermost case. */
export const backAloneAt = (
  steps: ReadonlyArray<Return>,
  around: Pick<ContainerRow, "dispatched_at" | "opportunity_id" | "status"> | undefined
): string | undefined =>
  around?.status !== "dispatched"
    ? undefined
    : steps
        .filter(({ opportunity_id, status }) => hasReturned(status) && opportunity_id === around.opportunity_id)
        .flatMap(({ returned_at }) => returned_at ?? [])
        .find((at) => at >= (around.dispatched_at ?? ""))
export const hasReturned = (status: number): boolean => status === checked_in || status === finalised

// Finds out which packed units are held: taken out of general stock by a demand (rules/availability 8.5).

/** A packed unit, whether it is held, and other demands that would prevent holding it. */
export interface PackedUnit {
  readonly container: ContainerRow
  readonly item: ContainerItemRow
  readonly unit: StockLevelRow
  readonly is_held: boolean
  readonly conflicts: ReadonlyArray<DemandRow>
}

/** Units packed in these containers, with other demands on them from `now` on. Four queries. */
export const loadPackedUnits = Effect.fnUntraced(function* (
  packed_in: ReadonlyArray<ContainerRow>,
  now: string
): Store.Reads<ReadonlyArray<PackedUnit>> {
  if (packed_in.length === 0) return []
  const items = yield* Store.find(container_items, { container_id: packed_in.map((one) => one.id), unpacked_at: null })
  const units = yield* referredRows(stock_levels, items, "serialised_item_id")
  const held_ids = new Set(
    (yield* Store.find(demands, { source_type: "container", source_id: items.map((one) => one.id) })).map(
      (one) => one.source_id
    )
  )
  const conflicts = yield* assetConflicts(
    items.map((one) => one.serialised_item_id),
    { from: now, to: openEnd },
    now
  )
  const byId = new Map(packed_in.map((one) => [one.id, one]))
  return items.flatMap((item) => {
    const unit = units.get(item.serialised_item_id),
      container = byId.get(item.container_id)
    return unit === undefined || container === undefined
      ? []
      : [
          {
            container,
            item,
            unit,
            is_held: held_ids.has(item.id),
            conflicts: conflicts.filter(
              (demand) =>
                demand.asset_id === unit.id && (demand.source_type !== "container" || demand.source_id !== item.id)
            )
          }
        ]
  })
})

/** Event of the demand that holds a unit packed at `packed_at`. */
export const holdUnit = (
  container_id: number,
  item: Pick<ContainerItemRow, "id" | "product_id">,
  unit: StockLevelRow,
  packed_at: string,
  context: DecideContext
): NewEvent =>
  demandsReplaced(streamOf("container", container_id), "container", item.id, [
    {
      ...demandOfPackedUnit(
        { container_id, container_item_id: item.id, stock_level_id: unit.id, product_id: item.product_id, packed_at },
        unit.store_id
      ),
      id: context.id(demands)
    }
  ])
/** Event that deletes a packed unit's demand, so that it counts as general stock again. */
export const releaseUnit = (container_id: number, item_id: number): NewEvent =>
  demandsReplaced(streamOf("container", container_id), "container", item_id, [])

/**
 * Holds and releases packed units by the changed product of their cases, and sets the new mode on the units. 422 on
 * `field` if a unit to be held has another demand.
 */
export const syncHolds = (
  packed: ReadonlyArray<PackedUnit>,
  product: CaseProduct,
  field: string,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const events: Array<NewEvent> = []
  for (const { conflicts, container, is_held, item, unit } of packed) {
    const must_be_held = isPackedUnitHeld(product, item.product_id)
    if (must_be_held && !is_held) {
      if (conflicts.length > 0)
        return reject(
          field,
          `Unit ${unit.id}, packed in container ${container.id}, is claimed elsewhere; release it first.`
        )
      events.push(holdUnit(container.id, item, unit, context.happened_at, context))
    }
    if (!must_be_held && is_held) events.push(releaseUnit(container.id, item.id))
    if (container.serialised_item_id !== null) {
      events.push(...updatedEvents(stock_levels, unit, { container_mode: product.container_mode ?? "transport" }))
    }
  }
  return Result.succeed(events)
}
