/** Which line of an order a scanned unit or product is for. */
import { countedParts, type DemandSettings } from "../availability/line-demands.ts"
import { type DecisionState, liveLines, stockedProductOf } from "../opportunities/aggregate.ts"
import type { ItemRow } from "../opportunities/lines/schema.ts"
import { partsOfLine, roomOf, unitsOfProduct } from "../opportunities/units/parts.ts"
import { exact } from "../values/decimal.ts"

/** Lines of the product itself, and after them lines of kits that it is a part of. */
const linesTaking = (known: DecisionState, product_id: number, depth: DemandSettings): ReadonlyArray<ItemRow> => {
  const lines = liveLines(known.opportunity)
  return [
    ...lines.filter((line) => stockedProductOf(line) === product_id),
    ...lines.filter((line) => stockedProductOf(line) !== null && partsOfLine(known, line, depth).has(product_id))
  ]
}

/**
 * The line for a unit of the product: the first with room, `given` units by line beside those it has; without room the
 * first of all, whose refusal says so. Undefined where the order asks for none.
 */
export const lineFor = (
  known: DecisionState,
  product_id: number,
  depth: DemandSettings,
  given: ReadonlyMap<string, number> = new Map()
): ItemRow | undefined => {
  const lines = linesTaking(known, product_id, depth)
  return lines.find((line) => hasRoom(known, line, product_id, depth, given)) ?? lines[0]
}
/** May one more unit of the product stand on the line, beside those it has and those that are `given` to it? */
export const hasRoom = (
  known: DecisionState,
  line: ItemRow,
  product_id: number,
  depth: DemandSettings,
  given: ReadonlyMap<string, number> = new Map()
): boolean =>
  unitsOfProduct(known, known.opportunity, line, product_id).length + (given.get(givenKey(line, product_id)) ?? 0) <
  roomOf(known, line, product_id, depth)
/** Lines of kits that hold so many pieces of a counted product, which have not gone yet. */
export const kitsWith = (
  known: DecisionState,
  product_id: number,
  { kit_nesting_max_depth }: DemandSettings
): ReadonlyArray<{ readonly name: string; readonly pieces: number }> =>
  liveLines(known.opportunity).flatMap((line) => {
    const kit = known.stocked.get(stockedProductOf(line) ?? 0)
    if (kit === undefined || kit.id === product_id) return []
    const per_kit = countedParts(kit, known.stocked, kit_nesting_max_depth).get(product_id) ?? 0
    const pieces = Math.ceil(exact(line.quantity).minus(exact(line.dispatched_quantity)).times(per_kit).toNumber())
    return pieces > 0 ? [{ name: line.name, pieces }] : []
  })
export const givenKey = (line: Pick<ItemRow, "id">, product_id: number): string => `${line.id}/${product_id}`

/** A quantity of a bulk product over the lines that can still take it: the first that takes it whole, else in order. */
export const spread = (
  known: DecisionState,
  product_id: number,
  quantity: number,
  direction: "out" | "in"
): ReadonlyArray<{ readonly line: ItemRow; readonly quantity: number }> => {
  const lines = liveLines(known.opportunity).filter((line) => stockedProductOf(line) === product_id)
  const leftOn = (line: ItemRow): number =>
    (direction === "out"
      ? exact(line.quantity).minus(exact(line.dispatched_quantity))
      : exact(line.dispatched_quantity).minus(exact(line.returned_quantity))
    ).toNumber()
  const whole = lines.find((line) => leftOn(line) >= quantity)
  const total = lines.reduce((sum, line) => sum + Math.max(0, leftOn(line)), 0)
  const first = whole ?? lines[0]
  if (first === undefined) return []
  // With too little on all of them, the first line's refusal says how much there is.
  if (whole !== undefined || total < quantity) return [{ line: first, quantity }]
  let rest = quantity
  return lines.flatMap((line) => {
    const part = Math.min(rest, Math.max(0, leftOn(line)))
    rest -= part
    return part > 0 ? [{ line, quantity: part }] : []
  })
}
