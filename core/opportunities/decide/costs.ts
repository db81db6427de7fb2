/** Costs and the deal price (opportunities 8 and 11, rates 9.4). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import type { ValuesOf } from "../../kernel/field.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import type { costFields } from "../cost-fields.ts"
import { type Deal, type Known, withHeader } from "../deal.ts"
import { headerChanged } from "../header-events.ts"
import { partAdded, partChanged, partRemoved } from "../part-events.ts"
import type { CostRow } from "../parts.ts"
import { taxOf } from "../pricing.ts"
import { newCost, settle } from "../settle.ts"
import { allowed } from "../statuses.ts"

export type CostValues = Partial<ValuesOf<typeof costFields>>
const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))

/** What the activity tells of a cost (opportunities 15). */
export const costSnapshot = (cost: CostRow): JsonObject => ({
  cost_id: cost.id, description: cost.description, cost_type: cost.cost_type, amount: cost.amount, quantity: cost.quantity,
  transaction_type: cost.transaction_type, is_optional: cost.is_optional
})
const stored = ({ currency: _currency, ...columns }: CostValues): Partial<CostRow> => columns
const inDealCurrency = (deal: Deal, sent: CostValues): Result.Result<void, Rejection> =>
  typeof sent.currency === "string" && sent.currency !== deal.header.currency_code
    ? refuse("currency", `The opportunity is in ${deal.header.currency_code}; its costs are too.`)
    : Result.succeed(undefined)
const byHand = (cost: CostRow): Result.Result<void, Rejection> =>
  cost.surcharge_id === null ? Result.succeed(undefined)
    : refuse("cost", "This cost is worked out from a surcharge group; switch the group off on the opportunity instead.")

/** Costs are taxed in the default product class; shown for information, like a line's. */
const taxShown = (known: Known): Partial<CostRow> => ({ tax_rate: taxOf(known, known.tax.default_product_tax_class_id).percentage })

export const addCost = (known: Known, sent: CostValues, context: DecideContext): Decided => Result.gen(function*() {
  const { deal } = known
  yield* allowed(deal.header, "edit")
  yield* inDealCurrency(deal, sent)
  const cost: CostRow = { ...newCost(deal.header, context), ...stored(sent), ...taxShown(known) }
  const settled = yield* settle(known, { ...deal, costs: [...deal.costs, cost] }, {}, context)
  return { events: [partAdded(deal.header.id, "cost", cost), ...settled.events], result: { id: deal.header.id, cost_id: cost.id } }
})

export const changeCost = (known: Known, cost: CostRow, sent: CostValues, context: DecideContext): Decided => Result.gen(function*() {
  const { deal } = known
  yield* allowed(deal.header, "edit")
  yield* byHand(cost)
  yield* inDealCurrency(deal, sent)
  const set = Object.fromEntries(Object.entries({ ...stored(sent), ...taxShown(known) }).filter(([name, value]) => cost[name as keyof CostRow] !== value))
  if (Object.keys(set).length === 0) return { events: [], result: { id: deal.header.id } }
  const after = { ...deal, costs: deal.costs.map((one) => one.id === cost.id ? { ...one, ...set } : one) }
  const settled = yield* settle(known, after, {}, context)
  return { events: [costUpdated(cost, set), ...settled.events], result: { id: deal.header.id } }
})

/** With all that the activity tells of it, whatever of that changes. */
const costUpdated = (cost: CostRow, set: Partial<CostRow>): NewEvent => {
  const { cost_id: _id, ...was } = costSnapshot(cost)
  const stays = Object.fromEntries(Object.entries(was).filter(([name]) => !(name in set)))
  const changed = partChanged(cost.opportunity_id, "cost", "cost_updated", cost, set, stays)
  return { ...changed, data: { ...changed.data, was: { ...was, ...changed.data["was"] as JsonObject } } }
}

export const removeCost = (known: Known, cost: CostRow, context: DecideContext): Decided => Result.gen(function*() {
  const { deal } = known
  yield* allowed(deal.header, "edit")
  yield* byHand(cost)
  const settled = yield* settle(known, { ...deal, costs: deal.costs.filter(({ id }) => id !== cost.id) }, {}, context)
  return { events: [partRemoved(deal.header.id, "cost", cost.id, costSnapshot(cost)), ...settled.events], result: { id: deal.header.id } }
})

/** One figure for the whole deal, net; the sums of lines and costs stay what they are. 422 on `opportunity` while locked. */
export const setDealPrice = (known: Known, deal_total: number, currency: string | null | undefined, context: DecideContext): Decided => Result.gen(function*() {
  const { deal } = known
  yield* allowed(deal.header, "edit")
  yield* inDealCurrency(deal, currency === undefined ? {} : { currency })
  if (deal.header.exchange_rate_locked || deal.header.tax_locked) return yield* refuse("opportunity", "Prices are locked; release the locks before setting a deal price.")
  if (deal.header.deal_total === deal_total) return { events: [], result: { id: deal.header.id } }
  return yield* withDealTotal(known, "deal_price_set", deal_total, context)
})
/** Allowed while locked, and on a deal without one (opportunities 0, 7). */
export const clearDealPrice = (known: Known, context: DecideContext): Decided => Result.gen(function*() {
  yield* allowed(known.deal.header, "edit")
  return known.deal.header.deal_total === null ? { events: [], result: { id: known.deal.header.id } }
    : yield* withDealTotal(known, "deal_price_cleared", null, context)
})
const withDealTotal = (known: Known, name: "deal_price_set" | "deal_price_cleared", deal_total: number | null, context: DecideContext): Decided =>
  Result.map(settle(known, withHeader(known.deal, { deal_total }), {}, context), ({ deal, events }) => ({
    events: [headerChanged(known.deal.header, name, { deal_total }, { charge_total: deal.header.charge_total }), ...events],
    result: { id: deal.header.id }
  }))
