/** Tables and events of transfers between stores (rules/transfers). */
import { Schema } from "effect"
import { alterRow, choice, eventType, insertRow, integer, keyedColumns, longText, newRow } from "../../kernel/index.ts"
import { newRowWith, recordEvents, ref, remove, table, timestamp } from "../../kernel/index.ts"
import type { AnyEventType, NewRow, RowChange, RowOf } from "../../kernel/index.ts"

const transfer_statuses = { draft: "Draft", sent: "Sent", received: "Received", cancelled: "Cancelled" } as const
/** Statuses of transfers with goods still to arrive. */
export const under_way = ["draft", "sent"] as const

const visibility = { all_columns: ["stock.*"] }
const by = () => ref("users", { nullable: true, computed: true, on_delete: "keep" })
const at = () => timestamp({ nullable: true, computed: true })
const store = (describe: string) =>
  ref("stores", {
    required: true,
    describe,
    on_delete: "refuse",
    while: under_way.map((status) => ({ status })),
    otherwise: "keep",
    way_out: "receive or cancel the transfer first"
  })

export const transfers = table(
  "transfers",
  {
    from_store_id: store("Store that sends the goods"),
    to_store_id: store("Store that receives them"),
    opportunity_id: ref("opportunities", { nullable: true, on_delete: "keep", describe: "Order the goods are for" }),
    starts_at: timestamp({ required: true, describe: "Time the goods leave" }),
    arrives_at: timestamp({ nullable: true, describe: "Time the goods arrive; default: starts_at" }),
    ends_at: timestamp({ nullable: true, describe: "Time the goods go back; default: they stay" }),
    notes: longText({ nullable: true }),
    status: choice(transfer_statuses, { computed: true, default: "draft" }),
    /** The transfer whose goods this one brings home. */
    return_of_transfer_id: ref("transfers", { nullable: true, computed: true, on_delete: "keep" }),
    sent_at: at(),
    sent_by_user_id: by(),
    received_at: at(),
    received_by_user_id: by(),
    cancelled_at: at(),
    cancelled_by_user_id: by(),
    late_told_at: at()
  },
  {
    visibility,
    indexes: [["from_store_id", "status"], ["to_store_id", "status"], ["status", "arrives_at"], ["opportunity_id"]],
    lease_block_size: 10
  }
)
export type TransferRow = RowOf<typeof transfers>

/** Goods of a transfer: a unit, a case, or a quantity of a product. */
export const transfer_items = table(
  "transfer_items",
  {
    transfer_id: ref("transfers", { on_delete: "keep" }),
    product_id: ref("products", { nullable: true, on_delete: "keep", on_merge: "follow" }),
    stock_level_id: ref("stock_levels", { nullable: true, on_delete: "keep", on_merge: "follow" }),
    container_id: ref("containers", { nullable: true, on_delete: "keep" }),
    quantity: integer({ min: 1 }),
    sent_quantity: integer({ computed: true, default: 0 }),
    received_quantity: integer({ computed: true, default: 0 })
  },
  {
    ...{ entity: "transfer_item", visibility, is_detail: true },
    indexes: [["transfer_id"], ["stock_level_id"], ["product_id"]]
  }
)
/** A transfer, and an item of one, without their stamps. */
export type Plan = NewRow<typeof transfers>
export type Item = NewRow<typeof transfer_items>

const records = recordEvents(transfers)
export const { change: transferChange, stream: transferStream } = records

export const transferCreated = eventType("transfer.created", {
  meaning: "A transfer of goods between two stores was planned: all of its columns and items.",
  data: () => newRowWith(transfers, { items: Schema.Array(newRow(transfer_items)) }),
  project: ({ items, ...transfer }, { recorded_at }): ReadonlyArray<RowChange> => [
    insertRow(transfers, transfer, recorded_at),
    ...items.map((row) => insertRow(transfer_items, row, recorded_at))
  ],
  activity: ({ items, ...transfer }) => ({
    old_values: null,
    new_values: { ...records.shown(transfer), items: items.length }
  })
})
const moved = (type: string, meaning: string) =>
  records.changed(type, {
    meaning,
    more: () => ({
      items: Schema.Struct({
        added: Schema.Array(newRow(transfer_items)),
        altered: Schema.Array(keyedColumns(transfer_items)),
        removed: Schema.Array(Schema.Int)
      })
    }),
    rows: ({ items: { added, altered, removed } }, at) => [
      ...removed.map((id) => remove(transfer_items, id)),
      ...altered.map((row) => alterRow(transfer_items, row, at)),
      ...added.map((row) => insertRow(transfer_items, row, at))
    ]
  })
export const transferExtended = moved("transfer.extended", "Goods were added to a transfer that brings them home.")
export const transferSent = moved("transfer.sent", "Goods of a transfer left the store that sends them.")
export const transferReceived = moved("transfer.received", "Goods of a transfer arrived at the other store.")
export const transferCancelled = records.changed("transfer.cancelled", {
  meaning: "A transfer was cancelled: what has not arrived stays at, or goes back to, the store that sends it."
})
export const transferLate = records.changed("transfer.late", {
  meaning: "The day on which goods of a transfer should have arrived has ended. Recorded once."
})

export const transferEvents: ReadonlyArray<AnyEventType> = [
  transferCreated,
  transferExtended,
  transferSent,
  transferReceived,
  transferCancelled,
  transferLate
]
