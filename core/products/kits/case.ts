/** A product as a case: its mode and its parts, which decide what packing reserves (rules/availability 8.5). */
import type { ProductRow } from "../products/schema.ts"
import type { ComponentRow } from "./schema.ts"

export type ContainerMode = "kit" | "hybrid" | "transport"

/** A part of a kit: `pool` comes from general stock, `fixed` is packed in the case. Quantity up to 4 decimals. */
export interface KitPart {
  readonly component_product_id: number
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}

export interface CaseProduct {
  readonly container_mode: ContainerMode | null
  readonly parts: ReadonlyArray<KitPart>
}

/** A row of parts as rules read it. */
export const kitPartOf = ({
  binding,
  component_product_id,
  quantity
}: Pick<ComponentRow, "component_product_id" | "quantity" | "binding">): KitPart => ({
  component_product_id,
  quantity: Number(quantity),
  binding
})

export const caseOf = (
  product: Pick<ProductRow, "container_availability_mode">,
  components: ReadonlyArray<ComponentRow>
): CaseProduct => ({ container_mode: product.container_availability_mode, parts: components.map(kitPartOf) })
