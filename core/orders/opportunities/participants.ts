/** Endpoints of those who take part in an opportunity (rules/opportunities 12). */
import { Effect, Result } from "effect"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { initialRow } from "../../kernel/endpoints/crud-resource.ts"
import { command, type Endpoint } from "../../kernel/endpoints/endpoint.ts"
import { boolean, ref, text } from "../../kernel/fields/field.ts"
import { reject } from "../../kernel/fields/rejection.ts"
import { created, noContent, ok, renderById, viewContext } from "../../kernel/endpoints/resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { edit, one, opportunity_participants, participant, path } from "./tables/paths.ts"
import { participantResource } from "./state/resources.ts"
import { participantAdded, participantRemoved, participantUpdated } from "./events/participants.ts"

const participantShown = { participant: Shown.row(() => participantResource) }
const participantFields = {
  role: text({ nullable: true, max: 100, on_null: "clear" }),
  mute: boolean({ default: false })
}
export const participantEndpoints: ReadonlyArray<Endpoint> = [
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
      Store.exists(opportunity_participants, { opportunity_id: input.rows.id.id, member_id: input.values.member_id! }),
    decide: (takesPart, input, context) => {
      if (takesPart) return reject("member_id", "The member takes part already.")
      const opportunity_id = input.rows.id.id
      const row = {
        ...initialRow(opportunity_participants, {}),
        ...input.values,
        id: context.id(opportunity_participants),
        opportunity_id
      }
      return Result.succeed({ events: [participantAdded(row)], result: { id: row.id } })
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
        events: Object.keys(set).length === 0 ? [] : [participantUpdated(row, set)],
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
      const row = input.rows.participant
      return Result.succeed({ events: [participantRemoved(row)], result: { id: row.id } })
    },
    respond: () => Effect.succeed(noContent)
  })
]
