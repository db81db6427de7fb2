/** Dispatches a scanned unit: allocates it if needed, prepares it, books it out and takes it out of its case. */
import { Result } from "effect"
import { isPackedUnitHeld } from "../../orders/availability/rules/line-demands.ts"
import { endsWhenEmpty } from "../containers/booking.ts"
import { knownAfter } from "../containers/dispatch-return.ts"
import { leaving } from "../containers/pack.ts"
import { labelOf, scannedOutReason, sealBroken, sealedAround } from "../containers/events.ts"
import { reject, Rejection, type DecideContext, type NewEvent } from "../../kernel/index.ts"
import { demandSettings, holderText, takesRoom } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, HeldBack } from "../../orders/opportunities/state/index.ts"
import { allocate, allocationRefusal, substitute } from "../../orders/opportunities/units/decide.ts"
import { dispatching, moveUnits, preparingUnprepared, revertUnit } from "../../orders/opportunities/units/lifecycle.ts"
import { checked_in, dispatched, on_hire, type AssignmentRow } from "../../orders/opportunities/tables/index.ts"
import { brokenUnits } from "../../orders/opportunities/units/to-replace.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import { decidedAs, orderWords, partOf, type ScanDecided, type ScanFacts, scannedOf, type Wanted } from "./facts.ts"
import { hasRoom, lineFor } from "./cases.ts"
import type { Scanned } from "./result.ts"

export const unitOut = (
  facts: ScanFacts,
  known: DecisionState,
  level: StockLevelRow,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.gen(function* () {
    const { opportunity } = known
    const own = opportunity.units.filter((unit) => unit.stock_level_id === level.id)
    const gone = own.find((unit) => unit.status === dispatched || unit.status === on_hire)
    if (gone !== undefined) return yield* reject(wanted.field, `${labelOf(level)} is booked out on this order already`)
    const holder = known.units_out_elsewhere.get(level.id)
    if (holder !== undefined)
      return yield* reject(wanted.field, `${labelOf(level)} is out with ${holder}; check it in there first.`)
    if (
      own.length === 0 &&
      lineFor(known, level.product_id, demandSettings(context.settings, context.now)) === undefined
    )
      return yield* reject(wanted.field, notOnOrder(facts, known, level))
    const back = own.find((unit) => unit.status >= checked_in)
    const left = own.some((unit) => unit.status < dispatched) || back === undefined
    const taking = yield* takingOut(facts, known, wanted, !left, context)
    const free: DecisionState = {
      ...known,
      // Holds of the unit in its case end with the case's seal.
      unit_holds: known.unit_holds.filter(
        ({ demand }) =>
          taking.released === null || demand.source_type !== "container" || demand.source_id !== taking.released
      )
    }
    const sent = left
      ? yield* sentFirst(free, own, level, wanted, context)
      : yield* sentAgain(free, back, level, wanted, context)
    return decidedAs(
      known,
      [...taking.events, ...sent.events],
      scannedOf(facts, {
        direction: "out",
        kind: "unit",
        name: labelOf(level),
        stock_level_id: level.id,
        product_id: level.product_id,
        opportunity_item_id: sent.unit.opportunity_item_id,
        part_of: partOf(known, sent.unit, level),
        in_place_of: sent.in_place_of,
        is_out_again: !left,
        taken_out_of: taking.taken_out_of
      }),
      sent.meta
    )
  })
/** The dispatch: the unit's assignment, and its events. */
interface Sent {
  readonly events: ReadonlyArray<NewEvent>
  readonly unit: AssignmentRow
  readonly in_place_of: string | null
  readonly meta: HeldBack | null
}

/** First dispatch on this order: allocates if needed, prepares and books out. */
const sentFirst = (
  known: DecisionState,
  own: ReadonlyArray<AssignmentRow>,
  level: StockLevelRow,
  wanted: Wanted,
  context: DecideContext
): Result.Result<Sent, Rejection> =>
  Result.gen(function* () {
    const there = own.find((unit) => unit.status < dispatched)
    const placed =
      there === undefined
        ? yield* placedOnOrder(known, level, wanted, context)
        : { after: known, events: [], unit: there, in_place_of: null }
    const out = dispatching(wanted.at, { dispatched_by: context.viewer.user_id || null, vehicle_id: wanted.vehicle_id })
    const moved = yield* moveUnits(
      placed.after,
      [{ unit: placed.unit, field: wanted.field }],
      [preparingUnprepared(wanted.at), out],
      context
    )
    return {
      events: [...placed.events, ...moved.events],
      unit: placed.unit,
      in_place_of: placed.in_place_of,
      meta: moved.result._meta
    }
  })

interface Placed extends Omit<Sent, "meta"> {
  readonly after: DecisionState
}
/**
 * Allocates a unit to the first line with room, else instead of an allocated unit of the product that cannot be
 * dispatched.
 */
const placedOnOrder = (
  known: DecisionState,
  level: StockLevelRow,
  wanted: Wanted,
  context: DecideContext
): Result.Result<Placed, Rejection> =>
  Result.gen(function* () {
    const { opportunity } = known
    const settings = demandSettings(context.settings, context.now)
    const line = lineFor(known, level.product_id, settings)
    if (line === undefined) return yield* reject(wanted.field, `${labelOf(level)} is not on this order`)
    const broken = hasRoom(known, line, level.product_id, settings)
      ? undefined
      : brokenUnits(opportunity, known.levels, context).find((one) => one.level.product_id === level.product_id)
    if (broken !== undefined) {
      const { events } = yield* substitute(known, broken.unit, level.id, null, context)
      const unit = { ...broken.unit, stock_level_id: level.id }
      const units = opportunity.units.map((one) => (one.id === unit.id ? unit : one))
      const after = { ...known, opportunity: { ...opportunity, units } }
      return { after, events, unit, in_place_of: labelOf(broken.level) }
    }
    const { events, result } = yield* allocate(
      known,
      [{ line, stock_level_id: level.id, field: wanted.field, count_field: wanted.field }],
      context
    )
    const after = knownAfter(known, events, context)
    const unit = after.opportunity.units.find((one) => one.id === result.assignment_id)
    if (unit === undefined) return yield* reject(wanted.field, `${labelOf(level)} is not on this order`)
    return { after, events, unit, in_place_of: null }
  })

/** Second dispatch on this order: reverts the return, if nothing else holds the unit. */
const sentAgain = (
  known: DecisionState,
  unit: AssignmentRow,
  level: StockLevelRow,
  wanted: Wanted,
  context: DecideContext
): Result.Result<Sent, Rejection> =>
  Result.gen(function* () {
    const { opportunity } = known
    const line = opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
    const others = { ...opportunity, units: opportunity.units.filter(({ id }) => id !== unit.id) }
    const against = line === undefined ? undefined : allocationRefusal(known, others, line, level, context)
    if (against !== undefined) return yield* reject(wanted.field, against)
    if (
      line !== undefined &&
      !takesRoom(unit) &&
      !hasRoom(known, line, level.product_id, demandSettings(context.settings, context.now))
    )
      return yield* reject(wanted.field, `${labelOf(level)} came back, and another one went in its place.`)
    const { events, result } = yield* revertUnit(known, unit, dispatched, "Scanned out again", context)
    return { events, unit, in_place_of: null, meta: result._meta }
  })

const notOnOrder = ({ unit }: ScanFacts, known: DecisionState, level: StockLevelRow): string => {
  const product = unit?.product?.name
  return (
    `${labelOf(level)} is not on this order: order ${orderWords(known)} asks for no ` +
    `${product ?? "unit of its product"}. Add a line of it first, or scan another one.`
  )
}

interface TakingOut {
  readonly events: ReadonlyArray<NewEvent>
  /** Id of the packing that held the unit, whose demand ends; null if it held nothing. */
  readonly released: number | null
  readonly taken_out_of: Scanned["taken_out_of"]
}
/**
 * Takes the unit out of its container. 409 `break_seal` if that, or one around it, is sealed and breaking the seal was
 * not confirmed. A container that holds no stock is left by the reaction to the booking
 * (core/warehouse/containers/booking.ts), except when a unit goes out `again`: its return is reverted, which books
 * nothing. A unit that came back without its case is free of it, wherever the case is.
 */
const takingOut = (
  { around, around_demands, is_back_alone, unit }: ScanFacts,
  known: DecisionState,
  { break_seal, field }: Wanted,
  again: boolean,
  context: DecideContext
): Result.Result<TakingOut, Rejection> => {
  if (around === undefined || unit?.membership === undefined)
    return Result.succeed({ events: [], released: null, taken_out_of: [] })
  const { as_case, chain, container } = around
  const is_held = isPackedUnitHeld(as_case, unit.level.product_id)
  const is_free = is_back_alone && !is_held
  const out = is_free ? undefined : chain.find(({ status }) => status === "dispatched")
  if (out !== undefined)
    return reject(
      field,
      `${labelOf(unit.level)} is in ${out.name}, which is out` +
        `${out.opportunity_id === null ? "" : ` with order ${out.opportunity_id}`}; check that in first.`
    )
  const sealed = sealedAround(around)
  if (sealed.length > 0 && !break_seal && !is_free) return Result.fail(sealAsked(unit.level, sealed))
  const taken_out_of = chain
    .filter((one) => one.id === container.id || one.status === "sealed")
    .map(
      ({ id, name, status }) =>
        ({
          container_id: id,
          name,
          seal_broken: status === "sealed",
          left:
            id !== container.id || around.items.length > 1
              ? null
              : endsWhenEmpty(around) && !again
                ? "dissolved"
                : "empty"
        }) as const
    )
  const reason = scannedOutReason(orderWords(known), [unit.level])
  const events = [
    ...sealed.map((one) => sealBroken(one, reason, context)),
    ...leaving(unit, unit.membership, "dispatch", null, context)
  ]
  if (!is_held) return Result.succeed({ events: again ? events : [], released: null, taken_out_of })
  const promised = around_demands.find(
    (demand) => demand.opportunity_id !== null && demand.opportunity_id !== known.opportunity.header.id
  )
  if (promised !== undefined)
    return reject(
      field,
      `${labelOf(unit.level)} belongs in ${container.name}, which is promised to ${holderText(promised)} ` +
        `from ${promised.starts_at}; take another unit.`
    )
  return Result.succeed({ events, released: unit.membership.id, taken_out_of })
}
const sealAsked = (level: StockLevelRow, sealed: ReadonlyArray<{ readonly name: string }>): Rejection => {
  const names = sealed.map(({ name }) => name).join(", in ")
  const message =
    `${labelOf(level)} is in ${names}, which is sealed. Scan the case to send all of it, ` +
    "or break the seal to take this unit out (--break-seal)."
  return new Rejection({ kind: "conflict", message, errors: { break_seal: [message] } })
}
