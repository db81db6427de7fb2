/** Days on which the demands at a store exceed its stock (rules/availability 6.7). */
import { instantOf } from "../values/time.ts"
import type { LocalMoment } from "../values/period.ts"
import { type AvailabilitySnapshot, isTracked } from "./snapshot.ts"
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

/** One row per product, store and day from `from` to `to`, both included; by date, then product, then store. */
export const shortages = (
  snapshots: ReadonlyArray<AvailabilitySnapshot>,
  from: LocalMoment,
  to: LocalMoment
): ReadonlyArray<Shortage> =>
  snapshots
    .flatMap((snapshot) => shortagesAt(snapshot, from, to))
    .sort((one, other) =>
      one.date < other.date
        ? -1
        : one.date > other.date
          ? 1
          : one.product_id - other.product_id || one.store_id - other.store_id
    )

const shortagesAt = (snapshot: AvailabilitySnapshot, from: LocalMoment, to: LocalMoment): ReadonlyArray<Shortage> => {
  const grid = dayGrid(snapshot, from, to)
  return snapshot.known
    .filter((id) => isTracked(snapshot, id))
    .flatMap((product_id) =>
      dayCells(snapshot, product_id, grid)
        .filter((cell) => cell.min_available < 0)
        .map(({ date, min_available }) => ({
          product_id,
          product_name: snapshot.products.get(product_id)?.name ?? null,
          store_id: snapshot.store_id,
          date,
          available: min_available,
          severity: -min_available,
          calculated_at: instantOf(snapshot.now)
        }))
    )
}
