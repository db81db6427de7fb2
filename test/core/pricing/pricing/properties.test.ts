/** Properties of prices for random rates, hires, lines and rules. */
import fc from "fast-check"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  calculateRateMinor,
  calculateRateTotal,
  noRateMethod,
  type RateRequest
} from "../../../../core/pricing/pricing/engine.ts"
import { explainCalculation } from "../../../../core/pricing/explain/explain.ts"
import { explainTotals } from "../../../../core/pricing/explain/explain-totals.ts"
import { priceOpportunity, type StagesRequest } from "../../../../core/pricing/pricing/surcharges.ts"
import { exclusiveTax, inclusiveTax, type ResolvedTax } from "../../../../core/pricing/pricing/line.ts"
import { rollUp, type TotalsRequest } from "../../../../core/pricing/pricing/totals.ts"
import { discountRule, lineFacts } from "./builders.ts"
import { formatTotals } from "./format-totals.ts"
import { formatMoney } from "../../../../core/values/money.ts"

const EPOCH = Date.UTC(2026, 0, 1)
const at = (minutes: number): string => new Date(EPOCH + minutes * 60_000).toISOString()
const multiplier = fc.integer({ min: 0, max: 3000 }).map((thousandths) => (thousandths / 1000).toFixed(3))

const method = fc.record({
  calculation_strategy: fc.constantFrom("period" as const, "hybrid" as const, "fixed" as const),
  base_period: fc.constantFrom("daily" as const, "weekly" as const, "monthly" as const),
  strategy_config: fc.record({
    leeway_minutes: fc.integer({ min: 0, max: 3000 }),
    day_type: fc.constantFrom("clock", "business"),
    business_hours_start: fc.constant("09:00"),
    business_hours_end: fc.constant("17:00"),
    rental_days_per_week: fc.integer({ min: 1, max: 7 }),
    first_day_cutoff: fc.constantFrom(null, "12:00"),
    last_day_cutoff: fc.constantFrom(null, "09:00"),
    fixed_charge: fc.integer({ min: 0, max: 100_000 }),
    fixed_period_units: fc.integer({ min: 0, max: 10 })
  }),
  enabled_modifiers: fc.subarray(["multiplier", "factor"]),
  modifier_configs: fc.record({
    multiplier: fc.record({ tiers: fc.array(fc.record({ multiplier }), { maxLength: 8 }) }),
    factor: fc.record({
      ranges: fc.array(
        fc.record({
          from: fc.integer({ min: 1, max: 20 }),
          to: fc.option(fc.integer({ min: 1, max: 40 })),
          factor: multiplier
        }),
        { maxLength: 4 }
      )
    })
  }),
  price: fc.integer({ min: 0, max: 2_147_483_647 }),
  currency: fc.constantFrom("GBP", "JPY", "KWD")
})
const hire = fc.record({ start: fc.integer({ min: 0, max: 500_000 }), minutes: fc.integer({ min: 0, max: 500_000 }) })

const price = (request: RateRequest) => Result.getOrThrow(calculateRateMinor(request))

describe("the rate engine", () => {
  it("covers every unit once, and its lines add up to the subtotal before the factor", () => {
    fc.assert(
      fc.property(method, hire, fc.integer({ min: 1, max: 50 }), (how, { minutes, start }, quantity) => {
        const answer = price({ ...how, start: at(start), end: at(start + minutes), quantity })
        const reached = answer.lines.reduce((position, line) => {
          expect(line.from).toBe(position + 1)
          expect(line.to).toBeGreaterThanOrEqual(line.from)
          return line.to
        }, 0)
        expect(reached).toBe(answer.units)
        const factor = answer.applied.find(({ key }) => key === "factor")
        const subtotal = factor?.before ?? answer.per_unit_subtotal
        const { fixed_charge, fixed_period_units } = how.strategy_config
        const hidden = how.calculation_strategy === "hybrid" && fixed_period_units === 0 ? BigInt(fixed_charge) : 0n
        expect(answer.lines.reduce((sum, line) => sum + line.total, hidden)).toBe(subtotal)
        expect(answer.total).toBe(answer.per_unit_subtotal * BigInt(quantity))
      })
    )
  })

  it("gives the same result with and without a breakdown, also beyond 2^53", () => {
    fc.assert(
      fc.property(
        method,
        hire,
        fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(2_147_483_647)),
        (how, { minutes, start }, quantity) => {
          const request = { ...how, start: at(start), end: at(start + minutes), quantity }
          const { total, units } = price(request)
          expect(Result.getOrThrow(calculateRateTotal(request))).toEqual({ units, total: Number(total) })
        }
      ),
      { numRuns: 500 }
    )
    const broken = { ...noRateMethod, price: 1, quantity: 1, currency: "GBP", start: "2026-07-01", end: "2026-07-02" }
    for (const request of [
      { ...broken, start: "soon" },
      { ...broken, end: "late" },
      { ...broken, base_period: null },
      { ...broken, currency: "XXX" }
    ]) {
      expect(calculateRateTotal(request)).toEqual(calculateRateMinor(request))
      expect(Result.isFailure(calculateRateTotal(request))).toBe(true)
    }
  })

  it("is explained by steps that end at its figures, each beginning where the one before ended", () => {
    fc.assert(
      fc.property(method, hire, fc.integer({ min: 1, max: 20 }), (how, { minutes, start }, quantity) => {
        const asked = { ...how, start: at(start), end: at(start + minutes), quantity }
        const calculated = price(asked)
        const steps = explainCalculation(asked)
        const last = (figure: string): string | undefined => steps.filter((step) => step.figure === figure).at(-1)?.to
        expect(last("total")).toBe(formatMoney(calculated.total, how.currency))
        expect(last("per_unit_subtotal")).toBe(formatMoney(calculated.per_unit_subtotal, how.currency))
        if (how.calculation_strategy !== "fixed") expect(last("units")).toBe(String(calculated.units))
        const subtotals = steps.filter((step) => step.figure === "per_unit_subtotal")
        subtotals.slice(1).forEach((step, index) => expect(step.from).toBe(subtotals[index]!.to))
        for (const { from, to, words } of steps) expect([from, to, words].join()).not.toMatch(/undefined|null,null|NaN/)
      }),
      { numRuns: 300 }
    )
  })

  it("never counts fewer units, nor charges less, for a longer window", () => {
    fc.assert(
      fc.property(method, hire, fc.integer({ min: 0, max: 100_000 }), (how, { minutes, start }, more) => {
        const request = { ...how, quantity: 3, start: at(start) }
        const shorter = price({ ...request, end: at(start + minutes) })
        const longer = price({ ...request, end: at(start + minutes + more) })
        expect(longer.units).toBeGreaterThanOrEqual(shorter.units)
        expect(longer.total >= shorter.total).toBe(true)
      })
    )
  })

  it("never charges less for a larger quantity without factors", () => {
    fc.assert(
      fc.property(method, hire, fc.integer({ min: 1, max: 500 }), (how, { minutes, start }, quantity) => {
        const request = { ...how, enabled_modifiers: ["multiplier"], start: at(start), end: at(start + minutes) }
        expect(price({ ...request, quantity: quantity + 1 }).total >= price({ ...request, quantity }).total).toBe(true)
      })
    )
  })

  it("never charges less for a larger quantity if factors do not fall with the quantity", () => {
    const rising = fc
      .array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 150 })), { maxLength: 4 })
      .map((bands) => {
        let from = 1,
          hundredths = 0
        return bands
          .map(([width, more]) => {
            const range = { from, to: from + width - 1, factor: ((hundredths += more) / 100).toFixed(2) }
            from += width
            return range
          })
          .map((range, at, all) => (at === all.length - 1 ? { ...range, to: null } : range))
      })
    fc.assert(
      fc.property(
        method,
        rising,
        hire,
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (how, ranges, { minutes, start }, quantity, more) => {
          const request = {
            ...how,
            enabled_modifiers: ["multiplier", "factor"],
            modifier_configs: { ...how.modifier_configs, factor: { ranges } },
            start: at(start),
            end: at(start + minutes)
          }
          expect(price({ ...request, quantity: quantity + more }).total >= price({ ...request, quantity }).total).toBe(
            true
          )
        }
      )
    )
  })

  it("counts the same units at any UTC offset for a daily rate without cut-offs", () => {
    fc.assert(
      fc.property(hire, fc.integer({ min: -720, max: 840 }), ({ minutes, start }, offset) => {
        const sign = offset < 0 ? "-" : "+"
        const two = (value: number): string => String(value).padStart(2, "0")
        const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
        const local = (minute: number): string => at(minute + offset).replace("Z", zone)
        const request: RateRequest = {
          calculation_strategy: "period",
          base_period: "daily",
          strategy_config: {},
          enabled_modifiers: [],
          modifier_configs: {},
          price: 100,
          currency: "GBP",
          quantity: 1,
          start: at(start),
          end: at(start + minutes)
        }
        expect(price({ ...request, start: local(start), end: local(start + minutes) }).units).toBe(price(request).units)
      })
    )
  })
})

const percentage = fc.integer({ min: 0, max: 1_000_000 }).map((scaled) => (scaled / 10_000).toFixed(4))
const amount = fc.integer({ min: -2_147_483_647, max: 2_147_483_647 })

describe("tax", () => {
  it("and net always add up to the gross", () => {
    fc.assert(
      fc.property(amount, percentage, (minor, rate) => {
        for (const { gross, net, tax } of [exclusiveTax(minor, rate), inclusiveTax(minor, rate)])
          expect(net + tax).toBe(gross)
        expect(exclusiveTax(minor, rate).net).toBe(minor)
        expect(inclusiveTax(minor, rate).gross).toBe(minor)
      })
    )
  })

  it("of a negative amount is the negated tax of the positive one", () => {
    fc.assert(
      fc.property(amount, percentage, (minor, rate) => {
        expect(exclusiveTax(-minor, rate).tax + exclusiveTax(minor, rate).tax).toBe(0)
        expect(inclusiveTax(-minor, rate).net + inclusiveTax(minor, rate).net).toBe(0)
      })
    )
  })

  it("taken out of a gross leaves the original net, within one minor unit", () => {
    fc.assert(
      fc.property(amount, percentage, (net, rate) => {
        expect(Math.abs(inclusiveTax(exclusiveTax(net, rate).gross, rate).net - net)).toBeLessThanOrEqual(1)
      })
    )
  })

  it("added to the net of a gross gives the original gross, within one minor unit", () => {
    fc.assert(
      fc.property(amount, percentage, (gross, rate) => {
        // A net rounded by up to half a unit moves the gross by up to half a unit and the tax on that half.
        const slack = Math.ceil((1 + Number(rate) / 100) / 2)
        expect(Math.abs(exclusiveTax(inclusiveTax(gross, rate).net, rate).gross - gross)).toBeLessThanOrEqual(slack)
      })
    )
  })

  it("is within half a minor unit of the exact share", () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 0, max: 1_000_000 }), (net, scaled) => {
        const { tax } = exclusiveTax(net, (scaled / 10_000).toFixed(4))
        const distance = BigInt(tax) * 1_000_000n - BigInt(net) * BigInt(scaled)
        expect(distance <= 500_000n && distance >= -500_000n).toBe(true)
      })
    )
  })
})

const taxOf = (id: number): ResolvedTax => ({ tax_rate_id: id, name: `Class ${id}`, percentage: `${id * 5}.0000` })
const opportunity: fc.Arbitrary<TotalsRequest> = fc.record({
  lines: fc.array(
    fc.record({
      transaction_type: fc.constantFrom("rental" as const, "sale" as const, "service" as const, "sub_rental" as const),
      net: fc.integer({ min: 0, max: 10_000_000 }),
      product_tax_class_id: fc.option(fc.integer({ min: 1, max: 4 })),
      is_optional: fc.boolean()
    }),
    { maxLength: 12 }
  ),
  costs: fc.array(
    fc.record({
      cost_type: fc.integer({ min: 0, max: 5 }),
      amount: fc.integer({ min: 0, max: 100_000 }),
      quantity: fc.integer({ min: 0, max: 2000 }).map((hundredths) => (hundredths / 100).toFixed(2)),
      is_optional: fc.boolean()
    }),
    { maxLength: 6 }
  ),
  prices_include_tax: fc.boolean(),
  deal_total: fc.option(fc.integer({ min: 0, max: 10_000_000 })),
  default_product_tax_class_id: fc.option(fc.integer({ min: 1, max: 4 })),
  taxOf: fc.constant(taxOf)
})

describe("totals", () => {
  it("are the sum of their parts unless a deal price is set, and net plus tax is the gross", () => {
    fc.assert(
      fc.property(opportunity, (request) => {
        const { tax_groups, totals } = rollUp(request)
        const parts =
          totals.rental_charge_total +
          totals.sale_charge_total +
          totals.service_charge_total +
          totals.sub_rental_charge_total +
          totals.transit_charge_total +
          totals.loss_damage_charge_total
        expect(totals.charge_excluding_tax_total).toBe(request.deal_total ?? parts)
        expect(totals.charge_total).toBe(totals.charge_excluding_tax_total)
        expect(totals.charge_including_tax_total).toBe(totals.charge_total + totals.tax_total)
        expect(tax_groups.reduce((sum, { net }) => sum + net, 0)).toBe(totals.charge_total)
        expect(totals.tax_total).toBe(tax_groups.reduce((sum, { tax }) => sum + tax, 0))
      })
    )
  })

  it("do not depend on the order of lines and costs", () => {
    fc.assert(
      fc.property(opportunity, (request) => {
        const turned = { ...request, lines: [...request.lines].reverse(), costs: [...request.costs].reverse() }
        expect(rollUp(turned).totals).toEqual(rollUp(request).totals)
      })
    )
  })

  it("leave out optional lines and costs", () => {
    fc.assert(
      fc.property(opportunity, (request) => {
        const chosen = {
          ...request,
          lines: request.lines.filter((line) => !line.is_optional),
          costs: request.costs.filter((cost) => !cost.is_optional)
        }
        expect(rollUp(chosen)).toEqual(rollUp(request))
      })
    )
  })
})

const lineOf = fc.record({
  transaction_type: fc.constantFrom("rental" as const, "sale" as const, "service" as const, "sub_rental" as const),
  net: fc.integer({ min: 0, max: 5_000_000 }),
  product_tax_class_id: fc.option(fc.integer({ min: 1, max: 4 })),
  is_optional: fc.boolean(),
  discountable: fc.boolean(),
  priced_by_hand: fc.boolean()
})
const hundredths = fc.integer({ min: 1, max: 10_000 }).map((scaled) => (scaled / 100).toFixed(2))
const rules = fc
  .array(
    fc.record({
      applies_to: fc.constantFrom("line" as const, "total" as const),
      discount_type: fc.constantFrom("percentage" as const, "fixed_amount" as const),
      discount_value: hundredths,
      max_discount_amount: fc.option(fc.integer({ min: 0, max: 100_000 })),
      stackable: fc.boolean(),
      priority: fc.integer({ min: -2, max: 2 }),
      only: fc.option(fc.constantFrom("rental", "sale"))
    }),
    { maxLength: 4 }
  )
  .map((some) =>
    some.map(({ only, ...rule }, at) =>
      discountRule(at + 1, { criteria: only === null ? {} : { transaction_type: only }, ...rule })
    )
  )
const surcharge = fc.record({
  calculation_type: fc.constantFrom("percentage" as const, "fixed_amount" as const, "per_day" as const),
  value: hundredths,
  applies_to: fc.constantFrom("all" as const, "rental" as const, "sale" as const),
  tax_class_id: fc.option(fc.integer({ min: 1, max: 4 })),
  min_amount: fc.option(fc.integer({ min: 0, max: 500 })),
  max_amount: fc.option(fc.integer({ min: 500, max: 9000 }))
})
const pipeline: fc.Arbitrary<StagesRequest> = fc.record({
  lines: fc
    .array(lineOf, { maxLength: 10 })
    .map((lines) =>
      lines.map((line, at) => ({
        ...line,
        id: at + 1,
        facts: lineFacts({ transaction_type: line.transaction_type, line_total: line.net })
      }))
    ),
  costs: fc.constant([]),
  rules,
  surcharge_groups: fc
    .array(surcharge, { maxLength: 3 })
    .map((all) => [
      {
        id: 1,
        name: "Extras",
        is_active: true,
        store_id: null,
        sort_order: 0,
        surcharges: all.map((one, at) => ({ ...one, id: at + 1, name: `Surcharge ${at}`, sort_order: at }))
      }
    ]),
  named_rule_ids: fc.subarray([1, 2, 3]),
  currency: fc.constantFrom("GBP", "JPY", "KWD"),
  store_id: fc.constant(null),
  start_date: fc.constant("2026-06-18"),
  days: fc.integer({ min: 1, max: 30 }),
  locked: fc.constant(null),
  prices_include_tax: fc.boolean(),
  deal_total: fc.option(fc.integer({ min: 0, max: 9_999_999 }), { freq: 5 }),
  tax_locked: fc.constant(false),
  default_product_tax_class_id: fc.option(fc.integer({ min: 1, max: 4 })),
  taxOf: fc.constant(taxOf)
})
/** Minor units of a formatted amount: "12.345" → 12345n. */
const shownMinor = (text: string): bigint => BigInt(text.replace(".", ""))

describe("all four stages of pricing", () => {
  it("produce parts that add up to the totals as they are printed, in every currency scale", () => {
    fc.assert(
      fc.property(pipeline, (request) => {
        const priced = Result.getOrThrow(priceOpportunity(request))
        const shown = formatTotals(priced.totals, request.currency)
        const counted = request.lines.filter((line) => !line.is_optional)
        const lines = counted.reduce(
          (sum, line) => sum + shownMinor(formatMoney(priced.line_nets.get(line.id)!, request.currency)),
          0n
        )
        const surcharges = priced.surcharges.reduce(
          (sum, { net }) => sum + shownMinor(formatMoney(net, request.currency)),
          0n
        )
        const parts = [
          shown.rental_charge_total,
          shown.sale_charge_total,
          shown.service_charge_total,
          shown.sub_rental_charge_total,
          shown.transit_charge_total,
          shown.loss_damage_charge_total
        ]
        expect(parts.reduce((sum, part) => sum + shownMinor(part), 0n)).toBe(lines + surcharges)
        if (request.deal_total === null) expect(shownMinor(shown.charge_total)).toBe(lines + surcharges)
        expect(shownMinor(shown.charge_including_tax_total)).toBe(
          shownMinor(shown.charge_total) + shownMinor(shown.tax_total)
        )
        const lost = request.lines.reduce((sum, line) => sum + line.net - priced.line_nets.get(line.id)!, 0)
        expect(priced.applied_rules.reduce((sum, { amount }) => sum + amount, 0)).toBe(lost)
        for (const line of request.lines) {
          const net = priced.line_nets.get(line.id)!
          expect(net >= 0 && net <= line.net).toBe(true)
          if (!line.discountable || line.is_optional) expect(net).toBe(line.net)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("price every line and total the same for any order of lines", () => {
    fc.assert(
      fc.property(pipeline, fc.array(fc.nat(), { minLength: 10, maxLength: 10 }), (request, keys) => {
        const one = Result.getOrThrow(priceOpportunity(request))
        const lines = request.lines
          .map((line, at) => ({ line, key: keys[at]! }))
          .sort((a, b) => a.key - b.key)
          .map(({ line }) => line)
        const other = Result.getOrThrow(priceOpportunity({ ...request, lines }))
        expect(other.totals).toEqual(one.totals)
        for (const line of request.lines) expect(other.line_nets.get(line.id)).toBe(one.line_nets.get(line.id))
        expect(other.applied_rules).toEqual(one.applied_rules)
        expect(other.surcharges).toEqual(one.surcharges)
      }),
      { numRuns: 300 }
    )
  })

  it("are explained by steps that end at the totals, with discounts, surcharges and tax groups that add up to them", () => {
    fc.assert(
      fc.property(pipeline, fc.boolean(), (open, kept) => {
        const first = Result.getOrThrow(priceOpportunity(open))
        const request = kept && open.deal_total === null ? { ...open, locked: first, tax_locked: true } : open
        const priced = Result.getOrThrow(priceOpportunity(request))
        const shown = formatTotals(priced.totals, request.currency)
        const steps = explainTotals({ request, priced, costs: [] })
        const last = (figure: string): string | undefined => steps.filter((step) => step.figure === figure).at(-1)?.to
        const sum = (rule: string): bigint =>
          steps
            .filter((step) => step.rule === rule && !step.figure.startsWith("items."))
            .reduce((total, { to }) => total + shownMinor(to), 0n)
        expect([last("charge_excluding_tax_total"), last("tax_total"), last("charge_including_tax_total")]).toEqual([
          shown.charge_excluding_tax_total,
          shown.tax_total,
          shown.charge_including_tax_total
        ])
        for (const line of request.lines)
          expect(last(`items.${line.id}.total`) ?? formatMoney(line.net, request.currency)).toBe(
            formatMoney(priced.line_nets.get(line.id)!, request.currency)
          )
        expect(-sum("discount_rule")).toBe(
          BigInt(priced.applied_rules.reduce((total, { amount }) => total + amount, 0))
        )
        expect(sum("surcharge")).toBe(BigInt(priced.surcharges.reduce((total, { net }) => total + net, 0)))
        expect(sum("tax_group")).toBe(BigInt(priced.totals.tax_total))
        expect(steps.filter(({ rule }) => rule === "tax_locked")).toHaveLength(request.tax_locked ? 1 : 0)
        const contest = steps.find(({ rule }) => rule === "best_for_customer")
        if (contest !== undefined) expect(shownMinor(contest.to)).toBe(sum("discount_rule"))
        for (const { from, to, words } of steps) expect([from, to, words].join()).not.toMatch(/undefined|NaN/)
      }),
      { numRuns: 300 }
    )
  })
})
