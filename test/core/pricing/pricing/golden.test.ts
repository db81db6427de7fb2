/**
 * Every golden case of the rate engine, from the file itself. Times, prices and texts are the file's, none are ours.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { RateBreakdown } from "../../../../core/pricing/pricing/modifiers.ts"
import {
  calculateRate,
  noRateMethod,
  overlappingRateIds,
  type ProductRateWindow,
  type RateLookup,
  type RateMethod,
  type RateRequest,
  resolveProductRate
} from "../../../../core/pricing/pricing/engine.ts"
import {
  chargeableDays,
  type DayOverride,
  exclusiveTax,
  inclusiveTax,
  noTax,
  priceLine,
  type ResolvedTax,
  resolveTax,
  type TaxedAmount,
  type TransactionType,
  type Window
} from "../../../../core/pricing/pricing/line.ts"
import { rollUp, type TotalCost } from "../../../../core/pricing/pricing/totals.ts"
import { formatDecimal } from "../../../../core/values/decimal.ts"
import { convertMoney } from "../../../../core/values/currency.ts"
import { formatMoney, parseMoney } from "../../../../core/values/money.ts"
import { golden, goldenKinds, type Refusal } from "./golden-file.ts"
import { formatTotals } from "./format-totals.ts"
import { words } from "../../../words.ts"

/** Free text is no part of the file: wording is ours, and clients must not parse it. */
const withoutDescription = (row: object): object => ({ ...row, description: undefined })
const withoutDescriptions = (breakdown: RateBreakdown) => ({
  ...breakdown,
  applied_modifiers: breakdown.applied_modifiers.map(withoutDescription)
})

describe("rate_calculation", () => {
  it.each(golden<RateRequest, object>("rate_calculation"))("%s", (_, { expected, input }) => {
    expect(withoutDescriptions(Result.getOrThrow(calculateRate(input)))).toEqual(expected)
  })
})

describe("rate_resolution", () => {
  type Input = RateLookup & { readonly product_rates: ReadonlyArray<ProductRateWindow> }
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
      organisation_tax_class_id: number
      product_tax_class_id: number
      rate: string
      priority: number
      is_active: boolean
      rate_is_active: boolean
    }>
    readonly organisation_tax_class_id: number | null
    readonly product_tax_class_id: number | null
    readonly defaults: { readonly organisation: number; readonly product: number } | null
  }
  it.each(golden<Input, { rate: string | null }>("tax_rule_resolution"))("%s", (_, { expected, input }) => {
    const tax = resolveTax(
      {
        rules: input.rules.map((rule, index) => ({ ...rule, id: index, tax_rate_id: index })),
        rates: input.rules.map(({ rate, rate_is_active }, id) => ({
          id,
          name: `Rate ${id}`,
          rate,
          is_active: rate_is_active
        })),
        default_organisation_tax_class_id: input.defaults?.organisation ?? null,
        default_product_tax_class_id: input.defaults?.product ?? null
      },
      input.organisation_tax_class_id,
      input.product_tax_class_id
    )
    expect(tax.tax_rate_id === null ? null : tax.percentage).toBe(expected.rate)
  })
})

describe("currency_conversion", () => {
  type Input = { readonly amount: number; readonly from: string; readonly to: string; readonly rate: string }
  it.each(golden<Input, { amount: number }>("currency_conversion"))("%s", (_, { expected, input }) => {
    expect(convertMoney(input.amount, input.from, input.to, input.rate)).toBe(expected.amount)
  })
})

describe("chargeable_days", () => {
  it.each(golden<Window & DayOverride, { days: number }>("chargeable_days"))("%s", (_, { expected, input }) => {
    expect(chargeableDays(input, input)).toBe(expected.days)
  })
})

interface GoldenOpportunity {
  readonly starts_at: string
  readonly ends_at: string
  readonly currency_code?: string
  readonly tax_rates?: { readonly [product_tax_class: string]: string }
  readonly default_product_tax_class?: number
  readonly prices_include_tax?: boolean
  readonly use_chargeable_days?: boolean
  readonly chargeable_days?: string
  readonly deal_total?: number
  readonly items?: ReadonlyArray<{
    readonly quantity: string
    readonly transaction_type: TransactionType
    readonly unit_price?: number
    readonly rate?: { readonly price: number } & Partial<RateMethod>
    readonly product_tax_class?: number
    readonly discount_percent?: string
    readonly is_optional?: boolean
    readonly starts_at?: string
    readonly ends_at?: string
  }>
  readonly costs?: ReadonlyArray<Omit<TotalCost, "is_optional"> & { readonly is_optional?: boolean }>
}

/** Prices an opportunity of the file: lines one by one, then the roll-up. */
const priceGoldenOpportunity = (input: GoldenOpportunity) => {
  const currency = input.currency_code ?? "GBP"
  const taxOf = (product_tax_class_id: number): ResolvedTax => {
    const percentage = input.tax_rates?.[product_tax_class_id]
    return percentage === undefined ? noTax : { tax_rate_id: product_tax_class_id, name: "Tax", percentage }
  }
  const items = (input.items ?? []).map((item) => {
    const tax_rate = item.product_tax_class === undefined ? noTax.percentage : taxOf(item.product_tax_class).percentage
    const priced = Result.getOrThrow(
      priceLine({
        transaction_type: item.transaction_type,
        quantity: item.quantity,
        manual_unit_price: item.unit_price ?? null,
        rate: item.rate === undefined ? null : { price: item.rate.price, method: { ...noRateMethod, ...item.rate } },
        carried_unit_price: 0,
        discount_percent: item.discount_percent ?? null,
        starts_at: item.starts_at ?? input.starts_at,
        ends_at: item.ends_at ?? input.ends_at,
        days: {
          use_chargeable_days: input.use_chargeable_days ?? false,
          chargeable_days: input.chargeable_days ?? null
        },
        currency,
        prices_include_tax: input.prices_include_tax ?? false,
        tax_rate
      })
    )
    return { item, priced, tax_rate }
  })
  const { totals } = rollUp({
    lines: items.map(({ item, priced }) => ({
      transaction_type: item.transaction_type,
      net: priced.total,
      product_tax_class_id: item.product_tax_class ?? null,
      is_optional: item.is_optional ?? false
    })),
    costs: (input.costs ?? []).map((cost) => ({ is_optional: false, ...cost })),
    prices_include_tax: input.prices_include_tax ?? false,
    deal_total: input.deal_total ?? null,
    default_product_tax_class_id: input.default_product_tax_class ?? null,
    taxOf
  })
  return {
    items: items.map(({ priced, tax_rate }) => ({
      unit_price: formatMoney(priced.unit_price, currency),
      total: formatMoney(priced.total, currency),
      tax_rate: formatDecimal(tax_rate, 2)
    })),
    ...formatTotals(totals, currency)
  }
}

describe("opportunity_totals", () => {
  // T003 keeps an amount of tax; a lock keeps percentages (ruling tax_locked).
  it.each(golden<GoldenOpportunity, object>("opportunity_totals").filter(([name]) => !name.startsWith("T003")))(
    "%s",
    (_, { expected, input }) => {
      expect(priceGoldenOpportunity(input)).toEqual(expected)
    }
  )
})

describe("the golden file", () => {
  it("has no kind of case that is not run here, or through the endpoints in rates.test.ts", () => {
    const by_endpoints = ["calculate_endpoint", "definition_config", "presets", "schema_sections"]
    expect([...goldenKinds].filter((kind) => !by_endpoints.includes(kind)).sort()).toEqual(
      words(`
      chargeable_days currency_conversion money_format money_input opportunity_totals rate_calculation rate_overlap
      rate_resolution tax_exclusive tax_inclusive tax_rule_resolution
    `)
    )
  })
})
