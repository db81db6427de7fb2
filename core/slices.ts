/** All slices of core, in the order of the catalogue; the server adds slices of its own. */
import { availabilitySlice } from "./orders/availability/api/api.ts"
import { activitiesSlice } from "./office/activities/api.ts"
import { attachmentsSlice } from "./office/attachments/api.ts"
import { activityLogSlice } from "./people/activity-log.ts"
import { billingSlice } from "./billing/api.ts"
import { calendarSlice } from "./overview/calendar/api.ts"
import { documentsSlice } from "./documents/api.ts"
import { demands, demandsSlice } from "./orders/demands/schema.ts"
import type { Slice } from "./kernel/index.ts"
import { kitsSlice } from "./products/kits/api.ts"
import { opportunitiesSlice } from "./orders/opportunities/api.ts"
import { personalDataSlice } from "./people/personal-data/erase.ts"
import { notificationsSlice } from "./office/notifications/api.ts"
import { procurementSlice } from "./purchasing/api.ts"
import { productMergeSlice } from "./warehouse/product-merge/api.ts"
import { productGroups, productsSlice } from "./products/products/api.ts"
import { importsSlice } from "./imports/imports.ts"
import { discountRulesSlice, surchargeGroupsSlice } from "./products/rates/discounts-surcharges.ts"
import { rateEngineSlice } from "./products/rates/engine-api.ts"
import { productRatesSlice, rateDefinitionsSlice } from "./products/rates/product-rates.ts"
import { containersSlice } from "./warehouse/containers/api.ts"
import { countriesSlice, currencySlices } from "./setup/reference-data/currencies.ts"
import { costGroups, revenueGroups, taxSlices } from "./setup/reference-data/tax.ts"
import { inspectionsSlice } from "./warehouse/inspections/api.ts"
import { labelsSlice } from "./warehouse/labels/api.ts"
import { scanningSlice } from "./warehouse/scanning/api.ts"
import { stockSlice } from "./products/stock/api.ts"
import { customFieldDefinitions, customFieldGroups } from "./setup/custom-fields/definitions.ts"
import { listNames, listValues } from "./setup/custom-fields/lists.ts"
import { listSeed } from "./setup/custom-fields/schema.ts"
import { memberSlices } from "./people/members/api.ts"
import { searchSlice } from "./overview/search/api.ts"
import { settingsSlice } from "./setup/settings/api.ts"
import { storeSeed, storesSlice } from "./setup/stores.ts"
import { todaySlice } from "./overview/today/api.ts"
import { userSlices } from "./people/users/api.ts"
import { stocktakesSlice } from "./warehouse/stocktakes/api.ts"
import { transfersSlice } from "./warehouse/transfers/api.ts"
import { workshopSlice } from "./warehouse/workshop/api.ts"
import { vehiclesSlice } from "./products/vehicles.ts"
import { viewsSlice } from "./setup/views/api.ts"

export const slices: ReadonlyArray<Slice> = [
  demandsSlice,
  settingsSlice(demands),
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
  labelsSlice,
  inspectionsSlice,
  workshopSlice,
  stocktakesSlice,
  transfersSlice,
  billingSlice,
  procurementSlice,
  documentsSlice,
  attachmentsSlice,
  notificationsSlice,
  searchSlice,
  todaySlice
]
