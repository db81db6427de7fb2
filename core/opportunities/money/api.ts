/** Endpoints of costs and the deal price (rules/opportunities 8, 11). */
import { command, type Endpoint, type Input } from "../../kernel/endpoint.ts"
import { opportunityAnswer, opportunityShown, withParts } from "../responses.ts"
import { costFields, dealPriceFields } from "./schema.ts"
import { addCost, changeCost, clearDealPrice, removeCost, setDealPrice } from "./decide.ts"
import { loadDecisionState } from "../load.ts"
import { cost, edit, one, path } from "../paths.ts"
import type { OpportunityRow } from "../schema.ts"

const shown = (_result: unknown, input: Input) =>
  opportunityAnswer((input.rows as { readonly id: OpportunityRow }).id.id, input, withParts)

const costs: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/costs`, {
    answer: opportunityShown,
    success_status: 201,
    name: "opportunities.add_cost",
    summary: "Add a cost",
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
    summary: "Change a cost; what is left out stays",
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
    summary: "Remove a cost",
    ...edit,
    params: cost,
    success_status: 200,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => removeCost(state, input.rows.cost, context),
    respond: shown
  })
]

const dealPrice: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/deal_price`, {
    answer: opportunityShown,
    name: "opportunities.set_deal_price",
    summary: "Agree one price for the whole deal",
    ...edit,
    params: one,
    fields: dealPriceFields,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, input, context) => setDealPrice(state, input.values.deal_total!, input.values.currency, context),
    respond: shown
  }),
  command("DELETE", `${path}/{id}/deal_price`, {
    answer: opportunityShown,
    name: "opportunities.clear_deal_price",
    summary: "Go back to the sum of lines and costs",
    ...edit,
    params: one,
    success_status: 200,
    facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, touched_line_ids: [] }),
    decide: (state, _input, context) => clearDealPrice(state, context),
    respond: shown
  })
]

export const moneyEndpoints: ReadonlyArray<Endpoint> = [...costs, ...dealPrice]
