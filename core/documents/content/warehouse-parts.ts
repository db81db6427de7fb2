/** What kits are made of that are put together for a job. Pure. */
import type { ItemRow } from "../../opportunities/lines/schema.ts"
import { piecesOfLine } from "../../opportunities/pieces.ts"
import { partsOfLine } from "../../opportunities/units/parts.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import type { WarehouseFacts } from "./warehouse-facts.ts"
import type { Parcel } from "./warehouse-parcels.ts"

const part_levels_max = 5
interface PartOf {
  readonly product_id: number
  readonly quantity: ExactNumber
  readonly depth: number
}
/** What a kit that is put together for the job consists of, kits in it with their own parts. */
export const partsOf = (
  facts: WarehouseFacts,
  product_id: number,
  quantity: ExactNumber,
  depth = 0
): ReadonlyArray<PartOf> => {
  const kit = facts.stocked.get(product_id)
  if (kit === undefined || !kit.is_kit || kit.container_mode !== null || depth >= part_levels_max) return []
  return kit.parts.flatMap((part) => {
    const wanted = quantity.times(part.quantity)
    return [
      { product_id: part.component_product_id, quantity: wanted, depth },
      ...partsOf(facts, part.component_product_id, wanted, depth + 1)
    ]
  })
}
/**
 * Of what is counted: how much of a line has gone out, and is back. Kits that nobody counted have moved as their parts
 * with serial numbers have, and the counted parts with them.
 */
export const movedOf = (
  { levels, stocked, units }: WarehouseFacts,
  line: ItemRow
): { readonly out: ExactNumber; readonly back: ExactNumber } => {
  const parts = partsOfLine({ stocked }, line, { kit_nesting_max_depth: part_levels_max })
  if (parts.size === 0) return { out: exact(line.dispatched_quantity), back: exact(line.returned_quantity) }
  const own = units.filter((unit) => unit.opportunity_item_id === line.id)
  const { back, gone } = piecesOfLine({
    line,
    is_serialised: false,
    parts,
    units: own.map(({ status, stock_level_id }) => ({
      status,
      product_id: levels.get(stock_level_id)?.product_id ?? 0
    }))
  })
  return { out: exact(gone), back: exact(back) }
}
/** Of one kit whose own weight nobody recorded; null where a part's is missing, or it has none. */
export const partsWeight = (facts: WarehouseFacts, { line }: Parcel): string | null => {
  const parts = line.item_id === null ? [] : partsOf(facts, line.item_id, exact(1)).filter(({ depth }) => depth === 0)
  const weights = parts.map(({ product_id, quantity }) => {
    const weight = facts.products.get(product_id)?.weight ?? null
    return weight === null ? null : quantity.times(weight)
  })
  if (weights.length === 0) return null
  return (
    weights
      .reduce<ExactNumber | null>((sum, one) => (sum === null || one === null ? null : sum.plus(one)), exact(0))
      ?.toString() ?? null
  )
}
