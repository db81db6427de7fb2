/** What is owed, and what is due from and to suppliers, by the end of a day (rules/today 3). */
import { Effect } from "effect"
import { invoices, type InvoiceRow } from "../billing/schema.ts"
import type { Failure } from "../kernel/endpoint.ts"
import { bindings, columnList, quote } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { dueBackAt, isHere } from "../procurement/return-due.ts"
import { purchase_order_items, purchase_orders, type PurchaseOrderRow } from "../procurement/schema.ts"
import { exact } from "../values/decimal.ts"
import { instantOf, millisOf } from "../values/time.ts"

export const papers_max = 100

export interface Unpaid {
  /** The oldest first, `papers_max` at most. */
  readonly rows: ReadonlyArray<InvoiceRow>
  /** Of all of them: minor units by currency. */
  readonly sums: ReadonlyArray<{ readonly currency_code: string; readonly count: number; readonly outstanding: number }>
}
/** Invoices whose day to be paid has begun, of one store or of all. */
export const unpaid = Effect.fnUntraced(function* (
  store_id: number | undefined,
  to: number
): Effect.fn.Return<Unpaid, Failure, Store> {
  const store = yield* Store
  const condition = () => {
    const bound = bindings(store.dialect)
    const due = `due_at < ${bound.bind(instantOf(to))}`
    const of_store = store_id === undefined ? "" : ` and store_id = ${bound.bind(store_id)}`
    return {
      where:
        `status in ('issued', 'partially_paid') and ${due}${of_store} ` +
        `and deleted_at is null and type <> 'proforma' and amount_outstanding > 0`,
      values: bound.values
    }
  }
  const one = condition()
  const rows = yield* store.run(
    `select ${columnList(invoices)} from ${quote(invoices.name)} where ${one.where} ` +
      `order by due_at, id limit ${papers_max}`,
    one.values
  )
  const sums = yield* store.run<{ currency_code: string; count: number; outstanding: number }>(
    `select currency_code, count(*) as count, sum(amount_outstanding) as outstanding from ${quote(invoices.name)} ` +
      `where ${one.where} group by currency_code order by currency_code`,
    one.values
  )
  return {
    rows: rows.map((row) => store.decode(invoices, row)),
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
  Effect.flatMap(Store, (store) =>
    store.find(purchase_orders, { ...open, deleted_at: null, ...(store_id === undefined ? {} : { store_id }) })
  )
const itemsOf = Effect.fnUntraced(function* (orders: ReadonlyArray<PurchaseOrderRow>) {
  const ids = orders.map(({ id }) => id)
  const rows = ids.length === 0 ? [] : yield* (yield* Store).find(purchase_order_items, { purchase_order_id: ids })
  return Map.groupBy(rows, (row) => row.purchase_order_id)
})
const soonest = (due: ReadonlyArray<Due>): ReadonlyArray<Due> =>
  due.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.order.id - other.order.id))
const difference = (one: string, other: string): number => exact(one).minus(other).toNumber()

/** Sub-hired goods that are here and due back at their supplier. */
export const dueBack = Effect.fnUntraced(function* (
  store_id: number | undefined,
  to: number
): Effect.fn.Return<ReadonlyArray<Due>, Failure, Store> {
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
/** Goods ordered from suppliers that are due here and have not all come. */
export const dueIn = Effect.fnUntraced(function* (
  store_id: number | undefined,
  to: number
): Effect.fn.Return<ReadonlyArray<Due>, Failure, Store> {
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
