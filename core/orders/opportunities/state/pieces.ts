/** Progress of an opportunity in pieces: requested, packed, dispatched, returned. The only place that computes it. */
import { type DemandSettings, serialisedParts } from "../../availability/rules/line-demands.ts"
import { type DecisionState, type Opportunity, stockedProductOf, unitsOf } from "./aggregate.ts"
import { asset_assignments, checked_in, damaged, dispatched, missing, opportunity_items } from "../tables/index.ts"
import { prepared, type AssignmentRow, type ItemRow } from "../tables/index.ts"
import { Effect } from "effect"
import { loadStockedProducts } from "../../availability/facts/load-products.ts"
import { kitDepthIn } from "../../../products/kits/schema.ts"
import { Store, type Settings } from "../../../kernel/index.ts"
import { stock_levels } from "../../../products/stock/schema.ts"
import { exact } from "../../../values/decimal.ts"

// Units on a line that are not of its product: individually tracked parts of its kit (rules/opportunities 9.1). They
// record which serial numbers went out with which kit.

type Known = Pick<DecisionState, "stocked" | "levels">
type Depth = Pick<DemandSettings, "kit_nesting_max_depth">

/** Number of units of each serialised part that one of the line's kit takes; empty for other lines. */
export const partsOfLine = (
  { stocked }: Pick<Known, "stocked">,
  line: Pick<ItemRow, "item_id">,
  { kit_nesting_max_depth }: Depth
): ReadonlyMap<number, number> => {
  const product = line.item_id === null ? undefined : stocked.get(line.item_id)
  return product === undefined || product.parts.length === 0
    ? new Map()
    : serialisedParts(product, stocked, kit_nesting_max_depth)
}

/**
 * Maximum of units of the product on the line: its quantity, for a part the number its kits need; 0 for other products.
 */
export const roomOf = (state: Known, line: ItemRow, product_id: number, depth: Depth): number => {
  if (line.item_id === product_id) return Math.ceil(Number(line.quantity))
  const per_kit = partsOfLine(state, line, depth).get(product_id) ?? 0
  // Rounds off the error of binary fractions, as demands do.
  return Math.ceil(Math.round(Number(line.quantity) * per_kit * 1e6) / 1e6)
}

/** Whether a unit occupies its line: a damaged or missing return may be replaced. */
export const takesRoom = ({ condition_on_return }: Pick<AssignmentRow, "condition_on_return">): boolean =>
  condition_on_return !== damaged && condition_on_return !== missing

/** Units of one product that occupy the line. */
export const unitsOfProduct = (
  { levels }: Pick<DecisionState, "levels">,
  opportunity: Opportunity,
  line: ItemRow,
  product_id: number | null
): ReadonlyArray<AssignmentRow> =>
  unitsOf(opportunity, line.id).filter(
    (unit) => takesRoom(unit) && (levels.get(unit.stock_level_id)?.product_id ?? line.item_id) === product_id
  )
/** Units of the line's own product that are allocated to it and count towards its quantity. */
export const ownUnits = (
  state: Pick<DecisionState, "levels">,
  opportunity: Opportunity,
  line: ItemRow
): ReadonlyArray<AssignmentRow> => unitsOfProduct(state, opportunity, line, line.item_id)

/** Pieces of one line. `packed`: prepared or further; `gone`: ever dispatched, including returned ones. */
export interface LinePieces {
  readonly wanted: number
  readonly packed: number
  readonly gone: number
  readonly back: number
}
/** Pieces of an opportunity; `out`: dispatched and not returned. */
export interface Pieces {
  readonly wanted: number
  readonly packed: number
  readonly out: number
  readonly back: number
}
interface CountedLine {
  readonly line: Pick<ItemRow, "item_id" | "quantity" | "dispatched_quantity" | "returned_quantity">
  readonly units: ReadonlyArray<Pick<AssignmentRow, "status"> & { readonly product_id: number }>
  readonly is_serialised: boolean
  /** Units of each serialised part per kit. */
  readonly parts: ReadonlyMap<number, number>
}

/**
 * Serialised goods are counted by unit, others by quantity. A kit is one piece, and is packed, dispatched or returned
 * once all its serialised parts are, unless it was counted itself.
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
  // A replacement for a damaged unit is the same piece.
  const exchanged = is_serialised ? Math.max(0, of(dispatched) - Math.ceil(wanted)) : 0
  const gone = Math.max(counted(line.dispatched_quantity), of(dispatched) - exchanged)
  return {
    wanted,
    packed: Math.max(gone, of(prepared) - exchanged),
    gone,
    back: Math.max(counted(line.returned_quantity), of(checked_in) - exchanged, 0)
  }
}

/** Sums over lines; pieces packed beyond the requested quantity are ignored. */
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

/** Columns of lines needed for counting. */
const line_columns = [
  ...(["id", "opportunity_id", "item_type", "item_id", "transaction_type"] as const),
  ...(["quantity", "dispatched_quantity", "returned_quantity"] as const)
]
const unit_columns = ["opportunity_item_id", "stock_level_id", "status"] as const

interface LoadedPieces extends LinePieces {
  readonly opportunity_item_id: number
}
/** Pieces of each active line with goods, by opportunity; four queries, whatever the number of opportunities. */
export const loadLinePieces = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  settings: Settings
): Store.Reads<(id: number) => ReadonlyArray<LoadedPieces>> {
  const opportunity_id = [...new Set(ids)]
  if (opportunity_id.length === 0) return () => []
  const lines = (yield* Store.pick(opportunity_items, line_columns, { opportunity_id, is_live: true })).filter(
    (line) => stockedProductOf(line) !== null
  )
  const units = yield* Store.pick(asset_assignments, unit_columns, { opportunity_id })
  const stock_level_ids = units.map((unit) => unit.stock_level_id)
  const levels = new Map(
    (yield* Store.pickMany(stock_levels, ["id", "product_id"], stock_level_ids)).map((level) => [level.id, level])
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
