/** Which serialised units are free, and who holds one that is not (availability 6.4). */
import { type Period, meets } from "../values/period.ts"
import type { Book } from "./book.ts"
import { type Buffers, type StandingClaim, noBuffers } from "./claim.ts"

export interface AvailableAsset {
  readonly id: number
  readonly item_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  readonly location: string | null
}

/**
 * Units of the product with no active claim of their own in the window, by id. The product's own buffers widen the
 * window, so a unit listed here can be allocated without its preparation time colliding. Quantity claims exclude no
 * unit; a bulk product has none.
 */
export const availableAssets = (book: Book, product_id: number, window: Period): ReadonlyArray<AvailableAsset> => {
  const asked = widened(window, book.products.get(product_id) ?? noBuffers)
  const held = new Set(holdersIn(book.claimsOf(product_id), asked).map(({ claim }) => claim.asset_id))
  return book.stockOf(product_id)
    .filter((row) => row.is_unit && row.from <= window.from && row.to >= window.to && !held.has(row.level.id))
    .map(({ level }) => ({
      id: level.id,
      item_name: level.item_name,
      asset_number: level.asset_number,
      serial_number: level.serial_number,
      barcode: level.barcode,
      location: level.location
    }))
    .sort((one, other) => one.id - other.id)
}

/** Who stands in the way of allocating one unit for a window, first come first; empty when nobody does. */
export const holdersOfAsset = (
  book: Book, product_id: number, asset_id: number, window: Period, buffers: Buffers = noBuffers
): ReadonlyArray<StandingClaim> =>
  holdersIn(book.claimsOf(product_id), widened(window, buffers))
    .filter(({ claim }) => claim.asset_id === asset_id)
    .sort((one, other) => one.from - other.from || one.claim.id - other.claim.id)

const holdersIn = (claims: ReadonlyArray<StandingClaim>, window: Period): ReadonlyArray<StandingClaim> =>
  claims.filter((claim) => claim.claim.is_active && claim.claim.asset_id !== null && meets(claim, window))

const widened = (window: Period, buffers: Buffers): Period => ({
  from: window.from - buffers.before_minutes * 60_000,
  to: window.to + buffers.after_minutes * 60_000
})
