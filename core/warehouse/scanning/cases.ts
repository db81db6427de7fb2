/**
 * Dispatches whole cases (rules/availability 8.6). A kit is one piece on one line. Contents of a box are dispatched by
 * unit on lines of the order, all or none, and stay packed.
 */
import { countedParts, type DemandSettings } from "../../orders/availability/rules/line-demands.ts"
import { demandSettings, holderText, liveLines, partsOfLine, roomOf } from "../../orders/opportunities/state/index.ts"
import { stockedProductOf, unitsOfProduct } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, HeldBack } from "../../orders/opportunities/state/index.ts"
import { prepared, type AssignmentRow, type ItemRow } from "../../orders/opportunities/tables/index.ts"
import { exact } from "../../values/decimal.ts"
import { Result } from "effect"
import { caseOutOfService, dispatchContainer, endOfDemand, isKit, knownAfter } from "../containers/dispatch-return.ts"
import { caseDemanded, containerDispatched, labelOf } from "../containers/events.ts"
import { toBeOpen } from "../containers/pack.ts"
import { invalidField, reject, type DecideContext, type NewEvent, type Rejection } from "../../kernel/index.ts"
import { allocate } from "../../orders/opportunities/units/decide.ts"
import { dispatching, moveUnits, preparingUnprepared } from "../../orders/opportunities/units/lifecycle.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import type { CaseFacts, Wanted } from "./facts.ts"

// Finds the line of an order for a scanned unit or product.

/** Lines for the product itself, then lines for kits it is a part of. */
const linesTaking = (known: DecisionState, product_id: number, depth: DemandSettings): ReadonlyArray<ItemRow> => {
  const lines = liveLines(known.opportunity)
  return [
    ...lines.filter((line) => stockedProductOf(line) === product_id),
    ...lines.filter((line) => stockedProductOf(line) !== null && partsOfLine(known, line, depth).has(product_id))
  ]
}

/**
 * Line for a unit of the product: the first with room (`given`: further units by line), else the first, to give its
 * error. Undefined if no line asks for it.
 */
export const lineFor = (
  known: DecisionState,
  product_id: number,
  depth: DemandSettings,
  given: ReadonlyMap<string, number> = new Map()
): ItemRow | undefined => {
  const lines = linesTaking(known, product_id, depth)
  return lines.find((line) => hasRoom(known, line, product_id, depth, given)) ?? lines[0]
}
/** Whether a line has room for another unit of the product, besides its own and those in `given`. */
export const hasRoom = (
  known: DecisionState,
  line: ItemRow,
  product_id: number,
  depth: DemandSettings,
  given: ReadonlyMap<string, number> = new Map()
): boolean =>
  unitsOfProduct(known, known.opportunity, line, product_id).length + (given.get(givenKey(line, product_id)) ?? 0) <
  roomOf(known, line, product_id, depth)
/** Kits on the order with undispatched pieces of a bulk product, and the number of pieces. */
export const kitsWith = (
  known: DecisionState,
  product_id: number,
  { kit_nesting_max_depth }: DemandSettings
): ReadonlyArray<{ readonly name: string; readonly pieces: number }> =>
  liveLines(known.opportunity).flatMap((line) => {
    const kit = known.stocked.get(stockedProductOf(line) ?? 0)
    if (kit === undefined || kit.id === product_id) return []
    const per_kit = countedParts(kit, known.stocked, kit_nesting_max_depth).get(product_id) ?? 0
    const pieces = Math.ceil(exact(line.quantity).minus(exact(line.dispatched_quantity)).times(per_kit).toNumber())
    return pieces > 0 ? [{ name: line.name, pieces }] : []
  })
const givenKey = (line: Pick<ItemRow, "id">, product_id: number): string => `${line.id}/${product_id}`

/** Distributes a bulk quantity over lines with room: the first that takes all of it, else in order. */
export const spread = (
  known: DecisionState,
  product_id: number,
  quantity: number,
  direction: "out" | "in"
): ReadonlyArray<{ readonly line: ItemRow; readonly quantity: number }> => {
  const lines = liveLines(known.opportunity).filter((line) => stockedProductOf(line) === product_id)
  const leftOn = (line: ItemRow): number =>
    (direction === "out"
      ? exact(line.quantity).minus(exact(line.dispatched_quantity))
      : exact(line.dispatched_quantity).minus(exact(line.returned_quantity))
    ).toNumber()
  const whole = lines.find((line) => leftOn(line) >= quantity)
  const total = lines.reduce((sum, line) => sum + Math.max(0, leftOn(line)), 0)
  const first = whole ?? lines[0]
  if (first === undefined) return []
  // If too few fit, all are put on the first line, whose error names the quantity that fits.
  if (whole !== undefined || total < quantity) return [{ line: first, quantity }]
  let rest = quantity
  return lines.flatMap((line) => {
    const part = Math.min(rest, Math.max(0, leftOn(line)))
    rest -= part
    return part > 0 ? [{ line, quantity: part }] : []
  })
}

interface CaseGone {
  readonly events: ReadonlyArray<NewEvent>
  readonly _meta: HeldBack | null
  /** Dispatched pieces: one for a kit, all units for a box. */
  readonly pieces: number
}

/** Dispatches a sealed case with its contents. 422 on the scanned code if it, or a unit in it, cannot be dispatched. */
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
      return yield* reject(
        wanted.field,
        container.opportunity_id === header.id
          ? `${container.name} is booked out on this order already`
          : `${container.name} is out with another order (id ${container.opportunity_id}); check it in there first.`
      )
    if (container.status !== "sealed")
      return yield* reject(
        wanted.field,
        `${container.name} is ${container.status}; only a sealed case goes out whole. ` +
          (container.status === "open"
            ? "Seal it first, or scan what is in it."
            : `${toBeOpen(container)} Then seal it, or scan its units one by one.`)
      )
    if (isKit(target)) {
      const gone = yield* Result.mapError(
        dispatchContainer({ target, known, housing, housing_demands }, wanted.at, context),
        (rejection) => invalidField(wanted.field, rejection.message)
      )
      return { events: gone.events, _meta: gone.result.meta, pieces: 1 }
    }
    if (parent !== undefined)
      return yield* reject(
        wanted.field,
        `${container.name} is packed in ${parent.name}; scan that one, or take this one out of it first.`
      )
    const [inner] = nested
    if (inner !== undefined)
      return yield* reject(
        wanted.field,
        `${container.name} has ${inner.name} in it; take that out and scan the two one after the other.`
      )
    const holder = housing_demands.find(
      (demand) => demand.opportunity_id !== null && demand.opportunity_id !== header.id
    )
    if (holder !== undefined)
      return yield* reject(
        wanted.field,
        `${container.name} is promised to ${holderText(holder)} from ${holder.starts_at}.`
      )
    return yield* boxOut(facts, known, wanted, context)
  })

/**
 * Dispatches a box: its units on lines of the order, and its case on a line that asks for it, or else by a demand on
 * the case, which records that it is out.
 */
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
    if (unfit !== undefined) return yield* reject(wanted.field, unfit)
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

/** Error of a unit's second dispatch on one order, which requires reverting the check-in first. */
const wasOutText = (
  name: string,
  { id, opportunity_id, opportunity_item_id }: Pick<AssignmentRow, "id" | "opportunity_id" | "opportunity_item_id">
): string =>
  `${name} was out on this order already. To send it out once more, take the check-in back: flightcase undo, or ` +
  `flightcase orders items assets move ${opportunity_id} ${opportunity_item_id} ${id} --action revert_status --status 0`

/** Allocates and dispatches units on their lines; the error names the first that cannot be. */
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
      if (gone !== undefined) return yield* reject(wanted.field, wasOutText(`${labelOf(level)}, which is in it,`, gone))
      const line = lineFor(known, level.product_id, settings, given)
      if (line === undefined)
        return yield* reject(
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
