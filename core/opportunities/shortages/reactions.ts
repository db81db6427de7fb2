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
import type { DecideContext, Failure } from "../../kernel/endpoint.ts"
import { lockStreams } from "../../kernel/engine.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { dataOf } from "../../kernel/event-type.ts"
import { reaction } from "../../kernel/react.ts"
import { Store } from "../../kernel/store/store.ts"
import { products } from "../../products/schema.ts"
import type { StockLevelRow } from "../../stock/schema.ts"
import { opportunityStream } from "../event-families.ts"
import { demandSettings, hasShortageCheck, linesTakingStock, shortagesOf } from "../demands.ts"
import type { Opportunity } from "../aggregate.ts"
import { headerUpdated } from "../header/events.ts"
import { lineOnOrder } from "../lines/events.ts"
import { opportunity_items } from "../lines/schema.ts"
import { opportunities, type OpportunityRow } from "../schema.ts"
import { asset_assignments } from "../units/schema.ts"
import { levelChanged, levelDeleted, levelMade, stockMoved, type StockMoved, wanting } from "./stock-moved.ts"

const asStock = (row: StockLevelRow): StockLevel => stockLevelOf(row)

/** An opportunity to look at, with its demands. */
interface Looked {
  readonly opportunity: Opportunity
  readonly demands: ReadonlyArray<DemandRow>
}
type FactsContext = Pick<DecideContext, "now" | "settings" | "viewer">
interface ShortageFacts {
  readonly looked: ReadonlyArray<Looked>
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot>
  readonly moved: StockMoved
}
const nothing: ShortageFacts = { looked: [], snapshots: new Map(), moved: { before: [], after: [] } }

/** All of them at once: a fixed number of queries, however many. */
const loadLooked = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  { settings }: FactsContext
): Effect.fn.Return<ReadonlyArray<Looked>, Failure, Store> {
  const store = yield* Store
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
const loadFacts = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  moved: StockMoved,
  context: FactsContext
): Effect.fn.Return<ShortageFacts, Failure, Store> {
  const looked = yield* loadLooked(ids, context)
  const lines = looked.flatMap(({ opportunity }) =>
    linesTakingStock(opportunity, demandSettings(context.settings, context.now))
  )
  return { looked, moved, snapshots: yield* snapshotsForLines(lines, context) }
})

/** The lines of the opportunity with what is on order for them now. */
const ordered = (opportunity: Opportunity, all: ReadonlyArray<NewEvent>): Opportunity => {
  const now = new Map(dataOf(lineOnOrder, all).map(({ item_id, set }) => [item_id, set.on_order_quantity]))
  return {
    ...opportunity,
    lines: opportunity.lines.map((line) => ({ ...line, on_order_quantity: now.get(line.id) ?? line.on_order_quantity }))
  }
}
/** What the flags become, for those that change. */
const changedFlags = (
  all: ReadonlyArray<NewEvent>,
  { looked, moved, snapshots }: ShortageFacts,
  { now, settings }: FactsContext
): ReadonlyArray<{ readonly header: OpportunityRow; readonly has_shortage: boolean }> => {
  const kept = new Set(moved.after.map(({ id }) => id))
  const gone = new Set(moved.before.flatMap(({ id }) => (kept.has(id) ? [] : [id])))
  const levels = moved.after.map(asStock)
  const after = new Map([...snapshots].map(([id, snapshot]) => [id, withLevels(snapshot, levels, gone)] as const))
  return looked.flatMap(({ demands: own, opportunity: before }) => {
    const opportunity = ordered(before, all)
    const state = { opportunity, snapshots: after, touched_line_ids: undefined }
    const has_shortage = shortagesOf(state, opportunity, own, settings, now).some((one) => one.remaining_shortfall > 0)
    return has_shortage === before.header.has_shortage ? [] : [{ header: before.header, has_shortage }]
  })
}

/** Postgres holds some thousands of locks for all transactions together. */
const waited_for_max = 500

/**
 * Looks at those opportunities again that want what moved while it did, and at those that something is on order for.
 * Whoever changes one of them is waited for. Where they are too many for that, only those whose flag changes are
 * locked, and looked at once more. What the same command does to an opportunity itself is settled by its own rule.
 */
export const shortagesSeenAgain = reaction({
  on: [levelMade, levelChanged, levelDeleted, lineOnOrder],
  facts: ({ all }, context) =>
    Effect.gen(function* (): Effect.fn.Return<ShortageFacts, Failure, Store> {
      // A merge moves lines, demands and stock together: what was enough stays enough.
      if (all.some(({ type }) => type === products.merged_by?.event)) return nothing
      const moved = yield* stockMoved(all)
      const ordered_for = dataOf(lineOnOrder, all).map(({ id }) => id)
      const around = new Set([...(yield* wanting(moved, "all")), ...ordered_for])
      if (around.size === 0) return nothing
      // Whoever changes one of them has read the stock as it was: their flags are those that are written last.
      const waits = around.size <= waited_for_max
      if (waits) yield* lockStreams([...around].map(opportunityStream))
      const ids = [...new Set([...(yield* wanting(moved, "changing")), ...ordered_for])]
      if (ids.length === 0) return nothing
      if (waits) return yield* loadFacts(ids, moved, context)
      const changing = changedFlags(all, yield* loadFacts(ids, moved, context), context).map(({ header }) => header.id)
      if (changing.length === 0) return nothing
      yield* lockStreams(changing.map(opportunityStream))
      return yield* loadFacts(changing, moved, context)
    }),
  decide: ({ all }, facts, context) =>
    Result.succeed(
      changedFlags(all, facts, context).map(({ has_shortage, header }) => headerUpdated(header, { has_shortage }))
    )
})
