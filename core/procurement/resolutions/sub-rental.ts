/** Lines that are hired from a supplier whole become sub-rentals, at the price they have (rules/availability 9). */
import { Result } from "effect"
import type { DecideContext } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { forbidden, invalidField, type Rejection } from "../../kernel/rejection.ts"
import { hasOnePermission } from "../../kernel/viewer.ts"
import { type DecisionState, withLine } from "../../opportunities/aggregate.ts"
import { lineChanged } from "../../opportunities/lines/events.ts"
import { recalculate } from "../../opportunities/recalculate.ts"
import { requireTransition } from "../../opportunities/status/statuses.ts"
import type { SentItem } from "../orders/fields.ts"
import type { PurchaseOrderType } from "../schema.ts"

const rental = 0,
  sub_rental = 3

/** 422 on `sub_rental` for purchases, on `state` where the opportunity can no longer be changed. */
export const subRentedEvents = (
  state: DecisionState,
  items: ReadonlyArray<SentItem>,
  po_type: PurchaseOrderType,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> =>
  Result.gen(function* () {
    if (po_type !== "sub_hire")
      return yield* Result.fail(invalidField("sub_rental", "What is bought is no sub-rental; leave the field out."))
    if (!hasOnePermission(context.viewer, "opportunities.edit"))
      return yield* Result.fail(forbidden("This needs the permission opportunities.edit."))
    const hired = new Map(items.map((item) => [item.opportunity_item_id, Number(item.quantity)]))
    const whole = state.opportunity.lines.filter(
      (line) => line.transaction_type === rental && (hired.get(line.id) ?? 0) >= Number(line.quantity)
    )
    if (whole.length === 0) return []
    yield* requireTransition(state.opportunity.header, "edit")
    const set = { transaction_type: sub_rental }
    const after = whole.reduce((opportunity, line) => withLine(opportunity, line.id, set), state.opportunity)
    const { events } = yield* recalculate(state, after, {}, context)
    return [...whole.map((line) => lineChanged(line, "item_sub_rented", set)), ...events]
  })
