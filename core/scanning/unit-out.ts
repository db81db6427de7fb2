/** A unit goes out: allocated where it has to be, prepared and booked out, taken out of the case it is in. */
import { holderText } from "../opportunities/called.ts"
import { Result } from "effect"
import { isPackedUnitHeld } from "../availability/line-demands.ts"
import { knownAfter } from "../containers/dispatch-return.ts"
import { leaving } from "../containers/pack.ts"
import { labelOf, scannedOutReason, sealBroken, sealedAround } from "../containers/seal.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { Rejection } from "../kernel/rejection.ts"
import type { DecisionState } from "../opportunities/aggregate.ts"
import { demandSettings } from "../opportunities/demands.ts"
import { allocate } from "../opportunities/units/decide.ts"
import { dispatching, moveUnits, preparingUnprepared } from "../opportunities/units/lifecycle.ts"
import { dispatched, on_hire } from "../opportunities/units/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import type { ScanFacts } from "./facts.ts"
import { lineFor } from "./lines.ts"
import type { Scanned } from "./result.ts"
import { decidedAs, orderWords, partOf, refuse, type ScanDecided, scannedOf, type Wanted } from "./wanted.ts"

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
    if (gone !== undefined) return yield* refuse(wanted.field, `${labelOf(level)} is booked out on this order already`)
    const holder = known.units_out_elsewhere.get(level.id)
    if (holder !== undefined)
      return yield* refuse(wanted.field, `${labelOf(level)} is out with ${holder}; check it in there first.`)
    const there = own.find((unit) => unit.status < dispatched)
    const settings = demandSettings(context.settings, context.now)
    const line =
      there === undefined
        ? lineFor(known, level.product_id, settings)
        : opportunity.lines.find(({ id }) => id === there.opportunity_item_id)
    if (line === undefined) return yield* refuse(wanted.field, notOnOrder(facts, known, level))
    const taking = yield* takingOut(facts, known, wanted, context)
    const free: DecisionState = {
      ...known,
      // What keeps the unit in its case ends with the case's seal.
      unit_holds: known.unit_holds.filter(
        ({ demand }) =>
          taking.released === null || demand.source_type !== "container" || demand.source_id !== taking.released
      )
    }
    const given =
      there === undefined
        ? yield* allocate(
            free,
            [{ line, stock_level_id: level.id, field: wanted.field, count_field: wanted.field }],
            context
          )
        : undefined
    const after = given === undefined ? free : knownAfter(free, given.events, context)
    const unit = there ?? after.opportunity.units.find((one) => one.id === given?.result.assignment_id)
    if (unit === undefined) return yield* refuse(wanted.field, notOnOrder(facts, known, level))
    const out = dispatching(wanted.at, { dispatched_by: context.viewer.user_id || null, vehicle_id: wanted.vehicle_id })
    const moved = yield* moveUnits(
      after,
      [{ unit, field: wanted.field }],
      [preparingUnprepared(wanted.at), out],
      context
    )
    return decidedAs(
      known,
      [...taking.events, ...(given?.events ?? []), ...moved.events],
      scannedOf(facts, {
        direction: "out",
        kind: "unit",
        name: labelOf(level),
        stock_level_id: level.id,
        product_id: level.product_id,
        opportunity_item_id: unit.opportunity_item_id,
        part_of: partOf(after, unit, level),
        taken_out_of: taking.taken_out_of
      }),
      moved.result._meta
    )
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
  /** The packing that held the unit, whose demand ends; null where it held nothing. */
  readonly released: number | null
  readonly taken_out_of: Scanned["taken_out_of"]
}
/**
 * Taking the unit out of its container. 409 `break_seal` where that, or one around it, is sealed and nobody said that
 * the seal may be broken. What holds no stock is taken out by the reaction to the booking (core/containers/booking.ts).
 */
const takingOut = (
  { around, around_demands, unit }: ScanFacts,
  known: DecisionState,
  { break_seal, field }: Wanted,
  context: DecideContext
): Result.Result<TakingOut, Rejection> => {
  if (around === undefined || unit?.membership === undefined)
    return Result.succeed({ events: [], released: null, taken_out_of: [] })
  const { as_case, chain, container } = around
  const out = chain.find(({ status }) => status === "dispatched")
  if (out !== undefined)
    return refuse(
      field,
      `${labelOf(unit.level)} is in ${out.name}, which is out` +
        `${out.opportunity_id === null ? "" : ` with order ${out.opportunity_id}`}; check that in first.`
    )
  const sealed = sealedAround(around)
  if (sealed.length > 0 && !break_seal)
    return Result.fail(
      new Rejection({
        kind: "conflict",
        message: sealText(
          unit.level,
          sealed.map(({ name }) => name)
        ),
        errors: {
          break_seal: [
            sealText(
              unit.level,
              sealed.map(({ name }) => name)
            )
          ]
        }
      })
    )
  const taken_out_of = chain
    .filter((one) => one.id === container.id || one.status === "sealed")
    .map(({ id, name, status }) => ({ container_id: id, name, seal_broken: status === "sealed" }))
  if (!isPackedUnitHeld(as_case, unit.level.product_id))
    return Result.succeed({ events: [], released: null, taken_out_of })
  const promised = around_demands.find(
    (demand) => demand.opportunity_id !== null && demand.opportunity_id !== known.opportunity.header.id
  )
  if (promised !== undefined)
    return refuse(
      field,
      `${labelOf(unit.level)} belongs in ${container.name}, which is promised to ${holderText(promised)} ` +
        `from ${promised.starts_at}; take another unit.`
    )
  const reason = scannedOutReason(orderWords(known), [unit.level])
  return Result.succeed({
    events: [
      ...sealed.map((one) => sealBroken(one, reason, context)),
      ...leaving(unit, unit.membership, "dispatch", null, context)
    ],
    released: unit.membership.id,
    taken_out_of
  })
}
const sealText = (level: StockLevelRow, names: ReadonlyArray<string>): string =>
  `${labelOf(level)} is in ${names.join(", in ")}, which is sealed. Scan the case to send all of it, ` +
  "or break the seal to take this unit out (--break-seal)."
