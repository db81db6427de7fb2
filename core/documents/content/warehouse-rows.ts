/** Rows of a warehouse document, grouped by case and location. Pure. */
import type { ItemRow } from "../../orders/opportunities/tables/index.ts"
import { parentPath } from "../../orders/opportunities/state/index.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import type { WarehouseFacts } from "./warehouse-facts.ts"
import type { Counted, PaperKind, PaperRow, Writing } from "./warehouse-lines.ts"
import { hiredIn, lesser, nameOfUnit, none, pieceRow, rowsOf } from "./warehouse-lines.ts"
import type { Case, Parcel, Place, Unit } from "./warehouse-parcels.ts"
import { casesAround, hasGoneOut, inWalkingOrder, movedOf, parcelsOf, unitName } from "./warehouse-parcels.ts"
import { warehouseWords, type WarehouseWords } from "./warehouse-words.ts"
import { withValues } from "../../values/text.ts"

export interface PaperGroup {
  readonly text: string
  readonly is_case: boolean
  readonly rows: ReadonlyArray<PaperRow>
  readonly pieces: ExactNumber
  readonly weight: ExactNumber
  /** Number of pieces without a weight. */
  readonly unweighed: ExactNumber
}

/**
 * Groups of the document's rows, with quantities to pick or dispatched; `to_follow`: remainder of a partial delivery.
 */
export const groupsOf = (
  facts: WarehouseFacts,
  kind: PaperKind
): { readonly groups: ReadonlyArray<PaperGroup>; readonly to_follow: PaperGroup | undefined } => {
  const { language } = facts.options
  const words = warehouseWords(language)
  const principals = new Map(facts.lines.map((line) => [line.path, line]))
  const shelves = Map.groupBy(facts.shelves, (shelf) => `${shelf.product_id} ${shelf.store_id}`)
  const writing: Writing = { facts, kind, words, language, principals, shelves }
  const all = parcelsOf(facts, shelves)
  const has_begun = all.some(
    (parcel) => parcel.units.some(hasGoneOut) || exact(parcel.line.dispatched_quantity).greaterThan(0)
  )
  const listed = kind === "pick_list" ? all : withoutShelves(all)
  const shown =
    kind === "return_note" || (kind === "delivery_note" && has_begun)
      ? listed.map((one) => goneOut(facts, one))
      : listed
  const later =
    kind === "delivery_note" && has_begun ? listed.map((one) => stillHere(facts, one)).filter(isSomething) : []
  return {
    groups: groupsFrom(writing, shown.filter(isSomething)),
    to_follow:
      later.length === 0
        ? undefined
        : summed(
            words.to_follow,
            false,
            later.flatMap((parcel) => rowsOf(writing, parcel, 0))
          )
  }
}
/** Merges a line's parcels outside cases: storage locations do not matter for deliveries and returns. */
const withoutShelves = (parcels: ReadonlyArray<Parcel>): ReadonlyArray<Parcel> => {
  const merged = new Map<string, Parcel>()
  for (const parcel of parcels) {
    const key = `${parcel.line.id} ${parcel.place.kind === "case" ? parcel.place.key : ""}`
    const there = merged.get(key)
    merged.set(
      key,
      there === undefined
        ? parcel
        : { ...there, units: [...there.units, ...parcel.units], loose: there.loose.plus(parcel.loose) }
    )
  }
  return [...merged.values()]
}
const isSomething = ({ loose, units }: Parcel): boolean => units.length > 0 || loose.greaterThan(0)
/** The dispatched part of a parcel. */
const goneOut = (facts: WarehouseFacts, parcel: Parcel): Parcel => ({
  ...parcel,
  units: parcel.units.filter(hasGoneOut),
  loose: parcel.loose.isZero() ? none : lesser(parcel.loose, movedOf(facts, parcel.line).out)
})
const stillHere = (facts: WarehouseFacts, parcel: Parcel): Parcel => ({
  ...parcel,
  units: parcel.units.filter((unit) => !hasGoneOut(unit)),
  loose: parcel.loose.minus(lesser(parcel.loose, movedOf(facts, parcel.line).out))
})
/** Groups by place: cases first, then locations in walking order, unknown ones last. */
const groupsFrom = (writing: Writing, parcels: ReadonlyArray<Parcel>): ReadonlyArray<PaperGroup> => {
  const { facts, kind, words } = writing
  const by_place = new Map<string, { readonly place: Place; readonly parcels: Array<Parcel> }>()
  for (const parcel of parcels) {
    const key = parcel.place.kind === "shelf" && kind !== "pick_list" ? "loose" : parcel.place.key
    const open = by_place.get(key)
    if (open === undefined) by_place.set(key, { place: parcel.place, parcels: [parcel] })
    else open.parcels.push(parcel)
  }
  // Adds inner cases of a case that travels whole; they have no allocations of their own.
  for (const place of casesAround(facts).values())
    if (place.kind === "case" && place.case.travels && !by_place.has(place.key) && isShown(kind, place.case))
      by_place.set(place.key, { place, parcels: [] })
  const several_stores =
    new Set([...by_place.values()].flatMap(({ place }) => (place.kind === "shelf" ? [place.store_id] : []))).size > 1
  const sorted = [...by_place.values()].toSorted((one, other) => comparePlaces(facts, one.place, other.place))
  return sorted.map(({ parcels: here, place }) =>
    place.kind === "case"
      ? summed(caseTitle(words, place.case), true, caseRows(writing, place.case, here))
      : summed(shelfTitle(writing, place, several_stores), false, placeRows(writing, here))
  )
}
/** Whether a case is printed; on return notes only dispatched ones are. */
const isShown = (kind: PaperKind, of: Case): boolean =>
  kind !== "return_note" || (of.container !== undefined && of.container.dispatched_at !== null)

const comparePlaces = (facts: WarehouseFacts, one: Place, other: Place): number => {
  if (one.kind === "case" && other.kind === "case")
    return (
      inWalkingOrder(one.case.housing?.location ?? "", other.case.housing?.location ?? "") ||
      inWalkingOrder(one.case.name, other.case.name)
    )
  if (one.kind === "case" || other.kind === "case") return one.kind === "case" ? -1 : 1
  const storeName = (id: number | null): string => facts.stores.get(id ?? 0)?.name ?? ""
  const by_store = inWalkingOrder(storeName(one.store_id), storeName(other.store_id))
  if (by_store !== 0) return by_store
  if (one.location === null || other.location === null)
    return one.location === other.location ? 0 : one.location === null ? 1 : -1
  return inWalkingOrder(one.location, other.location)
}
const caseTitle = (words: WarehouseWords, { name, within }: Case): string =>
  [`${words.case} ${name}`, within === null ? "" : `(${withValues(words.inside, { case: within })})`]
    .filter((part) => part !== "")
    .join(" ")
const shelfTitle = (
  { facts, kind, words }: Writing,
  place: Extract<Place, { readonly kind: "shelf" }>,
  several_stores: boolean
): string => {
  if (kind !== "pick_list") return words.loose
  const store = facts.stores.get(place.store_id ?? 0)?.name
  return [several_stores ? store : undefined, place.location ?? words.no_place]
    .filter((part) => part !== undefined && part !== "")
    .join(" · ")
}

const summed = (text: string, is_case: boolean, rows: ReadonlyArray<Counted>): PaperGroup => {
  const sum = (of: (one: Counted) => ExactNumber): ExactNumber => rows.reduce((all, one) => all.plus(of(one)), none)
  return {
    text,
    is_case,
    rows: rows.map(({ row }) => row),
    pieces: sum(({ pieces }) => pieces),
    weight: sum(({ weight }) => weight),
    unweighed: sum(({ unweighed }) => unweighed)
  }
}

/** Lines in the order's sequence, accessories indented below their line if it is at the same location. */
const placeRows = (writing: Writing, parcels: ReadonlyArray<Parcel>, depth = 0): ReadonlyArray<Counted> => {
  const here = new Set(parcels.map(({ line }) => line.path))
  return parcels
    .toSorted((one, other) => (one.line.path < other.line.path ? -1 : one.line.path > other.line.path ? 1 : 0))
    .flatMap((parcel) => {
      const principal = principalOf(writing, parcel.line)
      const is_below = principal !== undefined && here.has(principal.path)
      const note =
        principal === undefined || is_below ? [] : [withValues(writing.words.goes_with, { name: principal.name })]
      return rowsOf(writing, parcel, depth + (is_below ? 1 : 0), note)
    })
}
const principalOf = ({ principals }: Writing, line: ItemRow): ItemRow | undefined => {
  const above = line.item_type === "accessory" ? parentPath(line.path) : null
  return above === null ? undefined : principals.get(above)
}

/** Rows of a case: itself, its allocated contents, then its other contents. */
const caseRows = (writing: Writing, of: Case, parcels: ReadonlyArray<Parcel>): ReadonlyArray<Counted> => {
  const { facts, kind } = writing
  const isTheCase = ({ level }: Unit): boolean => level !== undefined && level.id === of.housing?.id
  const itself = parcels.filter(({ units }) => units.some(isTheCase))
  const others = parcels
    .map((parcel) => ({ ...parcel, units: parcel.units.filter((unit) => !isTheCase(unit)) }))
    .filter(isSomething)
  const head =
    itself.length > 0
      ? itself.flatMap((parcel) =>
          rowsOf(writing, { ...parcel, units: parcel.units.filter(isTheCase), loose: none }, 0)
        )
      : of.travels
        ? [carrierRow(writing, of)]
        : []
  const inside = head.length > 0 ? 1 : 0
  const contents = (of.travels ? of.contents : []).map(({ item, level }): Counted => {
    const product = facts.products.get(item.product_id)
    const is_back = of.container?.status === "returned" || item.verified_at !== null
    return pieceRow(writing, {
      depth: inside,
      name: product?.name ?? unitName(level),
      note: [nameOfUnit(writing, level), hiredIn(writing, kind !== "delivery_note" && level?.is_sub_hired === true)],
      weight: product?.weight ?? null,
      tick: kind === "pick_list" ? of.container?.status !== "open" : kind === "return_note" ? is_back : null,
      back: is_back ? exact(1) : none,
      code: undefined,
      damage: ""
    })
  })
  return [...head, ...placeRows(writing, others, inside), ...contents]
}
/** The row of a transport case that no line of the order names. */
const carrierRow = ({ facts, kind, words }: Writing, of: Case): Counted => {
  const weight = facts.products.get(of.housing?.product_id ?? of.container?.product_id ?? 0)?.weight ?? null
  const status = of.container?.status
  return {
    row: {
      depth: 0,
      name: `${words.case} ${of.name}`,
      note: [unitName(of.housing) === of.name ? "" : unitName(of.housing)],
      quantity: null,
      back: null,
      weight: weight === null ? null : exact(weight),
      tick:
        kind === "pick_list"
          ? status === "sealed" || status === "dispatched"
          : kind === "return_note"
            ? status === "returned"
            : null,
      damage: "",
      code: kind !== "delivery_note" && of.housing !== undefined ? facts.codes.ofUnit(of.housing.id) : undefined
    },
    pieces: none,
    weight: exact(weight ?? 0),
    unweighed: none
  }
}
