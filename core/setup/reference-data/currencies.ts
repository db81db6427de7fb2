/**
 * Currencies (seeded; only `is_enabled` changes), exchange rates between them, and countries (rules/conventions 17,
 * rules/rates 9.5).
 */
import { Effect, Result } from "effect"
import { baseCurrency, boolean, command, createdEvent, crudResource, decided, decimal } from "../../kernel/index.ts"
import { integer, notFound, ok, reject, renderById, resource, Shown, Store, table, text } from "../../kernel/index.ts"
import { timestamp, updatedEvents, viewContext, viewManageAccess, visible_to_all } from "../../kernel/index.ts"
import type { Slice } from "../../kernel/index.ts"
import { countries as known_countries } from "../../values/country.ts"
import { currencies as known_currencies, EXCHANGE_RATE_SCALE, findExchangeRate, inverseOf } from "../../values/money.ts"

const currencyFields = {
  code: text({ max: 3, computed: true }),
  name: text({ computed: true, search: true }),
  symbol: text({ computed: true }),
  decimal_places: integer({ computed: true }),
  symbol_position: text({ max: 10, computed: true }),
  thousand_separator: text({ max: 5, computed: true }),
  decimal_separator: text({ max: 5, computed: true }),
  is_enabled: boolean({ computed: true })
}
export const currencies = table("currencies", currencyFields, {
  visibility: visible_to_all,
  entity: "currency",
  uniques: [{ columns: ["code"], field: "code", message: "The code has already been taken." }]
})

const currencyResource = resource({
  singular: "currency",
  table: currencies,
  called: { by: ["code", "name"] },
  filters: ["code", "name", "is_enabled"],
  sorts: ["code", "name"],
  order: ["code"]
})
const currencyReads = crudResource({
  resource: currencyResource,
  fields: currencyFields,
  path: "/api/v1/currencies",
  access: viewManageAccess("currencies", "static-data.view", null),
  only: ["list", "show"]
})
const currencySlice = (): Slice => ({
  ...currencyReads,
  endpoints: [...(currencyReads.endpoints ?? []), enable],
  seed: () => known_currencies.map((currency, index) => createdEvent(currencies, { id: index + 1, ...currency }))
})

/** Enables or disables a currency for documents, by code or by id. Existing rows in a disabled currency stay. */
const enable = command("PUT", "/api/v1/currencies/{id}", {
  answer: { currency: Shown.row(() => currencyResource) },
  name: "currencies.update",
  summary: "Enable or disable a currency",
  ability: "settings:write",
  permission: "settings.manage",
  fields: { is_enabled: boolean({ required: true, on_null: "reject" }) },
  mode: "create",
  streams: ({ id }) => [`currency:${id?.toUpperCase()}`],
  facts: ({ params, settings }) =>
    Effect.gen(function* () {
      const named = (params["id"] ?? "").toUpperCase()
      const by = /^\d{1,15}$/.test(named) ? { id: Number(named) } : { code: named }
      const [row] = yield* Store.find(currencies, by, { limit: 1 })
      if (row === undefined) return yield* notFound("No such currency.")
      return { row, is_base: row.code === baseCurrency(settings) }
    }),
  decide: ({ is_base, row }, { values }) => {
    const is_enabled = values.is_enabled ?? row.is_enabled
    if (is_base && !is_enabled)
      return reject("is_enabled", `${row.code} is the base currency, which is always enabled.`)
    return decided(row.id, updatedEvents(currencies, row, { is_enabled }))
  },
  respond: ({ id }, input) => Effect.map(renderById(currencyResource, id, input.query, viewContext(input)), ok)
})

const positive = { scale: EXCHANGE_RATE_SCALE, min: "0.00000001", max: "1000000000", strict: false } as const
const exchangeFields = {
  source_currency_code: text({ required: true, create_only: true, max: 3, format: "currency" }),
  target_currency_code: text({ required: true, create_only: true, max: 3, format: "currency" }),
  /** Units of the target currency for one unit of the source currency. */
  rate: decimal({ ...positive, required: true }),
  inverse_rate: decimal({ ...positive, nullable: true }),
  source: text({ max: 50, default: "manual" }),
  effective_at: timestamp({ nullable: true }),
  expires_at: timestamp({ nullable: true })
}
const exchange_rates = table("exchange_rates", exchangeFields, {
  visibility: { all_columns: ["settings.manage"] },
  indexes: [["source_currency_code", "target_currency_code", "effective_at"]]
})

const exchangeSlice = crudResource({
  resource: resource({
    singular: "exchange_rate",
    table: exchange_rates,
    filters: ["source_currency_code", "target_currency_code", "effective_at", "expires_at", "created_at", "updated_at"],
    sorts: [
      "source_currency_code",
      "target_currency_code",
      "rate",
      "effective_at",
      "expires_at",
      "created_at",
      "updated_at"
    ]
  }),
  fields: exchangeFields,
  path: "/api/v1/exchange_rates",
  access: viewManageAccess("exchange_rates", "settings.manage", "settings.manage"),
  rules: {
    save: ({ next, before, input, context }) => {
      if (next.source_currency_code === next.target_currency_code) {
        return reject("target_currency_code", "The two currencies must differ.")
      }
      const effective_at = next.effective_at ?? context.now
      if (next.expires_at !== null && next.expires_at <= effective_at) {
        return reject("expires_at", "The rate must expire after it takes effect.")
      }
      // Derives the inverse rate if there is none, or if the rate changed and none was sent.
      const follows =
        typeof input.values["inverse_rate"] !== "string" && (before === undefined || before.rate !== next.rate)
      return Result.succeed({
        set: { effective_at, ...(follows || next.inverse_rate === null ? { inverse_rate: inverseOf(next.rate) } : {}) }
      })
    }
  }
})

/** The rate from one currency to another at an instant, or undefined when nothing connects them. One query. */
export const exchangeRateAt = Effect.fnUntraced(function* (question: {
  readonly from: string
  readonly to: string
  readonly base_currency: string
  readonly at: string
}) {
  if (question.from === question.to) return findExchangeRate([], question)
  const codes = [question.from, question.to, question.base_currency]
  const rows = yield* Store.find(exchange_rates, { source_currency_code: codes, target_currency_code: codes })
  return findExchangeRate(
    rows.map((row) => ({ ...row, effective_at: row.effective_at ?? row.created_at })),
    question
  )
})

export const currencySlices: ReadonlyArray<Slice> = [currencySlice(), exchangeSlice]

// Countries (read only), referred to by addresses, stores and products (rules/conventions 17).

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

/** Countries that write the month or the year first in dates; all others write the day first. */
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
    access: viewManageAccess("countries", "static-data.view", null),
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
