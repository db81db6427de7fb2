/** The calendar grid: products down, days across (rules/availability 6.5). */
import { instantOf } from "../../../values/time.ts"
import { type LocalMoment, overlaps } from "../../../values/period.ts"
import { type AvailabilitySnapshot, compositionOf, isTracked } from "../rules/snapshot.ts"
import { type DayCell, dayCells, type DayGrid, dayGrid, kitCells } from "../rules/days.ts"
import type { ActiveDemand } from "../rules/demand.ts"
import type { FreeUnitsCache } from "../rules/kits.ts"

interface CalendarDay {
  readonly date: string
  /** The day's minimum. */
  readonly available: number
  readonly has_shortage: boolean
  readonly pending_checkin: number
}

interface CalendarProduct {
  readonly product_id: number
  /** Null if the product is deleted. */
  readonly product_name: string | null
  /** Whether the product is composed of parts, which determine its availability; only with `include_kits`. */
  readonly is_kit?: boolean
  readonly days: ReadonlyArray<CalendarDay>
}

interface AvailabilityCalendar {
  readonly store_id: number
  readonly from: string
  readonly to: string
  readonly products: ReadonlyArray<CalendarProduct>
}

interface CalendarRequest {
  /** Only these products; unknown ids are ignored. */
  readonly product_ids?: ReadonlyArray<number> | undefined
  /** Includes composed products, marked `is_kit`; the snapshot must have been loaded with compositions. */
  readonly include_kits?: boolean
}

/**
 * Days from `from` to `to` (inclusive) of every tracked product with stock or demands at the store, by id. Deleted
 * products only appear while demanded, composed ones only with `include_kits` and if the store has had them or a part.
 */
export const availabilityCalendar = (
  snapshot: AvailabilitySnapshot,
  from: LocalMoment,
  to: LocalMoment,
  { include_kits = false, product_ids }: CalendarRequest = {}
): AvailabilityCalendar => {
  const grid = dayGrid(snapshot, from, to)
  const wanted = product_ids === undefined ? undefined : new Set(product_ids)
  const shown = (id: number): boolean => (wanted === undefined || wanted.has(id)) && isTracked(snapshot, id)
  const rowOf = (product_id: number, cells: ReadonlyArray<DayCell>): CalendarProduct => ({
    product_id,
    product_name: snapshot.products.get(product_id)?.name ?? null,
    ...(include_kits ? { is_kit: isComposed(snapshot, product_id) } : {}),
    days: cells.map(({ date, min_available, pending_checkin }) => ({
      date,
      available: min_available,
      has_shortage: min_available < 0,
      pending_checkin
    }))
  })
  const plain = snapshot.known
    .filter((id) => shown(id) && !isComposed(snapshot, id) && !isDeletedAndFree(snapshot, id, grid))
    .map((id) => rowOf(id, dayCells(snapshot, id, grid)))
  const known: FreeUnitsCache = new Map()
  const kits = !include_kits
    ? []
    : kitsHere(snapshot)
        .filter(shown)
        .flatMap((id) => {
          const cells = kitCells(snapshot, id, grid, known)
          return cells === undefined ? [] : [rowOf(id, cells)]
        })
  return {
    store_id: snapshot.store_id,
    from: instantOf(from.at),
    to: instantOf(to.at),
    products: grid.days.length === 0 ? [] : [...plain, ...kits].sort((one, other) => one.product_id - other.product_id)
  }
}

const isComposed = (snapshot: AvailabilitySnapshot, product_id: number): boolean =>
  compositionOf(snapshot.products.get(product_id)) !== "plain"

/** Whether the product is deleted and has no demand on these days. */
const isDeletedAndFree = (snapshot: AvailabilitySnapshot, id: number, { days }: DayGrid): boolean => {
  const [first, last] = [days[0], days.at(-1)]
  if (snapshot.products.get(id)?.name !== null || first === undefined || last === undefined) return false
  const window = { from: first.from, to: last.to }
  const isClaim = (one: ActiveDemand): boolean =>
    one.demand.is_active && one.out_of_service_level_id === undefined && overlaps(one, window)
  return !snapshot.demandsOf(id).some(isClaim)
}

/** Live composed products of which, or of whose parts at any depth, the store has had stock or demands. */
const kitsHere = (snapshot: AvailabilitySnapshot): ReadonlyArray<number> => {
  const here = new Map<number, boolean>(snapshot.known.map((id) => [id, true]))
  const reaches = (id: number): boolean => {
    const known = here.get(id)
    if (known !== undefined) return known
    // Marked before visiting its parts, so that cycles end.
    here.set(id, false)
    const found = (snapshot.products.get(id)?.parts ?? []).some((part) => reaches(part.component_product_id))
    here.set(id, found)
    return found
  }
  return [...snapshot.products.values()]
    .filter((product) => product.name !== null && compositionOf(product) !== "plain" && reaches(product.id))
    .map((product) => product.id)
}
