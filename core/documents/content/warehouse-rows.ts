/** The rows of a paper of the warehouse, in groups by case and by place. Pure. */
import type { CellCode } from "../../print/blocks.ts"
import { quantityText } from "../../print/format.ts"
import type { ItemRow } from "../../opportunities/lines/schema.ts"
import { parentPath } from "../../opportunities/lines/tree.ts"
import { checked_in, prepared } from "../../opportunities/units/schema.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import { filled } from "../../billing/paper/words.ts"
import type { WarehouseFacts } from "./warehouse-facts.ts"
import {
  type Case,
  casesAround,
  hasGoneOut,
  inWalkingOrder,
  type Parcel,
  parcelsOf,
  type Place,
  type Shelves,
  shelvesIn,
  type Unit,
  unitName
} from "./warehouse-parcels.ts"
import { warehouseWords, type WarehouseWords } from "./warehouse-words.ts"

export type PaperKind = "pick_list" | "delivery_note" | "return_note"
export interface PaperRow {
  readonly depth: number
  readonly name: string
  readonly note: ReadonlyArray<string>
  /** Pieces to take, to deliver or that are out; null where the row only names something. */
  readonly quantity: ExactNumber | null
  readonly back: ExactNumber | null
  readonly weight: ExactNumber | null
  readonly tick: boolean | null
  readonly damage: string
  readonly code: CellCode | undefined
}
export interface PaperGroup {
  readonly text: string
  readonly is_case: boolean
  readonly rows: ReadonlyArray<PaperRow>
  readonly pieces: ExactNumber
  readonly weight: ExactNumber
  /** Pieces whose weight nobody recorded. */
  readonly unweighed: ExactNumber
}

const none = exact(0)
const missing_condition = 2
const damaged_condition = 1
const sale = 1
const sub_rental = 3

interface Writing {
  readonly facts: WarehouseFacts
  readonly kind: PaperKind
  readonly words: WarehouseWords
  readonly language: string
  readonly principals: ReadonlyMap<string, ItemRow>
  readonly shelves: Shelves
}
/** A row with what it adds to the sums. */
interface Counted {
  readonly row: PaperRow
  readonly pieces: ExactNumber
  readonly weight: ExactNumber
  readonly unweighed: ExactNumber
}

/** What to take, or what has gone out; `to_follow`: what a delivery leaves for later. */
export const groupsOf = (
  facts: WarehouseFacts,
  kind: PaperKind
): { readonly groups: ReadonlyArray<PaperGroup>; readonly to_follow: PaperGroup | undefined } => {
  const { language } = facts.options
  const words = warehouseWords(language)
  const principals = new Map(facts.lines.map((line) => [line.path, line]))
  const shelves = shelvesIn(facts)
  const writing: Writing = { facts, kind, words, language, principals, shelves }
  const all = parcelsOf(facts, shelves)
  const has_begun = all.some(
    (parcel) => parcel.units.some(hasGoneOut) || exact(parcel.line.dispatched_quantity).greaterThan(0)
  )
  const shown = kind === "return_note" || (kind === "delivery_note" && has_begun) ? all.map(goneOut) : all
  const later = kind === "delivery_note" && has_begun ? all.map(stillHere).filter(isSomething) : []
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
const isSomething = ({ loose, units }: Parcel): boolean => units.length > 0 || loose.greaterThan(0)
/** Loose pieces that went out stand where the rest of them lies. */
const goneOut = (parcel: Parcel): Parcel => ({
  ...parcel,
  units: parcel.units.filter(hasGoneOut),
  loose: parcel.loose.isZero() ? none : lesser(parcel.loose, exact(parcel.line.dispatched_quantity))
})
const stillHere = (parcel: Parcel): Parcel => ({
  ...parcel,
  units: parcel.units.filter((unit) => !hasGoneOut(unit)),
  loose: parcel.loose.minus(lesser(parcel.loose, exact(parcel.line.dispatched_quantity)))
})
const lesser = (one: ExactNumber, other: ExactNumber): ExactNumber => (one.lessThan(other) ? one : other)

/** Cases first, then places in walking order; what no place is known of comes last. */
const groupsFrom = (writing: Writing, parcels: ReadonlyArray<Parcel>): ReadonlyArray<PaperGroup> => {
  const { facts, kind, words } = writing
  const by_place = new Map<string, { readonly place: Place; readonly parcels: Array<Parcel> }>()
  for (const parcel of parcels) {
    // Whoever receives goods does not ask where they lay.
    const key = parcel.place.kind === "shelf" && kind !== "pick_list" ? "loose" : parcel.place.key
    const open = by_place.get(key)
    if (open === undefined) by_place.set(key, { place: parcel.place, parcels: [parcel] })
    else open.parcels.push(parcel)
  }
  // Cases inside a case that goes along, in which nothing is allocated by itself.
  for (const place of casesAround(facts).values())
    if (place.kind === "case" && place.case.travels && !by_place.has(place.key) && isShown(kind, place.case))
      by_place.set(place.key, { place, parcels: [] })
  const several_stores =
    new Set([...by_place.values()].map(({ place }) => (place.kind === "shelf" ? place.store_id : null))).size > 1
  const sorted = [...by_place.values()].toSorted((one, other) => comparePlaces(facts, one.place, other.place))
  return sorted.map(({ parcels: here, place }) =>
    place.kind === "case"
      ? summed(caseTitle(words, place.case), true, caseRows(writing, place.case, here))
      : summed(shelfTitle(writing, place, several_stores), false, placeRows(writing, here))
  )
}
/** A case that is only planned to go has nothing to come back yet. */
const isShown = (kind: PaperKind, of: Case): boolean =>
  kind !== "return_note" || (of.container !== undefined && of.container.dispatched_at !== null)

const comparePlaces = (facts: WarehouseFacts, one: Place, other: Place): number => {
  if (one.kind === "case" || other.kind === "case") {
    if (one.kind !== other.kind) return one.kind === "case" ? -1 : 1
    return one.kind === "case" && other.kind === "case"
      ? inWalkingOrder(one.case.housing?.location ?? "", other.case.housing?.location ?? "") ||
          inWalkingOrder(one.case.name, other.case.name)
      : 0
  }
  const storeName = (id: number | null): string => facts.stores.get(id ?? 0)?.name ?? ""
  const by_store = inWalkingOrder(storeName(one.store_id), storeName(other.store_id))
  if (by_store !== 0) return by_store
  if (one.location === null || other.location === null)
    return one.location === other.location ? 0 : one.location === null ? 1 : -1
  return inWalkingOrder(one.location, other.location)
}
const caseTitle = (words: WarehouseWords, { name, within }: Case): string =>
  [`${words.case} ${name}`, within === null ? "" : `(${filled(words.inside, { case: within })})`]
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

/** Lines in the order's own order; accessories set in below the line they go with, where that lies here too. */
const placeRows = (writing: Writing, parcels: ReadonlyArray<Parcel>, depth = 0): ReadonlyArray<Counted> => {
  const here = new Set(parcels.map(({ line }) => line.path))
  return parcels
    .toSorted((one, other) => (one.line.path < other.line.path ? -1 : one.line.path > other.line.path ? 1 : 0))
    .flatMap((parcel) => {
      const principal = principalOf(writing, parcel.line)
      const is_below = principal !== undefined && here.has(principal.path)
      const note =
        principal === undefined || is_below ? [] : [filled(writing.words.goes_with, { name: principal.name })]
      return rowsOf(writing, parcel, depth + (is_below ? 1 : 0), note)
    })
}
const principalOf = ({ principals }: Writing, line: ItemRow): ItemRow | undefined => {
  const above = line.item_type === "accessory" ? parentPath(line.path) : null
  return above === null ? undefined : principals.get(above)
}

/** The case itself, then what lines have in it, then what else is packed in it. */
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
      note: [nameOfUnit(writing, level), hiredIn(writing, level?.is_sub_hired === true)],
      weight: product?.weight ?? null,
      tick: kind === "pick_list" ? of.container?.status !== "open" : kind === "return_note" ? is_back : null,
      back: is_back ? exact(1) : none,
      code: undefined,
      damage: ""
    })
  })
  return [...head, ...placeRows(writing, others, inside), ...contents]
}
/** A case for transport, which no line asks for. */
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

interface Piece {
  readonly depth: number
  readonly name: string
  readonly note: ReadonlyArray<string>
  readonly weight: string | null
  readonly tick: boolean | null
  readonly back: ExactNumber
  readonly code: CellCode | undefined
  readonly damage: string
}
/** A row of one piece. */
const pieceRow = ({ kind }: Writing, piece: Piece): Counted => ({
  row: {
    depth: piece.depth,
    name: piece.name,
    note: piece.note,
    quantity: exact(1),
    back: kind === "return_note" ? piece.back : null,
    weight: piece.weight === null ? null : exact(piece.weight),
    tick: piece.tick,
    damage: piece.damage,
    code: piece.code
  },
  pieces: exact(1),
  weight: exact(piece.weight ?? 0),
  unweighed: piece.weight === null ? exact(1) : none
})

/** `A-1 · S/N 4711`. */
const nameOfUnit = ({ words }: Writing, level: Unit["level"]): string =>
  level === undefined
    ? ""
    : [
        level.asset_number ?? (level.serial_number === null ? (level.barcode ?? level.item_name) : null),
        level.serial_number === null ? null : `${words.serial} ${level.serial_number}`
      ]
        .filter((part) => part !== null && part !== "")
        .join(" · ")
const hiredIn = ({ words }: Writing, is_hired_in: boolean): string => (is_hired_in ? words.sub_hired : "")

/** What is said of a line below its name. */
const noteOf = (writing: Writing, { is_hired_in, line, product }: Parcel): ReadonlyArray<string> => {
  const { kind, words } = writing
  return [
    [
      product?.sku ?? product?.barcode ?? "",
      line.transaction_type === sub_rental ? words.sub_rental : line.transaction_type === sale ? words.sale : "",
      line.transaction_type === sub_rental ? "" : hiredIn(writing, is_hired_in),
      line.is_optional ? words.optional : ""
    ]
      .filter((part) => part !== "")
      .join(" · "),
    // Notes are for the house's own people, the description for the customer.
    (kind === "delivery_note" ? line.description : line.notes) ?? ""
  ]
}

const isBack = ({ assignment }: Unit): boolean =>
  assignment.status >= checked_in && assignment.condition_on_return !== missing_condition
const unitRow = (
  writing: Writing,
  { name, note, unit, depth, weight }: Pick<Piece, "name" | "note" | "depth" | "weight"> & { readonly unit: Unit }
): Counted => {
  const { facts, kind, words } = writing
  const { assignment, level } = unit
  const condition = assignment.condition_on_return
  const scanned = kind === "pick_list" ? !hasGoneOut(unit) : kind === "return_note" && !isBack(unit)
  return pieceRow(writing, {
    depth,
    name,
    note: [
      ...note,
      kind === "pick_list" && hasGoneOut(unit) ? words.gone_out : "",
      kind === "return_note" ? (assignment.notes ?? "") : ""
    ],
    weight,
    tick: kind === "pick_list" ? assignment.status >= prepared : kind === "return_note" ? isBack(unit) : null,
    back: isBack(unit) ? exact(1) : none,
    damage: condition === damaged_condition ? words.damaged : condition === missing_condition ? words.missing : "",
    code: scanned && level !== undefined ? facts.codes.ofUnit(level.id) : undefined
  })
}

/** A line at one place: a row, or a row with one below it for each unit. */
const rowsOf = (
  writing: Writing,
  parcel: Parcel,
  depth: number,
  more: ReadonlyArray<string> = []
): ReadonlyArray<Counted> => {
  const { line, product } = parcel
  const weight = product?.weight ?? null
  const note = [...noteOf(writing, parcel), ...more]
  const own = parcel.units.filter(({ level }) => level === undefined || level.product_id === line.item_id)
  const parts = parcel.units.filter((unit) => !own.includes(unit))
  const below = parts.map((unit) =>
    uncounted(
      unitRow(writing, {
        depth: depth + 1,
        name: writing.facts.products.get(unit.level?.product_id ?? 0)?.name ?? "",
        note: [nameOfUnit(writing, unit.level)],
        weight: null,
        unit
      })
    )
  )
  const [only] = own
  if (parcel.loose.isZero() && own.length === 1 && only !== undefined)
    return [
      unitRow(writing, {
        depth,
        name: line.name,
        note: [nameOfUnit(writing, only.level), ...note],
        weight,
        unit: only
      }),
      ...below
    ]
  if (own.length === 0) {
    if (parcel.loose.isZero()) return [namingRow(line.name, note, depth), ...below]
    return [looseRow(writing, parcel, depth, note), ...partRows(writing, parcel, depth + 1, parts), ...below]
  }
  return [...linesOfUnits(writing, parcel, own, depth, note), ...below]
}
/** Counted by the row above it. */
const uncounted = ({ row }: Counted): Counted => ({ row, pieces: none, weight: none, unweighed: none })
const namingRow = (name: string, note: ReadonlyArray<string>, depth: number): Counted => ({
  row: { depth, name, note, quantity: null, back: null, weight: null, tick: null, damage: "", code: undefined },
  pieces: none,
  weight: none,
  unweighed: none
})

/** Several units: each to be ticked on its own, except where somebody only counts them. */
const linesOfUnits = (
  writing: Writing,
  parcel: Parcel,
  own: ReadonlyArray<Unit>,
  depth: number,
  note: ReadonlyArray<string>
): ReadonlyArray<Counted> => {
  const { kind, words } = writing
  const { line, loose, product } = parcel
  const weight = product?.weight ?? null
  const all = loose.plus(own.length)
  const back = exact(own.filter(isBack).length)
  const listed = kind === "delivery_note" ? [own.map(({ level }) => nameOfUnit(writing, level)).join(", ")] : []
  const head: Counted = {
    row: {
      depth,
      name: line.name,
      note: [...listed, ...note, ...toPick(writing, parcel)],
      quantity: all,
      back: kind === "return_note" ? back : null,
      weight: weight === null ? null : all.times(weight),
      tick: null,
      damage: "",
      code: undefined
    },
    pieces: all,
    weight: all.times(weight ?? 0),
    unweighed: weight === null ? all : none
  }
  if (kind === "delivery_note") return [head]
  const rows = own.map((unit): Counted => {
    const { row } = unitRow(writing, {
      depth: depth + 1,
      name: nameOfUnit(writing, unit.level) || words.item,
      note: [hiredIn(writing, unit.level?.is_sub_hired === true && !parcel.is_hired_in)],
      weight: null,
      unit
    })
    return { row: { ...row, quantity: null, back: null }, pieces: none, weight: none, unweighed: none }
  })
  return [head, ...rows]
}
const toPick = ({ kind, language, words }: Writing, parcel: Parcel): ReadonlyArray<string> =>
  kind !== "pick_list" || parcel.loose.isZero()
    ? []
    : [
        parcel.is_serialised ? filled(words.to_pick, { count: quantityText(parcel.loose.toFixed(2), language) }) : "",
        parcel.also_at.length === 0 ? "" : filled(words.also_at, { places: parcel.also_at.slice(0, 10).join(", ") })
      ]

const looseRow = (writing: Writing, parcel: Parcel, depth: number, note: ReadonlyArray<string>): Counted => {
  const { facts, kind } = writing
  const { line, loose, product } = parcel
  const weight = product?.weight ?? null
  const out = lesser(loose, exact(line.dispatched_quantity))
  const back = lesser(out, exact(line.returned_quantity))
  const scanned = kind === "pick_list" ? loose.minus(out) : kind === "return_note" ? out.minus(back) : none
  return {
    row: {
      depth,
      name: line.name,
      note: [...note, ...toPick(writing, parcel)],
      quantity: loose,
      back: kind === "return_note" ? back : null,
      weight: weight === null ? null : loose.times(weight),
      tick: kind === "pick_list" ? !out.lessThan(loose) : kind === "return_note" ? !back.lessThan(out) : null,
      damage: "",
      code:
        product === undefined || parcel.is_serialised
          ? undefined
          : facts.codes.ofProduct(product.id, scanned.isInteger() ? scanned.toFixed(0) : "")
    },
    pieces: loose,
    weight: loose.times(weight ?? partsWeight(facts, parcel) ?? 0),
    unweighed: weight === null && partsWeight(facts, parcel) === null ? loose : none
  }
}

const part_levels_max = 5
interface PartOf {
  readonly product_id: number
  readonly quantity: ExactNumber
  readonly depth: number
}
/** What a kit that is put together for the job consists of, kits in it with their own parts. */
const partsOf = (
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
/** Of one kit whose own weight nobody recorded; null where a part's is missing, or it has none. */
const partsWeight = (facts: WarehouseFacts, { line }: Parcel): string | null => {
  const parts = line.item_id === null ? [] : partsOf(facts, line.item_id, exact(1)).filter(({ depth }) => depth === 0)
  const weights = parts.map(({ product_id, quantity }) => {
    const weight = facts.products.get(product_id)?.weight ?? null
    return weight === null ? null : quantity.times(weight)
  })
  if (weights.length === 0) return null
  return (
    weights
      .reduce<ExactNumber | null>((sum, one) => (sum === null || one === null ? null : sum.plus(one)), none)
      ?.toString() ?? null
  )
}
/** Parts are counted with their kit. Those that are allocated one by one stand below, so that no more is asked for. */
const partRows = (
  { facts, kind, shelves }: Writing,
  { line, loose }: Parcel,
  depth: number,
  allocated: ReadonlyArray<Unit>
): ReadonlyArray<Counted> =>
  (line.item_id === null ? [] : partsOf(facts, line.item_id, loose)).flatMap((part): ReadonlyArray<Counted> => {
    const there = allocated.filter(({ level }) => level?.product_id === part.product_id).length
    const rest = part.quantity.minus(there)
    if (!rest.greaterThan(0)) return []
    const product = facts.products.get(part.product_id)
    const store_id = line.dispatch_store_id ?? facts.order.store_id
    const lying = shelves.get(`${part.product_id} ${store_id}`) ?? []
    const places = [...new Set(lying.flatMap(({ location }) => location?.trim() || []))].toSorted(inWalkingOrder)
    const own = namingRow(
      product?.name ?? String(part.product_id),
      [[product?.sku ?? "", kind === "pick_list" ? places.slice(0, 5).join(", ") : ""].filter(Boolean).join(" · ")],
      depth + part.depth
    )
    return [{ ...own, row: { ...own.row, quantity: rest, tick: kind === "delivery_note" ? null : false } }]
  })
