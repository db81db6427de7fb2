/** Amounts and dates are written by the rules of their language. */
import { describe, expect, it } from "vitest"
import {
  dateText,
  momentText,
  moneyText,
  numberText,
  percentText,
  quantityText
} from "../../../../core/pricing/print/format.ts"

const shown = (text: string): string => text.replaceAll("\u00a0", "_")

describe("an amount", () => {
  it.each([
    ["1234567.50", "EUR", "en", "€1,234,567.50"],
    ["1234567.50", "EUR", "de", "1.234.567,50_€"],
    ["-1234.50", "EUR", "fr", "-1_234,50_€"],
    ["1234567", "JPY", "en", "JPY_1,234,567"],
    ["1234567", "JPY", "ja", "¥1,234,567"],
    ["0.005", "KWD", "en", "KD_0.005"],
    ["1234.567", "KWD", "de", "1.234,567_KD"],
    ["1234.50", "USD", "en-US", "$1,234.50"],
    ["1234.50", "USD", "en", "USD_1,234.50"],
    ["1234.50", "CHF", "de-CH", "CHF_1’234.50"],
    ["999.00", "GBP", "en", "£999.00"],
    ["12.00", "XTS", "en", "XTS_12.00"],
    ["-0.01", "SEK", "sv", "-0,01_kr"]
  ])("is written by currency and language: %s %s in %s is %s", (amount, currency, language, text) => {
    expect(shown(moneyText(amount, currency, language))).toBe(text)
  })
  it("keeps every digit, however large the number", () => {
    expect(numberText("98765432109876543210.123", "en")).toBe("98,765,432,109,876,543,210.123")
  })
  it("is printed unchanged if it is not a number", () => {
    expect(numberText("on request", "de")).toBe("on request")
  })
})

describe("a number", () => {
  it.each([
    ["2.500", "en", "2.5"],
    ["2.000", "de", "2"],
    ["1000", "de", "1.000"],
    ["100", "en", "100"]
  ])("is written by language: %s as a quantity in %s is %s", (amount, language, text) => {
    expect(shown(quantityText(amount, language))).toBe(text)
  })
  it("has a percent sign if it is a percentage", () => {
    expect([percentText("19.00", "de"), percentText("7.50", "en")].map(shown)).toEqual(["19_%", "7.5%"])
  })
})

describe("a day", () => {
  it.each([
    ["en", "figures", "05/12/2026"],
    ["en", "long", "5 December 2026"],
    ["en-US", "figures", "12/05/2026"],
    ["en-US", "long", "December 5, 2026"],
    ["de", "long", "5. Dezember 2026"],
    ["es", "long", "5 de diciembre de 2026"],
    ["ru", "long", "05.12.2026"],
    ["ja", "long", "2026年12月5日"],
    ["sv", "figures", "2026-12-05"],
    ["xx", "long", "5 December 2026"]
  ] as const)("is written by language and style: in %s and %s as %s", (language, form, text) => {
    expect(dateText("2026-12-05", language, form)).toBe(text)
  })
  it("is written in the store's time zone if it has a time", () => {
    expect(momentText("2026-12-05T23:30:00.000Z", "Europe/Berlin", "de")).toBe("06.12.2026 00:30")
    expect(shown(momentText("2026-12-05T23:30:00.000Z", "America/New_York", "en-US"))).toBe("12/05/2026 6:30_PM")
  })
})
