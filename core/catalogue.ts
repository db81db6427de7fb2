/** Every slice and register: the one list that server, command line, sync and tests iterate. */
import { claimsSlice } from "./claims/schema.ts"
import { catalogueOf, type Catalogue, type Slice } from "./kernel/catalogue.ts"
import { productsSlice } from "./products/api.ts"
import { productGroups } from "./registers/product-groups.ts"
import { stock_levels, stock_transactions } from "./stock/schema.ts"
import { custom_fields, list_values } from "./kernel/custom-field.ts"
import { settingsSlice } from "./settings/api.ts"
import { rowProjection } from "./kernel/register.ts"
import { storeSeed, storesSlice } from "./stores/stores.ts"

export const slices: ReadonlyArray<Slice> = [
  claimsSlice,
  { name: "custom_fields", tables: [custom_fields, list_values] },
  { ...storesSlice, seed: storeSeed },
  productGroups,
  productsSlice,
  { name: "stock", tables: [stock_levels, stock_transactions], projection: { ...rowProjection(stock_levels), ...rowProjection(stock_transactions) } }
]
export const catalogue: Catalogue = catalogueOf([
  ...slices,
  // Slices that look at all the others.
  settingsSlice(slices)
])
