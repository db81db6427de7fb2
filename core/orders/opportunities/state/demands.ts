/**
 * An opportunity's demands on stock, the holders of its units, and its short lines (rules/opportunities 10,
 * rules/availability 2 and 9).
 */
import { Result } from "effect"
import { type AvailabilitySnapshot, compositionOf } from "../../availability/rules/snapshot.ts"
import type { ActiveDemand, Demand } from "../../availability/rules/demand.ts"
import { activeDemand, bufferedWindow, holdsStock, noBuffers, phaseOf } from "../../availability/rules/demand.ts"
import { KitNestedTooDeep } from "../../availability/rules/kits.ts"
import type { LineAvailability, LineShortage } from "../../availability/rules/line.ts"
import { lineAvailability, lineShortage, lowestFree, requestedUnits } from "../../availability/rules/line.ts"
import type { NewDemand } from "../../demands/schema.ts"
import type { DemandSettings, OpportunityFacts } from "../../availability/rules/line-demands.ts"
import { demandsOfLine, KitTooLarge, lineWindow, storeOfLine } from "../../availability/rules/line-demands.ts"
import type { LineAtStore } from "../../availability/api/window.ts"
import { kitDepthIn } from "../../../products/kits/schema.ts"
import { demandDateSourceIn, releasePointIn } from "../../availability/facts/load.ts"
import { reject, type Rejection, type Settings } from "../../../kernel/index.ts"
import { inOrder, meets } from "../../../values/period.ts"
import { millisOf, openEnd } from "../../../values/time.ts"
import type { DecisionState, Opportunity, UnitHold } from "./aggregate.ts"
import { liveLines, stockedProductOf, unitsByLine } from "./aggregate.ts"
import { checked_in, order, type ItemRow, type OpportunityRow } from "../tables/index.ts"

export const demandSettings = (settings: Settings, now: string): DemandSettings => ({
  release_point: releasePointIn(settings),
  demand_date_source: demandDateSourceIn(settings),
  kit_nesting_max_depth: kitDepthIn(settings),
  now
})

const factsOf = (header: OpportunityRow): OpportunityFacts => header

/** Maximum quantity of one demand: the limit of integers in both databases. */
const demand_quantity_max = 2_147_483_647

/**
 * The demands of one line; none for a deleted opportunity. 422 on `item_id` for kits that are nested too deeply or have
 * too many parts, on `quantity` for more of a product than can be counted.
 */
export const demandsOf = (
  state: Pick<DecisionState, "stocked" | "levels">,
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
    return demands.some((demand) => demand.quantity > demand_quantity_max)
      ? reject(
          "quantity",
          `${line.name}: the line would take more units of one product than can be counted. Lower its quantity.`
        )
      : Result.succeed(demands)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge) return reject("item_id", thrown.message)
    throw thrown
  }
}

/** Whether the opportunity currently reduces others' availability. */
export const isHoldingStock = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null && holdsStock(phaseOf(header.state, header.status, releasePointIn(settings)))

/**
 * Whether lines are checked for shortages: only while the opportunity may still need stock (rules/availability 6.8).
 */
export const hasShortageCheck = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null &&
  ["draft", "held", "reserved", "on_hire"].includes(phaseOf(header.state, header.status, releasePointIn(settings)))

/**
 * The window for which a unit of the line would be held, whatever the opportunity's status: `from` and `to` (ms) with
 * buffers, the dates without. `product_id`: of the unit, if it is a part of the line's kit.
 */
export const unitWindow = (
  state: DecisionState,
  opportunity: Opportunity,
  line: ItemRow,
  settings: DemandSettings,
  product_id = line.item_id
) => {
  const { starts_at, ends_at } = lineWindow(line, factsOf(opportunity.header), settings)
  const product = product_id === null ? undefined : state.stocked.get(product_id)
  const buffered = bufferedWindow(starts_at, ends_at, "reserved", product ?? noBuffers)
  return { from: millisOf(buffered.buffered_starts_at), to: millisOf(buffered.buffered_ends_at), starts_at, ends_at }
}

/** The earliest other demand that prevents reserving a unit in a window; undefined if none. */
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
  demand.ends_at === openEnd
    ? `${unit} is held by ${holder} from ${demand.starts_at} on.`
    : `${unit} is held by ${holder} from ${demand.starts_at} to ${demand.ends_at}.`

/** The snapshot with the opportunity's demands `own` instead of the stored ones. Cached per product. */
const withOpportunity = (
  snapshot: AvailabilitySnapshot,
  {
    opportunity: {
      header: { id: opportunity_id }
    },
    touched_line_ids
  }: Pick<DecisionState, "opportunity" | "touched_line_ids">,
  own: ReadonlyArray<Demand>
): AvailabilitySnapshot => {
  const isKept = (demand: Demand): boolean =>
    demand.opportunity_id !== opportunity_id ||
    (touched_line_ids !== undefined &&
      (demand.source_type !== "opportunity_item" || !touched_line_ids.has(demand.source_id)))
  const ownOf = Map.groupBy(
    own.filter((demand) => demand.store_id === snapshot.store_id),
    (demand) => demand.product_id
  )
  const computed = new Map<number, ReadonlyArray<ActiveDemand>>()
  return {
    ...snapshot,
    demandsOf: (product_id) => {
      const found = computed.get(product_id)
      if (found !== undefined) return found
      const demands = [
        ...snapshot.demandsOf(product_id).filter(({ demand }) => isKept(demand)),
        ...(ownOf.get(product_id) ?? []).map((demand) => activeDemand(demand, snapshot.now))
      ]
      computed.set(product_id, demands)
      return demands
    }
  }
}

/** Lines of the active version that take stock from a store, with their windows. */
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
 * Quantity on order for this line, and for other lines of the product that cover at least its window: one delivery
 * serves them all.
 */
const coveredBy = (
  line: LineAtStore,
  lines: ReadonlyArray<LineAtStore>,
  onOrder: ReadonlyMap<number, number>
): number =>
  onOrder.size === 0
    ? 0
    : lines
        .filter((one) => one.starts_at <= line.starts_at && one.ends_at >= line.ends_at)
        .reduce((sum, one) => sum + (onOrder.get(one.id) ?? 0), 0)

type StockFacts = Pick<DecisionState, "enough" | "opportunity" | "snapshots" | "touched_line_ids">
/** Stock by store, with the opportunity's own `demands` after the change instead of the stored ones. */
const snapshotsWith = (state: StockFacts, demands: ReadonlyArray<Demand>): ReadonlyMap<number, AvailabilitySnapshot> =>
  new Map([...(state.snapshots ?? [])].map(([id, snapshot]) => [id, withOpportunity(snapshot, state, demands)]))

/**
 * Lines that take stock and may be short, with the quantity still needed: less what is returned, but at least the units
 * not yet back; 0 if nothing. Serialised units return individually, other goods by the line's count.
 */
const linesStillAsking = (
  { enough, opportunity, snapshots }: StockFacts,
  settings: Settings,
  now: string
): ReadonlyArray<LineAtStore> => {
  const taking = linesTakingStock(opportunity, demandSettings(settings, now))
  const asking = enough === undefined ? taking : taking.filter((line) => !enough(line))
  const returned = new Map(opportunity.lines.map((line) => [line.id, line.returned_quantity]))
  const units = unitsByLine(opportunity)
  return asking.map((line) => {
    const { is_serialised = false } = snapshots?.get(line.store_id)?.products.get(line.product_id) ?? {}
    const own = is_serialised ? (units.get(line.id) ?? []) : []
    const back = own.filter(({ status }) => status >= checked_in).length
    const left = line.quantity - Math.max(Number(returned.get(line.id) ?? 0), back)
    return { ...line, quantity: Math.max(left, own.length - back) }
  })
}

interface NamedAvailability extends LineAvailability {
  readonly product_name: string | null
  /** Unavailable quantity; at most the full line. */
  readonly shortfall: number
}
/**
 * Availability and shortfall of each line, consistent with `shortagesOf`. Returned lines and finished opportunities
 * are never short.
 */
export const availabilityOf = (
  state: StockFacts,
  opportunity: Opportunity,
  demands: ReadonlyArray<Demand>,
  settings: Settings,
  now: string
): ReadonlyArray<NamedAvailability> => {
  const snapshots = snapshotsWith(state, demands)
  const is_over = !hasShortageCheck(opportunity.header, settings)
  return linesStillAsking({ ...state, opportunity }, settings, now).flatMap((line) => {
    const snapshot = snapshots.get(line.store_id)
    if (snapshot === undefined) return []
    const found = lineAvailability(snapshot, line)
    const named = { ...found, product_name: snapshot.products.get(line.product_id)?.name ?? null }
    if (line.quantity > 0 && !is_over)
      return [{ ...named, shortfall: Math.min(found.requested_quantity, found.shortage_quantity) }]
    const requested_quantity = line.quantity > 0 ? found.requested_quantity : 0
    return [{ ...named, requested_quantity, shortage_quantity: 0, has_shortage: false, shortfall: 0 }]
  })
}

/**
 * Short lines, by the opportunity's demands after the change. Returned lines and finished opportunities are never
 * short; lines of a product that suffices for all are not checked one by one. `leaving`: checks only the products of
 * these lines, and lines with allocated units by those: they are dispatched.
 */
export const shortagesOf = (
  state: StockFacts & Partial<Pick<DecisionState, "levels">>,
  opportunity: Opportunity,
  demands: ReadonlyArray<Demand>,
  settings: Settings,
  now: string,
  leaving?: ReadonlySet<number>
): ReadonlyArray<LineShortage> => {
  if (!hasShortageCheck(opportunity.header, settings)) return []
  const snapshots = snapshotsWith(state, demands)
  const onOrder = new Map(
    opportunity.lines
      .filter((line) => Number(line.on_order_quantity) > 0)
      .map((line) => [line.id, Math.floor(Number(line.on_order_quantity))])
  )
  const needed = linesStillAsking({ ...state, opportunity }, settings, now).filter((line) => line.quantity > 0)
  const units = leaving === undefined ? undefined : unitsStillHeld(opportunity, state.levels)
  const short = [...Map.groupBy(needed, (line) => `${line.store_id}/${line.product_id}`).values()].flatMap((lines) => {
    const [first] = lines
    const snapshot = first === undefined ? undefined : snapshots.get(first.store_id)
    if (
      first === undefined ||
      snapshot === undefined ||
      (leaving !== undefined && !lines.some((line) => leaving.has(line.id))) ||
      suffices(snapshot, first.product_id, lines)
    )
      return []
    return lines.flatMap(
      (line) =>
        lineShortage(
          snapshot,
          { ...line, quantity: units?.get(line.id) ?? line.quantity },
          { opportunity_id: opportunity.header.id, is_order: opportunity.header.state === order },
          coveredBy(line, lines, onOrder)
        ) ?? []
    )
  })
  const places = new Map(needed.map((line, place) => [line.id, place]))
  const placeOf = (one: LineShortage): number => places.get(one.opportunity_item_id) ?? 0
  return short.toSorted((one, other) => placeOf(one) - placeOf(other))
}
/** Whether a shortage is not covered by orders from suppliers: the flag `has_shortage` and the gates. */
export const isShort = (shortages: ReadonlyArray<LineShortage>): boolean =>
  shortages.some((one) => one.remaining_shortfall > 0)

/** Number of unreturned units of its own product allocated to each line. */
const unitsStillHeld = (
  { lines, units }: Opportunity,
  levels: DecisionState["levels"] | undefined
): ReadonlyMap<number, number> => {
  const productOf = new Map(lines.map((line) => [line.id, line.item_id]))
  const counts = new Map<number, number>()
  for (const { opportunity_item_id, status, stock_level_id } of units) {
    // Units of a kit's parts do not count as kits.
    const product_id = levels?.get(stock_level_id)?.product_id
    if (status < checked_in && (product_id === undefined || product_id === productOf.get(opportunity_item_id)))
      counts.set(opportunity_item_id, (counts.get(opportunity_item_id) ?? 0) + 1)
  }
  return counts
}

/**
 * Whether a plain product suffices for all demands, including the opportunity's own, from the first start of these
 * lines to their last end. False if that cannot be decided for all lines together.
 */
const suffices = (snapshot: AvailabilitySnapshot, product_id: number, lines: ReadonlyArray<LineAtStore>): boolean => {
  if (compositionOf(snapshot.products.get(product_id)) !== "plain") return false
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  const from = windows.reduce((first, window) => Math.min(first, window.from), Number.POSITIVE_INFINITY)
  const to = windows.reduce((last, window) => Math.max(last, window.to), Number.NEGATIVE_INFINITY)
  const own = snapshot
    .demandsOf(product_id)
    .filter(({ demand }) => demand.is_active && demand.source_type === "opportunity_item")
  // A result for all lines applies to each only if each demands its full quantity.
  const demandsByLine = Map.groupBy(own, ({ demand }) => demand.source_id)
  // Lines without demands yet do not compete with each other: the largest must be available.
  if (lines.every((line) => !demandsByLine.has(line.id))) {
    return (
      lowestFree(snapshot, product_id, { from, to }) >=
      lines.reduce((most, line) => Math.max(most, requestedUnits(line.quantity)), 0)
    )
  }
  return (
    lines.every(
      (line) =>
        (demandsByLine.get(line.id) ?? []).reduce((sum, { demand }) => sum + demand.quantity, 0) >=
        requestedUnits(line.quantity)
    ) && lowestFree(snapshot, product_id, { from, to }) >= 0
  )
}
