/** Days on which a store has promised more than it has (availability 6.7). */
import { instantOf } from "../values/time.ts"
import type { Moment } from "../values/period.ts"
import { type Book, isTracked } from "./book.ts"
import { dayCells, dayGrid } from "./days.ts"

export interface Shortage {
  readonly product_id: number
  readonly product_name: string | null
  readonly store_id: number
  readonly date: string
  /** The day's lowest, negative. */
  readonly available: number
  /** By how much the day falls short, positive. */
  readonly severity: number
  readonly calculated_at: string
}

/** One row per product, store and day, both ends included; by date, then product, then store. */
export const shortages = (books: ReadonlyArray<Book>, from: Moment, to: Moment): ReadonlyArray<Shortage> =>
  books
    .flatMap((book) => shortagesAt(book, from, to))
    .sort((one, other) =>
      one.date < other.date ? -1 : one.date > other.date ? 1
        : one.product_id - other.product_id || one.store_id - other.store_id)

const shortagesAt = (book: Book, from: Moment, to: Moment): ReadonlyArray<Shortage> => {
  const grid = dayGrid(book, from, to)
  return book.known.filter((id) => isTracked(book, id)).flatMap((product_id) =>
    dayCells(book, product_id, grid)
      .filter((cell) => cell.min_available < 0)
      .map(({ date, min_available }) => ({
        product_id,
        product_name: book.products.get(product_id)?.name ?? null,
        store_id: book.store_id,
        date,
        available: min_available,
        severity: -min_available,
        calculated_at: instantOf(book.now)
      })))
}
