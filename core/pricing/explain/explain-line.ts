/**
 * Explains the net of one line: manual price or rate, time, quantity, its own discount, tax taken out (rules/rates 9).
 */
import { Result } from "effect"
import { exact, wholeUnits } from "../../values/decimal.ts"
import { formatMoney } from "../../values/money.ts"
import { applicableRates, type PricedRate, type RateLookup } from "../pricing/resolution.ts"
import { countText, roundingWords, type Step } from "./explain-step.ts"
import { explainCalculation, explainChoice } from "./explain.ts"
import { chargeableDays, type LineRequest, type PricedLine, priceLine } from "../pricing/line.ts"
import type { LineCurrency, LineRate } from "../pricing/discounts.ts"
import { inclusiveTax } from "../pricing/tax.ts"

export interface LineFacts {
  readonly request: LineRequest & { readonly rate: LineRate | null }
  /** The rates it was chosen from; null where no rate applies. */
  readonly rate: {
    readonly rates: ReadonlyArray<PricedRate>
    readonly question: RateLookup
    readonly money: LineCurrency
  } | null
}
/** The stored figures of the line, in minor units. */
interface StoredLine {
  readonly unit_price: number
  /** Less the line's own discount; with tax where prices include it. */
  readonly discounted_total: number
  readonly tax_rate: string | null
}

/**
 * The steps to a line's net before discount rules. A line keeps the price of its last change: where the present rates
 * lead to another price, one step says so in place of the others.
 */
export const explainLine = (facts: LineFacts, stored: StoredLine): ReadonlyArray<Step> => {
  const { request } = facts
  const money = (minor: number | bigint): string => formatMoney(minor, request.currency)
  const priced = priceLine(request)
  const agrees =
    Result.isSuccess(priced) &&
    priced.success.unit_price === stored.unit_price &&
    priced.success.subtotal - priced.success.discount === stored.discounted_total
  const steps: Array<Step> = agrees
    ? [...explainSubtotal(facts, priced.success), ...explainDiscount(request, priced.success)]
    : [
        {
          figure: "discounted_total",
          rule: "kept",
          from: null,
          to: money(stored.discounted_total),
          words:
            `${money(stored.discounted_total)} is what it came to when the line was last changed; ` +
            (Result.isFailure(priced)
              ? "it could not be priced anew now."
              : `with what is known now it would be ${money(priced.success.subtotal - priced.success.discount)}.`)
        }
      ]
  if (request.prices_include_tax) {
    const rate = stored.tax_rate ?? "0"
    const { net } = inclusiveTax(stored.discounted_total, rate)
    const rounding = roundingWords(
      exact(stored.discounted_total).times(100).dividedBy(exact(rate).plus(100)).toDecimalPlaces(6),
      request.currency
    )
    steps.push({
      figure: "total",
      rule: "tax_included",
      from: money(stored.discounted_total),
      to: money(net),
      words: `Prices include tax: without ${exact(rate).toFixed()}% it is ${money(net)}${rounding}.`
    })
  }
  return steps
}

const explainSubtotal = ({ rate, request }: LineFacts, priced: PricedLine): ReadonlyArray<Step> => {
  const money = (minor: number | bigint): string => formatMoney(minor, request.currency)
  const quantity = wholeUnits(request.quantity)
  const whole: ReadonlyArray<Step> = exact(request.quantity).isInteger()
    ? []
    : [
        {
          figure: "quantity",
          rule: "whole_units",
          from: request.quantity,
          to: String(quantity),
          words: `Only whole units are charged: ${request.quantity} is rounded to ${quantity}.`
        }
      ]
  if (priced.source === "rate" && rate !== null && request.rate !== null) {
    const starts_at = request.starts_at ?? request.ends_at ?? "",
      ends_at = request.ends_at ?? starts_at
    return [
      ...whole,
      ...explainLineRate(rate, request.rate, request.currency),
      ...explainCalculation({
        ...request.rate.method,
        price: request.rate.price,
        currency: request.currency,
        start: starts_at,
        end: ends_at,
        quantity: Math.max(1, quantity)
      })
    ]
  }
  if (request.manual_total !== undefined && request.manual_total !== null)
    return [
      ...whole,
      {
        figure: "total",
        rule: "manual_total",
        from: null,
        to: money(priced.subtotal),
        words: `The total of ${money(priced.subtotal)} was set by hand for the whole line; no rate is asked.`
      }
    ]
  const found = rate === null ? [] : explainLineRate(rate, null, request.currency)
  const price: Step =
    priced.source === "manual"
      ? {
          figure: "unit_price",
          rule: "manual_price",
          from: null,
          to: money(priced.unit_price),
          words: `The price of ${money(priced.unit_price)} was set by hand; no rate is asked.`
        }
      : {
          figure: "unit_price",
          rule: "carried_price",
          from: null,
          to: money(priced.unit_price),
          words: `No rate prices the line; it keeps ${money(priced.unit_price)}.`
        }
  const days = explainDays(request, priced.units)
  const total: Step = {
    figure: "total",
    rule: "quantity",
    from: money(priced.unit_price),
    to: money(priced.subtotal),
    words: `${quantity} × ${money(priced.unit_price)}${isOnce(request) ? "" : ` × ${countText(priced.units, "day")}`} is ${money(priced.subtotal)}.`
  }
  return [...whole, ...found, price, days, total]
}

const explainLineRate = (
  { money, question, rates }: NonNullable<LineFacts["rate"]>,
  won: LineRate | null,
  currency: string
): ReadonlyArray<Step> => {
  const own = rates.filter((rate) => rate.currency === currency)
  const base = rates.filter((rate) => rate.currency === money.base_currency)
  if (won === null) return [explainChoice([], question)]
  if (applicableRates(own, question).length > 0) return [explainChoice(own, question)]
  const before = base.find(({ id }) => id === won.product_rate_id)
  if (before === undefined) return []
  return [
    explainChoice(base, question),
    {
      figure: "unit_price",
      rule: "exchange_rate",
      from: `${formatMoney(before.price, before.currency)} ${before.currency}`,
      to: `${formatMoney(won.price, currency)} ${currency}`,
      words:
        `No rate in ${currency} holds, so the one in ${before.currency} is converted at the opportunity's own rate, ` +
        `1 ${currency} = ${exact(money.exchange_rate).toFixed()} ${before.currency}: ${formatMoney(won.price, currency)}.`
    }
  ]
}

const isOnce = ({ is_fixed, transaction_type }: LineRequest): boolean =>
  is_fixed === true || transaction_type === "sale"
const explainDays = (request: LineRequest, units: number): Step => {
  const step = { figure: "units", from: null, to: String(units) }
  const { chargeable_days, use_chargeable_days } = request.days
  if (request.transaction_type !== "sale" && request.is_fixed === true)
    return { ...step, rule: "fixed_price", words: "The charge period is fixed: the price is for the whole time." }
  if (request.transaction_type === "sale")
    return { ...step, rule: "sold", words: "What is sold is charged once, whatever the time." }
  if (use_chargeable_days && chargeable_days !== null) {
    return {
      ...step,
      from: chargeable_days,
      rule: "chargeable_days",
      words: `The opportunity charges for ${chargeable_days} days, in whole days: ${units}.`
    }
  }
  return request.starts_at === null || request.ends_at === null || chargeableDays(request, request.days) !== units
    ? { ...step, rule: "at_least_one", words: "Without dates one day is charged." }
    : {
        ...step,
        rule: "whole_days",
        words: `From ${request.starts_at} to ${request.ends_at}, in whole days of 24 hours, rounded down, at least one: ${units}.`
      }
}

const explainDiscount = (request: LineRequest, priced: PricedLine): ReadonlyArray<Step> => {
  if (request.discount_percent === null) return []
  const money = (minor: number): string => formatMoney(minor, request.currency)
  const rounding = roundingWords(
    exact(priced.subtotal).times(exact(request.discount_percent)).dividedBy(100),
    request.currency
  )
  return [
    {
      figure: "discounted_total",
      rule: "line_discount",
      from: money(priced.subtotal),
      to: money(priced.subtotal - priced.discount),
      words: `The line's own discount of ${request.discount_percent}% takes off ${money(priced.discount)}${rounding}.`
    }
  ]
}
