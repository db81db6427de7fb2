/**
 * Recalculates an opportunity after a change: changed lines are priced; discount rules, surcharges, totals and tax are
 * computed for the whole; demands are updated. Events contain results, never differences.
 */
import { changedColumns, initialRow, invalid, keysOf, reject, unstamped, without } from "../../../kernel/index.ts"
import { withoutStamps } from "../../../kernel/index.ts"
import type { DecideContext, NewEvent, Rejection } from "../../../kernel/index.ts"
import { Result } from "effect"
import type { LineShortage } from "../../availability/rules/line.ts"
import type { DemandRow, NewDemand } from "../../demands/schema.ts"
import { demands as demands_table, demandsPhaseChanged, demandsReplaced } from "../../demands/schema.ts"
import { type PricedOpportunity, priceOpportunity } from "../../../pricing/pricing/surcharges.ts"
import { SURCHARGE_COST_TYPE } from "../../../pricing/pricing/totals.ts"
import {
  conflictingHold,
  demandSettings,
  demandsOf,
  hasShortageCheck,
  isHoldingStock,
  isShort,
  shortagesOf,
  unitHeldText
} from "./demands.ts"
import type { DecisionState, Opportunity } from "./aggregate.ts"
import { opportunityPriced } from "../events/money.ts"
import { opportunityStream } from "../events/event-families.ts"
import { opportunity_costs, type CostRow, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { costTaxRateOf, priceOne, stagesOf, taxRateOf } from "./pricing.ts"

interface RecalculationScope {
  readonly priced?: ReadonlyArray<number>
  /** Lines whose demands to compute again; removed lines release theirs. */
  readonly demanded?: ReadonlyArray<number> | "all"
  /** False: keeps the totals, because nothing charged has changed. */
  readonly totals?: false
  /** Looks up the tax of all lines and costs again, unless taxes were locked before this change. */
  readonly taxed?: boolean
}
export interface Recalculated {
  readonly opportunity: Opportunity
  /** The opportunity's demands after the change. */
  readonly demands: ReadonlyArray<DemandRow>
  /** Short lines of an opportunity that holds stock; empty if stock was not read. */
  readonly shortages: ReadonlyArray<LineShortage>
  /** Short lines also of a draft or quotation that holds no stock; empty if stock was not read. */
  readonly short: ReadonlyArray<LineShortage>
  /** Events that result from the change, to record after its own. */
  readonly events: ReadonlyArray<NewEvent>
}

/**
 * `after`: the opportunity with the change, including new lines; `state.opportunity`: before it. 422 if pricing or
 * demands are refused.
 */
export const recalculate = (
  state: DecisionState,
  after: Opportunity,
  touched: RecalculationScope,
  context: DecideContext
): Result.Result<Recalculated, Rejection> =>
  Result.gen(function* () {
    let opportunity = yield* pricedLines(state, after, touched)
    if (touched.totals !== false && (hasCharges(opportunity) || hasCharges(state.opportunity)))
      opportunity = withPrices(
        opportunity,
        yield* Result.mapError(priceOpportunity(stagesOf(state, opportunity, context.now)), invalid),
        context
      )
    const demanded = yield* demandsAfter(state, opportunity, touched.demanded ?? [], context)
    const holding = isHoldingStock(opportunity.header, context.settings)
    const is_checked = hasShortageCheck(opportunity.header, context.settings)
    const short = shortagesOf(state, opportunity, demanded.demands, context.settings, context.now)
    const shortages = holding ? short : []
    const has_shortage =
      is_checked && (state.snapshots === undefined ? opportunity.header.has_shortage : isShort(short))
    opportunity = { ...opportunity, header: { ...opportunity.header, has_shortage } }
    const priced = pricedEvent(after, state.opportunity, opportunity)
    return {
      opportunity,
      demands: demanded.demands,
      shortages,
      short,
      events: [...(priced === undefined ? [] : [priced]), ...demanded.events]
    }
  })

/** Whether rates remain from a released lock: they apply until the next recalculation, which retaxes all lines. */
const isTaxReleased = ({ locked_taxes, tax_locked }: OpportunityRow): boolean => !tax_locked && locked_taxes.length > 0

/** Prices the lines in scope; with `taxed` or after a released lock, updates tax rates of all lines and costs. */
const pricedLines = (
  state: DecisionState,
  opportunity: Opportunity,
  touched: RecalculationScope
): Result.Result<Opportunity, Rejection> =>
  Result.gen(function* () {
    const wanted = new Set(touched.priced ?? [])
    const { locked_taxes, tax_locked } = opportunity.header
    const is_locked = tax_locked && locked_taxes === state.opportunity.header.locked_taxes
    const is_released = touched.totals !== false && isTaxReleased(opportunity.header)
    const retaxed = is_released || (touched.taxed === true && !is_locked)
    if (wanted.size === 0 && !retaxed) return opportunity
    const lines: Array<ItemRow> = []
    for (const line of opportunity.lines) {
      const priced = wanted.has(line.id)
        ? { ...line, ...(yield* Result.mapError(priceOne(state, opportunity.header, line), invalid)) }
        : line
      lines.push(
        retaxed && line.item_type !== "group"
          ? { ...priced, tax_rate: taxRateOf(state, opportunity.header, line) }
          : priced
      )
    }
    if (!retaxed) return { ...opportunity, lines }
    const tax_rate = costTaxRateOf(state, opportunity.header)
    const costs = opportunity.costs.map((cost) => (cost.surcharge_id === null ? { ...cost, tax_rate } : cost))
    const header = is_released ? { ...opportunity.header, locked_taxes: [] } : opportunity.header
    return { ...opportunity, header, lines, costs }
  })

/** Whether there is anything to sum up; until then a manual estimate of the total stays. */
const hasCharges = (opportunity: Opportunity): boolean =>
  opportunity.lines.length + opportunity.costs.length > 0 || opportunity.header.deal_total !== null

/** The opportunity with line nets, totals and computed costs set by pricing. */
const withPrices = (opportunity: Opportunity, priced: PricedOpportunity, context: DecideContext): Opportunity => {
  const lines = opportunity.lines.map((line): ItemRow => {
    const total = priced.line_nets.get(line.id)
    if (total === undefined) return line.item_type === "group" ? { ...line, total: 0 } : line
    const rule_discount = priced.line_discounts.get(line.id) ?? 0
    return line.total === total && line.rule_discount === rule_discount ? line : { ...line, total, rule_discount }
  })
  const computed = priced.surcharges.map((one, index): CostRow => {
    const before = opportunity.costs.find((cost) => cost.surcharge_id === one.surcharge_id)
    const fresh = { ...newCostRow(opportunity.header, context), sort_order: 1_000_000 + index }
    return {
      ...(before ?? fresh),
      description: one.name,
      cost_type: SURCHARGE_COST_TYPE,
      amount: one.net,
      surcharge_id: one.surcharge_id,
      surcharge_group_id: one.surcharge_group_id,
      product_tax_class_id: one.product_tax_class_id
    }
  })
  return {
    ...opportunity,
    header: {
      ...opportunity.header,
      ...priced.totals,
      applied_discounts: priced.applied_rules.map((rule) => ({ ...rule }))
    },
    lines,
    costs: [...opportunity.costs.filter((cost) => cost.surcharge_id === null), ...computed]
  }
}

/** A new cost with every column at its default. */
export const newCostRow = (header: OpportunityRow, context: DecideContext): CostRow => ({
  ...initialRow(opportunity_costs),
  id: context.id(opportunity_costs),
  opportunity_id: header.id,
  description: "",
  currency_code: header.currency_code,
  ...unstamped
})

/** A demand without stamps: the form in events. */
const asRecorded = ({ created_at: _c, deleted_at: _d, updated_at: _u, ...recorded }: DemandRow) => recorded

/**
 * All changes by pricing in one event; undefined if there are none. `change`: the opportunity after the command's own
 * events.
 */
const pricedEvent = (change: Opportunity, before: Opportunity, after: Opportunity): NewEvent | undefined => {
  const set = changedColumns(change.header, after.header)
  const known = new Map(before.lines.map((line) => [line.id, line]))
  const sent = new Map(change.lines.map((line) => [line.id, line]))
  const lines = after.lines.flatMap((line) => {
    // New lines are recorded in full, including their prices.
    if (!known.has(line.id) || sent.get(line.id) === line) return []
    const difference = changedColumns(sent.get(line.id) ?? {}, line)
    return Object.keys(difference).length === 0 ? [] : [{ ...difference, id: line.id }]
  })
  const costsBefore = new Map(change.costs.map((cost) => [cost.id, cost]))
  const kept = new Set(after.costs.map(({ id }) => id))
  const removed = change.costs.filter((cost) => !kept.has(cost.id)).map(({ id }) => id)
  const added = after.costs.filter((cost) => !costsBefore.has(cost.id)).map(withoutStamps)
  const altered = after.costs.flatMap((cost) => {
    const earlier = costsBefore.get(cost.id)
    const difference = earlier === undefined ? {} : changedColumns(earlier, cost)
    return Object.keys(difference).length === 0 ? [] : [{ ...difference, id: cost.id }]
  })
  const isNothing = Object.keys(set).length + lines.length + removed.length + added.length + altered.length === 0
  const { active_version_id, id } = after.header
  const version = active_version_id === 0 ? {} : { version: { id: active_version_id, ...versionTotals(after.header) } }
  return isNothing
    ? undefined
    : opportunityPriced.make({ id, set, lines, costs: { added, altered, removed }, ...version })
}
/** Columns of totals that a version stores; the active version's equal the opportunity's (rules/opportunities 8). */
export const versionTotals = ({
  charge_excluding_tax_total,
  charge_including_tax_total,
  charge_total,
  tax_total
}: OpportunityRow) => ({ charge_excluding_tax_total, tax_total, charge_including_tax_total, charge_total })

interface DemandUpdate {
  readonly demands: ReadonlyArray<DemandRow>
  readonly events: ReadonlyArray<NewEvent>
}

/** Demands of the lines in scope; unchanged ones keep their ids. 422 on `state` if a unit is held by others. */
const demandsAfter = (
  state: DecisionState,
  opportunity: Opportunity,
  touched: ReadonlyArray<number> | "all",
  context: DecideContext
): Result.Result<DemandUpdate, Rejection> =>
  Result.gen(function* () {
    const settings = demandSettings(context.settings, context.now)
    const own = state.demands
    // Lines that were not read belong to inactive versions and have no demands.
    const lines = new Set(
      touched === "all" ? [...opportunity.lines, ...state.opportunity.lines].map(({ id }) => id) : touched
    )
    const events: Array<NewEvent> = []
    const set: Array<DemandRow> = []
    const phased = new Map<DemandRow["phase"], Array<number>>()
    const lineOf = new Map(opportunity.lines.map((line) => [line.id, line]))
    const stored_by_line = Map.groupBy(own, (demand) => demand.source_id)
    for (const id of lines) {
      const line = lineOf.get(id)
      // Yielded only if refused, as orders may have a thousand lines.
      const found = line === undefined ? Result.succeed([]) : demandsOf(state, opportunity, line, settings)
      const wanted = Result.isFailure(found) ? yield* found : found.success
      if (state.unit_holds.length > 0) yield* requireFreeUnits(state, wanted, context)
      const before = stored_by_line.get(id) ?? []
      const rows = withIds(wanted, before, context)
      set.push(...rows)
      const change = changeBetween(before, rows)
      const [first] = rows
      if (change === "none") continue
      if (change === "other" || first === undefined) {
        events.push(
          demandsReplaced(opportunityStream(opportunity.header.id), "opportunity_item", id, rows.map(asRecorded))
        )
        continue
      }
      const others = phased.get(first.phase)
      if (others === undefined) phased.set(first.phase, [id])
      else others.push(id)
    }
    for (const [phase, ids] of phased)
      events.push(demandsPhaseChanged(opportunityStream(opportunity.header.id), "opportunity_item", ids, phase))
    const rest = own.filter((demand) => !lines.has(demand.source_id))
    return { demands: [...rest, ...set], events }
  })

/** 422 on `state` for a unit that others hold, with the holder's name, which the database constraint would not give. */
const requireFreeUnits = (
  state: DecisionState,
  wanted: ReadonlyArray<NewDemand>,
  context: DecideContext
): Result.Result<void, Rejection> => {
  for (const demand of wanted) {
    if (demand.asset_id === null || !demand.is_active) continue
    const window = {
      from: Date.parse(demand.buffered_starts_at ?? demand.starts_at),
      to: Date.parse(demand.buffered_ends_at ?? demand.ends_at)
    }
    const unit_hold = conflictingHold(state.unit_holds, demand.asset_id, window, context.now)
    if (unit_hold !== undefined) return reject("state", unitHeldText(unitName(state, demand.asset_id), unit_hold))
  }
  return Result.succeed(undefined)
}
/** Name of a unit in messages: its name, asset number or id (rules/opportunities 9.1). */
export const unitName = (state: DecisionState, stock_level_id: number): string => {
  const level = state.levels.get(stock_level_id)
  return level?.item_name ?? level?.asset_number ?? `Stock level ${stock_level_id}`
}

/** Gives demands the ids of stored ones for the same unit and product, in order. */
const withIds = (
  wanted: ReadonlyArray<NewDemand>,
  before: ReadonlyArray<DemandRow>,
  context: DecideContext
): ReadonlyArray<DemandRow> => {
  const free = Map.groupBy(before, unitKey)
  const used = new Map<string, number>()
  return wanted.map((demand) => {
    const key = unitKey(demand)
    const at = used.get(key) ?? 0
    used.set(key, at + 1)
    return {
      ...unstamped,
      ...demand,
      id: free.get(key)?.[at]?.id ?? context.id(demands_table),
      buffered_starts_at: demand.buffered_starts_at ?? demand.starts_at,
      buffered_ends_at: demand.buffered_ends_at ?? demand.ends_at
    }
  })
}
const unitKey = ({ asset_id, product_id }: NewDemand): string => `${product_id}/${asset_id}`
const recorded_columns = keysOf(without(demands_table.columns, "reaches_to", "created_at", "updated_at", "deleted_at"))
/** Whether a line's demands change, and whether that is only a new phase for all of them. */
const changeBetween = (
  before: ReadonlyArray<DemandRow>,
  rows: ReadonlyArray<DemandRow>
): "none" | "phase" | "other" => {
  if (rows.length !== before.length) return "other"
  const stored = new Map(before.map((row) => [row.id, row]))
  let is_phased = false
  for (const row of rows) {
    const earlier = stored.get(row.id)
    if (earlier === undefined) return "other"
    for (const name of recorded_columns) {
      if ((row[name] ?? null) === (earlier[name] ?? null)) continue
      if (name !== "phase") return "other"
      is_phased = true
    }
  }
  return is_phased ? (rows.every(({ phase }) => phase === rows[0]?.phase) ? "phase" : "other") : "none"
}
