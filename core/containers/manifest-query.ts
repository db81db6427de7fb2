/** Everything a manifest names, nested containers included: one round of queries per level of nesting. */
import { Effect } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import { Store } from "../kernel/store/store.ts"
import { type ComponentRow, product_components } from "../kits/schema.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { asset_assignments } from "../opportunities/units/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { backAloneAt } from "./back-alone.ts"
import type { ManifestResult, Names } from "./manifest.ts"
import {
  type ContainerItemRow,
  type ContainerRow,
  container_items,
  containers,
  live_statuses
} from "../packing/schema.ts"

export const loadManifest = Effect.fnUntraced(function* (
  root: ContainerRow
): Effect.fn.Return<{ readonly of: ManifestResult; readonly names: Names }, Failure, Store> {
  const store = yield* Store
  const all = [root]
  for (let level: ReadonlyArray<ContainerRow> = [root]; level.length > 0;) {
    const inside = yield* store.find(containers, {
      parent_container_id: level.map((one) => one.id),
      status: live_statuses
    })
    level = inside.filter((one) => !all.some((known) => known.id === one.id))
    all.push(...level)
  }
  const items = yield* store.find(container_items, { container_id: all.map((one) => one.id), unpacked_at: null })
  const cases = all.map((one) => one.product_id).filter((id) => id !== null)
  const components = yield* store.find(product_components, { product_id: cases }, { order: ["sort_order", "id"] })
  const caseProducts = new Map((yield* store.getMany(products, cases)).map((one) => [one.id, one]))
  const slotsOf = new Map(all.map((one) => [one.id, slotsFor(caseProducts.get(one.product_id ?? 0), components)]))
  const product_ids = [
    ...items.map((item) => item.product_id),
    ...[...slotsOf.values()].flat().map((slot) => slot.product_id)
  ]
  return {
    of: assembled(root, all, items, { back_alone: yield* backAlone(root, items), slotsOf }),
    names: {
      products: new Map((yield* store.getMany(products, product_ids)).map((one) => [one.id, one.name])),
      units: new Map(
        (yield* store.getMany(
          stock_levels,
          items.map((item) => item.serialised_item_id)
        )).map((one) => [one.id, one])
      )
    }
  }
})

const backAlone = Effect.fnUntraced(function* (
  root: ContainerRow,
  items: ReadonlyArray<ContainerItemRow>
): Effect.fn.Return<ReadonlyMap<number, string>, Failure, Store> {
  if (root.status !== "dispatched") return new Map()
  const stock_level_id = items.map((item) => item.serialised_item_id)
  const steps = yield* (yield* Store).find(asset_assignments, { stock_level_id, opportunity_id: root.opportunity_id })
  const stepsOf = Map.groupBy(steps, (one) => one.stock_level_id)
  return new Map(
    stock_level_id.flatMap((id) => {
      const at = backAloneAt(stepsOf.get(id) ?? [], root)
      return at === undefined ? [] : [[id, at] as const]
    })
  )
})

const slotsFor = (
  product: ProductRow | undefined,
  components: ReadonlyArray<ComponentRow>
): ManifestResult["slots"] => {
  const own = components.filter((one) => one.product_id === product?.id)
  const slots = product?.container_template?.slots ?? []
  return slots.length > 0
    ? slots.map((slot) => ({
        ...slot,
        binding: slot.binding ?? own.find((one) => one.component_product_id === slot.product_id)?.binding ?? null
      }))
    : own
        .filter((one) => one.binding === "fixed")
        .map((one) => ({ product_id: one.component_product_id, binding: one.binding, quantity: Number(one.quantity) }))
}

const assembled = (
  container: ContainerRow,
  all: ReadonlyArray<ContainerRow>,
  items: ReadonlyArray<ContainerItemRow>,
  known: Pick<ManifestResult, "back_alone"> & { readonly slotsOf: ReadonlyMap<number, ManifestResult["slots"]> }
): ManifestResult => ({
  container,
  back_alone: known.back_alone,
  items: items.filter((item) => item.container_id === container.id),
  slots: known.slotsOf.get(container.id) ?? [],
  nested: all.filter((one) => one.parent_container_id === container.id).map((one) => assembled(one, all, items, known))
})
