/**
 * A case that goes out whole (rules/availability 8.6). A kit goes as one piece, and so does its line. What is in a box
 * goes out unit by unit on the lines of the order, all of it or nothing, and stays packed.
 */
import { holderText } from "../opportunities/called.ts"
import { Result } from "effect"
import {
  caseDemanded,
  caseOutOfService,
  dispatchContainer,
  endOfDemand,
  isKit,
  knownAfter
} from "../containers/dispatch-return.ts"
import { containerDispatched } from "../containers/events.ts"
import { toBeOpen } from "../containers/pack.ts"
import { labelOf } from "../containers/seal.ts"
import type { DemandSettings } from "../availability/line-demands.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { invalidField, type Rejection } from "../kernel/rejection.ts"
import type { DecisionState } from "../opportunities/aggregate.ts"
import { demandSettings } from "../opportunities/demands.ts"
import type { HeldBack } from "../opportunities/status/progress.ts"
import { allocate } from "../opportunities/units/decide.ts"
import { dispatching, moveUnits, preparingUnprepared } from "../opportunities/units/lifecycle.ts"
import { type AssignmentRow, prepared } from "../opportunities/units/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import type { CaseFacts } from "./facts.ts"
import { givenKey, hasRoom, lineFor } from "./lines.ts"
import { type Wanted, wasOutText } from "./wanted.ts"

const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))

export interface CaseGone {
  readonly events: ReadonlyArray<NewEvent>
  readonly _meta: HeldBack | null
  /** Pieces that went: the kit as one, or every unit of a box. */
  readonly pieces: number
}

/** Sends a sealed case out with all that is in it. 422 on the scanned code where it, or a unit in it, cannot go. */
export const caseOut = (
  facts: CaseFacts,
  known: DecisionState,
  wanted: Wanted,
  context: DecideContext
): Result.Result<CaseGone, Rejection> =>
  Result.gen(function* () {
    const { housing, housing_demands, nested, target } = facts
    const {
      chain: [, parent],
      container
    } = target
    const { header } = known.opportunity
    if (container.status === "dispatched")
      return yield* refuse(
        wanted.field,
        container.opportunity_id === header.id
          ? `${container.name} is booked out on this order already`
          : `${container.name} is out with another order (id ${container.opportunity_id}); check it in there first.`
      )
    if (container.status !== "sealed")
      return yield* refuse(
        wanted.field,
        `${container.name} is ${container.status}; only a sealed case goes out whole. ` +
          `${container.status === "open" ? "" : `${toBeOpen(container)} `}Seal it first, or scan what is in it.`
      )
    if (isKit(target)) {
      const gone = yield* Result.mapError(
        dispatchContainer({ target, known, housing, housing_demands }, wanted.at, context),
        (rejection) => invalidField(wanted.field, rejection.message)
      )
      return { events: gone.events, _meta: gone.result.meta, pieces: 1 }
    }
    if (parent !== undefined)
      return yield* refuse(
        wanted.field,
        `${container.name} is packed in ${parent.name}; scan that one, or take this one out of it first.`
      )
    const [inner] = nested
    if (inner !== undefined)
      return yield* refuse(
        wanted.field,
        `${container.name} has ${inner.name} in it; take that out and scan the two one after the other.`
      )
    const holder = housing_demands.find(
      (demand) => demand.opportunity_id !== null && demand.opportunity_id !== header.id
    )
    if (holder !== undefined)
      return yield* refuse(
        wanted.field,
        `${container.name} is promised to ${holderText(holder)} from ${holder.starts_at}.`
      )
    return yield* boxOut(facts, known, wanted, context)
  })

/** The case itself goes on a line that asks for it; where none does, a demand on it alone says that it is away. */
const boxOut = (
  { housing, target: { container }, units }: CaseFacts,
  known: DecisionState,
  wanted: Wanted,
  context: DecideContext
): Result.Result<CaseGone, Rejection> =>
  Result.gen(function* () {
    const settings = demandSettings(context.settings, context.now)
    const contents = [...units.values()].map(({ level }) => level)
    const isGiven = (level: StockLevelRow): boolean =>
      known.opportunity.units.some((unit) => unit.stock_level_id === level.id && unit.status <= prepared)
    const on_line = housing !== undefined && (isGiven(housing) || isWanted(known, housing, settings))
    const unfit = housing === undefined || on_line ? undefined : caseOutOfService(container, housing, context)
    if (unfit !== undefined) return yield* refuse(wanted.field, unfit)
    const gone = yield* levelsOut(on_line ? [housing, ...contents] : contents, known, wanted, context)
    return {
      events: [
        ...gone.events,
        ...(housing === undefined || on_line
          ? []
          : [caseDemanded(container, housing, wanted.at, endOfDemand(known, wanted.at), context)]),
        containerDispatched.make({
          id: container.id,
          status: "dispatched",
          opportunity_id: known.opportunity.header.id,
          dispatched_at: wanted.at,
          returned_at: null
        })
      ],
      _meta: gone._meta,
      pieces: contents.length
    }
  })
const isWanted = (known: DecisionState, level: StockLevelRow, settings: DemandSettings): boolean => {
  const line = lineFor(known, level.product_id, settings)
  return line !== undefined && hasRoom(known, line, level.product_id, settings)
}

/** Every unit on its line and out; the refusal names the first one that cannot go. */
const levelsOut = (
  levels: ReadonlyArray<StockLevelRow>,
  known: DecisionState,
  wanted: Wanted,
  context: DecideContext
): Result.Result<Omit<CaseGone, "pieces">, Rejection> =>
  Result.gen(function* () {
    const settings = demandSettings(context.settings, context.now)
    const unitAt = (state: DecisionState, level: StockLevelRow): AssignmentRow | undefined =>
      state.opportunity.units.find((one) => one.stock_level_id === level.id && one.status <= prepared)
    const given = new Map<string, number>()
    const wanting: Array<Parameters<typeof allocate>[1][number]> = []
    for (const level of levels) {
      if (unitAt(known, level) !== undefined) continue
      const gone = known.opportunity.units.find((one) => one.stock_level_id === level.id && one.status > prepared)
      if (gone !== undefined) return yield* refuse(wanted.field, wasOutText(`${labelOf(level)}, which is in it,`, gone))
      const line = lineFor(known, level.product_id, settings, given)
      if (line === undefined)
        return yield* refuse(
          wanted.field,
          `${labelOf(level)}, which is in it, is not on this order; take it out of the case or add it to the order.`
        )
      const key = givenKey(line, level.product_id)
      given.set(key, (given.get(key) ?? 0) + 1)
      wanting.push({ line, stock_level_id: level.id, field: wanted.field, count_field: wanted.field })
    }
    const assigned = wanting.length === 0 ? undefined : yield* allocate(known, wanting, context)
    const after = assigned === undefined ? known : knownAfter(known, assigned.events, context)
    const moved = yield* moveUnits(
      after,
      levels.flatMap((level) => {
        const unit = unitAt(after, level)
        return unit === undefined ? [] : [{ unit, field: wanted.field }]
      }),
      [
        preparingUnprepared(wanted.at),
        dispatching(wanted.at, { dispatched_by: context.viewer.user_id || null, vehicle_id: wanted.vehicle_id })
      ],
      context
    )
    return { events: [...(assigned?.events ?? []), ...moved.events], _meta: moved.result._meta }
  })
