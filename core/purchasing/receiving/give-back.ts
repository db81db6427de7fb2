/**
 * Rules of returning sub-hired goods to their supplier (rules/billing 2.3): which units, claims that prevent it, and
 * the order's new state.
 */
import { Result } from "effect"
import { isInFuture } from "../../values/time.ts"
import { reject, type DecideContext, type Decided, type Rejection } from "../../kernel/index.ts"
import { serialised } from "../../products/products/schema.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"
import { purchaseOrderChange, type PurchaseOrderItemRow, purchaseOrderReturned } from "../schema.ts"
import type { GoodsResult, MovedRow } from "./decide.ts"
import { itemNamed, noted, productOf, quantityText, receiptLine, receiptRow } from "./decide.ts"
import type { ReturnFacts } from "./give-back-facts.ts"
import { orderName, type ReturnValues, unitName } from "../fields.ts"

interface GivenRow extends MovedRow {
  readonly stock_level_ids: ReadonlyArray<number>
}
type Refusable<A> = Result.Result<A, Rejection>

const here = (item: PurchaseOrderItemRow): ExactNumber => exact(item.received_quantity).minus(item.returned_quantity)
const isUnit = ({ stock_category }: StockLevelRow): boolean => stock_category === 50

type ReturnedLine = NonNullable<ReturnValues["lines"]>[number]

const namesUnits = ({ serial_numbers, stock_level_ids }: ReturnedLine): boolean =>
  (serial_numbers ?? []).length + (stock_level_ids ?? []).length > 0

/** Units of a line to return: the named ones, else all that are present. */
const unitsOf = (
  units: ReadonlyArray<StockLevelRow>,
  item: PurchaseOrderItemRow,
  line: ReturnedLine,
  at: number
): Refusable<ReadonlyArray<StockLevelRow>> => {
  const serials = line.serial_numbers ?? []
  const bySerial = serials.map((serial) => units.find((one) => one.serial_number === serial.trim()))
  const no_serial = serials[bySerial.indexOf(undefined)]
  if (no_serial !== undefined)
    return reject(`lines.${at}.serial_numbers`, `No unit of "${item.name}" with serial number ${no_serial} is here.`)
  const byId = (line.stock_level_ids ?? []).map((id) => units.find((one) => one.id === id))
  const no_id = line.stock_level_ids?.[byId.indexOf(undefined)]
  if (no_id !== undefined)
    return reject(`lines.${at}.stock_level_ids`, `Stock level ${no_id} is no unit of "${item.name}" that is here.`)
  const named = [...bySerial, ...byId].filter((unit) => unit !== undefined)
  const quantity = line.quantity === null || line.quantity === undefined ? undefined : exact(line.quantity)
  if (named.length === 0) {
    if (quantity === undefined || quantity.equals(units.length)) return Result.succeed(units)
    return quantity.greaterThan(units.length)
      ? reject(
          `lines.${at}.quantity`,
          `Of "${item.name}" ${units.length} are here; ${quantityText(quantity)} are too many.`
        )
      : reject(`lines.${at}.serial_numbers`, `Say which units of "${item.name}" go back: name their serial numbers.`)
  }
  const once = [...new Set(named)]
  if (quantity !== undefined && !quantity.equals(once.length))
    return reject(
      `lines.${at}.quantity`,
      `${once.length} unit${once.length === 1 ? " is" : "s are"} named; ${quantityText(quantity)} are to go back.`
    )
  return Result.succeed(once)
}

const heldUnit = (
  units: ReadonlyArray<StockLevelRow>,
  line: ReturnedLine,
  at: number,
  holds: ReturnFacts["holds"]
): Result.Result<void, Rejection> => {
  const held = units.find((unit) => holds.has(unit.id))
  return held === undefined
    ? Result.succeed(undefined)
    : reject(
        `lines.${at}.${(line.stock_level_ids ?? []).length > 0 ? "stock_level_ids" : "serial_numbers"}`,
        `${unitName(held)} ${holds.get(held.id) ?? ""}`
      )
}

const bulkRow = (
  item: PurchaseOrderItemRow,
  line: ReturnedLine,
  at: number,
  left: ExactNumber,
  { in_house, levels, products }: ReturnFacts,
  leaving: ReadonlyMap<number, ExactNumber>
): Refusable<GivenRow> => {
  const quantity = line.quantity === null || line.quantity === undefined ? left : exact(line.quantity)
  const field = `lines.${at}.quantity`
  if (quantity.greaterThan(left) || quantity.lessThanOrEqualTo(0))
    return reject(
      field,
      left.lessThanOrEqualTo(0)
        ? `Nothing of "${item.name}" is here that could go back.`
        : `Of "${item.name}" ${quantityText(left)} are here; ${quantityText(quantity)} are too many.`
    )
  const product = productOf(products, item)
  const own = levels.filter((one) => one.purchase_order_item_id === item.id && !isUnit(one))
  // Limits goods to what is in house; undefined for goods that are not stock, which are counted nowhere else.
  const there =
    product === undefined || own.length === 0
      ? undefined
      : in_house.get(product.id)?.minus(leaving.get(product.id) ?? 0)
  if (there !== undefined && quantity.greaterThan(there))
    return reject(
      field,
      `Only ${quantityText(there)} of "${item.name}" are in the house, the rest is out on hire; check them in first.`
    )
  return Result.succeed({
    item,
    quantity,
    serial_numbers: [],
    notes: noted(line.notes),
    stock_level_ids: own.map(({ id }) => id)
  })
}

/** Row of single pieces to return, plus bulk received while its product was bulk. */
const unitRow = (
  item: PurchaseOrderItemRow,
  line: ReturnedLine,
  at: number,
  { in_bulk, units }: { readonly units: ReadonlyArray<StockLevelRow>; readonly in_bulk: ExactNumber },
  facts: ReturnFacts,
  leaving: ReadonlyMap<number, ExactNumber>
): Refusable<GivenRow> =>
  Result.gen(function* () {
    if (in_bulk.lessThanOrEqualTo(0) || namesUnits(line)) {
      const going = yield* unitsOf(units, item, line, at)
      if (going.length === 0)
        return yield* reject(`lines.${at}.quantity`, `Nothing of "${item.name}" is here that could go back.`)
      yield* heldUnit(going, line, at, facts.holds)
      return ofUnits(item, line, going)
    }
    const all = in_bulk.plus(units.length)
    const quantity = line.quantity === null || line.quantity === undefined ? all : exact(line.quantity)
    if (quantity.lessThanOrEqualTo(in_bulk)) return yield* bulkRow(item, line, at, in_bulk, facts, leaving)
    const going = yield* unitsOf(units, item, { ...line, quantity: formatDecimal(quantity.minus(in_bulk), 2) }, at)
    yield* heldUnit(going, line, at, facts.holds)
    const whole = { ...line, quantity: formatDecimal(in_bulk, 2), notes: null }
    return merged(ofUnits(item, line, going), yield* bulkRow(item, whole, at, in_bulk, facts, leaving))
  })
const ofUnits = (
  item: PurchaseOrderItemRow,
  { notes }: ReturnedLine,
  units: ReadonlyArray<StockLevelRow>
): GivenRow => ({
  item,
  quantity: exact(units.length),
  serial_numbers: units.map(({ serial_number }) => serial_number ?? ""),
  notes: noted(notes),
  stock_level_ids: units.map(({ id }) => id)
})

/** Adds up lines of one row. */
const merged = (one: GivenRow | undefined, other: GivenRow): GivenRow =>
  one === undefined
    ? other
    : {
        item: other.item,
        quantity: one.quantity.plus(other.quantity),
        serial_numbers: [...one.serial_numbers, ...other.serial_numbers],
        notes: [...one.notes, ...other.notes],
        stock_level_ids: [...new Set([...one.stock_level_ids, ...other.stock_level_ids])]
      }

const givenRows = (lines: ReadonlyArray<ReturnedLine>, facts: ReturnFacts): Refusable<ReadonlyArray<GivenRow>> =>
  Result.gen(function* () {
    const rows = new Map<number, GivenRow>()
    const leaving = new Map<number, ExactNumber>()
    for (const [at, line] of lines.entries()) {
      const item = yield* itemNamed(line, at, facts)
      const before = rows.get(item.id)
      const product = productOf(facts.products, item)
      // Decided by current stock, as the product's stock method may have changed since the delivery.
      const units = facts.levels.filter(
        (one) =>
          one.purchase_order_item_id === item.id && isUnit(one) && !(before?.stock_level_ids.includes(one.id) ?? false)
      )
      const in_bulk = here(item)
        .minus(before?.quantity ?? 0)
        .minus(units.length)
      const is_counted_singly =
        units.length > 0 || (product?.stock_method === serialised && in_bulk.lessThanOrEqualTo(0))
      const row = is_counted_singly
        ? yield* unitRow(item, line, at, { units, in_bulk }, facts, leaving)
        : yield* bulkRow(item, line, at, in_bulk, facts, leaving)
      const bulk_part = row.quantity.minus(units.filter(({ id }) => row.stock_level_ids.includes(id)).length)
      if (product !== undefined) leaving.set(product.id, bulk_part.plus(leaving.get(product.id) ?? 0))
      rows.set(item.id, merged(before, row))
    }
    return [...rows.values()]
  })

const day_millis = 86_400_000
/** Whether the hire of all lines has ended at `at`, or ends within a day: what has not come is not awaited any more. */
const isAtEnd = ({ items, order }: ReturnFacts, at: string): boolean =>
  items.every(({ ends_at }) => {
    const end = ends_at ?? order.ends_at
    return end !== null && Date.parse(end) <= Date.parse(at) + day_millis
  })

/**
 * Returns goods, all lines or none; without lines, everything present. 422: `po_type` for purchases, `status` if
 * nothing is present, `lines.N.…` for excess or blocked goods, `returned_at` in the future.
 */
export const giveBack = (facts: ReturnFacts, sent: ReturnValues, context: DecideContext): Decided<GoodsResult> =>
  Result.gen(function* () {
    const { items, order } = facts
    if (order.po_type !== "sub_hire")
      return yield* reject(
        "po_type",
        `${orderName(order)} is a purchase: the goods are your own. Sell them or write them off instead.`
      )
    const present = items.filter((item) => here(item).greaterThan(0))
    if (present.length === 0)
      return yield* reject("status", `${orderName(order)}: nothing of it is here that could go back.`)
    const at = sent.returned_at ?? context.happened_at
    if (isInFuture(at, context.now))
      return yield* reject("returned_at", "The returned at field must not be in the future.")
    const whole = present.map(({ id }): ReturnedLine => ({
      item_id: id,
      purchase_order_item_id: null,
      quantity: null,
      serial_numbers: null,
      stock_level_ids: null,
      notes: null
    }))
    const rows = yield* givenRows(sent.lines ?? whole, facts)
    const back = new Map(rows.map((row) => [row.item.id, row.quantity]))
    const after = items.map((item) => ({ item, returned: exact(item.returned_quantity).plus(back.get(item.id) ?? 0) }))
    const is_whole =
      (order.status === "received" || isAtEnd(facts, at)) &&
      after.every(({ item, returned }) => returned.gte(item.received_quantity))
    const receipt = receiptRow(order, at, sent, context)
    return {
      events: [
        purchaseOrderReturned.make({
          ...purchaseOrderChange(order, is_whole ? { status: "received", returned_at: at } : {}),
          items: after
            .filter(({ item }) => back.has(item.id))
            .map(({ item, returned }) => ({ id: item.id, returned_quantity: formatDecimal(returned, 2) })),
          receipt,
          lines: rows.map(({ stock_level_ids, ...row }) =>
            receiptLine(order, receipt.id, row, { stock_level_ids, is_return: true }, context)
          )
        })
      ],
      result: { id: order.id, receipt_id: receipt.id }
    }
  })
