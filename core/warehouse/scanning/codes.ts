/**
 * Resolves a scanned code to a unit, a container or a product (rules/opportunities 9.6). Own labels carry bare codes;
 * others may be GS1 element strings, start with a symbology identifier, or be URLs that end with the code.
 */
import { Effect } from "effect"
import { type Bindings, bindings } from "../../kernel/store/statement.ts"
import { type Failure, Store } from "../../kernel/store/store.ts"
import { opportunities } from "../../orders/opportunities/tables/opportunities.ts"
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
  for (const text of read.texts) {
    const found = read.quantity === undefined ? yield* unitOrContainer(text) : undefined
    const named = found ?? (yield* productNamed(text))
    if (typeof named === "string") return { read, named: undefined, problem: named }
    if (named !== undefined) return { read, named, problem: undefined }
  }
  const in_other_case = yield* inOtherCase(read)
  if (in_other_case !== undefined) return { ...(yield* lookUpRead({ ...read, texts: [in_other_case] })), read }
  return { read, named: undefined, problem: (yield* paperText(read)) ?? (yield* unknownText(read)) }
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

/** Finds a unit by id. */
export const unitById = Effect.fnUntraced(function* (id: number): Store.Reads<Found> {
  const level = yield* Store.get(stock_levels, id)
  const read = { code: String(id), quantity: undefined, texts: [String(id)] }
  return level === undefined
    ? { read, named: undefined, problem: "The selected stock level does not exist." }
    : { read, named: yield* unit(level), problem: undefined }
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

const unit = Effect.fnUntraced(function* (level: StockLevelRow): Store.Reads<Named> {
  const container = yield* Store.first(containers, { serialised_item_id: level.id, status: live_statuses })
  return { kind: "unit", level, container }
})

/**
 * Finds the unit with a code: present or dispatched ones first, as codes of units that left may be in use again, then
 * those that left.
 */
const unitNamed = Effect.fnUntraced(function* (
  text: string,
  has_left: boolean
): Store.Reads<Named | string | undefined> {
  for (const column of unit_columns) {
    const here = has_left ? {} : { is_gone: false, given_back_at: null }
    const [first, ...others] = yield* Store.find(stock_levels, { [column]: text, ...here }, { limit: 4 })
    if (first === undefined) continue
    return others.length === 0
      ? yield* unit(first)
      : ambiguous(text, column, "units", [first, ...others].map(unitWords))
  }
  return undefined
})
const unitOrContainer = Effect.fnUntraced(function* (text: string): Store.Reads<Named | string | undefined> {
  const here = yield* unitNamed(text, false)
  if (here !== undefined) return here
  const [container, ...more] = yield* Store.find(containers, { barcode: text, status: live_statuses }, { limit: 4 })
  if (container !== undefined)
    return more.length === 0
      ? { kind: "container", container }
      : ambiguous(
          text,
          "barcode",
          "containers",
          [container, ...more].map(({ id, name }) => `${name} (id ${id})`)
        )
  const container_id = containerIdIn(text)
  const labelled = container_id === undefined ? undefined : yield* Store.get(containers, container_id)
  if (labelled !== undefined && live_statuses.some((status) => status === labelled.status))
    return { kind: "container", container: labelled }
  const unit_id = unitIdIn(text)
  const labelled_unit = unit_id === undefined ? undefined : yield* Store.get(stock_levels, unit_id)
  return labelled_unit === undefined ? yield* unitNamed(text, true) : yield* unit(labelled_unit)
})
const unitWords = ({ asset_number, id, serial_number }: StockLevelRow): string =>
  `${asset_number ?? serial_number ?? "a unit without a number"} (id ${id})`

const productNamed = Effect.fnUntraced(function* (text: string): Store.Reads<Named | string | undefined> {
  for (const column of product_columns) {
    const [first, ...others] = yield* Store.find(products, { [column]: text, deleted_at: null }, { limit: 4 })
    if (first === undefined) continue
    return others.length === 0
      ? { kind: "product", product: first }
      : ambiguous(
          text,
          column,
          "products",
          [first, ...others].map(({ id, name }) => `${name} (id ${id})`)
        )
  }
  return undefined
})
const ambiguous = (text: string, column: string, what: string, rows: ReadonlyArray<string>): string =>
  `${JSON.stringify(text)} is the ${words[column] ?? column} of several ${what}: ` +
  `${rows.slice(0, 3).join(", ")}${rows.length > 3 ? " and more" : ""}. ` +
  "Scan another code that only the one that is meant has."

/** Message: `no unit, container or product has the code "A-11" …`, with the most similar codes. */
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
