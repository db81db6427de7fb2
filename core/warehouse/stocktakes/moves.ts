/** Bulk goods on orders: quantities out of a store, and movements while a stocktake of the store is open. */
import { Effect } from "effect"
import { lockStreams, Store } from "../../kernel/index.ts"
import type { DataOf, DecideContext, EventOf, Failure, NewEvent } from "../../kernel/index.ts"
import { demands } from "../../orders/demands/schema.ts"
import type { bulkReturned } from "../../orders/opportunities/events/lines.ts"
import { isClosed, opportunities, opportunity_items, type ItemRow } from "../../orders/opportunities/tables/index.ts"
import { stocktakeMoved, stocktakeStream } from "./events.ts"

/** Bulk quantities out on open orders from the store, by product. */
export const loadBulkOut = Effect.fnUntraced(function* (
  store_id: number
): Effect.fn.Return<ReadonlyMap<number, number>, Failure, Store> {
  const rows = yield* Store.pick(demands, ["product_id", "quantity", "opportunity_id", "source_id"], {
    store_id,
    out: true,
    asset_id: null,
    source_type: "opportunity_item"
  })
  const lines = new Map(
    (yield* Store.pickMany(
      opportunity_items,
      ["id", "quantity", "dispatched_quantity", "returned_quantity"],
      rows.map(({ source_id }) => source_id)
    )).map((line) => [line.id, line])
  )
  const open = new Set(
    (yield* Store.pickMany(
      opportunities,
      ["id", "state", "status", "deleted_at"],
      rows.flatMap(({ opportunity_id }) => opportunity_id ?? [])
    ))
      .filter((one) => one.deleted_at === null && !isClosed(one))
      .map(({ id }) => id)
  )
  const out = new Map<number, number>()
  for (const row of rows) {
    const line = lines.get(row.source_id)
    if (line === undefined || !open.has(row.opportunity_id ?? 0)) continue
    const pieces = shareOf(row.quantity, line, Number(line.dispatched_quantity) - Number(line.returned_quantity))
    out.set(row.product_id, (out.get(row.product_id) ?? 0) + pieces)
  }
  return out
})
/** Pieces of a demanded product for a quantity of the line's product, as kits may have several of a part. */
const shareOf = (
  demanded: number,
  line: { readonly quantity: string; readonly returned_quantity: string },
  moved: number
): number => {
  const left = Number(line.quantity) - Number(line.returned_quantity)
  return left <= 0 ? moved : Math.ceil((demanded * moved) / left - 1e-6)
}

/** Quantity that an event moves out of the store (positive) or back (negative). */
const movedBy = (data: { readonly set: object; readonly was: object }): number => {
  const by = (column: string): number => numberIn(data.set, column) - numberIn(data.was, column)
  return by("dispatched_quantity") - by("returned_quantity")
}
/** Quantities of the line before the event, which distinguish movements of one instant. */
const progressOf = (line: ItemRow | undefined): ReadonlyArray<string> =>
  line === undefined ? [] : [line.dispatched_quantity, line.returned_quantity]
const numberIn = (columns: object, name: string): number =>
  Number(Object.entries(columns).find(([column]) => column === name)?.[1] ?? 0)

type LineMoved = EventOf<DataOf<typeof bulkReturned>>
/** Facts about moved lines before their events; locks open stocktakes. */
export const loadMoved = Effect.fnUntraced(function* (
  open: ReadonlyArray<{ readonly id: number; readonly store_id: number }>,
  events: ReadonlyArray<LineMoved>
) {
  yield* lockStreams(open.map(({ id }) => stocktakeStream(id)))
  const source_id = events.map(({ data }) => data.item_id)
  const claimed = { source_type: "opportunity_item", source_id, asset_id: null }
  return {
    open,
    claims: yield* Store.pick(demands, ["product_id", "store_id", "quantity", "source_id"], claimed),
    lines: yield* Store.getMany(opportunity_items, source_id)
  }
})
/** One event for each open stocktake of stores with moved goods. */
export const recordMoved = (
  events: ReadonlyArray<LineMoved>,
  { claims, lines, open }: Effect.Success<ReturnType<typeof loadMoved>>,
  { happened_at }: DecideContext
): ReadonlyArray<NewEvent> =>
  open.flatMap(({ id, store_id }) => {
    const moves = events.flatMap(({ data }, at) => {
      const line = lines.find((one) => one.id === data.item_id)
      const moved = movedBy(data)
      return claims
        .filter((one) => one.source_id === data.item_id && one.store_id === store_id)
        .map((claim) => ({
          key: [id, data.item_id, claim.product_id, happened_at, at, ...progressOf(line)].join("/"),
          product_id: claim.product_id,
          quantity: line === undefined ? moved : Math.sign(moved) * shareOf(claim.quantity, line, Math.abs(moved)),
          happened_at
        }))
    })
    return moves.length === 0 ? [] : [stocktakeMoved.make({ id, moves })]
  })
