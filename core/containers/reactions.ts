/**
 * What containers do when other slices record events: when a case changes, the units packed in it are held or released
 * (rules/availability 8.5); packed units may not move to another store.
 */
import { Effect, Result } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { type Happened, reaction } from "../kernel/react.ts"
import { invalidField } from "../kernel/rejection.ts"
import { bindings, chunked, columnList } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { caseOf } from "../kits/case.ts"
import { type ComponentRow, product_components } from "../kits/schema.ts"
import { type ContainerRow, container_items, containers, live_statuses } from "../packing/schema.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { unitsBooked } from "./booking.ts"
import { type PackedUnit, loadPackedUnits, syncHolds } from "./stock-holds.ts"

const part_made = "component.created",
  part_changed = "component.updated",
  part_deleted = "component.deleted",
  product_changed = "product.updated"
/** Whether the event changes which packed units are held: another mode of the case, or other parts. */
const changesCase = ({ data, type }: NewEvent): boolean =>
  type !== product_changed || "container_availability_mode" in data
const namedIn = (events: ReadonlyArray<NewEvent>, types: ReadonlyArray<string>, key: string): ReadonlyArray<number> =>
  events.filter(({ type }) => types.includes(type)).map(({ data }) => Number(data[key]))

/**
 * Containers in use of the products whose parts or mode these events change. One query for every 500 products or parts.
 */
const containersOf = Effect.fnUntraced(function* (
  events: ReadonlyArray<NewEvent>
): Effect.fn.Return<ReadonlyArray<ContainerRow>, Failure, Store> {
  const store = yield* Store
  const found: Array<ContainerRow> = []
  const look = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, condition: (listed: string) => string) {
    for (const some of chunked([...new Set(ids)], 500)) {
      const bound = bindings(store.dialect)
      const rows = yield* store.run(
        `select ${columnList(containers)} from containers ` +
          `where status <> 'dissolved' and ${condition(some.map(bound.bind).join(", "))}`,
        bound.values
      )
      found.push(...rows.map((row) => store.decode(containers, row)))
    }
  })
  yield* look(
    [...namedIn(events, [part_made], "product_id"), ...namedIn(events, [product_changed], "id")],
    (listed) => `product_id in (${listed})`
  )
  yield* look(
    namedIn(events, [part_changed, part_deleted], "id"),
    (listed) => `product_id in (select product_id from product_components where id in (${listed}))`
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

/** The product as the events leave it. */
const changedProduct = (
  product: ProductRow,
  events: ReadonlyArray<NewEvent>
): Pick<ProductRow, "container_availability_mode"> =>
  events.reduce(
    (row, { data, type }) =>
      type === product_changed && data["id"] === row.id ? ({ ...row, ...data } as ProductRow) : row,
    product
  )
/** The parts of the product as the events leave them. */
const changedParts = (
  product_id: number,
  components: ReadonlyArray<ComponentRow>,
  events: ReadonlyArray<NewEvent>
): ReadonlyArray<ComponentRow> =>
  events
    .reduce(
      (rows, { data, type }) =>
        type === part_made
          ? [...rows, data as unknown as ComponentRow]
          : type === part_changed
            ? rows.map((row) => (row.id === data["id"] ? ({ ...row, ...data } as ComponentRow) : row))
            : type === part_deleted
              ? rows.filter((row) => row.id !== data["id"])
              : rows,
      components
    )
    .filter((row) => row.product_id === product_id)

/** The field of the command to report a refusal on. */
const fieldOf = (events: ReadonlyArray<NewEvent>): string =>
  events.some(({ type }) => type === part_deleted)
    ? "component"
    : events.some(({ type }) => type === product_changed)
      ? "availability_mode"
      : "binding"

/**
 * Another mode or other parts of a case: units packed in its containers are held (taken out of general stock) or
 * released. 422 on `binding`, `component` or `availability_mode` when a unit to be held has demands of somebody else.
 * The merge of two products is excepted: its own rule does the same for the merged case.
 */
export const casesChanged = reaction({
  on: [part_made, part_changed, part_deleted, product_changed],
  facts: ({ all, events }: Happened, { now }) =>
    Effect.gen(function* (): Effect.fn.Return<CaseFacts, Failure, Store> {
      const about = events.filter(changesCase)
      if (about.length === 0 || all.some(({ type }) => type === "product.merged")) return no_cases
      const found = yield* containersOf(about)
      if (found.length === 0) return no_cases
      const store = yield* Store
      const product_ids = [...new Set(found.flatMap(({ product_id }) => product_id ?? []))]
      return {
        packed: yield* loadPackedUnits(found, now),
        products: yield* store.getMany(products, product_ids),
        components: yield* store.find(product_components, { product_id: product_ids })
      }
    }),
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

/** A packed unit, or the case of a container in use, must stay at the store of the container: 422 `store_id`. */
export const unitsStay = reaction({
  on: ["stock_level.updated"],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const moved = events.filter(({ data }) => "store_id" in data).map(({ data }) => Number(data["id"]))
      if (moved.length === 0) return false
      const store = yield* Store
      return (
        (yield* store.exists(container_items, { serialised_item_id: moved, unpacked_at: null })) ||
        (yield* store.exists(containers, { serialised_item_id: moved, status: live_statuses }))
      )
    }),
  decide: (_happened, is_contained) =>
    is_contained
      ? Result.fail(
          invalidField("store_id", "The unit belongs to a container; unpack it or dissolve the container first.")
        )
      : Result.succeed([])
})

export const containerReactions = [unitsStay, casesChanged, unitsBooked]
