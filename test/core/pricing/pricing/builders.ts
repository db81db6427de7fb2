/** Builders for pricing tests: facts of an ordinary line, a discount rule of 10 %, and a rental rate. */
import type { DiscountRule, meetsCriteria } from "../../../../core/pricing/pricing/discounts.ts"
import { noRateMethod, type PricedRate } from "../../../../core/pricing/pricing/engine.ts"

type CriteriaFacts = Parameters<typeof meetsCriteria>[1]
export const lineFacts = (over: Partial<CriteriaFacts> = {}): CriteriaFacts => ({
  member_id: 7,
  "member.membership_type": null,
  "member.discount_category_id": null,
  "member.price_category_id": null,
  "member.tag_list": [],
  store_id: 1,
  product_id: 5,
  product_group_id: null,
  product_type: null,
  transaction_type: "rental",
  quantity: "1.00",
  chargeable_days: "1",
  line_total: 0,
  charge_total: 0,
  starts_at: null,
  ends_at: null,
  day_of_week: null,
  state: null,
  ...over
})
export const discountRule = (id: number, over: Partial<DiscountRule> = {}): DiscountRule => ({
  id,
  name: `Rule ${id}`,
  discount_type: "percentage",
  discount_value: "10.00",
  applies_to: "line",
  max_discount_amount: null,
  currency_code: null,
  criteria: {},
  auto_apply: true,
  stackable: false,
  priority: 0,
  is_active: true,
  valid_from: null,
  valid_to: null,
  store_id: null,
  ...over
})
export const pricedRate = (over: Partial<PricedRate>): PricedRate => ({
  id: 1,
  rate_definition_id: 10,
  store_id: null,
  transaction_type: "rental",
  priority: 0,
  valid_from: null,
  valid_to: null,
  price: 5000,
  currency: "GBP",
  method: noRateMethod,
  ...over
})
