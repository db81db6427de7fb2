/**
 * Which packed units are held, that is taken out of general stock by a demand of their own (rules/availability 8.5).
 */
import { Effect, Result } from "effect"
import { assetConflicts } from "../../orders/availability/api/window.ts"
import { demandOfPackedUnit, isPackedUnitHeld } from "../../orders/availability/rules/line-demands.ts"
import { demandsReplaced } from "../../orders/demands/events.ts"
import { type DemandRow, demands } from "../../orders/demands/schema.ts"
import type { DecideContext, Failure } from "../../kernel/endpoints/endpoint.ts"
import { type NewEvent, streamOf } from "../../kernel/events/event-type.ts"
import { updatedEvent } from "../../kernel/endpoints/crud-resource.ts"
import { reject, type Rejection } from "../../kernel/fields/rejection.ts"
import { Store } from "../../kernel/store/store.ts"
import type { CaseProduct } from "../../products/kits/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { openEnd } from "../../values/time.ts"
import { container_items, type ContainerItemRow, type ContainerRow } from "../../products/packing.ts"

/** A unit packed in a container, whether packing holds it, and the demands of others that would prevent holding it. */
export interface PackedUnit {
  readonly container: ContainerRow
  readonly item: ContainerItemRow
  readonly unit: StockLevelRow
  readonly is_held: boolean
  readonly conflicts: ReadonlyArray<DemandRow>
}

/** Everything packed in these containers, with the demands of others on it from `now` on. Four queries. */
export const loadPackedUnits = Effect.fnUntraced(function* (
  packed_in: ReadonlyArray<ContainerRow>,
  now: string
): Effect.fn.Return<ReadonlyArray<PackedUnit>, Failure, Store> {
  if (packed_in.length === 0) return []
  const items = yield* Store.find(container_items, { container_id: packed_in.map((one) => one.id), unpacked_at: null })
  const units = new Map(
    (yield* Store.getMany(
      stock_levels,
      items.map((one) => one.serialised_item_id)
    )).map((unit) => [unit.id, unit])
  )
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

/** Records the demand that holds a unit packed at `packed_at`. */
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
/** Takes the demand of a packed unit away: it counts as general stock again. */
export const releaseUnit = (container_id: number, item_id: number): NewEvent =>
  demandsReplaced(streamOf("container", container_id), "container", item_id, [])

/**
 * Holds and releases packed units from now on, as the changed product of their cases says, and writes the new mode on
 * the units. 422 on `field` when a unit to be held has a demand of somebody else.
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
      const mode_changed = updatedEvent(stock_levels, unit, { container_mode: product.container_mode ?? "transport" })
      if (mode_changed !== undefined) events.push(mode_changed)
    }
  }
  return Result.succeed(events)
}
