/**
 * Resolves a scanned code to a unit, a container or a product (rules/opportunities 9.6). Own labels carry bare codes;
 * others may be GS1 element strings, start with a symbology identifier, or be URLs that end with the code.
 */
import { Effect } from "effect"
import { bindings, Store, type Bindings, type Failure, type RowOf, type Table, type Where } from "../../kernel/index.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { type ContainerRow, containers, live_statuses } from "../../products/packing.ts"
import { type ProductRow, products } from "../../products/products/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { containerIdIn, type ReadCode, readCode, unitCode, unitIdIn } from "./read-code.ts"

export type Named =
  | { readonly kind: "unit"; readonly level: StockLevelRow; readonly container: ContainerRow | undefined }
  | { readonly kind: "container"; readonly container: ContainerRow }
  | { readonly kind: "product"; readonly product: ProductRow }
export interface Found {
  readonly read: ReadCode
  readonly named: Named | undefined
  /** Reason the code names nothing, with what was searched; undefined if it does. */
  readonly problem: string | undefined
}

const unit_columns = ["barcode", "asset_number", "serial_number"] as const
const product_columns = ["sku", "barcode"] as const
const words: { readonly [column: string]: string } = {
  barcode: "barcode",
  asset_number: "asset number",
  serial_number: "serial number",
  sku: "SKU"
}

/**
 * Resolves the code. Units take precedence over containers, and both over products; a code with a quantity names a
 * product only.
 */
export const lookUp = (scanned: string): Effect.Effect<Found, Failure, Store> => lookUpRead(readCode(scanned))
const lookUpRead = Effect.fnUntraced(function* (read: ReadCode): Store.Reads<Found> {
  return yield* foundAs(read, (yield* namesOf([read])).get(read))
})
/** As `lookUp`, of all codes in the same few queries. Codes that name nothing are searched for one by one. */
export const lookUpAll = Effect.fnUntraced(function* (
  scanned: ReadonlyArray<string>
): Store.Reads<ReadonlyArray<Found>> {
  const reads = scanned.map(readCode)
  const names = yield* namesOf(reads)
  return yield* Effect.forEach(reads, (read) => foundAs(read, names.get(read)))
})
const foundAs = Effect.fnUntraced(function* (read: ReadCode, named: Named | string | undefined): Store.Reads<Found> {
  if (typeof named === "string") return { read, named: undefined, problem: named }
  if (named !== undefined) return { read, named, problem: undefined }
  const in_other_case = yield* inOtherCase(read)
  if (in_other_case !== undefined) return { ...(yield* lookUpRead({ ...read, texts: [in_other_case] })), read }
  return { read, named: undefined, problem: (yield* paperText(read)) ?? (yield* unknownText(read)) }
})

/** Goods by text; a reason where a text names several. */
type Names = Map<string, Named | string>
const namesOf = Effect.fnUntraced(function* (
  reads: ReadonlyArray<ReadCode>
): Store.Reads<ReadonlyMap<ReadCode, Named | string>> {
  const names = new Map<ReadCode, Named | string>()
  let open = reads
  for (let at = 0; open.length > 0; at++) {
    const textOf = ({ texts }: ReadCode): string => texts[at] ?? ""
    const textsOf = (some: ReadonlyArray<ReadCode>) => [...new Set(some.map(textOf))]
    const goods = yield* unitsAndContainers(textsOf(open.filter(({ quantity }) => quantity === undefined)))
    const goodsOf = (read: ReadCode) => (read.quantity === undefined ? goods.get(textOf(read)) : undefined)
    const of_products = yield* productsNamed(textsOf(open.filter((read) => goodsOf(read) === undefined)))
    for (const read of open) {
      const named = goodsOf(read) ?? of_products.get(textOf(read))
      if (named !== undefined) names.set(read, named)
    }
    open = open.filter((read) => !names.has(read) && read.texts.length > at + 1)
  }
  return names
})

const papers_way_out = "scan the codes on units, cases and products."
/** Description of a document's code that names no goods: an order number, a payment, a URL; or the id of a unit. */
const paperText = Effect.fnUntraced(function* ({ code, texts }: ReadCode): Store.Reads<string | undefined> {
  if (/^BCD\r?\n/.test(code)) return `this is the payment code of an invoice; ${papers_way_out}`
  const order = yield* Store.first(opportunities, { number: code, deleted_at: null })
  if (order !== undefined)
    return `${JSON.stringify(code)} is the number of an order (id ${order.id}); ${papers_way_out}`
  const unit_of_id = /^[1-9]\d{0,14}$/.test(code) ? yield* Store.get(stock_levels, Number(code)) : undefined
  if (unit_of_id !== undefined)
    return (
      `${code} is no code but the id of a unit, ${unitWords(unit_of_id)}; ` +
      `scan a code on it, or ${unitCode(unit_of_id.id)}`
    )
  return texts.length > 1 && /^https?:/i.test(code)
    ? `this is an address, and no unit and no product has the code at its end, ${JSON.stringify(texts.at(-1))}; ` +
        papers_way_out
    : undefined
})

export const unitById = Effect.fnUntraced(function* (id: number): Store.Reads<Found> {
  const level = yield* Store.get(stock_levels, id)
  const read = { code: String(id), quantity: undefined, texts: [String(id)] }
  return level === undefined
    ? { read, named: undefined, problem: "The selected stock level does not exist." }
    : { read, named: (yield* namingUnits([level]))(level), problem: undefined }
})

/**
 * Finds a unit by id and by a scanned code, which must be its own or that of its product: scanners that keep an earlier
 * id must not move that unit.
 */
export const unitWith = Effect.fnUntraced(function* (id: number, scanned: string): Store.Reads<Found> {
  const by_id = yield* unitById(id)
  if (by_id.named?.kind !== "unit") return by_id
  const { level } = by_id.named
  const { read, named } = yield* lookUp(scanned)
  if (unit_columns.some((column) => read.texts.some((text) => text === level[column]))) return by_id
  const is_same =
    named?.kind === "unit"
      ? named.level.id === id
      : named?.kind === "container"
        ? named.container.serialised_item_id === id
        : named?.product.id === level.product_id
  const other =
    named?.kind === "unit"
      ? ` but of ${unitWords(named.level)}`
      : named === undefined
        ? ""
        : ` but of ${named.kind === "container" ? named.container.name : named.product.name}`
  const problem = `${JSON.stringify(read.code)} is no code of ${unitWords(level)}${other}; send the one or the other.`
  return is_same ? by_id : { read, named: undefined, problem }
})

/** Names units, with the containers that they are. */
const namingUnits = Effect.fnUntraced(function* (levels: ReadonlyArray<StockLevelRow>) {
  const own = { serialised_item_id: levels.map(({ id }) => id), status: live_statuses }
  const found = levels.length === 0 ? [] : yield* Store.find(containers, own)
  const cases = new Map(found.map((one) => [one.serialised_item_id, one]))
  return (level: StockLevelRow): Named => ({ kind: "unit", level, container: cases.get(level.id) })
})

/** Maximum rows to read for a single code: three are named in the reason, a fourth says that there are more. */
const same_max = 4
/** Rows by the text that they have in a column; a reason where several have it. */
const rowsWith = Effect.fnUntraced(function* <T extends Table>(
  table: T,
  column: keyof RowOf<T> & string,
  texts: ReadonlyArray<string>,
  where: Where,
  wordsOf: (row: RowOf<T>) => string
): Store.Reads<ReadonlyMap<string, RowOf<T> | string>> {
  if (texts.length === 0) return new Map()
  const limit = texts.length === 1 ? { limit: same_max } : {}
  const rows = yield* Store.find(table, { [column]: texts, ...where }, limit)
  return new Map(
    [...Map.groupBy(rows, (row) => String(row[column]))].flatMap(([text, [first, ...others]]) =>
      first === undefined
        ? []
        : [[text, others.length === 0 ? first : ambiguous(text, column, table.name, [first, ...others].map(wordsOf))]]
    )
  )
})
const addUnits = Effect.fnUntraced(function* (names: Names, texts: ReadonlyArray<string>, where: Where) {
  const levels = new Map<string, StockLevelRow>()
  for (const column of unit_columns) {
    const open = texts.filter((text) => !names.has(text) && !levels.has(text))
    for (const [text, row] of yield* rowsWith(stock_levels, column, open, where, unitWords))
      if (typeof row === "string") names.set(text, row)
      else levels.set(text, row)
  }
  const unitOf = yield* namingUnits([...levels.values()])
  for (const [text, level] of levels) names.set(text, unitOf(level))
})
/**
 * Units and containers by code. Units that left the stock come last, as their codes may be in use again.
 */
const unitsAndContainers = Effect.fnUntraced(function* (texts: ReadonlyArray<string>): Store.Reads<Names> {
  const names: Names = new Map()
  const open = () => texts.filter((text) => !names.has(text))
  yield* addUnits(names, texts, { is_gone: false, given_back_at: null })
  for (const [text, row] of yield* rowsWith(containers, "barcode", open(), { status: live_statuses }, nameWithId))
    names.set(text, typeof row === "string" ? row : { kind: "container", container: row })
  const boxes = yield* Store.byId(
    containers,
    open().flatMap((text) => containerIdIn(text) ?? [])
  )
  for (const text of open()) {
    const container = boxes.get(containerIdIn(text) ?? 0)
    if (container !== undefined && live_statuses.some((status) => status === container.status))
      names.set(text, { kind: "container", container })
  }
  const units = yield* Store.byId(
    stock_levels,
    open().flatMap((text) => unitIdIn(text) ?? [])
  )
  const unitOf = yield* namingUnits([...units.values()])
  for (const text of open()) {
    const level = units.get(unitIdIn(text) ?? 0)
    if (level !== undefined) names.set(text, unitOf(level))
  }
  yield* addUnits(names, open(), {})
  return names
})
const unitWords = ({ asset_number, id, serial_number }: StockLevelRow): string =>
  `${asset_number ?? serial_number ?? "a unit without a number"} (id ${id})`

const nameWithId = ({ id, name }: { readonly id: number; readonly name: string }): string => `${name} (id ${id})`

const productsNamed = Effect.fnUntraced(function* (texts: ReadonlyArray<string>): Store.Reads<Names> {
  const names: Names = new Map()
  for (const column of product_columns) {
    const open = texts.filter((text) => !names.has(text))
    for (const [text, row] of yield* rowsWith(products, column, open, { deleted_at: null }, nameWithId))
      names.set(text, typeof row === "string" ? row : { kind: "product", product: row })
  }
  return names
})
const ambiguous = (text: string, column: string, what: string, rows: ReadonlyArray<string>): string =>
  `${JSON.stringify(text)} is the ${words[column] ?? column} of several ${what === "stock_levels" ? "units" : what}: ` +
  `${rows.slice(0, 3).join(", ")}${rows.length > 3 ? " and more" : ""}. ` +
  "Scan another code that only the one that is meant has."

/** Message: `no unit and no product has this code (looked among …)`, with the most similar codes. */
const unknownText = Effect.fnUntraced(function* ({ code, quantity, texts }: ReadCode): Store.Reads<string> {
  const near = yield* nearest(texts[0] ?? code, quantity)
  const also = texts.length < 2 ? "" : `; looked for ${texts.map((text) => JSON.stringify(text)).join(", ")}`
  const among =
    "SKUs and barcodes of products" +
    (quantity === undefined
      ? ", barcodes, asset numbers, serial numbers of units, barcodes of containers"
      : "; with a quantity it must be a product's")
  const nearest_ones = near.length === 0 ? "" : ` The nearest: ${near.join(", ")}.`
  return `no unit and no product has this code (looked among ${among})${also}.${nearest_ones}`
})

/** The single code that differs only in case from the scanned one; undefined if there are none or several. */
const inOtherCase = Effect.fnUntraced(function* ({ quantity, texts }: ReadCode): Store.Reads<string | undefined> {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const folded = texts.map((text) => text.toLowerCase())
  const isSame = (column: string): string => `lower(${column}) in (${folded.map(bound.bind).join(", ")})`
  const codes = yield* codesWhere(isSame, bound, quantity)
  // Codes as scanned were searched before.
  const others = codes.filter((code) => !texts.includes(code))
  return others.length === 1 ? others[0] : undefined
})

/**
 * Different codes of units and containers in use, and of products, that meet a condition; with a quantity, only those
 * of products.
 */
const codesWhere = Effect.fnUntraced(function* (
  condition: (column: string) => string,
  { values }: Bindings,
  quantity: number | undefined
): Store.Reads<ReadonlyArray<string>> {
  const part = (table: string, column: string, where: string): string =>
    `select code from (select ${column} as code from ${table} where ${where} and ${condition(column)} ` +
    `order by ${column} limit ${candidates_max}) as "${table}_${column}"`
  const rows = yield* Store.run<{ code: string }>(
    [
      ...(quantity === undefined
        ? [
            ...unit_columns.map((column) => part("stock_levels", column, "not is_gone")),
            part("containers", "barcode", "status <> 'dissolved'")
          ]
        : []),
      ...product_columns.map((column) => part("products", column, "deleted_at is null"))
    ].join(" union "),
    values
  )
  return rows.map(({ code }) => code)
})

const nearest_max = 3
const candidates_max = 200
/** Codes with an equal beginning that differ in few characters. One query, for unknown codes only. */
const nearest = Effect.fnUntraced(function* (
  text: string,
  quantity: number | undefined
): Store.Reads<ReadonlyArray<string>> {
  const wanted = text.toLowerCase()
  if (wanted.length < 2 || wanted.length > 60) return []
  const bound = bindings((yield* Store).dialect)
  const beginning = wanted.slice(0, Math.ceil(wanted.length / 2)).replace(/[\\%_]/g, (sign) => `\\${sign}`)
  const like = (column: string): string => `lower(${column}) like ${bound.bind(`${beginning}%`)} escape '\\'`
  return (yield* codesWhere(like, bound, quantity))
    .map((code) => ({ code, far: distance(wanted, code.toLowerCase()) }))
    .filter(({ far }) => far <= Math.max(1, Math.floor(wanted.length / 3)))
    .sort((one, other) => one.far - other.far || (one.code < other.code ? -1 : 1))
    .slice(0, nearest_max)
    .map(({ code }) => code)
})

/** Edit distance of two texts: characters to insert, delete or replace. */
const distance = (one: string, other: string): number => {
  let before = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [row, sign] of [...one].entries()) {
    const now = [row + 1]
    for (let at = 1; at <= other.length; at++)
      now.push(
        Math.min(
          (now[at - 1] ?? 0) + 1,
          (before[at] ?? 0) + 1,
          (before[at - 1] ?? 0) + (sign === other[at - 1] ? 0 : 1)
        )
      )
    before = now
  }
  return before[other.length] ?? 0
}
