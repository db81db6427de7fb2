/**
 * Prices of an opportunity: each line by the rate engine, then discount rules, surcharges, totals and tax for all
 * (rules/rates 9, rules/billing 4).
 */
import { Result } from "effect"
import { sameJson, type FieldErrors, type NewEvent } from "../../../kernel/index.ts"
import type { PricedRate, RateLookup } from "../../../pricing/pricing/engine.ts"
import type { LineCurrency, LineRate } from "../../../pricing/pricing/discounts.ts"
import { discountRuleIn, resolveLineRate } from "../../../pricing/pricing/discounts.ts"
import type { LineRequest, ResolvedTax } from "../../../pricing/pricing/line.ts"
import {
  chargeableDays,
  inclusiveTax,
  lockedTaxes,
  noTax,
  overrideErrors,
  priceLine,
  rateTypeOfLine,
  resolveLockedTax,
  transactionTypes
} from "../../../pricing/pricing/line.ts"
import type { RuleOutcome, StageLine, StagesRequest } from "../../../pricing/pricing/surcharges.ts"
import { surchargeGroupIn } from "../../../pricing/pricing/surcharges.ts"
import { itemAt } from "../../../values/text.ts"
import { dayOf, instantOf, millisOf, offsetAt, plusDays, zoneOf } from "../../../values/time.ts"
import { type DecisionState, liveLines, type Opportunity } from "./aggregate.ts"
import { fixed_charge, states, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { headerPriced } from "../events/money.ts"

const taxOf = (
  { customer, tax }: DecisionState,
  header: OpportunityRow,
  product_tax_class_id: number | null
): ResolvedTax => resolveLockedTax(header, tax, customer?.sale_tax_class_id ?? null, product_tax_class_id)
const taxClassOf = (state: DecisionState, line: ItemRow): number | null =>
  line.item_id === null ? null : (state.products.get(line.item_id)?.tax_class_id ?? null)
export const taxRateOf = (state: DecisionState, header: OpportunityRow, line: ItemRow): string =>
  taxOf(state, header, taxClassOf(state, line)).percentage

/** Tax percentage of costs, which are taxed in the default product class. */
export const costTaxRateOf = (state: DecisionState, header: OpportunityRow): string =>
  taxOf(state, header, state.tax.default_product_tax_class_id).percentage

/** Current tax percentages, to be locked. */
export const presentTaxes = ({ customer, tax }: DecisionState): OpportunityRow["locked_taxes"] =>
  lockedTaxes(tax, customer?.sale_tax_class_id ?? null)
/** Event that locks the current tax percentages; none if they are locked already. */
export const taxesLocked = (state: DecisionState): ReadonlyArray<NewEvent> => {
  const { id, tax_locked } = state.opportunity.header
  return tax_locked ? [] : [headerPriced(id, { locked_taxes: presentTaxes(state) })]
}
/** Event when a tax lock is released: clears locked rates equal to the current ones, as no line changes. */
export const taxesReleased = (state: DecisionState): ReadonlyArray<NewEvent> => {
  const { id, locked_taxes } = state.opportunity.header
  return locked_taxes.length > 0 && sameJson(locked_taxes, presentTaxes(state))
    ? [headerPriced(id, { locked_taxes: [] })]
    : []
}
/** An instant with the offset of the store's zone, as rates count local days and times (rules/rates 4.2). */
const onStoreClock = (state: DecisionState, instant: string): string => {
  const epoch_ms = millisOf(instant)
  const offset_minutes = offsetAt(epoch_ms, zoneOf(state.store?.timezone)) / 60_000
  if (offset_minutes === 0) return instant
  const sign = offset_minutes < 0 ? "-" : "+"
  const size = Math.abs(offset_minutes)
  const two = (part: number): string => String(Math.trunc(part)).padStart(2, "0")
  return `${instantOf(epoch_ms + offset_minutes * 60_000).slice(0, -1)}${sign}${two(size / 60)}:${two(size % 60)}`
}

const moneyOf = (state: DecisionState, header: OpportunityRow): LineCurrency => ({
  currency: header.currency_code,
  base_currency: state.base_currency,
  exchange_rate: header.exchange_rate
})

/** Input of pricing stage 1 for a line, with the rates to choose from. */
interface LinePricingRequest {
  readonly request: LineRequest & { readonly rate: LineRate | null }
  /** Null if no rate applies: without a product or dates, or with a manual price. */
  readonly rate: {
    readonly question: RateLookup
    readonly money: LineCurrency
    readonly rates: ReadonlyArray<PricedRate>
  } | null
}
export const pricingRequestOf = (state: DecisionState, header: OpportunityRow, line: ItemRow): LinePricingRequest => {
  const transaction_type = transactionTypes[line.transaction_type] ?? "rental"
  const starts_at = line.starts_at ?? header.starts_at
  const rate_choice =
    line.item_id === null || line.manual_unit_price !== null || starts_at === null
      ? null
      : {
          rates: state.rates.get(line.item_id) ?? [],
          question: {
            transaction_type: rateTypeOfLine[transaction_type],
            store_id: header.store_id,
            start: onStoreClock(state, starts_at)
          },
          money: moneyOf(state, header)
        }
  // An open-ended hire is charged as one day until it has an end.
  const ends_at = line.ends_at ?? header.ends_at ?? (starts_at === null ? null : plusDays(starts_at, 1))
  return {
    rate: rate_choice,
    request: {
      transaction_type,
      quantity: line.quantity,
      manual_unit_price: line.manual_unit_price,
      manual_total: line.manual_total,
      rate: rate_choice === null ? null : resolveLineRate(rate_choice.rates, rate_choice.question, rate_choice.money),
      carried_unit_price: line.unit_price,
      discount_percent: line.discount_percent,
      starts_at: starts_at === null ? null : onStoreClock(state, starts_at),
      ends_at: ends_at === null ? null : onStoreClock(state, ends_at),
      is_fixed: line.charge_period === fixed_charge,
      days: { use_chargeable_days: header.use_chargeable_days, chargeable_days: header.chargeable_days },
      currency: header.currency_code,
      prices_include_tax: header.prices_include_tax,
      tax_rate: taxRateOf(state, header, line)
    }
  }
}

/** Columns of a line set by pricing. Errors name the line's fields. */
export const priceOne = (
  state: DecisionState,
  header: OpportunityRow,
  line: ItemRow
): Result.Result<Partial<ItemRow>, FieldErrors> => {
  if (line.item_type === "group") return Result.succeed({ unit_price: 0, discounted_total: 0, tax_rate: null })
  const { request } = pricingRequestOf(state, header, line)
  return Result.flatMap(priceLine(request), (found) => {
    const errors = line.manual_unit_price === null ? undefined : overrideErrors(line.manual_unit_price, found)
    return errors !== undefined
      ? Result.fail(errors)
      : Result.succeed({
          unit_price: found.unit_price,
          discounted_total: found.subtotal - found.discount,
          tax_rate: request.tax_rate
        })
  })
}

/** Net amount of a line before discount rules. */
const netOf = (header: OpportunityRow, line: ItemRow): number =>
  header.prices_include_tax
    ? inclusiveTax(line.discounted_total, line.tax_rate ?? noTax.percentage).net
    : line.discounted_total

/** Input of pricing stages 2 to 4, for an opportunity with priced lines. */
export const stagesOf = (state: DecisionState, opportunity: Opportunity, now: string): StagesRequest => {
  const { header } = opportunity
  const lines = liveLines(opportunity).filter((line) => line.item_type !== "group")
  const starts_at = header.starts_at ?? now
  const zone = zoneOf(state.store?.timezone)
  const days = chargeableDays(header, header)
  const nets = lines.map((line) => netOf(header, line))
  const sum = lines.reduce((total, line, at) => total + (line.is_optional ? 0 : itemAt(nets, at)), 0)
  const day = dayOf(millisOf(starts_at), zone)
  const facts_of_all = {
    member_id: header.member_id,
    "member.membership_type": state.customer?.membership_type ?? null,
    "member.discount_category_id": state.customer?.discount_category_id ?? null,
    "member.price_category_id": state.customer?.price_category_id ?? null,
    "member.tag_list": state.customer?.tag_list ?? null,
    store_id: header.store_id,
    chargeable_days: String(days),
    charge_total: sum,
    starts_at: header.starts_at === null ? null : onStoreClock(state, header.starts_at),
    ends_at: header.ends_at === null ? null : onStoreClock(state, header.ends_at),
    day_of_week: weekday(day),
    state: states[header.state]?.toLowerCase() ?? null
  }
  const stageLines = lines.map((line, at): StageLine => {
    const product = line.item_id === null ? undefined : state.products.get(line.item_id)
    const transaction_type = transactionTypes[line.transaction_type] ?? "rental"
    const net = itemAt(nets, at)
    return {
      id: line.id,
      transaction_type,
      net,
      product_tax_class_id: product?.tax_class_id ?? null,
      tax_rate: line.tax_rate,
      is_optional: line.is_optional,
      discountable: product?.discountable ?? true,
      made_at: (line.first_made_at ?? line.created_at) || undefined,
      priced_by_hand: line.manual_unit_price !== null || line.discount_percent !== null,
      facts: {
        ...facts_of_all,
        product_id: line.item_id,
        product_group_id: product?.product_group_id ?? null,
        product_type: product?.product_type ?? null,
        transaction_type,
        quantity: line.quantity,
        line_total: net
      }
    }
  })
  return {
    lines: stageLines,
    costs: opportunity.costs.filter((cost) => cost.surcharge_id === null),
    rules: state.discount_rules.map((rule) => discountRuleIn(rule, moneyOf(state, header))),
    named_rule_ids: [...header.discount_rule_ids, ...header.kept_rule_ids],
    surcharge_groups: state.surcharge_groups.map((group) => surchargeGroupIn(group, moneyOf(state, header))),
    currency: header.currency_code,
    store_id: header.store_id,
    start_date: day,
    days,
    prices_include_tax: header.prices_include_tax,
    deal_total: header.deal_total,
    tax_locked: header.tax_locked,
    locked: header.exchange_rate_locked || header.tax_locked ? keptOutcome(opportunity) : null,
    default_product_tax_class_id: state.tax.default_product_tax_class_id,
    taxOf: (product_tax_class_id) => taxOf(state, header, product_tax_class_id)
  }
}

/** Stored results of discount rules and surcharges, for locked prices. */
const keptOutcome = (opportunity: Opportunity): RuleOutcome => ({
  line_discounts: new Map(opportunity.lines.map((line) => [line.id, line.rule_discount])),
  applied_rules: opportunity.header.applied_discounts.map((one) => ({
    rule_id: Number(one["rule_id"]),
    name: String(one["name"]),
    amount: Number(one["amount"])
  })),
  surcharges: opportunity.costs
    .filter((cost) => cost.surcharge_id !== null)
    .map((cost) => ({
      surcharge_group_id: cost.surcharge_group_id ?? 0,
      surcharge_id: cost.surcharge_id ?? 0,
      name: cost.description,
      cost_type: cost.cost_type,
      product_tax_class_id: cost.product_tax_class_id,
      net: cost.amount
    }))
})

/** Day of the week: 1 Monday to 7 Sunday. */
const weekday = (date: string): number => new Date(`${date}T00:00:00Z`).getUTCDay() || 7
