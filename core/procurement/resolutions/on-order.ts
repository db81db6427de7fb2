/**
 * What is on order for lines of opportunities: as orders to suppliers are made, changed, received and given up, each
 * line says how much is still to come for it, which closes its shortage so far (rules/availability 9).
 */
import { Effect, Result } from "effect"
import type { Failure } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { dataOf } from "../../kernel/event-type.ts"
import { lockIfFree } from "../../kernel/locks.ts"
import { reaction } from "../../kernel/react.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunityStream } from "../../opportunities/event-families.ts"
import { lineChanged } from "../../opportunities/lines/events.ts"
import { type ItemRow, opportunity_items } from "../../opportunities/lines/schema.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"
import { purchaseOrderCancelled, purchaseOrderCreated, purchaseOrderDeleted, purchaseOrderUpdated } from "../events.ts"
import { purchaseOrderReceived } from "../receiving/events.ts"
import { purchase_order_items, purchase_orders, type PurchaseOrderStatus } from "../schema.ts"

/** What counts of a row of an order. */
interface OrderedRow {
  readonly id: number
  readonly purchase_order_id: number
  readonly opportunity_item_id: number | null
  readonly quantity: string
  readonly received_quantity: string
}
export interface OnOrderFacts {
  /** Rows before the events: those of the orders they are about, and all others for the same lines. */
  readonly rows: ReadonlyArray<OrderedRow>
  /** Orders of those rows that count: neither cancelled nor deleted. */
  readonly standing: ReadonlySet<number>
  readonly lines: ReadonlyArray<ItemRow>
}
const given_up: ReadonlyArray<PurchaseOrderStatus> = ["cancelled"]
type Some = Partial<OrderedRow> & { readonly id: number }

/** Orders the events are about. */
const ordersOf = (all: ReadonlyArray<NewEvent>): ReadonlyArray<number> => [
  ...new Set(
    [
      ...dataOf(purchaseOrderCreated, all),
      ...dataOf(purchaseOrderUpdated, all),
      ...dataOf(purchaseOrderDeleted, all),
      ...dataOf(purchaseOrderCancelled, all),
      ...dataOf(purchaseOrderReceived, all)
    ].map(({ id }) => id)
  )
]
/** Rows as events bring them: new ones, and columns of those that are there. */
const sentRows = (all: ReadonlyArray<NewEvent>): ReadonlyArray<Some> => [
  ...dataOf(purchaseOrderCreated, all).flatMap(({ items }) => items),
  ...dataOf(purchaseOrderUpdated, all).flatMap(({ items }) => [...(items?.added ?? []), ...(items?.altered ?? [])]),
  ...dataOf(purchaseOrderReceived, all).flatMap(({ items }) => items)
]

/** Rows after the events. */
const rowsAfter = (rows: ReadonlyArray<OrderedRow>, all: ReadonlyArray<NewEvent>): ReadonlyArray<OrderedRow> => {
  const after = new Map(rows.map((row) => [row.id, row]))
  for (const sent of sentRows(all)) {
    const before = after.get(sent.id)
    after.set(sent.id, {
      id: sent.id,
      purchase_order_id: sent.purchase_order_id ?? before?.purchase_order_id ?? 0,
      opportunity_item_id:
        sent.opportunity_item_id === undefined ? (before?.opportunity_item_id ?? null) : sent.opportunity_item_id,
      quantity: sent.quantity ?? before?.quantity ?? "0.00",
      received_quantity: sent.received_quantity ?? before?.received_quantity ?? "0.00"
    })
  }
  for (const { items } of dataOf(purchaseOrderUpdated, all)) for (const id of items?.removed ?? []) after.delete(id)
  return [...after.values()]
}

const onOrderFacts = Effect.fnUntraced(function* (
  all: ReadonlyArray<NewEvent>
): Effect.fn.Return<OnOrderFacts, Failure, Store> {
  const store = yield* Store
  const own = yield* store.find(purchase_order_items, { purchase_order_id: ordersOf(all) })
  const line_ids = [
    ...new Set([...own, ...sentRows(all)].flatMap(({ opportunity_item_id }) => opportunity_item_id ?? []))
  ]
  if (line_ids.length === 0) return { rows: [], standing: new Set(), lines: [] }
  const lines = yield* store.getMany(opportunity_items, line_ids)
  // Who changes another order for the same lines is waited for, and seen.
  yield* lockIfFree([...new Set(lines.map(({ opportunity_id }) => opportunityStream(opportunity_id)))])
  const others = yield* store.find(purchase_order_items, { opportunity_item_id: line_ids })
  const rows = [...new Map([...own, ...others].map((row) => [row.id, row])).values()]
  const orders = yield* store.getMany(purchase_orders, [
    ...new Set(rows.map(({ purchase_order_id }) => purchase_order_id))
  ])
  return {
    rows,
    standing: new Set(
      orders.flatMap(({ deleted_at, id, status }) => (deleted_at === null && !given_up.includes(status) ? [id] : []))
    ),
    lines: yield* store.getMany(opportunity_items, line_ids)
  }
})

/** What is still to come of each line, as the events leave it. */
export const onOrderAfter = (
  { rows, standing }: OnOrderFacts,
  all: ReadonlyArray<NewEvent>
): ReadonlyMap<number, ExactNumber> => {
  const counting = new Set([...standing, ...dataOf(purchaseOrderCreated, all).map(({ id }) => id)])
  for (const { id } of [...dataOf(purchaseOrderDeleted, all), ...dataOf(purchaseOrderCancelled, all)])
    counting.delete(id)
  const sums = new Map<number, ExactNumber>()
  for (const row of rowsAfter(rows, all)) {
    if (row.opportunity_item_id === null || !counting.has(row.purchase_order_id)) continue
    const left = exact(row.quantity).minus(row.received_quantity)
    if (left.greaterThan(0)) sums.set(row.opportunity_item_id, left.plus(sums.get(row.opportunity_item_id) ?? 0))
  }
  return sums
}

export const onOrderFollows = reaction({
  on: [purchaseOrderCreated, purchaseOrderUpdated, purchaseOrderDeleted, purchaseOrderCancelled, purchaseOrderReceived],
  facts: ({ all }) => onOrderFacts(all),
  decide: ({ all }, facts) => {
    const sums = onOrderAfter(facts, all)
    return Result.succeed(
      facts.lines.flatMap((line) => {
        const on_order_quantity = formatDecimal(sums.get(line.id) ?? 0, 2)
        return on_order_quantity === line.on_order_quantity
          ? []
          : [lineChanged(line, "item_on_order", { on_order_quantity })]
      })
    )
  }
})
