/** Rules for costs and the deal price (rules/opportunities 8 and 11, rules/rates 9.4). */
import { Effect, Result } from "effect"
import { choice, command, decision, forbidden, hasOnePermission, integer, later, money } from "../../../kernel/index.ts"
import { reject, Shown, text, withMore, withRules } from "../../../kernel/index.ts"
import type { AnyRow, DecideContext, Decided, Endpoint, Input, Rejection, ValuesOf } from "../../../kernel/index.ts"
import { costTaxRateOf, loadDecisionState, newCostRow, opportunityAnswer, opportunityShown } from "../state/index.ts"
import { recalculate, withHeader, withParts, type DecisionState, type Opportunity } from "../state/index.ts"
import { costAdded, costRemoved, costUpdated, dealPriceChanged } from "../events/money.ts"
import { cost, costFields, edit, one, path, requireTransition, type CostRow } from "../tables/index.ts"

type CostValues = Partial<ValuesOf<typeof costFields>>

const stored = ({ currency: _currency, ...columns }: CostValues): Partial<CostRow> => columns
const inOpportunityCurrency = (opportunity: Opportunity, sent: CostValues): Result.Result<void, Rejection> =>
  typeof sent.currency === "string" && sent.currency !== opportunity.header.currency_code
    ? reject("currency", `The opportunity is in ${opportunity.header.currency_code}; its costs are too.`)
    : Result.succeed(undefined)
const byHand = (cost: CostRow): Result.Result<void, Rejection> =>
  cost.surcharge_id === null
    ? Result.succeed(undefined)
    : reject("cost", "This cost is worked out from a surcharge group; switch the group off on the opportunity instead.")

const taxed = (state: DecisionState): Partial<CostRow> => ({ tax_rate: costTaxRateOf(state, state.opportunity.header) })

export const addCost = (
  state: DecisionState,
  sent: CostValues,
  context: DecideContext
): Decided<{ readonly id: number; readonly cost_id: number }> =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* inOpportunityCurrency(opportunity, sent)
    const cost: CostRow = { ...newCostRow(opportunity.header, context), ...stored(sent), ...taxed(state) }
    const recalculated = yield* recalculate(state, { ...opportunity, costs: [...opportunity.costs, cost] }, {}, context)
    return {
      events: [costAdded(cost), ...recalculated.events],
      result: { id: opportunity.header.id, cost_id: cost.id }
    }
  })

const changeCost = (state: DecisionState, cost: CostRow, sent: CostValues, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* byHand(cost)
    yield* inOpportunityCurrency(opportunity, sent)
    const before: AnyRow = cost
    const set = Object.fromEntries(
      Object.entries({ ...stored(sent), ...taxed(state) }).filter(([name, value]) => before[name] !== value)
    )
    if (Object.keys(set).length === 0) return decision(opportunity.header.id, [])
    const after = {
      ...opportunity,
      costs: opportunity.costs.map((one) => (one.id === cost.id ? { ...one, ...set } : one))
    }
    const recalculated = yield* recalculate(state, after, {}, context)
    return decision(opportunity.header.id, [costUpdated(cost, set), ...recalculated.events])
  })

const removeCost = (state: DecisionState, cost: CostRow, context: DecideContext): Decided =>
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
    return decision(opportunity.header.id, [costRemoved(cost), ...recalculated.events])
  })

/**
 * Sets a net price for the whole opportunity; lines and costs keep theirs. 422 on `opportunity` while prices are
 * locked.
 */
const setDealPrice = (
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
      return yield* reject("opportunity", "Prices are locked; release the locks before setting a deal price.")
    if (opportunity.header.deal_total === deal_total) return decision(opportunity.header.id, [])
    return yield* withDealTotal(state, "deal_price_set", deal_total, context)
  })
/** Allowed while prices are locked; no effect without a deal price (rules/opportunities 0). */
const clearDealPrice = (state: DecisionState, context: DecideContext): Decided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "edit")
    return state.opportunity.header.deal_total === null
      ? decision(state.opportunity.header.id, [])
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
    ({ opportunity, events }) =>
      decision(opportunity.header.id, [
        dealPriceChanged(
          name,
          state.opportunity.header,
          { deal_total },
          { charge_total: opportunity.header.charge_total }
        ),
        ...events
      ])
  )

// Endpoints of costs and the deal price (rules/opportunities 8, 11).

const deciding = later(() => import("./reprice.ts"))
const unlock = "opportunities.unlock_rates"
const shown = (_result: unknown, input: Input<typeof one>) => opportunityAnswer(input.rows.id.id, input, withParts)

const costs: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/costs`, {
    answer: opportunityShown,
    success_status: 201,
    name: "opportunities.add_cost",
    summary: "Add a cost to an opportunity",
    ...edit,
    params: one,
    fields: costFields,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => addCost(state, input.values, context),
    respond: (_result, input) => opportunityAnswer(input.rows.id.id, input, withParts, 201)
  }),
  command("PATCH", `${path}/{id}/costs/{cost}`, {
    answer: opportunityShown,
    name: "opportunities.update_cost",
    summary: "Update a cost of an opportunity",
    ...edit,
    params: cost,
    fields: costFields,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => changeCost(state, input.rows.cost, input.values, context),
    respond: shown
  }),
  command("DELETE", `${path}/{id}/costs/{cost}`, {
    answer: opportunityShown,
    name: "opportunities.remove_cost",
    summary: "Remove a cost of an opportunity",
    ...edit,
    params: cost,
    success_status: 200,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => removeCost(state, input.rows.cost, context),
    respond: shown
  })
]

const dealPriceFields = {
  deal_total: money({ currency: "currency_code", required: true }),
  currency: text({ nullable: true, max: 3, format: "currency" })
}

const dealPrice: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/deal_price`, {
    answer: opportunityShown,
    name: "opportunities.set_deal_price",
    summary: "Set an agreed price for a whole opportunity",
    ...edit,
    params: one,
    fields: dealPriceFields,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => setDealPrice(state, input.values.deal_total, input.values.currency, context),
    respond: shown
  }),
  command("DELETE", `${path}/{id}/deal_price`, {
    answer: opportunityShown,
    name: "opportunities.clear_deal_price",
    summary: "Remove an opportunity's deal price; the sum of lines and costs applies",
    ...edit,
    params: one,
    success_status: 200,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, _input, context) => clearDealPrice(state, context),
    respond: shown
  })
]

const repriced_fields = {
  opportunity_item_id: integer({ nullable: true }),
  name: text({ describe: "Name of the line or cost; empty for totals" }),
  figure: text({ describe: "Figure: unit price, tax rate, net, surcharge, tax or total with tax" }),
  from: text(),
  to: text()
}
const repricing = command("POST", `${path}/{id}/reprice`, {
  answer: {
    ...opportunityShown,
    changes: Shown.objects(repriced_fields, { describe: "Changed figures; empty if all were up to date" })
  },
  name: "opportunities.reprice",
  summary: "Recalculate an open opportunity with current rates, discount rules, surcharges and taxes",
  ...edit,
  params: one,
  success_status: 200,
  fields: {
    only: choice(
      { tax: "Tax" },
      { nullable: true, describe: "tax: update tax rates only; locked orders need opportunities.unlock_rates" }
    )
  },
  authorize: ({ rows, viewer }) =>
    rows.id.tax_locked && !hasOnePermission(viewer, unlock)
      ? Effect.fail(forbidden(`Tax is locked; this needs the permission ${unlock}.`))
      : Effect.void,
  facts: (input) => withRules(deciding, ({ repriceFacts }) => repriceFacts(input.rows.id, input)),
  decide: ({ known, rules }, { values }, context) => rules.reprice(known, values.only === "tax", context),
  result: Shown.keys({ id: integer(), changes: Shown.objects(repriced_fields) }),
  respond: ({ changes, id }, input) =>
    Effect.map(opportunityAnswer(id, input, withParts), (answer) =>
      withMore(answer, { changes: changes.map((one) => ({ ...one })) })
    )
})

export const moneyEndpoints: ReadonlyArray<Endpoint> = [...costs, ...dealPrice, repricing]
