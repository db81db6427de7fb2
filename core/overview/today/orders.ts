/** Rows of a day: orders in three statements, unpaid invoices, purchase orders due (rules/today 2, 3). */
import { asset_assignments, dispatched, on_hire } from "../../orders/opportunities/tables/index.ts"
import { opportunities, opportunity_items, order, quotation } from "../../orders/opportunities/tables/index.ts"
import { sale_line, service_line, statuses, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { dateAfter } from "../../values/period.ts"
import { dayOf, instantOf, millisOf, startOfDay } from "../../values/time.ts"
import { Effect } from "effect"
import { type InvoiceRow, invoices } from "../../billing/state/tables.ts"
import { bindings, columnsNamed, quote, Store, type Bindings, type Dialect } from "../../kernel/index.ts"
import { dueBackAt, isHere } from "../../purchasing/receiving/intake.ts"
import { purchase_order_items, purchase_orders, type PurchaseOrderRow } from "../../purchasing/schema.ts"
import { exact } from "../../values/decimal.ts"
import type { Pieces } from "../../orders/opportunities/state/index.ts"
import { products, serialised } from "../../products/products/schema.ts"
import { containers } from "../../products/packing.ts"

// Days in time zones, and when orders leave and return as planned (rules/today 1). Pure.

/** Days for which an undispatched order stays on the list after it was due to leave. */
const not_left_days = 14
/** Days for which shortages are listed, the day itself included. */
const short_days = 7
/** Days ahead for which orders are listed for preparation: 1 is to the end of the next day. */
const prepared_ahead_days = 1

export interface Day {
  /** Date of the day at the store, `YYYY-MM-DD`. */
  readonly date: string
  /** First instant of the day and of the next one, in milliseconds. */
  readonly from: number
  readonly to: number
  /** End of the day up to which dispatches are to be prepared. */
  readonly prepare_to: number
  readonly short_to: number
  readonly not_left_from: number
  /** Goods due before this are overdue: now for the current and later days, else the start of the day. */
  readonly late_before: number
}
/** The named day, or the current one in the zone. */
export const dayIn = (zone: string, now_millis: number, date?: string): Day => {
  const today = dayOf(now_millis, zone)
  const on = date ?? today
  const start = (days: number): number => startOfDay(dateAfter(on, days), zone)
  return {
    date: on,
    from: start(0),
    to: start(1),
    prepare_to: start(1 + prepared_ahead_days),
    short_to: start(short_days),
    not_left_from: start(-not_left_days),
    late_before: on === today ? now_millis : Math.min(start(0), now_millis)
  }
}

/** Columns for when goods leave, and below for when they return; the first non-null one counts. */
const leaving_columns = ["load_starts_at", "deliver_starts_at", "starts_at"] as const
const back_columns = ["unload_starts_at", "collect_ends_at", "ends_at"] as const

export const leavesAt = (order: Pick<OpportunityRow, (typeof leaving_columns)[number]>): string | null =>
  order.load_starts_at ?? order.deliver_starts_at ?? order.starts_at
export const isBackAt = (order: Pick<OpportunityRow, (typeof back_columns)[number]>): string | null =>
  order.unload_starts_at ?? order.collect_ends_at ?? order.ends_at

// Outstanding invoices and deliveries due from and to suppliers, by the end of a day (rules/today 3).

export const papers_max = 100

interface Unpaid {
  /** Oldest invoices, `papers_max` at most. */
  readonly rows: ReadonlyArray<InvoiceRow>
  /** Totals over all invoices, by currency, in minor units. */
  readonly sums: ReadonlyArray<{ readonly currency_code: string; readonly count: number; readonly outstanding: number }>
}
/** Outstanding invoices due before `to` (ms), of one store or of all. */
export const unpaid = Effect.fnUntraced(function* (store_id: number | undefined, to: number): Store.Reads<Unpaid> {
  const { sql } = yield* Store
  const where = sql`where status in ('issued', 'partially_paid') and due_at < ${instantOf(to)}
    ${store_id === undefined ? sql.literal("") : sql`and store_id = ${store_id}`}
    and deleted_at is null and type <> 'proforma' and amount_outstanding > 0`
  const rows = yield* Store.select(invoices, () => sql`${where} order by due_at, id limit ${papers_max}`)
  const sums = yield* sql<{ currency_code: string; count: number; outstanding: number }>`
    select currency_code, count(*) as count, sum(amount_outstanding) as outstanding from invoices ${where}
    group by currency_code order by currency_code`
  return {
    rows,
    sums: sums.map((sum) => ({
      currency_code: sum.currency_code,
      count: Number(sum.count),
      outstanding: Number(sum.outstanding)
    }))
  }
})

export interface Due {
  readonly order: PurchaseOrderRow
  readonly at: string
  readonly pieces: number
}
type Open = { readonly po_type?: "sub_hire"; readonly status: ReadonlyArray<string>; readonly returned_at?: null }
const openOrders = (store_id: number | undefined, open: Open) =>
  Store.find(purchase_orders, { ...open, deleted_at: null, ...(store_id === undefined ? {} : { store_id }) })
const itemsOf = Effect.fnUntraced(function* (orders: ReadonlyArray<PurchaseOrderRow>) {
  const ids = orders.map(({ id }) => id)
  const rows = ids.length === 0 ? [] : yield* Store.find(purchase_order_items, { purchase_order_id: ids })
  return Map.groupBy(rows, (row) => row.purchase_order_id)
})
const soonest = (due: ReadonlyArray<Due>): ReadonlyArray<Due> =>
  due.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.order.id - other.order.id))
const difference = (one: string, other: string): number => exact(one).minus(other).toNumber()

/** Sub-hired goods that are present and due back at their supplier. */
export const dueBack = Effect.fnUntraced(function* (
  store_id: number | undefined,
  to: number
): Store.Reads<ReadonlyArray<Due>> {
  const here = yield* openOrders(store_id, {
    po_type: "sub_hire",
    status: ["partially_received", "received"],
    returned_at: null
  })
  const items = yield* itemsOf(here)
  return soonest(
    here.flatMap((order) => {
      const own = items.get(order.id) ?? []
      const at = dueBackAt(order, own)
      if (at === null || millisOf(at) >= to) return []
      const pieces = own
        .filter(isHere)
        .reduce((sum, item) => sum + difference(item.received_quantity, item.returned_quantity), 0)
      return [{ order, at, pieces }]
    })
  )
})
/** Goods on order from suppliers that are due and have not all arrived. */
export const dueIn = Effect.fnUntraced(function* (
  store_id: number | undefined,
  to: number
): Store.Reads<ReadonlyArray<Due>> {
  const coming = (yield* openOrders(store_id, { status: ["sent", "partially_received"] })).flatMap((order) => {
    const at = order.expected_at ?? order.starts_at
    return at === null || millisOf(at) >= to ? [] : [{ order, at }]
  })
  const items = yield* itemsOf(coming.map(({ order }) => order))
  return soonest(
    coming.map(({ at, order }) => ({
      order,
      at,
      pieces: (items.get(order.id) ?? []).reduce(
        (sum, item) => sum + Math.max(0, difference(item.quantity, item.received_quantity)),
        0
      )
    }))
  )
})

/** Maximum orders read for one list, the earliest first. */
export const orders_max = 500

/** Earliest start and latest end of the days of several stores. */
export const widest = (
  days: ReadonlyArray<Day>
): Pick<Day, "to" | "prepare_to" | "short_to" | "from" | "not_left_from"> => {
  const least = (of: (day: Day) => number): number => Math.min(...days.map(of))
  const most = (of: (day: Day) => number): number => Math.max(...days.map(of))
  return {
    from: least((day) => day.from),
    to: most((day) => day.to),
    prepare_to: most((day) => day.prepare_to),
    short_to: most((day) => day.short_to),
    not_left_from: least((day) => day.not_left_from)
  }
}

/** SQL condition that the first non-null column is before `to`, and not before `from` if given. */
const firstSetWithin = (
  columns: ReadonlyArray<string>,
  { from, to }: { readonly from: number | undefined; readonly to: number },
  { bind }: Bindings
): string =>
  columns
    .map((column, at) =>
      [
        ...columns.slice(0, at).map((before) => `${quote(before)} is null`),
        ...(from === undefined ? [] : [`${quote(column)} >= ${bind(instantOf(from))}`]),
        `${quote(column)} < ${bind(instantOf(to))}`
      ].join(" and ")
    )
    .map((condition) => `(${condition})`)
    .join(" or ")

/** Columns needed for the lists: a sixth of the table's. */
const order_columns = [
  ...(["id", "number", "subject", "member_id", "store_id", "state", "status", "has_shortage"] as const),
  ...leaving_columns,
  ...back_columns
]
export type OrderOfDay = Pick<OpportunityRow, (typeof order_columns)[number]>

const selected = Effect.fnUntraced(function* (
  store_id: number | undefined,
  condition: (bound: Bindings, dialect: Dialect) => string,
  order_by: string
): Store.Reads<ReadonlyArray<OrderOfDay>> {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const where = condition(bound, store.dialect)
  const of_store = store_id === undefined ? "" : ` and store_id = ${bound.bind(store_id)}`
  const rows = yield* store.run(
    `select ${columnsNamed(order_columns)} from ${quote(opportunities.name)} ` +
      `where ${where}${of_store} and deleted_at is null ` +
      `order by ${quote(order_by)}, id limit ${orders_max + 1}`,
    bound.values
  )
  return rows.map((row) => store.decode(opportunities, row))
})

/**
 * SQL condition that some goods may be undispatched; orders with bulk are "on hire" once part of it is. Units are
 * counted by allocation. Kits dispatched as parts pass as well; {@link isToGo} decides by their pieces.
 */
const goods_left = (dialect: Dialect): string =>
  `exists (select 1 from ${quote(opportunity_items.name)} line ` +
  `join ${quote(products.name)} product on product.id = line.item_id ` +
  `where line.opportunity_id = ${quote(opportunities.name)}.id and line.is_live ` +
  `and line.item_type in ('product', 'accessory') and line.transaction_type <> ${service_line} ` +
  `and line.quantity > case when product.stock_method = ${serialised} then ` +
  // SQLite stores decimals as hundredths.
  `${dialect === "pg" ? 1 : 100} * ` +
  `(select count(*) from ${quote(asset_assignments.name)} unit where unit.opportunity_item_id = line.id) ` +
  `else line.dispatched_quantity end)`

/** Unfinished orders that leave within this period and may have goods to dispatch. */
export const leaving = (store_id: number | undefined, { from, not_left_from, prepare_to }: ReturnType<typeof widest>) =>
  selected(
    store_id,
    (bound, dialect) =>
      `state = ${order} and (status in (${statuses.active.status}, ${statuses.dispatched.status}) ` +
      `or (status = ${statuses.on_hire.status} and ${goods_left(dialect)})) ` +
      `and (${firstSetWithin(leaving_columns, { from: not_left_from, to: prepare_to }, bound)}) ` +
      `and (ends_at is null or ends_at > ${bound.bind(instantOf(from))})`,
    "starts_at"
  )
/** Whether goods of an order are still to be dispatched; filters the result of `leaving`. */
export const isToGo = ({ status }: OrderOfDay, pieces: Pieces): boolean =>
  status !== statuses.on_hire.status || isNotAllOut(pieces)
/** Whether some goods are undispatched; orders without any have no shortage. */
export const isNotAllOut = ({ back, out, wanted }: Pieces): boolean => out + back < wanted
/**
 * Condition that something is out, even if only an empty case. An allocated unit that was never dispatched keeps an
 * order Dispatched after everything else is back. If nothing was counted out, the status was set by hand.
 */
const something_out = ((): string => {
  const of_order = `opportunity_id = ${quote(opportunities.name)}.id`
  const units = `exists (select 1 from ${quote(asset_assignments.name)} unit where ${of_order} and status`
  const lines = `exists (select 1 from ${quote(opportunity_items.name)} where ${of_order} and is_live and`
  // Goods sold are not due back.
  const hired = `transaction_type <> ${sale_line}`
  const of_hire =
    `exists (select 1 from ${quote(opportunity_items.name)} line ` + `where line.id = opportunity_item_id and ${hired})`
  const around = `exists (select 1 from ${quote(containers.name)} where ${of_order} and status = 'dispatched')`
  const out =
    `${units} in (${dispatched}, ${on_hire}) and ${of_hire}) or ` +
    `${lines} dispatched_quantity > returned_quantity and ${hired}) or ${around}`
  return `(${out} or not (${units} >= ${dispatched}) or ${lines} dispatched_quantity > 0)))`
})()
/** Orders with goods out that are due back by the end of the day. */
export const returning = (store_id: number | undefined, { to }: ReturnType<typeof widest>) =>
  selected(
    store_id,
    (bound) =>
      `state = ${order} and status in (${statuses.dispatched.status}, ${statuses.on_hire.status}) ` +
      `and not open_ended_rental and (${firstSetWithin(back_columns, { from: undefined, to }, bound)}) ` +
      `and ${something_out}`,
    "ends_at"
  )
/** Orders (partly dispatched ones included) and reserved quotations that begin soon and have a shortage. */
export const short = (store_id: number | undefined, { from, short_to }: ReturnType<typeof widest>) =>
  selected(
    store_id,
    (bound) =>
      `has_shortage and starts_at >= ${bound.bind(instantOf(from))} ` +
      `and starts_at < ${bound.bind(instantOf(short_to))} ` +
      `and ((state = ${order} and status in (${statuses.active.status}, ${statuses.dispatched.status}, ` +
      `${statuses.on_hire.status})) or (state = ${quotation} and status = ${statuses.reserved.status}))`,
    "starts_at"
  )
