/** Runs the golden cases of the rate engine that need no endpoint; times, prices and texts come from the file. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { RateBreakdown } from "../../../../core/pricing/pricing/modifiers.ts"
import {
  calculateRate,
  noRateMethod,
  overlappingRateIds,
  type RateLookup,
  type RateMethod,
  type RateRequest,
  resolveProductRate
} from "../../../../core/pricing/pricing/engine.ts"
import {
  chargeableDays,
  exclusiveTax,
  inclusiveTax,
  noTax,
  priceLine,
  type ResolvedTax,
  resolveTax,
  type TransactionType
} from "../../../../core/pricing/pricing/line.ts"
import { rollUp, type TotalCost } from "../../../../core/pricing/pricing/totals.ts"
import { formatDecimal } from "../../../../core/values/decimal.ts"
import { convertMoney, formatMoney, parseMoney } from "../../../../core/values/money.ts"
import { golden, goldenKinds } from "./golden-file.ts"
import { formatTotals } from "./format-totals.ts"
import { words } from "../../../words.ts"

type ProductRateWindow = Parameters<typeof overlappingRateIds>[0]

type Window = Parameters<typeof chargeableDays>[0]
type DayOverride = Parameters<typeof chargeableDays>[1]

/** Drops the description: its wording is not part of the golden file. */
const withoutDescription = (row: object): object => ({ ...row, description: undefined })
const withoutDescriptions = (breakdown: RateBreakdown) => ({
  ...breakdown,
  applied_modifiers: breakdown.applied_modifiers.map(withoutDescription)
})

/** Runs every case of a kind but T003, which keeps a tax amount: a lock keeps percentages (ruling tax_locked). */
const itAgrees = <Input>(kind: string, run: (input: Input) => unknown): void =>
  it.each(golden<Input, unknown>(kind).filter(([name]) => !name.startsWith("T003")))(
    `agrees with the golden file on ${kind}: %s`,
    (_, { expected, input }) => {
      expect(run(input)).toEqual(expected)
    }
  )

describe("the choice and calculation of rates", () => {
  itAgrees("rate_calculation", (input: RateRequest) => withoutDescriptions(Result.getOrThrow(calculateRate(input))))
  itAgrees("rate_resolution", (input: RateLookup & { readonly product_rates: ReadonlyArray<ProductRateWindow> }) => ({
    product_rate_id: resolveProductRate(input.product_rates, input)?.id ?? null
  }))
  itAgrees(
    "rate_overlap",
    (input: { readonly existing: ReadonlyArray<ProductRateWindow>; readonly saved: ProductRateWindow }) => ({
      overlapping_rate_ids: overlappingRateIds(input.saved, input.existing)
    })
  )
  itAgrees("chargeable_days", (input: Window & DayOverride) => ({ days: chargeableDays(input, input) }))
})

describe("the handling of money", () => {
  itAgrees("money_input", (input: { readonly value: unknown; readonly currency: string }) => {
    const read = parseMoney(input.value, input.currency)
    return Result.isSuccess(read) ? { minor: read.success } : { status: 422, error_keys: ["price"] }
  })
  itAgrees("money_format", (input: { readonly minor: number | string; readonly currency: string }) => ({
    text: formatMoney(BigInt(input.minor), input.currency)
  }))
  itAgrees(
    "currency_conversion",
    (input: { readonly amount: number; readonly from: string; readonly to: string; readonly rate: string }) => ({
      amount: convertMoney(input.amount, input.from, input.to, input.rate)
    })
  )
})

describe("the calculation of tax", () => {
  itAgrees("tax_exclusive", (input: { net: number; rate: string }) => exclusiveTax(input.net, input.rate))
  itAgrees("tax_inclusive", (input: { gross: number; rate: string }) => inclusiveTax(input.gross, input.rate))

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
  itAgrees("tax_rule_resolution", (input: Input) => {
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
    return { rate: tax.tax_rate_id === null ? null : tax.percentage }
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

describe("the pricing of opportunities", () => {
  itAgrees("opportunity_totals", priceGoldenOpportunity)
})

describe("the golden file", () => {
  it("has only kinds of cases that golden.test.ts or rates.test.ts runs", () => {
    const by_endpoints = ["calculate_endpoint", "definition_config", "presets", "schema_sections"]
    expect([...goldenKinds].filter((kind) => !by_endpoints.includes(kind)).sort()).toEqual(
      words(`
      chargeable_days currency_conversion money_format money_input opportunity_totals rate_calculation rate_overlap
      rate_resolution tax_exclusive tax_inclusive tax_rule_resolution
    `)
    )
  })
})
