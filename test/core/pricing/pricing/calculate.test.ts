import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { calculateEndpoint } from "../../../../core/pricing/explain/calculate.ts"
import { noRateMethod, overlappingRateIds, type PricedRate } from "../../../../core/pricing/pricing/engine.ts"
import { resolveLineRate } from "../../../../core/pricing/pricing/discounts.ts"
import { pricedRate as rate } from "./builders.ts"

const body = { quantity: 2, start: "2026-01-05T00:00:00Z", end: "2026-01-08T00:00:00Z" }
const ask = (over: JsonObject, rates: ReadonlyArray<PricedRate> = [rate({})]) =>
  calculateEndpoint({ ...body, ...over }, { rates, base_currency: "EUR", store_exists: (id) => id === 7 })
const errorKeys = (over: JsonObject) =>
  Result.match(ask(over), { onSuccess: () => "accepted", onFailure: (errors) => Object.keys(errors).join(" ") })

describe("calculate_rate", () => {
  it("prices with the winning rate and names it", () => {
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

  it("returns zero in the base currency if no rate matches, and in the rate's currency for a free rate", () => {
    const answer = Result.getOrThrow(ask({ transaction_type: "sale" }))
    expect(answer.meta.resolved).toBe(false)
    expect(answer.rate_breakdown).toMatchObject({ currency: "EUR", total: "0.00", units: 3 })
    const free = Result.getOrThrow(ask({}, [rate({ currency: "JPY", price: 0, priority: 1 }), rate({ id: 2 })]))
    expect([free.meta.resolved, free.rate_breakdown]).toMatchObject([true, { currency: "JPY", unit_price: "0" }])
  })

  it.each<[JsonObject, string]>([
    [{}, "accepted"],
    [{ quantity: "2" }, "accepted"],
    [{ quantity: 0 }, "quantity"],
    [{ quantity: -1 }, "quantity"],
    [{ quantity: 1.5 }, "quantity"],
    [{ quantity: "many" }, "quantity"],
    [{ quantity: "1e3" }, "quantity"],
    [{ quantity: "9".repeat(40) }, "quantity"],
    [{ quantity: 2_147_483_648 }, "quantity"],
    [{ start: "2026-02-30" }, "start"],
    [{ transaction_type: "theft" }, "transaction_type"],
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
  ])("accepts %j or names its invalid fields: %s", (over, expected) => {
    expect(errorKeys(over)).toBe(expected)
  })

  it("rejects an hourly window beyond the limit, naming the end", () => {
    const hourly = rate({ method: { ...noRateMethod, base_period: "hourly" } })
    expect(Object.keys(Result.merge(ask({ end: "2126-01-05T00:00:00Z" }, [hourly])))).toEqual(["end"])
  })
})

describe("the winning rate", () => {
  const day = "2026-06-15"
  // Rates from oldest to newest with the ids 1, 2…; the request; the id of the winning rate.
  it.each<[string, ReadonlyArray<Partial<PricedRate>>, JsonObject, number | null]>([
    ["a negative priority yields to zero", [{ priority: -1 }, {}, { priority: -5 }], {}, 2],
    ["a negative one of the store yields to all stores' zero", [{}, { store_id: 7, priority: -1 }], { store_id: 7 }, 1],
    ["only negative priorities: the nearest to zero", [{ priority: -1 }, { priority: -2 }], {}, 1],
    ["the newest of the store's ties", [{ store_id: 7 }, { store_id: 7 }, {}], { store_id: 7 }, 2],
    ["the store's before a newer one of all stores", [{ store_id: 7 }, {}], { store_id: 7 }, 1],
    ["another store's never", [{ store_id: 8, priority: 9 }, {}], { store_id: 7 }, 2],
    ["only another store's: none", [{ store_id: 8 }], { store_id: 7 }, null],
    ["only the store's, no store asked for: none", [{ store_id: 7 }], {}, null],
    ["a past one of higher priority lets the next through", [{ priority: 9, valid_to: "2026-06-14" }, {}], {}, 2],
    ["a coming one of higher priority lets the next through", [{ priority: 9, valid_from: "2026-06-16" }, {}], {}, 2],
    ["until today, in its last minute", [{ valid_to: day }], { start: "2026-06-15T23:59:59Z" }, 1],
    ["from today, at midnight", [{ valid_from: day }], { start: "2026-06-15T00:00:00Z" }, 1],
    ["from today, a second before midnight", [{ valid_from: day }], { start: "2026-06-14T23:59:59Z" }, null],
    ["one day only", [{ valid_from: day, valid_to: day }], {}, 1],
    ["the leap day", [{ valid_from: "2028-02-29", valid_to: "2028-02-29" }], { start: "2028-02-29T12:00:00Z" }, 1],
    ["the day of the offset sent, in the west", [{ valid_to: day }], { start: "2026-06-15T23:30:00-02:00" }, 1],
    [
      "the day of the offset sent, in the east",
      [{ valid_from: "2026-06-16" }],
      { start: "2026-06-16T00:30:00+02:00" },
      1
    ],
    ["rental unless a type is sent", [{}, { transaction_type: "sale" }, { transaction_type: "service" }], {}, 1],
    ["sale if it is sent", [{}, { transaction_type: "sale" }, { priority: 1 }], { transaction_type: "sale" }, 2],
    [
      "service if it is sent",
      [{ priority: 9 }, { transaction_type: "service" }, { transaction_type: "sale" }],
      { transaction_type: "service" },
      2
    ],
    ["no falling back between types", [{}, { transaction_type: "sale" }], { transaction_type: "service" }, null],
    [
      "priority before the store, store before age",
      [{ priority: 2 }, { priority: 2, store_id: 7 }, { priority: 2 }, { priority: 1, store_id: 7 }],
      { store_id: 7 },
      2
    ]
  ])("is chosen by type, dates, store, priority and age: %s", (_, rates, question, id) => {
    const answer = ask(
      { start: "2026-06-15T10:00:00Z", end: "2028-03-01T00:00:00Z", ...question },
      rates.map((over, at) => rate({ id: at + 1, ...over }))
    )
    expect(Result.getOrThrow(answer).meta).toEqual({
      resolved: id !== null,
      rate_definition_id: id === null ? null : 10,
      product_rate_id: id
    })
  })
})

describe("two rates of a product", () => {
  it.each<[string, Partial<PricedRate>, Partial<PricedRate>, boolean]>([
    ["same store, open windows", { store_id: 7 }, { store_id: 7 }, true],
    ["another type", {}, { transaction_type: "sale" }, false],
    ["another priority", { priority: 1 }, { priority: 2 }, false],
    ["a negative priority, the same", { priority: -1 }, { priority: -1 }, true],
    ["another currency", { currency: "GBP" }, { currency: "EUR" }, true],
    ["open start, meeting on one day", { valid_to: "2026-06-30" }, { valid_from: "2026-06-30" }, true],
    ["open start, a day apart", { valid_to: "2026-06-30" }, { valid_from: "2026-07-01" }, false],
    [
      "one within the other",
      { valid_from: "2026-01-01", valid_to: "2026-12-31" },
      { valid_from: "2026-06-01", valid_to: "2026-06-02" },
      true
    ],
    [
      "open end, later window",
      { valid_from: "2026-01-01" },
      { valid_from: "2030-01-01", valid_to: "2030-01-01" },
      true
    ],
    ["open end, earlier window", { valid_from: "2026-01-02" }, { valid_to: "2026-01-01" }, false]
  ])("overlap by type, store, priority and dates: %s (%o and %o: %s)", (_, existing, saved, overlap) => {
    const [one, two] = [rate(existing), rate({ id: 2, ...saved })]
    expect(overlappingRateIds(two, [one, two])).toEqual(overlap ? [1] : [])
    expect(overlappingRateIds(one, [one, two])).toEqual(overlap ? [2] : [])
  })
})

describe("the rate of an opportunity's line", () => {
  const question = { transaction_type: "rental" as const, store_id: null, start: "2026-01-05T00:00:00Z" }
  const euros = { currency: "EUR", base_currency: "GBP", exchange_rate: "0.8500000000" }

  it("is one in the opportunity's own currency, even against a higher priority in the base currency", () => {
    const own = rate({ id: 1, currency: "EUR", price: 6000 })
    const base = rate({ id: 2, priority: 9 })
    expect(resolveLineRate([own, base], question, euros)).toMatchObject({ product_rate_id: 1, price: 6000 })
  })
  it("is converted from the base currency if none is in the opportunity's own, with the block charge of a hybrid rate", () => {
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
  it("is converted between currencies of different decimal places", () => {
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
