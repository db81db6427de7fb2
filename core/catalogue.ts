/** Every slice and register: the one list that server, command line, sync and tests iterate. */
import { availabilitySlice } from "./availability/api.ts"
import { activitiesSlice } from "./activities/api.ts"
import { attachmentsSlice } from "./attachments/api.ts"
import { activityLogSlice } from "./activity-log/api.ts"
import { billingSlice } from "./billing/api.ts"
import { calendarSlice } from "./calendar/api.ts"
import { documentsSlice } from "./documents/api.ts"
import { demandsSlice } from "./demands/events.ts"
import { catalogueOf, type Catalogue, type Slice } from "./kernel/catalogue.ts"
import { kitsSlice } from "./kits/api.ts"
import { opportunitiesSlice } from "./opportunities/api.ts"
import { personalDataSlice } from "./personal-data/api.ts"
import { notificationsSlice } from "./notifications/api.ts"
import { procurementSlice } from "./procurement/api.ts"
import { productMergeSlice } from "./product-merge/api.ts"
import { productsSlice } from "./products/api.ts"
import { importsSlice } from "./imports/imports.ts"
import { rateDefinitionsSlice } from "./rates/definitions.ts"
import { discountRulesSlice } from "./rates/discount-rules.ts"
import { rateEngineSlice } from "./rates/engine-api.ts"
import { productRatesSlice } from "./rates/product-rates.ts"
import { surchargeGroupsSlice } from "./rates/surcharge-groups.ts"
import { containersSlice } from "./containers/api.ts"
import { costGroups } from "./reference-data/cost-groups.ts"
import { countriesSlice } from "./reference-data/countries.ts"
import { currencySlices } from "./reference-data/currencies.ts"
import { productGroups } from "./products/groups.ts"
import { revenueGroups } from "./reference-data/revenue-groups.ts"
import { taxSlices } from "./reference-data/tax.ts"
import { scanningSlice } from "./scanning/api.ts"
import { stockSlice } from "./stock/api.ts"
import { customFieldDefinitions, customFieldGroups } from "./custom-fields/definitions.ts"
import { listNames, listValues } from "./custom-fields/lists.ts"
import { listSeed } from "./custom-fields/seed.ts"
import { memberSlices } from "./members/api.ts"
import { searchSlice } from "./search/api.ts"
import { settingsSlice } from "./settings/api.ts"
import { storeSeed, storesSlice } from "./stores/stores.ts"
import { todaySlice } from "./today/api.ts"
import { userSlices } from "./users/api.ts"
import { workshopSlice } from "./workshop/api.ts"
import { vehiclesSlice } from "./vehicles/vehicles.ts"
import { viewsSlice } from "./views/api.ts"

export const slices: ReadonlyArray<Slice> = [
  demandsSlice,
  settingsSlice,
  viewsSlice,
  customFieldDefinitions,
  customFieldGroups,
  { ...listNames, seed: listSeed },
  listValues,
  ...memberSlices,
  ...userSlices,
  personalDataSlice,
  activitiesSlice,
  calendarSlice,
  activityLogSlice,
  { ...storesSlice, seed: storeSeed },
  vehiclesSlice,
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
  importsSlice,
  stockSlice,
  kitsSlice,
  containersSlice,
  productMergeSlice,
  availabilitySlice,
  opportunitiesSlice,
  scanningSlice,
  workshopSlice,
  billingSlice,
  procurementSlice,
  documentsSlice,
  attachmentsSlice,
  notificationsSlice,
  searchSlice,
  todaySlice
]
export const catalogue: Catalogue = catalogueOf(slices)
