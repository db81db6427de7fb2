/** Which packed units are taken out of general stock, and the demands that say so (rules/availability 8.5). */
import { Effect, Result } from "effect"
import { assetConflicts } from "../availability/assets-query.ts"
import { demandOfPackedUnit, isPackedUnitHeld } from "../availability/line-demands.ts"
import { demandsReplaced } from "../demands/events.ts"
import { type DemandRow, demands } from "../demands/schema.ts"
import type { DecideContext, Failure } from "../kernel/endpoint.ts"
import { type NewEvent, streamOf } from "../kernel/event.ts"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { invalidField, type Rejection } from "../kernel/rejection.ts"
import { Store } from "../kernel/store/store.ts"
import type { CaseProduct } from "../kits/case.ts"
import { type StockLevelRow, stock_levels } from "../stock/schema.ts"
import { openEnd } from "../values/time.ts"
import { type ContainerItemRow, type ContainerRow, container_items } from "../packing/schema.ts"

/** A unit packed in a container, with its own demand, if it has one, and those of others that stand in the way of one. */
export interface PackedUnit {
  readonly container: ContainerRow
  readonly item: ContainerItemRow
  readonly unit: StockLevelRow
  readonly is_held: boolean
  readonly conflicts: ReadonlyArray<DemandRow>
}

/** Everything packed in the containers given; from now on, others' demands on it. Four queries. */
export const loadPackedUnits = Effect.fnUntraced(function* (
  of: ReadonlyArray<ContainerRow>,
  now: string
): Effect.fn.Return<ReadonlyArray<PackedUnit>, Failure, Store> {
  if (of.length === 0) return []
  const store = yield* Store
  const items = yield* store.find(container_items, { container_id: of.map((one) => one.id), unpacked_at: null })
  const units = new Map(
    (yield* store.getMany(
      stock_levels,
      items.map((one) => one.serialised_item_id)
    )).map((unit) => [unit.id, unit])
  )
  const own = new Set(
    (yield* store.find(demands, { source_type: "container", source_id: items.map((one) => one.id) })).map(
      (one) => one.source_id
    )
  )
  const conflicts = yield* assetConflicts(
    items.map((one) => one.serialised_item_id),
    { from: now, to: openEnd },
    now
  )
  const byId = new Map(of.map((one) => [one.id, one]))
  return items.flatMap((item) => {
    const unit = units.get(item.serialised_item_id)
    return unit === undefined
      ? []
      : [
          {
            container: byId.get(item.container_id)!,
            item,
            unit,
            is_held: own.has(item.id),
            conflicts: conflicts.filter(
              (demand) =>
                demand.asset_id === unit.id && (demand.source_type !== "container" || demand.source_id !== item.id)
            )
          }
        ]
  })
})

/** The demand of a unit packed at `packed_at`. */
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
export const releaseUnit = (container_id: number, item_id: number): NewEvent =>
  demandsReplaced(streamOf("container", container_id), "container", item_id, [])

/**
 * What changes when the product of the cases does: units held that are no longer to be, and the other way round, from now
 * on. 422 on `field` when a unit to be held is claimed by somebody else.
 */
export const syncHolds = (
  packed: ReadonlyArray<PackedUnit>,
  product: CaseProduct,
  field: string,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const events: Array<NewEvent> = []
  for (const { conflicts, container, is_held, item, unit } of packed) {
    const shall = isPackedUnitHeld(product, item.product_id)
    if (shall && !is_held) {
      if (conflicts.length > 0)
        return Result.fail(
          invalidField(
            field,
            `Unit ${unit.id}, packed in container ${container.id}, is claimed elsewhere; release it first.`
          )
        )
      events.push(holdUnit(container.id, item, unit, context.now, context))
    }
    if (!shall && is_held) events.push(releaseUnit(container.id, item.id))
    if (container.serialised_item_id !== null) {
      const transferred = updatedEvent(stock_levels, unit, { container_mode: product.container_mode ?? "transport" })
      if (transferred !== undefined) events.push(transferred)
    }
  }
  return Result.succeed(events)
}
