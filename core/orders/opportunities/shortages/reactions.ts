/**
 * Updates the flag `has_shortage` of affected opportunities when stock, orders from suppliers or other demands change
 * (rules/rulings 26).
 */
import { Effect, Result } from "effect"
import { activeDemand, type Demand } from "../../availability/rules/demand.ts"
import { lowestFree } from "../../availability/rules/line.ts"
import { loadSnapshots, stockLevelOf } from "../../availability/facts/load.ts"
import { type AvailabilitySnapshot, withDemands, withLevels } from "../../availability/rules/snapshot.ts"
import { withMargin } from "../../availability/api/window.ts"
import { demands, demandsReplacedEvent, lockClaims, suppliesReplacedEvent } from "../../demands/schema.ts"
import { bindings, chunked, dataOf, isJsonObject, reaction, Store } from "../../../kernel/index.ts"
import type { DecideContext, NewEvent, Settings } from "../../../kernel/index.ts"
import { hull, type Period } from "../../../values/period.ts"
import { instantOf, millisOf } from "../../../values/time.ts"
import { opportunities, type OpportunityRow } from "../tables/index.ts"
import { lockIfFree } from "../../../kernel/runtime/locks.ts"
import { products } from "../../../products/products/schema.ts"
import { opportunityStream } from "../events/event-families.ts"
import { isShort, shortagesOf, type Opportunity } from "../state/index.ts"
import { headerUpdated } from "../events/header.ts"
import { lineOnOrder } from "../events/lines.ts"
import { loadWithDemands, type WithDemands } from "./api.ts"
import { levelChanged, levelDeleted, levelMade, stockMoved, type StockMoved, wanting } from "./stock-moved.ts"

// Changes of demands by a command, and the other opportunities affected: those that need the same products at the same
// time.

/** Identifies the source of a demand: `opportunity_item/7`. */
const sourceKey = ({ source_id, source_type }: Pick<Demand, "source_id" | "source_type">): string =>
  `${source_type}/${source_id}`

/** All demands of the changed sources, before and after the events. */
interface DemandsMoved {
  readonly sources: ReadonlySet<string>
  readonly before: ReadonlyArray<Demand>
  readonly after: ReadonlyArray<Demand>
}
const no_demands_moved: DemandsMoved = { sources: new Set(), before: [], after: [] }

/** A change of phase alone does not affect figures, so these events are ignored. */
const demandsMoved = Effect.fnUntraced(function* (all: ReadonlyArray<NewEvent>): Store.Reads<DemandsMoved> {
  const replaced = dataOf(demandsReplacedEvent, all)
  if (replaced.length === 0) return no_demands_moved
  const after = new Map<string, ReadonlyArray<Demand>>()
  for (const one of replaced) after.set(sourceKey(one), one.claims)
  const before: Array<Demand> = []
  for (const [source_type, ones] of Map.groupBy(replaced, (one) => one.source_type))
    before.push(
      ...(yield* Store.find(demands, { source_type, source_id: [...new Set(ones.map(({ source_id }) => source_id))] }))
    )
  return { sources: new Set(after.keys()), before, after: [...after.values()].flat() }
})

/** The period during which a product's demand at a store rises or falls. */
interface DemandChange {
  readonly product_id: number
  readonly store_id: number
  readonly window: Period
  readonly is_more: boolean
  readonly is_less: boolean
}
const counting = ["product_id", "store_id", "asset_id", "buffered_starts_at", "buffered_ends_at", "out"] as const

/** Demands that count in neither state, or equally in both, change nothing. */
const changesOf = ({ after, before }: DemandsMoved, now: string): ReadonlyArray<DemandChange> => {
  const [was, is] = [before, after].map(
    (rows) => new Map(rows.filter((row) => row.is_active || row.pending_checkin).map((row) => [row.id, row]))
  )
  const found = new Map<string, DemandChange>()
  const add = (row: Demand, is_more: boolean, is_less: boolean): void => {
    const key = `${row.product_id}/${row.store_id}`
    const earlier = found.get(key)
    const window: Period = activeDemand(row, millisOf(now))
    found.set(key, {
      product_id: row.product_id,
      store_id: row.store_id,
      window: hull(window, earlier?.window ?? window),
      is_more: is_more || earlier?.is_more === true,
      is_less: is_less || earlier?.is_less === true
    })
  }
  for (const id of new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])) {
    const [one, other] = [was?.get(id), is?.get(id)]
    if (one === undefined || other === undefined) {
      if (one !== undefined) add(one, false, true)
      if (other !== undefined) add(other, true, false)
    } else if (
      counting.some((name) => one[name] !== other[name]) ||
      one.is_active !== other.is_active ||
      one.pending_checkin !== other.pending_checkin
    ) {
      add(one, true, true)
      add(other, true, true)
    } else if (one.quantity !== other.quantity) add(other, other.quantity > one.quantity, other.quantity < one.quantity)
  }
  return [...found.values()]
}

/** Maximum length of a slot, clock changes included: stock and demands count in every slot they meet. */
const slot_max = 26 * 3_600_000
const earliest_millis = Date.parse("0001-01-01T00:00:00.000Z")
const at_once = 100

interface Wanted {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  /** Quantity that holds no stock. */
  readonly unheld: number
}
const own_named_max = 100
/**
 * Demands on the changed products in that period by opportunities with this flag, except `own`: one row per line and
 * product.
 */
const wantedOf = Effect.fnUntraced(function* (
  changes: ReadonlyArray<DemandChange>,
  has_shortage: boolean,
  own: ReadonlySet<number>
): Store.Reads<ReadonlyArray<Wanted>> {
  const store = yield* Store
  const found: Array<Wanted> = []
  for (const some of chunked(changes, at_once)) {
    const { bind, values } = bindings(store.dialect)
    const places = some.map(
      ({ product_id, store_id, window }) =>
        `(c.product_id = ${bind(product_id)} and c.store_id = ${bind(store_id)}` +
        ` and c.buffered_ends_at > ${bind(instantOf(Math.max(window.from - slot_max, earliest_millis)))}` +
        ` and c.buffered_starts_at < ${bind(instantOf(window.to + slot_max))})`
    )
    const except = own.size > own_named_max ? [] : [...own].map((id) => ` and c.opportunity_id <> ${bind(id)}`)
    const rows = yield* store.run<{ readonly [column: string]: unknown }>(
      "select o.id, c.product_id, c.store_id, sum(case when c.is_active then 0 else c.quantity end) as unheld " +
        `from ${demands.name} c join ${opportunities.name} o on o.id = c.opportunity_id ` +
        `where c.phase in ('draft', 'held', 'reserved', 'on_hire') and o.has_shortage = ${String(has_shortage)} ` +
        `and (${places.join(" or ")})${except.join("")} ` +
        "group by o.id, c.source_type, c.source_id, c.product_id, c.store_id",
      values
    )
    for (const row of rows)
      if (!own.has(Number(row["id"])))
        found.push({
          id: Number(row["id"]),
          product_id: Number(row["product_id"]),
          store_id: Number(row["store_id"]),
          unheld: Number(row["unheld"])
        })
  }
  return found
})

const placeOf = ({ product_id, store_id }: { readonly product_id: number; readonly store_id: number }): string =>
  `${product_id}/${store_id}`

/** The snapshot with the demands of these sources replaced, and units out of service counted by the new ones. */
const withSources = (
  snapshot: AvailabilitySnapshot,
  { after, before, sources }: DemandsMoved
): AvailabilitySnapshot => {
  if (sources.size === 0) return snapshot
  const replaced = withDemands(
    {
      ...snapshot,
      demandsOf: (product_id) => snapshot.demandsOf(product_id).filter(({ demand }) => !sources.has(sourceKey(demand)))
    },
    after
  )
  const product_ids = new Set([...before, ...after].flatMap((one) => (one.asset_id === null ? [] : one.product_id)))
  const out_of_service = [...product_ids].flatMap((id) =>
    snapshot
      .stockOf(id)
      .map(({ level }) => level)
      .filter((level) => (level.out_of_service ?? []).length > 0 || (level.inspection_due_at ?? null) !== null)
  )
  return out_of_service.length === 0 ? replaced : withLevels(replaced, out_of_service, new Set())
}

/** Minimum availability of each product during the change. */
const fewestFree = Effect.fnUntraced(function* (
  changes: ReadonlyArray<DemandChange>,
  moved: DemandsMoved,
  context: { readonly settings: Settings; readonly now: string }
): Store.Reads<ReadonlyMap<string, number>> {
  const window = changes.map((one) => one.window).reduce(hull)
  const snapshots = yield* loadSnapshots(
    {
      store_ids: [...new Set(changes.map(({ store_id }) => store_id))],
      product_ids: [...new Set(changes.map(({ product_id }) => product_id))],
      window: withMargin(window)
    },
    context
  )
  const now = new Map<number, AvailabilitySnapshot>(
    [...snapshots].map(([id, snapshot]) => [id, withSources(snapshot, moved)])
  )
  return new Map(
    changes.flatMap((change) => {
      const snapshot = now.get(change.store_id)
      return snapshot === undefined
        ? []
        : [[placeOf(change), lowestFree(snapshot, change.product_id, change.window)] as const]
    })
  )
})

/**
 * Other opportunities whose flag may change: short ones if something is released; if more is demanded, those not short
 * yet that need more than is available.
 */
const concernedBy = Effect.fnUntraced(function* (
  moved: DemandsMoved,
  context: { readonly settings: Settings; readonly now: string }
): Store.Reads<ReadonlyArray<number>> {
  const changes = changesOf(moved, context.now)
  if (changes.length === 0) return []
  const own = new Set([...moved.before, ...moved.after].flatMap(({ opportunity_id }) => opportunity_id ?? []))
  const relieved = yield* wantedOf(
    changes.filter(({ is_less }) => is_less),
    true,
    own
  )
  const more = changes.filter(({ is_more }) => is_more)
  const wanted = yield* wantedOf(more, false, own)
  const places = new Set(wanted.map(placeOf))
  const contested = more.filter((one) => places.has(placeOf(one)))
  const left = contested.length === 0 ? new Map<string, number>() : yield* fewestFree(contested, moved, context)
  // Opportunities that hold stock have all they need unless something is overbooked.
  const pressed = wanted.filter((one) => {
    const quantity = left.get(placeOf(one)) ?? 0
    return quantity < 0 || one.unheld > quantity
  })
  return [...new Set([...relieved, ...pressed].map(({ id }) => id))]
})

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
): Store.Reads<ShortageFacts> {
  const headers = yield* Store.getMany(opportunities, ids)
  return { ...(yield* loadWithDemands(headers, context)), moved, demands }
})

/** The opportunity's lines with their quantity on order after the events. */
const ordered = (opportunity: Opportunity, all: ReadonlyArray<NewEvent>): Opportunity => {
  const now = new Map(dataOf(lineOnOrder, all).map(({ item_id, set }) => [item_id, set.on_order_quantity]))
  return {
    ...opportunity,
    lines: opportunity.lines.map((line) => ({ ...line, on_order_quantity: now.get(line.id) ?? line.on_order_quantity }))
  }
}
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

const changedFlags = (
  all: ReadonlyArray<NewEvent>,
  { demands, loaded, moved, snapshots }: ShortageFacts,
  { now, settings }: FactsContext
): ReadonlyArray<{ readonly header: OpportunityRow; readonly has_shortage: boolean }> => {
  const kept = new Set(moved.after.map(({ id }) => id))
  const gone = new Set(moved.before.flatMap(({ id }) => (kept.has(id) ? [] : [id])))
  const levels = moved.after.map(stockLevelOf)
  const after = new Map(
    [...snapshots].map(([id, snapshot]) => [id, withSources(withLevels(snapshot, levels, gone), demands)] as const)
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

/** Postgres has room for a few thousand locks over all transactions. */
const waited_for_max = 500

/**
 * Checks opportunities that need the changed products at that time, and those whose goods on order changed. Waits for
 * concurrent changes of them; if they are too many, only those whose flag changes are locked and checked again.
 * Opportunities whose demands the command changes are handled by its own rule.
 */
export const shortagesSeenAgain = reaction({
  on: [levelMade, levelChanged, levelDeleted, lineOnOrder, demandsReplacedEvent, suppliesReplacedEvent],
  facts: ({ all }, context) =>
    Effect.gen(function* (): Store.Reads<ShortageFacts> {
      // A merge moves lines, demands and stock together, so no shortage changes.
      if (all.some(({ type }) => type === products.merged_by?.event)) return nothing
      const moved = yield* stockMoved(all)
      const demands = yield* demandsMoved(all)
      // Concurrent demands are only visible once committed, so wait for them.
      const goods = [...moved.before, ...moved.after, ...demands.before, ...demands.after]
      yield* lockClaims(new Set(goods.map(({ product_id }) => product_id)))
      const ordered_for = dataOf(lineOnOrder, all).map(({ id }) => id)
      const concerned = [...(yield* concernedBy(demands, context)), ...ordered_for]
      const around = new Set([...(yield* wanting(moved, "all")), ...concerned])
      if (around.size === 0) return nothing
      // Concurrent commands have read the old stock, so their flags must be written before these are checked.
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
