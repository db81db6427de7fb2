/** Rules of deliveries from suppliers (rules/billing 2.3): what may be received, and the order's new state. */
import { Result } from "effect"
import { isInFuture } from "../../values/time.ts"
import { invalidField, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, KeyedColumns, Rejection } from "../../kernel/index.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../schema.ts"
import {
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchaseOrderChange,
  purchaseOrderReceived
} from "../schema.ts"
import { orderName, type ReceivedLine, type ReceiveValues } from "../fields.ts"

export interface ReceiveFacts {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  readonly products: ReadonlyMap<number, ProductRow>
  /** Whether the receiving store still exists. */
  readonly has_store: boolean
  /** Units and cases in use with one of the sent serial numbers as a code, in words, by number. */
  readonly taken_serials: ReadonlyMap<string, string>
  /** The stock level that a bulk row is added to, by the row's id. */
  readonly levels: ReadonlyMap<number, StockLevelRow>
}
export interface GoodsResult {
  readonly id: number
  readonly receipt_id: number
}
/** Quantity of one row received or returned in one call. */
export interface MovedRow {
  readonly item: PurchaseOrderItemRow
  readonly quantity: ExactNumber
  readonly serial_numbers: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

/** Maximum single pieces, each with its own stock level, in one request. */
const pieces_max = 2_000

export const quantityText = (quantity: ExactNumber): string => String(quantity.toNumber())
const outstandingOf = (item: Pick<PurchaseOrderItemRow, "quantity" | "received_quantity">): ExactNumber =>
  exact(item.quantity).minus(item.received_quantity)
/** Product of a row; undefined if the row has none and does not become stock. */
export const productOf = (
  products: ReadonlyMap<number, ProductRow>,
  item: Pick<PurchaseOrderItemRow, "product_id">
): ProductRow | undefined => (item.product_id === null ? undefined : products.get(item.product_id))

/** Reason nothing can be received for the order; undefined if something can. */
const wrongStatus = (order: PurchaseOrderRow): Rejection | undefined => {
  const is = (text: string): Rejection => invalidField("status", `${orderName(order)} ${text}`)
  switch (order.status) {
    case "draft":
      return is("is a draft; send it before goods are received.")
    case "received":
      return is(
        `${order.returned_at === null ? "is received in full" : "went back to its supplier"}; ` +
          "order what comes on top by another one."
      )
    case "cancelled":
      return is("was cancelled; nothing can be received for it.")
    case "sent":
    case "partially_received":
      return undefined
  }
}

/** Row of the order that a line names; 422 on `lines.N.item_id` for others. */
export const itemNamed = (
  line: Pick<ReceivedLine, "item_id" | "purchase_order_item_id">,
  at: number,
  { items, order }: Pick<ReceiveFacts, "items" | "order">
): Result.Result<PurchaseOrderItemRow, Rejection> => {
  const id = line.item_id ?? line.purchase_order_item_id ?? undefined
  if (id === undefined) return reject(`lines.${at}.item_id`, "The item id field is required.")
  const item = items.find((one) => one.id === id)
  return item === undefined
    ? reject(`lines.${at}.item_id`, `${orderName(order)} has no row ${id}; name one of its own.`)
    : Result.succeed(item)
}

/** Reason the serial numbers of a line cannot be received; undefined if they can. `seen`: numbers of earlier lines. */
const serialsRefusal = (
  serials: ReadonlyArray<string>,
  quantity: ExactNumber,
  product: ProductRow | undefined,
  { taken_serials }: ReceiveFacts,
  seen: ReadonlySet<string>
): string | undefined => {
  const repeated = serials.find((serial, at) => seen.has(serial) || serials.indexOf(serial) !== at)
  if (repeated !== undefined) return `Serial number ${repeated} is given twice; each piece has its own.`
  if (product?.stock_method !== serialised) return undefined
  if (serials.length > 0 && !quantity.equals(serials.length))
    return (
      `${serials.length} serial number${serials.length === 1 ? "" : "s"} for ${quantityText(quantity)} pieces of ` +
      `"${product.name}": give one for each piece, or none.`
    )
  const taken = serials.find((serial) => taken_serials.has(serial))
  return taken === undefined
    ? undefined
    : `Serial number ${taken} is ${taken_serials.get(taken) ?? ""} already; look at the piece again.`
}

/** Received quantities by row, adding up lines of one row. 422 on the first line that cannot be received. */
const receivedRows = (
  lines: ReadonlyArray<ReceivedLine>,
  facts: ReceiveFacts
): Result.Result<ReadonlyArray<MovedRow>, Rejection> =>
  Result.gen(function* () {
    const rows = new Map<number, MovedRow>()
    const seen = new Set<string>()
    let pieces = 0
    for (const [at, line] of lines.entries()) {
      const item = yield* itemNamed(line, at, facts)
      const product = productOf(facts.products, item)
      const quantity = exact(line.quantity ?? "0")
      const field = `lines.${at}.quantity`
      const before = rows.get(item.id)
      const left = outstandingOf(item).minus(before?.quantity ?? 0)
      if (quantity.greaterThan(left))
        return yield* reject(
          field,
          `Of "${item.name}" ${quantityText(left)} are outstanding; ${quantityText(quantity)} are too many.`
        )
      if (product?.stock_method === serialised) {
        if (!quantity.isInteger())
          return yield* reject(field, `"${product.name}" is counted in single pieces; receive a whole number.`)
        if ((pieces += quantity.toNumber()) > pieces_max)
          return yield* reject(field, `Receive at most ${pieces_max} single pieces at once.`)
      }
      const serials = (line.serial_numbers ?? []).map((one) => one.trim()).filter((one) => one !== "")
      const reason = serialsRefusal(serials, quantity, product, facts, seen)
      if (reason !== undefined) return yield* reject(`lines.${at}.serial_numbers`, reason)
      for (const serial of serials) seen.add(serial)
      rows.set(item.id, {
        item,
        quantity: quantity.plus(before?.quantity ?? 0),
        serial_numbers: [...(before?.serial_numbers ?? []), ...numbered(serials, quantity, product)],
        notes: [...(before?.notes ?? []), ...noted(line.notes)]
      })
    }
    return [...rows.values()]
  })
/** Serial numbers by piece; pieces without one have empty text, which keeps positions. */
const numbered = (
  serials: ReadonlyArray<string>,
  quantity: ExactNumber,
  product: ProductRow | undefined
): ReadonlyArray<string> =>
  product?.stock_method === serialised && serials.length === 0
    ? Array.from({ length: quantity.toNumber() }, () => "")
    : serials
export const noted = (notes: string | null | undefined): ReadonlyArray<string> =>
  notes === null || notes === undefined || notes === "" ? [] : [notes]

/** Ids of the stock levels for goods of one row; purchases of one bulk product share a level. */
const levelIds = (
  row: MovedRow,
  facts: ReceiveFacts,
  made: Map<string, number>,
  context: DecideContext
): ReadonlyArray<number> => {
  const product = productOf(facts.products, row.item)
  if (product === undefined) return []
  if (product.stock_method === serialised)
    return Array.from({ length: row.quantity.toNumber() }, () => context.id(stock_levels))
  const there = facts.levels.get(row.item.id)
  if (there !== undefined) return [there.id]
  const key = facts.order.po_type === "sub_hire" ? `item:${row.item.id}` : `product:${product.id}`
  const id = made.get(key) ?? context.id(stock_levels)
  made.set(key, id)
  return [id]
}

/** Row of a delivery or return, with the user who recorded it. */
export const receiptRow = (
  order: PurchaseOrderRow,
  at: string,
  { notes, reference }: Pick<ReceiveValues, "notes" | "reference">,
  context: DecideContext
): KeyedColumns<typeof purchase_order_receipts> => ({
  id: context.id(purchase_order_receipts),
  purchase_order_id: order.id,
  received_at: at,
  reference: reference ?? null,
  notes: notes ?? null,
  received_by: context.viewer.user_id || null
})
export const receiptLine = (
  order: PurchaseOrderRow,
  receipt_id: number,
  { item, notes, quantity, serial_numbers }: MovedRow,
  more: { readonly stock_level_ids: ReadonlyArray<number>; readonly is_return: boolean },
  context: DecideContext
): KeyedColumns<typeof purchase_order_receipt_lines> => ({
  id: context.id(purchase_order_receipt_lines),
  purchase_order_id: order.id,
  receipt_id,
  item_id: item.id,
  quantity: formatDecimal(quantity, 2),
  serial_numbers,
  notes: notes.length === 0 ? null : notes.join("\n").slice(0, 1_000),
  ...more
})

/**
 * Receives goods, all lines or none. 422: `status` unless sent or received in part, `lines.N.item_id` for a row of
 * another order, `lines.N.quantity`, `lines.N.serial_numbers`, `received_at` in the future, `store_id` if deleted.
 */
export const receiveGoods = (facts: ReceiveFacts, sent: ReceiveValues, context: DecideContext): Decided<GoodsResult> =>
  Result.gen(function* () {
    const { items, order } = facts
    const wrong = wrongStatus(order)
    if (wrong !== undefined) return yield* Result.fail(wrong)
    const at = sent.received_at ?? context.happened_at
    if (isInFuture(at, context.now))
      return yield* reject("received_at", "The received at field must not be in the future.")
    const rows = yield* receivedRows(sent.lines ?? [], facts)
    if (!facts.has_store && rows.some(({ item }) => productOf(facts.products, item) !== undefined))
      return yield* reject("store_id", "The store of the order was deleted, so the goods have no place to go to.")
    const came = new Map(rows.map((row) => [row.item.id, row.quantity]))
    const after = items.map((item) => ({ item, received: exact(item.received_quantity).plus(came.get(item.id) ?? 0) }))
    const is_full = after.every(({ item, received }) => received.greaterThanOrEqualTo(item.quantity))
    const receipt = receiptRow(order, at, sent, context)
    const made = new Map<string, number>()
    return {
      events: [
        purchaseOrderReceived.make({
          ...purchaseOrderChange(
            order,
            is_full ? { status: "received", received_at: at } : { status: "partially_received" }
          ),
          items: after
            .filter(({ item }) => came.has(item.id))
            .map(({ item, received }) => ({ id: item.id, received_quantity: formatDecimal(received, 2) })),
          receipt,
          lines: rows.map((row) =>
            receiptLine(
              order,
              receipt.id,
              row,
              { stock_level_ids: levelIds(row, facts, made, context), is_return: false },
              context
            )
          )
        })
      ],
      result: { id: order.id, receipt_id: receipt.id }
    }
  })
