/**
 * Steps of a unit: prepared, dispatched, on hire, returned, checked; and back to an earlier status after a mistake
 * (rules/opportunities 9.1, 9.2).
 */
import { Result } from "effect"
import { reject, type DecideContext, type JsonObject, type NewEvent, type Rejection } from "../../../kernel/index.ts"
import { demandSettings, dispatchGate, inActiveVersion, promoteStatus, roomOf, takesRoom } from "../state/index.ts"
import { unitName, unitsOfProduct, withLine } from "../state/index.ts"
import type { DecisionState, Opportunity, UnitDecided } from "../state/index.ts"
import { lineChanged, unitChanged } from "../events/lines.ts"
import { allocated, assignment_statuses, checked_in, dispatched, finalised, on_hire } from "../tables/index.ts"
import { prepared, requireTransition, type AssignmentRow, type ItemRow, type Transition } from "../tables/index.ts"
import { inspectionWarnings, outOfServiceDuring, outOfServiceRefusal } from "../../../products/stock/schema.ts"
import { allocatedCountChanged } from "./decide.ts"

/** One step: the statuses it starts from, the columns it sets, and further values for the activity. */
interface Step {
  readonly event: Parameters<typeof unitChanged>[1]
  readonly move: Transition
  readonly from: ReadonlyArray<number>
  readonly verb: string
  readonly set: Partial<AssignmentRow>
  readonly also?: JsonObject
  /** Statuses of units that have already made the step; they are skipped. */
  readonly made_in?: ReadonlyArray<number>
}
export const preparing = (at: string): Step => ({
  event: "asset_prepared",
  move: "allocate",
  from: [allocated],
  verb: "prepared",
  set: { status: prepared, prepared_at: at }
})
/** For scans: booking out a unit prepares it as well. */
export const preparingUnprepared = (at: string): Step => ({ ...preparing(at), made_in: [prepared] })
export const unpreparing: Step = {
  event: "asset_preparation_reverted",
  move: "allocate",
  from: [prepared],
  verb: "put back to allocated",
  set: { status: allocated, prepared_at: null }
}
interface Dispatch {
  readonly dispatched_by: number | null
  readonly vehicle_id: number | null
  readonly notes?: string | null
}
export const dispatching = (at: string, about: Dispatch): Step => ({
  event: "asset_dispatched",
  move: "dispatch",
  from: [allocated, prepared],
  verb: "dispatched",
  set: { status: dispatched, dispatched_at: at },
  also: { ...about }
})
export const goingOnHire = (at: string): Step => ({
  event: "asset_on_hire",
  move: "dispatch",
  from: [dispatched],
  verb: "put on hire",
  set: { status: on_hire },
  also: { on_hire_at: at }
})
interface Return {
  readonly received_by: number | null
  readonly return_store_id: number | null
}
export const returning = (at: string, about: Return): Step => ({
  event: "asset_returned",
  move: "check_in",
  from: [dispatched, on_hire],
  verb: "checked in",
  set: { status: checked_in, returned_at: at },
  also: { ...about }
})
interface CheckIn {
  readonly condition: number
  readonly checked_by: number | null
  readonly damage_notes: string | null
}
export const checking = (at: string, { condition, checked_by, damage_notes }: CheckIn): Step => ({
  event: "asset_checked",
  move: "check_in",
  from: [checked_in],
  verb: "checked",
  set: {
    status: finalised,
    checked_at: at,
    condition_on_return: condition,
    ...(damage_notes === null ? {} : { notes: damage_notes })
  },
  also: { checked_by, condition }
})

export interface UnitMovement {
  readonly unit: AssignmentRow
  /** Body field for errors about the unit. */
  readonly field: string
}
interface Stepped {
  readonly opportunity: Opportunity
  readonly events: ReadonlyArray<NewEvent>
  /** Changes of `quantity_allocated`, by stock level. */
  readonly counts: ReadonlyMap<number, number>
}
/** Units through all steps, before what follows for the order. 422 on a unit's `field` if its status forbids a step. */
export const stepUnits = (
  state: DecisionState,
  moving: ReadonlyArray<UnitMovement>,
  steps: ReadonlyArray<Step>
): Result.Result<Stepped, Rejection> =>
  Result.gen(function* () {
    for (const step of steps) yield* requireTransition(state.opportunity.header, step.move)
    const line_ids = linesOf(moving)
    // Units dispatched for a version that is no longer active can still be returned.
    for (const line of state.opportunity.lines)
      if (isDispatch(steps) && line_ids.includes(line.id)) yield* inActiveVersion(line)
    const moved = new Map<number, AssignmentRow>()
    const events: Array<NewEvent> = []
    const counts = new Map<number, number>()
    for (const { unit: before, field } of moving) {
      let unit = before
      for (const step of steps) {
        if (step.made_in?.includes(unit.status) === true) continue
        if (!step.from.includes(unit.status)) {
          return yield* reject(
            field,
            `${unitName(state, unit.stock_level_id)} is ${statusText(unit.status)} and cannot be ${step.verb}.`
          )
        }
        events.push(unitChanged(unit, step.event, step.set, step.also))
        if (step.set.status === checked_in) counts.set(unit.stock_level_id, (counts.get(unit.stock_level_id) ?? 0) - 1)
        unit = { ...unit, ...step.set }
      }
      moved.set(unit.id, unit)
    }
    let opportunity: Opportunity = {
      ...state.opportunity,
      units: state.opportunity.units.map((unit) => moved.get(unit.id) ?? unit)
    }
    for (const [line, return_store_id] of returnedTo(opportunity, line_ids, steps)) {
      events.push(lineChanged(line, "item_store_set", { return_store_id }))
      opportunity = withLine(opportunity, line.id, { return_store_id })
    }
    return { opportunity, events, counts }
  })
const linesOf = (moving: ReadonlyArray<UnitMovement>): ReadonlyArray<number> => [
  ...new Set(moving.map(({ unit }) => unit.opportunity_item_id))
]
const isDispatch = (steps: ReadonlyArray<Step>): boolean => steps.some((step) => step.move === "dispatch")

/**
 * Moves all units through all steps, or none. The order's status is updated once. 422 on a unit's `field` if its status
 * forbids a step, or a dispatched one is out elsewhere or out of service; with the code `dispatch_block` if the store's
 * policy is to block (rules/opportunities 9.5).
 */
export const moveUnits = (
  state: DecisionState,
  moving: ReadonlyArray<UnitMovement>,
  steps: ReadonlyArray<Step>,
  context: DecideContext
): UnitDecided =>
  Result.gen(function* () {
    const { counts, events, opportunity } = yield* stepUnits(state, moving, steps)
    const line_ids = linesOf(moving)
    const held_back = steps.some((step) => step.event === "asset_dispatched")
      ? yield* dispatchGate(state, line_ids, context)
      : undefined
    const follow = yield* promoteStatus(state, opportunity, line_ids, context)
    if (isDispatch(steps)) for (const one of moving) yield* notOutElsewhere(state, one)
    // Damaged units may still change to on hire, so only dispatches are checked.
    const leaving = steps.some((step) => step.event === "asset_dispatched") ? moving : []
    for (const one of leaving) yield* isInService(state, one, context)
    return {
      events: [...events, ...follow, ...allocatedCountChanged(state.levels, counts)],
      result: {
        ...{ id: state.opportunity.header.id, assignment_id: moving[0]?.unit.id ?? null, _meta: held_back ?? null },
        warnings: inspectionWarnings(
          leaving.map(({ unit }) => state.levels.get(unit.stock_level_id)),
          context
        )
      }
    }
  })
/** 422 on the unit's field while it is out with another opportunity. */
const notOutElsewhere = (state: DecisionState, { field, unit }: UnitMovement): Result.Result<void, Rejection> => {
  const holder = state.units_out_elsewhere.get(unit.stock_level_id)
  return holder === undefined
    ? Result.succeed(undefined)
    : reject(field, `${unitName(state, unit.stock_level_id)} is out with ${holder}; check it in there first.`)
}
/** 422 on the unit's field while it is out of service: broken or lost units cannot be dispatched. */
const isInService = (
  state: DecisionState,
  { field, unit }: UnitMovement,
  context: DecideContext
): Result.Result<void, Rejection> => {
  const level = state.levels.get(unit.stock_level_id)
  const out = level === undefined ? undefined : outOfServiceDuring(level, context)
  return out === undefined
    ? Result.succeed(undefined)
    : reject(field, `${unitName(state, unit.stock_level_id)} ${outOfServiceRefusal(out)}, or substitute it.`)
}
const statusText = (status: number): string => (assignment_statuses[status] ?? "").toLowerCase()

/** Lines without a return store yet, each with the store that the steps return to. */
const returnedTo = (
  opportunity: Opportunity,
  line_ids: ReadonlyArray<number>,
  steps: ReadonlyArray<Step>
): ReadonlyArray<readonly [line: ItemRow, store_id: number]> => {
  const store_id = steps.map((step) => step.also?.["return_store_id"]).find((id) => typeof id === "number")
  return store_id === undefined
    ? []
    : line_ids.flatMap((id) =>
        opportunity.lines
          .filter((line) => line.id === id && line.return_store_id === null)
          .map((line) => [line, store_id] as const)
      )
}

/** 422 on `status` if the unit can no longer be out or reserved on the line, as it would be without its check-in. */
const mayLeaveAgain = (
  state: DecisionState,
  unit: AssignmentRow,
  status: number,
  context: DecideContext
): Result.Result<void, Rejection> => {
  if (unit.status < checked_in || status >= checked_in) return Result.succeed(undefined)
  const line = state.opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
  const product_id = state.levels.get(unit.stock_level_id)?.product_id
  const is_replaced =
    !takesRoom(unit) &&
    line !== undefined &&
    product_id !== undefined &&
    unitsOfProduct(state, state.opportunity, line, product_id).length >=
      roomOf(state, line, product_id, demandSettings(context.settings, context.now))
  if (is_replaced)
    return reject(
      "status",
      `${unitName(state, unit.stock_level_id)} came back damaged or missing, and another one went in its place.`
    )
  return status >= dispatched ? notOutElsewhere(state, { unit, field: "status" }) : Result.succeed(undefined)
}

const withUnit = (opportunity: Opportunity, unit_id: number, set: Partial<AssignmentRow>): Opportunity => ({
  ...opportunity,
  units: opportunity.units.map((unit) => (unit.id === unit_id ? { ...unit, ...set } : unit))
})

/** Reverts to an earlier status. The times of undone steps are cleared, except `prepared_at`. */
export const revertUnit = (
  state: DecisionState,
  unit: AssignmentRow,
  status: number,
  reason: string | null,
  context: DecideContext
): UnitDecided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, status >= dispatched ? "dispatch" : "check_in")
    if (!state.levels.has(unit.stock_level_id))
      return yield* reject("status", "The unit has been deleted; its status can no longer change.")
    if (status >= unit.status)
      return yield* reject(
        "status",
        `${unitName(state, unit.stock_level_id)} is ${statusText(unit.status)}; it can only go back to an earlier status.`
      )
    yield* mayLeaveAgain(state, unit, status, context)
    const set: Partial<AssignmentRow> = {
      status,
      ...(status < dispatched ? { dispatched_at: null } : {}),
      ...(status < checked_in ? { returned_at: null } : {}),
      checked_at: null,
      condition_on_return: null
    }
    const follow = yield* promoteStatus(
      state,
      withUnit(state.opportunity, unit.id, set),
      [unit.opportunity_item_id],
      context,
      true
    )
    const is_out_again = unit.status >= checked_in && status < checked_in
    return {
      events: [
        unitChanged(unit, "asset_status_reverted", set, { reason }),
        ...follow,
        ...(is_out_again ? allocatedCountChanged(state.levels, new Map([[unit.stock_level_id, 1]])) : [])
      ],
      result: { id: header.id, assignment_id: unit.id, _meta: null, warnings: [] }
    }
  })

/** Sets the case a unit travels in; null for none. Packing information only: stock does not change. */
export const setContainer = (
  state: DecisionState,
  unit: AssignmentRow,
  container_stock_level_id: number | null
): UnitDecided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "allocate")
    if (container_stock_level_id === unit.stock_level_id)
      return yield* reject("container_stock_level_id", "A unit cannot travel in itself.")
    if (container_stock_level_id === null && unit.container_stock_level_id === null)
      return yield* reject("container_stock_level_id", "The unit is in no container.")
    const name = container_stock_level_id === null ? "asset_container_cleared" : "asset_container_set"
    return {
      events: [unitChanged(unit, name, { container_stock_level_id })],
      result: { id: header.id, assignment_id: unit.id, _meta: null, warnings: [] }
    }
  })
