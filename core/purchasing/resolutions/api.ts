/** Cost of an opportunity's purchase orders, and what is on order for its lines (rules/availability 9). */
import { Effect, Result } from "effect"
import { baseCurrency, choice, dataOf, forbidden, get, hasOnePermission, integer, ok } from "../../kernel/index.ts"
import { type Endpoint, type NewEvent, picked, reaction, Shown, Store, text } from "../../kernel/index.ts"
import { opportunities, opportunity_items, type ItemRow } from "../../orders/opportunities/tables/index.ts"
import { convertMoney, formatMoney } from "../../values/money.ts"
import type { PurchaseOrderRow, PurchaseOrderStatus, PurchaseOrderType } from "../schema.ts"
import {
  purchase_order_items,
  purchase_order_statuses,
  purchase_order_types,
  purchase_orders,
  purchaseOrderCancelled,
  purchaseOrderCreated,
  purchaseOrderDeleted,
  purchaseOrderReceived,
  purchaseOrderReturned,
  purchaseOrderUpdated
} from "../schema.ts"
import { lockIfFree } from "../../kernel/runtime/locks.ts"
import { opportunityStream } from "../../orders/opportunities/events/event-families.ts"
import { lineChanged } from "../../orders/opportunities/events/lines.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"

// Cost of an opportunity's purchase orders (rules/opportunities 13), in the base currency.

const net = (describe: string) => text({ describe })
const orderShown = {
  id: integer(),
  number: text({ nullable: true }),
  po_type: choice(purchase_order_types),
  status: choice(purchase_order_statuses),
  supplier_id: integer(),
  currency_code: text(),
  subtotal: net("Cost before tax, in the order's currency"),
  base_subtotal: net("Cost before tax, in the base currency at the order's rate")
}

/** Net total of an order in the base currency, by its stored rate. */
const baseNet = (
  { currency_code, exchange_rate, subtotal }: Pick<PurchaseOrderRow, "currency_code" | "exchange_rate" | "subtotal">,
  base: string
): number => (currency_code === base ? subtotal : convertMoney(subtotal, currency_code, base, exchange_rate))

const supplyCosts = get("/api/v1/opportunities/{id}/supply_costs", {
  answer: {
    supply_costs: Shown.keys({
      opportunity_id: integer(),
      currency_code: text({ describe: "Base currency's code" }),
      sub_hire_cost_total: net("Cost before tax, in the base currency"),
      purchase_cost_total: net("Cost before tax, in the base currency"),
      cost_total: net("Sub-hire and purchase costs together"),
      purchase_orders: Shown.objects(orderShown)
    })
  },
  name: "opportunities.supply_costs",
  summary: "Show the cost of an opportunity's purchase orders, without cancelled ones",
  ability: "purchase_orders:read",
  permission: "costs.view",
  params: { id: { table: opportunities } },
  authorize: ({ viewer }) =>
    hasOnePermission(viewer, "purchase_orders.view")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission purchase_orders.view.")),
  run: Effect.fnUntraced(function* ({ rows, settings }) {
    const base = baseCurrency(settings)
    const found = yield* Store.find(
      purchase_orders,
      { opportunity_id: rows.id.id, deleted_at: null },
      { order: ["id"] }
    )
    const orders = found.filter(({ status }) => status !== "cancelled")
    const sum = (...types: ReadonlyArray<PurchaseOrderType>): string =>
      formatMoney(
        orders.filter(({ po_type }) => types.includes(po_type)).reduce((total, row) => total + baseNet(row, base), 0),
        base
      )
    return ok({
      supply_costs: {
        opportunity_id: rows.id.id,
        currency_code: base,
        sub_hire_cost_total: sum("sub_hire"),
        purchase_cost_total: sum("purchase"),
        cost_total: sum("sub_hire", "purchase"),
        purchase_orders: orders.map((row) => ({
          ...picked(row, ["id", "number", "po_type", "status", "supplier_id", "currency_code"]),
          subtotal: formatMoney(row.subtotal, row.currency_code),
          base_subtotal: formatMoney(baseNet(row, base), base)
        }))
      }
    })
  })
})

// Quantities on order per opportunity line. As purchase orders are created, changed, received and cancelled, the
// outstanding quantity of each line is updated, which reduces its shortage (rules/availability 9).

/** Columns of an order row that affect quantities on order. */
interface OrderedRow {
  readonly id: number
  readonly purchase_order_id: number
  readonly opportunity_item_id: number | null
  readonly quantity: string
  readonly received_quantity: string
}
interface OnOrderFacts {
  /** Rows before the events: those of the affected orders, and those of others for the same lines. */
  readonly rows: ReadonlyArray<OrderedRow>
  /** Orders of those rows that count: neither cancelled nor deleted, nor gone back. */
  readonly standing: ReadonlySet<number>
  readonly lines: ReadonlyArray<ItemRow>
}
const given_up: ReadonlyArray<PurchaseOrderStatus> = ["cancelled"]

/** Ids of orders affected by the events. */
const ordersOf = (all: ReadonlyArray<NewEvent>): ReadonlyArray<number> => [
  ...new Set(
    [
      ...dataOf(purchaseOrderCreated, all),
      ...dataOf(purchaseOrderUpdated, all),
      ...dataOf(purchaseOrderDeleted, all),
      ...dataOf(purchaseOrderCancelled, all),
      ...dataOf(purchaseOrderReceived, all),
      ...dataOf(purchaseOrderReturned, all)
    ].map(({ id }) => id)
  )
]
/** Rows in the events: added ones, and changed columns of others. */
const sentRows = (all: ReadonlyArray<NewEvent>): ReadonlyArray<Partial<OrderedRow> & { readonly id: number }> => [
  ...dataOf(purchaseOrderCreated, all).flatMap(({ items }) => items),
  ...dataOf(purchaseOrderUpdated, all).flatMap(({ items }) => [...(items?.added ?? []), ...(items?.altered ?? [])]),
  ...dataOf(purchaseOrderReceived, all).flatMap(({ items }) => items)
]

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

const onOrderFacts = Effect.fnUntraced(function* (all: ReadonlyArray<NewEvent>): Store.Reads<OnOrderFacts> {
  const own = yield* Store.find(purchase_order_items, { purchase_order_id: ordersOf(all) })
  const line_ids = [
    ...new Set([...own, ...sentRows(all)].flatMap(({ opportunity_item_id }) => opportunity_item_id ?? []))
  ]
  if (line_ids.length === 0) return { rows: [], standing: new Set(), lines: [] }
  const lines = yield* Store.getMany(opportunity_items, line_ids)
  // Serialises with changes of other orders for the same lines.
  yield* lockIfFree([...new Set(lines.map(({ opportunity_id }) => opportunityStream(opportunity_id)))])
  const others = yield* Store.find(purchase_order_items, { opportunity_item_id: line_ids })
  const rows = [...new Map([...own, ...others].map((row) => [row.id, row])).values()]
  const orders = yield* Store.getMany(purchase_orders, [
    ...new Set(rows.map(({ purchase_order_id }) => purchase_order_id))
  ])
  return {
    rows,
    standing: new Set(
      orders.flatMap(({ deleted_at, id, returned_at, status }) =>
        deleted_at === null && returned_at === null && !given_up.includes(status) ? [id] : []
      )
    ),
    lines: yield* Store.getMany(opportunity_items, line_ids)
  }
})

/** Outstanding quantity of each line after the events. */
const onOrderAfter = (
  { rows, standing }: OnOrderFacts,
  all: ReadonlyArray<NewEvent>
): ReadonlyMap<number, ExactNumber> => {
  const counting = new Set([...standing, ...dataOf(purchaseOrderCreated, all).map(({ id }) => id)])
  for (const { id } of [...dataOf(purchaseOrderDeleted, all), ...dataOf(purchaseOrderCancelled, all)])
    counting.delete(id)
  for (const { id, set } of dataOf(purchaseOrderReturned, all))
    if ((set.returned_at ?? null) !== null) counting.delete(id)
  const sums = new Map<number, ExactNumber>()
  for (const row of rowsAfter(rows, all)) {
    if (row.opportunity_item_id === null || !counting.has(row.purchase_order_id)) continue
    const left = exact(row.quantity).minus(row.received_quantity)
    if (left.greaterThan(0)) sums.set(row.opportunity_item_id, left.plus(sums.get(row.opportunity_item_id) ?? 0))
  }
  return sums
}

export const onOrderFollows = reaction({
  on: [
    purchaseOrderCreated,
    purchaseOrderUpdated,
    purchaseOrderDeleted,
    purchaseOrderCancelled,
    purchaseOrderReceived,
    purchaseOrderReturned
  ],
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

export const resolutionEndpoints: ReadonlyArray<Endpoint> = [supplyCosts]
