/** Reads opportunities with what they demand and what there is for them: a fixed number of queries, however many. */
import { Effect } from "effect"
import { snapshotsForLines } from "../../availability/lines-query.ts"
import type { LineShortage } from "../../availability/line.ts"
import type { AvailabilitySnapshot } from "../../availability/snapshot.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import type { Failure } from "../../kernel/endpoint.ts"
import type { Settings } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import type { Opportunity } from "../aggregate.ts"
import { demandSettings, hasShortageCheck, linesTakingStock, shortagesOf } from "../demands.ts"
import { opportunity_items } from "../lines/schema.ts"
import type { OpportunityRow } from "../schema.ts"
import { asset_assignments } from "../units/schema.ts"

interface Now {
  readonly settings: Settings
  readonly now: string
}
/** An opportunity with its live lines and its demands. */
export interface Loaded {
  readonly opportunity: Opportunity
  readonly demands: ReadonlyArray<DemandRow>
}
export interface WithDemands {
  readonly loaded: ReadonlyArray<Loaded>
  /** Stock by store, over the time of all their lines. */
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot>
}

/** Those that still need stock, unless `over_too`. */
export const loadWithDemands = Effect.fnUntraced(function* (
  all: ReadonlyArray<OpportunityRow>,
  { now, settings }: Now,
  over_too = false
): Effect.fn.Return<WithDemands, Failure, Store> {
  const headers = over_too ? all : all.filter((row) => hasShortageCheck(row, settings))
  if (headers.length === 0) return { loaded: [], snapshots: new Map() }
  const store = yield* Store
  const opportunity_id = headers.map(({ id }) => id)
  const lines = Map.groupBy(
    yield* store.find(opportunity_items, { opportunity_id, is_live: true }, { order: ["path", "id"] }),
    (row) => row.opportunity_id
  )
  const units = Map.groupBy(yield* store.find(asset_assignments, { opportunity_id }), (row) => row.opportunity_id)
  const own = Map.groupBy(yield* store.find(demands, { opportunity_id }), (row) => row.opportunity_id)
  const loaded = headers.map((header) => ({
    opportunity: { header, lines: lines.get(header.id) ?? [], units: units.get(header.id) ?? [], costs: [] },
    demands: own.get(header.id) ?? []
  }))
  const needed = loaded.flatMap(({ opportunity }) => linesTakingStock(opportunity, demandSettings(settings, now)))
  return { loaded, snapshots: yield* snapshotsForLines(needed, { settings, now }) }
})

/** The facts of one of them, as the rules of shortages take them. */
export const stockFactsOf = ({ opportunity }: Loaded, { snapshots }: WithDemands) => ({
  opportunity,
  snapshots,
  touched_line_ids: undefined
})

/** The shortages of many opportunities, in their order. */
export const shortagesNow = Effect.fnUntraced(function* (
  headers: ReadonlyArray<OpportunityRow>,
  context: Now
): Effect.fn.Return<
  ReadonlyArray<{ readonly opportunity: Opportunity; readonly shortages: ReadonlyArray<LineShortage> }>,
  Failure,
  Store
> {
  const found = yield* loadWithDemands(headers, context)
  return found.loaded.map((one) => ({
    opportunity: one.opportunity,
    shortages: shortagesOf(stockFactsOf(one, found), one.opportunity, one.demands, context.settings, context.now)
  }))
})
