/** Steps of single units, with every event in full (rules/opportunities 9.1, 9.2, 9.4). */
import { describe, it } from "vitest"
import type { DecisionState } from "../../../../../core/orders/opportunities/state/aggregate.ts"
import { opportunityEvents } from "../../../../../core/orders/opportunities/events/participants.ts"
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
} from "../../../../../core/orders/opportunities/units/lifecycle.ts"
import type { NewEvent } from "../../../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../../../core/kernel/fields/field.ts"
import { decider, type Facts } from "../../../decider.ts"
import { demand, demandOf, lamp, line, line_id, opportunity, opportunity_id, stateOf, unit, unitIn } from "../state.ts"

const { given } = decider(opportunityEvents)

const at = "2026-06-18T10:00:00.000Z"
const earlier = "2026-06-17T08:00:00.000Z"
const order = (status = 0) => opportunity({ state: 2, status })
const allocated = unit(1)
const prepared = unit(1, { status: 1, prepared_at: earlier })
const dispatched = unit(1, { status: 2, dispatched_at: earlier })
const on_hire = unit(1, { status: 3, dispatched_at: earlier })
const checked_in = unit(1, { status: 4, dispatched_at: earlier, returned_at: earlier })
const finalised = unit(1, {
  status: 5,
  dispatched_at: earlier,
  returned_at: earlier,
  checked_at: earlier,
  condition_on_return: 1
})

/** Decision state without stocked products, so that no demand events follow. */
const withoutDemands = (facts: Facts): DecisionState => stateOf(facts, { stocked: new Map() })
type Step = Parameters<typeof moveUnits>[2][number]
const moved =
  (state: (facts: Facts) => DecisionState, ids: ReadonlyArray<number>, ...steps: ReadonlyArray<Step>) =>
  (facts: Facts) => {
    const moving = ids.map((id, place) => ({ unit: unitIn(facts, id), field: `asset_ids.${place}` }))
    return moveUnits(state(facts), moving, steps, facts.context)
  }
const about = { dispatched_by: 3, vehicle_id: null }
const back = { received_by: 3, return_store_id: null }
const sound = { condition: 0, checked_by: 3, damage_notes: null }

const event = (type: string, data: NewEvent["data"]): NewEvent => ({
  stream: `opportunity:${opportunity_id}`,
  type,
  data: { id: opportunity_id, ...data }
})
const unitEvent = (
  type: string,
  set: JsonObject,
  was: JsonObject,
  also: NewEvent["data"] = {},
  assignment_id = 1
): NewEvent => event(`opportunity.${type}`, { assignment_id, set, was, also })
const promoted = (was: number, status: number): NewEvent =>
  event("opportunity.status_promoted", { set: { status }, was: { status: was }, also: {} })
/** Event that sets the unit's allocated quantity: 1.00 while an order holds it, else 0.00. */
const promised = (quantity_allocated: "0.00" | "1.00"): NewEvent => ({
  stream: "stock_level:501",
  type: "stock_level.updated",
  data: { id: 501, quantity_allocated }
})

describe("a unit on an order", () => {
  it("is prepared at the given time", () =>
    given(order(), line(), lamp(1), allocated)
      .when(moved(withoutDemands, [1], preparing(at)))
      .thenEvents(unitEvent("asset_prepared", { status: 1, prepared_at: at }, { status: 0, prepared_at: null })))

  it("loses its preparation time when its preparation is reverted", () =>
    given(order(), line(), lamp(1), prepared)
      .when(moved(withoutDemands, [1], unpreparing))
      .thenEvents(
        unitEvent("asset_preparation_reverted", { status: 0, prepared_at: null }, { status: 1, prepared_at: earlier })
      ))

  it("makes the order On Hire at once if it is dispatched as its only unit", () =>
    given(order(), line(), lamp(1), prepared)
      .when(moved(withoutDemands, [1], dispatching(at, about)))
      .thenEvents(
        unitEvent("asset_dispatched", { status: 2, dispatched_at: at }, { status: 1, dispatched_at: null }, about),
        promoted(0, 2)
      ))

  it("makes the order Dispatched, not On Hire, while another unit remains to be dispatched", () =>
    given(order(), line(), lamp(1), lamp(2), allocated, unit(2))
      .when(moved(withoutDemands, [1], dispatching(at, about)))
      .thenEvents(
        unitEvent("asset_dispatched", { status: 2, dispatched_at: at }, { status: 0, dispatched_at: null }, about),
        promoted(0, 1)
      ))

  it("goes on hire at a time that only the event records, and leaves the order's status unchanged", () =>
    given(order(2), line(), lamp(1), dispatched)
      .when(moved(withoutDemands, [1], goingOnHire(at)))
      .thenEvents(unitEvent("asset_on_hire", { status: 3 }, { status: 2 }, { on_hire_at: at })))

  it("is returned, which ends its reservation and advances the order's status", () =>
    given(order(2), line(), lamp(1), on_hire)
      .when(moved(withoutDemands, [1], returning(at, back)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at: at }, { status: 3, returned_at: null }, back),
        promoted(2, 3),
        promised("0.00")
      ))

  it("records its return store on the line, the first time only", () => {
    const to_store = { ...back, return_store_id: 2 }
    given(order(2), line(), lamp(1), dispatched)
      .when(moved(withoutDemands, [1], returning(at, to_store)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at: at }, { status: 2, returned_at: null }, to_store),
        event("opportunity.item_store_set", {
          item_id: line_id,
          set: { return_store_id: 2 },
          was: { return_store_id: null },
          also: {}
        }),
        promoted(2, 3),
        promised("0.00")
      )
    given(order(2), line({ return_store_id: 4 }), lamp(1), dispatched)
      .when(moved(withoutDemands, [1], returning(at, to_store)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at: at }, { status: 2, returned_at: null }, to_store),
        promoted(2, 3),
        promised("0.00")
      )
  })

  it("is checked with its condition and damage", () =>
    given(order(3), line(), lamp(1), checked_in)
      .when(moved(withoutDemands, [1], checking(at, { condition: 1, checked_by: 3, damage_notes: "cracked lens" })))
      .thenEvents(
        unitEvent(
          "asset_checked",
          { status: 5, checked_at: at, condition_on_return: 1, notes: "cracked lens" },
          { status: 4, checked_at: null, condition_on_return: null, notes: null },
          { checked_by: 3, condition: 1 }
        ),
        promoted(3, 4)
      ))

  it("is returned and checked in one request with two events, and one change of the order's status", () =>
    given(order(2), line(), lamp(1), on_hire)
      .when(moved(withoutDemands, [1], returning(at, back), checking(at, sound)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at: at }, { status: 3, returned_at: null }, back),
        unitEvent(
          "asset_checked",
          { status: 5, checked_at: at, condition_on_return: 0 },
          { status: 4, checked_at: null, condition_on_return: null },
          { checked_by: 3, condition: 0 }
        ),
        promoted(2, 4),
        promised("0.00")
      ))

  it("cannot be checked in on a complete order", () =>
    given(order(5), line(), lamp(1), checked_in)
      .when(moved(withoutDemands, [1], checking(at, sound)))
      .thenRefused({ state: ["This order is complete. Nothing can be checked in on it."] }))

  it.each([
    ["prepared", prepared, preparing(at), "Lamp 1 is prepared and cannot be prepared."],
    ["put back", allocated, unpreparing, "Lamp 1 is allocated and cannot be put back to allocated."],
    ["dispatched", dispatched, dispatching(at, about), "Lamp 1 is dispatched and cannot be dispatched."],
    ["put on hire", prepared, goingOnHire(at), "Lamp 1 is prepared and cannot be put on hire."],
    ["checked in", prepared, returning(at, back), "Lamp 1 is prepared and cannot be checked in."],
    ["checked", on_hire, checking(at, sound), "Lamp 1 is on hire and cannot be checked."]
  ])("cannot be %s from a status that does not permit it", (_step, before, step, words) =>
    given(order(), line(), lamp(1), before)
      .when(moved(withoutDemands, [1], step))
      .thenRefused({ "asset_ids.0": [words] })
  )

  it("moves together with the other units of its request or not at all, naming the invalid unit", () =>
    given(order(), line(), lamp(1), lamp(2), allocated, unit(2, { status: 3 }))
      .when(moved(withoutDemands, [1, 2], dispatching(at, about)))
      .thenRefused({ "asset_ids.1": ["Lamp 2 is on hire and cannot be dispatched."] }))

  it("cannot be dispatched for an inactive version, but can be returned", () => {
    const other_version = line({ version_id: 9, is_live: false })
    given(order(), other_version, lamp(1), allocated)
      .when(moved(withoutDemands, [1], dispatching(at, about)))
      .thenRefused({ item: ["Lamp belongs to a version that is not active; activate it first."] })
    given(order(), other_version, lamp(1), dispatched)
      .when(moved(withoutDemands, [1], returning(at, back)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at: at }, { status: 2, returned_at: null }, back),
        promised("0.00")
      )
  })

  it("cannot be dispatched from a quotation", () =>
    given(opportunity({ state: 1, status: 0 }), line(), lamp(1), allocated)
      .when(moved(withoutDemands, [1], dispatching(at, about)))
      .thenRefused({ state: ["This quotation is provisional. Only an open order can be dispatched."] }))
})

describe("a unit's demand", () => {
  const reserved = { phase: "reserved", is_active: true, asset_id: 501 } as const
  const out = { ...reserved, phase: "on_hire", out: true, starts_at: at, buffered_starts_at: at } as const
  const demandsSet = (...claims: ReadonlyArray<NewEvent["data"]>): NewEvent => ({
    stream: `opportunity:${opportunity_id}`,
    type: "claims.set",
    data: { source_type: "opportunity_item", source_id: line_id, claims }
  })

  it("starts with an early dispatch, and keeps its id", () =>
    given(order(), line({ quantity: "1.00" }), lamp(1), allocated, demand(9, reserved))
      .when(moved(stateOf, [1], dispatching(at, about)))
      .thenEvents(
        unitEvent("asset_dispatched", { status: 2, dispatched_at: at }, { status: 0, dispatched_at: null }, about),
        promoted(0, 2),
        demandsSet(demandOf(9, out))
      ))

  it("ends with an early return, with its check pending", () => {
    const returned_at = "2026-06-18T11:00:00.000Z"
    given(order(2), line({ quantity: "1.00" }), lamp(1), unit(1, { status: 3, dispatched_at: at }), demand(9, out))
      .when(moved(stateOf, [1], returning(returned_at, back)))
      .thenEvents(
        unitEvent("asset_returned", { status: 4, returned_at }, { status: 3, returned_at: null }, back),
        promoted(2, 3),
        demandsSet(
          demandOf(9, {
            ...out,
            phase: "closed",
            is_active: false,
            out: false,
            pending_checkin: true,
            returned_at,
            ends_at: returned_at,
            buffered_ends_at: returned_at
          })
        ),
        promised("0.00")
      )
  })

  it("stays unchanged while the unit is prepared, as does the demand for the unallocated quantity", () =>
    given(order(), line(), lamp(1), allocated, demand(9, reserved), demand(10, { ...reserved, asset_id: null }))
      .when(moved(stateOf, [1], preparing(at)))
      .thenEvents(unitEvent("asset_prepared", { status: 1, prepared_at: at }, { status: 0, prepared_at: null })))
})

describe("a unit reverted to an earlier status", () => {
  const reverted = (status: number) => (facts: Facts) =>
    revertUnit(withoutDemands(facts), unitIn(facts, 1), status, "typed wrong", facts.context)
  const reason = { reason: "typed wrong" }

  it("loses the times of the undone steps, and its order is active again", () =>
    given(order(2), line(), lamp(1), unit(1, { status: 2, prepared_at: earlier, dispatched_at: earlier }))
      .when(reverted(1))
      .thenEvents(
        unitEvent(
          "asset_status_reverted",
          { status: 1, dispatched_at: null, returned_at: null, checked_at: null, condition_on_return: null },
          { status: 2, dispatched_at: earlier, returned_at: null, checked_at: null, condition_on_return: null },
          reason
        ),
        promoted(2, 0)
      ))

  it("is reserved for the order again after its return", () =>
    given(order(4), line(), lamp(1, { quantity_allocated: "0.00" }), finalised)
      .when(reverted(3))
      .thenEvents(
        unitEvent(
          "asset_status_reverted",
          { status: 3, returned_at: null, checked_at: null, condition_on_return: null },
          { status: 5, returned_at: earlier, checked_at: earlier, condition_on_return: 1 },
          reason
        ),
        promoted(4, 2),
        promised("1.00")
      ))

  it("keeps its return time when only its check is reverted", () =>
    given(order(4), line(), lamp(1, { quantity_allocated: "0.00" }), finalised)
      .when(reverted(4))
      .thenEvents(
        unitEvent(
          "asset_status_reverted",
          { status: 4, checked_at: null, condition_on_return: null },
          { status: 5, checked_at: earlier, condition_on_return: 1 },
          reason
        ),
        promoted(4, 3)
      ))

  it("cannot be reverted to its current status, or after deletion", () => {
    given(order(2), line(), lamp(1), dispatched)
      .when(reverted(2))
      .thenRefused({ status: ["Lamp 1 is dispatched; it can only go back to an earlier status."] })
    given(order(2), line(), dispatched)
      .when(reverted(1))
      .thenRefused({ status: ["The unit has been deleted; its status can no longer change."] })
  })
})

describe("a unit's case", () => {
  const cased = (container_stock_level_id: number | null) => (facts: Facts) =>
    setContainer(withoutDemands(facts), unitIn(facts, 1), container_stock_level_id)

  it("is set and cleared without a change of stock", () => {
    given(order(), line(), lamp(1), allocated)
      .when(cased(900))
      .thenEvents(
        unitEvent("asset_container_set", { container_stock_level_id: 900 }, { container_stock_level_id: null })
      )
    given(order(), line(), lamp(1), unit(1, { container_stock_level_id: 900 }))
      .when(cased(null))
      .thenEvents(
        unitEvent("asset_container_cleared", { container_stock_level_id: null }, { container_stock_level_id: 900 })
      )
  })
  it("cannot be the unit itself, and cannot be cleared if none is set", () => {
    given(order(), line(), lamp(1), allocated)
      .when(cased(501))
      .thenRefused({ container_stock_level_id: ["A unit cannot travel in itself."] })
    given(order(), line(), lamp(1), allocated)
      .when(cased(null))
      .thenRefused({ container_stock_level_id: ["The unit is in no container."] })
  })
})
