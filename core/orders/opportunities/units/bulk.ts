/** Lines counted in bulk: dispatch, return and adjust quantities (rules/opportunities 9.3). */
import { Result } from "effect"
import { forbidden, hasOnePermission, reject } from "../../../kernel/index.ts"
import type { DecideContext, Decided, JsonObject, NewEvent, Rejection, ValuesOf } from "../../../kernel/index.ts"
import { exact, formatDecimal } from "../../../values/decimal.ts"
import { dispatchGate, inActiveVersion, promoteStatus, recalculate, withLine } from "../state/index.ts"
import type { bulkResult, DecisionState, HeldBack } from "../state/index.ts"
import { type LineChange, lineChanged } from "../events/lines.ts"
import { edit, requireTransition, type ItemRow } from "../tables/index.ts"
import type { bulkFields } from "./actions.ts"

const sum = (one: string, other: string): string => formatDecimal(exact(one).plus(exact(other)), 2)

const countable = (state: DecisionState, line: ItemRow): Result.Result<void, Rejection> => {
  const product = line.item_id === null ? undefined : state.stocked.get(line.item_id)
  if (line.item_type !== "product" && line.item_type !== "accessory")
    return reject("item", "Only product and accessory lines are dispatched.")
  return product?.is_serialised === true
    ? reject("item", "The line's product is tracked unit by unit; book its units out and in.")
    : Result.succeed(undefined)
}
const isMore = (one: string, other: string): boolean => exact(one).greaterThan(exact(other))

type BulkDecided = Decided<typeof bulkResult.Type>
type Body = Partial<ValuesOf<typeof bulkFields>>
type Act = (state: DecisionState, line: ItemRow, sent: Body, context: DecideContext) => BulkDecided
type CountedAct = (...args: [DecisionState, ItemRow, quantity: string, sent: Body, DecideContext]) => BulkDecided

const moved = (
  state: DecisionState,
  line: ItemRow,
  event: LineChange,
  set: Partial<ItemRow>,
  also: JsonObject,
  context: DecideContext,
  held_back?: HeldBack,
  is_reverted = false
): BulkDecided =>
  Result.map(
    promoteStatus(state, withLine(state.opportunity, line.id, set), [line.id], context, is_reverted),
    (events) => ({
      events: [lineChanged(line, event, set, also), ...events],
      result: { id: state.opportunity.header.id, item_id: line.id, _meta: held_back ?? null }
    })
  )

export const dispatchQuantity = (
  state: DecisionState,
  line: ItemRow,
  quantity: string,
  dispatched_by: number | null,
  context: DecideContext
): BulkDecided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "dispatch")
    yield* inActiveVersion(line)
    yield* countable(state, line)
    const dispatched_quantity = sum(line.dispatched_quantity, quantity)
    if (isMore(dispatched_quantity, line.quantity))
      return yield* reject(
        "quantity",
        `${line.name}: the line asks for ${Number(line.quantity)}, ` +
          `and ${Number(line.dispatched_quantity)} went out already.`
      )
    const held_back = yield* dispatchGate(state, [line.id], context)
    return yield* moved(
      state,
      line,
      "bulk_dispatched",
      { dispatched_quantity },
      { quantity, dispatched_by },
      context,
      held_back
    )
  })

const goneAndBack = (line: ItemRow): string =>
  `${line.name}: ${Number(line.dispatched_quantity)} went out and ` +
  `${Number(line.returned_quantity)} came back already.`

export const returnQuantity = (
  state: DecisionState,
  line: ItemRow,
  quantity: string,
  about: {
    readonly received_by: number | null
    readonly condition: number | null
    readonly damage_notes: string | null
  },
  context: DecideContext
): BulkDecided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "check_in")
    yield* countable(state, line)
    const returned_quantity = sum(line.returned_quantity, quantity)
    if (isMore(returned_quantity, line.dispatched_quantity)) {
      return yield* reject("quantity", goneAndBack(line))
    }
    return yield* moved(state, line, "bulk_returned", { returned_quantity }, { quantity, ...about }, context)
  })

/** Reverts a mistaken count in one of the line's quantities. `refusal`: why it may not be lowered to `left`. */
const reverting =
  (
    event: LineChange,
    column: "dispatched_quantity" | "returned_quantity",
    refusal: (line: ItemRow, left: string) => string | undefined
  ): CountedAct =>
  (state, line, quantity, { reason = null }, context) =>
    Result.gen(function* () {
      yield* requireTransition(state.opportunity.header, "check_in")
      yield* countable(state, line)
      const left = sum(line[column], `-${quantity}`)
      const refused = refusal(line, left)
      if (refused !== undefined) return yield* reject("quantity", refused)
      const set = column === "dispatched_quantity" ? { dispatched_quantity: left } : { returned_quantity: left }
      return yield* moved(state, line, event, set, { quantity, reason }, context, undefined, true)
    })
/** The goods never left. 422 on `quantity` above the quantity out. */
const revertDispatched = reverting("bulk_dispatch_reverted", "dispatched_quantity", (line, left) =>
  isMore(line.returned_quantity, left) ? goneAndBack(line) : undefined
)
/** The goods are still out. 422 on `quantity` above the returned quantity. */
const revertReturned = reverting("bulk_return_reverted", "returned_quantity", (line, left) =>
  isMore("0", left) ? `${Number(line.returned_quantity)} came back.` : undefined
)

/** Sets a new quantity and reprices the line. 422 on `new_quantity` below the dispatched quantity. */
const adjustQuantity = (
  state: DecisionState,
  line: ItemRow,
  quantity: string,
  reason: string | null,
  context: DecideContext
): BulkDecided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "edit")
    yield* inActiveVersion(line)
    yield* countable(state, line)
    if (isMore(line.dispatched_quantity, quantity))
      return yield* reject("new_quantity", `${Number(line.dispatched_quantity)} went out already.`)
    const recalculated = yield* recalculate(
      state,
      withLine(state.opportunity, line.id, { quantity }),
      { priced: [line.id], demanded: [line.id] },
      context
    )
    const events: ReadonlyArray<NewEvent> = [
      lineChanged(line, "bulk_quantity_adjusted", { quantity }, { reason }),
      ...recalculated.events
    ]
    return { events, result: { id: state.opportunity.header.id, item_id: line.id, _meta: null } }
  })

const required = (field: string): Decided<never> => reject(field, `The ${field.replace("_", " ")} field is required.`)
/** An act on the quantity sent, which it requires. */
const counted =
  (act: CountedAct): Act =>
  (state, line, sent, context) =>
    typeof sent.quantity === "string" ? act(state, line, sent.quantity, sent, context) : required("quantity")
export const bulkActs: { readonly [A in NonNullable<Body["action"]>]: Act } = {
  dispatch: counted((state, line, quantity, { dispatched_by = null }, context) =>
    dispatchQuantity(state, line, quantity, dispatched_by, context)
  ),
  return: counted((state, line, quantity, { condition = null, damage_notes = null, received_by = null }, context) =>
    returnQuantity(state, line, quantity, { received_by, condition, damage_notes }, context)
  ),
  // A new quantity changes the price, which warehouse staff may not do.
  adjust: (state, line, sent, context) =>
    !hasOnePermission(context.viewer, edit.permission)
      ? Result.fail(forbidden(`This needs the permission ${edit.permission}.`))
      : typeof sent.new_quantity !== "string"
        ? required("new_quantity")
        : adjustQuantity(state, line, sent.new_quantity, sent.reason ?? null, context),
  revert_dispatch: counted(revertDispatched),
  revert_return: counted(revertReturned)
}
