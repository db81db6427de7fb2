/** Costs, the deal price and participants of an opportunity (rules/opportunities 8, 11, 12). */
import { Effect, Result } from "effect"
import { command, type Endpoint, type Input } from "../../kernel/endpoint.ts"
import { boolean, ref, text } from "../../kernel/field.ts"
import { initialRow } from "../../kernel/crud-resource.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { created, noContent, ok, renderById, viewContext } from "../../kernel/resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunityAnswer, opportunityShown, withParts } from "../responses.ts"
import { costFields, dealPriceFields } from "./fields.ts"
import { addCost, changeCost, clearDealPrice, removeCost, setDealPrice } from "./decide.ts"
import { partAdded, partChanged, partRemoved } from "../part-events.ts"
import { loadDecisionState } from "../load.ts"
import { opportunity_participants } from "../child-tables.ts"
import { cost, edit, one, participant, path } from "../paths.ts"
import { participantResource } from "../resources.ts"
import type { OpportunityRow } from "../schema.ts"
import * as Shown from "../../kernel/answer-schema.ts"

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

const participantShown = { participant: Shown.row(() => participantResource) }
const participantFields = {
  role: text({ nullable: true, max: 100, on_null: "clear" }),
  mute: boolean({ default: false })
}
const participants: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/participants`, {
    answer: participantShown,
    success_status: 201,
    name: "opportunities.add_participant",
    summary: "Add a participant",
    ...edit,
    params: one,
    creates: [opportunity_participants],
    fields: { member_id: ref("members", { required: true }), ...participantFields },
    facts: (input) =>
      Effect.gen(function* () {
        return yield* (yield* Store).exists(opportunity_participants, {
          opportunity_id: input.rows.id.id,
          member_id: input.values.member_id!
        })
      }),
    decide: (takesPart, input, context) => {
      if (takesPart) return Result.fail(invalidField("member_id", "The member takes part already."))
      const opportunity_id = input.rows.id.id
      const row = {
        ...initialRow(opportunity_participants, {}),
        ...input.values,
        id: context.id(opportunity_participants),
        opportunity_id
      }
      return Result.succeed({ events: [partAdded(opportunity_id, "participant", row)], result: { id: row.id } })
    },
    respond: (result, input) =>
      Effect.map(renderById(participantResource, result.id, input.query, viewContext(input)), created)
  }),
  command("PATCH", `${path}/{id}/participants/{participant}`, {
    answer: participantShown,
    name: "opportunities.update_participant",
    summary: "Change a participant's role or mute flag",
    ...edit,
    params: participant,
    fields: participantFields,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, input) => {
      const row = input.rows.participant
      const set = Object.fromEntries(Object.entries(input.values).filter(([name, value]) => row[name] !== value))
      return Result.succeed({
        events:
          Object.keys(set).length === 0
            ? []
            : [partChanged(input.rows.id.id, "participant", "participant_updated", row, set)],
        result: { id: row.id }
      })
    },
    respond: (result, input) =>
      Effect.map(renderById(participantResource, result.id, input.query, viewContext(input)), ok)
  }),
  command("DELETE", `${path}/{id}/participants/{participant}`, {
    name: "opportunities.remove_participant",
    summary: "Remove a participant",
    ...edit,
    params: participant,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, input) => {
      const { id, member_id, role, mute } = input.rows.participant
      return Result.succeed({
        events: [
          partRemoved(input.rows.id.id, "participant", input.rows.participant.id, {
            participant_id: id,
            member_id,
            role,
            mute
          })
        ],
        result: { id }
      })
    },
    respond: () => Effect.succeed(noContent)
  })
]

export const moneyEndpoints: ReadonlyArray<Endpoint> = [...costs, ...dealPrice, ...participants]
