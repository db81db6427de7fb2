/** How answers show product rates (rules/rates 6.2). */
import type { JsonObject } from "../kernel/json.ts"
import { type Resource, resource } from "../kernel/resource.ts"
import { rateTransactionTypes } from "../pricing/strategies.ts"
import { stores } from "../stores/stores.ts"
import { product_rates, type ProductRateRow, rate_definitions } from "./schema.ts"
import { text } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

const common = {
  singular: "product_rate",
  table: product_rates,
  filters: [
    "rate_definition_id",
    "store_id",
    "transaction_type",
    "currency",
    "priority",
    "valid_from",
    "valid_to",
    "created_at",
    "updated_at"
  ],
  sorts: ["transaction_type", "price", "priority", "valid_from", "valid_to", "created_at", "updated_at"],
  includes: {
    store: { kind: "brief", via: "store_id", table: stores },
    rate_definition: { kind: "always", key: "rate_definition" }
  }
} as const

const withNames = (
  { id, product_id, rate_definition_id, store_id, transaction_type, ...rest }: JsonObject,
  row: ProductRateRow
): JsonObject => ({
  id: id ?? null,
  product_id: product_id ?? null,
  rate_definition_id: rate_definition_id ?? null,
  store_id: store_id ?? null,
  transaction_type: transaction_type ?? null,
  transaction_type_name: rateTransactionTypes[row.transaction_type],
  ...rest
})

const names = { transaction_type_name: text() }

/** For lists and single rates: with the definition. */
export const productRateResource: Resource<typeof product_rates> = resource({
  ...common,
  shows: { ...names, rate_definition: Shown.brief() },
  lookups: { definition: { via: "rate_definition_id", table: rate_definitions } },
  view: (base, row, { definition }) => ({
    ...withNames(base, row),
    rate_definition: definition === undefined ? null : { id: row.rate_definition_id, name: String(definition["name"]) }
  })
})

/** For answers to writes: without the definition. */
export const productRateWithoutMetadata: Resource<typeof product_rates> = resource({
  ...common,
  title: "WrittenProductRate",
  shows: { ...names, rate_definition: Shown.nothing() },
  view: (base, row) => ({ ...withNames(base, row), rate_definition: null })
})
