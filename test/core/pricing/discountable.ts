/** What discounts are tried on: the facts of an ordinary line, and a rule that takes a tenth off each. */
import type { CriteriaFacts } from "../../../core/pricing/criteria-match.ts"
import type { DiscountRule } from "../../../core/pricing/discounts.ts"

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
