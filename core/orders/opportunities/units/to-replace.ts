/**
 * Allocated units that will be out of service: the order is not short while others are free, but one of those must be
 * allocated (rules/availability 9).
 */
import { Effect } from "effect"
import { availableAssets } from "../../availability/rules/days.ts"
import { snapshotsForLines } from "../../availability/api/window.ts"
import { choice, integer, Shown, Store, text, timestamp, type Now } from "../../../kernel/index.ts"
import type { StockLevelRow } from "../../../products/stock/schema.ts"
import {
  blocksUninspected,
  out_of_service_labels,
  outOfServiceDuring,
  outOfServiceOf,
  outOfServiceWords,
  stock_levels
} from "../../../products/stock/schema.ts"
import { millisOf } from "../../../values/time.ts"
import { type DecisionState, demandSettings, linesTakingStock, type Opportunity } from "../state/index.ts"
import { allocated, asset_assignments, isClosed, opportunities, opportunity_items, prepared } from "../tables/index.ts"
import type { OpportunityRow } from "../tables/index.ts"
import { namesText } from "../../../values/text.ts"

const shown = {
  asset_id: integer({ describe: "Id of the assignment to replace" }),
  opportunity_item_id: integer(),
  stock_level_id: integer(),
  name: text(),
  state: choice(out_of_service_labels),
  expected_back_at: timestamp({ nullable: true }),
  free: Shown.objects({ id: integer(), name: text() }, { describe: "Free units of the product, as replacements" }),
  says: text({ describe: "Why it needs replacing, in words" })
}
export const toReplaceShown = Shown.objects(shown, {
  describe: "Allocated units that are out of service on the line's dates and need replacing"
})

const nameOf = ({
  asset_number,
  id,
  item_name,
  serial_number
}: Pick<StockLevelRow, "asset_number" | "id" | "item_name" | "serial_number">): string =>
  asset_number ?? serial_number ?? item_name ?? `unit ${id}`
const listed_max = 5

/** Allocated units, not yet dispatched, whose level is out of service during their line's window. Pure. */
export const brokenUnits = (
  { header, lines, units }: Opportunity,
  levels: DecisionState["levels"],
  { now, settings }: Now
) => {
  if (header.deleted_at !== null || isClosed(header)) return []
  const windows = new Map(
    linesTakingStock({ header, lines, units, costs: [] }, demandSettings(settings, now)).map((line) => [line.id, line])
  )
  return units.flatMap((unit) => {
    const level = levels.get(unit.stock_level_id)
    const line = windows.get(unit.opportunity_item_id)
    if (level === undefined || line === undefined || unit.status > prepared) return []
    const window = { from: millisOf(line.starts_at), to: millisOf(line.ends_at) }
    const entry = outOfServiceDuring(level, { now, settings }, window)
    return entry === undefined ? [] : [{ unit, level, line, window, entry }]
  })
}

/**
 * Out-of-service levels allocated to these opportunities, with the opportunities and active lines. Two queries, and
 * four more if there are any.
 */
const loadAllocated = Effect.fnUntraced(function* (opportunity_id: ReadonlyArray<number>, { now, settings }: Now) {
  const store = yield* Store
  const where = { opportunity_id, status: [allocated, prepared] }
  const none = opportunity_id.length === 0
  const units = none ? [] : yield* store.pick(asset_assignments, ["id", "stock_level_id"], where)
  const known = yield* store.pickMany(
    stock_levels,
    ["id", "out_of_service", "inspection_due_at"],
    units.map((unit) => unit.stock_level_id)
  )
  const blocks = blocksUninspected(settings)
  const broken = new Set(
    known.filter((one) => outOfServiceOf(one, blocks, millisOf(now)).length > 0).map(({ id }) => id)
  )
  const levels = yield* Store.byId(stock_levels, [...broken])
  const concerned = yield* store.getMany(
    asset_assignments,
    units.filter((unit) => broken.has(unit.stock_level_id)).map(({ id }) => id)
  )
  const headers = yield* store.getMany(
    opportunities,
    concerned.map((unit) => unit.opportunity_id)
  )
  const line_ids = [...new Set(concerned.map((unit) => unit.opportunity_item_id))]
  const lines = (yield* store.getMany(opportunity_items, line_ids)).filter((line) => line.is_live)
  const states = headers.map((header): Opportunity => ({
    header,
    lines: lines.filter((line) => line.opportunity_id === header.id),
    units: concerned.filter((unit) => unit.opportunity_id === header.id),
    costs: []
  }))
  return { opportunities: states, levels }
})

/** Units of one opportunity to replace, with free units as alternatives. */
export const unitsToReplace = Effect.fnUntraced(function* (
  header: OpportunityRow,
  context: Now
): Store.Reads<ReadonlyArray<Shown.KeysShown<typeof shown>>> {
  const { levels, opportunities: states } = yield* loadAllocated([header.id], context)
  const broken = states.flatMap((one) => brokenUnits(one, levels, context))
  if (broken.length === 0) return []
  const snapshots = yield* snapshotsForLines(
    broken.map(({ level, line }) => ({ ...line, product_id: level.product_id })),
    context
  )
  return broken.map(({ entry, level, line, unit, window }) => {
    const snapshot = snapshots.get(line.store_id)
    const free = snapshot === undefined ? [] : availableAssets(snapshot, level.product_id, window)
    const names = free.map(nameOf)
    const instead =
      names.length === 0 ? "no other unit is free then." : `allocate another unit: ${namesText(names, listed_max)}.`
    return {
      asset_id: unit.id,
      opportunity_item_id: unit.opportunity_item_id,
      stock_level_id: level.id,
      name: nameOf(level),
      state: entry.state,
      expected_back_at: entry.expected_back_at,
      free: free.map((one) => ({ id: one.id, name: nameOf(one) })),
      says: `${nameOf(level)} ${outOfServiceWords(entry)}: ${instead}`
    }
  })
})

/** Number of units to replace by opportunity id; 0 or absent if none. */
export const countToReplace = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, context: Now) {
  const { levels, opportunities: states } = yield* loadAllocated(ids, context)
  return new Map(states.map((one) => [one.header.id, brokenUnits(one, levels, context).length]))
})
