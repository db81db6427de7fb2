/**
 * Units on a line that are not of its own product: parts of its kit that are tracked one by one (rules/opportunities
 * 9.1). They stand on the kit's line, so that it is known which serial numbers went out with which kit.
 */
import { serialisedParts } from "../../availability/line-demands.ts"
import type { DemandSettings } from "../../availability/line-demands.ts"
import { type DecisionState, type Opportunity, unitsOf } from "../aggregate.ts"
import type { ItemRow } from "../lines/schema.ts"
import { type AssignmentRow, damaged, missing } from "./schema.ts"

type Known = Pick<DecisionState, "stocked" | "levels">
type Depth = Pick<DemandSettings, "kit_nesting_max_depth">

/** How many units of each serialised product one of the line's kit takes; empty for lines of anything else. */
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

/** How many units of the product the line can hold: its quantity, of a part what that many kits take; 0 of others. */
export const roomOf = (state: Known, line: ItemRow, product_id: number, depth: Depth): number => {
  if (line.item_id === product_id) return Math.ceil(Number(line.quantity))
  const per_kit = partsOfLine(state, line, depth).get(product_id) ?? 0
  // Rounds off the error of binary fractions, as demands do.
  return Math.ceil(Math.round(Number(line.quantity) * per_kit * 1e6) / 1e6)
}

/** A unit that came back damaged or missing makes room on its line for the one that is sent in its place. */
export const takesRoom = ({ condition_on_return }: Pick<AssignmentRow, "condition_on_return">): boolean =>
  condition_on_return !== damaged && condition_on_return !== missing

/** The units of one product that take room on the line. */
export const unitsOfProduct = (
  { levels }: Pick<DecisionState, "levels">,
  opportunity: Opportunity,
  line: ItemRow,
  product_id: number | null
): ReadonlyArray<AssignmentRow> =>
  unitsOf(opportunity, line.id).filter(
    (unit) => takesRoom(unit) && (levels.get(unit.stock_level_id)?.product_id ?? line.item_id) === product_id
  )
/** The units of the line's own product that take room on it. */
export const ownUnits = (
  state: Pick<DecisionState, "levels">,
  opportunity: Opportunity,
  line: ItemRow
): ReadonlyArray<AssignmentRow> => unitsOfProduct(state, opportunity, line, line.item_id)
