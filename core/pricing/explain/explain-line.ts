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
  const kept = money(stored.discounted_total)
  const now = Result.isFailure(priced)
    ? "it could not be priced anew now."
    : `with what is known now it would be ${money(priced.success.subtotal - priced.success.discount)}.`
  const words = `${kept} is what it came to when the line was last changed; ${now}`
  const steps: Array<Step> = agrees
    ? [...explainSubtotal(facts, priced.success), ...explainDiscount(request, priced.success)]
    : [{ figure: "discounted_total", rule: "kept", from: null, to: kept, words }]
  if (request.prices_include_tax) {
    const rate = stored.tax_rate ?? "0"
    const { net } = inclusiveTax(stored.discounted_total, rate)
    const rounding = roundingWords(
      exact(stored.discounted_total).times(100).dividedBy(exact(rate).plus(100)).toDecimalPlaces(6),
      request.currency
    )
    const without_tax = `Prices include tax: without ${exact(rate).toFixed()}% it is ${money(net)}${rounding}.`
    steps.push({ figure: "total", rule: "tax_included", from: kept, to: money(net), words: without_tax })
  }
  return steps
}

const explainSubtotal = ({ rate, request }: LineFacts, priced: PricedLine): ReadonlyArray<Step> => {
  const unit_price = formatMoney(priced.unit_price, request.currency)
  const subtotal = formatMoney(priced.subtotal, request.currency)
  const quantity = wholeUnits(request.quantity)
  const rounded = `Only whole units are charged: ${request.quantity} is rounded to ${quantity}.`
  const whole: ReadonlyArray<Step> = exact(request.quantity).isInteger()
    ? []
    : [{ figure: "quantity", rule: "whole_units", from: request.quantity, to: String(quantity), words: rounded }]
  if (priced.source === "rate" && rate !== null && request.rate !== null) {
    const { currency } = request
    const { method, price } = request.rate
    const start = request.starts_at ?? request.ends_at ?? ""
    const hire = { start, end: request.ends_at ?? start, quantity: Math.max(1, quantity) }
    return [
      ...whole,
      ...explainLineRate(rate, request.rate, currency),
      ...explainCalculation({ ...method, price, currency, ...hire })
    ]
  }
  if (request.manual_total !== undefined && request.manual_total !== null) {
    const words = `The total of ${subtotal} was set by hand for the whole line; no rate is asked.`
    return [...whole, { figure: "total", rule: "manual_total", from: null, to: subtotal, words }]
  }
  const found = rate === null ? [] : explainLineRate(rate, null, request.currency)
  const [rule, words] =
    priced.source === "manual"
      ? ["manual_price", `The price of ${unit_price} was set by hand; no rate is asked.`]
      : ["carried_price", `No rate prices the line; it keeps ${unit_price}.`]
  const price: Step = { figure: "unit_price", rule, from: null, to: unit_price, words }
  const days = explainDays(request, priced.units)
  const time = isOnce(request) ? "" : ` × ${countText(priced.units, "day")}`
  const product = `${quantity} × ${unit_price}${time} is ${subtotal}.`
  const total: Step = { figure: "total", rule: "quantity", from: unit_price, to: subtotal, words: product }
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
  const from = `${formatMoney(before.price, before.currency)} ${before.currency}`
  const price = formatMoney(won.price, currency)
  const words =
    `No rate in ${currency} holds, so the one in ${before.currency} is converted at the opportunity's own rate, ` +
    `1 ${currency} = ${exact(money.exchange_rate).toFixed()} ${before.currency}: ${price}.`
  const converted = { figure: "unit_price", rule: "exchange_rate", from, to: `${price} ${currency}`, words }
  return [explainChoice(base, question), converted]
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
    const charged = `The opportunity charges for ${chargeable_days} days, in whole days: ${units}.`
    return { ...step, from: chargeable_days, rule: "chargeable_days", words: charged }
  }
  const { ends_at, starts_at } = request
  if (starts_at === null || ends_at === null || chargeableDays(request, request.days) !== units)
    return { ...step, rule: "at_least_one", words: "Without dates one day is charged." }
  const words = `From ${starts_at} to ${ends_at}, in whole days of 24 hours, rounded down, at least one: ${units}.`
  return { ...step, rule: "whole_days", words }
}

const explainDiscount = (request: LineRequest, priced: PricedLine): ReadonlyArray<Step> => {
  if (request.discount_percent === null) return []
  const money = (minor: number): string => formatMoney(minor, request.currency)
  const rounding = roundingWords(
    exact(priced.subtotal).times(exact(request.discount_percent)).dividedBy(100),
    request.currency
  )
  const [from, to] = [money(priced.subtotal), money(priced.subtotal - priced.discount)]
  const words = `The line's own discount of ${request.discount_percent}% takes off ${money(priced.discount)}${rounding}.`
  return [{ figure: "discounted_total", rule: "line_discount", from, to, words }]
}
