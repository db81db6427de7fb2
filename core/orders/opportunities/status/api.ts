/** Endpoints that change an opportunity's status and lock it (rules/opportunities 1, 6). */
import { Effect } from "effect"
import { command, integer, longText, Store, text } from "../../../kernel/index.ts"
import type { DecideContext, Decided, Endpoint, Input } from "../../../kernel/index.ts"
import { loadDecisionState, opportunityShown, unpricedLines, unpricedText } from "../state/index.ts"
import { warnedOpportunity, warnedResult, withOwed, type DecisionState, type Warned } from "../state/index.ts"
import { edit, one, opportunities, path, write } from "../tables/index.ts"
import { changeStatus, convertToOrder, convertToQuotation, lockRates, reinstate, reopen } from "./decide.ts"
import { revertToDraft, revertToQuotation, unlockRates } from "./decide.ts"

const reasonField = { reason: text({ nullable: true, max: 1000 }) }
/** An endpoint whose body contains only a reason. */
const move = (
  name: string,
  summary: string,
  decide: (state: DecisionState, reason: string | null, context: DecideContext) => Decided<Warned>,
  options: { readonly permission?: string; readonly stock?: boolean } = {}
) =>
  command("POST", `${path}/{id}/${name}`, {
    answer: opportunityShown,
    name: `opportunities.${name}`,
    summary,
    ability: write,
    permission: options.permission ?? edit.permission,
    params: one,
    fields: reasonField,
    facts: (input) => loadDecisionState(input.rows.id, input, { stock: options.stock ?? false, lock: true }),
    decide: (state, input, context) => decide(state, input.values.reason ?? null, context),
    result: warnedResult,
    respond: (result, input) => warnedOpportunity(result, input)
  })

const moves = [
  move("reinstate", "Reinstate a lost, dead or postponed quotation or a cancelled order", reinstate, { stock: true }),
  move("reopen", "Reopen a complete order", reopen, { stock: true }),
  move("revert_to_quotation", "Revert an order to a quotation", revertToQuotation, { stock: true }),
  move("revert_to_draft", "Revert a provisional quotation to a draft", revertToDraft, { stock: true }),
  move("lock_locks", "Lock an opportunity's exchange rate and taxes", lockRates, {
    permission: "opportunities.unlock_rates"
  }),
  move("unlock_locks", "Unlock an opportunity's exchange rate and taxes", unlockRates, {
    permission: "opportunities.unlock_rates"
  })
]
const toQuotation = command("POST", `${path}/{id}/convert_to_quotation`, {
  answer: opportunityShown,
  name: "opportunities.convert_to_quotation",
  summary: "Convert a draft to a quotation",
  ...edit,
  params: one,
  fields: reasonField,
  facts: (input) =>
    Effect.flatMap(loadDecisionState(input.rows.id, input, { lock: true }), (state) => withOwed(state, input.settings)),
  decide: (state, { values }, context) => convertToQuotation(state, values.reason ?? null, context),
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input)
})
/** The response, with `meta.warnings` for lines that unintentionally cost nothing. */
const orderAnswer = Effect.fnUntraced(function* (
  { id, warnings = [] }: Parameters<typeof warnedOpportunity>[0],
  input: Input
) {
  const header = yield* Store.get(opportunities, id)
  const unpriced = header === undefined ? [] : unpricedText(header, yield* unpricedLines(header, input))
  return yield* warnedOpportunity({ id, warnings: [...warnings, ...unpriced] }, input)
})
const toOrder = command("POST", `${path}/{id}/convert_to_order`, {
  answer: opportunityShown,
  name: "opportunities.convert_to_order",
  summary: "Convert a quotation to an order",
  ...edit,
  params: one,
  fields: { shortage_notes: longText({ nullable: true, max: 2000 }) },
  facts: (input) =>
    Effect.flatMap(loadDecisionState(input.rows.id, input, { stock: true }), (state) =>
      withOwed(state, input.settings)
    ),
  decide: (state, input, context) => convertToOrder(state, input.values.shortage_notes ?? null, context),
  result: warnedResult,
  respond: (result, input) => orderAnswer(result, input)
})
const status = command("POST", `${path}/{id}/change_status`, {
  answer: opportunityShown,
  name: "opportunities.change_status",
  summary: "Move an opportunity to another status of its state",
  ...edit,
  params: one,
  fields: { status: integer({ required: true }), ...reasonField },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: true }),
  decide: (state, { values }, context) => changeStatus(state, values.status, context, values.reason ?? null),
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input)
})

export const statusEndpoints: ReadonlyArray<Endpoint> = [toQuotation, ...moves, toOrder, status]
