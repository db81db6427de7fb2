/** Events of stocktakes, each in its stocktake's stream, so that scans and closing are serialised. */
import { Schema } from "effect"
import { eventType, insert, jsonObject, remove, rowMade, streamOf, update } from "../../kernel/index.ts"
import type { AnyEventType } from "../../kernel/index.ts"
import { stocktake_moves, stocktake_scans, stocktakes } from "./schema.ts"

export const stocktakeStarted = rowMade("stocktake.started", stocktakes, {
  meaning: "A count of a store's goods started."
})

/** Codes were scanned. `removed`: keys of scans that were removed. */
export const stocktakeScanned = eventType("stocktake.scanned", {
  meaning: "Codes were scanned into a stocktake, or taken back out of it.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      added: Schema.Array(
        Schema.Struct({
          key: Schema.String,
          code: Schema.String,
          stock_level_id: Schema.NullOr(Schema.Int),
          product_id: Schema.NullOr(Schema.Int),
          container_id: Schema.NullOr(Schema.Int),
          quantity: Schema.Int,
          counted_at: Schema.String,
          counted_by_user_id: Schema.NullOr(Schema.Int),
          note: Schema.NullOr(Schema.String)
        })
      ),
      removed: Schema.Array(Schema.String)
    }),
  project: ({ added, id, removed }) => [
    ...added.map((row) => insert(stocktake_scans, { ...row, stocktake_id: id })),
    ...removed.map((key) => remove(stocktake_scans, key))
  ]
})

export const stocktakeMoved = eventType("stocktake.moved", {
  meaning: "Counted goods left the store or came back on an order during a stocktake.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      moves: Schema.Array(
        Schema.Struct({ key: Schema.String, product_id: Schema.Int, quantity: Schema.Int, happened_at: Schema.String })
      )
    }),
  project: ({ id, moves }) => moves.map((row) => insert(stocktake_moves, { ...row, stocktake_id: id }))
})

/** A stocktake was closed. `lines`: all but units found in place, or out on orders and not scanned. */
export const stocktakeClosed = eventType("stocktake.closed", {
  meaning: "A stocktake was closed: its result, and what closing recorded in stock.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      closed_at: Schema.String,
      closed_by_user_id: Schema.NullOr(Schema.Int),
      missing_as: Schema.String,
      totals: jsonObject,
      lines: Schema.Array(jsonObject)
    }),
  project: ({ id, lines, ...set }, { recorded_at }) => [
    update(stocktakes, id, {
      ...set,
      missing_as: set.missing_as === "written_off" ? "written_off" : "lost",
      status: "closed",
      outcome: lines,
      updated_at: recorded_at
    })
  ],
  activity: ({ missing_as, totals }) => ({ old_values: { status: "open" }, new_values: { missing_as, ...totals } })
})

export const stocktakeCancelled = eventType("stocktake.cancelled", {
  meaning: "A stocktake was cancelled: nothing of it is recorded in stock.",
  data: () =>
    Schema.Struct({ id: Schema.Int, cancelled_at: Schema.String, cancelled_by_user_id: Schema.NullOr(Schema.Int) }),
  project: ({ id, ...set }, { recorded_at }) => [
    update(stocktakes, id, { ...set, status: "cancelled", updated_at: recorded_at })
  ],
  activity: () => ({ old_values: { status: "open" }, new_values: { status: "cancelled" } })
})

export const stocktakeEvents: ReadonlyArray<AnyEventType> = [
  stocktakeStarted,
  stocktakeScanned,
  stocktakeMoved,
  stocktakeClosed,
  stocktakeCancelled
]
export const stocktakeStream = (id: number): string => streamOf("stocktake", id)
