/**
 * Codes on papers that `scan` and `pack` read as what stands beside them. Scanning looks for a unit by barcode, asset
 * number and serial number, in this order, and for a product by SKU and barcode: a code that would be taken for
 * something else, or for several things, is not printed; a unit that has no other is named by `unit:ID`.
 */
import { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import { columnList } from "../../kernel/store/statement.ts"
import { Store } from "../../kernel/store/store.ts"
import type { CellCode } from "../../print/blocks.ts"
import { type ProductRow, products } from "../../products/schema.ts"
import { readCode, unitCode } from "../../scanning/read-code.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"

export type CodedUnit = Pick<StockLevelRow, "id" | "barcode" | "asset_number" | "serial_number">
export type CodedProduct = Pick<ProductRow, "id" | "sku" | "barcode">
export interface Codes {
  readonly ofUnit: (id: number) => CellCode | undefined
  /** So many of a product that is counted: `CABLE*5`. */
  readonly ofProduct: (id: number, quantity: string) => CellCode | undefined
}

/** A line is read without its ends and a scanner's sign before it; `*5` behind it, `5 x ` before it are quantities. */
const isReadable = (text: string): boolean => {
  const { code, quantity } = readCode(text)
  return text !== "" && text.length <= 200 && !/[\r\n]/.test(text) && code === text && quantity === undefined
}
/** Wider ones would not fit a column: a camera reads them. */
const laser_signs_max = 20
export const symbolFor = (value: string): CellCode => ({
  symbology: /^[\u0020-\u007e]+$/.test(value) && value.length <= laser_signs_max ? "code128" : "qr",
  value
})

const unit_columns = ["barcode", "asset_number", "serial_number"] as const
const product_columns = ["sku", "barcode"] as const

/** Of each text, the id that it is found by: undefined for one that finds several. */
const finder = <Row extends { readonly id: number }, C extends keyof Row>(
  rows: ReadonlyArray<Row>,
  columns: ReadonlyArray<C>
): ((text: string) => number | "several" | undefined) => {
  const by = columns.map((column) => Map.groupBy(rows, (row) => row[column]))
  return (text) => {
    for (const found of by) {
      const rows_with = found.get(text as Row[C])
      if (rows_with !== undefined) return rows_with.length > 1 ? "several" : rows_with[0]?.id
    }
    return undefined
  }
}

export const codesAmong = (
  units: ReadonlyArray<CodedUnit>,
  of_products: ReadonlyArray<CodedProduct>,
  rivals: { readonly units: ReadonlyArray<CodedUnit>; readonly products: ReadonlyArray<CodedProduct> }
): Codes => {
  const distinct = <Row extends { readonly id: number }>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => [
    ...new Map(rows.map((row) => [row.id, row])).values()
  ]
  const unitOf = finder(distinct([...units, ...rivals.units]), unit_columns)
  const productOf = finder(distinct([...of_products, ...rivals.products]), product_columns)
  const unitsById = new Map(units.map((row) => [row.id, row]))
  const productsById = new Map(of_products.map((row) => [row.id, row]))
  return {
    ofUnit: (id) => {
      const row = unitsById.get(id)
      if (row === undefined) return undefined
      const code = unit_columns
        .map((column) => row[column])
        .find((text) => text !== null && isReadable(text) && unitOf(text) === id)
      return symbolFor(code ?? unitCode(id))
    },
    ofProduct: (id, quantity) => {
      const row = productsById.get(id)
      // A scanner counts in whole pieces, up to six digits of them.
      if (row === undefined || !/^[1-9]\d{0,5}$/.test(quantity)) return undefined
      const code = product_columns
        .map((column) => row[column])
        .find((text) => text !== null && isReadable(text) && productOf(text) === id)
      return code == null ? undefined : symbolFor(`${code}*${quantity}`)
    }
  }
}

const texts = <Row>(rows: ReadonlyArray<Row>, columns: ReadonlyArray<keyof Row>): ReadonlyArray<string> => [
  ...new Set(rows.flatMap((row) => columns.map((column) => row[column]).filter((text) => typeof text === "string")))
]

/** The codes of these, checked against all there is: two queries. */
export const loadCodes = Effect.fnUntraced(function* (
  units: ReadonlyArray<CodedUnit>,
  of_products: ReadonlyArray<CodedProduct>
): Effect.fn.Return<Codes, Failure, Store> {
  const store = yield* Store
  const of_units = texts(units, unit_columns)
  const among = [...texts(of_products, product_columns)]
  // Bound as one value: a thousand units have some thousand texts, and a statement takes so many values only.
  const wanted =
    store.dialect === "sqlite"
      ? "with wanted(text) as (select value from json_each(?)) "
      : "with wanted(text) as (select jsonb_array_elements_text($1::jsonb)) "
  const withAny = (columns: ReadonlyArray<string>): string =>
    columns.map((column) => `${column} in (select text from wanted)`).join(" or ")
  const rival_units =
    of_units.length === 0
      ? []
      : yield* store.run(
          `${wanted}select ${columnList(stock_levels)} from stock_levels where ${withAny(unit_columns)}`,
          [JSON.stringify(of_units)]
        )
  const rival_products =
    among.length === 0
      ? []
      : yield* store.run(
          `${wanted}select ${columnList(products)} from products ` +
            `where deleted_at is null and (${withAny(product_columns)})`,
          [JSON.stringify(among)]
        )
  return codesAmong(units, of_products, {
    units: rival_units.map((row) => store.decode(stock_levels, row)),
    products: rival_products.map((row) => store.decode(products, row))
  })
})
