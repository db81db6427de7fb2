/** Locations of an order's goods: each line split by case and location. Pure. */
import { dispatched, type AssignmentRow, type ItemRow } from "../../orders/opportunities/tables/index.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import type { Shelf, WarehouseFacts } from "./warehouse-facts.ts"
import { partsOfLine, piecesOfLine } from "../../orders/opportunities/state/index.ts"

export interface Unit {
  readonly assignment: AssignmentRow
  readonly level: StockLevelRow | undefined
}
export type Place =
  | { readonly kind: "case"; readonly key: string; readonly case: Case }
  | { readonly kind: "shelf"; readonly key: string; readonly store_id: number | null; readonly location: string | null }
export interface Case {
  readonly name: string
  readonly container: ContainerRow | undefined
  readonly housing: StockLevelRow | undefined
  /** Name of the outer case; null if it is in none. */
  readonly within: string | null
  /** Whether the case travels whole, with all its contents. */
  readonly travels: boolean
  /** Contents without an allocation to a line: kit components. */
  readonly contents: ReadonlyArray<{ readonly item: ContainerItemRow; readonly level: StockLevelRow | undefined }>
}
/** Part of a line at one location. */
export interface Parcel {
  readonly line: ItemRow
  readonly product: ProductRow | undefined
  readonly place: Place
  readonly units: ReadonlyArray<Unit>
  /** Pieces that are not allocated units: bulk, or still to be picked. */
  readonly loose: ExactNumber
  readonly is_serialised: boolean
  /** Other storage locations that hold loose pieces. */
  readonly also_at: ReadonlyArray<string>
  readonly is_hired_in: boolean
}

/** Compares locations in natural order: A-2 before A-10. Written out, so that every machine sorts alike. */
export const inWalkingOrder = (one: string, other: string): number => {
  const [a, b] = [partsOfPlace(one), partsOfPlace(other)]
  const at = a.findIndex((part, index) => part !== b[index])
  const [x, y] = [a[at], b[at]]
  if (x === undefined) return a.length < b.length ? -1 : inPlainOrder(one, other)
  if (y === undefined) return 1
  const by_number = /^\d/.test(x) && /^\d/.test(y) ? Number(x) - Number(y) : 0
  return by_number === 0 ? inPlainOrder(x, y) : by_number
}
const partsOfPlace = (place: string): ReadonlyArray<string> => place.toLowerCase().match(/\d{1,15}|\D+|\d/g) ?? []
const inPlainOrder = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1)

/** Cases of an order, by the stock level of each unit that they contain or are made of. */
export const casesAround = (facts: WarehouseFacts): ReadonlyMap<number, Place> => {
  const { cases, levels, order, packed, units } = facts
  const on_order = new Set(units.map((unit) => unit.stock_level_id))
  const byContainer = new Map(cases.map((one) => [one.id, one]))
  const travels = (one: ContainerRow, depth = 0): boolean => {
    const parent = one.parent_container_id === null ? undefined : byContainer.get(one.parent_container_id)
    return (
      (one.opportunity_id === order.id && one.dispatched_at !== null) ||
      (one.serialised_item_id !== null && on_order.has(one.serialised_item_id)) ||
      (parent !== undefined && depth < 25 && travels(parent, depth + 1))
    )
  }
  const contentsOf = Map.groupBy(
    packed.filter((item) => !on_order.has(item.serialised_item_id)),
    (item) => item.container_id
  )
  const housings = new Set(cases.map((one) => one.serialised_item_id))
  const places = new Map(
    cases.map((container): readonly [number, Place] => [
      container.id,
      {
        kind: "case",
        key: `case ${container.id}`,
        case: {
          name: container.name,
          container,
          housing: container.serialised_item_id === null ? undefined : levels.get(container.serialised_item_id),
          within: byContainer.get(container.parent_container_id ?? 0)?.name ?? null,
          travels: travels(container),
          // Inner cases have their own section.
          contents: (contentsOf.get(container.id) ?? [])
            .filter((item) => !housings.has(item.serialised_item_id))
            .map((item) => ({ item, level: levels.get(item.serialised_item_id) }))
        }
      }
    ])
  )
  const around = new Map<number, Place>()
  for (const item of packed) {
    const place = places.get(item.container_id)
    if (place !== undefined) around.set(item.serialised_item_id, place)
  }
  for (const container of cases) {
    const place = places.get(container.id)
    if (place !== undefined && container.serialised_item_id !== null) around.set(container.serialised_item_id, place)
  }
  return around
}

/** The place of a unit recorded as travelling in another without being packed there. */
const saidToBeIn = (level: StockLevelRow | undefined, id: number): Place => ({
  kind: "case",
  key: `unit ${id}`,
  case: {
    name: level?.asset_number ?? level?.item_name ?? level?.serial_number ?? String(id),
    container: undefined,
    housing: level,
    within: null,
    travels: false,
    contents: []
  }
})

const shelfAt = (store_id: number | null, location: string | null): Place => {
  const shown = location?.trim() || null
  return { kind: "shelf", key: `shelf ${store_id} ${shown ?? ""}`, store_id, location: shown }
}

/** Shelves by product and store, keyed `12 1`. */
export type Shelves = ReadonlyMap<string, ReadonlyArray<Shelf>>
/** Every line in the order's sequence, split by location, without empty ones. */
export const parcelsOf = (facts: WarehouseFacts, shelves: Shelves): ReadonlyArray<Parcel> => {
  const around = casesAround(facts)
  const unitsOf = Map.groupBy(facts.units, (unit) => unit.opportunity_item_id)
  return facts.lines.flatMap((line): ReadonlyArray<Parcel> => {
    const product = line.item_id === null ? undefined : facts.products.get(line.item_id)
    const all = (unitsOf.get(line.id) ?? []).map((assignment): Unit => ({
      assignment,
      level: facts.levels.get(assignment.stock_level_id)
    }))
    const own = all.filter(({ level }) => level === undefined || level.product_id === line.item_id)
    const wanted = exact(line.quantity).minus(own.length)
    const loose = wanted.lessThan(0) ? exact(0) : wanted
    const store_id = line.dispatch_store_id ?? facts.order.store_id
    const lying = (shelves.get(`${line.item_id} ${store_id}`) ?? []).toSorted(byShelf)
    const first = lying.find(({ location }) => Boolean(location?.trim())) ?? lying[0]
    const base = { line, product, is_serialised: product?.stock_method === serialised }
    const placeOf = ({ assignment, level }: Unit): Place => {
      const of_case = around.get(assignment.stock_level_id)
      if (of_case !== undefined) return of_case
      const carrier = assignment.container_stock_level_id
      if (carrier !== null) return around.get(carrier) ?? saidToBeIn(facts.levels.get(carrier), carrier)
      return shelfAt(level?.store_id ?? store_id, level?.location ?? null)
    }
    const by_place = Map.groupBy(all, (unit) => placeOf(unit).key)
    const parcels = [...by_place.values()].map((units): Parcel => ({
      ...base,
      units: units.toSorted((a, b) => inWalkingOrder(unitName(a.level), unitName(b.level))),
      place: units[0] === undefined ? shelfAt(store_id, null) : placeOf(units[0]),
      loose: exact(0),
      also_at: [],
      is_hired_in: units.some(({ level }) => level?.is_sub_hired === true)
    }))
    if (loose.isZero()) return parcels
    const place = shelfAt(store_id, first?.location ?? null)
    const there = parcels.find((parcel) => parcel.place.key === place.key)
    const rest: Parcel = {
      ...base,
      units: there?.units ?? [],
      place,
      loose,
      also_at: [...new Set(lying.map(({ location }) => location?.trim() ?? ""))].filter(
        (one) => one !== "" && one !== (first?.location ?? "").trim()
      ),
      is_hired_in: (lying.length > 0 && lying.every(({ is_sub_hired }) => is_sub_hired)) || there?.is_hired_in === true
    }
    return [...parcels.filter((parcel) => parcel !== there), rest]
  })
}
const byShelf = (one: { readonly location: string | null }, other: { readonly location: string | null }): number =>
  inWalkingOrder(one.location ?? "", other.location ?? "")

export const unitName = (level: StockLevelRow | undefined): string =>
  level === undefined ? "" : (level.asset_number ?? level.serial_number ?? level.barcode ?? level.item_name ?? "")

export const hasGoneOut = ({ assignment }: Unit): boolean => assignment.status >= dispatched

// Components of kits assembled for a job. Pure.

const part_levels_max = 5
interface PartOf {
  readonly product_id: number
  readonly quantity: ExactNumber
  readonly depth: number
}
/** Components of a kit assembled for the job, with nested kits to five levels; empty for kits packed in containers. */
export const partsOf = (
  facts: WarehouseFacts,
  product_id: number,
  quantity: ExactNumber,
  depth = 0
): ReadonlyArray<PartOf> => {
  const kit = facts.stocked.get(product_id)
  if (kit === undefined || !kit.is_kit || kit.container_mode !== null || depth >= part_levels_max) return []
  return kit.parts.flatMap((part) => {
    const wanted = quantity.times(part.quantity)
    return [
      { product_id: part.component_product_id, quantity: wanted, depth },
      ...partsOf(facts, part.component_product_id, wanted, depth + 1)
    ]
  })
}
/**
 * Dispatched and returned quantities of bulk lines. Uncounted kits follow their serialised components, and so do their
 * bulk components.
 */
export const movedOf = (
  { levels, stocked, units }: WarehouseFacts,
  line: ItemRow
): { readonly out: ExactNumber; readonly back: ExactNumber } => {
  const parts = partsOfLine({ stocked }, line, { kit_nesting_max_depth: part_levels_max })
  if (parts.size === 0) return { out: exact(line.dispatched_quantity), back: exact(line.returned_quantity) }
  const own = units.filter((unit) => unit.opportunity_item_id === line.id)
  const { back, gone } = piecesOfLine({
    line,
    is_serialised: false,
    parts,
    units: own.map(({ status, stock_level_id }) => ({
      status,
      product_id: levels.get(stock_level_id)?.product_id ?? 0
    }))
  })
  return { out: exact(gone), back: exact(back) }
}
