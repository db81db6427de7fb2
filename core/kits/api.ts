/** How accessories and components are asked for (spec 4.14). */
import type { Slice } from "../kernel/catalogue.ts"
import { rowProjection } from "../kernel/register.ts"
import { product_accessories, product_components } from "./schema.ts"

export const kitsSlice: Slice = {
  name: "kits",
  tables: [product_accessories, product_components],
  projection: { ...rowProjection(product_accessories), ...rowProjection(product_components) }
}
