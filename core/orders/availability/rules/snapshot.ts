/** One store's stock and demands in memory: every answer about availability is computed from a snapshot. */
import { type OutOfService, outOfServicePeriod } from "../../../products/stock/schema.ts"
import { openEndMillis, type Period } from "../../../values/period.ts"
import { instantOf, millisOf, zoneOf } from "../../../values/time.ts"
import { type ActiveDemand, activeDemand, type Buffers, type Demand } from "./demand.ts"
import { type CaseProduct, defaultKitDepth } from "../../../products/kits/schema.ts"
import type { Resolution } from "./slots.ts"

// How much of a product a store owns, and when (rules/availability 3).

const serialisedCategory = 50

/** One stock level. `quantity_held` is a decimal of up to four places; bulk only, a serialised row is one unit. */
export interface StockLevel {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  readonly stock_category: number
  readonly quantity_held: string | number
  /** A sub-hired unit counts only inside its hire window; null is unbounded. */
  readonly starts_at: string | null
  readonly ends_at: string | null
  /** Type of the newest ledger row, null without one. */
  readonly last_transaction_type: number | null
  readonly item_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  readonly location: string | null
  /** Part of it that is out of service; absent if none. */
  readonly out_of_service?: ReadonlyArray<OutOfService>
}

/** A stock level with its window in milliseconds. `ten_thousandths` is the bulk quantity, 0 for a unit. */
export interface StockPeriod extends Period {
  readonly level: StockLevel
  readonly ten_thousandths: number
  readonly is_unit: boolean
}

/** Decrease, write-off, sale and transfer out: ledger types after which a unit is no longer here. */
const movesOut: ReadonlySet<number> = new Set([3, 6, 7, 10])

/**
 * Whether a row counts at all: a unit counts unless the newest row of its ledger moved it out. `quantity_held` does not
 * matter for units: a newly made one may hold 0.
 */
const countsAsStock = (level: StockLevel): boolean =>
  !isNever(level) &&
  (level.stock_category !== serialisedCategory ||
    level.last_transaction_type === null ||
    !movesOut.has(level.last_transaction_type))
/** A window without length: goods that went back to their supplier before they counted. */
const isNever = ({ ends_at, starts_at }: StockLevel): boolean =>
  starts_at !== null && ends_at !== null && millisOf(ends_at) <= millisOf(starts_at)

const stockPeriodOf = (level: StockLevel): StockPeriod => {
  const is_unit = level.stock_category === serialisedCategory
  return {
    level,
    from: level.starts_at === null ? Number.NEGATIVE_INFINITY : millisOf(level.starts_at),
    to: level.ends_at === null ? openEndMillis : millisOf(level.ends_at),
    is_unit,
    // Whole numbers: the sum of 16.49 and 1.01 is then exactly 17.5 before it is rounded.
    ten_thousandths: is_unit ? 0 : Math.round(Number(level.quantity_held) * 10_000)
  }
}

/** Bulk sum to whole units; halves round away from zero. */
export const wholeUnits = (ten_thousandths: number): number =>
  Math.sign(ten_thousandths) * Math.round(Math.abs(ten_thousandths) / 10_000) || 0

// Stock that is out of service, as demands: every answer counts and names it like any other (rules/availability 13.2).

/** Demands of the units out of service in these stock rows. `booked`: other demands on the same product. */
const demandsOutOfService = (
  stock: ReadonlyArray<StockPeriod>,
  booked: ReadonlyArray<ActiveDemand>,
  now: number
): ReadonlyArray<ActiveDemand> =>
  stock.flatMap((row) => {
    const entries = row.level.out_of_service ?? []
    if (entries.length === 0) return []
    const held = row.is_unit ? heldBy(row.level.id, booked) : []
    let left = row.is_unit ? 1 : Math.round(row.ten_thousandths / 10_000)
    return entries.flatMap((entry) => {
      // At most the present stock: part of it may have been written off.
      const quantity = Math.min(entry.quantity, Math.max(0, left))
      left -= quantity
      const { is_overdue, ...whole } = outOfServicePeriod(entry, now)
      const window = { from: Math.max(whole.from, row.from), to: Math.min(whole.to, row.to) }
      return pieces(window, held).map(({ is_held, period }) =>
        demandOf(row, entry, period, is_held ? 0 : quantity, is_overdue)
      )
    })
  })

/** When a case or a hire that it went out on has the unit anyway: it is not to be counted twice. */
const heldBy = (level_id: number, booked: ReadonlyArray<ActiveDemand>): ReadonlyArray<Period> =>
  booked.filter(
    ({ demand }) =>
      demand.is_active && demand.asset_id === level_id && (demand.source_type === "container" || demand.out)
  )

interface Piece {
  readonly period: Period
  readonly is_held: boolean
}
/** The window cut where the unit begins or ends to be held. */
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

/** Its id is the negative of its service record's: no stored demand has one. */
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

/** A product as availability reads it. Parts that are deleted products are left out by the caller. */
export interface StockedProduct extends Buffers, CaseProduct {
  readonly id: number
  /** Null once the product is deleted. */
  readonly name: string | null
  readonly is_serialised: boolean
  readonly track_availability: boolean
  readonly is_kit: boolean
}

/** A container in use with the units packed in it, and those packed earlier where they were loaded. */
export interface PackedContainer {
  readonly id: number
  readonly product_id: number | null
  /** The stock level of the case itself; null for a temporary container. */
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

/** Days before and after today for which ranges, calendars and sweeps answer (rules/availability 5). */
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
  /** Start of the UTC day `past_days` ago to the end of the UTC day `future_days` ahead. */
  readonly horizon: Period
  readonly kit_depth: number
  readonly products: ReadonlyMap<number, StockedProduct>
  readonly demandsOf: (product_id: number) => ReadonlyArray<ActiveDemand>
  readonly stockOf: (product_id: number) => ReadonlyArray<StockPeriod>
  readonly containersOf: (product_id: number) => ReadonlyArray<PackedContainer>
  /** Ids of products that have or had any stock level or demand at the store, ascending. */
  readonly known: ReadonlyArray<number>
}

export interface SnapshotEntries {
  readonly store: { readonly id: number; readonly timezone: string | null }
  readonly resolution: Resolution
  readonly now: string
  /** All demands on the products to count; inactive ones too, for units waiting for their check. */
  readonly demands: ReadonlyArray<Demand>
  readonly stock: ReadonlyArray<StockLevel>
  readonly products?: ReadonlyArray<StockedProduct>
  readonly containers?: ReadonlyArray<PackedContainer>
  readonly horizon?: Horizon
  readonly kit_nesting_max_depth?: number
}

/** Rows of other stores are ignored: the rows of one query may serve several snapshots. */
export const snapshotOf = (entries: SnapshotEntries): AvailabilitySnapshot => {
  const now = millisOf(entries.now)
  const store_id = entries.store.id
  const here = <Row extends { readonly store_id: number }>(row: Row): boolean => row.store_id === store_id
  const demands = grouped(
    entries.demands.filter(here),
    (demand) => demand.product_id,
    (demand) => activeDemand(demand, now)
  )
  const levels = entries.stock.filter(here)
  const stock = grouped(levels.filter(countsAsStock), (level) => level.product_id, stockPeriodOf)
  const containers = grouped(
    entries.containers ?? [],
    (container) => container.product_id ?? 0,
    (container) => container
  )
  const known = new Set([...demands.keys(), ...levels.map((level) => level.product_id)])
  for (const [product_id, rows] of stock) {
    const booked = demands.get(product_id) ?? []
    const out = demandsOutOfService(rows, booked, now)
    if (out.length > 0) demands.set(product_id, [...booked, ...out])
  }
  return {
    store_id,
    zone: zoneOf(entries.store.timezone),
    resolution: entries.resolution,
    now,
    horizon: horizonAt(now, entries.horizon ?? defaultHorizon),
    kit_depth: Math.max(1, entries.kit_nesting_max_depth ?? defaultKitDepth),
    products: new Map((entries.products ?? []).map((product) => [product.id, product])),
    demandsOf: (product_id) => demands.get(product_id) ?? [],
    stockOf: (product_id) => stock.get(product_id) ?? [],
    containersOf: (product_id) => containers.get(product_id) ?? [],
    known: [...known].sort((left, right) => left - right)
  }
}

/** The same snapshot with more known products, without stock and demands. */
export const withProducts = (snapshot: AvailabilitySnapshot, product_ids: Iterable<number>): AvailabilitySnapshot => ({
  ...snapshot,
  known: [...new Set([...snapshot.known, ...product_ids])].sort((left, right) => left - right)
})

/** The same snapshot without the demands of one source: what would be free if that line did not exist. */
export const withoutSource = (
  snapshot: AvailabilitySnapshot,
  source_type: string,
  source_id: number
): AvailabilitySnapshot => ({
  ...snapshot,
  demandsOf: (product_id) =>
    snapshot
      .demandsOf(product_id)
      .filter(({ demand }) => demand.source_type !== source_type || demand.source_id !== source_id)
})

/** The same snapshot with these stock levels in place of those it has by their ids; `gone`: levels that are away. */
export const withLevels = (
  snapshot: AvailabilitySnapshot,
  levels: ReadonlyArray<StockLevel>,
  gone: ReadonlySet<number>
): AvailabilitySnapshot => {
  const replaced = new Set([...gone, ...levels.map(({ id }) => id)])
  const here = levels.filter((level) => level.store_id === snapshot.store_id)
  const more = grouped(here.filter(countsAsStock), (level) => level.product_id, stockPeriodOf)
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
        return [...kept, ...demandsOutOfService(more.get(product_id) ?? [], kept, snapshot.now)]
      }
    },
    here.map(({ product_id }) => product_id)
  )
}

/** The same snapshot with additional demands. */
export const withDemands = (snapshot: AvailabilitySnapshot, demands: ReadonlyArray<Demand>): AvailabilitySnapshot => {
  const more = grouped(
    demands.filter((demand) => demand.store_id === snapshot.store_id),
    (demand) => demand.product_id,
    (demand) => activeDemand(demand, snapshot.now)
  )
  return withProducts(
    { ...snapshot, demandsOf: (product_id) => [...snapshot.demandsOf(product_id), ...(more.get(product_id) ?? [])] },
    more.keys()
  )
}

/** The same snapshot with other demands of these sources (`keyOf` names a demand's source) than those it has. */
export const withSources = (
  snapshot: AvailabilitySnapshot,
  sources: ReadonlySet<string>,
  keyOf: (demand: Demand) => string,
  now: ReadonlyArray<Demand>
): AvailabilitySnapshot =>
  sources.size === 0
    ? snapshot
    : withDemands(
        {
          ...snapshot,
          demandsOf: (product_id) => snapshot.demandsOf(product_id).filter(({ demand }) => !sources.has(keyOf(demand)))
        },
        now
      )

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

/** Whether the product appears in ranges and sweeps (rules/availability 5). */
export const isTracked = (snapshot: AvailabilitySnapshot, product_id: number): boolean =>
  snapshot.products.get(product_id)?.track_availability ?? true

const dayMillis = 86_400_000

const horizonAt = (now: number, horizon: Horizon): Period => {
  const today = millisOf(`${instantOf(now).slice(0, 10)}T00:00:00.000Z`)
  return { from: today - horizon.past_days * dayMillis, to: today + (horizon.future_days + 1) * dayMillis }
}

const grouped = <Row, Entry>(
  rows: ReadonlyArray<Row>,
  keyOf: (row: Row) => number,
  entryOf: (row: Row) => Entry
): Map<number, ReadonlyArray<Entry>> => {
  const groups = new Map<number, Array<Entry>>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [entryOf(row)])
    else group.push(entryOf(row))
  }
  return new Map<number, ReadonlyArray<Entry>>(groups)
}
