/** Facts of a product import for the whole batch: about a dozen queries, whatever the number of rows. */
import { Effect } from "effect"
import { containers, live_statuses } from "../packing/schema.ts"
import { type CustomFieldFacts, customFieldFacts } from "../kernel/custom-field.ts"
import type { Failure, Input } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { isJsonObject, type Json } from "../kernel/json.ts"
import { initialRow } from "../kernel/crud-resource.ts"
import { bindings, columnList, quote } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { foldCase } from "../kernel/table.ts"
import { type ComponentRow, product_components } from "../kits/schema.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { product_rates, type ProductRateRow, rate_definitions, type RateDefinitionRow } from "../rates/schema.ts"
import { product_groups } from "../products/groups.ts"
import { product_tax_classes } from "../reference-data/tax.ts"
import { type StockLevelRow, stock_levels } from "../stock/schema.ts"
import { type StoreRow, stores } from "../stores/stores.ts"
import type { Group } from "./group-path.ts"
import { partsIn } from "./part-rows.ts"
import { textCell } from "./cells.ts"
import { productColumns } from "./product-columns.ts"
import { type ImportContext, type importFields, readRows, type Row } from "./rows.ts"

export interface ProductFacts extends ImportContext {
  /** Live products with a sku or a name of the batch, parts of kits included. */
  readonly products: ReadonlyArray<ProductRow>
  readonly groups: ReadonlyArray<Group>
  readonly tax_classes: ReadonlyArray<{ readonly id: number; readonly name: string }>
  readonly stores: ReadonlyArray<StoreRow>
  readonly definitions: ReadonlyArray<RateDefinitionRow>
  readonly rates: ReadonlyArray<ProductRateRow>
  /** Levels of the products, sub-hired ones aside. */
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
): Effect.fn.Return<ProductFacts, Failure, Store> {
  const store = yield* Store
  const rows = readRows(input.values.rows ?? [], productColumns)
  const has = (column: string): boolean => rows.some((row) => row.cells[column] !== undefined)
  const found = yield* productsNamed(rows)
  const with_stock = has("stock") ? found.map(({ id }) => id) : []
  yield* lockStreams([...found.map(({ id }) => `product:${id}`), ...with_stock.map((id) => `product_stock:${id}`)])
  const before = yield* store.find(stock_levels, { product_id: with_stock, is_sub_hired: false })
  yield* lockStreams(before.filter((level) => level.stock_category === 10).map((level) => `stock_level:${level.id}`))
  return {
    rows,
    dry_run: input.values.dry_run ?? false,
    // Read again now that they are locked.
    products: yield* store.getMany(
      products,
      found.map(({ id }) => id)
    ),
    groups: has("group") ? yield* store.find(product_groups, {}) : [],
    tax_classes: has("tax_class") ? yield* store.find(product_tax_classes, {}) : [],
    stores: [...(yield* store.find(stores, {})), ...promisedStores(input)],
    definitions: has("rate") ? yield* store.find(rate_definitions, {}) : [],
    rates: has("rate") ? yield* store.find(product_rates, { product_id: found.map(({ id }) => id) }) : [],
    levels: yield* store.find(stock_levels, { product_id: with_stock, is_sub_hired: false }),
    numbered: yield* unitsNumbered(rows),
    custom: yield* customFieldFacts("Product"),
    components: has("components") ? yield* store.find(product_components, {}) : [],
    in_containers: new Set(
      has("components")
        ? (yield* store.find(containers, { product_id: found.map(({ id }) => id), status: live_statuses })).flatMap(
            ({ product_id }) => product_id ?? []
          )
        : []
    )
  }
})

const productsNamed = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const store = yield* Store
  const skus = new Set(
    rows.flatMap(({ cells }) => [textCell(cells, "sku") ?? [], partSkus(cells["components"])].flat())
  )
  const names = new Set(rows.flatMap(({ cells }) => textCell(cells, "name") ?? []).map(foldCase))
  if (skus.size === 0 && names.size === 0) return []
  const bound = bindings(store.dialect)
  const oneOf = (column: string, values: ReadonlySet<string>): string =>
    values.size === 0 ? "1 = 0" : `${quote(column)} in (${[...values].map(bound.bind).join(", ")})`
  const found = yield* store.run(
    `select ${columnList(products)} from products ` +
      `where deleted_at is null and (${oneOf("sku", skus)} or ${oneOf("name_folded", names)})`,
    bound.values
  )
  return found.map((row) => store.decode(products, row))
})

const partSkus = (cell: Json | undefined): ReadonlyArray<string> =>
  cell === undefined ? [] : partsIn(cell).flatMap((part) => textCell(part, "sku") ?? [])

/** Units with the asset and serial numbers of the rows: these are unique across all products. */
const unitsNumbered = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const store = yield* Store
  const lists = rows.flatMap(({ cells: { stock } }) =>
    stock === undefined ? [] : isJsonObject(stock) ? Object.values(stock) : [stock]
  )
  const units = lists
    .flatMap((list) => (Array.isArray(list) ? (list as ReadonlyArray<Json>) : []))
    .map((unit) => (isJsonObject(unit) ? unit : { asset_number: unit }))
  const numbers = (name: string): ReadonlyArray<string> => [
    ...new Set(units.flatMap((unit) => textCell(unit, name) ?? []))
  ]
  const found = [
    ...(yield* store.find(stock_levels, { asset_number: numbers("asset_number") })),
    ...(yield* store.find(stock_levels, { serial_number: numbers("serial_number"), given_back_at: null }))
  ]
  return [...new Map(found.map((level) => [level.id, level])).values()]
})

/**
 * Placeholders for stores that a dry run may assume, because they would be made before the rows. Their ids are
 * negative.
 */
const promisedStores = ({ values }: Input<{}, typeof importFields>): ReadonlyArray<StoreRow> =>
  values.dry_run !== true
    ? []
    : (values.promised_stores ?? []).map((name, at) => ({ ...initialRow(stores, {}), id: -1 - at, name }) as StoreRow)
