/**
 * Endpoints of the shortages of one opportunity: list and acknowledge them (rules/opportunities 9.5, rules/availability
 * 9).
 */
import { Effect } from "effect"
import { command, type Endpoint, get } from "../../kernel/endpoint.ts"
import { boolean, choice, integer, longText, text, timestamp } from "../../kernel/field.ts"
import { created, ok, resource, renderById, unpagedMeta, viewContext } from "../../kernel/resource.ts"
import { shortagesOf } from "../demands.ts"
import { acknowledgeShortages } from "./decide.ts"
import { loadDecisionState } from "../load.ts"
import { one, path } from "../paths.ts"
import { waitingOf, waitingShown } from "../waiting/api.ts"
import { acknowledgements } from "./schema.ts"
import { tracking_types } from "../../availability/line.ts"
import * as Shown from "../../kernel/answer-schema.ts"

const acknowledgementResource = resource({
  singular: "acknowledgement",
  plural: "acknowledgements",
  table: acknowledgements
})

const number_of_pieces = integer({ describe: "Ordered from suppliers for the line, and not yet received" })
/** A line that is short, as `LineShortage` has it. */
const shortageShown = {
  opportunity_item_id: integer(),
  opportunity_id: integer(),
  product_id: integer(),
  product_name: text({ nullable: true }),
  store_id: integer(),
  requested_quantity: integer(),
  available_quantity: integer(),
  shortfall: integer(),
  remaining_shortfall: integer(),
  on_order_quantity: number_of_pieces,
  tracking_type: choice(tracking_types),
  starts_at: timestamp(),
  ends_at: timestamp(),
  is_critical: boolean()
}

/**
 * In every state: for a draft, what it would be short of. All in one page, with the total in `meta` (rules/conventions
 * 2).
 */
const list = get(`${path}/{id}/shortages`, {
  answer: { shortages: Shown.objects(shortageShown), waiting: waitingShown, meta: Shown.meta },
  name: "opportunities.shortages",
  summary: "The lines that are short, and by how much",
  ability: "opportunities:read",
  permission: "shortages.view",
  params: one,
  run: (input) =>
    Effect.gen(function* () {
      const state = yield* loadDecisionState(input.rows.id, input, { live_only: true, stock: true })
      const shortages = shortagesOf(state, state.opportunity, state.demands, input.settings, input.now)
      return ok({
        shortages: shortages.map((shortage) => ({ ...shortage })),
        waiting: yield* waitingOf(input.rows.id.id, input),
        meta: unpagedMeta(shortages.length)
      })
    })
})

const acknowledge = command("POST", `${path}/{id}/shortages/acknowledge`, {
  answer: { acknowledgement: Shown.row(() => acknowledgementResource) },
  name: "opportunities.acknowledge_shortages",
  summary: "Record that the shortages were seen",
  ability: "opportunities:write",
  permission: "shortages.resolve",
  params: one,
  success_status: 201,
  creates: [acknowledgements],
  fields: { notes: longText({ nullable: true, max: 2000 }) },
  facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, stock: true }),
  decide: (state, input, context) => acknowledgeShortages(state, input.values.notes ?? null, context),
  respond: (result, input) =>
    Effect.map(renderById(acknowledgementResource, result.id, input.query, viewContext(input)), created)
})

export const shortageEndpoints: ReadonlyArray<Endpoint> = [list, acknowledge]
