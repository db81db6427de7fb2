/** The orders of a day: three statements for their headers, two for all their pieces (rules/today 2). */
import { Effect } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import type { Settings } from "../kernel/settings.ts"
import type { Dialect } from "../kernel/store/dialect.ts"
import { type Bindings, bindings, columnsNamed, quote } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { opportunity_items } from "../opportunities/lines/schema.ts"
import { loadLinePieces, type Pieces, service, sumOfPieces } from "../opportunities/pieces.ts"
import { opportunities, type OpportunityRow } from "../opportunities/schema.ts"
import { order, quotation, statuses } from "../opportunities/status/statuses.ts"
import { products, serialised } from "../products/schema.ts"
import { asset_assignments, checked_in, dispatched, on_hire } from "../opportunities/units/schema.ts"
import { containers } from "../packing/schema.ts"
import { instantOf } from "../values/time.ts"
import { back_columns, type Day, leaving_columns } from "./day.ts"

/** Orders of one list that are read; of more, the first. */
export const orders_max = 500

/** The widest bounds of the days of several stores. */
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

/** The first of these columns that is set is below `to`, and not below `from` where there is one. */
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

/** What of an order its lists are made of: of a wide table, a sixth. */
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
): Effect.fn.Return<ReadonlyArray<OrderOfDay>, Failure, Store> {
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
 * Goods of which something may not have left: an order counted in bulk is on hire as soon as some of it is. Units are
 * counted by those allocated, as each leaves by itself and the status follows them. A kit that left as its parts
 * passes, too: its pieces tell ({@link isToGo}).
 */
const goods_left = (dialect: Dialect): string =>
  `exists (select 1 from ${quote(opportunity_items.name)} line ` +
  `join ${quote(products.name)} product on product.id = line.item_id ` +
  `where line.opportunity_id = ${quote(opportunities.name)}.id and line.is_live ` +
  `and line.item_type in ('product', 'accessory') and line.transaction_type <> ${service} ` +
  `and line.quantity > case when product.stock_method = ${serialised} then ` +
  // Decimals are whole hundredths on SQLite.
  `${dialect === "pg" ? 1 : 100} * ` +
  `(select count(*) from ${quote(asset_assignments.name)} unit where unit.opportunity_item_id = line.id) ` +
  `else line.dispatched_quantity end)`

/** Orders of which something may still be to go, that leave between these instants and are not over. */
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
/** Whether something of an order is still to leave; `leaving` lets those pass of which this is not sure. */
export const isToGo = ({ status }: OrderOfDay, pieces: Pieces): boolean =>
  status !== statuses.on_hire.status || isNotAllOut(pieces)
/** What is out cannot be missing: an order of which all is out lacks nothing. */
export const isNotAllOut = ({ back, out, wanted }: Pieces): boolean => out + back < wanted
/**
 * Something is out, be it only the case of what came back by itself. What is allocated and never went keeps an order
 * Dispatched after all that did go is back. Where nothing was counted out, somebody said by hand that it is.
 */
const something_out = ((): string => {
  const of_order = `opportunity_id = ${quote(opportunities.name)}.id`
  const unit = `exists (select 1 from ${quote(asset_assignments.name)} where ${of_order} and status`
  const line = `exists (select 1 from ${quote(opportunity_items.name)} where ${of_order} and is_live and`
  const around = `exists (select 1 from ${quote(containers.name)} where ${of_order} and status = 'dispatched')`
  const out = `${unit} in (${dispatched}, ${on_hire})) or ${line} dispatched_quantity > returned_quantity) or ${around}`
  return `(${out} or not (${unit} >= ${checked_in}) or ${line} dispatched_quantity > 0)))`
})()
/** Orders with something out that is due back before the day is over. */
export const returning = (store_id: number | undefined, { to }: ReturnType<typeof widest>) =>
  selected(
    store_id,
    (bound) =>
      `state = ${order} and status in (${statuses.dispatched.status}, ${statuses.on_hire.status}) ` +
      `and not open_ended_rental and (${firstSetWithin(back_columns, { from: undefined, to }, bound)}) ` +
      `and ${something_out}`,
    "ends_at"
  )
/** Orders, those partly out included, and reserved quotations that lack something and begin soon. */
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

/** How far each order is, by its id: five queries for all of them, and one sum for each, however often it is asked. */
export const piecesOfOrders = (
  ids: ReadonlyArray<number>,
  settings: Settings
): Effect.Effect<(id: number) => Pieces, Failure, Store> =>
  Effect.map(loadLinePieces(ids, settings), (piecesOf) => {
    const sums = new Map([...new Set(ids)].map((id) => [id, sumOfPieces(piecesOf(id))]))
    return (id) => sums.get(id) ?? sumOfPieces([])
  })
