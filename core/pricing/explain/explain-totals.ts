/**
 * Explains the sums of an opportunity: discount rules, surcharges, deal price, tax by group, locks (rules/rates 9,
 * rules/billing 4, 5).
 */
import { exact, wholeUnits } from "../../values/decimal.ts"
import { formatMoney } from "../../values/money.ts"
import type { DiscountRule, Discounts, LineCurrency, LineRate } from "../pricing/discounts.ts"
import { discountCandidates } from "../pricing/discounts.ts"
import { countText, roundingWords, type Step } from "./explain-step.ts"
import type { CalculatedSurcharge, PricedOpportunity, StagesRequest } from "../pricing/surcharges.ts"
import { calculateSurcharges, discountRequestOf, surchargeRequestOf } from "../pricing/surcharges.ts"
import { netCost, type TaxGroup, type TotalCost } from "../pricing/totals.ts"
import { Result } from "effect"
import { applicableRates, type PricedRate, type RateLookup } from "../pricing/engine.ts"
import { explainCalculation, explainChoice } from "./explain.ts"
import { chargeableDays, inclusiveTax, type LineRequest, type PricedLine, priceLine } from "../pricing/line.ts"

interface NamedCost extends TotalCost {
  readonly id: number
  readonly description: string
}
interface TotalsFacts {
  readonly request: StagesRequest
  /** Result of `priceOpportunity` for the request. */
  readonly priced: PricedOpportunity
  readonly costs: ReadonlyArray<NamedCost>
}

/** Steps to totals, rules and surcharges. Those of a line are named `items.<id>.total`, of a cost `costs.<id>.net`. */
export const explainTotals = (facts: TotalsFacts): ReadonlyArray<Step> => [
  ...explainRules(facts),
  ...explainSurcharges(facts),
  ...explainCosts(facts),
  ...explainParts(facts),
  ...explainTax(facts)
]

const moneyOf =
  ({ request }: TotalsFacts) =>
  (minor: number): string =>
    formatMoney(minor, request.currency)

const explainRules = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const { priced, request } = facts
  const money = moneyOf(facts)
  if (request.deal_total !== null) {
    const words = "A price was agreed for the whole deal, so discount rules and surcharges are passed over."
    return request.rules.length + request.surcharge_groups.length === 0
      ? []
      : [{ figure: "charge_total", rule: "deal_price", from: null, to: money(request.deal_total), words }]
  }
  const kept = request.locked !== null
  const contest = kept ? [] : explainContest(facts)
  const rules = priced.applied_rules.map((applied): Step => {
    const rule = request.rules.find(({ id }) => id === applied.rule_id)
    const how =
      kept || rule === undefined
        ? "as it stood when pricing was locked"
        : ruleWords(rule, applied.amount, request, money)
    const words = `"${applied.name}" (rule ${applied.rule_id}) takes off ${money(applied.amount)}: ${how}.`
    return { figure: "charge_total", rule: "discount_rule", from: null, to: money(-applied.amount), words }
  })
  const lines = request.lines.flatMap((line): ReadonlyArray<Step> => {
    const net = priced.line_nets.get(line.id) ?? line.net
    const words = `Discount rules take ${money(line.net - net)} off this line.`
    return net === line.net
      ? []
      : [{ figure: `items.${line.id}.total`, rule: "discount_rule", from: money(line.net), to: money(net), words }]
  })
  return [...contest, ...rules, ...lines]
}

const ruleWords = (
  rule: DiscountRule,
  amount: number,
  request: StagesRequest,
  money: (minor: number) => string
): string => {
  const { currency_code, discount_type, discount_value, max_discount_amount } = rule
  const value =
    discount_type === "percentage" ? `${discount_value}%` : `${discount_value} ${currency_code ?? request.currency}`
  const base =
    rule.applies_to === "line"
      ? "each line it meets"
      : "the lines it meets together, spread by their nets with the odd minor units to the largest remainders"
  const maximum =
    max_discount_amount !== null && amount === max_discount_amount ? `, ${money(max_discount_amount)} at most` : ""
  const how = request.named_rule_ids.includes(rule.id) ? "named on the opportunity" : "applied by itself"
  const deleted = rule.deleted_at == null ? "" : "; deleted since, it goes on for lines there were"
  return `${value} off ${base}${maximum}, ${how}${deleted}`
}

const worth = ({ applied }: Discounts): number => applied.reduce((sum, { amount }) => sum + amount, 0)
const namesOf = ({ applied }: Discounts): string => applied.map(({ name }) => `"${name}"`).join(" and then ")

/** Step on the choice between several discounts: the largest, and the amounts of the others. */
const explainContest = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const money = moneyOf(facts)
  const { alone, stack } = discountCandidates(discountRequestOf(facts.request))
  const ways = [stack, ...alone].filter((way) => worth(way) > 0)
  if (ways.length < 2) return []
  const taken = ways.reduce((best, way) => (worth(way) > worth(best) ? way : best))
  const others = ways.filter((way) => way !== taken).map((way) => `${namesOf(way)} (${money(worth(way))})`)
  const words = `${namesOf(taken)} takes off the most, ${money(worth(taken))}; left aside: ${others.join(", ")}.`
  return [{ figure: "charge_total", rule: "best_for_customer", from: null, to: money(-worth(taken)), words }]
}

const explainSurcharges = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const { priced, request } = facts
  const money = moneyOf(facts)
  if (request.deal_total !== null) return []
  const computed = new Map(
    request.locked !== null
      ? []
      : calculateSurcharges(surchargeRequestOf(request, priced.line_discounts)).map((one) => [one.surcharge_id, one])
  )
  return priced.surcharges.map((applied): Step => {
    const one = computed.get(applied.surcharge_id)
    const to = money(applied.net)
    const [from, how] =
      one === undefined
        ? [null, `${to} as it stood when pricing was locked`]
        : [money(one.base), surchargeWords(one, request, money)]
    return {
      figure: "service_charge_total",
      rule: "surcharge",
      from,
      to,
      words: `Surcharge "${applied.name}": ${how}.`
    }
  })
}

const surchargeWords = (one: CalculatedSurcharge, request: StagesRequest, money: (minor: number) => string): string => {
  const {
    surcharge: { applies_to, calculation_type, value },
    base,
    net,
    unlimited
  } = one
  const lines = applies_to === "all" ? "all lines" : `${applies_to} lines`
  const reckoning =
    calculation_type === "percentage"
      ? `${value}% of ${money(base)} on ${lines} is ${money(unlimited)}${roundingWords(exact(base).times(exact(value)).dividedBy(100), request.currency)}`
      : calculation_type === "per_day"
        ? `${value} a day for ${Math.max(1, request.days)} is ${money(unlimited)}`
        : `${money(unlimited)} once, because there are ${lines === "all lines" ? "lines" : lines}`
  return net === unlimited ? reckoning : `${reckoning}, but ${net > unlimited ? "at least" : "at most"} ${money(net)}`
}

const explainCosts = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const { costs, request } = facts
  const money = moneyOf(facts)
  return costs.map((cost): Step => {
    const { net } = netCost(request, cost)
    const gross = money(cost.amount)
    const step = { figure: `costs.${cost.id}.net`, from: gross, to: money(net) }
    if (cost.is_optional)
      return { ...step, to: money(0), rule: "optional", words: `"${cost.description}" is optional and does not count.` }
    const units = `in whole units${request.prices_include_tax ? ", without the tax in it" : ""}`
    const words = `"${cost.description}": ${cost.quantity} × ${gross}, ${units}, is ${money(net)}.`
    return { ...step, rule: "cost", words }
  })
}

const parts = [
  ["rental_charge_total", "rental"],
  ["sale_charge_total", "sale"],
  ["service_charge_total", "service"],
  ["sub_rental_charge_total", "sub-hire"],
  ["transit_charge_total", "delivery"],
  ["loss_damage_charge_total", "loss and damage"]
] as const

const explainParts = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const { totals } = facts.priced
  const money = moneyOf(facts)
  const filled = parts.filter(([name]) => totals[name] !== 0)
  const sums = filled.map(([name, label]): Step => {
    const words = `What counts as ${label} adds up to ${money(totals[name])}, net.`
    return { figure: name, rule: "sum", from: null, to: money(totals[name]), words }
  })
  const added = money(filled.reduce((sum, [name]) => sum + totals[name], 0))
  const headline = { figure: "charge_excluding_tax_total", to: money(totals.charge_total) }
  if (facts.request.deal_total === null)
    return [...sums, { ...headline, rule: "sum", from: null, words: `Together that is ${headline.to}, net.` }]
  const words = `The agreed price of ${headline.to} stands in place of the sum, ${added}.`
  return [...sums, { ...headline, rule: "deal_price", from: added, words }]
}

const explainTax = (facts: TotalsFacts): ReadonlyArray<Step> => {
  const {
    priced: { tax_groups, totals },
    request
  } = facts
  const money = moneyOf(facts)
  const groupWords = (group: TaxGroup): string =>
    group.product_tax_class_id === null
      ? `${money(group.net)} has no tax class and is not taxed`
      : `${group.name}, ${exact(group.percentage).toFixed()}% of ${money(group.net)} (product tax class ${group.product_tax_class_id}), is ${money(group.tax)}` +
        roundingWords(exact(group.net).times(exact(group.percentage)).dividedBy(100), request.currency) +
        ", rounded once for the whole group"
  const groups = tax_groups.map((group): Step => {
    const [from, to] = [money(group.net), money(group.tax)]
    return { figure: "tax_total", rule: "tax_group", from, to, words: `${groupWords(group)}.` }
  })
  const tax = money(totals.tax_total)
  const [rule, rates] = request.tax_locked ? ["tax_locked", ", at the rates locked"] : ["sum", ""]
  const [from, to] = [money(totals.charge_total), money(totals.charge_including_tax_total)]
  return [
    ...groups,
    { figure: "tax_total", rule, from: null, to: tax, words: `The tax of all groups is ${tax}${rates}.` },
    { figure: "charge_including_tax_total", rule: "sum", from, to, words: `${from} and ${tax} of tax are ${to}.` }
  ]
}

// Explains the net of one line: manual price or rate, time, quantity, its own discount, tax taken out (rules/rates 9).

interface LineFacts {
  readonly request: LineRequest & { readonly rate: LineRate | null }
  /** Candidate rates and the lookup among them; null if none is needed: no product or dates, or a manual price. */
  readonly rate: {
    readonly rates: ReadonlyArray<PricedRate>
    readonly question: RateLookup
    readonly money: LineCurrency
  } | null
}
/** Stored amounts of the line, in minor units. */
interface StoredLine {
  readonly unit_price: number
  /** Total less the line's own discount; with tax if prices include it. */
  readonly discounted_total: number
  readonly tax_rate: string | null
}

/**
 * Steps to a line's net before discount rules. Lines keep the price of their last change: if current rates give another
 * one, a single step says so.
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
