/** The last sighting of units: when, where and by whom they were last scanned, of all kinds of scans. */
import { Effect } from "effect"
import { chunked, columnsSeen, Store } from "../../kernel/index.ts"
import type { AnyRow, Failure, Table, ViewContext, Viewer } from "../../kernel/index.ts"
import { asset_assignments } from "../../orders/opportunities/tables/index.ts"
import { container_items } from "../../products/packing.ts"
import { stock_transactions } from "../../products/stock/schema.ts"
import { inspections } from "../inspections/schema.ts"
import { transfers } from "../transfers/schema.ts"
import { type last_seen_shown, stocktake_scans, stocktakes } from "./schema.ts"

/** Source of ledger lines of transfers. */
const ledger_source = "Transfer"
const idOf = (row: AnyRow): number => Number(row["id"])

type LastSeen = NonNullable<typeof last_seen_shown.Type>
/** API representation of the last sighting of each stock level. */
export const showLastSeen = (rows: ReadonlyArray<AnyRow>, { viewer }: Pick<ViewContext, "viewer">) =>
  Effect.map(loadLastSeen(rows.map(idOf), viewer), (seen) => (row: AnyRow) => {
    const last = seen.get(idOf(row))
    return last === undefined ? null : { ...last }
  })
/** The value of a column that the viewer may see, else null, as on a device. */
const visible =
  (table: Table, viewer: Viewer) =>
  <R extends object, K extends keyof R & string>(row: R, column: K): R[K] | null =>
    columnsSeen(table, viewer)(column) ? row[column] : null
/**
 * Last sighting by stock level, from the columns that the viewer may see; units never seen are absent. Seven
 * queries per 5,000 units.
 */
const loadLastSeen = Effect.fnUntraced(function* (
  level_ids: ReadonlyArray<number>,
  viewer: Viewer
): Effect.fn.Return<ReadonlyMap<number, LastSeen>, Failure, Store> {
  const seen = new Map<number, LastSeen>()
  const nowhere = {
    ...{ store_id: null, opportunity_id: null, container_id: null, stocktake_id: null, transfer_id: null },
    by_user_id: null
  }
  const see = (id: Sighting[0], at: Sighting[1], what: Sighting[2]): void => {
    if (at !== null && at > (seen.get(id)?.at ?? "")) seen.set(id, { ...nowhere, at, ...what })
  }
  for (const ids of chunked(level_ids, 5_000)) {
    const steps = yield* Store.pick(
      asset_assignments,
      ["stock_level_id", "opportunity_id", "dispatched_at", "returned_at"],
      { stock_level_id: ids }
    )
    const step = visible(asset_assignments, viewer)
    for (const one of steps) {
      const opportunity_id = step(one, "opportunity_id")
      see(one.stock_level_id, step(one, "dispatched_at"), { as: "dispatched", opportunity_id })
      see(one.stock_level_id, step(one, "returned_at"), { as: "returned", opportunity_id })
    }
    const packings = yield* Store.pick(
      container_items,
      ["serialised_item_id", "container_id", "packed_at", "packed_by_user_id", "repacked_at", "verified_at"],
      { serialised_item_id: ids }
    )
    const packing = visible(container_items, viewer)
    for (const one of packings) {
      const [container_id, by_user_id] = [packing(one, "container_id"), packing(one, "packed_by_user_id")]
      see(one.serialised_item_id, packing(one, "packed_at"), { as: "packed", container_id, by_user_id })
      for (const column of ["repacked_at", "verified_at"] as const)
        see(one.serialised_item_id, packing(one, column), { as: "packed", container_id })
    }
    const scans = yield* Store.find(stocktake_scans, { stock_level_id: ids })
    const takes = new Map(
      (yield* Store.pickMany(
        stocktakes,
        ["id", "store_id"],
        scans.map(({ stocktake_id }) => stocktake_id)
      )).map(({ id, store_id }) => [id, store_id])
    )
    for (const { counted_at, counted_by_user_id: by_user_id, stock_level_id, stocktake_id } of scans)
      see(stock_level_id ?? 0, counted_at, {
        as: "counted",
        stocktake_id,
        by_user_id,
        store_id: takes.get(stocktake_id) ?? null
      })
    for (const [id, at, what] of yield* movedOrInspected(ids)) see(id, at, what)
  }
  return seen
})

type Sighting = readonly [id: number, at: string | null, what: Partial<LastSeen> & Pick<LastSeen, "as">]
/** Sightings at the docks of transfers and by inspections. */
const movedOrInspected = Effect.fnUntraced(function* (
  stock_level_id: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<Sighting>> {
  const moves = yield* Store.pick(
    stock_transactions,
    ["stock_level_id", "store_id", "source_id", "transaction_at", "quantity_move"],
    { stock_level_id, source_type: ledger_source },
    // Newest first, as goods received before they are recorded as sent leave and arrive at one time.
    { order: ["-id"] }
  )
  const moved = yield* Store.pickMany(
    transfers,
    ["id", "from_store_id", "sent_at", "sent_by_user_id", "received_at", "received_by_user_id"],
    moves.flatMap(({ source_id }) => source_id ?? [])
  )
  const transfer_of = new Map<number | null, (typeof moved)[number]>(moved.map((one) => [one.id, one]))
  const inspected = yield* Store.pick(inspections, ["stock_level_id", "inspected_at", "created_by_user_id"], {
    stock_level_id
  })
  return [
    ...moves.flatMap(({ quantity_move, source_id: transfer_id, store_id, transaction_at: at, ...one }) => {
      const transfer = transfer_of.get(transfer_id)
      const is_in = Number(quantity_move) > 0
      // Cancelling a transfer is no scan.
      if (is_in && store_id === transfer?.from_store_id) return []
      const known = is_in ? transfer?.received_at === at : transfer?.sent_at === at
      const by_user_id = (is_in ? transfer?.received_by_user_id : transfer?.sent_by_user_id) ?? null
      const what = {
        as: is_in ? "received" : "sent",
        store_id,
        transfer_id,
        by_user_id: known ? by_user_id : null
      } as const
      return [[one.stock_level_id, at, what] satisfies Sighting]
    }),
    ...inspected.map(({ created_by_user_id: by_user_id, inspected_at, stock_level_id: id }): Sighting => {
      return [id, inspected_at, { as: "inspected", by_user_id }]
    })
  ]
})
