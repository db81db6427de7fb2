/**
 * When stock comes, goes or is ordered, the flag `has_shortage` of the opportunities that want it is looked at again
 * (rules/rulings 26).
 */
import { Effect, Result } from "effect"
import { snapshotsForLines } from "../../availability/lines-query.ts"
import { stockLevelOf } from "../../availability/load.ts"
import { type AvailabilitySnapshot, withLevels } from "../../availability/snapshot.ts"
import type { StockLevel } from "../../availability/stock.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import { rowCreated, rowDeleted, rowUpdated } from "../../kernel/crud-resource.ts"
import type { DecideContext, Failure } from "../../kernel/endpoint.ts"
import { lockStreams } from "../../kernel/engine.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { dataOf } from "../../kernel/event-type.ts"
import { reaction } from "../../kernel/react.ts"
import { bindings, chunked } from "../../kernel/store/statement.ts"
import { Store } from "../../kernel/store/store.ts"
import { products } from "../../products/schema.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"
import { opportunityStream } from "../event-families.ts"
import { demandSettings, hasShortageCheck, linesTakingStock, shortagesOf } from "../demands.ts"
import type { Opportunity } from "../aggregate.ts"
import { headerUpdated } from "../header/events.ts"
import { lineOnOrder } from "../lines/events.ts"
import { opportunity_items } from "../lines/schema.ts"
import { opportunities } from "../schema.ts"
import { asset_assignments } from "../units/schema.ts"

const levelMade = rowCreated(stock_levels),
  levelChanged = rowUpdated(stock_levels),
  levelDeleted = rowDeleted(stock_levels)

/** Columns of a level that say how much is where, and when. */
const counting = ["product_id", "store_id", "quantity_held", "is_gone", "starts_at", "ends_at"] as const

/** Levels as the events leave them, and those that are gone. */
export interface StockMoved {
  readonly before: ReadonlyArray<StockLevelRow>
  readonly after: ReadonlyArray<StockLevelRow>
}
const stockMoved = Effect.fnUntraced(function* (
  all: ReadonlyArray<NewEvent>
): Effect.fn.Return<StockMoved, Failure, Store> {
  const changed = dataOf(levelChanged, all).filter((data) => counting.some((name) => name in data))
  const deleted = dataOf(levelDeleted, all)
  const made = dataOf(levelMade, all) as ReadonlyArray<StockLevelRow>
  const before = yield* (yield* Store).getMany(stock_levels, [...new Set([...changed, ...deleted].map(({ id }) => id))])
  const after = new Map([...before, ...made].map((row) => [row.id, row]))
  for (const { id, ...set } of changed) {
    const row = after.get(id)
    if (row !== undefined) after.set(id, { ...row, ...set })
  }
  for (const { id } of deleted) after.delete(id)
  return {
    before,
    after: [...after.values()].filter((row) => Number(row.quantity_held) > 0 || row.stock_category !== 10)
  }
})

/** Opportunities with demands on these products at these stores that may need stock yet. */
const wanting = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  store_ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyArray<number>, Failure, Store> {
  const store = yield* Store
  const found = new Set<number>()
  for (const some of chunked(product_ids, 500)) {
    const { bind, values } = bindings(store.dialect)
    const rows = yield* store.run<{ id: number | string }>(
      `select distinct c.opportunity_id as id from ${demands.name} c where ` +
        `c.product_id in (${some.map(bind).join(", ")}) and c.store_id in (${store_ids.map(bind).join(", ")}) ` +
        `and c.phase in ('draft', 'held', 'reserved', 'on_hire') and c.opportunity_id is not null`,
      values
    )
    for (const { id } of rows) found.add(Number(id))
  }
  return [...found]
})

/** An opportunity to look at, with its demands. */
interface Looked {
  readonly opportunity: Opportunity
  readonly demands: ReadonlyArray<DemandRow>
}
interface ShortageFacts {
  readonly looked: ReadonlyArray<Looked>
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot>
  readonly moved: StockMoved
}
const nothing: ShortageFacts = { looked: [], snapshots: new Map(), moved: { before: [], after: [] } }

/** All of them at once: a fixed number of queries, however many. */
const loadLooked = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  { settings }: Pick<DecideContext, "settings">
): Effect.fn.Return<ReadonlyArray<Looked>, Failure, Store> {
  const store = yield* Store
  yield* lockStreams(ids.map(opportunityStream))
  const headers = (yield* store.getMany(opportunities, ids)).filter((row) => hasShortageCheck(row, settings))
  if (headers.length === 0) return []
  const opportunity_id = headers.map(({ id }) => id)
  const lines = Map.groupBy(
    yield* store.find(opportunity_items, { opportunity_id, is_live: true }, { order: ["path", "id"] }),
    (row) => row.opportunity_id
  )
  const units = Map.groupBy(yield* store.find(asset_assignments, { opportunity_id }), (row) => row.opportunity_id)
  const claims = Map.groupBy(yield* store.find(demands, { opportunity_id }), (row) => row.opportunity_id)
  return headers.map((header) => ({
    opportunity: { header, lines: lines.get(header.id) ?? [], units: units.get(header.id) ?? [], costs: [] },
    demands: claims.get(header.id) ?? []
  }))
})

const idsOf = <K extends "product_id" | "store_id">(
  { after, before }: StockMoved,
  column: K
): ReadonlyArray<number> => [...new Set([...before, ...after].map((row) => row[column]))]

/** The lines of the opportunity with what is on order for them now. */
const ordered = (opportunity: Opportunity, all: ReadonlyArray<NewEvent>): Opportunity => {
  const now = new Map(dataOf(lineOnOrder, all).map(({ item_id, set }) => [item_id, set.on_order_quantity]))
  return {
    ...opportunity,
    lines: opportunity.lines.map((line) => ({ ...line, on_order_quantity: now.get(line.id) ?? line.on_order_quantity }))
  }
}
const asStock = (row: StockLevelRow): StockLevel => stockLevelOf(row)

/**
 * Looks at those opportunities again that want what moved, and at those that something is on order for. What the same
 * command does to an opportunity itself is settled by its own rule.
 */
export const shortagesSeenAgain = reaction({
  on: [levelMade, levelChanged, levelDeleted, lineOnOrder],
  facts: ({ all }, context) =>
    Effect.gen(function* (): Effect.fn.Return<ShortageFacts, Failure, Store> {
      // A merge moves lines, demands and stock together: what was enough stays enough.
      if (all.some(({ type }) => type === products.merged_by?.event)) return nothing
      const moved = yield* stockMoved(all)
      const product_ids = idsOf(moved, "product_id")
      const ids = [
        ...new Set([
          ...(product_ids.length === 0 ? [] : yield* wanting(product_ids, idsOf(moved, "store_id"))),
          ...dataOf(lineOnOrder, all).map(({ id }) => id)
        ])
      ]
      if (ids.length === 0) return nothing
      const looked = yield* loadLooked(ids, context)
      const lines = looked.flatMap(({ opportunity }) =>
        linesTakingStock(opportunity, demandSettings(context.settings, context.now))
      )
      return { looked, moved, snapshots: yield* snapshotsForLines(lines, context) }
    }),
  decide: ({ all }, { looked, moved, snapshots }, { now, settings }) => {
    const kept = new Set(moved.after.map(({ id }) => id))
    const gone = new Set(moved.before.flatMap(({ id }) => (kept.has(id) ? [] : [id])))
    const levels = moved.after.map(asStock)
    const after = new Map([...snapshots].map(([id, snapshot]) => [id, withLevels(snapshot, levels, gone)] as const))
    return Result.succeed(
      looked.flatMap(({ demands: own, opportunity: before }) => {
        const opportunity = ordered(before, all)
        const state = { opportunity, snapshots: after, touched_line_ids: undefined }
        const has_shortage = shortagesOf(state, opportunity, own, settings, now).some(
          (one) => one.remaining_shortfall > 0
        )
        return has_shortage === before.header.has_shortage ? [] : [headerUpdated(before.header, { has_shortage })]
      })
    )
  }
})
