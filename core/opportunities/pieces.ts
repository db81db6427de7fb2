/** How far an opportunity is: pieces it asks for, packed, gone and back. Worked out here alone, whoever shows it. */
import { Effect } from "effect"
import { loadStockedProducts } from "../availability/load-products.ts"
import { kitDepthIn } from "../kits/settings.ts"
import type { Failure } from "../kernel/failure.ts"
import type { Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { stock_levels } from "../stock/schema.ts"
import { exact } from "../values/decimal.ts"
import { stockedProductOf } from "./aggregate.ts"
import { type ItemRow, opportunity_items } from "./lines/schema.ts"
import { partsOfLine } from "./units/parts.ts"
import { type AssignmentRow, asset_assignments, checked_in, dispatched, prepared } from "./units/schema.ts"

/** Pieces of one line. `packed` is prepared or further, and `gone` has left, whether it is back or not. */
export interface LinePieces {
  readonly wanted: number
  readonly packed: number
  readonly gone: number
  readonly back: number
}
/** Pieces of an opportunity; `out` is out now. */
export interface Pieces {
  readonly wanted: number
  readonly packed: number
  readonly out: number
  readonly back: number
}
export interface CountedLine {
  readonly line: Pick<ItemRow, "item_id" | "quantity" | "dispatched_quantity" | "returned_quantity">
  readonly units: ReadonlyArray<Pick<AssignmentRow, "status"> & { readonly product_id: number }>
  readonly is_serialised: boolean
  /** Units of each serialised part that one kit takes. */
  readonly parts: ReadonlyMap<number, number>
}

/**
 * Units are counted one by one, anything else by its quantity. A kit is one piece: packed, gone or back as all of its
 * serialised parts are, where nobody counted it.
 */
export const piecesOfLine = ({ is_serialised, line, parts, units }: CountedLine): LinePieces => {
  const has = (product_id: number, status: number): number =>
    units.filter((unit) => unit.product_id === product_id && unit.status >= status).length
  const of = (status: number): number =>
    is_serialised
      ? has(line.item_id ?? 0, status)
      : parts.size === 0
        ? 0
        : Math.min(...[...parts].map(([product_id, per_kit]) => Math.floor(has(product_id, status) / per_kit)))
  const counted = (quantity: string): number => (is_serialised ? 0 : Number(quantity))
  const wanted = Number(line.quantity)
  // One that went in the place of a damaged one is the same piece of the line.
  const exchanged = is_serialised ? Math.max(0, of(dispatched) - Math.ceil(wanted)) : 0
  const gone = Math.max(counted(line.dispatched_quantity), of(dispatched) - exchanged)
  return {
    wanted,
    packed: Math.max(gone, of(prepared) - exchanged),
    gone,
    back: Math.max(counted(line.returned_quantity), of(checked_in) - exchanged, 0)
  }
}

/** Of several lines; what was packed beyond what is wanted is not told. */
export const sumOfPieces = (lines: ReadonlyArray<LinePieces>): Pieces =>
  lines.reduce(
    (sum, { back, gone, packed, wanted }) => ({
      wanted: exact(sum.wanted).plus(wanted).toNumber(),
      packed: exact(sum.packed).plus(Math.min(wanted, packed)).toNumber(),
      out: exact(sum.out).plus(gone).minus(back).toNumber(),
      back: exact(sum.back).plus(back).toNumber()
    }),
    { wanted: 0, packed: 0, out: 0, back: 0 }
  )

/** Lines of this type are work, not goods. */
export const service = 2

/** What is counted by. */
const line_columns = [
  ...(["id", "opportunity_id", "item_type", "item_id", "transaction_type"] as const),
  ...(["quantity", "dispatched_quantity", "returned_quantity"] as const)
]
const unit_columns = ["opportunity_item_id", "stock_level_id", "status"] as const

interface LoadedPieces extends LinePieces {
  readonly opportunity_item_id: number
}
/** The pieces of each live line with goods, by opportunity: five queries, however many there are. */
export const loadLinePieces = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  settings: Settings
): Effect.fn.Return<(id: number) => ReadonlyArray<LoadedPieces>, Failure, Store> {
  const opportunity_id = [...new Set(ids)]
  if (opportunity_id.length === 0) return () => []
  const store = yield* Store
  const lines = (yield* store.pick(opportunity_items, line_columns, { opportunity_id, is_live: true })).filter(
    (line) => line.transaction_type !== service && stockedProductOf(line) !== null
  )
  const units = yield* store.pick(asset_assignments, unit_columns, { opportunity_id })
  const stock_level_ids = units.map((unit) => unit.stock_level_id)
  const levels = new Map(
    (yield* store.pickMany(stock_levels, ["id", "product_id"], stock_level_ids)).map((level) => [level.id, level])
  )
  const stocked = yield* loadStockedProducts([...new Set(lines.flatMap((line) => stockedProductOf(line) ?? []))])
  const depth = { kit_nesting_max_depth: kitDepthIn(settings) }
  const unitsOfLine = Map.groupBy(units, (unit) => unit.opportunity_item_id)
  const pieces = Map.groupBy(
    lines.map((line) => ({
      opportunity_id: line.opportunity_id,
      opportunity_item_id: line.id,
      ...piecesOfLine({
        line,
        is_serialised: stocked.get(line.item_id ?? 0)?.is_serialised === true,
        parts: partsOfLine({ stocked }, line, depth),
        units: (unitsOfLine.get(line.id) ?? []).map(({ status, stock_level_id }) => ({
          status,
          product_id: levels.get(stock_level_id)?.product_id ?? line.item_id ?? 0
        }))
      })
    })),
    (one) => one.opportunity_id
  )
  return (id) => pieces.get(id) ?? []
})
