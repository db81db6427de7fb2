/** How much of a product a store owns, and when (rules/availability 3). */
import type { OutOfService } from "../../../products/service.ts"
import { millisOf } from "../../../values/time.ts"
import { openEndMillis, type Period } from "../../../values/period.ts"

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
export const countsAsStock = (level: StockLevel): boolean =>
  !isNever(level) &&
  (level.stock_category !== serialisedCategory ||
    level.last_transaction_type === null ||
    !movesOut.has(level.last_transaction_type))
/** A window without length: goods that went back to their supplier before they counted. */
const isNever = ({ ends_at, starts_at }: StockLevel): boolean =>
  starts_at !== null && ends_at !== null && millisOf(ends_at) <= millisOf(starts_at)

export const stockPeriodOf = (level: StockLevel): StockPeriod => {
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
