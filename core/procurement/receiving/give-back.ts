/**
 * Rules of giving sub-hired goods back to their supplier (rules/billing 2.4): which of them, what holds them here, and
 * what that makes of the order.
 */
import { Result } from "effect"
import { isInFuture } from "../../billing/future.ts"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { serialised } from "../../products/schema.ts"
import type { StockLevelRow } from "../../stock/schema.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"
import { purchaseOrderChange } from "../events.ts"
import type { PurchaseOrderItemRow } from "../schema.ts"
import {
  type GoodsResult,
  itemNamed,
  type MovedRow,
  noted,
  orderName,
  productOf,
  quantityText,
  receiptLine,
  receiptRow,
  type ReceiveFacts,
  unitName
} from "./decide.ts"
import { purchaseOrderReturned } from "./events.ts"
import type { ReturnedLine, ReturnValues } from "./fields.ts"

export interface ReturnFacts extends Pick<ReceiveFacts, "order" | "items" | "products"> {
  /** Sub-hired levels of the order that have not gone back. */
  readonly levels: ReadonlyArray<StockLevelRow>
  /** What holds a unit here, in words, by its id. */
  readonly holds: ReadonlyMap<number, string>
  /** How much of a product in bulk is at the store now, by the product's id: not what is out on hire. */
  readonly in_house: ReadonlyMap<number, ExactNumber>
}
interface GivenRow extends MovedRow {
  readonly stock_level_ids: ReadonlyArray<number>
}
type Refusable<A> = Result.Result<A, Rejection>
const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))

const here = (item: PurchaseOrderItemRow): ExactNumber => exact(item.received_quantity).minus(item.returned_quantity)
/** The units that a line means: those it names, else all that are here where it means all of them. */
const unitsOf = (
  units: ReadonlyArray<StockLevelRow>,
  item: PurchaseOrderItemRow,
  line: ReturnedLine,
  at: number
): Refusable<ReadonlyArray<StockLevelRow>> => {
  const named: Array<StockLevelRow> = []
  for (const serial of line.serial_numbers ?? []) {
    const unit = units.find((one) => one.serial_number === serial.trim())
    if (unit === undefined)
      return refuse(`lines.${at}.serial_numbers`, `No unit of "${item.name}" with serial number ${serial} is here.`)
    named.push(unit)
  }
  for (const id of line.stock_level_ids ?? []) {
    const unit = units.find((one) => one.id === id)
    if (unit === undefined)
      return refuse(`lines.${at}.stock_level_ids`, `Stock level ${id} is no unit of "${item.name}" that is here.`)
    named.push(unit)
  }
  const quantity = line.quantity === null || line.quantity === undefined ? undefined : exact(line.quantity)
  if (named.length === 0) {
    if (quantity === undefined || quantity.equals(units.length)) return Result.succeed(units)
    return quantity.greaterThan(units.length)
      ? refuse(
          `lines.${at}.quantity`,
          `Of "${item.name}" ${units.length} are here; ${quantityText(quantity)} are too many.`
        )
      : refuse(`lines.${at}.serial_numbers`, `Say which units of "${item.name}" go back: name their serial numbers.`)
  }
  const once = [...new Set(named)]
  if (quantity !== undefined && !quantity.equals(once.length))
    return refuse(
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
    : refuse(
        `lines.${at}.${(line.stock_level_ids ?? []).length > 0 ? "stock_level_ids" : "serial_numbers"}`,
        `${unitName(held)} ${holds.get(held.id) ?? ""}`
      )
}

const bulkRow = (
  item: PurchaseOrderItemRow,
  line: ReturnedLine,
  at: number,
  before: ExactNumber,
  { in_house, levels, products }: ReturnFacts,
  leaving: ReadonlyMap<number, ExactNumber>
): Refusable<GivenRow> => {
  const left = here(item).minus(before)
  const quantity = line.quantity === null || line.quantity === undefined ? left : exact(line.quantity)
  const field = `lines.${at}.quantity`
  if (quantity.greaterThan(left) || quantity.lessThanOrEqualTo(0))
    return refuse(
      field,
      left.lessThanOrEqualTo(0)
        ? `Nothing of "${item.name}" is here that could go back.`
        : `Of "${item.name}" ${quantityText(left)} are here; ${quantityText(quantity)} are too many.`
    )
  const product = productOf(products, item)
  const there = product === undefined ? undefined : in_house.get(product.id)?.minus(leaving.get(product.id) ?? 0)
  if (there !== undefined && quantity.greaterThan(there))
    return refuse(
      field,
      `Only ${quantityText(there)} of "${item.name}" are in the house, the rest is out on hire; check them in first.`
    )
  return Result.succeed({
    item,
    quantity,
    serial_numbers: [],
    notes: noted(line.notes),
    stock_level_ids: levels.filter((one) => one.purchase_order_item_id === item.id).map(({ id }) => id)
  })
}

/** Lines of one row that come again add up. */
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
      if (product?.stock_method !== serialised) {
        const row = yield* bulkRow(item, line, at, before?.quantity ?? exact(0), facts, leaving)
        if (product !== undefined) leaving.set(product.id, row.quantity.plus(leaving.get(product.id) ?? 0))
        rows.set(item.id, merged(before, row))
        continue
      }
      const left = facts.levels.filter(
        (one) => one.purchase_order_item_id === item.id && !(before?.stock_level_ids.includes(one.id) ?? false)
      )
      const units = yield* unitsOf(left, item, line, at)
      if (units.length === 0)
        return yield* refuse(`lines.${at}.quantity`, `Nothing of "${item.name}" is here that could go back.`)
      yield* heldUnit(units, line, at, facts.holds)
      rows.set(
        item.id,
        merged(before, {
          item,
          quantity: exact(units.length),
          serial_numbers: units.map(({ serial_number }) => serial_number ?? ""),
          notes: noted(line.notes),
          stock_level_ids: units.map(({ id }) => id)
        })
      )
    }
    return [...rows.values()]
  })

/**
 * Gives goods back: all lines or none; without lines, all that is here. 422: `po_type` for bought goods, `status` where
 * nothing is here, `lines.N.…` naming what is too much or held here, `returned_at` in the future.
 */
export const giveBack = (facts: ReturnFacts, sent: ReturnValues, context: DecideContext): Decided<GoodsResult> =>
  Result.gen(function* () {
    const { items, order } = facts
    if (order.po_type !== "sub_hire")
      return yield* refuse(
        "po_type",
        `${orderName(order)} is a purchase: the goods are your own. Sell them or write them off instead.`
      )
    const present = items.filter((item) => here(item).greaterThan(0))
    if (present.length === 0)
      return yield* refuse("status", `${orderName(order)}: nothing of it is here that could go back.`)
    const at = sent.returned_at ?? context.now
    if (isInFuture(at, context.now))
      return yield* refuse("returned_at", "The returned at field must not be in the future.")
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
      order.status === "received" && after.every(({ item, returned }) => returned.gte(item.received_quantity))
    const receipt = receiptRow(order, at, sent, context)
    return {
      events: [
        purchaseOrderReturned.make({
          ...purchaseOrderChange(order, is_whole ? { returned_at: at } : {}),
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
