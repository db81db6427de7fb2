/** Countries (read only), referred to by addresses, stores and products (rules/conventions 17). */
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { boolean, text } from "../../kernel/fields/field.ts"
import { createdEvent, crudResource } from "../../kernel/endpoints/crud-resource.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { visible_to_all } from "../../kernel/tables/visibility.ts"
import { table } from "../../kernel/tables/table.ts"
import { countries as known_countries } from "../../values/country.ts"

const fields = {
  code: text({ max: 2, computed: true }),
  code3: text({ max: 3, computed: true }),
  name: text({ computed: true, search: true }),
  currency_code: text({ max: 3, computed: true, nullable: true }),
  phone_prefix: text({ max: 10, computed: true }),
  default_date_format: text({ max: 10, computed: true }),
  default_time_format: text({ max: 10, computed: true }),
  is_active: boolean({ computed: true, default: true })
}
export const countries = table("countries", fields, {
  entity: "country",
  visibility: visible_to_all,
  uniques: [{ columns: ["code"], field: "code", message: "The code has already been taken." }]
})

/** Date formats of countries that write the month or the year first; all others write the day first. */
const monthFirst = new Set(["US", "AS", "GU", "MP", "PR", "UM", "VI", "FM", "MH", "PW", "PH"])
const yearFirst = new Set(["CA", "CN", "HU", "IR", "JP", "KP", "KR", "LT", "MN", "MO", "SE", "TW", "ZA"])
const twelveHours = new Set([
  ...monthFirst,
  "AU",
  "BD",
  "CA",
  "CO",
  "EG",
  "IN",
  "JO",
  "MY",
  "NZ",
  "PK",
  "SA",
  "SV",
  "HN",
  "NI"
])

export const countriesSlice: Slice = {
  ...crudResource({
    resource: resource({
      singular: "country",
      table: countries,
      called: { by: ["code", "name"] },
      filters: ["code", "code3", "name", "currency_code", "is_active"],
      sorts: ["code", "name"],
      order: ["name"]
    }),
    fields,
    path: "/api/v1/countries",
    access: { read: "countries:read", write: null, view: "static-data.view", create: null, edit: null, delete: null },
    only: ["list", "show"]
  }),
  seed: () =>
    known_countries.map((country, index) =>
      createdEvent(countries, {
        id: index + 1,
        ...country,
        is_active: true,
        default_date_format: monthFirst.has(country.code)
          ? "MM/DD/YYYY"
          : yearFirst.has(country.code)
            ? "YYYY-MM-DD"
            : "DD/MM/YYYY",
        default_time_format: twelveHours.has(country.code) ? "hh:mm A" : "HH:mm"
      })
    )
}
