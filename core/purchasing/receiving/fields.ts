/** Fields of requests about deliveries and returns (rules/billing 2.3). */
import { decimal, integer, list, longText, object, text, timestamp, type ValuesOf } from "../../kernel/fields/field.ts"
import type { DemandRow } from "../../orders/demands/schema.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import type { PurchaseOrderRow } from "../schema.ts"

const most = "1000000000"
const row = { nullable: true, names: "purchase_order_items" } as const
const named = {
  item_id: integer({ ...row, describe: "A row of this order" }),
  purchase_order_item_id: integer({ ...row, describe: "As item_id" })
}
const serial_numbers = list(text({ max: 255 }), {
  nullable: true,
  max_items: 5_000,
  describe: "Of serialised products: one for each piece, or none at all"
})
const notes = longText({ nullable: true, max: 1_000 })
const about = {
  reference: text({ nullable: true, describe: "The delivery note" }),
  notes: longText({ nullable: true, max: 5_000 })
}
export const receiveFields = {
  lines: list(
    object({
      ...named,
      quantity: decimal({ scale: 2, min: "0.01", max: most, required: true }),
      serial_numbers,
      notes
    }),
    { required: true, min_items: 1, max_items: 1_000 }
  ),
  received_at: timestamp({ nullable: true, describe: "Now unless given; not in the future" }),
  ...about
}
export type ReceiveValues = Partial<ValuesOf<typeof receiveFields>>
export type ReceivedLine = ValuesOf<typeof receiveFields>["lines"] extends ReadonlyArray<infer L> ? Partial<L> : never

export const returnFields = {
  lines: list(
    object({
      ...named,
      quantity: decimal({
        scale: 2,
        min: "0.01",
        max: most,
        nullable: true,
        describe: "All that is here unless given"
      }),
      serial_numbers: list(text({ max: 255 }), {
        nullable: true,
        max_items: 5_000,
        describe: "The units that go back"
      }),
      stock_level_ids: list(integer({ names: "stock_levels" }), {
        nullable: true,
        max_items: 5_000,
        describe: "The units that go back, where they have no serial number"
      }),
      notes
    }),
    { nullable: true, min_items: 1, max_items: 1_000, describe: "Without lines all that is here goes back" }
  ),
  returned_at: timestamp({ nullable: true, describe: "Now unless given; not in the future" }),
  ...about
}
export type ReturnValues = Partial<ValuesOf<typeof returnFields>>
export type ReturnedLine = NonNullable<ReturnValues["lines"]>[number]

// Claims on a unit that is to be returned to its supplier.

/** Somebody has a unit, or will have it, from now on. */
export interface UnitClaim {
  readonly demand: DemandRow
  /** Who, in words. */
  readonly job: string
}
/** As refusals name an order. */
export const orderName = ({ id, number }: Pick<PurchaseOrderRow, "id" | "number">): string =>
  `Purchase order ${number ?? id}`
export const unitName = ({ id, serial_number }: Pick<StockLevelRow, "id" | "serial_number">): string =>
  serial_number === null ? `Unit ${id}` : `Unit ${serial_number}`
export const claimText = ({ demand, job }: UnitClaim): string =>
  demand.out
    ? `is out on hire with ${job}; check it in first.`
    : `is allocated to ${job} from ${demand.starts_at} to ${demand.ends_at}; release it there first.`
