/** A product as its containers see it: the mode they have and the parts that stay in them. */
import type { StockedProduct } from "../availability/book.ts"
import type { ProductRow } from "../products/schema.ts"
import type { ComponentRow } from "./schema.ts"

export const caseWith = (
  product: Pick<ProductRow, "container_availability_mode">, components: ReadonlyArray<ComponentRow>
): Pick<StockedProduct, "container_mode" | "parts"> => ({
  container_mode: product.container_availability_mode,
  parts: components.map((one) => ({ component_product_id: one.component_product_id, quantity: Number(one.quantity), binding: one.binding }))
})
