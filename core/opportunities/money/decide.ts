/** Costs and the deal price (rules/opportunities 8 and 11, rules/rates 9.4). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import type { ValuesOf } from "../../kernel/field.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import type { costFields } from "./schema.ts"
import { type Opportunity, type DecisionState, withHeader } from "../aggregate.ts"
import { costAdded, costRemoved, costUpdated, dealPriceChanged } from "./events.ts"
import type { CostRow } from "./schema.ts"
import { taxOf } from "./pricing.ts"
import { newCostRow, recalculate } from "../recalculate.ts"
import { requireTransition } from "../status/statuses.ts"

type CostValues = Partial<ValuesOf<typeof costFields>>
const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))

const stored = ({ currency: _currency, ...columns }: CostValues): Partial<CostRow> => columns
const inOpportunityCurrency = (opportunity: Opportunity, sent: CostValues): Result.Result<void, Rejection> =>
  typeof sent.currency === "string" && sent.currency !== opportunity.header.currency_code
    ? refuse("currency", `The opportunity is in ${opportunity.header.currency_code}; its costs are too.`)
    : Result.succeed(undefined)
const byHand = (cost: CostRow): Result.Result<void, Rejection> =>
  cost.surcharge_id === null
    ? Result.succeed(undefined)
    : refuse("cost", "This cost is worked out from a surcharge group; switch the group off on the opportunity instead.")

/** The tax rate shown with a cost, for information: costs are taxed in the default product class. */
const taxShown = (state: DecisionState): Partial<CostRow> => ({
  tax_rate: taxOf(state, state.tax.default_product_tax_class_id).percentage
})

export const addCost = (
  state: DecisionState,
  sent: CostValues,
  context: DecideContext
): Decided<{ readonly id: number; readonly cost_id: number }> =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* inOpportunityCurrency(opportunity, sent)
    const cost: CostRow = { ...newCostRow(opportunity.header, context), ...stored(sent), ...taxShown(state) }
    const recalculated = yield* recalculate(state, { ...opportunity, costs: [...opportunity.costs, cost] }, {}, context)
    return {
      events: [costAdded(cost), ...recalculated.events],
      result: { id: opportunity.header.id, cost_id: cost.id }
    }
  })

export const changeCost = (state: DecisionState, cost: CostRow, sent: CostValues, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* byHand(cost)
    yield* inOpportunityCurrency(opportunity, sent)
    const set = Object.fromEntries(
      Object.entries({ ...stored(sent), ...taxShown(state) }).filter(
        ([name, value]) => cost[name as keyof CostRow] !== value
      )
    )
    if (Object.keys(set).length === 0) return { events: [], result: { id: opportunity.header.id } }
    const after = {
      ...opportunity,
      costs: opportunity.costs.map((one) => (one.id === cost.id ? { ...one, ...set } : one))
    }
    const recalculated = yield* recalculate(state, after, {}, context)
    return { events: [costUpdated(cost, set), ...recalculated.events], result: { id: opportunity.header.id } }
  })

export const removeCost = (state: DecisionState, cost: CostRow, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* byHand(cost)
    const recalculated = yield* recalculate(
      state,
      { ...opportunity, costs: opportunity.costs.filter(({ id }) => id !== cost.id) },
      {},
      context
    )
    return { events: [costRemoved(cost), ...recalculated.events], result: { id: opportunity.header.id } }
  })

/** A net price for the whole opportunity; lines and costs keep theirs. 422 on `opportunity` while prices are locked. */
export const setDealPrice = (
  state: DecisionState,
  deal_total: number,
  currency: string | null | undefined,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* inOpportunityCurrency(opportunity, currency === undefined ? {} : { currency })
    if (opportunity.header.exchange_rate_locked || opportunity.header.tax_locked)
      return yield* refuse("opportunity", "Prices are locked; release the locks before setting a deal price.")
    if (opportunity.header.deal_total === deal_total) return { events: [], result: { id: opportunity.header.id } }
    return yield* withDealTotal(state, "deal_price_set", deal_total, context)
  })
/** Allowed while prices are locked; without a deal price nothing happens (rules/opportunities 0). */
export const clearDealPrice = (state: DecisionState, context: DecideContext): Decided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "edit")
    return state.opportunity.header.deal_total === null
      ? { events: [], result: { id: state.opportunity.header.id } }
      : yield* withDealTotal(state, "deal_price_cleared", null, context)
  })
const withDealTotal = (
  state: DecisionState,
  name: "deal_price_set" | "deal_price_cleared",
  deal_total: number | null,
  context: DecideContext
): Decided =>
  Result.map(
    recalculate(state, withHeader(state.opportunity, { deal_total }), {}, context),
    ({ opportunity, events }) => ({
      events: [
        dealPriceChanged(
          name,
          state.opportunity.header,
          { deal_total },
          { charge_total: opportunity.header.charge_total }
        ),
        ...events
      ],
      result: { id: opportunity.header.id }
    })
  )
