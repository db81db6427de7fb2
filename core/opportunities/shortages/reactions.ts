/**
 * When stock comes, goes or is ordered, or somebody else takes more or less of it, the flag `has_shortage` of the
 * opportunities that want it is looked at again (rules/rulings 26).
 */
import { Effect, Result } from "effect"
import { stockLevelOf } from "../../availability/load.ts"
import { withLevels, withSources } from "../../availability/snapshot.ts"
import type { StockLevel } from "../../availability/stock.ts"
import { demandsReplacedEvent } from "../../demands/events.ts"
import { lockClaims } from "../../demands/lock.ts"
import type { DecideContext, Failure } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { dataOf } from "../../kernel/event-type.ts"
import { isJsonObject } from "../../kernel/json.ts"
import { lockIfFree } from "../../kernel/locks.ts"
import { reaction } from "../../kernel/react.ts"
import { Store } from "../../kernel/store/store.ts"
import { products } from "../../products/schema.ts"
import type { StockLevelRow } from "../../stock/schema.ts"
import { opportunityStream } from "../event-families.ts"
import { isShort, shortagesOf } from "../demands.ts"
import type { Opportunity } from "../aggregate.ts"
import { headerUpdated } from "../header/events.ts"
import { lineOnOrder } from "../lines/events.ts"
import { opportunities, type OpportunityRow } from "../schema.ts"
import { concernedBy, type DemandsMoved, demandsMoved, no_demands_moved, sourceKey } from "./demands-moved.ts"
import { loadWithDemands, type WithDemands } from "./load.ts"
import { levelChanged, levelDeleted, levelMade, stockMoved, type StockMoved, wanting } from "./stock-moved.ts"

const asStock = (row: StockLevelRow): StockLevel => stockLevelOf(row)

type FactsContext = Pick<DecideContext, "now" | "settings" | "viewer">
interface ShortageFacts extends WithDemands {
  readonly moved: StockMoved
  readonly demands: DemandsMoved
}
const nothing: ShortageFacts = {
  loaded: [],
  snapshots: new Map(),
  moved: { before: [], after: [] },
  demands: no_demands_moved
}

const loadFacts = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>,
  moved: StockMoved,
  demands: DemandsMoved,
  context: FactsContext
): Effect.fn.Return<ShortageFacts, Failure, Store> {
  const headers = yield* (yield* Store).getMany(opportunities, ids)
  return { ...(yield* loadWithDemands(headers, context)), moved, demands }
})

/** The lines of the opportunity with what is on order for them now. */
const ordered = (opportunity: Opportunity, all: ReadonlyArray<NewEvent>): Opportunity => {
  const now = new Map(dataOf(lineOnOrder, all).map(({ item_id, set }) => [item_id, set.on_order_quantity]))
  return {
    ...opportunity,
    lines: opportunity.lines.map((line) => ({ ...line, on_order_quantity: now.get(line.id) ?? line.on_order_quantity }))
  }
}
/** The flag as the events so far leave it. */
const flagAfter = (all: ReadonlyArray<NewEvent>, header: OpportunityRow): boolean => {
  const last = all.findLast(
    ({ data, type }) =>
      type === "opportunity.updated" &&
      data["id"] === header.id &&
      isJsonObject(data["set"]) &&
      data["set"]["has_shortage"] !== undefined
  )
  return last === undefined || !isJsonObject(last.data["set"])
    ? header.has_shortage
    : last.data["set"]["has_shortage"] === true
}

/** What the flags become, for those that change. */
const changedFlags = (
  all: ReadonlyArray<NewEvent>,
  { demands, loaded, moved, snapshots }: ShortageFacts,
  { now, settings }: FactsContext
): ReadonlyArray<{ readonly header: OpportunityRow; readonly has_shortage: boolean }> => {
  const kept = new Set(moved.after.map(({ id }) => id))
  const gone = new Set(moved.before.flatMap(({ id }) => (kept.has(id) ? [] : [id])))
  const levels = moved.after.map(asStock)
  const after = new Map(
    [...snapshots].map(
      ([id, snapshot]) =>
        [id, withSources(withLevels(snapshot, levels, gone), demands.sources, sourceKey, demands.after)] as const
    )
  )
  return loaded.flatMap(({ demands: stored, opportunity: before }) => {
    const opportunity = ordered(before, all)
    const own = [
      ...stored.filter((one) => !demands.sources.has(sourceKey(one))),
      ...demands.after.filter(({ opportunity_id }) => opportunity_id === before.header.id)
    ]
    const state = { opportunity, snapshots: after, touched_line_ids: undefined }
    const has_shortage = isShort(shortagesOf(state, opportunity, own, settings, now))
    return has_shortage === flagAfter(all, before.header) ? [] : [{ header: before.header, has_shortage }]
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
  on: [levelMade, levelChanged, levelDeleted, lineOnOrder, demandsReplacedEvent],
  facts: ({ all }, context) =>
    Effect.gen(function* (): Effect.fn.Return<ShortageFacts, Failure, Store> {
      // A merge moves lines, demands and stock together: what was enough stays enough.
      if (all.some(({ type }) => type === products.merged_by?.event)) return nothing
      const moved = yield* stockMoved(all)
      const demands = yield* demandsMoved(all)
      // What others claim of it meanwhile is not to be seen before they are done.
      const goods = [...moved.before, ...moved.after, ...demands.before, ...demands.after]
      yield* lockClaims(new Set(goods.map(({ product_id }) => product_id)))
      const ordered_for = dataOf(lineOnOrder, all).map(({ id }) => id)
      const concerned = [...(yield* concernedBy(demands, context)), ...ordered_for]
      const around = new Set([...(yield* wanting(moved, "all")), ...concerned])
      if (around.size === 0) return nothing
      // Whoever changes one of them has read the stock as it was: their flags are those that are written last.
      const waits = around.size <= waited_for_max
      if (waits) yield* lockIfFree([...around].map(opportunityStream))
      const ids = [...new Set([...(yield* wanting(moved, "changing")), ...concerned])]
      if (ids.length === 0) return nothing
      if (waits) return yield* loadFacts(ids, moved, demands, context)
      const changing = changedFlags(all, yield* loadFacts(ids, moved, demands, context), context)
      if (changing.length === 0) return nothing
      const changing_ids = changing.map(({ header }) => header.id)
      yield* lockIfFree(changing_ids.map(opportunityStream))
      return yield* loadFacts(changing_ids, moved, demands, context)
    }),
  decide: ({ all }, facts, context) =>
    Result.succeed(
      changedFlags(all, facts, context).map(({ has_shortage, header }) => headerUpdated(header, { has_shortage }))
    )
})
