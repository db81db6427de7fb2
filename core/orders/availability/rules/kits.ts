/** Availability of composed products: the number their parts allow, slot by slot (rules/availability 7.3). */
import type { AvailabilitySnapshot, PackedContainer, PackedItem, StockedProduct, StockPeriod } from "./snapshot.ts"
import { compositionOf, wholeUnits } from "./snapshot.ts"
import { type ActiveDemand, slotsTouched } from "./demand.ts"
import { millisOf } from "../../../values/time.ts"
import { openEndMillis } from "../../../values/period.ts"
import type { KitPart } from "../../../products/kits/schema.ts"

// Stock and demands of a product over slots, the basis of all availability figures. Each demand and stock row marks the
// first and last slot it meets, and one pass sums up: cost (demands + stock) × log slots + slots.

/** Columns with one entry per slot; slot i lasts from bounds[i] to bounds[i + 1]. */
interface Timeline {
  readonly bounds: ReadonlyArray<number>
  readonly total_stock: ReadonlyArray<number>
  readonly total_demanded: ReadonlyArray<number>
  readonly available: ReadonlyArray<number>
  readonly pending_checkin: ReadonlyArray<number>
  readonly demanded_by_source: ReadonlyMap<string, ReadonlyArray<number>>
}

/** Sums amounts over ranges of slots, by a difference array. */
class SlotTally {
  /** Change of the sum at the beginning of each slot; undefined while nothing was added. */
  private steps: Array<number> | undefined
  private readonly bounds: ReadonlyArray<number>

  constructor(bounds: ReadonlyArray<number>) {
    this.bounds = bounds
  }

  /** Adds `amount` to all slots that the half-open period meets. */
  add(from: number, to: number, amount: number): void {
    const { first, last } = slotsTouched(this.bounds, from, to)
    this.addSlots(first, last, amount)
  }

  /** Adds `amount` to the slots from `first` to `last` (inclusive); none if `last` is before `first`. */
  addSlots(first: number, last: number, amount: number): void {
    if (last < first) return
    const steps = (this.steps ??= zerosOf(this.bounds.length))
    steps[first] = (steps[first] ?? 0) + amount
    steps[last + 1] = (steps[last + 1] ?? 0) - amount
  }

  /** The sum of each slot. */
  sums(): Array<number> {
    const sums = zerosOf(Math.max(0, this.bounds.length - 1))
    if (this.steps === undefined) return sums
    let sum = 0
    for (let slot = 0; slot < sums.length; slot++) sums[slot] = sum += this.steps[slot] ?? 0
    return sums
  }
}
/** Zeros to copy, which takes a fifth of the time of appending them one by one. */
const zeros: Array<number> = []
const zerosOf = (length: number): Array<number> => {
  while (zeros.length < length) zeros.push(0)
  return zeros.slice(0, length)
}

/** The timeline of one product over these bounds. */
export const timelineOf = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>
): Timeline => timeline(bounds, snapshot.demandsOf(product_id), snapshot.stockOf(product_id))

/** Demands and stock of one product at one store. A stock row counts in every slot it meets, like a demand. */
const timeline = (
  bounds: ReadonlyArray<number>,
  demands: ReadonlyArray<ActiveDemand>,
  stock: ReadonlyArray<StockPeriod>
): Timeline => {
  const total_stock = stockTotals(bounds, stock)
  const by_source = new Map<string, SlotTally>()
  const waiting = new SlotTally(bounds),
    demanded = new SlotTally(bounds)
  for (const { demand, from, to, waiting: wait } of demands) {
    if (demand.is_active) {
      const { first, last } = slotsTouched(bounds, from, to)
      demanded.addSlots(first, last, demand.quantity)
      sourceTally(by_source, demand.source_type, bounds).addSlots(first, last, demand.quantity)
    }
    if (wait !== undefined) waiting.add(wait.from, wait.to, demand.quantity)
  }
  const total_demanded = demanded.sums()
  const demanded_by_source = new Map<string, ReadonlyArray<number>>()
  for (const [source, tally] of by_source) demanded_by_source.set(source, tally.sums())
  return {
    bounds,
    total_stock,
    total_demanded,
    available: total_stock.map((total, slot) => total - (total_demanded[slot] ?? 0)),
    pending_checkin: waiting.sums(),
    demanded_by_source
  }
}

/** Quantity by source in one slot; sources without demands are absent (rules/availability 6.1). */
export const breakdownAt = (line: Timeline, slot: number): { readonly [source_type: string]: number } => {
  const breakdown: Record<string, number> = {}
  for (const [source, sums] of line.demanded_by_source) {
    const quantity = sums[slot] ?? 0
    if (quantity !== 0) breakdown[source] = quantity
  }
  return breakdown
}
/** `breakdownAt` plus `returned_not_checked`: units awaiting their check (rules/availability 2.8). */
export const breakdownWithWaitingAt = (line: Timeline, slot: number): ReturnType<typeof breakdownAt> => {
  const waiting = line.pending_checkin[slot] ?? 0
  return { ...breakdownAt(line, slot), ...(waiting === 0 ? {} : { returned_not_checked: waiting }) }
}

/** Whole units owned per slot: the rounded sum of bulk rows, plus one per serialised row (rules/availability 3). */
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

/** Kits are nested more deeply than the setting `kit_nesting_max_depth` allows, or contain themselves. */
export class KitNestedTooDeep extends Error {
  readonly _tag = "KitNestedTooDeep"
  readonly product_id: number
  constructor(product_id: number, depth: number) {
    super(`Kit ${product_id} is nested more than ${depth} levels deep.`)
    this.product_id = product_id
  }
}

/**
 * Available units of a product per slot: stock minus demands, or for composed products the number that their parts and
 * complete cases allow. Undefined for a catalogue kit without pool parts. Throws KitNestedTooDeep.
 */
export const freeUnits = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>,
  known: FreeUnitsCache = new Map()
): ReadonlyArray<number> | undefined => freeAt(snapshot, product_id, bounds, 0, known)

/** Results by product, for one snapshot and list of bounds, as kits share parts. */
export type FreeUnitsCache = Map<number, ReadonlyArray<number> | undefined>

const freeAt = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>,
  depth: number,
  known: FreeUnitsCache
): ReadonlyArray<number> | undefined => {
  if (known.has(product_id)) return known.get(product_id)
  const product = snapshot.products.get(product_id)
  const composition = compositionOf(product)
  const free =
    product === undefined || composition === "plain"
      ? timelineOf(snapshot, product_id, bounds).available
      : composition === "catalogue"
        ? fromPool(snapshot, product, bounds, depth, known)
        : composition === "kit"
          ? freeHousings(snapshot, product, bounds)
          : lowest(freeHousings(snapshot, product, bounds), fromPool(snapshot, product, bounds, depth, known))
  known.set(product_id, free)
  return free
}

/** Parts that a kit takes from general stock, except those of quantity 0. */
export const poolParts = (product: StockedProduct): ReadonlyArray<KitPart> =>
  product.parts.filter((part) => part.binding === "pool" && part.quantity > 0)

/** Number of whole kits that these units of one part make; never negative. Exact to four decimals of quantity. */
export const kitsFrom = (units: number, part: KitPart): number =>
  Math.max(0, Math.floor((units * 10_000) / Math.round(part.quantity * 10_000)))

const fromPool = (
  snapshot: AvailabilitySnapshot,
  kit: StockedProduct,
  bounds: ReadonlyArray<number>,
  depth: number,
  known: FreeUnitsCache
): ReadonlyArray<number> | undefined => {
  const parts = poolParts(kit)
  if (parts.length > 0 && depth >= snapshot.kit_depth) throw new KitNestedTooDeep(kit.id, snapshot.kit_depth)
  return parts
    .map((part) => {
      const units = freeAt(snapshot, part.component_product_id, bounds, depth + 1, known)
      return bounds.slice(1).map((_, slot) => kitsFrom(units?.[slot] ?? 0, part))
    })
    .reduce<ReadonlyArray<number> | undefined>((kits, more) => lowest(more, kits), undefined)
}

const lowest = (one: ReadonlyArray<number>, other: ReadonlyArray<number> | undefined): ReadonlyArray<number> =>
  other === undefined ? one : one.map((units, slot) => Math.min(units, other[slot] ?? 0))

/**
 * Available cases of a container product per slot: its available stock minus free cases with incomplete fixed parts.
 * Only a case's own contents count; demands on other units of a fixed part do not matter.
 */
const freeHousings = (
  snapshot: AvailabilitySnapshot,
  product: StockedProduct,
  bounds: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const own = timelineOf(snapshot, product.id, bounds).available
  const fixed = product.parts.filter((part) => part.binding === "fixed" && part.quantity > 0)
  if (fixed.length === 0) return own
  const stock = snapshot.stockOf(product.id)
  const demandsOnCases = demandsByAsset(snapshot.demandsOf(product.id))
  const demandsOnContents = demandsByAsset(fixed.flatMap((part) => snapshot.demandsOf(part.component_product_id)))
  const containerIn = new Map(snapshot.containersOf(product.id).map((container) => [container.housing_id, container]))
  // Cases in bulk stock are anonymous and have no known contents: none is complete.
  const unfit = stockTotals(
    bounds,
    stock.filter((row) => !row.is_unit)
  )
  for (const unit of stock.filter((row) => row.is_unit)) {
    const here = new SlotTally(bounds),
      demanded = new SlotTally(bounds)
    here.add(unit.from, unit.to, 1)
    for (const demand of demandsOnCases.get(unit.level.id) ?? []) demanded.add(demand.from, demand.to, 1)
    const isFilled = filledSlots(containerIn.get(unit.level.id), fixed, demandsOnContents, bounds)
    const demand_sums = demanded.sums()
    here.sums().forEach((present, slot) => {
      if (present > 0 && demand_sums[slot] === 0 && !isFilled[slot]) unfit[slot] = (unfit[slot] ?? 0) + 1
    })
  }
  return own.map((units, slot) => units - (unfit[slot] ?? 0))
}

/** Per slot, whether the container holds the full number of every fixed part, without demands of others. */
const filledSlots = (
  container: PackedContainer | undefined,
  fixed: ReadonlyArray<KitPart>,
  demands: ReadonlyMap<number, ReadonlyArray<ActiveDemand>>,
  bounds: ReadonlyArray<number>
): ReadonlyArray<boolean> => {
  const filled = bounds.slice(1).map(() => container !== undefined)
  for (const part of container === undefined ? [] : fixed) {
    packedUnits(container, part, demands, bounds).forEach((units, slot) => {
      if (units < Math.ceil(part.quantity)) filled[slot] = false
    })
  }
  return filled
}

/** Per slot, the units of a part in one container that have no demand besides that of their packing. */
export const packedUnits = (
  container: PackedContainer | undefined,
  part: KitPart,
  demands: ReadonlyMap<number, ReadonlyArray<ActiveDemand>>,
  bounds: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const packed = new SlotTally(bounds)
  for (const item of container?.items ?? []) {
    if (item.product_id === part.component_product_id) addFreeSlots(packed, item, demands, bounds)
  }
  return packed.sums()
}

/** Adds one packed unit to the slots in which it has no demand besides that of its packing. */
const addFreeSlots = (
  packed: SlotTally,
  item: PackedItem,
  demands: ReadonlyMap<number, ReadonlyArray<ActiveDemand>>,
  bounds: ReadonlyArray<number>
): void => {
  const until = item.unpacked_at === null ? openEndMillis : millisOf(item.unpacked_at)
  const inside = slotsTouched(bounds, millisOf(item.packed_at), until)
  const taken = (demands.get(item.stock_level_id) ?? [])
    .filter(({ demand }) => demand.source_type !== "container" || demand.source_id !== item.container_item_id)
    .map((demand) => slotsTouched(bounds, demand.from, demand.to))
    .sort((one, other) => one.first - other.first)
  let next = inside.first
  for (const { first, last } of taken) {
    packed.addSlots(next, Math.min(first - 1, inside.last), 1)
    next = Math.max(next, last + 1)
  }
  packed.addSlots(next, inside.last, 1)
}

export const demandsByAsset = (
  demands: ReadonlyArray<ActiveDemand>
): ReadonlyMap<number, ReadonlyArray<ActiveDemand>> => {
  const byAsset = new Map<number, Array<ActiveDemand>>()
  for (const demand of demands) {
    if (!demand.demand.is_active || demand.demand.asset_id === null) continue
    const group = byAsset.get(demand.demand.asset_id)
    if (group === undefined) byAsset.set(demand.demand.asset_id, [demand])
    else group.push(demand)
  }
  return byAsset
}
