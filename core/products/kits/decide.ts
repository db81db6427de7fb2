/** Rules of accessories and components (rules/availability 7.2 and 7.3). */
import { Result } from "effect"
import { event, type NewEvent, streamOf } from "../../kernel/events/event-type.ts"
import { type SaveResult, updatedEvent } from "../../kernel/endpoints/crud-resource.ts"
import { reject, type Rejection } from "../../kernel/fields/rejection.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { type Composed, contains, depthThrough } from "./graph.ts"
import type { AccessoryRow, ComponentRow, product_accessories, product_components } from "./schema.ts"

/** An update without changes: followers of the product's stream learn that its accessories or components changed. */
export const productTouched = (product_id: number): NewEvent =>
  event(streamOf("product", product_id), "product.updated", { id: product_id })

/** 422 `accessory_product_id`: the product itself, or one that is its accessory already. */
export const saveAccessory = (
  next: AccessoryRow,
  siblings: ReadonlyArray<AccessoryRow>
): SaveResult<typeof product_accessories> =>
  next.accessory_product_id === next.product_id
    ? reject("accessory_product_id", "A product cannot be its own accessory.")
    : siblings.some((one) => one.id !== next.id && one.accessory_product_id === next.accessory_product_id)
      ? reject("accessory_product_id", "This product is already an accessory of it.")
      : Result.succeed({ also: [productTouched(next.product_id)] })

export interface ComponentFacts {
  readonly product: ProductRow
  readonly siblings: ReadonlyArray<ComponentRow>
  /** Every step of composition above the product and below the component. */
  readonly edges: ReadonlyArray<Composed>
  readonly depth_max: number
}

/** 422 `component_product_id`: a duplicate, the product itself, a cycle, too deep, in this order. */
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

/** Removing the last component makes the product no kit. */
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
  updatedEvent(products, product, { is_kit }) ?? productTouched(product.id)
