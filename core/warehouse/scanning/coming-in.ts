/** Checks in scanned units and cases. */
import { Effect, Result } from "effect"
import { hasOnePermission, reject, Store } from "../../kernel/index.ts"
import type { DecideContext, Rejection, Settings, Viewer } from "../../kernel/index.ts"
import { loadLinePieces, opportunityName } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, LinePieces } from "../../orders/opportunities/state/index.ts"
import { asset_assignments, checked_in, dispatched, good, missing } from "../../orders/opportunities/tables/index.ts"
import { on_hire, opportunities, opportunity_items } from "../../orders/opportunities/tables/index.ts"
import type { AssignmentRow } from "../../orders/opportunities/tables/index.ts"
import { demands } from "../../orders/demands/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { service_records } from "../workshop/schema.ts"
import { unitCode } from "./read-code.ts"
import type { count_fields, Scanned } from "./result.ts"
import { isInFuture, plusDays } from "../../values/time.ts"
import { decidedAs, partOf, type ScanDecided, type ScanFacts, scannedOf, type Wanted } from "./facts.ts"
import { isKit, returnContainer } from "../containers/dispatch-return.ts"
import { labelOf } from "../containers/events.ts"
import { cameFrom, jobsOf } from "../../orders/opportunities/units/next-jobs.ts"
import { numberText } from "../../values/text.ts"
import { checking, moveUnits, returning } from "../../orders/opportunities/units/lifecycle.ts"

// An order's progress in whole pieces; returned pieces count as dispatched, too.

type Counts = { readonly [K in keyof typeof count_fields]: number }

const sumOf = (lines: ReadonlyArray<LinePieces>, lost: number): Counts => {
  const total = { asked: 0, packed: 0, out: 0, back: 0, lost, to_go: 0 }
  for (const line of lines) {
    const [asked, out] = [Math.ceil(line.wanted), Math.floor(line.gone)]
    total.asked += asked
    total.packed += Math.floor(line.packed)
    total.out += out
    total.back += Math.floor(line.back)
    total.to_go += Math.max(0, asked - out)
  }
  return total
}

/** Stored counts of an order: six queries. */
export const loadCounts = Effect.fnUntraced(function* (
  opportunity_id: number,
  settings: Settings
): Store.Reads<Counts> {
  const piecesOf = yield* loadLinePieces([opportunity_id], settings)
  const records = yield* Store.find(service_records, { opportunity_id, state: "lost", ended_at: null })
  // Checks of lines create records with the line; goods reported lost meanwhile are not returned.
  const checked_in = records.filter((record) => record.opportunity_item_id !== null)
  return sumOf(
    piecesOf(opportunity_id),
    checked_in.reduce((sum, { quantity }) => sum + quantity, 0)
  )
})

/** Held and dispatched quantity of a bulk product, if more is out than the store holds; else undefined. */
const beyondStock = Effect.fnUntraced(function* (
  product_id: number,
  store_id: number
): Store.Reads<{ readonly held: number; readonly out: number } | undefined> {
  const levels = yield* Store.pick(stock_levels, ["quantity_held"], { product_id, store_id })
  const claims = yield* Store.pick(demands, ["source_type", "source_id"], { product_id, store_id, is_active: true })
  const lines = yield* Store.pickMany(
    opportunity_items,
    ["id", "dispatched_quantity", "returned_quantity"],
    [...new Set(claims.flatMap((one) => (one.source_type === "opportunity_item" ? [one.source_id] : [])))]
  )
  const held = levels.reduce((sum, level) => sum + Number(level.quantity_held), 0)
  const out = lines.reduce((sum, line) => sum + Number(line.dispatched_quantity) - Number(line.returned_quantity), 0)
  return out > held ? { held, out } : undefined
})

/** Message about a returned unit that is recorded as lost, as a user must decide whether it was found. */
const foundText = Effect.fnUntraced(function* ({
  name,
  opportunity_id,
  stock_level_id
}: Scanned): Store.Reads<ReadonlyArray<string>> {
  const level = stock_level_id === null ? undefined : yield* Store.get(stock_levels, stock_level_id)
  if (level?.service_state !== "lost" || opportunity_id === null) return []
  const as_missing = { stock_level_id: level.id, opportunity_id, condition_on_return: missing }
  if (yield* Store.exists(asset_assignments, as_missing)) return []
  return [`${name} is recorded as lost; if this is it, release it: flightcase units release ${unitCode(level.id)}`]
})

/** Names the order a scanned unit goes on to or comes from; the subject only for those who may see orders. */
const jobText = Effect.fnUntraced(function* (
  { direction, name, opportunity_id, stock_level_id }: Scanned,
  viewer: Viewer
): Store.Reads<ReadonlyArray<string>> {
  const order = opportunity_id === null ? undefined : yield* Store.get(opportunities, opportunity_id)
  if (order === undefined || stock_level_id === null) return []
  const other =
    direction === "in"
      ? (yield* jobsOf(order, [stock_level_id])).get(stock_level_id)?.next
      : yield* cameFrom(order, stock_level_id)
  if (other === undefined) return []
  const called = hasOnePermission(viewer, "opportunities.view")
    ? opportunityName(other.id, other)
    : `order ${numberText(other.number, other.id)}`
  return [
    direction === "in"
      ? `${name} goes on to ${called}${other.starts_at === null ? "" : `, from ${other.starts_at}`}.`
      : `${name} comes from ${called}.`
  ]
})

/** Warnings about a unit that is found again or goes from order to order, and about bulk products booked out. */
export const warningsOf = Effect.fnUntraced(function* (
  scanned: Scanned,
  viewer: Viewer
): Store.Reads<ReadonlyArray<string>> {
  const { direction, kind, name, opportunity_id, opportunity_item_id, product_id } = scanned
  if (kind === "unit") {
    const found = direction === "in" ? yield* foundText(scanned) : []
    return [...found, ...(yield* jobText(scanned, viewer))]
  }
  if (direction !== "out" || kind !== "bulk" || product_id === null || opportunity_id === null) return []
  const line = opportunity_item_id === null ? undefined : yield* Store.get(opportunity_items, opportunity_item_id)
  const store_id = line?.dispatch_store_id ?? (yield* Store.get(opportunities, opportunity_id))?.store_id ?? null
  if (store_id === null) return []
  const beyond = yield* beyondStock(product_id, store_id)
  if (beyond === undefined) return []
  const { held, out } = beyond
  const place = (yield* Store.get(stores, store_id))?.name ?? "the store"
  return [`${out} × ${name} are out, ${out - held} more than ${place} holds (${held}).`]
})

// Time of the scan as reported: offline devices send scans later.

/** Maximum age of a reported time in days; older ones come from a wrong clock or a typing error. */
const days_back_max = 366
const way_out = "leave it out where the scan is now."

export const timeTold = ({ at, is_time_told }: Wanted, now: string): Result.Result<void, Rejection> =>
  !is_time_told
    ? Result.succeed(undefined)
    : isInFuture(at, now)
      ? reject("scanned_at", `The scanned at field must not be in the future; ${way_out}`)
      : at < plusDays(now, -days_back_max)
        ? reject("scanned_at", `The scanned at field must not be more than a year ago; ${way_out}`)
        : Result.succeed(undefined)

/**
 * The scan's time, but not before the previous step's; differences of minutes, and times from the device's clock, are
 * corrected. Without a reported time every scan is accepted. 422 `scanned_at` if reported as earlier.
 */
const notBefore = (
  { at, is_time_told }: Wanted,
  before: string | null,
  now: string,
  refusal: (before: string) => string
): Result.Result<string, Rejection> =>
  before === null || before <= at
    ? Result.succeed(at)
    : !isInFuture(before, at)
      ? Result.succeed(before)
      : is_time_told
        ? reject("scanned_at", `${refusal(before)}; ${way_out}`)
        : Result.succeed(before <= now ? before : at)

/** Time of the return, never before the dispatch. */
const returnedAt = (wanted: Wanted, name: string, dispatched_at: string | null, now: string) =>
  notBefore(wanted, dispatched_at, now, (at) => `${name} went out at ${at} and cannot be back before that`)
/** Time of the check, never before the return. */
const checkedAt = (wanted: Wanted, name: string, returned_at: string | null, now: string) =>
  notBefore(wanted, returned_at, now, (at) => `${name} came back at ${at} and cannot be checked before that`)
/** Time of a unit's dispatch, never before its last return from any order. */
export const dispatchedAt = (wanted: Wanted, name: string, returned_at: string | null, now: string) =>
  notBefore(wanted, returned_at, now, (at) => `${name} came back at ${at} and cannot go out before that`)

export const caseIn = (
  facts: ScanFacts,
  as_case: NonNullable<ScanFacts["as_case"]>,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.gen(function* () {
    const { container, items } = as_case.target
    const { known } = facts
    if (known !== undefined && container.opportunity_id !== known.opportunity.header.id)
      return yield* reject(
        wanted.field,
        `${container.name} is out with another order (id ${container.opportunity_id}).`
      )
    const condition = wanted.condition ?? (wanted.finalise ? 0 : null)
    const at = yield* returnedAt(wanted, container.name, container.dispatched_at, context.now)
    const back = yield* returnContainer({ target: as_case.target, known }, at, condition, context)
    return decidedAs(
      known,
      back.events,
      scannedOf(facts, {
        direction: "in",
        kind: "container",
        name: container.name,
        container_id: container.id,
        stock_level_id: container.serialised_item_id,
        product_id: container.product_id,
        quantity: isKit(as_case.target) ? 1 : items.length
      })
    )
  })

const outElsewhere = ({ units_out_elsewhere }: DecisionState, { id }: StockLevelRow): string => {
  const holder = units_out_elsewhere.get(id)
  return holder === undefined ? "" : `; it is out with ${holder}. Check it in there.`
}

export const unitIn = (facts: ScanFacts, level: StockLevelRow, wanted: Wanted, context: DecideContext): ScanDecided =>
  Result.gen(function* () {
    const { around, is_back_alone, known } = facts
    const units = known?.opportunity.units.filter((one) => one.stock_level_id === level.id) ?? []
    const unit = units.find((one) => one.status === dispatched || one.status === on_hire)
    if (known === undefined || unit === undefined) {
      const out = is_back_alone ? undefined : around?.chain.find(({ status }) => status === "dispatched")
      if (out !== undefined)
        return yield* reject(
          wanted.field,
          `${labelOf(level)} is in ${out.name}, which is out; scan the code of the case.`
        )
      if (known === undefined) return yield* reject(wanted.field, `${labelOf(level)} is not out`)
      const unchecked = units.find((one) => one.status === checked_in)
      if (unchecked !== undefined && checksOf(wanted, context).length > 0) {
        const at = yield* checkedAt(wanted, labelOf(level), unchecked.returned_at, context.now)
        const checks = checksOf({ ...wanted, at }, context)
        return yield* moved({ facts, known, level, unit: unchecked }, checks, wanted, context)
      }
      const back =
        unchecked !== undefined
          ? ": it came back already and is not checked; scan it in once more with finalise or a condition to check it"
          : units.some((one) => one.status > checked_in)
            ? ": it came back already"
            : ""
      return yield* reject(
        wanted.field,
        `${labelOf(level)} is not out on this order${back}${outElsewhere(known, level)}`
      )
    }
    const at = yield* returnedAt(wanted, labelOf(level), unit.dispatched_at, context.now)
    const received_by = context.viewer.user_id || null
    return yield* moved(
      { facts, known, level, unit },
      [
        returning(at, { received_by, return_store_id: wanted.return_store_id }),
        ...checksOf({ ...wanted, at }, context)
      ],
      wanted,
      context
    )
  })

/** Step that checks the unit, if the scan gives a condition or finalises; condition good by default. */
const checksOf = (
  { at, condition, damage_notes, finalise }: Wanted,
  { viewer }: DecideContext
): ReadonlyArray<ReturnType<typeof checking>> =>
  condition === null && !finalise
    ? []
    : [checking(at, { condition: condition ?? good, checked_by: viewer.user_id || null, damage_notes })]

interface Coming {
  readonly facts: ScanFacts
  readonly known: DecisionState
  readonly level: StockLevelRow
  readonly unit: AssignmentRow
}
const moved = (
  { facts, known, level, unit }: Coming,
  steps: Parameters<typeof moveUnits>[2],
  { field }: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.map(moveUnits(known, [{ unit, field }], steps, context), ({ events }) =>
    decidedAs(
      known,
      events,
      scannedOf(facts, {
        direction: "in",
        kind: "unit",
        name: labelOf(level),
        stock_level_id: level.id,
        product_id: level.product_id,
        opportunity_item_id: unit.opportunity_item_id,
        part_of: partOf(known, unit, level)
      })
    )
  )
