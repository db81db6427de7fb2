/** Single units on a line: allocated, prepared, out, back, checked (opportunities 9.1, 9.2). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { updatedEvent } from "../../kernel/register.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"
import { formatDecimal } from "../../values/decimal.ts"
import { overlaps } from "../../values/period.ts"
import { claimSettings, heldText, holderOf, unitWindow } from "../claims.ts"
import { type Deal, inActiveVersion, type Known, unitsOf, withLine } from "../deal.ts"
import { partAdded, partChanged, partRemoved } from "../part-events.ts"
import { allocated, type AssignmentRow, asset_assignments, checked_in, type ItemRow, prepared } from "../parts.ts"
import { settle, unitName } from "../settle.ts"
import { allowed } from "../statuses.ts"
import type { UnitDecided } from "./progress.ts"

export const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))
const serialisedCategory = 50

/** How many units of a product are promised: the count follows allocation and return, never below zero (availability 10). */
export const countChanged = (levels: ReadonlyMap<number, StockLevelRow>, changes: ReadonlyMap<number, number>): ReadonlyArray<NewEvent> =>
  [...changes].flatMap(([id, by]) => {
    const level = levels.get(id)
    if (level === undefined || by === 0) return []
    const changed = updatedEvent(stock_levels, level, { quantity_allocated: formatDecimal(Math.max(0, Number(level.quantity_allocated) + by), 2) })
    return changed === undefined ? [] : [changed]
  })

/** Why this unit cannot go on this line; the deal is taken as it is by then, units before it in the batch included. */
const unfit = (known: Known, deal: Deal, line: ItemRow, level: StockLevelRow | undefined, context: DecideContext): string | undefined => {
  if (level === undefined) return "The selected stock level does not exist."
  const name = unitName(known, level.id)
  if (line.item_id === null || level.product_id !== line.item_id) return `${name} is not a unit of the line's product.`
  if (level.stock_category !== serialisedCategory) return `${name} is counted in bulk; only single units are allocated.`
  if (level.is_gone) return `${name} is no longer in stock.`
  const store_id = line.dispatch_store_id ?? deal.header.store_id
  if (store_id !== null && level.store_id !== store_id) return `${name} is at another store.`
  if (unitsOf(deal, line.id).some((unit) => unit.stock_level_id === level.id)) return `${name} is on the line already.`
  const window = unitWindow(known, deal, line, claimSettings(context.settings, context.now))
  if ((level.starts_at !== null && level.starts_at > window.starts_at) || (level.ends_at !== null && level.ends_at < window.ends_at)) {
    return `${name} is in stock only for part of the line's time.`
  }
  const holding = holderOf(known.holdings, level.id, window, context.now)
  if (holding !== undefined) return heldText(name, holding)
  const elsewhere = deal.units.find((unit) => unit.stock_level_id === level.id && unit.status < checked_in && meetsOwn(known, deal, unit, window, context))
  return elsewhere === undefined ? undefined : `${name} is on another line of this opportunity at the same time.`
}
const meetsOwn = (known: Known, deal: Deal, unit: AssignmentRow, window: { readonly from: number; readonly to: number }, context: DecideContext): boolean => {
  const line = deal.lines.find((one) => one.id === unit.opportunity_item_id)
  return line !== undefined && overlaps(unitWindow(known, deal, line, claimSettings(context.settings, context.now)), window)
}

export interface Allocation { readonly line: ItemRow; readonly stock_level_id: number; /** The body fields to blame: for the unit, and for too many of them. */ readonly field: string; readonly count_field: string }
/**
 * All of them or none. A unit held by somebody else in the line's time is refused with the holder's name. On an
 * opportunity without a store the line takes from the store of its first unit.
 */
export const allocate = (known: Known, wanted: ReadonlyArray<Allocation>, context: DecideContext): UnitDecided => Result.gen(function*() {
  const { header } = known.deal
  yield* allowed(header, "allocate")
  let deal = known.deal
  const events: Array<NewEvent> = []
  const counts = new Map<number, number>()
  const made: Array<number> = []
  for (const { line: before, stock_level_id, field, count_field } of wanted) {
    const line = deal.lines.find(({ id }) => id === before.id) ?? before
    yield* inActiveVersion(line)
    const isFull = unitsOf(deal, line.id).length >= Math.ceil(Number(line.quantity))
    if (isFull) return yield* refuse(count_field, `${line.name}: the line asks for ${line.quantity} and has as many units already.`)
    const level = known.levels.get(stock_level_id)
    const reason = unfit(known, deal, line, level, context)
    if (reason !== undefined || level === undefined) return yield* refuse(field, reason ?? "The selected stock level does not exist.")
    if (header.store_id === null && line.dispatch_store_id === null) {
      events.push(partChanged(header.id, "item", "item_store_set", line, { dispatch_store_id: level.store_id }))
      deal = withLine(deal, line.id, { dispatch_store_id: level.store_id })
    }
    const unit: AssignmentRow = {
      id: context.id(asset_assignments), opportunity_id: header.id, opportunity_item_id: line.id, stock_level_id, status: allocated,
      allocated_at: context.now, prepared_at: null, dispatched_at: null, returned_at: null, checked_at: null, container_stock_level_id: null,
      condition_on_return: null, notes: null, created_at: context.now, updated_at: context.now, deleted_at: null
    }
    deal = { ...deal, units: [...deal.units, unit] }
    counts.set(stock_level_id, (counts.get(stock_level_id) ?? 0) + 1)
    made.push(unit.id)
    events.push(partAdded(header.id, "assignment", unit))
  }
  const settled = yield* settle(known, deal, { totals: false, claimed: wanted.map(({ line }) => line.id) }, context)
  return {
    events: [...events, ...settled.events, ...countChanged(known.levels, counts)],
    result: { id: header.id, assignment_id: made[0] ?? null, _meta: null }
  }
})

/** Only before it went out; the row goes, the activity keeps what it was. */
export const deallocate = (known: Known, unit: AssignmentRow, reason: string | null, context: DecideContext): Decided => Result.gen(function*() {
  const { deal } = known
  yield* allowed(deal.header, "allocate")
  if (unit.status > prepared) return yield* refuse("asset", `${unitName(known, unit.stock_level_id)} went out already; check it in instead.`)
  const left = { ...deal, units: deal.units.filter(({ id }) => id !== unit.id) }
  // A line that took its store from its units is free to take another once the last is gone.
  const line = deal.lines.find(({ id }) => id === unit.opportunity_item_id)
  const released = line !== undefined && line.dispatch_store_id !== null && deal.header.store_id === null && unitsOf(left, line.id).length === 0
  const after = released ? withLine(left, line.id, { dispatch_store_id: null }) : left
  const settled = yield* settle(known, after, { totals: false, claimed: [unit.opportunity_item_id] }, context)
  const was: JsonObject = { assignment_id: unit.id, stock_level_id: unit.stock_level_id }
  return {
    events: [
      partRemoved(deal.header.id, "assignment", unit.id, was, { reason }),
      ...(released ? [partChanged(deal.header.id, "item", "item_store_set", line, { dispatch_store_id: null })] : []),
      ...settled.events, ...countChanged(known.levels, new Map([[unit.stock_level_id, -1]]))
    ],
    result: { id: deal.header.id }
  }
})

/** Another unit of the same product in its place, whatever the status; the status stays (opportunities 9.1). */
export const substitute = (known: Known, unit: AssignmentRow, stock_level_id: number, reason: string | null, context: DecideContext): UnitDecided =>
  Result.gen(function*() {
    const { deal } = known
    yield* allowed(deal.header, "allocate")
    const line = deal.lines.find(({ id }) => id === unit.opportunity_item_id)
    const without = { ...deal, units: deal.units.filter(({ id }) => id !== unit.id) }
    const reason_against = line === undefined || unit.stock_level_id === stock_level_id
      ? `${unitName(known, stock_level_id)} is on the line already.`
      : unfit(known, without, line, known.levels.get(stock_level_id), context)
    if (reason_against !== undefined) return yield* refuse("stock_level_id", reason_against)
    const after = { ...deal, units: deal.units.map((one) => one.id === unit.id ? { ...one, stock_level_id } : one) }
    const settled = yield* settle(known, after, { totals: false, claimed: [unit.opportunity_item_id] }, context)
    const counted = unit.status < checked_in
    return {
      events: [
        partChanged(deal.header.id, "assignment", "asset_substituted", unit, { stock_level_id }, { reason }), ...settled.events,
        ...(counted ? countChanged(known.levels, new Map([[unit.stock_level_id, -1], [stock_level_id, 1]])) : [])
      ],
      result: { id: deal.header.id, assignment_id: unit.id, _meta: null }
    }
  })
