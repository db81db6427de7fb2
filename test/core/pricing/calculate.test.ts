import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { calculateEndpoint } from "../../../core/pricing/calculate.ts"
import type { PricedRate } from "../../../core/pricing/resolution.ts"
import { noRateMethod } from "../../../core/pricing/engine.ts"
import { resolveLineRate } from "../../../core/pricing/line-rate.ts"

const rate = (over: Partial<PricedRate>): PricedRate => ({
  id: 1,
  rate_definition_id: 10,
  store_id: null,
  transaction_type: "rental",
  priority: 0,
  valid_from: null,
  valid_to: null,
  price: 5000,
  currency: "GBP",
  method: noRateMethod,
  ...over
})
const body = { quantity: 2, start: "2026-01-05T00:00:00Z", end: "2026-01-08T00:00:00Z" }
const ask = (over: JsonObject, rates: ReadonlyArray<PricedRate> = [rate({})]) =>
  calculateEndpoint({ ...body, ...over }, { rates, base_currency: "EUR", store_exists: (id) => id === 7 })
const errorKeys = (over: JsonObject) =>
  Result.match(ask(over), { onSuccess: () => "accepted", onFailure: (errors) => Object.keys(errors).join(" ") })

describe("calculate_rate", () => {
  it("prices with the winning rate and says which it was", () => {
    const answer = Result.getOrThrow(
      ask({ store_id: 7 }, [rate({}), rate({ id: 2, store_id: 7, price: 7000, rate_definition_id: 11 })])
    )
    expect(answer.meta).toEqual({ resolved: true, rate_definition_id: 11, product_rate_id: 2 })
    expect(answer.rate_breakdown).toMatchObject({
      currency: "GBP",
      unit_price: "70.00",
      units: 3,
      total: "420.00",
      quantity: 2
    })
  })

  it("answers in the base currency at zero when no rate matches", () => {
    const answer = Result.getOrThrow(ask({ transaction_type: "sale" }))
    expect(answer.meta.resolved).toBe(false)
    expect(answer.rate_breakdown).toMatchObject({ currency: "EUR", total: "0.00", units: 3 })
  })

  it.each<[JsonObject, string]>([
    [{}, "accepted"],
    [{ quantity: "2" }, "accepted"],
    [{ quantity: 0 }, "quantity"],
    [{ quantity: -1 }, "quantity"],
    [{ quantity: 1.5 }, "quantity"],
    [{ quantity: "many" }, "quantity"],
    [{ start: "soon" }, "start"],
    [{ start: 5 }, "start"],
    [{ end: "2026-01-05T00:00:00Z" }, "accepted"],
    [{ end: "2026-01-05T00:30:00+01:00" }, "end"],
    [{ start: "2026-01-05", end: "2026-01-08" }, "accepted"],
    [{ transaction_type: "service" }, "accepted"],
    [{ transaction_type: "Rental" }, "transaction_type"],
    [{ transaction_type: "sub_rental" }, "transaction_type"],
    [{ transaction_type: null, store_id: null }, "accepted"],
    [{ store_id: 8 }, "store_id"],
    [{ store_id: "x" }, "store_id"],
    [{ quantity: null, start: "", end: null, store_id: 8 }, "quantity start end store_id"]
  ])("%j: %s", (over, expected) => {
    expect(errorKeys(over)).toBe(expected)
  })

  it("refuses an hourly window beyond the limit under the field that is wrong", () => {
    const hourly = rate({ method: { ...noRateMethod, base_period: "hourly" } })
    expect(Object.keys(Result.merge(ask({ end: "2126-01-05T00:00:00Z" }, [hourly])))).toEqual(["end"])
  })
})

describe("the rate of a line", () => {
  const question = { transaction_type: "rental" as const, store_id: null, start: "2026-01-05T00:00:00Z" }
  const euros = { currency: "EUR", base_currency: "GBP", exchange_rate: "0.8500000000" }

  it("is one in the opportunity's own currency, even against a higher priority in the base currency", () => {
    const own = rate({ id: 1, currency: "EUR", price: 6000 })
    const base = rate({ id: 2, priority: 9 })
    expect(resolveLineRate([own, base], question, euros)).toMatchObject({ product_rate_id: 1, price: 6000 })
  })
  it("is otherwise converted from the base currency with the snapshot, the block's charge with it", () => {
    const method = {
      ...noRateMethod,
      calculation_strategy: "hybrid" as const,
      strategy_config: { fixed_charge: 20_000, fixed_period_units: 3 }
    }
    expect(resolveLineRate([rate({ price: 5000, method })], question, euros)).toEqual({
      product_rate_id: 1,
      rate_definition_id: 10,
      price: 5882,
      method: { ...method, strategy_config: { fixed_charge: 23_529, fixed_period_units: 3 } }
    })
  })
  it("allows for currencies of another scale", () => {
    const yen = { currency: "JPY", base_currency: "GBP", exchange_rate: "0.0052" }
    expect(resolveLineRate([rate({ price: 5200 })], question, yen)).toMatchObject({ price: 10_000 })
  })
  it("is never one in a third currency", () => {
    expect(resolveLineRate([rate({ currency: "USD" })], question, euros)).toBeNull()
    expect(
      resolveLineRate([rate({ currency: "USD" })], question, { ...euros, currency: "GBP", exchange_rate: "1" })
    ).toBeNull()
  })
})
