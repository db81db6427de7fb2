/** Every golden case of the rate engine, from the file itself. Times, prices and texts are the file's, none are ours. */
import { Result } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { RateBreakdown } from "../../../core/pricing/breakdown.ts"
import { calculateRate, type RateRequest } from "../../../core/pricing/engine.ts"
import { overlappingRateIds, type ProductRateWindow, type RateQuestion, resolveProductRate } from "../../../core/pricing/resolution.ts"
import { exclusiveTax, inclusiveTax, resolveTax, type TaxedAmount } from "../../../core/pricing/tax.ts"
import { convertMoney } from "../../../core/values/exchange.ts"
import { formatMoney, parseMoney } from "../../../core/values/money.ts"
import { copyPath, golden, originalPath, type Refusal } from "./golden-file.ts"

/** The breakdown without the free text of its modifiers, which clients must not parse. */
const withoutDescriptions = (breakdown: RateBreakdown) => ({
  ...breakdown,
  applied_modifiers: breakdown.applied_modifiers.map(({ description: _, ...modifier }) => modifier)
})

describe("rate_calculation", () => {
  it.each(golden<RateRequest, object>("rate_calculation"))("%s", (_, { expected, input }) => {
    expect(withoutDescriptions(Result.getOrThrow(calculateRate(input)))).toEqual(expected)
  })
})

describe("rate_resolution", () => {
  type Input = RateQuestion & { readonly product_rates: ReadonlyArray<ProductRateWindow> }
  it.each(golden<Input, { product_rate_id: number | null }>("rate_resolution"))("%s", (_, { expected, input }) => {
    expect(resolveProductRate(input.product_rates, input)?.id ?? null).toBe(expected.product_rate_id)
  })
})

describe("rate_overlap", () => {
  type Input = { readonly existing: ReadonlyArray<ProductRateWindow>; readonly saved: ProductRateWindow }
  it.each(golden<Input, object>("rate_overlap"))("%s", (_, { expected, input }) => {
    expect({ overlapping_rate_ids: overlappingRateIds(input.saved, input.existing) }).toEqual(expected)
  })
})

describe("money_input", () => {
  type Input = { readonly value: unknown; readonly currency: string }
  it.each(golden<Input, { minor: number } | Refusal>("money_input"))("%s", (_, { expected, input }) => {
    const read = parseMoney(input.value, input.currency)
    expect(Result.isSuccess(read) ? { minor: read.success } : { status: 422, error_keys: ["price"] }).toEqual(expected)
  })
})

describe("money_format", () => {
  type Input = { readonly minor: number | string; readonly currency: string }
  it.each(golden<Input, { text: string }>("money_format"))("%s", (_, { expected, input }) => {
    expect(formatMoney(BigInt(input.minor), input.currency)).toBe(expected.text)
  })
})

describe("tax_exclusive and tax_inclusive", () => {
  it.each(golden<{ net: number; rate: string }, TaxedAmount>("tax_exclusive"))("%s", (_, { expected, input }) => {
    expect(exclusiveTax(input.net, input.rate)).toEqual(expected)
  })
  it.each(golden<{ gross: number; rate: string }, TaxedAmount>("tax_inclusive"))("%s", (_, { expected, input }) => {
    expect(inclusiveTax(input.gross, input.rate)).toEqual(expected)
  })
})

describe("tax_rule_resolution", () => {
  interface Input {
    readonly rules: ReadonlyArray<{
      organisation_tax_class_id: number; product_tax_class_id: number
      rate: string; priority: number; is_active: boolean; rate_is_active: boolean
    }>
    readonly organisation_tax_class_id: number | null
    readonly product_tax_class_id: number | null
    readonly defaults: { readonly organisation: number; readonly product: number } | null
  }
  it.each(golden<Input, { rate: string | null }>("tax_rule_resolution"))("%s", (_, { expected, input }) => {
    const tax = resolveTax({
      rules: input.rules.map((rule, index) => ({ ...rule, id: index, tax_rate_id: index })),
      rates: input.rules.map(({ rate, rate_is_active }, id) => ({ id, name: `Rate ${id}`, rate, is_active: rate_is_active })),
      default_organisation_tax_class_id: input.defaults?.organisation ?? null,
      default_product_tax_class_id: input.defaults?.product ?? null
    }, input.organisation_tax_class_id, input.product_tax_class_id)
    expect(tax.tax_rate_id === null ? null : tax.percentage).toBe(expected.rate)
  })
})

describe("currency_conversion", () => {
  type Input = { readonly amount: number; readonly from: string; readonly to: string; readonly rate: string }
  it.each(golden<Input, { amount: number }>("currency_conversion"))("%s", (_, { expected, input }) => {
    expect(convertMoney(input.amount, input.from, input.to, input.rate)).toBe(expected.amount)
  })
})

describe("the golden file", () => {
  it.runIf(existsSync(originalPath))("is byte for byte the one of the specification", () => {
    expect(readFileSync(copyPath).equals(readFileSync(originalPath))).toBe(true)
  })
})
