/** Rules that change an opportunity's status, lock, delete and restore it (rules/opportunities 1, 6). */
import { Result } from "effect"
import { reject } from "../../../kernel/index.ts"
import type { DecideContext, Decided, JsonObject, NewEvent, Rejection } from "../../../kernel/index.ts"
import { acknowledgementOf, conflictingHold, demandSettings, gatePolicy, isHoldingStock } from "../state/index.ts"
import { isTold, liveLines, opportunityName, recalculate, requireStanding, shortageText } from "../state/index.ts"
import { shortageToldText, standingWarnings, taxesLocked, taxesReleased, unitHeldText } from "../state/index.ts"
import { unitName, unitWindow, withHeader, type DecisionState, type Opportunity, type Warned } from "../state/index.ts"
import { acknowledgements, checked_in, dispatched, finalised, isAbandoned, isClosed } from "../tables/index.ts"
import { on_hire, order, prepared, sale_line } from "../tables/index.ts"
import { requireTransition, statusLabelOf, statusNamed, targetStatus } from "../tables/index.ts"
import type { AssignmentRow, OpportunityRow, Transition } from "../tables/index.ts"
import { namesText } from "../../../values/text.ts"
import { opportunityDeleted, type StatusChange, statusChanges } from "../events/header.ts"
import { unitChanged, unitDeallocated } from "../events/lines.ts"
import { allocatedCountChanged } from "../units/decide.ts"
import { confirmVersion } from "../versions/decide.ts"

const units = (opportunity: Opportunity, ...statuses: ReadonlyArray<number>): boolean =>
  opportunity.units.some((unit) => statuses.includes(unit.status))
const isMore = (one: string, other: string): boolean => Number(one) > Number(other)
/** Whether anything is dispatched and not returned. Lines of all versions count. */
const isStockOut = (opportunity: Opportunity): boolean =>
  units(opportunity, dispatched, on_hire) ||
  opportunity.lines.some((line) => isMore(line.dispatched_quantity, line.returned_quantity))
/** `isStockOut` without goods sold, which need not come back. */
const isHireOut = ({ lines, units, ...rest }: Opportunity): boolean => {
  const sold = new Set(lines.flatMap((line) => (line.transaction_type === sale_line ? line.id : [])))
  return isStockOut({
    ...rest,
    lines: lines.filter(({ id }) => !sold.has(id)),
    units: units.filter((unit) => !sold.has(unit.opportunity_item_id))
  })
}
const named_max = 5
/** Why an order cannot be complete: units are out, or back and not yet checked; undefined if neither. */
const unreturnedText = (state: DecisionState): string | undefined => {
  const { opportunity } = state
  if (isHireOut(opportunity)) return "Units are still out or unchecked; check them in before the order is complete."
  const names = opportunity.units
    .filter(({ status }) => status === checked_in)
    .map(({ stock_level_id }) => unitName(state, stock_level_id))
  if (names.length === 0) return undefined
  const more = names.length > named_max ? `, and ${names.length - named_max} more` : ""
  return (
    `Back, but not yet checked: ${names.slice(0, named_max).join(", ")}${more}. ` +
    "Finalise them before the order is complete (flightcase scan in CODE --finalise)."
  )
}
/** Whether anything was ever dispatched, even if all of it is returned. */
export const wasDispatched = (opportunity: Opportunity): boolean =>
  opportunity.units.some((unit) => unit.status >= dispatched) ||
  opportunity.lines.some((line) => isMore(line.dispatched_quantity, "0"))

const refuse = (text: string, field = "state"): Result.Result<never, Rejection> => reject(field, text)
const done = (id: number): Warned => ({ id, warnings: [] })

/** Sets header columns and updates the demands of all lines. `before`: the opportunity and events that precede it. */
const moveTo = (
  state: DecisionState,
  name: StatusChange,
  set: Partial<OpportunityRow>,
  also: JsonObject,
  context: DecideContext,
  before: Remaining = { opportunity: state.opportunity, events: [], warnings: [] }
): Decided<Warned> =>
  Result.map(
    recalculate(state, withHeader(before.opportunity, set), { totals: false, demanded: "all" }, context),
    ({ events }) => ({
      events: [...before.events, statusChanges.make(name, state.opportunity.header, set, also), ...events],
      result: { id: state.opportunity.header.id, warnings: before.warnings }
    })
  )
/** Units not yet dispatched that others hold for the time of their lines, with the text that names the holder. */
const heldByOthers = (
  state: DecisionState,
  opportunity: Opportunity,
  context: DecideContext
): ReadonlyMap<AssignmentRow, string> => {
  if (state.unit_holds.length === 0 || !isHoldingStock(opportunity.header, context.settings)) return new Map()
  const settings = demandSettings(context.settings, context.now)
  const lines = new Map(liveLines(opportunity).map((line) => [line.id, line]))
  return new Map(
    opportunity.units.flatMap((unit) => {
      const line = lines.get(unit.opportunity_item_id)
      if (unit.status > prepared || line === undefined) return []
      const { stock_level_id } = unit
      const window = unitWindow(state, opportunity, line, settings, state.levels.get(stock_level_id)?.product_id)
      const hold = conflictingHold(state.unit_holds, stock_level_id, window, context.now)
      return hold === undefined ? [] : [[unit, unitHeldText(unitName(state, stock_level_id), hold)] as const]
    })
  )
}
interface Remaining {
  readonly opportunity: Opportunity
  readonly events: ReadonlyArray<NewEvent>
  readonly warnings: ReadonlyArray<string>
}
/**
 * Drops assignments of units that were deleted while the opportunity was closed or deleted, or that others hold now.
 * `set`: the header's change.
 */
const withAvailableUnits = (state: DecisionState, set: Partial<OpportunityRow>, context: DecideContext): Remaining => {
  const { opportunity } = state
  const deleted = opportunity.units.filter((unit) => unit.status < finalised && !state.levels.has(unit.stock_level_id))
  const held = heldByOthers(state, withHeader(opportunity, set), context)
  if (deleted.length + held.size === 0) return { opportunity, events: [], warnings: [] }
  // Units never dispatched are released; dispatched and unchecked ones count as checked.
  const dropped = new Set([...held.keys(), ...deleted.filter((unit) => unit.status <= prepared)])
  const over = { status: finalised }
  const reason = "The unit has been deleted."
  const name = opportunityName(opportunity.header.id, withHeader(opportunity, set).header)
  const counts = new Map<number, number>()
  for (const { stock_level_id } of held.keys()) counts.set(stock_level_id, (counts.get(stock_level_id) ?? 0) - 1)
  return {
    opportunity: {
      ...opportunity,
      units: opportunity.units
        .filter((unit) => !dropped.has(unit))
        .map((unit) => (deleted.includes(unit) ? { ...unit, ...over } : unit))
    },
    events: [
      ...deleted.map((unit) =>
        dropped.has(unit) ? unitDeallocated(unit, { reason }) : unitChanged(unit, "asset_checked", over, { reason })
      ),
      ...[...held.keys()].map((unit) => unitDeallocated(unit, { reason: "Others hold the unit then." })),
      ...allocatedCountChanged(state.levels, counts)
    ],
    warnings: [...held.values()].map((text) => `${text} It is no longer allocated to ${name}; allocate another.`)
  }
}
const statusOf = (header: OpportunityRow, move: Transition): Pick<OpportunityRow, "state" | "status"> => {
  const { state, status } = targetStatus(header, move)
  return { state, status }
}
/** A change that depends on the status alone. */
const simpleMove =
  (move: Transition, name: StatusChange, set: Partial<OpportunityRow> = {}) =>
  (state: DecisionState, reason: string | null, context: DecideContext): Decided<Warned> =>
    Result.gen(function* () {
      const { header } = state.opportunity
      yield* requireTransition(header, move)
      const changed = { ...statusOf(header, move), ...set }
      const remaining = withAvailableUnits(state, changed, context)
      return yield* moveTo(state, name, changed, reason === null ? {} : { reason }, context, remaining)
    })

/** Converts to a quotation, with warnings about the customer's credit. */
export const convertToQuotation = (
  state: DecisionState,
  reason: string | null,
  context: DecideContext
): Decided<Warned> =>
  Result.map(simpleMove("convert_to_quotation", "quoted")(state, reason, context), (decision) => ({
    ...decision,
    result: {
      id: decision.result.id,
      warnings: standingWarnings(state.customer, state.owed, state.opportunity.header, context.settings)
    }
  }))
export const reinstate = simpleMove("reinstate", "reinstated")
export const reopen = simpleMove("reopen", "reopened")
export const revertToDraft = simpleMove("revert_to_draft", "reverted_to_draft")

export const revertToQuotation = (
  state: DecisionState,
  reason: string | null,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "revert_to_quotation")
    if (wasDispatched(state.opportunity))
      return yield* refuse("Units of this order were dispatched already, so it cannot go back to being a quotation.")
    return yield* simpleMove("revert_to_quotation", "reverted_to_quotation", {
      exchange_rate_locked: false,
      tax_locked: false
    })(state, reason, context)
  })

/** The order that a quotation would become, and its shortages. */
export const previewAsOrder = (state: DecisionState, context: DecideContext) => {
  const { header } = state.opportunity
  const set = {
    ...statusOf(header, "convert_to_order"),
    exchange_rate_locked: true,
    tax_locked: true,
    ordered_at: header.ordered_at ?? context.now
  }
  return Result.gen(function* () {
    const confirmed = yield* confirmVersion(state, context)
    const { has_alternatives } = confirmed.opportunity.header
    const recalculated = yield* recalculate(
      { ...state, opportunity: confirmed.opportunity },
      withHeader(confirmed.opportunity, set),
      { totals: false, demanded: "all" },
      context
    )
    return {
      set: has_alternatives === header.has_alternatives ? set : { ...set, has_alternatives },
      recalculated,
      confirmed
    }
  })
}

export const convertToOrder = (
  state: DecisionState,
  shortage_notes: string | null,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "convert_to_order")
    const { confirmed, set, recalculated } = yield* previewAsOrder(state, context)
    if (liveLines(recalculated.opportunity).length === 0)
      return yield* refuse("The quotation has no lines yet; add one before it becomes an order.")
    const short = recalculated.shortages.filter((one) => one.remaining_shortfall > 0)
    const standing = yield* requireStanding(
      state.customer,
      state.owed,
      recalculated.opportunity.header,
      context.settings
    )
    const policy = gatePolicy(state, context.viewer)
    if (short.length > 0 && policy.effective === "block") return yield* refuse(shortageText(short), "shortages")
    const notice =
      short.length === 0 || policy.effective === "allow"
        ? []
        : [
            acknowledgementOf(
              context.id(acknowledgements),
              header.id,
              short,
              { policy, notes: shortage_notes },
              context
            )
          ]
    return {
      events: [
        ...confirmed.events,
        statusChanges.make("converted_to_order", header, set),
        ...taxesLocked(state),
        ...recalculated.events,
        ...notice
      ],
      result: {
        id: header.id,
        warnings: [
          ...standing,
          ...(short.length === 0 || !isTold(state) ? [] : [shortageToldText(state, short, context.viewer)])
        ]
      }
    }
  })

/** Warning that goods on order from suppliers are still coming: their purchase orders stay as they are. */
const onOrderWarnings = ({ header, lines }: Opportunity): ReadonlyArray<string> => {
  const names = lines.filter((line) => Number(line.on_order_quantity) > 0).map(({ name }) => name)
  return names.length === 0
    ? []
    : [
        `On order from suppliers for it: ${namesText([...new Set(names)], named_max)}; ` +
          `cancel those purchase orders, too (flightcase purchase-orders list -q opportunity_id_eq=${header.id}).`
      ]
}

/**
 * Changes to any status of the same state; no effect for the current one. 422 on `status` for a number the state does
 * not have.
 */
export const changeStatus = (
  state: DecisionState,
  status: number,
  context: DecideContext,
  reason: string | null = null
): Decided<Warned> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const name = statusNamed(header.state, status)
    if (name === undefined) return yield* refuse(`Status ${status} does not exist in this state.`, "status")
    yield* requireTransition(header, "change_status")
    if (status === header.status) return { events: [], result: done(header.id) }
    if (isAbandoned(name) && isStockOut(state.opportunity))
      return yield* refuse(
        `Units are still out; check them in before it is ${statusLabelOf({ ...header, status }).toLowerCase()}.`
      )
    const unreturned = name === "complete" ? unreturnedText(state) : undefined
    if (unreturned !== undefined) return yield* refuse(unreturned)
    return yield* moveTo(state, "status_changed", { status }, reason === null ? {} : { reason }, context, {
      opportunity: state.opportunity,
      events: [],
      warnings: isAbandoned(name) ? onOrderWarnings(state.opportunity) : []
    })
  })

export const lockRates = (state: DecisionState, reason: string | null): Decided<Warned> => {
  const { header } = state.opportunity
  if (header.deal_total !== null) return refuse("A deal price is set; clear it before locking prices.", "opportunity")
  if (header.exchange_rate_locked || header.tax_locked) return refuse("Exchange rate and tax are locked already.")
  return locksChanged(header, "locks_applied", true, reason, taxesLocked(state))
}
export const unlockRates = (state: DecisionState, reason: string | null): Decided<Warned> => {
  const { header } = state.opportunity
  return header.exchange_rate_locked || header.tax_locked
    ? locksChanged(header, "locks_released", false, reason, header.tax_locked ? taxesReleased(state) : [])
    : refuse("Neither exchange rate nor tax is locked.")
}
const locksChanged = (
  header: OpportunityRow,
  name: StatusChange,
  locked: boolean,
  reason: string | null,
  also: ReadonlyArray<NewEvent> = []
): Decided<Warned> =>
  Result.succeed({
    events: [
      statusChanges.make(
        name,
        header,
        { exchange_rate_locked: locked, tax_locked: locked },
        reason === null ? {} : { reason }
      ),
      ...also
    ],
    result: done(header.id)
  })

/** Deletes the opportunity and releases its demands. 422 on `state` while units are out (rules/opportunities 1.1). */
export const deleteOpportunity = (state: DecisionState, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const isOut = header.state === order && isClosed(header) ? isHireOut : isStockOut
    if (isOut(state.opportunity)) return yield* refuse("Units are still out; check them in before deleting.")
    const { events } = yield* recalculate(
      state,
      withHeader(state.opportunity, { deleted_at: context.now }),
      { totals: false, demanded: "all" },
      context
    )
    return { events: [...events, opportunityDeleted.make({ id: header.id })], result: done(header.id) }
  })
/** Restores a deleted opportunity; no effect on others (rules/opportunities 1.1). */
export const restoreOpportunity = (state: DecisionState, context: DecideContext): Decided<Warned> =>
  state.opportunity.header.deleted_at === null
    ? Result.succeed({ events: [], result: done(state.opportunity.header.id) })
    : moveTo(
        state,
        "restored",
        { deleted_at: null },
        {},
        context,
        withAvailableUnits(state, { deleted_at: null }, context)
      )
