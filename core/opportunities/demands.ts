/** What an opportunity claims of stock, who else holds its units, and where it falls short (rules/opportunities 10, rules/availability 2 and 9). */
import { Result } from "effect"
import { type AvailabilitySnapshot, compositionOf } from "../availability/snapshot.ts"
import { type Demand, bufferedWindow, noBuffers, type ActiveDemand, activeDemand } from "../availability/demand.ts"
import { KitNestedTooDeep } from "../availability/kits.ts"
import { lowestFree, type LineShortage, lineShortage, requestedUnits } from "../availability/line.ts"
import type { NewDemand } from "../demands/demand.ts"
import {
  type DemandSettings,
  demandsOfLine,
  type OpportunityFacts,
  KitTooLarge,
  lineWindow,
  storeOfLine
} from "../availability/line-demands.ts"
import type { LineAtStore } from "../availability/lines-query.ts"
import { holdsStock, phaseOf } from "../availability/phase.ts"
import { kitDepthIn } from "../kits/settings.ts"
import { demandDateSourceIn, releasePointIn } from "../availability/settings.ts"
import { invalidField, type Rejection } from "../kernel/rejection.ts"
import type { Settings } from "../kernel/settings.ts"
import { inOrder, meets } from "../values/period.ts"
import { millisOf } from "../values/time.ts"
import {
  type Opportunity,
  type UnitHold,
  type DecisionState,
  liveLines,
  stockedProductOf,
  unitsByLine
} from "./aggregate.ts"
import { checked_in, type ItemRow } from "./child-tables.ts"
import type { OpportunityRow } from "./schema.ts"
import { order } from "./status/statuses.ts"

export const demandSettings = (settings: Settings, now: string): DemandSettings => ({
  release_point: releasePointIn(settings),
  demand_date_source: demandDateSourceIn(settings),
  kit_nesting_max_depth: kitDepthIn(settings),
  now
})

const factsOf = (header: OpportunityRow): OpportunityFacts => header

/** The most units of one product a demand may hold: more than any house has, and what both databases keep exactly. */
const claimed_quantity_max = 2_147_483_647

/** The demands of one line; a deleted opportunity claims nothing. 422 on `item_id` for kits nested too deeply or made of too much, on `quantity` for parts beyond count. */
export const demandsOf = (
  state: DecisionState,
  opportunity: Opportunity,
  line: ItemRow,
  settings: DemandSettings
): Result.Result<ReadonlyArray<NewDemand>, Rejection> => {
  if (opportunity.header.deleted_at !== null) return Result.succeed([])
  try {
    const demands = demandsOfLine(
      {
        id: line.id,
        product_id: stockedProductOf(line),
        quantity: Number(line.quantity),
        dispatched_quantity: Number(line.dispatched_quantity),
        returned_quantity: Number(line.returned_quantity),
        starts_at: line.starts_at,
        ends_at: line.ends_at,
        dispatch_store_id: line.dispatch_store_id,
        is_live: line.is_live,
        units: (unitsByLine(opportunity).get(line.id) ?? []).map((unit) => ({
          ...unit,
          product_id: state.levels.get(unit.stock_level_id)?.product_id ?? line.item_id ?? 0
        }))
      },
      factsOf(opportunity.header),
      state.stocked,
      settings
    )
    return demands.some((demand) => demand.quantity > claimed_quantity_max)
      ? Result.fail(
          invalidField(
            "quantity",
            `${line.name}: the line would take more units of one product than can be counted. Lower its quantity.`
          )
        )
      : Result.succeed(demands)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge)
      return Result.fail(invalidField("item_id", thrown.message))
    throw thrown
  }
}

/** Does the opportunity take stock away from others as it stands? */
export const isHoldingStock = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null && holdsStock(phaseOf(header.state, header.status, releasePointIn(settings)))

/** Is it told whether its lines are short? Opportunities that may still come about are, those that are over ask for nothing (rules/availability 6.8). */
export const hasShortageCheck = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null &&
  ["draft", "held", "reserved", "on_hire"].includes(phaseOf(header.state, header.status, releasePointIn(settings)))

/** The window a unit of the line would be held for, buffers included, whatever the opportunity's status. */
export const unitWindow = (state: DecisionState, opportunity: Opportunity, line: ItemRow, settings: DemandSettings) => {
  const { starts_at, ends_at } = lineWindow(line, factsOf(opportunity.header), settings)
  const product = line.item_id === null ? undefined : state.stocked.get(line.item_id)
  const buffered = bufferedWindow(starts_at, ends_at, "reserved", product ?? noBuffers)
  return { from: millisOf(buffered.buffered_starts_at), to: millisOf(buffered.buffered_ends_at), starts_at, ends_at }
}

/** Who stands in the way of holding a unit in a window; undefined when nobody does. */
export const conflictingHold = (
  unit_holds: ReadonlyArray<UnitHold>,
  stock_level_id: number,
  window: { readonly from: number; readonly to: number },
  now: string
): UnitHold | undefined =>
  unit_holds
    .filter(
      ({ demand }) =>
        demand.asset_id === stock_level_id && demand.is_active && meets(activeDemand(demand, millisOf(now)), window)
    )
    .sort((one, other) => (one.demand.starts_at < other.demand.starts_at ? -1 : 1))[0]

export const unitHeldText = (unit: string, { demand, holder }: UnitHold): string =>
  `${unit} is held by ${holder} from ${demand.starts_at} to ${demand.ends_at}.`

/** A snapshot with the opportunity's demands as they are to be in place of those that are stored. Each product is put together once. */
const withOpportunity = (
  snapshot: AvailabilitySnapshot,
  {
    opportunity: {
      header: { id: opportunity_id }
    },
    touched_line_ids
  }: DecisionState,
  own: ReadonlyArray<Demand>
): AvailabilitySnapshot => {
  const stays = (demand: Demand): boolean =>
    demand.opportunity_id !== opportunity_id ||
    (touched_line_ids !== undefined &&
      (demand.source_type !== "opportunity_item" || !touched_line_ids.has(demand.source_id)))
  const ownOf = Map.groupBy(
    own.filter((demand) => demand.store_id === snapshot.store_id),
    (demand) => demand.product_id
  )
  const known = new Map<number, ReadonlyArray<ActiveDemand>>()
  return {
    ...snapshot,
    demandsOf: (product_id) => {
      const found = known.get(product_id)
      if (found !== undefined) return found
      const demands = [
        ...snapshot.demandsOf(product_id).filter(({ demand }) => stays(demand)),
        ...(ownOf.get(product_id) ?? []).map((demand) => activeDemand(demand, snapshot.now))
      ]
      known.set(product_id, demands)
      return demands
    }
  }
}

/** Lines that take stock from a store, with their window; what is back is asked for no longer. */
export const linesTakingStock = (opportunity: Opportunity, settings: DemandSettings): ReadonlyArray<LineAtStore> =>
  liveLines(opportunity).flatMap((line) => {
    const product_id = stockedProductOf(line)
    const store_id = storeOfLine(line, opportunity.header)
    return product_id === null || store_id === null
      ? []
      : [
          {
            id: line.id,
            product_id,
            store_id,
            quantity: Number(line.quantity),
            ...lineWindow(line, factsOf(opportunity.header), settings)
          }
        ]
  })

/**
 * The lines that are short, given the demands of the whole opportunity as they are to be; lines fully back ask for nothing.
 * Where a plain product has enough for everybody over all its lines' time, no line of it is looked at by itself. `only`
 * these lines and others of the same products, where no more is asked.
 */
export const shortagesOf = (
  state: DecisionState,
  opportunity: Opportunity,
  demands: ReadonlyArray<Demand>,
  settings: Settings,
  now: string,
  only?: ReadonlySet<number>
): ReadonlyArray<LineShortage> => {
  const snapshots = new Map(
    [...(state.snapshots ?? [])].map(([id, snapshot]) => [id, withOpportunity(snapshot, state, demands)])
  )
  const back = new Map(opportunity.lines.map((line) => [line.id, Number(line.returned_quantity)]))
  const unitsByLine = Map.groupBy(
    opportunity.units.filter((unit) => unit.status < checked_in),
    (unit) => unit.opportunity_item_id
  )
  const asked = linesTakingStock(opportunity, demandSettings(settings, now))
    .map((line) => ({ ...line, quantity: line.quantity - (back.get(line.id) ?? 0) }))
    .filter((line) => line.quantity > 0)
  return [...Map.groupBy(asked, (line) => `${line.store_id}/${line.product_id}`).values()].flatMap((lines) => {
    const snapshot = snapshots.get(lines[0]!.store_id)
    if (
      snapshot === undefined ||
      (only !== undefined && !lines.some((line) => only.has(line.id))) ||
      suffices(snapshot, lines)
    )
      return []
    return lines.flatMap((line) => {
      const standing_units = unitsByLine.get(line.id)?.length ?? 0
      const short = lineShortage(
        snapshot,
        line,
        { opportunity_id: opportunity.header.id, is_order: opportunity.header.state === order },
        standing_units
      )
      return short === undefined ? [] : [short]
    })
  })
}
/** Every demand counted, the opportunity's own too, nothing is missing anywhere between the first start and the last end. */
const suffices = (snapshot: AvailabilitySnapshot, lines: ReadonlyArray<LineAtStore>): boolean => {
  const { product_id } = lines[0]!
  if (compositionOf(snapshot.products.get(product_id)) !== "plain") return false
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  const from = windows.reduce((first, window) => Math.min(first, window.from), Number.POSITIVE_INFINITY)
  const to = windows.reduce((last, window) => Math.max(last, window.to), Number.NEGATIVE_INFINITY)
  const own = snapshot
    .demandsOf(product_id)
    .filter(({ demand }) => demand.is_active && demand.source_type === "opportunity_item")
  // Only where each line's claim stands for all the line asks for is enough for everybody enough for each.
  const claimed = Map.groupBy(own, ({ demand }) => demand.source_id)
  // Where none of the lines demands anything yet, each asks by itself for what the others leave.
  if (lines.every((line) => !claimed.has(line.id))) {
    return (
      lowestFree(snapshot, product_id, { from, to }) >=
      lines.reduce((most, line) => Math.max(most, requestedUnits(line.quantity)), 0)
    )
  }
  return (
    lines.every(
      (line) =>
        (claimed.get(line.id) ?? []).reduce((sum, { demand }) => sum + demand.quantity, 0) >=
        requestedUnits(line.quantity)
    ) && lowestFree(snapshot, product_id, { from, to }) >= 0
  )
}
