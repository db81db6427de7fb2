/** The columns of a product import, and its column `components`: the parts of a kit, by sku. */
import { isJsonObject, readFields } from "../kernel/index.ts"
import type { FieldErrors, Fields, Json, JsonObject, Values } from "../kernel/index.ts"
import { product_types, productFields, type ProductRow, products } from "../products/products/schema.ts"
import { cellValue, type Columns, draftRow, namedIn, textCell } from "./rows.ts"
import { type Composed, saveComponent } from "../products/kits/decide.ts"
import { componentFields, type ComponentRow, product_components } from "../products/kits/schema.ts"
import { Result, Struct } from "effect"

// Columns of a product import: names, aliases, words of spreadsheets, and how a row is read.

const ownColumns: Fields = Struct.pick(productFields, [
  "name",
  "sku",
  "barcode",
  "description",
  "product_type",
  "stock_method",
  "allowed_stock_type",
  "weight",
  "replacement_charge",
  "sub_rental_price",
  "purchase_price",
  "buffer_percent",
  "buffer_before_minutes",
  "post_rent_unavailability",
  "track_availability",
  "accessory_only",
  "discountable",
  "is_active",
  "tag_list"
])

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

/** A row's values for a new product, or its changes of an existing one. Errors are keyed by column. */
export const readProduct = (cells: JsonObject, before: ProductRow | undefined, base_currency: string): ReadProduct => {
  const body: { [column: string]: Json } = {}
  for (const column of Object.keys(cells)) {
    const cell = cells[column]
    if (cell !== undefined && Object.hasOwn(ownColumns, column)) body[column] = asWritten(column, cell)
  }
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

const partFields = { quantity: componentFields.quantity, binding: componentFields.binding }

interface Part extends Pick<ComponentRow, "component_product_id" | "quantity" | "binding"> {
  readonly present: ComponentRow | undefined
}
export interface PartsPlan {
  readonly errors: FieldErrors
  readonly parts: ReadonlyArray<Part>
}
interface PartFacts {
  readonly bySku: ReadonlyMap<string, ReadonlyArray<ProductRow>>
  /** Skus that a dry run may assume: earlier requests of the same file would have made them. */
  readonly promised: ReadonlySet<string>
  /** Skus of earlier rows that were refused. */
  readonly refused: ReadonlySet<string>
  /** The product's current components. */
  readonly present: ReadonlyArray<ComponentRow>
  /** All compositions, including those of earlier rows. */
  readonly edges: ReadonlyArray<Composed>
  readonly depth_max: number
  readonly has_containers: boolean
}

/**
 * Reads a list of `{sku, quantity, binding}`, or text: `PAR-64 x 4; CLAMP x 4`. Components not named stay as they are.
 */
export const planParts = (
  cell: Json,
  sku: string | undefined,
  product: ProductRow | undefined,
  around: PartFacts
): PartsPlan => {
  if (typeof cell !== "string" && !Array.isArray(cell))
    return { errors: { components: ["The components must be a list of sku and quantity."] }, parts: [] }
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const parts: Array<Part> = []
  for (const [index, one] of partsIn(cell).entries()) {
    const planned = planPart(one, `components.${index}`, { sku, product, earlier: parts }, around)
    Object.assign(errors, planned.errors)
    parts.push(...planned.parts)
  }
  const changes = parts.some(
    (part) =>
      part.present === undefined || part.present.quantity !== part.quantity || part.present.binding !== part.binding
  )
  if (around.has_containers && changes)
    errors["components"] = ["Containers of this kit are in use; change its components one by one."]
  return { errors, parts }
}

interface Kit {
  readonly sku: string | undefined
  readonly product: ProductRow | undefined
  /** Parts that the row named before. */
  readonly earlier: ReadonlyArray<Part>
}
const planPart = (one: JsonObject, path: string, kit: Kit, around: PartFacts): PartsPlan => {
  const sku = textCell(one, "sku") ?? ""
  const sku_field = `${path}.sku`
  if (sku === "") return { errors: { [sku_field]: ["The sku field is required."] }, parts: [] }
  const { errors, values } = readFields(partFields, written(one), {
    mode: "create",
    base_currency: "GBP",
    path: `${path}.`
  })
  const is_unknown = (around.bySku.get(sku) ?? []).length === 0
  if (is_unknown && sku !== kit.sku && around.promised.has(sku)) return { errors, parts: [] }
  const component = componentOf(sku, kit, around)
  if (typeof component === "string") return { errors: { ...errors, [sku_field]: [component] }, parts: [] }
  if (Object.keys(errors).length > 0) return { errors, parts: [] }
  const { binding, quantity } = values as Pick<Part, "quantity" | "binding">
  const present = around.present.find((row) => row.component_product_id === component.id)
  const part: Part = { component_product_id: component.id, quantity, present, binding }
  const refused = part.present === undefined ? refusal(part, kit.product, around) : undefined
  return refused === undefined ? { errors, parts: [part] } : { errors: { [sku_field]: refused }, parts: [] }
}
/** The product of a part, or why there is none. */
const componentOf = (sku: string, kit: Kit, { bySku, refused }: PartFacts): ProductRow | string => {
  if (sku === kit.sku) return "This is the product itself."
  const found = bySku.get(sku) ?? []
  const [component] = found
  if (component === undefined)
    return refused.has(sku)
      ? `The row of its part ${sku} was refused.`
      : `There is no product with the sku ${sku} yet; put parts above the kit.`
  if (found.length > 1) return `${found.length} products have the sku ${sku}; give each its own.`
  return kit.earlier.some((part) => part.component_product_id === component.id)
    ? "The row names this part twice."
    : component
}

/** Parses a cell into parts; an entry that is no object counts as an empty one. */
export const partsIn = (cell: Json): ReadonlyArray<JsonObject> =>
  typeof cell === "string"
    ? fromText(cell)
    : Array.isArray(cell)
      ? cell.map((one: Json) => (isJsonObject(one) ? one : {}))
      : []
const fromText = (text: string): ReadonlyArray<JsonObject> =>
  text
    .split(/[;,]/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [, sku, quantity] = /^(.+?)\s+[x×]\s*(\d+(?:\.\d+)?)$/i.exec(part) ?? []
      return sku === undefined || quantity === undefined ? { sku: part } : { sku, quantity }
    })
const written = (one: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null && value !== ""))

/** Errors of the kit rules for a new part, as for a single request; undefined if it is allowed. */
const refusal = (part: Part, product: ProductRow | undefined, around: PartFacts): ReadonlyArray<string> | undefined => {
  const parent = product ?? draftRow(products, productFields, { id: 0 })
  const { present: _present, ...values } = part
  const row = draftRow(product_components, componentFields, { ...values, id: 0, product_id: parent.id })
  const facts = { product: parent, siblings: around.present, edges: around.edges, depth_max: around.depth_max }
  const saved = saveComponent(row, undefined, facts)
  return Result.isFailure(saved) ? Object.values(saved.failure.errors ?? {}).flat() : undefined
}
