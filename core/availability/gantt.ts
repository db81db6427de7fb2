/** The chart of one product's claims (availability 6.6). */
import { instantOf } from "../values/time.ts"
import { type Moment, type Period, endOfMoment, meets, overlaps } from "../values/period.ts"
import { type Book, compositionOf, isTracked } from "./book.ts"
import { type DealName, type StandingClaim, sourceColour, sourceName } from "./claim.ts"
import { dayCells, dayGrid, kitCells } from "./days.ts"
import type { Phase } from "./phase.ts"
import type { StockLevel } from "./stock.ts"
import { stockTotals } from "./timeline.ts"

export interface GanttDemand {
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

export interface GanttShortage {
  /** One entry per day: `from` and `to` are the same plain date. */
  readonly from: string
  readonly to: string
  readonly severity: number
  /** Only preparation or turnaround time touches the day, no hire itself. */
  readonly in_buffer_zone: boolean
}

export interface AvailabilityGantt {
  readonly product_id: number
  readonly store_id: number
  readonly from: string
  readonly to: string
  readonly total_stock: number
  readonly demands: ReadonlyArray<GanttDemand>
  readonly shortages: ReadonlyArray<GanttShortage>
}

/** Active claims that meet the window, and the days short inside it. A `to` written as a plain date counts whole. */
export const availabilityGantt = (
  book: Book, product_id: number, from: Moment, to: Moment,
  deals: ReadonlyMap<number, DealName>, asset_ids?: ReadonlyArray<number>
): AvailabilityGantt => {
  const window: Period = { from: from.at, to: endOfMoment(to, book.zone) }
  const active = book.claimsOf(product_id).filter((claim) => claim.claim.is_active && meets(claim, window))
  const wanted = asset_ids === undefined ? undefined : new Set<number | null>(asset_ids)
  const levels = new Map(book.stockOf(product_id).map(({ level }) => [level.id, level]))
  return {
    product_id,
    store_id: book.store_id,
    from: instantOf(from.at),
    to: instantOf(to.at),
    total_stock: stockTotals([window.from, Math.max(window.to, window.from + 1)], book.stockOf(product_id))[0]!,
    demands: active
      .filter(({ claim }) => wanted === undefined || wanted.has(claim.asset_id))
      .sort(byAssetThenStart)
      .map((claim) => demandRow(claim, levels, deals)),
    shortages: isTracked(book, product_id) ? shortDays(book, product_id, from, to, active) : []
  }
}

export interface GanttPart extends Omit<AvailabilityGantt, "store_id" | "from" | "to"> {
  readonly product_name: string | null
  /** Units per kit, nested kits multiplied out. */
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}
export interface KitGantt {
  /** What the parts allow, day by day; empty when nothing can be said. */
  readonly days: ReadonlyArray<{ readonly date: string; readonly available: number }>
  /** A chart for every part, nested kits taken apart. */
  readonly parts: ReadonlyArray<GanttPart>
}

/** Of a composed product: what its parts allow each day, and who claims them. Of a plain one: no parts. */
export const kitGantt = (
  book: Book, product_id: number, from: Moment, to: Moment, deals: ReadonlyMap<number, DealName>
): KitGantt => {
  const grid = dayGrid(book, from, to)
  const cells = compositionOf(book.products.get(product_id)) === "plain" ? dayCells(book, product_id, grid) : kitCells(book, product_id, grid)
  return {
    days: (cells ?? []).map(({ date, min_available }) => ({ date, available: min_available })),
    parts: leavesOf(book, product_id, 1, 0).map(({ binding, product_id: part, quantity }) => {
      const { demands, shortages, total_stock } = availabilityGantt(book, part, from, to, deals)
      return { product_id: part, product_name: book.products.get(part)?.name ?? null, quantity, binding, total_stock, demands, shortages }
    })
  }
}

interface Leaf { readonly product_id: number; readonly quantity: number; readonly binding: "pool" | "fixed" }
/** The parts of a composed product down to what is stock itself, no deeper than kits may be nested. */
export const leavesOf = (book: Book, product_id: number, times: number, depth: number): ReadonlyArray<Leaf> => {
  const product = book.products.get(product_id)
  if (compositionOf(product) === "plain" || depth >= book.kit_depth) return []
  return (product?.parts ?? []).filter((part) => part.quantity > 0).flatMap((part): ReadonlyArray<Leaf> => {
    const quantity = Math.round(times * part.quantity * 10_000) / 10_000
    return compositionOf(book.products.get(part.component_product_id)) === "catalogue"
      ? leavesOf(book, part.component_product_id, quantity, depth + 1)
      : [{ product_id: part.component_product_id, quantity, binding: part.binding }]
  })
}

const demandRow = (
  { claim, from, hire, to }: StandingClaim, levels: ReadonlyMap<number, StockLevel>, deals: ReadonlyMap<number, DealName>
): GanttDemand => {
  const level = claim.asset_id === null ? undefined : levels.get(claim.asset_id)
  const starts_at = instantOf(hire.from), ends_at = instantOf(hire.to)
  return {
    demand_id: claim.id,
    asset_id: claim.asset_id,
    asset_serial: level?.serial_number || level?.asset_number || null,
    quantity: claim.quantity,
    source_type: claim.source_type,
    source_id: claim.source_id,
    source_name: sourceName(claim, deals),
    colour: sourceColour(claim.source_type),
    phase: claim.phase,
    period_start: instantOf(from),
    buffer_before_end: starts_at,
    buffer_after_start: ends_at,
    period_end: instantOf(to),
    starts_at,
    ends_at
  }
}

/** Unit claims by unit, quantity claims after them; within that by start. */
const byAssetThenStart = (one: StandingClaim, other: StandingClaim): number =>
  (one.claim.asset_id ?? Number.MAX_SAFE_INTEGER) - (other.claim.asset_id ?? Number.MAX_SAFE_INTEGER) ||
  one.hire.from - other.hire.from || one.claim.id - other.claim.id

const shortDays = (
  book: Book, product_id: number, from: Moment, to: Moment, claims: ReadonlyArray<StandingClaim>
): ReadonlyArray<GanttShortage> => {
  const grid = dayGrid(book, from, to)
  const dayAt = new Map(grid.days.map((day) => [day.date, day]))
  return dayCells(book, product_id, grid).filter((cell) => cell.min_available < 0).map((cell) => ({
    from: cell.date,
    to: cell.date,
    severity: -cell.min_available,
    in_buffer_zone: !claims.some((claim) => overlaps(claim.hire, dayAt.get(cell.date)!))
  }))
}
