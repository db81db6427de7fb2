/** The moves of an opportunity from status to status, its locks, and what they need (opportunities 1 and 6). */
import { Result } from "effect"
import type { LineShortage } from "../../availability/line.ts"
import type { DecideContext, Decided, Id } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { can, type Viewer } from "../../kernel/viewer.ts"
import { type Deal, type Known, liveLines, withHeader } from "../deal.ts"
import { type HeaderChange, dealDeleted, headerChanged } from "../header-events.ts"
import { partChanged, partRemoved } from "../part-events.ts"
import { checked_in, dispatched, finalised, on_hire, prepared } from "../parts.ts"
import type { OpportunityRow } from "../schema.ts"
import { settle } from "../settle.ts"
import { shortageAcknowledged, acknowledgements } from "../shortages.ts"
import { allowed, isVoid, labelOf, type Move, statusNamed, target } from "../statuses.ts"
import { confirmVersion } from "./versions.ts"

const units = (deal: Deal, ...statuses: ReadonlyArray<number>): boolean => deal.units.some((unit) => statuses.includes(unit.status))
const isMore = (one: string, other: string): boolean => Number(one) > Number(other)
/** Something left and has not come back. Lines of all versions count. */
export const isStockOut = (deal: Deal): boolean =>
  units(deal, dispatched, on_hire) || deal.lines.some((line) => isMore(line.dispatched_quantity, line.returned_quantity))
/** Something is out, or back and not yet checked. */
export const isUnreturned = (deal: Deal): boolean => isStockOut(deal) || units(deal, checked_in)
/** Something left at some time, even if all came back. */
export const wasDispatched = (deal: Deal): boolean =>
  deal.units.some((unit) => unit.status >= dispatched) || deal.lines.some((line) => isMore(line.dispatched_quantity, "0"))

const refuse = (text: string, field = "state"): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))
const done = (id: number): Id => ({ id })

/** A move to the status the table names; every line's claims follow. `left`: the deal and events of what had to be dropped first. */
const moveTo = (
  known: Known, name: HeaderChange, set: Partial<OpportunityRow>, also: JsonObject, context: DecideContext,
  left: { readonly deal: Deal; readonly events: ReadonlyArray<NewEvent> } = { deal: known.deal, events: [] }
): Decided => Result.map(settle(known, withHeader(left.deal, set), { totals: false, claimed: "all" }, context), ({ events }) => ({
  events: [...left.events, headerChanged(known.deal.header, name, set, also), ...events], result: done(known.deal.header.id)
}))
/** Closed and deleted opportunities do not keep their units from being deleted: what was allocated and has gone since is dropped. */
const withoutGoneUnits = (known: Known): { readonly deal: Deal; readonly events: ReadonlyArray<NewEvent> } => {
  const { deal } = known
  const gone = deal.units.filter((unit) => unit.status < finalised && !known.levels.has(unit.stock_level_id))
  if (gone.length === 0) return { deal, events: [] }
  // What never left is dropped; what came back and was not checked is history.
  const dropped = gone.filter((unit) => unit.status <= prepared)
  const over = { status: finalised }
  return {
    deal: { ...deal, units: deal.units.filter((unit) => !dropped.includes(unit)).map((unit) => gone.includes(unit) ? { ...unit, ...over } : unit) },
    events: gone.map((unit) => dropped.includes(unit)
      ? partRemoved(deal.header.id, "assignment", unit.id,
        { assignment_id: unit.id, stock_level_id: unit.stock_level_id }, { reason: "The unit has been deleted." })
      : partChanged(deal.header.id, "assignment", "asset_checked", unit, over, { reason: "The unit has been deleted." }))
  }
}
const statusOf = (header: OpportunityRow, move: Move): Pick<OpportunityRow, "state" | "status"> => {
  const { state, status } = target(header, move)
  return { state, status }
}
/** A move that asks for nothing but the right status. */
const simpleMove = (move: Move, name: HeaderChange, set: Partial<OpportunityRow> = {}) =>
  (known: Known, reason: string | null, context: DecideContext): Decided => Result.gen(function*() {
    const { header } = known.deal
    yield* allowed(header, move)
    return yield* moveTo(known, name, { ...statusOf(header, move), ...set }, reason === null ? {} : { reason }, context, withoutGoneUnits(known))
  })

export const convertToQuotation = simpleMove("convert_to_quotation", "quoted")
export const reinstate = simpleMove("reinstate", "reinstated")
export const reopen = simpleMove("reopen", "reopened")
export const revertToDraft = simpleMove("revert_to_draft", "reverted_to_draft")

export const revertToQuotation = (known: Known, reason: string | null, context: DecideContext): Decided => Result.gen(function*() {
  yield* allowed(known.deal.header, "revert_to_quotation")
  if (wasDispatched(known.deal)) return yield* refuse("Units of this order were dispatched already, so it cannot go back to being a quotation.")
  return yield* simpleMove("revert_to_quotation", "reverted_to_quotation", { exchange_rate_locked: false, tax_locked: false })(known, reason, context)
})

export type GatePolicy = "block" | "warn" | "allow"
/** The store's policy on shortages, one step milder for those who may ignore them (opportunities 9.5). */
export const gatePolicy = (known: Known, viewer: Viewer): { readonly store: GatePolicy; readonly effective: GatePolicy } => {
  const store = known.store?.shortage_policy ?? "warn"
  return { store, effective: !can(viewer, "shortages.ignore") ? store : store === "block" ? "warn" : "allow" }
}
export const shortageText = (short: ReadonlyArray<LineShortage>): string =>
  `Stock is short: ${short.map((one) => `${one.product_name ?? `product ${one.product_id}`} by ${one.remaining_shortfall}`).join(", ")}.`

/** The order as it would be, with what it would be short of. */
export const asOrder = (known: Known, context: DecideContext) => {
  const { header } = known.deal
  const set = {
    ...statusOf(header, "convert_to_order"), exchange_rate_locked: true, tax_locked: true, ordered_at: header.ordered_at ?? context.now
  }
  return Result.gen(function*() {
    const confirmed = yield* confirmVersion(known, context)
    const { has_alternatives } = confirmed.deal.header
    const settled = yield* settle({ ...known, deal: confirmed.deal }, withHeader(confirmed.deal, set), { totals: false, claimed: "all" }, context)
    return { set: has_alternatives === header.has_alternatives ? set : { ...set, has_alternatives }, settled, confirmed }
  })
}

export const convertToOrder = (known: Known, shortage_notes: string | null, context: DecideContext): Decided => Result.gen(function*() {
  const { header } = known.deal
  yield* allowed(header, "convert_to_order")
  const { confirmed, set, settled } = yield* asOrder(known, context)
  if (liveLines(settled.deal).length === 0) return yield* refuse("The quotation has no lines yet; add one before it becomes an order.")
  const short = settled.shortages.filter((one) => one.remaining_shortfall > 0)
  const policy = gatePolicy(known, context.viewer)
  if (short.length > 0 && policy.effective === "block") return yield* refuse(shortageText(short), "shortages")
  const notice = short.length === 0 || policy.effective === "allow" ? [] : [
    shortageAcknowledged.make({ opportunity_id: header.id,
      id: context.id(acknowledgements), user_id: context.viewer.user_id === 0 ? null : context.viewer.user_id, acknowledged_at: context.now,
      policy_at_time: policy.store, permission_used: policy.store !== policy.effective,
      shortages_snapshot: short.map((one) => ({ ...one })), notes: shortage_notes
    })
  ]
  return { events: [...confirmed.events, headerChanged(header, "converted_to_order", set), ...settled.events, ...notice], result: done(header.id) }
})

/** Any status of the same state; the present one changes nothing. 422 on `status` for numbers the state does not know. */
export const changeStatus = (known: Known, status: number, context: DecideContext): Decided => Result.gen(function*() {
  const { header } = known.deal
  const name = statusNamed(header.state, status)
  if (name === undefined) return yield* refuse(`Status ${status} does not exist in this state.`, "status")
  yield* allowed(header, "change_status")
  if (status === header.status) return { events: [], result: done(header.id) }
  if (isVoid(name) && isStockOut(known.deal)) return yield* refuse(`Units are still out; check them in before it is ${labelOf({ ...header, status }).toLowerCase()}.`)
  if (name === "complete" && isUnreturned(known.deal)) return yield* refuse("Units are still out or unchecked; check them in before the order is complete.")
  return yield* moveTo(known, "status_changed", { status }, {}, context)
})

export const lockRates = (header: OpportunityRow, reason: string | null): Decided => {
  if (header.deal_total !== null) return refuse("A deal price is set; clear it before locking prices.", "opportunity")
  if (header.exchange_rate_locked || header.tax_locked) return refuse("Exchange rate and tax are locked already.")
  return locksChanged(header, "locks_applied", true, reason)
}
export const unlockRates = (header: OpportunityRow, reason: string | null): Decided =>
  header.exchange_rate_locked || header.tax_locked
    ? locksChanged(header, "locks_released", false, reason)
    : refuse("Neither exchange rate nor tax is locked.")
const locksChanged = (header: OpportunityRow, name: HeaderChange, locked: boolean, reason: string | null): Decided => Result.succeed({
  events: [headerChanged(header, name, { exchange_rate_locked: locked, tax_locked: locked }, reason === null ? {} : { reason })], result: done(header.id)
})

/** Deleted deals hold no stock; with units still out, deleting would lose sight of them (opportunities 1.1). */
export const deleteDeal = (known: Known, context: DecideContext): Decided => Result.gen(function*() {
  const { header } = known.deal
  if (isStockOut(known.deal)) return yield* refuse("Units are still out; check them in before deleting.")
  const { events } = yield* settle(known, withHeader(known.deal, { deleted_at: context.now }), { totals: false, claimed: "all" }, context)
  return { events: [...events, dealDeleted.make({ id: header.id })], result: done(header.id) }
})
/** On a deal that is not deleted: nothing happens (opportunities 1.1). */
export const restoreDeal = (known: Known, context: DecideContext): Decided =>
  known.deal.header.deleted_at === null ? Result.succeed({ events: [], result: done(known.deal.header.id) })
    : moveTo(known, "restored", { deleted_at: null }, {}, context, withoutGoneUnits(known))

