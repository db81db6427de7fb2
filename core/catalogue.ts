/** Every slice and register: the one list that server, command line, sync and tests iterate. */
import { claimsSlice } from "./claims/schema.ts"
import { catalogueOf, type Catalogue, type Slice } from "./kernel/catalogue.ts"
import { productsSlice } from "./products/api.ts"
import { rateDefinitionsSlice } from "./rates/definitions.ts"
import { discountRulesSlice } from "./rates/discount-rules.ts"
import { rateEngineSlice } from "./rates/engine-api.ts"
import { productRatesSlice } from "./rates/product-rates.ts"
import { surchargeGroupsSlice } from "./rates/surcharge-groups.ts"
import { costGroups } from "./registers/cost-groups.ts"
import { countriesSlice } from "./registers/countries.ts"
import { currencySlices } from "./registers/currencies.ts"
import { productGroups } from "./registers/product-groups.ts"
import { revenueGroups } from "./registers/revenue-groups.ts"
import { taxSlices } from "./registers/tax.ts"
import { stock_levels, stock_transactions } from "./stock/schema.ts"
import { customFieldDefinitions, customFieldGroups } from "./custom-fields/definitions.ts"
import { listNames, listValues } from "./custom-fields/lists.ts"
import { listSeed } from "./custom-fields/seed.ts"
import { settingsSlice } from "./settings/api.ts"
import { rowProjection } from "./kernel/register.ts"
import { storeSeed, storesSlice } from "./stores/stores.ts"

export const slices: ReadonlyArray<Slice> = [
  claimsSlice,
  customFieldDefinitions,
  customFieldGroups,
  { ...listNames, seed: listSeed },
  listValues,
  { ...storesSlice, seed: storeSeed },
  productGroups,
  productsSlice,
  countriesSlice,
  ...currencySlices,
  ...taxSlices,
  revenueGroups,
  costGroups,
  rateDefinitionsSlice,
  productRatesSlice,
  rateEngineSlice,
  discountRulesSlice,
  surchargeGroupsSlice,
  { name: "stock", tables: [stock_levels, stock_transactions], projection: { ...rowProjection(stock_levels), ...rowProjection(stock_transactions) } }
]
export const catalogue: Catalogue = catalogueOf([
  ...slices,
  // Slices that look at all the others.
  settingsSlice(slices)
])
