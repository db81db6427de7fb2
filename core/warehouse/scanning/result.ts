/** Result of a scan, as in its answer. */
import { boolean, choice, integer, text } from "../../kernel/fields/field.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { dispatch_meta_fields } from "../../orders/opportunities/state/progress.ts"

export const directions = { out: "Out", in: "In" } as const

/** The scanned row, and the action taken. */
export const scanned_fields = {
  direction: choice(directions),
  kind: choice({ unit: "Unit", bulk: "Bulk", container: "Container" }),
  code: text(),
  /** Its name in messages. */
  name: text(),
  opportunity_id: integer({ nullable: true }),
  opportunity_item_id: integer({ nullable: true }),
  stock_level_id: integer({ nullable: true }),
  container_id: integer({ nullable: true }),
  product_id: integer({ nullable: true }),
  /** Pieces that moved: 1 for a unit, all that is in it for a case. */
  quantity: integer(),
  /** The kit that the unit goes or comes back with, where it is a part of one. */
  part_of: text({ nullable: true }),
  /** The unit it replaces on the order: one that was allocated and cannot go. */
  in_place_of: text({ nullable: true }),
  /** It had come back from this order already, and goes out on it again. */
  is_out_again: boolean(),
  /** `left`: what it was the last one of stays as an open, empty case, or is dissolved; null while more is in it. */
  taken_out_of: Shown.objects({
    container_id: integer(),
    name: text(),
    seal_broken: boolean(),
    left: choice({ empty: "Empty", dissolved: "Dissolved" }, { nullable: true })
  })
}
const scannedSchema = Shown.keys(scanned_fields)
export type Scanned = typeof scannedSchema.Type
export const scanResult = Shown.keys({
  id: integer(),
  scanned: scannedSchema,
  _meta: Shown.keys(dispatch_meta_fields, { nullable: true })
})

/**
 * Pieces of an order: how many it asks for, and how many of them are packed, have gone out and are back; `lost` are
 * those of `back` that were checked in as missing and have not been found since.
 */
export const count_fields = {
  asked: integer(),
  packed: integer(),
  out: integer(),
  back: integer(),
  lost: integer(),
  to_go: integer()
}
