/**
 * Explains the sums of an opportunity: discount rules, surcharges, deal price, tax by group, locks (rules/rates 9,
 * rules/billing 4, 5).
 */
import { exact } from "../../values/decimal.ts"
import { formatMoney } from "../../values/money.ts"
import { discountCandidates, type DiscountRule, type Discounts } from "../pricing/discounts.ts"
import { roundingWords, type Step } from "./explain-step.ts"
import {
  type CalculatedSurcharge,
  calculateSurcharges,
  discountRequestOf,
  type PricedOpportunity,
  type StagesRequest,
  surchargeRequestOf
} from "../pricing/surcharges.ts"
import { netCost, type TaxGroup, type TotalCost } from "../pricing/totals.ts"

interface NamedCost extends TotalCost {
  readonly id: number
  readonly description: string
}
interface TotalsFacts {
  readonly request: StagesRequest
  /** The result of `priceOpportunity` for the request. */
  readonly priced: PricedOpportunity
  readonly costs: ReadonlyArray<NamedCost>
}

/** Totals, rules and surcharges as priced. Steps of a line are named `items.<id>.total`, of a cost `costs.<id>.net`. */
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

/** Where several discounts were possible: the one taken, and the amounts of the others. */
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
