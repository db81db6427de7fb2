/** The columns of a product import: names and other names, words of spreadsheets, and how a row is read. */
import type { Fields } from "../kernel/field.ts"
import { readFields, type Values } from "../kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import type { FieldErrors } from "../kernel/rejection.ts"
import { type ProductRow, product_types, productFields } from "../products/schema.ts"
import { cellValue, namedIn } from "./cells.ts"
import type { Columns } from "./rows.ts"

const {
  name,
  sku,
  barcode,
  description,
  product_type,
  stock_method,
  allowed_stock_type,
  weight,
  replacement_charge,
  sub_rental_price,
  purchase_price,
  buffer_percent,
  buffer_before_minutes,
  post_rent_unavailability,
  track_availability,
  accessory_only,
  discountable,
  is_active,
  tag_list
} = productFields
/** Columns that are a product's own fields. */
const ownColumns: Fields = {
  name,
  sku,
  barcode,
  description,
  product_type,
  stock_method,
  allowed_stock_type,
  weight,
  replacement_charge,
  sub_rental_price,
  purchase_price,
  buffer_percent,
  buffer_before_minutes,
  post_rent_unavailability,
  track_availability,
  accessory_only,
  discountable,
  is_active,
  tag_list
}

export const productColumns: Columns = {
  known: new Set([...Object.keys(ownColumns), "group", "tax_class", "stock", "rate", "components", "custom_fields"]),
  aliases: {
    product_name: "name",
    type: "product_type",
    product_group: "group",
    product_group_name: "group",
    tags: "tag_list",
    active: "is_active",
    tax_class_name: "tax_class",
    product_tax_class: "tax_class",
    quantity: "stock",
    quantity_held: "stock",
    rates: "rate",
    cf: "custom_fields",
    kit_components: "components",
    post_rent_unavailability_minutes: "post_rent_unavailability"
  },
  spread: new Set(["stock", "rate", "custom_fields"])
}

const stockMethods: { readonly [word: string]: number } = {
  bulk: 1,
  serialised: 2,
  serialized: 2,
  serialised_stock: 2,
  bulk_stock: 1
}
const stockTypes: { readonly [word: string]: number } = { rental: 1, sale: 2, both: 3 }

/** A cell of a spreadsheet as the value a request would hold: `yes` as true, `Serialised` as 2. */
const asWritten = (column: string, cell: Json): Json => {
  if (typeof cell !== "string") return cellValue(ownColumns, column, cell)
  const word = cell.trim().toLowerCase()
  if (column === "stock_method") return namedIn(stockMethods, word) ?? cell
  if (column === "allowed_stock_type") return namedIn(stockTypes, word) ?? cell
  if (column === "product_type")
    return (
      Object.entries(product_types).find(([, label]) => label.toLowerCase() === word)?.[0] ?? word.replaceAll(" ", "_")
    )
  return cellValue(ownColumns, column, cell)
}

export interface ReadProduct {
  readonly values: Values
  readonly errors: FieldErrors
  readonly group: string | undefined
  readonly tax_class: string | undefined
  readonly custom_fields: JsonObject | undefined
}

/** A row's values for a new product, or what it says about the one there is. Errors are keyed by column. */
export const readProduct = (cells: JsonObject, before: ProductRow | undefined, base_currency: string): ReadProduct => {
  const body = Object.fromEntries(
    Object.entries(cells)
      .filter(([column]) => Object.hasOwn(ownColumns, column))
      .map(([column, cell]) => [column, asWritten(column, cell)])
  )
  const read = readFields(ownColumns, body, { mode: before === undefined ? "create" : "update", base_currency })
  const errors: { [column: string]: ReadonlyArray<string> } = { ...read.errors }
  const word = (column: string): string | undefined => {
    const cell = cells[column]
    if (cell === undefined) return undefined
    if (typeof cell === "string" || typeof cell === "number") return String(cell).trim()
    errors[column] = [`The ${column.replaceAll("_", " ")} must be a name.`]
    return undefined
  }
  const custom = cells["custom_fields"]
  if (custom !== undefined && !isJsonObject(custom)) errors["custom_fields"] = ["The custom fields must be an object."]
  if (
    before !== undefined &&
    typeof read.values["stock_method"] === "number" &&
    read.values["stock_method"] !== before.stock_method
  ) {
    errors["stock_method"] = [
      "An import does not change how stock is kept; make another product, or change it by hand."
    ]
  }
  return {
    values: read.values,
    errors,
    group: word("group"),
    tax_class: word("tax_class"),
    custom_fields: custom !== undefined && isJsonObject(custom) ? custom : undefined
  }
}
