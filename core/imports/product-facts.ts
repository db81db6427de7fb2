/** Facts of a product import for the whole batch: about a dozen queries, whatever the number of rows. */
import { createdEvent, customFieldFacts, foldCase, hasOnePermission, initialRow } from "../kernel/index.ts"
import { isJsonObject, lockStreams, Store } from "../kernel/index.ts"
import type { CustomFieldFacts, DecideContext, Input, Json, NewEvent, Table } from "../kernel/index.ts"
import { product_groups } from "../products/products/api.ts"
import { codeForms } from "../values/text.ts"
import { Effect } from "effect"
import { containers, live_statuses } from "../products/packing.ts"
import { type ComponentRow, product_components } from "../products/kits/schema.ts"
import { type CodedProduct, type ProductRow, products } from "../products/products/schema.ts"
import type { ProductRateRow, RateDefinitionRow } from "../products/rates/product-rates.ts"
import { product_rates, rate_definitions } from "../products/rates/product-rates.ts"
import { assignedClass, product_tax_classes } from "../setup/reference-data/tax.ts"
import { stock_levels, type StockLevelRow, stock_transactions } from "../products/stock/schema.ts"
import { type StoreRow, stores } from "../setup/stores.ts"
import { partsIn, productColumns } from "./part-rows.ts"
import type { importFields } from "./fields.ts"
import { draftRow, type ImportContext, readRows, type Row, textCell } from "./rows.ts"

// The `group` column: product groups by name or path ("Lighting / Moving heads"); missing ones are made.

interface Group {
  readonly id: number
  readonly name: string
  readonly parent_id: number | null
}

/** The group tree, including groups made by earlier rows. */
interface GroupTree {
  readonly named: (name: string) => ReadonlyArray<Group>
  readonly child: (parent_id: number | null, name: string) => Group | undefined
  readonly add: (group: Group) => void
  /** Plans made since the last group was added, by text: many rows name the same group. */
  readonly plans: Map<string, GroupPlan>
}
export const groupTree = (groups: ReadonlyArray<Group>): GroupTree => {
  const byName = new Map<string, Array<Group>>()
  const plans = new Map<string, GroupPlan>()
  const add = (group: Group): void => {
    plans.clear()
    const same = byName.get(foldCase(group.name))
    if (same === undefined) byName.set(foldCase(group.name), [group])
    else same.push(group)
  }
  groups.forEach(add)
  const named = (name: string): ReadonlyArray<Group> => byName.get(foldCase(name)) ?? []
  return { named, add, plans, child: (parent_id, name) => named(name).find((one) => one.parent_id === parent_id) }
}

type GroupPlan =
  | { readonly error: string }
  /** The deepest existing group of the path, and the names of the groups to make below it. */
  | { readonly parent_id: number | null; readonly missing: ReadonlyArray<string> }

const name_max = 255

export const planGroup = (text: string, tree: GroupTree): GroupPlan => {
  const plan = tree.plans.get(text) ?? planOf(text, tree)
  tree.plans.set(text, plan)
  return plan
}
/** A single name is a group at the top, else the only one so called; paths and `/ Name` begin at the top. */
const planOf = (text: string, tree: GroupTree): GroupPlan => {
  const path = text.replace(/^\/\s+/, "")
  const names = path.split(/\s\/(?=\s)/).map((name) => name.trim())
  if (names.some((name) => name === "")) return { error: "The group path has an empty part." }
  if (names.some((name) => [...name].length > name_max))
    return { error: `A group's name must not be longer than ${name_max} characters.` }
  const single = names.length === 1 && path === text ? tree.named(text.trim()) : []
  const top = single.find((group) => group.parent_id === null)
  if (top === undefined && single.length > 1)
    return { error: `Several groups are called ${names[0]}; give the path, such as "Lighting / ${names[0]}".` }
  const found = top ?? single[0]
  if (found !== undefined) return { parent_id: found.id, missing: [] }
  let parent_id: number | null = null
  for (const [depth, name] of names.entries()) {
    const next: Group | undefined = tree.child(parent_id, name)
    if (next === undefined) return { parent_id, missing: names.slice(depth) }
    parent_id = next.id
  }
  return { parent_id, missing: [] }
}

/** Makes the missing groups; `id` is that of the last group of the path. */
export const makeGroups = (
  plan: Exclude<GroupPlan, { readonly error: string }>,
  tree: GroupTree,
  context: DecideContext
): { readonly id: number | null; readonly events: ReadonlyArray<NewEvent> } => {
  const events: Array<NewEvent> = []
  let parent_id = plan.parent_id
  for (const name of plan.missing) {
    const id = context.id(product_groups)
    events.push(
      createdEvent(product_groups, { ...initialRow(product_groups, product_groups.columns), id, name, parent_id })
    )
    tree.add({ id, name, parent_id })
    parent_id = id
  }
  return { id: parent_id, events }
}

export interface ProductFacts extends ImportContext {
  /** Live products with a sku or a name of the batch, parts of kits included. */
  readonly products: ReadonlyArray<ProductRow>
  /** Archived and merged ones: an old list must not make them again. */
  readonly archived: ReadonlyArray<ProductRow>
  /** Other live products with a code of the batch, for warnings: not locked, and none if the caller may not see any. */
  readonly coded: ReadonlyArray<CodedProduct>
  readonly groups: ReadonlyArray<Group>
  readonly tax_classes: ReadonlyArray<{ readonly id: number; readonly name: string }>
  /** For new products without a tax class. */
  readonly default_tax_class_id: number | undefined
  readonly stores: ReadonlyArray<StoreRow>
  readonly definitions: ReadonlyArray<RateDefinitionRow>
  readonly rates: ReadonlyArray<ProductRateRow>
  /** Stock levels of the products, without sub-hired ones. */
  readonly levels: ReadonlyArray<StockLevelRow>
  /** Units with an asset or serial number of the batch, of any product. */
  readonly numbered: ReadonlyArray<StockLevelRow>
  readonly custom: CustomFieldFacts
  /** All components of all kits. */
  readonly components: ReadonlyArray<ComponentRow>
  /** Products with containers that are in use. */
  readonly in_containers: ReadonlySet<number>
}

export const productFacts = Effect.fnUntraced(function* (
  input: Input<{}, typeof importFields>
): Store.Reads<ProductFacts> {
  const store = yield* Store
  const rows = readRows(input.values.rows ?? [], productColumns)
  const has = (column: string): boolean => rows.some((row) => row.cells[column] !== undefined)
  const { coded, found } = yield* productsNamed(rows, hasOnePermission(input.viewer, "products.view"))
  const with_stock = has("stock") ? found : []
  yield* lockStreams([...found.map((id) => `product:${id}`), ...with_stock.map((id) => `product_stock:${id}`)])
  const before = yield* store.find(stock_levels, { product_id: with_stock, is_sub_hired: false })
  yield* lockStreams(before.filter((level) => level.stock_category === 10).map((level) => `stock_level:${level.id}`))
  // Read again under their locks.
  const named = yield* store.getMany(products, found)
  return {
    rows,
    dry_run: input.values.dry_run ?? false,
    products: named.filter(({ deleted_at }) => deleted_at === null),
    archived: named.filter(({ deleted_at }) => deleted_at !== null),
    coded,
    groups: has("group") ? yield* store.find(product_groups, {}) : [],
    tax_classes: has("tax_class") ? yield* store.find(product_tax_classes, {}) : [],
    default_tax_class_id: yield* assignedClass(product_tax_classes, input.settings),
    stores: [...(yield* store.find(stores, {})), ...promisedStores(input)],
    definitions: has("rate") ? yield* store.find(rate_definitions, {}) : [],
    rates: has("rate") ? yield* store.find(product_rates, { product_id: found }) : [],
    levels: yield* store.find(stock_levels, { product_id: with_stock, is_sub_hired: false }),
    numbered: yield* unitsNumbered(rows),
    custom: yield* customFieldFacts("Product"),
    components: has("components") ? yield* store.find(product_components, {}) : [],
    in_containers: new Set(
      has("components")
        ? (yield* store.find(containers, { product_id: found, status: live_statuses })).flatMap(
            ({ product_id }) => product_id ?? []
          )
        : []
    )
  }
})

/** Ids of rates, or of stock levels, to allocate beforehand; a rule that needs more runs again. */
const ids_a_product_max = 8

/** Ids for the rows of new products, with the stock and rates that most of them have. */
export const idsOfProducts = ({
  archived,
  dry_run,
  products: live,
  rows
}: ProductFacts): ReadonlyArray<readonly [Table, number]> => {
  const present = [...live, ...archived]
  const skus = new Set(present.map(({ sku }) => sku))
  const names = new Set(present.map(({ name }) => name))
  const made = rows.filter(({ cells, unreadable }) => {
    const sku = textCell(cells, "sku")
    const name = textCell(cells, "name")
    const [word, known] = sku === undefined ? [name, names] : [sku, skus]
    if (unreadable !== undefined || name === undefined || word === undefined || known.has(word)) return false
    known.add(word)
    return true
  })
  if (dry_run || made.length === 0) return []
  const count = (column: string, one: (cell: Json | undefined) => number): number =>
    Math.min(
      made.reduce((sum, { cells }) => sum + one(cells[column]), 0),
      made.length * ids_a_product_max
    )
  const quantities = (stock: Json | undefined): ReadonlyArray<Json> =>
    stock === undefined ? [0] : isJsonObject(stock) ? Object.values(stock) : [stock]
  return [
    [products, made.length],
    [stock_levels, count("stock", (cell) => quantities(cell).length)],
    [stock_transactions, count("stock", (cell) => quantities(cell).filter((one) => Number(one) !== 0).length)],
    [product_rates, count("rate", (cell) => (cell === undefined ? 0 : Array.isArray(cell) ? cell.length : 1))]
  ]
}

/**
 * Ids of products with a sku or a name of the batch, archived or not, and two others with each code in any form, as
 * thousands of products may share one, such as "n/a".
 */
const productsNamed = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, with_codes: boolean) {
  const textsIn = (column: string) => rows.flatMap(({ cells }) => textCell(cells, column) ?? [])
  const wanted = {
    sku: new Set([...textsIn("sku"), ...rows.flatMap(({ cells }) => partSkus(cells["components"]))]),
    name_folded: new Set(textsIn("name").map(foldCase))
  }
  const codes = {
    sku: new Set(with_codes ? textsIn("sku").flatMap(codeForms) : []),
    barcode: new Set(with_codes ? textsIn("barcode").flatMap(codeForms) : [])
  }
  const store = yield* Store
  // One index look-up for each value: for a list of values, Postgres would read the whole table, twice.
  const idsBy = (column: string, nth: number): string =>
    store.dialect === "pg"
      ? `select p.id from json_array_elements_text($${nth}::json) as given (value) cross join lateral ` +
        `(select id from products where ${column} = given.value offset 0) as p`
      : `select p.id from json_each(?) as given cross join products as p where p.${column} = given.value`
  const codedBy = (column: string, nth: number): string =>
    store.dialect === "pg"
      ? // As a range: if most products share a code, Postgres would expect each to have them all, and read the table.
        `select p.* from json_array_elements_text($${nth}::json) as given (value) cross join lateral ` +
        `(select id, name, sku, barcode from products where ${column} between given.value and given.value ` +
        `and deleted_at is null limit 2) as p`
      : `select p.id, p.name, p.sku, p.barcode from json_each(?) as given cross join products as p where p.id in ` +
        `(select id from products where ${column} = given.value and deleted_at is null limit 2)`
  const read = (by: typeof idsBy, sets: { readonly [column: string]: ReadonlySet<string> }) => {
    const columns = Object.keys(sets).filter((column) => (sets[column]?.size ?? 0) > 0)
    return {
      text: columns.map((column, at) => by(column, at + 1)).join(" union "),
      values: columns.map((column) => JSON.stringify([...(sets[column] ?? [])]))
    }
  }
  const reads = [read(idsBy, wanted), read(codedBy, codes)]
  const sent = reads.filter(({ text }) => text !== "")
  const answers = yield* store.readAll(sent)
  const [named = [], coded = []] = reads.map((one) => answers[sent.indexOf(one)] ?? [])
  const found = named.map(({ id }) => Number(id))
  const known = new Set(found)
  const others = coded.map((one): CodedProduct => ({ ...one, id: Number(one.id) }))
  return { found, coded: others.filter(({ id }) => !known.has(id)).sort((one, other) => one.id - other.id) }
})

const partSkus = (cell: Json | undefined): ReadonlyArray<string> =>
  cell === undefined ? [] : partsIn(cell).flatMap((part) => textCell(part, "sku") ?? [])

/** Units with the asset and serial numbers of the rows: these are unique across all products. */
const unitsNumbered = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const lists = rows.flatMap(({ cells: { stock } }) =>
    stock === undefined ? [] : isJsonObject(stock) ? Object.values(stock) : [stock]
  )
  const units = lists
    .flatMap((list): ReadonlyArray<Json> => (Array.isArray(list) ? list : []))
    .map((unit) => (isJsonObject(unit) ? unit : { asset_number: unit }))
  const numbers = (name: string): ReadonlyArray<string> => [
    ...new Set(units.flatMap((unit) => textCell(unit, name) ?? []))
  ]
  const found = [
    ...(yield* Store.find(stock_levels, { asset_number: numbers("asset_number") })),
    ...(yield* Store.find(stock_levels, { serial_number: numbers("serial_number"), given_back_at: null }))
  ]
  return [...new Map(found.map((level) => [level.id, level])).values()]
})

/**
 * Placeholders for stores that a dry run may assume, because they would be made before the import. Their ids are
 * negative.
 */
const promisedStores = ({ values }: Input<{}, typeof importFields>): ReadonlyArray<StoreRow> =>
  values.dry_run !== true
    ? []
    : (values.promised_stores ?? []).map((name, at) => draftRow(stores, {}, { id: -1 - at, name }))
