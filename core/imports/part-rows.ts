/** The `components` column of a product import: what a kit is made of, by the skus of its parts. */
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { readFields } from "../kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import { createdEvent, initialRow, updatedEvent } from "../kernel/crud-resource.ts"
import type { FieldErrors } from "../kernel/rejection.ts"
import { productTouched, saveComponent } from "../kits/decide.ts"
import type { Composed } from "../kits/graph.ts"
import { componentFields, type ComponentRow, product_components } from "../kits/schema.ts"
import { productFields, type ProductRow, products } from "../products/schema.ts"
import { Result } from "effect"
import { textCell } from "./cells.ts"

const partFields = { quantity: componentFields.quantity, binding: componentFields.binding }
const itself = "This is the product itself."

interface Part extends Pick<ComponentRow, "component_product_id" | "quantity" | "binding"> {
  readonly present: ComponentRow | undefined
}
export interface PartsPlan {
  readonly errors: FieldErrors
  readonly parts: ReadonlyArray<Part>
}
export interface PartFacts {
  readonly bySku: ReadonlyMap<string, ReadonlyArray<ProductRow>>
  /** Skus that a dry run may assume: earlier requests of the same file would have made them. */
  readonly promised: ReadonlySet<string>
  /** The product's components as they are. */
  readonly present: ReadonlyArray<ComponentRow>
  /** Every composition there is, those of earlier rows included. */
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
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (typeof cell !== "string" && !Array.isArray(cell))
    return { errors: { components: ["The components must be a list of sku and quantity."] }, parts: [] }
  const parts: Array<Part> = []
  for (const [index, one] of partsIn(cell).entries()) {
    const path = `components.${index}`
    const wanted = textCell(one, "sku") ?? ""
    if (wanted === "") {
      errors[`${path}.sku`] = ["The sku field is required."]
      continue
    }
    const read = readFields(partFields, written(one), { mode: "create", base_currency: "GBP", path: `${path}.` })
    Object.assign(errors, read.errors)
    const found = around.bySku.get(wanted) ?? []
    const component = found.at(0)
    if (found.length === 0 && wanted !== sku && around.promised.has(wanted)) continue
    const wrong =
      wanted === sku
        ? itself
        : component === undefined
          ? `There is no product with the sku ${wanted} yet; put parts above the kit.`
          : found.length > 1
            ? `${found.length} products have the sku ${wanted}; give each its own.`
            : parts.some((part) => part.component_product_id === component.id)
              ? "The row names this part twice."
              : undefined
    if (wrong !== undefined) errors[`${path}.sku`] = [wrong]
    if (wrong !== undefined || component === undefined) continue
    if (Object.keys(read.errors).length > 0) continue
    const values = read.values as Pick<Part, "quantity" | "binding">
    const part: Part = {
      component_product_id: component.id,
      quantity: values.quantity,
      present: around.present.find((row) => row.component_product_id === component.id),
      binding: values.binding
    }
    const refused = part.present === undefined ? refusal(part, product, around) : undefined
    if (refused === undefined) parts.push(part)
    else errors[`${path}.sku`] = refused
  }
  const changes = parts.some(
    (part) =>
      part.present === undefined || part.present.quantity !== part.quantity || part.present.binding !== part.binding
  )
  if (around.has_containers && changes)
    errors["components"] = ["Containers of this kit are in use; change its components one by one."]
  return { errors, parts }
}

/** The parts of a cell; an entry that is no object counts as an empty one. */
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

/** Why the rules of kits refuse a new part, as they would in a single request; undefined when they do not. */
const refusal = (part: Part, product: ProductRow | undefined, around: PartFacts): ReadonlyArray<string> | undefined => {
  const parent = product ?? ({ ...initialRow(products, productFields), id: 0 } as ProductRow)
  const { present: _present, ...values } = part
  const row = {
    ...initialRow(product_components, componentFields),
    ...values,
    id: 0,
    product_id: parent.id
  } as ComponentRow
  const facts = { product: parent, siblings: around.present, edges: around.edges, depth_max: around.depth_max }
  const saved = saveComponent(row, undefined, facts)
  return Result.isFailure(saved) ? Object.values(saved.failure.errors ?? {}).flat() : undefined
}

/** Adds and changes components; the product becomes a kit with its first one. */
export const partEvents = (
  product: ProductRow,
  { parts }: PartsPlan,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const events = parts.flatMap(({ present, ...part }, index): ReadonlyArray<NewEvent> => {
    if (present === undefined)
      return [
        createdEvent(product_components, {
          ...part,
          id: context.id(product_components),
          product_id: product.id,
          sort_order: index
        })
      ]
    const updated = updatedEvent(product_components, present, part)
    return updated === undefined ? [] : [updated]
  })
  return events.length === 0
    ? []
    : [...events, updatedEvent(products, product, { is_kit: true }) ?? productTouched(product.id)]
}
