/** Rules of accessories and components (rules/availability 7.2 and 7.3). */
import { Result } from "effect"
import { event, reject, streamOf, updatedEvents } from "../../kernel/index.ts"
import type { NewEvent, Rejection, SaveResult } from "../../kernel/index.ts"
import { type ProductRow, products } from "../products/schema.ts"
import type { ComponentRow, product_components } from "./schema.ts"

// Cycles and depth of kits, in pairs of product and component (rules/availability 7.3).

export interface Composed {
  readonly product_id: number
  readonly component_product_id: number
}

const below = (edges: ReadonlyArray<Composed>): ((product: number) => ReadonlyArray<number>) => {
  const of = Map.groupBy(edges, (edge) => edge.product_id)
  return (product) => (of.get(product) ?? []).map((edge) => edge.component_product_id)
}
const above = (edges: ReadonlyArray<Composed>): ((product: number) => ReadonlyArray<number>) => {
  const of = Map.groupBy(edges, (edge) => edge.component_product_id)
  return (product) => (of.get(product) ?? []).map((edge) => edge.product_id)
}

/** Whether product `from` is product `to` or contains it, at any depth. */
export const contains = (edges: ReadonlyArray<Composed>, from: number, to: number): boolean => {
  const next = below(edges)
  const seen = new Set<number>()
  const open = [from]
  for (let product = open.pop(); product !== undefined; product = open.pop()) {
    if (product === to) return true
    if (seen.has(product)) continue
    seen.add(product)
    open.push(...next(product))
  }
  return false
}

/** Length of the longest path from `start`, in steps; the graph has no cycle. */
const longest = (next: (product: number) => ReadonlyArray<number>, start: number): number => {
  const known = new Map<number, number>()
  const from = (product: number): number => {
    const before = known.get(product)
    if (before !== undefined) return before
    known.set(product, 0)
    const steps = next(product).reduce((most, one) => Math.max(most, 1 + from(one)), 0)
    known.set(product, steps)
    return steps
  }
  return from(start)
}

/** Nesting depth, in steps, of the longest chain through `parent` once `component` is added to it. */
export const depthThrough = (edges: ReadonlyArray<Composed>, parent: number, component: number): number =>
  longest(above(edges), parent) + 1 + longest(below(edges), component)

/** A product update without changed columns: subscribers learn that accessories or components changed. */
export const productTouched = (product_id: number): NewEvent =>
  event(streamOf("product", product_id), "product.updated", { id: product_id })

export interface ComponentFacts {
  readonly product: ProductRow
  readonly siblings: ReadonlyArray<ComponentRow>
  /** All pairs of product and component above the product and below the component. */
  readonly edges: ReadonlyArray<Composed>
  readonly depth_max: number
}

/**
 * Marks the product as a kit. 422 `component_product_id` for a new component: duplicate, the product itself, a cycle,
 * or nested too deep, in this order.
 */
export const saveComponent = (
  next: ComponentRow,
  before: ComponentRow | undefined,
  facts: ComponentFacts
): SaveResult<typeof product_components> => {
  const refuse = (text: string) => reject("component_product_id", text)
  const { component_product_id: component, product_id: parent } = next
  const others = facts.siblings.filter((one) => one.id !== next.id)
  if (before === undefined) {
    if (others.some((one) => one.component_product_id === component))
      return refuse("This product is already a component of it.")
    if (component === parent) return refuse("A product cannot be a component of itself.")
    if (contains(facts.edges, component, parent))
      return refuse("The product is itself made of this one; a kit cannot contain itself.")
    if (depthThrough(facts.edges, parent, component) > facts.depth_max)
      return refuse(`Kits cannot be nested more than ${facts.depth_max} levels deep.`)
  }
  return Result.succeed({ also: [kitFlag(facts.product, true)] })
}

/** The product's kit flag after deleting a component: a product without components is no kit. */
export const deleteComponent = (
  row: ComponentRow,
  facts: ComponentFacts
): Result.Result<ReadonlyArray<NewEvent>, Rejection> =>
  Result.succeed([
    kitFlag(
      facts.product,
      facts.siblings.some((one) => one.id !== row.id)
    )
  ])

const kitFlag = (product: ProductRow, is_kit: boolean): NewEvent =>
  updatedEvents(products, product, { is_kit })[0] ?? productTouched(product.id)
