/** Status moves of an opportunity, with every event in full (rules/opportunities 1.1, 6). */
import { describe, it } from "vitest"
import type { DecisionState } from "../../../../../core/orders/opportunities/state/aggregate.ts"
import { opportunityEvents } from "../../../../../core/orders/opportunities/events/participants.ts"
import {
  changeStatus,
  convertToOrder,
  convertToQuotation,
  deleteOpportunity,
  lockRates,
  reinstate,
  reopen,
  restoreOpportunity,
  revertToDraft,
  revertToQuotation,
  unlockRates
} from "../../../../../core/orders/opportunities/status/decide.ts"
import type { DecideContext, Decided } from "../../../../../core/kernel/endpoints/endpoint.ts"
import type { NewEvent } from "../../../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../../../core/kernel/fields/field.ts"
import { decided_at, decider, type Facts } from "../../../decider.ts"
import { demand, demandOf, lamp, line, line_id, opportunity, opportunity_id, stateOf, unit } from "../state.ts"

const { given } = decider(opportunityEvents)
const stream = `opportunity:${opportunity_id}`
const draft = (more: Parameters<typeof opportunity>[0] = {}) => opportunity({ state: 0, status: 0, ...more })
const quotation = (status = 0, more: Parameters<typeof opportunity>[0] = {}) =>
  opportunity({ state: 1, status, ...more })
const order = (status = 0, more: Parameters<typeof opportunity>[0] = {}) => opportunity({ state: 2, status, ...more })
const locked = { exchange_rate_locked: true, tax_locked: true }
const unlocked = { exchange_rate_locked: false, tax_locked: false }

const changed = (type: string, set: JsonObject, was: JsonObject, also: JsonObject = {}): NewEvent => ({
  stream,
  type: `opportunity.${type}`,
  data: { id: opportunity_id, set, was, also }
})
/** Event that locks the tax percentages; without a customer that is only No Tax. */
const ratesKept: NewEvent = {
  stream,
  type: "opportunity.priced",
  data: {
    id: opportunity_id,
    set: { locked_taxes: [{ product_tax_class_id: null, tax_rate_id: null, name: "No Tax", percentage: "0.0000" }] },
    lines: [],
    costs: { added: [], altered: [], removed: [] }
  }
}
const demandsSet = (...claims: ReadonlyArray<JsonObject>): NewEvent => ({
  stream,
  type: "claims.set",
  data: { source_type: "opportunity_item", source_id: line_id, claims }
})

/** A service line, which takes nothing from stock. */
const service = line({ item_type: "service", item_id: null })
type Move = (state: DecisionState, reason: string | null, context: DecideContext) => Decided
const asked =
  (move: Move, reason: string | null = null) =>
  (facts: Facts) =>
    move(stateOf(facts), reason, facts.context)
const status = (code: number) => (facts: Facts) => changeStatus(stateOf(facts), code, facts.context)
const deleted = (facts: Facts) => deleteOpportunity(stateOf(facts), facts.context)
const restored = (facts: Facts) => restoreOpportunity(stateOf(facts), facts.context)

describe("a draft", () => {
  it("becomes a provisional quotation even without a line, date or customer", () =>
    given(draft())
      .when(asked(convertToQuotation))
      .thenEvents(changed("quoted", { state: 1, status: 0 }, { state: 0, status: 0 })))
  it("cannot become an order, and cannot be reinstated or reopened", () => {
    const refusal = (words: string) => ({ state: [`This draft is open. ${words}`] })
    given(draft(), service)
      .when(asked(convertToOrder))
      .thenRefused(refusal("Only an open quotation can be converted to an order."))
    given(draft())
      .when(asked(reinstate))
      .thenRefused(refusal("Only a lost, dead or postponed quotation or a cancelled order can be reinstated."))
    given(draft()).when(asked(reopen)).thenRefused(refusal("Only a complete order can be reopened."))
  })
})

describe("a quotation", () => {
  const earlier = "2026-05-01T00:00:00.000Z"
  const ordered = (was: JsonObject = {}, ordered_at: string = decided_at): NewEvent =>
    changed(
      "converted_to_order",
      { state: 2, status: 0, ...locked, ordered_at },
      { state: 1, status: 0, ...unlocked, ordered_at: null, ...was }
    )
  it("becomes an active order with locked rates and the time of ordering", () =>
    given(quotation(), service).when(asked(convertToOrder)).thenEvents(ordered(), ratesKept))
  it("keeps an earlier time of ordering when it becomes an order from Postponed", () =>
    given(quotation(4, { ordered_at: earlier }), service)
      .when(asked(convertToOrder))
      .thenEvents(ordered({ status: 4, ordered_at: earlier }, earlier), ratesKept))
  it("keeps rates that were locked before", () =>
    given(quotation(0, locked), service).when(asked(convertToOrder)).thenEvents(ordered(locked)))
  it("cannot become an order without a line", () =>
    given(quotation())
      .when(asked(convertToOrder))
      .thenRefused({ state: ["The quotation has no lines yet; add one before it becomes an order."] }))
  it("reserves stock once it is an order", () =>
    given(quotation(), line(), demand(9, { quantity: 2 }))
      .when(asked(convertToOrder))
      .thenEvents(ordered(), ratesKept, demandsSet(demandOf(9, { quantity: 2, phase: "reserved", is_active: true }))))
  it("reverts to a draft only from Provisional, with the given reason", () => {
    given(quotation())
      .when(asked(revertToDraft, "wrong customer"))
      .thenEvents(
        changed("reverted_to_draft", { state: 0, status: 0 }, { state: 1, status: 0 }, { reason: "wrong customer" })
      )
    given(quotation(1))
      .when(asked(revertToDraft))
      .thenRefused({
        state: ["This quotation is reserved. Only a provisional quotation can go back to being a draft."]
      })
  })
  it("is reinstated as Provisional from Lost, Dead and Postponed, keeping its locks", () => {
    for (const from of [2, 3, 4]) {
      given(quotation(from, locked))
        .when(asked(reinstate))
        .thenEvents(changed("reinstated", { state: 1, status: 0 }, { state: 1, status: from }))
    }
  })
})

describe("an order", () => {
  it("reverts to a quotation, releasing its locks and its stock", () =>
    given(order(0, locked), line(), demand(9, { quantity: 2, phase: "reserved", is_active: true }))
      .when(asked(revertToQuotation, "customer hesitates"))
      .thenEvents(
        changed(
          "reverted_to_quotation",
          { state: 1, status: 0, ...unlocked },
          { state: 2, status: 0, ...locked },
          { reason: "customer hesitates" }
        ),
        demandsSet(demandOf(9, { quantity: 2, phase: "draft", is_active: false }))
      ))
  it("cannot revert to a quotation once anything was dispatched, even if all of it is back", () => {
    const refusal = {
      state: ["Units of this order were dispatched already, so it cannot go back to being a quotation."]
    }
    given(order(4), service, unit(1, { status: 5 }))
      .when(asked(revertToQuotation))
      .thenRefused(refusal)
    given(order(4), line({ dispatched_quantity: "1.00", returned_quantity: "1.00" }))
      .when(asked(revertToQuotation))
      .thenRefused(refusal)
  })
  it("is reopened as Active if complete, and reinstated if cancelled", () => {
    given(order(5))
      .when(asked(reopen, "one more day"))
      .thenEvents(changed("reopened", { state: 2, status: 0 }, { state: 2, status: 5 }, { reason: "one more day" }))
    given(order(6))
      .when(asked(reinstate))
      .thenEvents(changed("reinstated", { state: 2, status: 0 }, { state: 2, status: 6 }))
    given(order(6))
      .when(asked(reopen))
      .thenRefused({ state: ["This order is cancelled. Only a complete order can be reopened."] })
  })
  const ofUnit = (type: string, data: JsonObject): NewEvent => ({
    stream,
    type: `opportunity.${type}`,
    data: { id: opportunity_id, ...data, also: { reason: "The unit has been deleted." } }
  })
  it("drops deleted allocated units and finalises deleted returned units when it is reinstated", () =>
    given(order(6), service, lamp(3), unit(1), unit(2, { status: 4 }), unit(3))
      .when(asked(reinstate))
      .thenEvents(
        ofUnit("asset_deallocated", { assignment_id: 1, was: { assignment_id: 1, stock_level_id: 501 } }),
        ofUnit("asset_checked", { assignment_id: 2, set: { status: 5 }, was: { status: 4 } }),
        changed("reinstated", { state: 2, status: 0 }, { state: 2, status: 6 })
      ))
})

describe("a change to another status of the same state", () => {
  it("may skip statuses in between", () => {
    given(order())
      .when(status(4))
      .thenEvents(changed("status_changed", { status: 4 }, { status: 0 }))
    given(quotation())
      .when(status(4))
      .thenEvents(changed("status_changed", { status: 4 }, { status: 0 }))
  })
  it("records nothing for the current status", () => given(order(2)).when(status(2)).thenNothing())
  it("requires a status of the state, and an open opportunity", () => {
    given(quotation())
      .when(status(6))
      .thenRefused({ status: ["Status 6 does not exist in this state."] })
    given(quotation(2))
      .when(status(0))
      .thenRefused({
        state: ["This quotation is lost. Its status can no longer be changed; reinstate or reopen it first."]
      })
  })
  it("warns of goods on order from suppliers if it is cancelled, lost or dead, and only then", () => {
    const on_order = line({ on_order_quantity: "2.00" })
    const warnings = [
      "On order from suppliers for it: Lamp; cancel those purchase orders, too " +
        `(flightcase purchase-orders list -q opportunity_id_eq=${opportunity_id}).`
    ]
    for (const [of, code] of [
      [order(), 6],
      [quotation(1), 2],
      [quotation(1), 3]
    ] as const)
      given(of, on_order).when(status(code)).thenResult({ id: opportunity_id, warnings })
    given(order(), on_order).when(status(4)).thenResult({ id: opportunity_id, warnings: [] })
    given(order(), line()).when(status(6)).thenResult({ id: opportunity_id, warnings: [] })
  })
  it("releases stock if the opportunity is lost, and records only the demands' phase if that alone changes", () => {
    given(quotation(1), line(), demand(9, { quantity: 2, phase: "held", is_active: true }))
      .when(status(2))
      .thenEvents(
        changed("status_changed", { status: 2 }, { status: 1 }),
        demandsSet(demandOf(9, { quantity: 2, phase: "void", is_active: false }))
      )
    given(order(), line(), demand(9, { quantity: 2, phase: "reserved", is_active: true }))
      .when(status(2))
      .thenEvents(changed("status_changed", { status: 2 }, { status: 0 }), {
        stream,
        type: "claims.phased",
        data: { source_type: "opportunity_item", source_ids: [line_id], phase: "on_hire" }
      })
  })
  it.each([
    ["a dispatched unit", unit(1, { status: 2 })],
    ["a unit on hire", unit(1, { status: 3 })],
    ["a dispatched quantity", line({ dispatched_quantity: "2.00", returned_quantity: "1.00" })]
  ])("is rejected for Cancelled or Complete with %s", (_what, out) => {
    given(order(2), service, out)
      .when(status(6))
      .thenRefused({ state: ["Units are still out; check them in before it is cancelled."] })
    given(order(2), service, out)
      .when(status(5))
      .thenRefused({ state: ["Units are still out or unchecked; check them in before the order is complete."] })
  })
  it("is allowed to Complete with allocated units, but only to Cancelled with a unit that awaits its check", () => {
    const waiting = unit(1, { status: 4 })
    given(order(3), service, waiting)
      .when(status(6))
      .thenEvents(changed("status_changed", { status: 6 }, { status: 3 }))
    given(order(3), service, waiting)
      .when(status(5))
      .thenRefused({
        state: [
          "Back, but not yet checked: Stock level 501. Finalise them before the order is complete " +
            "(flightcase scan in CODE --finalise)."
        ]
      })
    given(order(), service, unit(1), unit(2, { status: 1 }))
      .when(status(5))
      .thenEvents(changed("status_changed", { status: 5 }, { status: 0 }))
  })
})

describe("locks", () => {
  const lock = (facts: Facts) => lockRates(stateOf(facts), null)
  const unlock = (facts: Facts) => unlockRates(stateOf(facts), "rates fell")
  it("are set together on a lost quotation, and released together on a complete order", () => {
    given(quotation(2))
      .when(lock)
      .thenEvents(changed("locks_applied", locked, unlocked), ratesKept)
    given(order(5, { ...unlocked, tax_locked: true }))
      .when(unlock)
      .thenEvents(changed("locks_released", unlocked, { ...unlocked, tax_locked: true }, { reason: "rates fell" }))
  })
  it("cannot be set twice or with a deal price, or released if they are not set", () => {
    given(order(0, { ...unlocked, tax_locked: true }))
      .when(lock)
      .thenRefused({ state: ["Exchange rate and tax are locked already."] })
    given(quotation(0, { deal_total: 90_000 }))
      .when(lock)
      .thenRefused({ opportunity: ["A deal price is set; clear it before locking prices."] })
    given(quotation())
      .when(unlock)
      .thenRefused({ state: ["Neither exchange rate nor tax is locked."] })
  })
})

describe("deleting an opportunity", () => {
  const gone = { stream, type: "opportunity.deleted", data: { id: opportunity_id } }
  it("releases its stock until it is restored", () => {
    const held = demand(9, { quantity: 2, phase: "reserved", is_active: true })
    given(order(), line(), held).when(deleted).thenEvents(demandsSet(), gone)
    given(order(0, { deleted_at: decided_at }), line())
      .when(restored)
      .thenEvents(
        changed("restored", { deleted_at: null }, { deleted_at: decided_at }),
        demandsSet(demandOf(1_001, { quantity: 2, phase: "reserved", is_active: true }))
      )
  })
  it("is rejected while units are out", () =>
    given(order(1), service, unit(1, { status: 2 }))
      .when(deleted)
      .thenRefused({ state: ["Units are still out; check them in before deleting."] }))
  it("is reverted by restoring, which changes nothing if the opportunity is not deleted", () => {
    given(order(), gone)
      .when(restored)
      .thenEvents(changed("restored", { deleted_at: null }, { deleted_at: "2026-06-01T09:00:00.000Z" }))
    given(order()).when(restored).thenNothing()
  })
})
