/** Rules that allocate units to lines, release and exchange them (rules/opportunities 9.1, 9.2). */
import { Result } from "effect"
import { decision, initialRow, reject, updatedEvents } from "../../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent } from "../../../kernel/index.ts"
import {
  inspectionWarnings,
  outOfServiceDuring,
  outOfServiceRefusal,
  stock_levels,
  unit_category
} from "../../../products/stock/schema.ts"
import { formatDecimal } from "../../../values/decimal.ts"
import { overlaps } from "../../../values/period.ts"
import { conflictingHold, demandSettings, inActiveVersion, recalculate, roomOf, unitHeldText } from "../state/index.ts"
import { unitName, unitsOf, unitsOfProduct, unitWindow, withLine } from "../state/index.ts"
import type { DecisionState, Opportunity, UnitDecided } from "../state/index.ts"
import { lineChanged, unitAllocated, unitChanged, unitDeallocated } from "../events/lines.ts"
import { allocated, asset_assignments, checked_in, prepared, requireTransition } from "../tables/index.ts"
import type { AssignmentRow, ItemRow } from "../tables/index.ts"

type Level = NonNullable<ReturnType<DecisionState["levels"]["get"]>>
/** Changes `quantity_allocated` of stock levels by these numbers; never below zero (rules/availability 10). */
export const allocatedCountChanged = (
  levels: DecisionState["levels"],
  changes: ReadonlyMap<number, number>
): ReadonlyArray<NewEvent> =>
  [...changes].flatMap(([id, by]) => {
    const level = levels.get(id)
    if (level === undefined || by === 0) return []
    return updatedEvents(stock_levels, level, {
      quantity_allocated: formatDecimal(Math.max(0, Number(level.quantity_allocated) + by), 2)
    })
  })

/**
 * Why a unit cannot be allocated to a line; undefined if it can. `opportunity` includes units allocated earlier in the
 * same request.
 */
export const allocationRefusal = (
  state: DecisionState,
  opportunity: Opportunity,
  line: ItemRow,
  level: Level | undefined,
  context: DecideContext
): string | undefined => {
  if (level === undefined) return "The selected stock level does not exist."
  const name = unitName(state, level.id)
  const settings = demandSettings(context.settings, context.now)
  if (roomOf(state, line, level.product_id, settings) === 0 && level.product_id !== line.item_id)
    return `${name} is not a unit of the line's product.`
  if (level.stock_category !== unit_category) return `${name} is counted in bulk; only single units are allocated.`
  if (level.is_gone) return `${name} is no longer in stock.`
  if (level.given_back_at !== null) return `${name} went back to its supplier.`
  const store_id = line.dispatch_store_id ?? opportunity.header.store_id
  if (store_id !== null && level.store_id !== store_id) return `${name} is at another store.`
  if (unitsOf(opportunity, line.id).some((unit) => unit.stock_level_id === level.id))
    return `${name} is on the line already.`
  const window = unitWindow(state, opportunity, line, settings, level.product_id)
  if (
    (level.starts_at !== null && level.starts_at > window.starts_at) ||
    (level.ends_at !== null && level.ends_at < window.ends_at)
  ) {
    return (
      `${name} is in stock only for part of the line's time: ` +
      `${level.starts_at === null ? "" : `from ${level.starts_at} `}` +
      `${level.ends_at === null ? "on" : `to ${level.ends_at}`}.`
    )
  }
  const out = outOfServiceDuring(level, context, window)
  if (out !== undefined) return `${name} ${outOfServiceRefusal(out)}, or take another unit.`
  const unit_hold = conflictingHold(state.unit_holds, level.id, window, context.now)
  if (unit_hold !== undefined) return unitHeldText(name, unit_hold)
  const elsewhere = opportunity.units.find(
    (unit) =>
      unit.stock_level_id === level.id &&
      unit.status < checked_in &&
      overlapsUnit(state, opportunity, unit, window, context)
  )
  return elsewhere === undefined ? undefined : `${name} is on another line of this opportunity at the same time.`
}
const overlapsUnit = (
  state: DecisionState,
  opportunity: Opportunity,
  unit: AssignmentRow,
  window: { readonly from: number; readonly to: number },
  context: DecideContext
): boolean => {
  const line = opportunity.lines.find((one) => one.id === unit.opportunity_item_id)
  return (
    line !== undefined &&
    overlaps(
      unitWindow(
        state,
        opportunity,
        line,
        demandSettings(context.settings, context.now),
        state.levels.get(unit.stock_level_id)?.product_id
      ),
      window
    )
  )
}

/** Why the line is full for this product; undefined while there is room, and for products that do not belong on it. */
const fullText = (
  state: DecisionState,
  opportunity: Opportunity,
  line: ItemRow,
  level: Level | undefined,
  context: DecideContext
): string | undefined => {
  const product_id = level?.product_id ?? line.item_id ?? 0
  const is_part = product_id !== line.item_id
  const room = roomOf(state, line, product_id, demandSettings(context.settings, context.now))
  if ((is_part && room === 0) || unitsOfProduct(state, opportunity, line, product_id).length < room) return undefined
  return is_part
    ? `${line.name}: its kits take ${room} ${state.stocked.get(product_id)?.name ?? "units"} and no more.`
    : `${line.name}: the line asks for ${Number(line.quantity)} and takes no more units.`
}

interface Allocation {
  readonly line: ItemRow
  readonly stock_level_id: number
  /** Body field for errors about the unit. */
  readonly field: string
  /** Body field for errors about too many units. */
  readonly count_field: string
}
/**
 * Allocates all units or none. 422 naming the holder if a unit is held otherwise in the line's window. Without a store
 * on the opportunity, the line takes stock from its first unit's store.
 */
export const allocate = (
  state: DecisionState,
  wanted: ReadonlyArray<Allocation>,
  context: DecideContext
): UnitDecided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "allocate")
    let opportunity = state.opportunity
    const events: Array<NewEvent> = []
    const counts = new Map<number, number>()
    const unit_ids: Array<number> = []
    for (const { line: before, stock_level_id, field, count_field } of wanted) {
      const line = opportunity.lines.find(({ id }) => id === before.id) ?? before
      yield* inActiveVersion(line)
      const level = state.levels.get(stock_level_id)
      const full = fullText(state, opportunity, line, level, context)
      if (full !== undefined) return yield* reject(count_field, full)
      const reason = allocationRefusal(state, opportunity, line, level, context)
      if (reason !== undefined || level === undefined)
        return yield* reject(field, reason ?? "The selected stock level does not exist.")
      if (header.store_id === null && line.dispatch_store_id === null) {
        events.push(lineChanged(line, "item_store_set", { dispatch_store_id: level.store_id }))
        opportunity = withLine(opportunity, line.id, { dispatch_store_id: level.store_id })
      }
      const unit: AssignmentRow = {
        ...initialRow(asset_assignments),
        id: context.id(asset_assignments),
        opportunity_id: header.id,
        opportunity_item_id: line.id,
        stock_level_id,
        status: allocated,
        allocated_at: context.happened_at,
        created_at: context.now,
        updated_at: context.now,
        deleted_at: null
      }
      opportunity = { ...opportunity, units: [...opportunity.units, unit] }
      counts.set(stock_level_id, (counts.get(stock_level_id) ?? 0) + 1)
      unit_ids.push(unit.id)
      events.push(unitAllocated(unit))
    }
    const recalculated = yield* recalculate(
      state,
      opportunity,
      { totals: false, demanded: wanted.map(({ line }) => line.id) },
      context
    )
    return {
      events: [...events, ...recalculated.events, ...allocatedCountChanged(state.levels, counts)],
      result: {
        ...{ id: header.id, assignment_id: unit_ids[0] ?? null, _meta: null },
        warnings: inspectionWarnings(
          wanted.map(({ stock_level_id }) => state.levels.get(stock_level_id)),
          context
        )
      }
    }
  })

/** Releases a unit from its line. 422 on `asset` if it was dispatched. */
export const deallocate = (
  state: DecisionState,
  unit: AssignmentRow,
  reason: string | null,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "allocate")
    if (unit.status > prepared)
      return yield* reject("asset", `${unitName(state, unit.stock_level_id)} went out already; check it in instead.`)
    const remaining = { ...opportunity, units: opportunity.units.filter(({ id }) => id !== unit.id) }
    // A line without a unit no longer has the store it took from its units.
    const line = opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
    const released =
      line !== undefined &&
      line.dispatch_store_id !== null &&
      opportunity.header.store_id === null &&
      unitsOf(remaining, line.id).length === 0
    const after = released ? withLine(remaining, line.id, { dispatch_store_id: null }) : remaining
    const recalculated = yield* recalculate(
      state,
      after,
      { totals: false, demanded: [unit.opportunity_item_id] },
      context
    )
    return decision(opportunity.header.id, [
      unitDeallocated(unit, { reason }),
      ...(released ? [lineChanged(line, "item_store_set", { dispatch_store_id: null })] : []),
      ...recalculated.events,
      ...allocatedCountChanged(state.levels, new Map([[unit.stock_level_id, -1]]))
    ])
  })

/**
 * Replaces a unit by another of its or the line's product, which gets its status; possible in any status
 * (rules/opportunities 9.1).
 */
export const substitute = (
  state: DecisionState,
  unit: AssignmentRow,
  stock_level_id: number,
  reason: string | null,
  context: DecideContext
): UnitDecided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "allocate")
    const line = opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
    const without = { ...opportunity, units: opportunity.units.filter(({ id }) => id !== unit.id) }
    const [before, next] = [state.levels.get(unit.stock_level_id), state.levels.get(stock_level_id)]
    const reason_against =
      line === undefined || unit.stock_level_id === stock_level_id
        ? `${unitName(state, stock_level_id)} is on the line already.`
        : (allocationRefusal(state, without, line, next, context) ??
          // A kit's part is only replaced by the same part or by the kit: no tripod for a camera.
          (before !== undefined && before.product_id !== next?.product_id && next?.product_id !== line.item_id
            ? `${unitName(state, stock_level_id)} is of another product than ${unitName(state, unit.stock_level_id)}.`
            : undefined))
    if (reason_against !== undefined) return yield* reject("stock_level_id", reason_against)
    const after = {
      ...opportunity,
      units: opportunity.units.map((one) => (one.id === unit.id ? { ...one, stock_level_id } : one))
    }
    const recalculated = yield* recalculate(
      state,
      after,
      { totals: false, demanded: [unit.opportunity_item_id] },
      context
    )
    const counted = unit.status < checked_in
    return {
      events: [
        unitChanged(unit, "asset_substituted", { stock_level_id }, { reason }),
        ...recalculated.events,
        ...(counted
          ? allocatedCountChanged(
              state.levels,
              new Map([
                [unit.stock_level_id, -1],
                [stock_level_id, 1]
              ])
            )
          : [])
      ],
      result: {
        ...{ id: opportunity.header.id, assignment_id: unit.id, _meta: null },
        warnings: inspectionWarnings([next], context)
      }
    }
  })
