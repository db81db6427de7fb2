/**
 * What can be done with one unit by `PATCH …/assets/{asset}`: the fields, and the rule of each action
 * (rules/opportunities 9.1).
 */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { choice, code, integer, longText, ref, text, timestamp, type ValuesOf } from "../../kernel/field.ts"
import { invalidField } from "../../kernel/rejection.ts"
import type { DecisionState } from "../aggregate.ts"
import type { UnitDecided } from "../status/progress.ts"
import { substitute } from "./decide.ts"
import {
  checking,
  dispatching,
  goingOnHire,
  moveUnits,
  preparing,
  returning,
  revertUnit,
  setContainer,
  unpreparing
} from "./lifecycle.ts"
import { assignment_statuses, type AssignmentRow, condition_labels } from "./schema.ts"

export const when = () => timestamp({ nullable: true })

/** The actions on one unit; `unitFields` are the fields of all of them. */
const actions = {
  prepare: "Prepare",
  revert: "Revert preparation",
  set_container: "Set container",
  clear_container: "Clear container",
  substitute: "Substitute",
  dispatch: "Dispatch",
  on_hire: "On hire",
  return: "Return",
  check: "Check",
  revert_status: "Revert status"
} as const
export const unitFields = {
  action: choice(actions, { required: true }),
  prepared_at: when(),
  dispatched_at: when(),
  on_hire_at: when(),
  returned_at: when(),
  checked_at: when(),
  stock_level_id: ref("stock_levels", { nullable: true }),
  container_stock_level_id: ref("stock_levels", { nullable: true }),
  dispatched_by: ref("users", { nullable: true }),
  received_by: ref("users", { nullable: true }),
  checked_by: ref("users", { nullable: true }),
  vehicle_id: integer({ nullable: true }),
  return_store_id: ref("stores", { nullable: true }),
  condition: code(condition_labels, { nullable: true }),
  damage_notes: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  status: code(assignment_statuses, { nullable: true }),
  reason: text({ nullable: true, max: 1000 })
}
type UnitBody = Partial<ValuesOf<typeof unitFields>>
type Act = (state: DecisionState, unit: AssignmentRow, sent: UnitBody, context: DecideContext) => UnitDecided
const missing = (field: string, words: string): Decided<never> =>
  Result.fail(invalidField(field, `The ${words} field is required.`))
export const acts: { readonly [A in keyof typeof actions]: Act } = {
  prepare: (state, unit, sent, context) =>
    moveUnits(state, [{ unit, field: "action" }], [preparing(sent.prepared_at ?? context.happened_at)], context),
  revert: (state, unit, _sent, context) => moveUnits(state, [{ unit, field: "action" }], [unpreparing], context),
  set_container: (state, unit, sent) =>
    sent.container_stock_level_id === null || sent.container_stock_level_id === undefined
      ? missing("container_stock_level_id", "container stock level")
      : setContainer(state, unit, sent.container_stock_level_id),
  clear_container: (state, unit) => setContainer(state, unit, null),
  substitute: (state, unit, sent, context) =>
    sent.stock_level_id === null || sent.stock_level_id === undefined
      ? missing("stock_level_id", "stock level")
      : substitute(state, unit, sent.stock_level_id, sent.reason ?? null, context),
  dispatch: (state, unit, sent, context) =>
    moveUnits(
      state,
      [{ unit, field: "action" }],
      [
        dispatching(sent.dispatched_at ?? context.happened_at, {
          dispatched_by: sent.dispatched_by ?? null,
          vehicle_id: sent.vehicle_id ?? null,
          notes: sent.notes ?? null
        })
      ],
      context
    ),
  on_hire: (state, unit, sent, context) =>
    moveUnits(state, [{ unit, field: "action" }], [goingOnHire(sent.on_hire_at ?? context.happened_at)], context),
  return: (state, unit, sent, context) =>
    moveUnits(
      state,
      [{ unit, field: "action" }],
      [
        returning(sent.returned_at ?? context.happened_at, {
          received_by: sent.received_by ?? null,
          return_store_id: sent.return_store_id ?? null
        })
      ],
      context
    ),
  check: (state, unit, sent, context) =>
    sent.condition === null || sent.condition === undefined
      ? missing("condition", "condition")
      : moveUnits(
          state,
          [{ unit, field: "action" }],
          [
            checking(sent.checked_at ?? context.happened_at, {
              condition: sent.condition,
              checked_by: sent.checked_by ?? null,
              damage_notes: sent.damage_notes ?? null
            })
          ],
          context
        ),
  revert_status: (state, unit, sent, context) =>
    sent.status === null || sent.status === undefined
      ? missing("status", "status")
      : revertUnit(state, unit, sent.status, sent.reason ?? null, context)
}
