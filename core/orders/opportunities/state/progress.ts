/**
 * The status of an order derived from its units and quantities, and the check before a dispatch (rules/opportunities
 * 9.4, 9.5).
 */
import { Result } from "effect"
import { type LineShortage, tracking_types } from "../../availability/rules/line.ts"
import { boolean, choice, integer, invalid, Shown, text } from "../../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent, Rejection } from "../../../kernel/index.ts"
import { shortagesOf } from "./demands.ts"
import { type DecisionState, liveLines, type Opportunity, withHeader } from "./aggregate.ts"
import { statusChanges } from "../events/header.ts"
import { checked_in, dispatched, isClosed, on_hire, order, prepared, statuses } from "../tables/index.ts"
import { recalculate } from "./recalculate.ts"
import { shortageText } from "./policies.ts"

/**
 * The status of an order by its active lines, the first that applies: Dispatched while an allocated unit is not yet
 * dispatched, On Hire while something is out, Returned while a check is pending, else Checked. Undefined if nothing was
 * ever dispatched.
 */
export const derivedStatus = (opportunity: Opportunity): number | undefined => {
  const lines = liveLines(opportunity)
  const ids = new Set(lines.map(({ id }) => id))
  const units = opportunity.units.filter((unit) => ids.has(unit.opportunity_item_id))
  const some = (test: (status: number) => boolean): boolean => units.some((unit) => test(unit.status))
  const out = lines.filter((line) => Number(line.dispatched_quantity) > 0)
  if (!some((status) => status >= dispatched) && out.length === 0) return undefined
  return some((status) => status <= prepared)
    ? statuses.dispatched.status
    : some((status) => status === dispatched || status === on_hire) ||
        out.some((line) => Number(line.dispatched_quantity) > Number(line.returned_quantity))
      ? statuses.on_hire.status
      : some((status) => status === checked_in)
        ? statuses.returned.status
        : statuses.checked.status
}

/** The opportunity with its derived status, and the event. If its only dispatch is reverted the status is Active. */
export const promoted = (
  opportunity: Opportunity,
  undone: boolean
): { readonly opportunity: Opportunity; readonly events: ReadonlyArray<NewEvent> } => {
  const { header } = opportunity
  const status = derivedStatus(opportunity) ?? (undone ? statuses.active.status : header.status)
  return header.state !== order || isClosed(header) || status === header.status
    ? { opportunity, events: [] }
    : {
        opportunity: withHeader(opportunity, { status }),
        events: [statusChanges.make("status_promoted", header, { status })]
      }
}

/**
 * After changes of units or quantities: updates the order's status once, then the demands of all or the touched lines.
 */
export const promoteStatus = (
  state: DecisionState,
  after: Opportunity,
  touched: ReadonlyArray<number>,
  context: DecideContext,
  undone = false
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const { opportunity, events } = promoted(after, undone)
  return Result.map(
    recalculate(state, opportunity, { totals: false, demanded: events.length > 0 ? "all" : touched }, context),
    (recalculated) => [...events, ...recalculated.events]
  )
}

type DispatchPolicy = "block" | "warn_partial" | "allow_partial"
const policyOf = (state: DecisionState): DispatchPolicy => state.store?.shortage_dispatch_policy ?? "warn_partial"
/** Shortages among the lines to be dispatched. */
export const shortLinesOf = (
  state: DecisionState,
  line_ids: ReadonlyArray<number>,
  context: Pick<DecideContext, "settings" | "now">
): ReadonlyArray<LineShortage> => {
  const leaving = new Set(line_ids)
  return shortagesOf(state, state.opportunity, state.demands, context.settings, context.now, leaving).filter(
    (one) => one.remaining_shortfall > 0 && leaving.has(one.opportunity_item_id)
  )
}
export const isDispatchBlocked = (state: DecisionState, held: ReadonlyArray<LineShortage>): boolean =>
  policyOf(state) === "block" && held.length > 0

/** Fields of `_meta` in responses to a dispatch. */
export const dispatch_meta_fields = {
  dispatch_policy: text(),
  held_items: Shown.objects({
    opportunity_item_id: integer(),
    product_id: integer(),
    product_name: text({ nullable: true }),
    requested_quantity: integer(),
    available_quantity: integer(),
    shortfall: integer(),
    remaining_shortfall: integer(),
    tracking_type: choice(tracking_types),
    is_critical: boolean()
  })
}
const heldBackSchema = Shown.keys(dispatch_meta_fields)
export type HeldBack = typeof heldBackSchema.Type
/** Result of rules for units; `assignment_id` is the first unit's. */
export const unitResult = Shown.keys({
  id: integer(),
  assignment_id: integer({ nullable: true }),
  _meta: Shown.keys(dispatch_meta_fields, { nullable: true }),
  warnings: Shown.list(text())
})
export type UnitDecided = Decided<typeof unitResult.Type>
/** Result of rules for lines counted in bulk. */
export const bulkResult = Shown.keys({
  id: integer(),
  item_id: integer(),
  _meta: Shown.keys(dispatch_meta_fields, { nullable: true })
})
/**
 * 422 with the code `dispatch_block` if the store's policy blocks; else `_meta` for the response, undefined if nothing
 * is short or the policy allows it (rules/opportunities 9.5).
 */
export const dispatchGate = (
  state: DecisionState,
  line_ids: ReadonlyArray<number>,
  context: DecideContext
): Result.Result<HeldBack | undefined, Rejection> => {
  const held = shortLinesOf(state, line_ids, context)
  if (isDispatchBlocked(state, held))
    return Result.fail(invalid({ code: ["dispatch_block"], shortages: [shortageText(held)] }))
  const policy = policyOf(state)
  return Result.succeed(
    held.length === 0 || policy === "allow_partial"
      ? undefined
      : {
          dispatch_policy: policy,
          held_items: held.map((one) => ({
            opportunity_item_id: one.opportunity_item_id,
            product_id: one.product_id,
            product_name: one.product_name,
            requested_quantity: one.requested_quantity,
            available_quantity: one.available_quantity,
            shortfall: one.shortfall,
            remaining_shortfall: one.remaining_shortfall,
            tracking_type: one.tracking_type,
            is_critical: one.is_critical
          }))
        }
  )
}
