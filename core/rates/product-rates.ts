/** Endpoints of product rates (rules/rates 5, 6.2). */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { accessOf, crudResource } from "../kernel/crud-resource.ts"
import { type FieldErrors, invalid } from "../kernel/rejection.ts"
import { Store } from "../kernel/store/store.ts"
import { overlappingRateIds } from "../pricing/resolution.ts"
import { products } from "../products/schema.ts"
import { scaleOf } from "../values/currency.ts"
import { productRateResource, productRateWithoutMetadata } from "./product-rate-resource.ts"
import { product_rates, productRateFields, type ProductRateRow } from "./schema.ts"
import { integer, list } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

/** Errors of a rate as it would be stored; undefined where there are none. */
export const productRateErrors = (
  next: Pick<ProductRateRow, "valid_from" | "valid_to" | "currency">,
  before: ProductRateRow | undefined,
  price_sent: boolean
): FieldErrors | undefined => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (next.valid_from !== null && next.valid_to !== null && next.valid_to < next.valid_from) {
    errors["valid_to"] = ["The valid to must be a date after or equal to valid from."]
  }
  if (before !== undefined && !price_sent && scaleOf(next.currency) !== scaleOf(before.currency)) {
    errors["price"] = ["Send the price too: it would mean another amount in a currency with other decimals."]
  }
  return Object.keys(errors).length > 0 ? errors : undefined
}

const shared = {
  fields: productRateFields,
  path: "/api/v1/products/{product}/rates",
  name: "product_rates",
  access: accessOf("rates"),
  parent: { param: "product", table: products, column: "product_id" }
} as const

const reads = crudResource({ ...shared, resource: productRateResource, only: ["list", "show"] })
const writes = crudResource({
  ...shared,
  resource: productRateWithoutMetadata,
  only: ["create", "update", "delete"],
  // Locked, so that the definition is not deleted meanwhile.
  streams: (params, body) => [
    ...(params["id"] === undefined ? [] : [`product_rate:${params["id"]}`]),
    ...(body["rate_definition_id"] === undefined ? [] : [`rate_definition:${String(body["rate_definition_id"])}`])
  ],
  rules: {
    save: ({ next, before, input }) => {
      const errors = productRateErrors(next, before, input.values["price"] !== undefined)
      return errors === undefined ? Result.succeed({}) : Result.fail(invalid(errors))
    },
    meta_shows: Shown.keys({ overlapping_rate_ids: list(integer()) }),
    meta: (row) =>
      Effect.gen(function* () {
        const others = yield* (yield* Store).find(product_rates, {
          product_id: row.product_id,
          transaction_type: row.transaction_type,
          priority: row.priority
        })
        return { overlapping_rate_ids: overlappingRateIds(row, others) }
      })
  }
})

export const productRatesSlice: Slice = {
  ...reads,
  includes: { products: { rates: { kind: "many", via: "product_id", resource: () => productRateResource } } },
  endpoints: [...(reads.endpoints ?? []), ...(writes.endpoints ?? [])]
}
