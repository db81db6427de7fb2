/** Snapshots: one store's stock and demands in memory, from which all availability figures are computed. */
import { type OutOfService, outOfServiceOf, outOfServicePeriod, unit_category } from "../../../products/stock/schema.ts"
import { openEndMillis, type Period } from "../../../values/period.ts"
import { instantOf, millisOf, zoneOf } from "../../../values/time.ts"
import { type ActiveDemand, activeDemand, arrival, type Buffers, type Demand, type OpportunityName } from "./demand.ts"
import type { Resolution } from "./demand.ts"
import { type CaseProduct, defaultKitDepth } from "../../../products/kits/schema.ts"

// Quantity of a product that a store owns over time (rules/availability 3).

/** One stock level. `quantity_held`: decimal with up to four places, for bulk only; a serialised row is one unit. */
export interface StockLevel {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  readonly stock_category: number
  readonly quantity_held: string | number
  /** A sub-hired unit counts only within its hire window; null is unbounded. */
  readonly starts_at: string | null
  readonly ends_at: string | null
  /** Type of the latest ledger entry; of stored levels only 6 (write-off) if gone for any reason, else null. */
  readonly last_transaction_type: number | null
  readonly item_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  readonly location: string | null
  /** Quantity out of service, by period; absent if none. */
  readonly out_of_service?: ReadonlyArray<OutOfService>
  readonly inspection_due_at?: string | null
  /** Source of goods on their way here, which are no level yet: the id is the negative of the supply's. */
  readonly supplied_by?: { readonly source_type: string; readonly source_id: number }
}

/** A stock level with its window in milliseconds. `ten_thousandths`: the bulk quantity, 0 for a unit. */
export interface StockPeriod extends Period {
  readonly level: StockLevel
  readonly ten_thousandths: number
  readonly is_unit: boolean
}

/** Ledger types after which a unit is gone: decrease, write-off, sale and transfer out. */
const movesOut: ReadonlySet<number> = new Set([3, 6, 7, 10])

/**
 * Whether a stock level counts: a unit does unless its latest ledger entry moved it out. `quantity_held` is irrelevant
 * for units: new ones may have 0.
 */
const countsAsStock = (level: StockLevel): boolean =>
  !isNever(level) &&
  (level.stock_category !== unit_category ||
    level.last_transaction_type === null ||
    !movesOut.has(level.last_transaction_type))
/** Whether the window is empty: goods returned to the supplier before they counted. */
const isNever = ({ ends_at, starts_at }: StockLevel): boolean =>
  starts_at !== null && ends_at !== null && millisOf(ends_at) <= millisOf(starts_at)

const stockPeriodOf = (level: StockLevel, moment: Pick<AvailabilitySnapshot, "now" | "zone">): StockPeriod => {
  const is_unit = level.stock_category === unit_category
  return {
    level,
    from:
      level.starts_at === null
        ? Number.NEGATIVE_INFINITY
        : level.supplied_by === undefined
          ? millisOf(level.starts_at)
          : arrival(level.starts_at, moment),
    to: level.ends_at === null ? openEndMillis : millisOf(level.ends_at),
    is_unit,
    // Integers, so that 16.49 plus 1.01 is exactly 17.5 before it is rounded.
    ten_thousandths: is_unit ? 0 : Math.round(Number(level.quantity_held) * 10_000)
  }
}

/** Rounds a bulk sum to whole units, half away from zero. */
export const wholeUnits = (ten_thousandths: number): number =>
  Math.sign(ten_thousandths) * Math.round(Math.abs(ten_thousandths) / 10_000) || 0

// Out-of-service stock as demands, so that all figures count and list it like any other demand (rules/availability
// 13.2).

/** Demands of the out-of-service part of these stock rows. `booked`: other demands on the product. */
const demandsOutOfService = (
  stock: ReadonlyArray<StockPeriod>,
  booked: ReadonlyArray<ActiveDemand>,
  { blocks_uninspected, now }: Pick<AvailabilitySnapshot, "blocks_uninspected" | "now">
): ReadonlyArray<ActiveDemand> =>
  stock.flatMap((row) => {
    const entries = outOfServiceOf(row.level, blocks_uninspected, now)
    if (entries.length === 0) return []
    const held = row.is_unit ? heldBy(row.level.id, booked) : []
    let left = row.is_unit ? 1 : Math.round(row.ten_thousandths / 10_000)
    return entries.flatMap((entry) => {
      // At most the current stock, as part of the quantity may have been written off.
      const quantity = Math.min(entry.quantity, Math.max(0, left))
      left -= quantity
      const { is_overdue, ...whole } = outOfServicePeriod(entry, now)
      const window = { from: Math.max(whole.from, row.from), to: Math.min(whole.to, row.to) }
      return pieces(window, held).map(({ is_held, period }) =>
        demandOf(row, entry, period, is_held ? 0 : quantity, is_overdue)
      )
    })
  })

/** Periods in which the unit's case or current hire demands it anyway: it must not be counted twice. */
const heldBy = (level_id: number, booked: ReadonlyArray<ActiveDemand>): ReadonlyArray<Period> =>
  booked.filter(
    ({ demand }) =>
      demand.is_active && demand.asset_id === level_id && (demand.source_type === "container" || demand.out)
  )

interface Piece {
  readonly period: Period
  readonly is_held: boolean
}
/** Splits the window where the unit begins or ceases to be held. */
const pieces = (window: Period, held: ReadonlyArray<Period>): ReadonlyArray<Piece> => {
  const found: Array<Piece> = []
  let from = window.from
  for (const one of [...held].sort((left, right) => left.from - right.from)) {
    const begins = Math.max(one.from, from),
      ends = Math.min(one.to, window.to)
    if (ends <= begins) continue
    if (begins > from) found.push({ period: { from, to: begins }, is_held: false })
    found.push({ period: { from: begins, to: ends }, is_held: true })
    from = ends
  }
  if (from < window.to) found.push({ period: { from, to: window.to }, is_held: false })
  return found
}

/** The id is the negative of the service record's, which no stored demand has. */
const demandOf = (
  { is_unit, level }: StockPeriod,
  entry: OutOfService,
  period: Period,
  quantity: number,
  is_overdue: boolean
): ActiveDemand => {
  const starts_at = instantOf(period.from),
    ends_at = instantOf(period.to)
  return {
    ...period,
    hire: period,
    is_overdue,
    waiting: undefined,
    out_of_service_level_id: level.id,
    demand: {
      id: -entry.service_record_id,
      product_id: level.product_id,
      store_id: level.store_id,
      asset_id: is_unit ? level.id : null,
      quantity,
      starts_at,
      ends_at,
      buffered_starts_at: starts_at,
      buffered_ends_at: ends_at,
      source_type: entry.state,
      source_id: entry.service_record_id,
      phase: "reserved",
      is_active: true,
      out: false,
      pending_checkin: false,
      returned_at: null,
      checked_at: null,
      opportunity_id: null,
      container_id: null
    }
  }
}

/** A product in a snapshot. Callers omit parts whose product is deleted. */
export interface StockedProduct extends Buffers, CaseProduct {
  readonly id: number
  /** Null if the product is deleted. */
  readonly name: string | null
  readonly is_serialised: boolean
  readonly track_availability: boolean
  readonly is_kit: boolean
}

/** A container in use with the units packed in it, and earlier ones if they were loaded. */
export interface PackedContainer {
  readonly id: number
  readonly product_id: number | null
  /** Stock level of the case itself; null for a temporary container. */
  readonly housing_id: number | null
  readonly items: ReadonlyArray<PackedItem>
}

export interface PackedItem {
  readonly container_item_id: number
  readonly stock_level_id: number
  readonly product_id: number
  readonly packed_at: string
  readonly unpacked_at: string | null
}

/** Days before and after today that ranges, calendars and sweeps cover (rules/availability 5). */
export interface Horizon {
  readonly past_days: number
  readonly future_days: number
}

export const defaultHorizon: Horizon = { past_days: 90, future_days: 365 }

export interface AvailabilitySnapshot {
  readonly store_id: number
  readonly zone: string
  readonly resolution: Resolution
  readonly now: number
  /** Whether units without a valid inspection are out of service. */
  readonly blocks_uninspected: boolean
  /** From the start of the UTC day `past_days` ago to the end of the UTC day `future_days` ahead. */
  readonly horizon: Period
  readonly kit_depth: number
  readonly products: ReadonlyMap<number, StockedProduct>
  readonly demandsOf: (product_id: number) => ReadonlyArray<ActiveDemand>
  readonly stockOf: (product_id: number) => ReadonlyArray<StockPeriod>
  readonly containersOf: (product_id: number) => ReadonlyArray<PackedContainer>
  /** Names of the opportunities with demands, if they were read. */
  readonly opportunities: ReadonlyMap<number, OpportunityName>
  /** Ids of products with stock or demands at the store, and those of {@link withProducts}, ascending. */
  readonly known: ReadonlyArray<number>
}

export interface SnapshotEntries {
  readonly store: { readonly id: number; readonly timezone: string | null }
  readonly resolution: Resolution
  readonly now: string
  /** Demands on the products, including inactive ones for units waiting for their check. */
  readonly demands: ReadonlyArray<Demand>
  readonly stock: ReadonlyArray<StockLevel>
  readonly products?: ReadonlyArray<StockedProduct>
  readonly containers?: ReadonlyArray<PackedContainer>
  readonly opportunities?: AvailabilitySnapshot["opportunities"] | undefined
  readonly horizon?: Horizon
  readonly kit_nesting_max_depth?: number
  readonly blocks_uninspected?: boolean
}

/** Builds a snapshot. Demands and stock of other stores are ignored; containers must be those of the store. */
export const snapshotOf = (entries: SnapshotEntries): AvailabilitySnapshot => {
  const { blocks_uninspected = false, store } = entries
  const moment = { now: millisOf(entries.now), zone: zoneOf(store.timezone), blocks_uninspected }
  const store_id = store.id
  const known = new Set<number>()
  const demands = new Map<number, Array<ActiveDemand>>()
  for (const demand of entries.demands) {
    if (demand.store_id !== store_id) continue
    known.add(demand.product_id)
    addTo(demands, demand.product_id, activeDemand(demand, moment.now))
  }
  const stock = new Map<number, Array<StockPeriod>>()
  for (const level of entries.stock) {
    if (level.store_id !== store_id) continue
    known.add(level.product_id)
    if (countsAsStock(level)) addTo(stock, level.product_id, stockPeriodOf(level, moment))
  }
  const containers = grouped(
    entries.containers ?? [],
    (container) => container.product_id ?? 0,
    (container) => container
  )
  for (const [product_id, rows] of stock) {
    const booked = demands.get(product_id) ?? []
    const out = demandsOutOfService(rows, booked, moment)
    if (out.length > 0) demands.set(product_id, [...booked, ...out])
  }
  return {
    store_id,
    resolution: entries.resolution,
    ...moment,
    horizon: horizonAt(moment.now, entries.horizon ?? defaultHorizon),
    kit_depth: Math.max(1, entries.kit_nesting_max_depth ?? defaultKitDepth),
    products: new Map((entries.products ?? []).map((product) => [product.id, product])),
    demandsOf: (product_id) => demands.get(product_id) ?? [],
    stockOf: (product_id) => stock.get(product_id) ?? [],
    containersOf: (product_id) => containers.get(product_id) ?? [],
    opportunities: entries.opportunities ?? new Map(),
    known: [...known].sort((left, right) => left - right)
  }
}

/** Adds products without stock and demands to the snapshot's known ones. */
export const withProducts = (
  snapshot: AvailabilitySnapshot,
  product_ids: ReadonlyArray<number>
): AvailabilitySnapshot =>
  product_ids.length === 0
    ? snapshot
    : { ...snapshot, known: [...new Set([...snapshot.known, ...product_ids])].sort((left, right) => left - right) }

/** The snapshot with these stock levels replacing those with the same ids; `gone`: ids to remove. */
export const withLevels = (
  snapshot: AvailabilitySnapshot,
  levels: ReadonlyArray<StockLevel>,
  gone: ReadonlySet<number>
): AvailabilitySnapshot => {
  const replaced = new Set([...gone, ...levels.map(({ id }) => id)])
  const here = levels.filter((level) => level.store_id === snapshot.store_id)
  const more = grouped(
    here.filter(countsAsStock),
    (level) => level.product_id,
    (level) => stockPeriodOf(level, snapshot)
  )
  return withProducts(
    {
      ...snapshot,
      stockOf: (product_id) => [
        ...snapshot.stockOf(product_id).filter(({ level }) => !replaced.has(level.id)),
        ...(more.get(product_id) ?? [])
      ],
      demandsOf: (product_id) => {
        const kept = snapshot
          .demandsOf(product_id)
          .filter(({ out_of_service_level_id: id }) => id === undefined || !replaced.has(id))
        return [...kept, ...demandsOutOfService(more.get(product_id) ?? [], kept, snapshot)]
      }
    },
    here.map(({ product_id }) => product_id)
  )
}

export const withDemands = (snapshot: AvailabilitySnapshot, demands: ReadonlyArray<Demand>): AvailabilitySnapshot => {
  const more = grouped(
    demands.filter((demand) => demand.store_id === snapshot.store_id),
    (demand) => demand.product_id,
    (demand) => activeDemand(demand, snapshot.now)
  )
  return withProducts(
    { ...snapshot, demandsOf: (product_id) => [...snapshot.demandsOf(product_id), ...(more.get(product_id) ?? [])] },
    [...more.keys()]
  )
}

/**
 * `kit` and `hybrid` are cases with contents; a `catalogue` kit is a product with parts and no container mode; the
 * rest, transport boxes included, is `plain` (rules/availability 2.4, 7.3).
 */
type Composition = "plain" | "catalogue" | "kit" | "hybrid"

export const compositionOf = (product: Pick<StockedProduct, "is_kit" | "container_mode"> | undefined): Composition =>
  product === undefined
    ? "plain"
    : product.container_mode === "kit" || product.container_mode === "hybrid"
      ? product.container_mode
      : product.is_kit && product.container_mode === null
        ? "catalogue"
        : "plain"

/** Whether the product is tracked and so appears in ranges and sweeps (rules/availability 5). */
export const isTracked = (snapshot: AvailabilitySnapshot, product_id: number): boolean =>
  snapshot.products.get(product_id)?.track_availability ?? true

const dayMillis = 86_400_000

const horizonAt = (now: number, horizon: Horizon): Period => {
  const today = Math.floor(now / dayMillis) * dayMillis
  return { from: today - horizon.past_days * dayMillis, to: today + (horizon.future_days + 1) * dayMillis }
}

const grouped = <Row, Entry>(
  rows: ReadonlyArray<Row>,
  keyOf: (row: Row) => number,
  entryOf: (row: Row) => Entry
): Map<number, ReadonlyArray<Entry>> => {
  const groups = new Map<number, Array<Entry>>()
  for (const row of rows) addTo(groups, keyOf(row), entryOf(row))
  return groups
}
const addTo = <Entry>(groups: Map<number, Array<Entry>>, key: number, entry: Entry): void => {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [entry])
  else group.push(entry)
}
