/** The chart of one product's demands (rules/availability 6.6). */
import { firstOf, itemAt } from "../../../values/text.ts"
import { instantOf } from "../../../values/time.ts"
import { endOfMoment, type LocalMoment, meets, overlaps, type Period } from "../../../values/period.ts"
import { type AvailabilitySnapshot, compositionOf, isTracked, type StockLevel } from "./snapshot.ts"
import { type ActiveDemand, type OpportunityName, type Phase, sourceColour, sourceName } from "./demand.ts"
import { dayCells, dayGrid, kitCells } from "./days.ts"
import { stockTotals } from "./kits.ts"

interface GanttDemand {
  readonly demand_id: number
  readonly asset_id: number | null
  readonly asset_serial: string | null
  readonly quantity: number
  readonly source_type: string
  readonly source_id: number
  readonly source_name: string | null
  readonly colour: string | null
  readonly phase: Phase
  readonly period_start: string
  readonly buffer_before_end: string
  readonly buffer_after_start: string
  readonly period_end: string
  readonly starts_at: string
  readonly ends_at: string
}

/** Goods on their way from another store, counted from their arrival. */
interface GanttSupply {
  readonly source_type: string
  readonly source_id: number
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
}

interface GanttShortage {
  /** One entry per day, so `from` and `to` are the same plain date. */
  readonly from: string
  readonly to: string
  readonly severity: number
  /** Whether only preparation or turnaround time meets the day, not a hire itself. */
  readonly in_buffer_zone: boolean
}

export interface AvailabilityGantt {
  readonly product_id: number
  readonly store_id: number
  readonly from: string
  readonly to: string
  readonly total_stock: number
  readonly demands: ReadonlyArray<GanttDemand>
  readonly supplies: ReadonlyArray<GanttSupply>
  readonly shortages: ReadonlyArray<GanttShortage>
}

/**
 * Active demands (`asset_ids`: only on these units) and supplies that meet the window, and days with a shortage. A
 * plain date as `to` is included.
 */
export const availabilityGantt = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  from: LocalMoment,
  to: LocalMoment,
  opportunities: ReadonlyMap<number, OpportunityName>,
  asset_ids?: ReadonlyArray<number>
): AvailabilityGantt => {
  const window: Period = { from: from.at, to: endOfMoment(to, snapshot.zone) }
  const active = snapshot.demandsOf(product_id).filter((demand) => demand.demand.is_active && meets(demand, window))
  const wanted = asset_ids === undefined ? undefined : new Set<number | null>(asset_ids)
  const stock = snapshot.stockOf(product_id)
  const levels = new Map(stock.map(({ level }) => [level.id, level]))
  return {
    product_id,
    store_id: snapshot.store_id,
    from: instantOf(from.at),
    to: instantOf(to.at),
    total_stock: firstOf(stockTotals([window.from, Math.max(window.to, window.from + 1)], stock)),
    demands: active
      .filter(({ demand }) => wanted === undefined || wanted.has(demand.asset_id))
      .sort(byAssetThenStart)
      .map((demand) => demandRow(demand, levels, opportunities)),
    supplies: stock.flatMap(({ from: begins, level, to: ends }) =>
      level.supplied_by === undefined || !meets({ from: begins, to: ends }, window)
        ? []
        : [
            {
              ...level.supplied_by,
              quantity: Number(level.quantity_held),
              starts_at: instantOf(begins),
              ends_at: instantOf(ends)
            }
          ]
    ),
    shortages: isTracked(snapshot, product_id) ? shortDays(snapshot, product_id, from, to, active) : []
  }
}

interface GanttPart extends Omit<AvailabilityGantt, "store_id" | "from" | "to"> {
  readonly product_name: string | null
  /** Units per kit, multiplied over nested kits. */
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}
interface KitGantt {
  /** Lowest availability of each day; empty if it cannot be computed. */
  readonly days: ReadonlyArray<{ readonly date: string; readonly available: number }>
  /** A chart for every part; nested kits are resolved. */
  readonly parts: ReadonlyArray<GanttPart>
}

/**
 * The number of kits the parts allow each day, and a chart of each part. Plain products have no parts, and days of
 * their own stock.
 */
export const kitGantt = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  from: LocalMoment,
  to: LocalMoment,
  opportunities: ReadonlyMap<number, OpportunityName>
): KitGantt => {
  const grid = dayGrid(snapshot, from, to)
  const cells =
    compositionOf(snapshot.products.get(product_id)) === "plain"
      ? dayCells(snapshot, product_id, grid)
      : kitCells(snapshot, product_id, grid)
  return {
    days: (cells ?? []).map(({ date, min_available }) => ({ date, available: min_available })),
    parts: leavesOf(snapshot, product_id, 1, 0).map(({ binding, product_id: part, quantity }) => {
      const { demands, shortages, supplies, total_stock } = availabilityGantt(snapshot, part, from, to, opportunities)
      return {
        product_id: part,
        product_name: snapshot.products.get(part)?.name ?? null,
        quantity,
        binding,
        total_stock,
        demands,
        supplies,
        shortages
      }
    })
  }
}

interface Leaf {
  readonly product_id: number
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}
/** Parts of a composed product that are stocked themselves, down to the maximum nesting depth. */
const leavesOf = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  times: number,
  depth: number
): ReadonlyArray<Leaf> => {
  const product = snapshot.products.get(product_id)
  if (compositionOf(product) === "plain" || depth >= snapshot.kit_depth) return []
  return (product?.parts ?? [])
    .filter((part) => part.quantity > 0)
    .flatMap((part): ReadonlyArray<Leaf> => {
      const quantity = Math.round(times * part.quantity * 10_000) / 10_000
      return compositionOf(snapshot.products.get(part.component_product_id)) === "catalogue"
        ? leavesOf(snapshot, part.component_product_id, quantity, depth + 1)
        : [{ product_id: part.component_product_id, quantity, binding: part.binding }]
    })
}

const demandRow = (
  { demand, from, hire, is_overdue, to }: ActiveDemand,
  levels: ReadonlyMap<number, StockLevel>,
  opportunities: ReadonlyMap<number, OpportunityName>
): GanttDemand => {
  const level = demand.asset_id === null ? undefined : levels.get(demand.asset_id)
  // Its own texts where they are the same instants, as most are: making one takes longer than comparing two numbers.
  const { starts_at } = demand
  const ends_at = is_overdue ? instantOf(hire.to) : demand.ends_at
  return {
    demand_id: demand.id,
    asset_id: demand.asset_id,
    asset_serial: level?.serial_number || level?.asset_number || null,
    quantity: demand.quantity,
    source_type: demand.source_type,
    source_id: demand.source_id,
    source_name: sourceName(demand, opportunities),
    colour: sourceColour(demand.source_type),
    phase: demand.phase,
    period_start: from === hire.from ? starts_at : instantOf(from),
    buffer_before_end: starts_at,
    buffer_after_start: ends_at,
    period_end: to === hire.to ? ends_at : instantOf(to),
    starts_at,
    ends_at
  }
}

/** Order: demands on units by unit, then demands on quantities; each by start. */
const byAssetThenStart = (one: ActiveDemand, other: ActiveDemand): number =>
  (one.demand.asset_id ?? Number.MAX_SAFE_INTEGER) - (other.demand.asset_id ?? Number.MAX_SAFE_INTEGER) ||
  one.hire.from - other.hire.from ||
  one.demand.id - other.demand.id

const shortDays = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  from: LocalMoment,
  to: LocalMoment,
  demands: ReadonlyArray<ActiveDemand>
): ReadonlyArray<GanttShortage> => {
  const grid = dayGrid(snapshot, from, to)
  const short: Array<GanttShortage> = []
  dayCells(snapshot, product_id, grid).forEach(({ date, min_available }, at) => {
    if (min_available >= 0) return
    const day = itemAt(grid.days, at)
    const in_buffer_zone = !demands.some((demand) => overlaps(demand.hire, day))
    short.push({ from: date, to: date, severity: -min_available, in_buffer_zone })
  })
  return short
}
