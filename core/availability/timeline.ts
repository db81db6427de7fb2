/**
 * Stock and demands of a product over slots: the count behind every answer. Each demand and stock row marks only the
 * first and the last slot it touches, and one pass adds up: cost (demands + stock) × log slots + slots.
 */
import type { AvailabilitySnapshot } from "./snapshot.ts"
import type { ActiveDemand } from "./demand.ts"
import { slotsTouched } from "./slots.ts"
import { type StockPeriod, wholeUnits } from "./stock.ts"

/** Columns of equal length, one entry per slot; slot i runs from bounds[i] to bounds[i + 1]. */
export interface Timeline {
  readonly bounds: ReadonlyArray<number>
  readonly total_stock: ReadonlyArray<number>
  readonly total_demanded: ReadonlyArray<number>
  readonly available: ReadonlyArray<number>
  readonly pending_checkin: ReadonlyArray<number>
  readonly demanded_by_source: ReadonlyMap<string, ReadonlyArray<number>>
}

/** Sums per slot of amounts that cover ranges of slots: a difference array. */
export class SlotTally {
  private readonly steps: Float64Array
  private readonly bounds: ReadonlyArray<number>

  constructor(bounds: ReadonlyArray<number>) {
    this.bounds = bounds
    this.steps = new Float64Array(bounds.length)
  }

  /** Adds `amount` to every slot the half-open period touches. */
  add(from: number, to: number, amount: number): void {
    const { first, last } = slotsTouched(this.bounds, from, to)
    this.addSlots(first, last, amount)
  }

  /** Adds `amount` to the slots from `first` to `last`, both included; nothing when `last` lies before `first`. */
  addSlots(first: number, last: number, amount: number): void {
    if (last < first) return
    this.step(first, amount)
    this.step(last + 1, -amount)
  }

  private step(slot: number, amount: number): void {
    this.steps[slot] = (this.steps[slot] ?? 0) + amount
  }

  /** One sum per slot. */
  sums(): Array<number> {
    const sums: Array<number> = []
    let sum = 0
    for (let slot = 0; slot < this.bounds.length - 1; slot++) sums.push((sum += this.steps[slot] ?? 0))
    return sums
  }
}

/** The timeline of one product of the snapshot over the given bounds. */
export const timelineOf = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>
): Timeline => timeline(bounds, snapshot.demandsOf(product_id), snapshot.stockOf(product_id))

/**
 * Demands and stock of one product at one store. A stock row counts in every slot its window touches, like a demand.
 */
export const timeline = (
  bounds: ReadonlyArray<number>,
  demands: ReadonlyArray<ActiveDemand>,
  stock: ReadonlyArray<StockPeriod>
): Timeline => {
  const total_stock = stockTotals(bounds, stock)
  const by_source = new Map<string, SlotTally>()
  const waiting = new SlotTally(bounds)
  for (const { demand, from, to, waiting: wait } of demands) {
    if (demand.is_active) sourceTally(by_source, demand.source_type, bounds).add(from, to, demand.quantity)
    if (wait !== undefined) waiting.add(wait.from, wait.to, demand.quantity)
  }
  const demanded_by_source = new Map([...by_source].map(([source, tally]) => [source, tally.sums()]))
  const total_demanded = total_stock.map(() => 0)
  for (const sums of demanded_by_source.values())
    sums.forEach((sum, slot) => (total_demanded[slot] = (total_demanded[slot] ?? 0) + sum))
  return {
    bounds,
    total_stock,
    total_demanded,
    available: total_stock.map((total, slot) => total - (total_demanded[slot] ?? 0)),
    pending_checkin: waiting.sums(),
    demanded_by_source
  }
}

/** Quantity by source at one slot; sources without a demand there are absent (rules/availability 6.1). */
export const breakdownAt = (line: Timeline, slot: number): { readonly [source_type: string]: number } => {
  const breakdown: Record<string, number> = {}
  for (const [source, sums] of line.demanded_by_source) {
    const quantity = sums[slot] ?? 0
    if (quantity !== 0) breakdown[source] = quantity
  }
  return breakdown
}
/**
 * The same with what is back and not checked, which takes nothing from what is free and is listed all the same
 * (rules/availability 2.8).
 */
export const breakdownWithWaitingAt = (line: Timeline, slot: number): ReturnType<typeof breakdownAt> => {
  const waiting = line.pending_checkin[slot] ?? 0
  return { ...breakdownAt(line, slot), ...(waiting === 0 ? {} : { returned_not_checked: waiting }) }
}

/** Whole units owned per slot: bulk rows summed, then rounded, plus one per serialised row (rules/availability 3). */
export const stockTotals = (bounds: ReadonlyArray<number>, stock: ReadonlyArray<StockPeriod>): Array<number> => {
  const bulk = new SlotTally(bounds),
    units = new SlotTally(bounds)
  for (const { from, is_unit, ten_thousandths, to } of stock) {
    if (is_unit) units.add(from, to, 1)
    else bulk.add(from, to, ten_thousandths)
  }
  const unitSums = units.sums()
  return bulk.sums().map((sum, slot) => wholeUnits(sum) + (unitSums[slot] ?? 0))
}

const sourceTally = (
  tallies: Map<string, SlotTally>,
  source_type: string,
  bounds: ReadonlyArray<number>
): SlotTally => {
  let tally = tallies.get(source_type)
  if (tally === undefined) tallies.set(source_type, (tally = new SlotTally(bounds)))
  return tally
}
