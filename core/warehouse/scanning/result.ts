/** Result of a scan in responses. */
import { boolean, choice, integer, Shown, text } from "../../kernel/index.ts"
import { dispatch_meta_fields } from "../../orders/opportunities/state/index.ts"

export const directions = { out: "Out", in: "In" } as const

/** Scanned row, and the action taken. */
export const scanned_fields = {
  direction: choice(directions),
  kind: choice({ unit: "Unit", bulk: "Bulk", container: "Container" }),
  code: text(),
  name: text(),
  opportunity_id: integer({ nullable: true }),
  opportunity_item_id: integer({ nullable: true }),
  stock_level_id: integer({ nullable: true }),
  container_id: integer({ nullable: true }),
  product_id: integer({ nullable: true }),
  /** Moved pieces: 1 for a unit or kit, the units in a box, or the quantity of a bulk product. */
  quantity: integer(),
  /** Name of the line whose kit the unit is a part of; null if the line is for the unit's own product. */
  part_of: text({ nullable: true }),
  /** Allocated unit that could not be dispatched and was replaced by this one. */
  in_place_of: text({ nullable: true }),
  /** Whether a unit that was returned from this order was dispatched on it again. */
  is_out_again: boolean(),
  /**
   * Container the unit was taken out of, and sealed ones around it. `left`: `empty` or `dissolved` if nothing is left
   * inside; else null.
   */
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
  warnings: Shown.list(text()),
  _meta: Shown.keys(dispatch_meta_fields, { nullable: true })
})

/**
 * Pieces of an order: requested, packed, dispatched, returned and still to dispatch. `lost`: pieces of `back` that were
 * checked in as missing and not found since.
 */
export const count_fields = {
  asked: integer(),
  packed: integer(),
  out: integer(),
  back: integer(),
  lost: integer(),
  to_go: integer()
}
