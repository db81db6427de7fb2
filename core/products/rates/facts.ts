/** Reads the rates that pricing chooses from, for many products at once. */
import { Effect } from "effect"
import type { Failure } from "../../kernel/endpoints/endpoint.ts"
import { bindings, chunked, columnList, quote } from "../../kernel/store/statement.ts"
import { Store } from "../../kernel/store/store.ts"
import type { PricedRate } from "../../pricing/pricing/resolution.ts"
import { parseMoment, plainDateOf } from "../../values/moment.ts"
import { product_rates, rate_definitions } from "./schema.ts"

interface RateFactsOptions {
  /** Rates of this store and all-stores rates; without a store only the latter. */
  readonly store_id: number | null
  /** Only rates valid on the day this moment names in its own offset; absent or null: of any date. */
  readonly start?: string | null
}
/** Candidate rates by product id; products without any have an empty list. */
export type RateFacts = ReadonlyMap<number, ReadonlyArray<PricedRate>>

/**
 * The candidates `resolveProductRate` and `resolveLineRate` choose from, with the method of their definitions, for any
 * number of products in two queries (of 5,000 products each).
 */
export const rateFacts = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  wanted: RateFactsOptions
): Effect.fn.Return<RateFacts, Failure, Store> {
  const store = yield* Store
  const distinct = [...new Set(product_ids)]
  const moment = wanted.start === undefined || wanted.start === null ? undefined : parseMoment(wanted.start)
  const day = moment === undefined ? undefined : plainDateOf(moment)
  const found = yield* Effect.forEach(chunked(distinct, 5_000), (some) => {
    const bound = bindings(store.dialect)
    const products = some.map(bound.bind).join(", ")
    const place =
      wanted.store_id === null ? "store_id is null" : `(store_id is null or store_id = ${bound.bind(wanted.store_id)})`
    const valid =
      day === undefined
        ? ""
        : ` and (valid_from is null or valid_from <= ${bound.bind(day)}) and (valid_to is null or valid_to >= ${bound.bind(day)})`
    return store.run(
      `select ${columnList(product_rates)} from ${quote(product_rates.name)} where product_id in (${products}) and ${place}${valid}`,
      bound.values
    )
  })
  const rates = found.flat().map((row) => store.decode(product_rates, row))
  const methods = new Map(
    (yield* store.getMany(
      rate_definitions,
      rates.map((rate) => rate.rate_definition_id)
    )).map((row) => [row.id, row])
  )
  const byProduct = new Map<number, Array<PricedRate>>(distinct.map((id) => [id, []]))
  for (const rate of rates) {
    const method = methods.get(rate.rate_definition_id)
    if (method !== undefined) byProduct.get(rate.product_id)?.push({ ...rate, method, definition_name: method.name })
  }
  return byProduct
})
