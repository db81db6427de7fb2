/** The calendar grid: products down, days across (availability 6.5). */
import { instantOf } from "../values/time.ts"
import type { Moment } from "../values/period.ts"
import { type Book, compositionOf, isTracked } from "./book.ts"
import { dayCells, dayGrid } from "./days.ts"

export interface CalendarDay {
  readonly date: string
  /** The day's lowest. */
  readonly available: number
  readonly has_shortage: boolean
  readonly pending_checkin: number
}

export interface CalendarProduct {
  readonly product_id: number
  /** Null once the product is deleted. */
  readonly product_name: string | null
  readonly days: ReadonlyArray<CalendarDay>
}

export interface AvailabilityCalendar {
  readonly store_id: number
  readonly from: string
  readonly to: string
  readonly products: ReadonlyArray<CalendarProduct>
}

/**
 * Days from `from` to `to`, both included, of every tracked product with stock or claims here, by id. Composed
 * products are derived when asked for and do not appear. `product_ids` narrows; unknown ids are ignored.
 */
export const availabilityCalendar = (
  book: Book, from: Moment, to: Moment, product_ids?: ReadonlyArray<number>
): AvailabilityCalendar => {
  const grid = dayGrid(book, from, to)
  const wanted = product_ids === undefined ? undefined : new Set(product_ids)
  return {
    store_id: book.store_id,
    from: instantOf(from.at),
    to: instantOf(to.at),
    products: grid.days.length === 0 ? [] : book.known
      .filter((id) => wanted === undefined || wanted.has(id))
      .filter((id) => isTracked(book, id) && compositionOf(book.products.get(id)) === "plain")
      .map((product_id) => ({
        product_id,
        product_name: book.products.get(product_id)?.name ?? null,
        days: dayCells(book, product_id, grid).map(({ date, min_available, pending_checkin }) => ({
          date,
          available: min_available,
          has_shortage: min_available < 0,
          pending_checkin
        }))
      }))
  }
}
