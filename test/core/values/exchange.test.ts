import { describe, expect, it } from "vitest"
import { convertMoney, findExchangeRate, inverseOf } from "../../../core/values/money.ts"

type ExchangeRate = Parameters<typeof findExchangeRate>[0][number]

let lastId = 0
const rate = (pair: string, value: string, over: Partial<ExchangeRate> = {}): ExchangeRate => ({
  id: ++lastId,
  source_currency_code: pair.slice(0, 3),
  target_currency_code: pair.slice(4),
  rate: value,
  inverse_rate: null,
  effective_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  ...over
})
const ask = (rates: ReadonlyArray<ExchangeRate>, from: string, to: string, at = "2026-06-01T00:00:00.000Z") =>
  findExchangeRate(rates, { from, to, base_currency: "GBP", at })

describe("the exchange rate at an instant", () => {
  it("is 1 between equal currencies", () => {
    expect(ask([], "GBP", "GBP")).toBe("1.00000000")
  })
  it("is the stored pair, even if the reverse is stored too", () => {
    expect(ask([rate("GBP/USD", "1.27"), rate("USD/GBP", "0.5")], "GBP", "USD")).toBe("1.27000000")
  })
  it("is the stored inverse of the reverse pair, or 1 divided by its rate and cut to 8 decimals", () => {
    expect(ask([rate("GBP/USD", "1.27", { inverse_rate: "0.79" })], "USD", "GBP")).toBe("0.79000000")
    expect(ask([rate("GBP/USD", "1.27")], "USD", "GBP")).toBe("0.78740157")
    expect(inverseOf("3")).toBe("0.33333333")
    expect(inverseOf("1.5")).toBe("0.66666666")
  })
  it("goes through the base currency if the pair is not stored", () => {
    expect(ask([rate("USD/GBP", "0.8"), rate("GBP/EUR", "1.17")], "USD", "EUR")).toBe("0.93600000")
    expect(ask([rate("USD/GBP", "0.33333333"), rate("GBP/EUR", "0.33333333")], "USD", "EUR")).toBe("0.11111110")
  })
  it("does not exist if no stored rates connect the two currencies", () => {
    expect(ask([rate("USD/GBP", "0.8")], "USD", "EUR")).toBeUndefined()
    expect(ask([], "USD", "GBP")).toBeUndefined()
  })
  it("is the newest rate in force, until just before it expires", () => {
    const rates = [
      rate("GBP/USD", "1.20"),
      rate("GBP/USD", "1.30", { effective_at: "2026-03-01T00:00:00.000Z", expires_at: "2026-05-01T00:00:00.000Z" })
    ]
    expect(ask(rates, "GBP", "USD", "2026-02-28T23:59:59.999Z")).toBe("1.20000000")
    expect(ask(rates, "GBP", "USD", "2026-03-01T00:00:00.000Z")).toBe("1.30000000")
    expect(ask(rates, "GBP", "USD", "2026-05-01T00:00:00.000Z")).toBe("1.20000000")
    expect(ask(rates, "GBP", "USD", "2025-12-31T23:59:59.999Z")).toBeUndefined()
  })
})

describe("converting money", () => {
  it.each<[number, string, string, string, number]>([
    [10_000, "GBP", "JPY", "190.5", 19_050],
    [1000, "JPY", "GBP", "0.00525", 525],
    [100, "GBP", "KWD", "0.3905", 391],
    [-100, "GBP", "KWD", "0.3905", -391],
    [1, "GBP", "USD", "1.27", 1]
  ])("turns %d minor units of %s to %s at %s into %d", (minor, from, to, at, expected) => {
    expect(convertMoney(minor, from, to, at)).toBe(expected)
  })
})
