/** Builders for availability tests: demands, stock levels and products with defaults for what a test leaves out. */
import {
  type AvailabilitySnapshot,
  type SnapshotEntries,
  snapshotOf,
  type StockedProduct,
  type StockLevel
} from "../../../../../core/orders/availability/rules/snapshot.ts"
import {
  bufferedWindow,
  type Buffers,
  type Demand,
  holdsStock,
  noBuffers,
  type Resolution
} from "../../../../../core/orders/availability/rules/demand.ts"
import type { KitPart } from "../../../../../core/products/kits/schema.ts"
import { openEnd } from "../../../../../core/values/time.ts"
import { type LocalMoment, momentOf } from "../../../../../core/values/period.ts"

export const S = 1
export const P = 100
export const resolutions: ReadonlyArray<Resolution> = ["daily", "half_daily", "hourly"]

/** ISO instant of `06-18`, `06-18T12:00` (in 2026) or a text with its year. */
export const at = (text: string): string => {
  const full = /^\d\d-\d\d/.test(text) ? `2026-${text}` : text
  return full.length === 10 ? `${full}T00:00:00.000Z` : full.length === 16 ? `${full}:00.000Z` : full
}
export const ms = (text: string): number => Date.parse(at(text))

export const moment = (text: string, zone = "UTC"): LocalMoment => {
  const found = momentOf(text, zone)
  if (found === undefined) throw new Error(`${text} is no moment`)
  return found
}

let lastId = 0

/** Demand for a quantity over [from, to): by default an order line's, reserved, without buffers. */
export const demand = (
  quantity: number,
  from: string,
  to: string | null,
  more: Partial<Demand> & { readonly buffers?: Buffers } = {}
): Demand => {
  const { buffers = noBuffers, ...fields } = more
  const phase = fields.phase ?? "reserved"
  const starts_at = at(from),
    ends_at = to === null ? openEnd : at(to)
  const id = ++lastId
  return {
    id,
    product_id: P,
    store_id: S,
    asset_id: null,
    quantity,
    starts_at,
    ends_at,
    ...bufferedWindow(starts_at, ends_at, phase, buffers),
    source_type: "opportunity_item",
    source_id: id,
    phase,
    is_active: holdsStock(phase),
    out: false,
    pending_checkin: false,
    returned_at: null,
    checked_at: null,
    opportunity_id: null,
    container_id: null,
    ...fields
  }
}

export const bulk = (quantity_held: string | number, more: Partial<StockLevel> = {}): StockLevel => ({
  id: ++lastId,
  product_id: P,
  store_id: S,
  stock_category: 10,
  quantity_held,
  starts_at: null,
  ends_at: null,
  last_transaction_type: null,
  item_name: null,
  asset_number: null,
  serial_number: null,
  barcode: null,
  location: null,
  ...more
})

export const unit = (id: number, more: Partial<StockLevel> = {}): StockLevel =>
  bulk(0, { id, stock_category: 50, serial_number: `SN-${id}`, ...more })

export const product = (id: number, more: Partial<StockedProduct> = {}): StockedProduct => ({
  id,
  name: `Product ${id}`,
  is_serialised: false,
  track_availability: true,
  is_kit: false,
  container_mode: null,
  parts: [],
  before_minutes: 0,
  after_minutes: 0,
  ...more
})

export const pool = (component_product_id: number, quantity: number): KitPart => ({
  component_product_id,
  quantity,
  binding: "pool"
})
export const fixed = (component_product_id: number, quantity: number): KitPart => ({
  component_product_id,
  quantity,
  binding: "fixed"
})

interface SnapshotFixture extends Partial<Omit<SnapshotEntries, "store" | "resolution" | "now">> {
  readonly zone?: string
  readonly resolution?: Resolution
  readonly now?: string
  readonly store_id?: number
}

/** Snapshot of store S: by default in UTC, with daily slots, on 18 June 2026. */
export const snapshot = ({
  now = "06-18T12:00",
  resolution = "daily",
  store_id = S,
  zone = "UTC",
  ...rest
}: SnapshotFixture): AvailabilitySnapshot =>
  snapshotOf({ demands: [], stock: [], ...rest, store: { id: store_id, timezone: zone }, resolution, now: at(now) })
