/** A product as its containers see it: the mode they have and the parts that stay in them. */
import type { ProductRow } from "../products/schema.ts"
import type { ComponentRow } from "./schema.ts"

export type ContainerMode = "kit" | "hybrid" | "transport"

/** A part of a kit: `pool` is drawn from general stock, `fixed` is packed in its container. Quantity up to 4 decimals. */
export interface KitPart {
  readonly component_product_id: number
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}

export interface CaseProduct {
  readonly container_mode: ContainerMode | null
  readonly parts: ReadonlyArray<KitPart>
}

export const caseOf = (
  product: Pick<ProductRow, "container_availability_mode">,
  components: ReadonlyArray<ComponentRow>
): CaseProduct => ({
  container_mode: product.container_availability_mode,
  parts: components.map((one) => ({
    component_product_id: one.component_product_id,
    quantity: Number(one.quantity),
    binding: one.binding
  }))
})
