/** The catalogue of core's tables, events and endpoints; the server adds slices of its own. */
import { availabilitySlice } from "./orders/availability/api/api.ts"
import { demands } from "./orders/demands/schema.ts"
import { type Catalogue, catalogueOf, type Slice } from "./kernel/index.ts"
import { memberSlices } from "./people/members/api.ts"
import { productGroups, productsSlice } from "./products/products/api.ts"
import { productRatesSlice } from "./products/rates/product-rates.ts"
import { stockSlice } from "./products/stock/api.ts"
import { settingsSlice } from "./setup/settings/api.ts"
import { storesSlice } from "./setup/stores.ts"
import { slices } from "./slices.ts"
import { itemAt } from "./values/text.ts"

/** Rows of a resource that is not loaded yet; rendering any loads all slices. */
const rowsOf = (plural: string, via: string) =>
  ({
    kind: "many",
    via,
    resource: () =>
      itemAt(
        catalogue.whole.resources.filter((one) => one.plural === plural),
        0
      )
  }) as const
/** Includes that other slices add to resources of the first ones: an answer has their keys also without its rows. */
const of_others: Slice = {
  name: "of_others",
  includes: {
    products: { accessories: rowsOf("accessories", "product_id"), components: rowsOf("components", "product_id") },
    stock_levels: { service_records: rowsOf("service_records", "stock_level_id") }
  }
}
/** The first slices, which every command loads: those of the most frequent reads. */
const part = catalogueOf([
  settingsSlice(demands),
  ...memberSlices,
  storesSlice,
  productGroups,
  productsSlice,
  productRatesSlice,
  stockSlice,
  of_others,
  availabilitySlice
])
const part_tables = new Set(part.tables.map(({ name }) => name))
let composed: Catalogue | undefined
const all = (): Catalogue => (composed ??= catalogueOf(slices))

/**
 * Reads are answered by the slices that are `loaded`, at first those above. All other properties are of all slices,
 * which are composed then; the built program loads their file only then (`loaded_later` in `build.mjs`).
 */
export const catalogue: Catalogue = {
  get loaded() {
    return composed ?? part
  },
  get whole() {
    return all()
  },
  table: (name) => (part_tables.has(name) ? part : all()).table(name),
  endpoint: (name) => all().endpoint(name),
  composed: (resource) => catalogue.loaded.composed(resource),
  pathsOf: (endpoint) => all().pathsOf(endpoint),
  get slices() {
    return all().slices
  },
  get tables() {
    return all().tables
  },
  get server_tables() {
    return all().server_tables
  },
  get events() {
    return all().events
  },
  get projection() {
    return all().projection
  },
  get endpoints() {
    return all().endpoints
  },
  get resources() {
    return all().resources
  },
  get settings() {
    return all().settings
  },
  get permissions() {
    return all().permissions
  },
  get scrubs() {
    return all().scrubs
  },
  get reactions() {
    return all().reactions
  },
  get references() {
    return all().references
  }
}
