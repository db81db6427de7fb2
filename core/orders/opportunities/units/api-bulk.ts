/** The endpoint that dispatches, returns and adjusts lines counted in bulk (rules/opportunities 9.3). */
import { Effect, Result } from "effect"
import { command, type DecideContext, type Decided, type Endpoint } from "../../../kernel/endpoints/endpoint.ts"
import { choice, code, decimal, ref, text, type ValuesOf } from "../../../kernel/fields/field.ts"
import { forbidden, hasOnePermission, reject } from "../../../kernel/fields/rejection.ts"
import { ok, renderById, viewContext } from "../../../kernel/endpoints/resource.ts"
import type { DecisionState } from "../state/aggregate.ts"
import { adjustQuantity, dispatchQuantity, returnQuantity, revertDispatched, revertReturned } from "./decide-bulk.ts"
import { loadDecisionState } from "../state/load.ts"
import { condition_labels, type ItemRow } from "../tables/lines.ts"
import { edit, fulfil, item, path } from "../tables/paths.ts"
import { dispatchMeta, dispatchMetaShown, itemResource } from "../state/resources.ts"
import * as Shown from "../../../kernel/lists/answer-schema.ts"
import { type BulkDecided, bulkResult } from "../state/progress.ts"

const actions = {
  dispatch: "Dispatch",
  return: "Return",
  adjust: "Adjust",
  revert_dispatch: "Revert dispatch",
  revert_return: "Revert return"
} as const
const fields = {
  action: choice(actions, { required: true }),
  quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", nullable: true }),
  dispatched_by: ref("users", { nullable: true }),
  received_by: ref("users", { nullable: true }),
  condition: code(condition_labels, { nullable: true }),
  new_quantity: decimal({ scale: 2, min: "0", max: "1000000000", nullable: true }),
  reason: text({ nullable: true })
}
type Body = Partial<ValuesOf<typeof fields>>
type Act = (state: DecisionState, line: ItemRow, sent: Body, context: DecideContext) => BulkDecided
const required = (field: string): Decided<never> => reject(field, `The ${field.replace("_", " ")} field is required.`)
const acts: { readonly [A in keyof typeof actions]: Act } = {
  dispatch: (state, line, sent, context) =>
    typeof sent.quantity !== "string"
      ? required("quantity")
      : dispatchQuantity(state, line, sent.quantity, sent.dispatched_by ?? null, context),
  return: (state, line, sent, context) =>
    typeof sent.quantity !== "string"
      ? required("quantity")
      : returnQuantity(
          state,
          line,
          sent.quantity,
          { received_by: sent.received_by ?? null, condition: sent.condition ?? null },
          context
        ),
  // A new quantity is a new price: more than a warehouse may.
  adjust: (state, line, sent, context) =>
    !hasOnePermission(context.viewer, edit.permission)
      ? Result.fail(forbidden(`This needs the permission ${edit.permission}.`))
      : typeof sent.new_quantity !== "string"
        ? required("new_quantity")
        : adjustQuantity(state, line, sent.new_quantity, sent.reason ?? null, context),
  revert_dispatch: (state, line, sent, context) =>
    typeof sent.quantity !== "string"
      ? required("quantity")
      : revertDispatched(state, line, sent.quantity, sent.reason ?? null, context),
  revert_return: (state, line, sent, context) =>
    typeof sent.quantity !== "string"
      ? required("quantity")
      : revertReturned(state, line, sent.quantity, sent.reason ?? null, context)
}

export const bulkEndpoints: ReadonlyArray<Endpoint> = [
  command("PATCH", `${path}/{id}/items/{item}/fulfilment`, {
    answer: { item: Shown.row(() => itemResource), ...dispatchMetaShown },
    name: "opportunities.fulfil_item",
    summary: "Dispatch, return or adjust a line counted in bulk, or take a count back",
    ...fulfil,
    params: item,
    mode: "create",
    fields,
    split_by: "quantity",
    facts: (input) => {
      const { id, item_id } = input.rows.item
      return loadDecisionState(input.rows.id, input, {
        live_only: true,
        line_ids: [id],
        stock: true,
        rated_product_ids: item_id === null ? [] : [item_id]
      })
    },
    decide: (state, input, context) => acts[input.values.action!](state, input.rows.item, input.values, context),
    result: bulkResult,
    respond: ({ _meta }, input) =>
      Effect.map(renderById(itemResource, input.rows.item.id, input.query, viewContext(input)), (body) =>
        ok({ ...body, ...dispatchMeta(_meta) })
      )
  })
]
