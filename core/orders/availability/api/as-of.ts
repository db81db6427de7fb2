/**
 * Availability as known at an earlier time: events recorded by then are projected again, in memory. Reads only the
 * streams of the requested products (the product, its parts, stock levels, cases, and every opportunity, container and
 * transfer that ever demanded or brought it), so the cost grows with their history. Buffers, kits and stock are as of
 * that time; the store's time zone and the settings are today's.
 */
import { chunked, CommandRuntime, foldStored, invalidField, journal, redacted_event } from "../../../kernel/index.ts"
import { Store, streamOf, type AnyRow, type Catalogue, type JsonObject, type RowChange } from "../../../kernel/index.ts"
import { type RowOf, type StoredEvent, type Table, type Where } from "../../../kernel/index.ts"
import { Effect } from "effect"
import { demands, demandsEvents, product_streams, stock_places, supplies } from "../../demands/schema.ts"
import { container_items, containers } from "../../../products/packing.ts"
import { kitDepthIn, kitPartOf, product_components } from "../../../products/kits/schema.ts"
import { products } from "../../../products/products/schema.ts"
import { blocksUninspected, stock_levels } from "../../../products/stock/schema.ts"
import type { StoreRow } from "../../../setup/stores.ts"
import type { AvailabilitySnapshot, PackedItem, SnapshotEntries } from "../rules/snapshot.ts"
import { snapshotOf, withProducts } from "../rules/snapshot.ts"
import { horizonIn, resolutionIn, type SnapshotContext, stockLevelOf, supplyAsStock } from "../facts/load.ts"
import { stockedProducts } from "../facts/load-products.ts"

// Projects events onto in-memory tables, for queries about an earlier time.

interface ProjectedTables {
  /** Rows of one of the tables, in the order they were first written. */
  readonly rows: <T extends Table>(table: T) => ReadonlyArray<RowOf<T>>
}

/** Projects events, in order, onto these tables; changes of other tables are ignored. */
export const projectInMemory = (
  catalogue: Pick<Catalogue, "events" | "projection">,
  tables: ReadonlyArray<Table>,
  events: ReadonlyArray<StoredEvent>
): ProjectedTables => {
  const by_table = new Map<string, Map<unknown, AnyRow>>(tables.map((table) => [table.name, new Map()]))
  for (const event of events) {
    for (const change of foldStored(catalogue, event, event)) {
      const rows = by_table.get(change.table.name)
      if (rows !== undefined) carryOut(rows, change)
    }
  }
  // Safe: rows of a table come from the table's own projections.
  return {
    rows: <T extends Table>(table: T) =>
      [...(by_table.get(table.name)?.values() ?? [])] as ReadonlyArray<unknown> as ReadonlyArray<RowOf<T>>
  }
}

const carryOut = (rows: Map<unknown, AnyRow>, change: RowChange): void => {
  const key = change.table.key
  switch (change.op) {
    case "insert":
      rows.set(change.row[key], { ...defaultsOf(change.table), ...change.row })
      return
    case "update": {
      const row = rows.get(change.key)
      if (row !== undefined) rows.set(change.key, { ...row, ...change.set })
      return
    }
    case "delete":
      rows.delete(change.key)
      return
    case "update_where":
      for (const [at, row] of rows) if (meets(row, change.where)) rows.set(at, { ...row, ...change.set })
      return
    case "delete_where":
      for (const [at, row] of rows) if (meets(row, change.where)) rows.delete(at)
  }
}

const defaultsOf = (table: Table): AnyRow =>
  Object.fromEntries(Object.entries(table.columns).map(([name, field]) => [name, field.default ?? null]))

const meets = (row: AnyRow, where: Where): boolean =>
  Object.entries(where).every(([column, wanted]) => {
    const value = row[column] ?? null
    return Array.isArray(wanted) ? wanted.includes(value) : value === wanted
  })

/**
 * The snapshot of a store at `as_of` (ISO 8601), for these products and their parts of that time. 422 on `as_of` in the
 * future, or before the first event of the journal.
 */
export const snapshotAsOf = Effect.fnUntraced(function* (
  store_row: StoreRow,
  product_ids: ReadonlyArray<number>,
  as_of: string,
  { now, settings }: SnapshotContext,
  with_names = false
): CommandRuntime.Reads<AvailabilitySnapshot> {
  const tables = yield* tablesAsOf(product_ids, yield* positionAt(as_of, now))
  const entries = entriesOf(tables, store_row.id)
  return withProducts(
    snapshotOf({
      store: store_row,
      resolution: resolutionIn(settings),
      now: as_of,
      horizon: horizonIn(settings),
      kit_nesting_max_depth: kitDepthIn(settings),
      blocks_uninspected: blocksUninspected(settings),
      ...entries,
      opportunities: with_names ? yield* opportunityNames(entries) : undefined
    }),
    productsKnownAt(tables, store_row.id)
  )
})

/** Today's subjects and numbers of the opportunities with these demands. */
const opportunityNames = Effect.fnUntraced(function* ({ demands: rows }: Pick<SnapshotEntries, "demands">) {
  const ids = [...new Set(rows.map((row) => row.opportunity_id).filter((id) => id !== null))]
  const table = (yield* CommandRuntime).catalogue.table("opportunities")
  const found: ReadonlyArray<AnyRow> = yield* Store.pickMany(table, ["id", "subject", "number"], ids)
  return new Map(
    found.map((row) => [
      Number(row["id"]),
      { subject: row["subject"] as string | null, number: row["number"] as string | null }
    ])
  )
})

const liveProducts = (tables: ProjectedTables): ReadonlySet<number> =>
  new Set(
    tables
      .rows(products)
      .filter((row) => row.deleted_at === null)
      .map((row) => row.id)
  )

/** Entries of a store's snapshot; a product deleted by then counts as zero. */
const entriesOf = (
  tables: ProjectedTables,
  store_id: number
): Pick<SnapshotEntries, "demands" | "stock" | "products" | "containers"> => {
  const live = liveProducts(tables)
  const parts = Map.groupBy(
    tables
      .rows(product_components)
      .filter((row) => live.has(row.component_product_id))
      .sort((one, other) => one.sort_order - other.sort_order || one.id - other.id),
    (row) => row.product_id
  )
  return {
    demands: tables.rows(demands).filter((row) => live.has(row.product_id)),
    stock: [...tables.rows(stock_levels).map(stockLevelOf), ...tables.rows(supplies).map(supplyAsStock)].filter((row) =>
      live.has(row.product_id)
    ),
    products: tables.rows(products).map((row) => stockedProducts.from(row, (parts.get(row.id) ?? []).map(kitPartOf))),
    containers: tables
      .rows(containers)
      .filter((one) => one.status !== "dissolved" && (one.store_id === null || one.store_id === store_id))
      .map((one) => ({
        id: one.id,
        product_id: one.product_id,
        housing_id: one.serialised_item_id,
        items: packedItemsOf(tables, one.id)
      }))
  }
}

const packedItemsOf = (tables: ProjectedTables, container_id: number): ReadonlyArray<PackedItem> =>
  tables
    .rows(container_items)
    .filter((item) => item.container_id === container_id)
    .map((item) => ({
      container_item_id: item.id,
      stock_level_id: item.serialised_item_id,
      product_id: item.product_id,
      packed_at: item.packed_at,
      unpacked_at: item.unpacked_at
    }))

/** Live products of which the store had stock by then. */
const productsKnownAt = (tables: ProjectedTables, store_id: number): ReadonlyArray<number> => {
  const live = liveProducts(tables)
  const places = tables.rows(stock_places)
  const productOf = new Map(
    places.flatMap((one) => (one.product_id === null ? [] : [[one.stock_level_id, one.product_id] as const]))
  )
  return places
    .flatMap((one) => (one.store_id === store_id ? (productOf.get(one.stock_level_id) ?? []) : []))
    .filter((id) => live.has(id))
}

/** Position of the last event recorded by then. */
const positionAt = Effect.fnUntraced(function* (as_of: string, now: string): Store.Reads<number> {
  if (as_of > now) return yield* invalidField("as_of", "The as of field must not be in the future.")
  const { sql } = yield* Store
  const [last] = yield* sql<{ position: number }>`
    select position from journal where recorded_at <= ${as_of} order by recorded_at desc, position desc limit 1`
  if (last !== undefined) return Number(last.position)
  const first = yield* Store.first(journal, {}, { order: ["position"] })
  const begins = first === undefined ? "is empty" : `begins at ${first.recorded_at}`
  return yield* invalidField("as_of", `The journal ${begins}: what was believed before is not on record.`)
})

/** Events that add or change parts, or merge products. They are read first, to find all products involved. */
const composition_types = ["product.merged", "component.created", "component.updated"]
/** Types of the events that change the tables of a snapshot. */
export const stock_event_types = [
  ...composition_types,
  "component.deleted",
  "product.created",
  "product.updated",
  "product.deleted",
  "stock_level.created",
  "stock_level.updated",
  "stock_level.deleted",
  "stock_level.merged",
  ...demandsEvents.map(({ type }) => type),
  "container.created",
  "container.updated",
  "container.deleted",
  "container.sealed",
  "container.unsealed",
  "container.dissolved",
  "container.dispatched",
  "container.returned",
  "container.repack.started",
  "container.item.packed",
  "container.item.unpacked"
]

/** Finds the products' parts and the products merged into them, then projects the events of all of them in order. */
const tablesAsOf = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  position: number
): CommandRuntime.Reads<ProjectedTables> {
  const store = yield* Store
  const { catalogue } = yield* CommandRuntime
  const streams = new Set<string>()
  const visited = new Set<number>()
  for (let next = [...new Set(product_ids)]; next.length > 0;) {
    next.forEach((id) => visited.add(id))
    const recorded = (yield* Effect.forEach(chunked(next, at_once_max), (some) =>
      store.find(product_streams, { product_id: [...some] })
    )).flat()
    const found = [...recorded.map((row) => row.stream), ...next.map((id) => streamOf("product", id))]
    found.forEach((stream) => streams.add(stream))
    const composing = yield* eventsOf(
      found.filter((stream) => /^(product|component):/.test(stream)),
      composition_types,
      position
    )
    const related = composing
      .flatMap(({ data }) => [data["component_product_id"], data["secondary_id"], ...productsInChanges(data)])
      .filter((id) => typeof id === "number")
    next = [...new Set(related)].filter((id) => !visited.has(id))
  }
  const events = yield* eventsOf([...streams], stock_event_types, position)
  return projectInMemory(
    catalogue,
    [products, product_components, stock_levels, stock_places, demands, supplies, containers, container_items],
    events
  )
})

/** Products named by the row changes of a redacted event. */
const productsInChanges = ({ changes }: JsonObject): ReadonlyArray<unknown> =>
  !Array.isArray(changes)
    ? []
    : changes.flatMap(({ row, set, where }: { readonly [part: string]: JsonObject | undefined }) => [
        row?.["component_product_id"],
        set?.["component_product_id"],
        where?.["product_id"]
      ])

/** Maximum of products or streams in one statement. */
const at_once_max = 500
/** Events of these streams and types up to a position, in order. */
const eventsOf = Effect.fnUntraced(function* (
  streams: ReadonlyArray<string>,
  types: ReadonlyArray<string>,
  position: number
): Store.Reads<ReadonlyArray<StoredEvent>> {
  const found = yield* Effect.forEach(chunked(streams, at_once_max), (some) =>
    Store.select(
      journal,
      (sql) => sql`where stream in ${sql.in(some)} and position <= ${position}
      and type in ${sql.in([...types, redacted_event])}`
    )
  )
  return found.flat().sort((one, other) => one.position - other.position)
})
