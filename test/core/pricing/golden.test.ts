/**
 * Every golden case of the rate engine, from the file itself. Times, prices and texts are the file's, none are ours.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { FieldErrors } from "../../../core/kernel/rejection.ts"
import type { RateBreakdown } from "../../../core/pricing/breakdown.ts"
import { calculateEndpoint } from "../../../core/pricing/calculate.ts"
import type { PricedRate } from "../../../core/pricing/resolution.ts"
import { schemaSections } from "../../../core/pricing/config-schema.ts"
import {
  composeMethod,
  copyName,
  deletionErrors,
  type SubmittedMethod,
  updateMethod
} from "../../../core/pricing/definition.ts"
import { calculateRate, type RateRequest } from "../../../core/pricing/engine.ts"
import { chargeableDays, type DayOverride, type Window } from "../../../core/pricing/line.ts"
import { presets } from "../../../core/pricing/presets.ts"
import {
  overlappingRateIds,
  type ProductRateWindow,
  type RateLookup,
  resolveProductRate
} from "../../../core/pricing/resolution.ts"
import { exclusiveTax, inclusiveTax, resolveTax, type TaxedAmount } from "../../../core/pricing/tax.ts"
import { convertMoney } from "../../../core/values/exchange.ts"
import { formatMoney, parseMoney } from "../../../core/values/money.ts"
import { golden, goldenKinds, type Refusal } from "./golden-file.ts"
import { type GoldenOpportunity, priceGoldenOpportunity } from "./golden-opportunity.ts"

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

/** What a refused request looks like in the file. */
const refusal = (errors: FieldErrors): Refusal => ({ status: 422, error_keys: Object.keys(errors) })

describe("calculate_endpoint", () => {
  interface Input {
    readonly product_rates?: ReadonlyArray<PricedRate>
    readonly request: JsonObject
    readonly base_currency?: string
  }
  it.each(golden<Input, object>("calculate_endpoint"))("%s", (_, { expected, input }) => {
    const answer = calculateEndpoint(input.request, {
      rates: input.product_rates ?? [],
      base_currency: input.base_currency ?? "GBP",
      store_exists: () => false
    })
    expect(
      Result.match(answer, {
        onSuccess: ({ meta, rate_breakdown }) => ({
          status: 200,
          rate_breakdown: withoutDescriptions(rate_breakdown),
          meta
        }),
        onFailure: refusal
      })
    ).toEqual(expected)
  })
})

describe("definition_config", () => {
  interface Existing extends SubmittedMethod {
    readonly is_preset?: boolean
    readonly in_use?: boolean
    readonly name?: string
  }
  interface Input extends SubmittedMethod {
    readonly existing?: Existing
    readonly update?: SubmittedMethod
    readonly action?: "delete" | "duplicate"
  }
  const run = ({ action, existing, update, ...submitted }: Input): { readonly [field: string]: unknown } => {
    if (action === "delete") {
      const errors = deletionErrors({ is_preset: existing?.is_preset ?? false, in_use: existing?.in_use ?? false })
      return errors === undefined ? { status: 204 } : { ...refusal(errors) }
    }
    if (action === "duplicate") return { status: 201, name: copyName(existing?.name ?? "") }
    const stored =
      existing === undefined
        ? composeMethod(submitted)
        : updateMethod(Result.getOrThrow(composeMethod(existing)), update ?? {})
    return Result.match(stored, {
      onSuccess: (method) => ({ status: existing === undefined ? 201 : 200, ...method }),
      onFailure: (errors) => ({ ...refusal(errors) })
    })
  }
  it.each(golden<Input, { readonly [field: string]: unknown }>("definition_config"))("%s", (_, { expected, input }) => {
    const answer = run(input)
    const named = Object.fromEntries(Object.keys(expected).map((field) => [field, answer[field]]))
    expect(named).toStrictEqual(expected)
  })
})

describe("chargeable_days", () => {
  it.each(golden<Window & DayOverride, { days: number }>("chargeable_days"))("%s", (_, { expected, input }) => {
    expect(chargeableDays(input, input)).toBe(expected.days)
  })
})

describe("opportunity_totals", () => {
  it.each(golden<GoldenOpportunity, object>("opportunity_totals"))("%s", (_, { expected, input }) => {
    expect(priceGoldenOpportunity(input)).toEqual(expected)
  })
})

describe("presets", () => {
  it.each(golden<object, object>("presets"))("%s", (_, { expected }) => {
    expect({ presets: presets.map(withoutDescription) }).toEqual(expected)
  })
})

describe("schema_sections", () => {
  type Input = { readonly strategy?: string; readonly modifiers?: ReadonlyArray<string> }
  it.each(golden<Input, object>("schema_sections"))("%s", (_, { expected, input }) => {
    expect(
      Result.match(schemaSections(input), {
        onSuccess: (sections) => ({
          section_keys: sections.map(({ key }) => key),
          option_keys: sections.find(({ key }) => key === "options")?.fields.map((field) => field["key"])
        }),
        onFailure: refusal
      })
    ).toEqual(expected)
  })
})

describe("the golden file", () => {
  it("holds no kind of case that is not run here", () => {
    expect([...goldenKinds].sort()).toEqual([
      "calculate_endpoint",
      "chargeable_days",
      "currency_conversion",
      "definition_config",
      "money_format",
      "money_input",
      "opportunity_totals",
      "presets",
      "rate_calculation",
      "rate_overlap",
      "rate_resolution",
      "schema_sections",
      "tax_exclusive",
      "tax_inclusive",
      "tax_rule_resolution"
    ])
  })
})
