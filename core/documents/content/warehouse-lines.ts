/** Rows of lines, pieces and kit components. Pure. */
import { checked_in, prepared, type ItemRow } from "../../orders/opportunities/tables/index.ts"
import type { CellCode } from "../../pricing/print/blocks.ts"
import { dateText, momentText, quantityText } from "../../pricing/print/format.ts"
import { dayOf, millisOf } from "../../values/time.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import type { WarehouseFacts } from "./warehouse-facts.ts"
import type { Parcel, Shelves, Unit } from "./warehouse-parcels.ts"
import { hasGoneOut, inWalkingOrder, movedOf, partsOf } from "./warehouse-parcels.ts"
import type { WarehouseWords } from "./warehouse-words.ts"
import { withValues } from "../../values/text.ts"

export type PaperKind = "pick_list" | "delivery_note" | "return_note"
export interface PaperRow {
  readonly depth: number
  readonly name: string
  readonly note: ReadonlyArray<string>
  /** Pieces to pick, deliver or return; null on headings and on units that the row above counts. */
  readonly quantity: ExactNumber | null
  readonly back: ExactNumber | null
  readonly weight: ExactNumber | null
  readonly tick: boolean | null
  readonly damage: string
  readonly code: CellCode | undefined
}
export const none = exact(0)
const missing_condition = 2
const damaged_condition = 1
const sale = 1
const sub_rental = 3

export interface Writing {
  readonly facts: WarehouseFacts
  readonly kind: PaperKind
  readonly words: WarehouseWords
  readonly language: string
  readonly principals: ReadonlyMap<string, ItemRow>
  readonly shelves: Shelves
}
/** A row with its contribution to the totals. */
export interface Counted {
  readonly row: PaperRow
  readonly pieces: ExactNumber
  readonly weight: ExactNumber
  readonly unweighed: ExactNumber
}

export const lesser = (one: ExactNumber, other: ExactNumber): ExactNumber => (one.lessThan(other) ? one : other)

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
export const pieceRow = ({ kind }: Writing, piece: Piece): Counted => ({
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

/** Name of a unit, and when it passed its inspections: `A-1 · S/N 4711 · PAT 01/07/2026`; "" if unknown. */
export const nameOfUnit = ({ facts, language, words }: Writing, level: Unit["level"]): string =>
  level === undefined
    ? ""
    : [
        level.asset_number ?? (level.serial_number === null ? (level.barcode ?? level.item_name) : null),
        level.serial_number === null ? null : `${words.serial} ${level.serial_number}`,
        ...(facts.inspected.get(level.id) ?? []).map(
          ({ at, kind }) => `${kind} ${dateText(dayOf(millisOf(at), facts.options.zone), language, "figures")}`
        )
      ]
        .filter((part) => part !== null && part !== "")
        .join(" · ")
export const hiredIn = ({ words }: Writing, is_hired_in: boolean): string => (is_hired_in ? words.sub_hired : "")

/** Lines of text below a line's name. */
const noteOf = (writing: Writing, { is_hired_in, line, product }: Parcel): ReadonlyArray<string> => {
  const { kind, words } = writing
  return [
    [
      product?.sku ?? product?.barcode ?? "",
      line.transaction_type === sale ? words.sale : "",
      // The customer does not see the supplier.
      kind === "delivery_note"
        ? ""
        : line.transaction_type === sub_rental
          ? words.sub_rental
          : hiredIn(writing, is_hired_in),
      line.is_optional ? words.optional : ""
    ]
      .filter((part) => part !== "")
      .join(" · "),
    // Notes are for staff, the description for the customer.
    (kind === "delivery_note" ? line.description : line.notes) ?? ""
  ]
}

/** The order a unit goes on to, on return notes, or comes from, on pick lists. */
const jobOf = ({ facts, kind, language, words }: Writing, unit: Unit): string => {
  const { before, next } = facts.jobs.get(unit.assignment.stock_level_id) ?? {}
  const other = kind === "return_note" ? next : kind === "pick_list" && !hasGoneOut(unit) ? before : undefined
  if (other === undefined) return ""
  const at = kind === "return_note" ? other.starts_at : other.ends_at
  const order = [
    `${other.number ?? `#${other.id}`} ${other.subject}`,
    at === null ? "" : momentText(at, facts.options.zone, language)
  ]
  return withValues(kind === "return_note" ? words.goes_on : words.comes_from, {
    order: order.filter((part) => part !== "").join(", ")
  })
}

/** Since when a unit lacks a valid inspection, on pick lists. */
const uninspectedOf = ({ facts, kind, language, words }: Writing, unit: Unit): string => {
  const due = unit.level?.inspection_due_at ?? null
  const by = kind !== "pick_list" || hasGoneOut(unit) ? null : facts.inspections_due_by
  return due === null || by === null || due > by
    ? ""
    : withValues(words.uninspected, { date: dateText(dayOf(millisOf(due), facts.options.zone), language, "figures") })
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
      kind === "return_note" ? (assignment.notes ?? "") : "",
      jobOf(writing, unit),
      uninspectedOf(writing, unit)
    ],
    weight,
    tick: kind === "pick_list" ? assignment.status >= prepared : kind === "return_note" ? isBack(unit) : null,
    back: isBack(unit) ? exact(1) : none,
    damage: condition === damaged_condition ? words.damaged : condition === missing_condition ? words.missing : "",
    code: scanned && level !== undefined ? facts.codes.ofUnit(level.id) : undefined
  })
}

/** Rows of a parcel: one, and below it those of its units, if several, and of kit components. */
export const rowsOf = (
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
/** A row that adds nothing to the totals, as the row above it does. */
const uncounted = ({ row }: Counted): Counted => ({ row, pieces: none, weight: none, unweighed: none })
const namingRow = (name: string, note: ReadonlyArray<string>, depth: number): Counted => ({
  row: { depth, name, note, quantity: null, back: null, weight: null, tick: null, damage: "", code: undefined },
  pieces: none,
  weight: none,
  unweighed: none
})

/** Rows of several units, each with a box to tick; delivery notes name them in one row. */
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
        parcel.is_serialised
          ? withValues(words.to_pick, { count: quantityText(parcel.loose.toFixed(2), language) })
          : "",
        parcel.also_at.length === 0 ? "" : withValues(words.also_at, { places: parcel.also_at.slice(0, 10).join(", ") })
      ]

/** Weight of one kit's components, without its own; null if it has none, or if a component's weight is missing. */
const partsWeight = (facts: WarehouseFacts, { line }: Parcel): string | null => {
  const parts = line.item_id === null ? [] : partsOf(facts, line.item_id, exact(1)).filter(({ depth }) => depth === 0)
  const weights = parts.map(({ product_id, quantity }) => {
    const weight = facts.products.get(product_id)?.weight ?? null
    return weight === null ? null : quantity.times(weight)
  })
  if (weights.length === 0) return null
  return (
    weights
      .reduce<ExactNumber | null>((sum, one) => (sum === null || one === null ? null : sum.plus(one)), exact(0))
      ?.toString() ?? null
  )
}

const looseRow = (writing: Writing, parcel: Parcel, depth: number, note: ReadonlyArray<string>): Counted => {
  const { facts, kind } = writing
  const { line, loose, product } = parcel
  const weight = product?.weight ?? partsWeight(facts, parcel)
  const moved = movedOf(facts, line)
  const out = lesser(loose, moved.out)
  const back = lesser(out, moved.back)
  // An uncounted kit is returned by its units' codes, not its own.
  const by_its_parts = kind === "return_note" && exact(line.dispatched_quantity).isZero()
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
        product === undefined || parcel.is_serialised || by_its_parts
          ? undefined
          : facts.codes.ofProduct(product.id, scanned.isInteger() ? scanned.toFixed(0) : "")
    },
    pieces: loose,
    weight: loose.times(weight ?? 0),
    unweighed: weight === null ? loose : none
  }
}

/**
 * Rows of a kit's components without allocated units, which have rows of their own. Totals count them with their kit.
 */
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
