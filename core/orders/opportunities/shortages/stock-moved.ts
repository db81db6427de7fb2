/** Changes of stock by a command, and the opportunities affected: those that need it during the change. */
import { Effect } from "effect"
import { bindings, chunked, dataOf, rowCreated, rowDeleted, rowUpdated, sameJson } from "../../../kernel/index.ts"
import { Store, type NewEvent } from "../../../kernel/index.ts"
import { supplyAsStock } from "../../availability/facts/load.ts"
import type { StockLevel } from "../../availability/rules/snapshot.ts"
import { demands, supplies, suppliesReplacedEvent } from "../../demands/schema.ts"
import { stock_levels, type StockLevelRow } from "../../../products/stock/schema.ts"
import { hull, openEndMillis, type Period } from "../../../values/period.ts"
import { instantOf, millisOf } from "../../../values/time.ts"
import { opportunities } from "../tables/index.ts"

export const levelMade = rowCreated(stock_levels),
  levelChanged = rowUpdated(stock_levels),
  levelDeleted = rowDeleted(stock_levels)

/** Columns of a stock level that determine its quantity, place and period. */
const counting = [
  "product_id",
  "store_id",
  "quantity_held",
  "is_gone",
  "starts_at",
  "ends_at",
  "out_of_service",
  "inspection_due_at"
] as const

/** Stock in the form that counts: of a level, or of a supply, whose id is negative. */
type StockRow = Omit<StockLevel, "last_transaction_type" | "out_of_service"> &
  Pick<StockLevelRow, "is_gone"> &
  Partial<Pick<StockLevelRow, "out_of_service">>
/** Stock that the events change, before and after them; new rows are only in `after`, deleted ones in `before`. */
export interface StockMoved {
  readonly before: ReadonlyArray<StockRow>
  readonly after: ReadonlyArray<StockRow>
}
const asRow = (supply: Parameters<typeof supplyAsStock>[0]): StockRow => {
  const { last_transaction_type: _last, out_of_service: _none, ...row } = supplyAsStock(supply)
  return { ...row, is_gone: false }
}
/** Supplies before and after the events. */
const suppliesMoved = Effect.fnUntraced(function* (all: ReadonlyArray<NewEvent>): Store.Reads<StockMoved> {
  const replaced = new Map(
    dataOf(suppliesReplacedEvent, all).map((one) => [`${one.source_type}/${one.source_id}`, one])
  )
  if (replaced.size === 0) return { before: [], after: [] }
  const before = yield* Effect.forEach([...replaced.values()], ({ source_id, source_type }) =>
    Store.find(supplies, { source_type, source_id })
  )
  return { before: before.flat().map(asRow), after: [...replaced.values()].flatMap((one) => one.supplies.map(asRow)) }
})
export const stockMoved = Effect.fnUntraced(function* (all: ReadonlyArray<NewEvent>): Store.Reads<StockMoved> {
  const changed = dataOf(levelChanged, all).filter((data) => counting.some((name) => name in data))
  const deleted = dataOf(levelDeleted, all)
  const made = dataOf(levelMade, all) as ReadonlyArray<StockLevelRow>
  const before = yield* Store.getMany(stock_levels, [...new Set([...changed, ...deleted].map(({ id }) => id))])
  const after = new Map([...before, ...made].map((row) => [row.id, row]))
  for (const { id, ...set } of changed) {
    const row = after.get(id)
    if (row !== undefined) after.set(id, { ...row, ...set })
  }
  for (const { id } of deleted) after.delete(id)
  const supplied = yield* suppliesMoved(all)
  return {
    before: [...before, ...supplied.before],
    after: [
      ...[...after.values()].filter((row) => Number(row.quantity_held) > 0 || row.stock_category !== 10),
      ...supplied.after
    ]
  }
})

const always: Period = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
/** Databases accept instants from year 1 on. */
const earliest_millis = Date.parse("0001-01-01T00:00:00.000Z")
const windowOf = ({ ends_at, starts_at }: StockRow): Period => ({
  from: starts_at === null ? always.from : millisOf(starts_at),
  to: ends_at === null ? always.to : millisOf(ends_at)
})

/** A change of one level: the period affected, and whether the quantity grows or shrinks. */
interface Moved {
  readonly window: Period
  readonly is_more: boolean
  readonly is_less: boolean
}
type Level = StockRow | undefined
/** Undefined if nothing that counts changed. */
const movedBetween = (before: Level, after: Level): Moved | undefined => {
  if (before === undefined || after === undefined) {
    const there = before ?? after
    return there && { window: windowOf(there), is_more: before === undefined, is_less: after === undefined }
  }
  const [was, is] = [windowOf(before), windowOf(after)]
  const more = Number(after.quantity_held) - Number(before.quantity_held)
  if (before.product_id !== after.product_id || before.store_id !== after.store_id || before.is_gone !== after.is_gone)
    return { window: hull(was, is), is_more: true, is_less: true }
  const is_longer = is.from < was.from || is.to > was.to
  const is_shorter = is.from > was.from || is.to < was.to
  // The quantity or the period out of service may have changed in either direction.
  if (
    !sameJson(before.out_of_service ?? [], after.out_of_service ?? []) ||
    before.inspection_due_at !== after.inspection_due_at
  )
    return { window: hull(was, is), is_more: true, is_less: true }
  if (more === 0 && !is_longer && !is_shorter) return undefined
  const window =
    more !== 0 || (was.from !== is.from && was.to !== is.to)
      ? hull(was, is)
      : was.from === is.from
        ? { from: Math.min(was.to, is.to), to: Math.max(was.to, is.to) }
        : { from: Math.min(was.from, is.from), to: Math.max(was.from, is.from) }
  return { window, is_more: more > 0 || is_longer, is_less: more < 0 || is_shorter }
}

/** Maximum length of a slot, clock changes included: stock and demands count in every slot they meet. */
const slot_max = 26 * 3_600_000

/**
 * Opportunities that demand the changed stock at that time and may still need it. More stock only ends shortages and
 * less only creates them, so `changing` leaves out those whose flag stays.
 */
export const wanting = Effect.fnUntraced(function* (
  moved: StockMoved,
  which: "all" | "changing"
): Store.Reads<ReadonlyArray<number>> {
  const rows = [...moved.before, ...moved.after]
  const [before, after] = [moved.before, moved.after].map((levels) => new Map(levels.map((row) => [row.id, row])))
  const changes = [...new Set(rows.map(({ id }) => id))].flatMap(
    (id) => movedBetween(before?.get(id), after?.get(id)) ?? []
  )
  if (changes.length === 0) return []
  const window = changes.map((one) => one.window).reduce(hull)
  const is_mixed = changes.some(({ is_less }) => is_less) && changes.some(({ is_more }) => is_more)
  const store_ids = [...new Set(rows.map(({ store_id }) => store_id))]
  const store = yield* Store
  const found = new Set<number>()
  for (const some of chunked([...new Set(rows.map(({ product_id }) => product_id))], 500)) {
    const { bind, list, values } = bindings(store.dialect)
    const conditions = [
      `c.product_id in (${list(some)})`,
      `c.store_id in (${list(store_ids)})`,
      "c.phase in ('draft', 'held', 'reserved', 'on_hire')",
      ...(window.from - slot_max <= earliest_millis
        ? []
        : [`c.buffered_ends_at > ${bind(instantOf(window.from - slot_max))}`]),
      ...(window.to + slot_max >= openEndMillis
        ? []
        : [`c.buffered_starts_at < ${bind(instantOf(window.to + slot_max))}`]),
      ...(is_mixed || which === "all"
        ? []
        : [`o.has_shortage = ${changes.some(({ is_more }) => is_more) ? "true" : "false"}`])
    ]
    const ids = yield* store.run<{ id: number | string }>(
      `select distinct o.id from ${demands.name} c join ${opportunities.name} o on o.id = c.opportunity_id ` +
        `where ${conditions.join(" and ")}`,
      values
    )
    for (const { id } of ids) found.add(Number(id))
  }
  return [...found]
})
