/** Facts and rule of an extension of the hire. */
import { Effect, Result } from "effect"
import type { LineShortage } from "../../availability/rules/line.ts"
import { reject, Store, type CommandRuntime, type DecideContext, type Decided } from "../../../kernel/index.ts"
import { type Input, type NewEvent, picked, type Rejection, type ValuesOf } from "../../../kernel/index.ts"
import { formatMoney } from "../../../values/money.ts"
import { millisOf } from "../../../values/time.ts"
import { acknowledgementOf, conflictingHold, demandSettings, demandsOf, gatePolicy } from "../state/index.ts"
import { linesTakingStock, liveLines, loadDecisionState, recalculate, requireStanding } from "../state/index.ts"
import { shortagesOf, shortageText, standingWarnings, unitHeldText, unitName, withOwed } from "../state/index.ts"
import type { DecisionState, Opportunity, Recalculated } from "../state/index.ts"
import { lineChanged } from "../events/lines.ts"
import { acknowledgements, asset_assignments, checked_in, opportunity_items, order } from "../tables/index.ts"
import { requireTransition, type OpportunityRow } from "../tables/index.ts"
import { hireExtended } from "../events/header.ts"
import { planExtension } from "./plan.ts"
import type { dateFields, Extended, ExtensionPlan, ExtensionShown, HireShown, PartAsked, seenFields } from "./plan.ts"
import type { ShownShortage, WhichLines } from "./plan.ts"
import { type AddedTime, loadPromised, type PromisedTo, promisesOf, shownShortage, warningsOf } from "./warnings.ts"
import { partsOf, type Split, splitEvents, splitLine, withPartAt } from "./split.ts"
import { exact, formatDecimal } from "../../../values/decimal.ts"

// Extends a hire in one decision: header, lines, prices and demands change together or not at all (rules/opportunities
// 4.3). Shortening is the same with an earlier end.

interface ExtensionFacts {
  readonly state: DecisionState
  /** The planned extension, or the refusal. With `parts` it moves whole lines, and only serves to load facts. */
  readonly plan: Result.Result<ExtensionPlan, Rejection>
  /** Parts of lines to extend, with the request. */
  readonly parts?: { readonly asked: ReadonlyArray<PartAsked>; readonly sent: Sent }
  /** Other orders and quotations that need the same products at that time. */
  readonly promised: ReadonlyArray<PromisedTo>
}

const shortagesIn = (
  state: DecisionState,
  opportunity: Opportunity,
  demands: Recalculated["demands"],
  { now, settings }: DecideContext
): ReadonlyArray<LineShortage> =>
  state.snapshots === undefined
    ? []
    : shortagesOf(state, opportunity, demands, settings, now).filter((one) => one.remaining_shortfall > 0)

/** 422 on `ends_at` that names every unit of the lines that is demanded otherwise at that time, and the holder. */
const requireUnits = (
  state: DecisionState,
  after: Opportunity,
  changed: ReadonlyArray<number>,
  context: DecideContext
): Result.Result<void, Rejection> =>
  Result.gen(function* () {
    const held: Array<string> = []
    for (const line of after.lines.filter(({ id }) => changed.includes(id))) {
      for (const demand of yield* demandsOf(state, after, line, demandSettings(context.settings, context.now))) {
        if (demand.asset_id === null || !demand.is_active) continue
        const window = {
          from: millisOf(demand.buffered_starts_at ?? demand.starts_at),
          to: millisOf(demand.buffered_ends_at ?? demand.ends_at)
        }
        const hold = conflictingHold(state.unit_holds, demand.asset_id, window, context.now)
        if (hold !== undefined) held.push(unitHeldText(unitName(state, demand.asset_id), hold))
      }
    }
    if (held.length === 0) return
    const way_out = "Give one of the two another unit, or leave the line out of lines."
    return yield* reject("ends_at", [...held, way_out].join(" "))
  })

/** Whether the customer gets more: shortening a hire is never refused for debt. */
const isLonger = ({ set }: ExtensionPlan, header: OpportunityRow): boolean =>
  (set.ends_at ?? "") > (header.ends_at ?? "") ||
  (typeof set.starts_at === "string" && header.starts_at !== null && set.starts_at < header.starts_at)
const tellStanding: typeof requireStanding = (...given) => Result.succeed(standingWarnings(...given))

/** Lines whose shortage grew. */
const worse = (
  before: ReadonlyArray<LineShortage>,
  after: ReadonlyArray<LineShortage>
): ReadonlyArray<LineShortage> => {
  const was = new Map(before.map((one) => [one.opportunity_item_id, one.remaining_shortfall]))
  return after.filter((one) => one.remaining_shortfall > (was.get(one.opportunity_item_id) ?? 0))
}

/**
 * The store's shortage policy for orders, as on conversion: `block` refuses with 422 on `shortages`, `warn` records the
 * acknowledgement.
 */
const gate = (
  state: DecisionState,
  short: ReadonlyArray<LineShortage>,
  { promised, reason }: { readonly promised: ReadonlyArray<PromisedTo>; readonly reason: string | null },
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const { header } = state.opportunity
  const policy = gatePolicy(state, context.viewer)
  if (header.state !== order || short.length === 0 || policy.effective === "allow") return Result.succeed([])
  if (policy.effective === "block") {
    const to = promisesOf(short, promised)
    return reject("shortages", [shortageText(short), ...to].join(" "))
  }
  return Result.succeed([
    acknowledgementOf(context.id(acknowledgements), header.id, short, { policy, notes: reason }, context)
  ])
}

const hireShown = ({ header }: Opportunity, shortages: ReadonlyArray<ShownShortage>): HireShown => {
  const money = (minor: number): string => formatMoney(minor, header.currency_code)
  return {
    ...picked(header, ["starts_at", "ends_at", "charge_starts_at", "charge_ends_at"]),
    charge_total: money(header.charge_total),
    tax_total: money(header.tax_total),
    charge_including_tax_total: money(header.charge_including_tax_total),
    has_shortage: header.has_shortage,
    shortages
  }
}

/** Lines whose demands may change: those with new dates, and those that follow the hire's. */
const demandedLines = (
  opportunity: Opportunity,
  plan: ExtensionPlan,
  splits: ReadonlyArray<Split>
): ReadonlyArray<number> | "all" =>
  "charge_starts_at" in plan.set || "charge_ends_at" in plan.set
    ? "all"
    : liveLines(opportunity)
        .filter(
          ({ ends_at, id, starts_at }) =>
            plan.lines.has(id) ||
            starts_at === null ||
            ends_at === null ||
            splits.some(({ before, part }) => before.id === id || part.id === id)
        )
        .map(({ id }) => id)

interface Planned {
  readonly plan: ExtensionPlan
  /** The opportunity with the parts on lines of their own, at the old dates. */
  readonly split: Opportunity
  readonly splits: ReadonlyArray<Split>
}
/** The plan, with the requested parts split off first. 422 on `parts.N` for one that cannot be. */
const planned = (facts: ExtensionFacts, context: DecideContext): Result.Result<Planned, Rejection> =>
  Result.gen(function* () {
    const { parts, state } = facts
    if (parts === undefined) return { plan: yield* facts.plan, split: state.opportunity, splits: [] }
    const about = { name: "parts", isMeant: () => false, is_complete: false }
    let split = state.opportunity
    const splits: Array<Split> = []
    for (const part of yield* partsOf(state, parts.asked, about, context)) {
      const { dispatched_quantity, quantity, returned_quantity } = part.line
      const staying = exact(quantity).minus(exact(returned_quantity))
      if (exact(part.quantity).greaterThan(staying) || part.units.some(({ status }) => status >= checked_in))
        return yield* reject(
          part.field,
          `${part.line.name}: what came back already stays no longer (${staying.toNumber()} did not).`
        )
      const out = exact(dispatched_quantity).minus(exact(returned_quantity))
      const moved = {
        dispatched_quantity: formatDecimal(exact(part.quantity).lessThan(out) ? exact(part.quantity) : out, 2),
        returned_quantity: "0.00"
      }
      const found = yield* splitLine(split, part, moved, context)
      if (found === undefined) continue
      split = found.opportunity
      splits.push(found.split)
    }
    const { lines } = parts.sent.values
    const ids = [...(Array.isArray(lines) ? lines : []), ...splits.map(({ part }) => part.id)]
    return { plan: yield* planExtension(split, parts.sent.values, ids), split, splits }
  })

/** Prices of the parts for their new dates, at the rates of the lines they were split from. */
const withPartPrices = (
  state: DecisionState,
  opportunity: Opportunity,
  plan: ExtensionPlan,
  splits: ReadonlyArray<Split>
): Result.Result<Opportunity, Rejection> =>
  Result.gen(function* () {
    let after = opportunity
    for (const { part } of splits) after = yield* withPartAt(state, after, part, plan.lines.get(part.id) ?? {})
    return after
  })

const asPlanned = (opportunity: Opportunity, { lines, set }: ExtensionPlan): Opportunity => ({
  ...opportunity,
  header: { ...opportunity.header, ...set },
  lines: opportunity.lines.map((line) => {
    const dates = lines.get(line.id)
    return dates === undefined ? line : { ...line, ...dates }
  })
})

/**
 * Decides header, lines, charge, demands and units together. 422: `state` if closed, `starts_at`, `ends_at` (also for
 * units that others demand then), `lines.N`, `parts.N`, `member_id` and `shortages` if a policy is to block.
 */
export const extendHire = (facts: ExtensionFacts, reason: string | null, context: DecideContext): Decided<Extended> =>
  Result.gen(function* () {
    const { promised, state } = facts
    const { opportunity } = state
    const { header } = opportunity
    yield* requireTransition(header, "edit")
    const { plan, split, splits } = yield* planned(facts, context)
    const changed = yield* withPartPrices(state, asPlanned(split, plan), plan, splits)
    const own_price = new Set(splits.flatMap(({ before, part }) => [before.id, part.id]))
    const repriced = liveLines(changed)
      .filter(({ id, item_type }) => item_type !== "group" && !own_price.has(id) && isRepriced(id, plan, opportunity))
      .map(({ id }) => id)
    const demanded = demandedLines(split, plan, splits)
    yield* requireUnits(state, changed, demanded === "all" ? changed.lines.map(({ id }) => id) : demanded, context)
    const before = shortagesIn(state, opportunity, state.demands, context)
    const recalculated = yield* recalculate(state, changed, { priced: repriced, demanded }, context)
    const after = recalculated.opportunity
    const short = shortagesIn(state, after, recalculated.demands, context)
    const standing = header.state === order && isLonger(plan, header) ? requireStanding : tellStanding
    const concerns = yield* standing(state.customer, state.owed, after.header, context.settings)
    const accepted = yield* gate(state, worse(before, short), { promised, reason }, context)
    const extension: ExtensionShown = {
      before: hireShown(
        opportunity,
        before.map((one) => shownShortage(one, []))
      ),
      after: hireShown(
        after,
        short.map((one) => shownShortage(one, promised))
      ),
      original_starts_at: after.header.original_starts_at,
      original_ends_at: after.header.original_ends_at,
      currency_code: header.currency_code,
      lines_followed: plan.followed.map(({ id }) => id),
      lines_kept: plan.kept.map(({ id }) => id)
    }
    const warnings = [
      ...concerns,
      ...warningsOf({
        state,
        plan,
        after,
        short: worse(before, short),
        promised,
        now: context.now,
        viewer: context.viewer
      })
    ]
    const changes_nothing = Object.keys(plan.set).length === 0 && plan.lines.size === 0
    const totals = new Map(after.lines.map((line) => [line.id, line.total]))
    const also = { lines_followed: [...extension.lines_followed], lines_kept: [...extension.lines_kept] }
    return {
      events: changes_nothing
        ? []
        : [
            hireExtended(header, plan.set, reason === null ? also : { ...also, reason }),
            ...splitEvents(state, splits, changed, after),
            ...opportunity.lines.flatMap((line) => {
              const dates = plan.lines.get(line.id)
              if (dates === undefined || own_price.has(line.id)) return []
              return [lineChanged(line, "item_dates_changed", dates, { total: totals.get(line.id) ?? line.total })]
            }),
            ...recalculated.events,
            ...accepted
          ],
      result: { id: header.id, extension, warnings }
    }
  })

/** A line is repriced if its dates change, whether its own or the hire's. */
const isRepriced = (id: number, plan: ExtensionPlan, opportunity: Opportunity): boolean => {
  if (plan.lines.has(id)) return true
  const line = opportunity.lines.find((one) => one.id === id)
  return (
    line !== undefined &&
    ((line.starts_at === null && "starts_at" in plan.set) || (line.ends_at === null && "ends_at" in plan.set))
  )
}

type Sent = Pick<Input, "settings" | "now"> & {
  readonly values: Partial<ValuesOf<typeof dateFields & typeof seenFields>> & {
    readonly lines?: WhichLines | null
    readonly parts?: ReadonlyArray<PartAsked> | null
  }
}

/** Times at which lines demand goods after the change but did not before. */
const addedTimes = (before: Opportunity, after: Opportunity, { now, settings }: Sent): ReadonlyArray<AddedTime> => {
  const was = new Map(linesTakingStock(before, demandSettings(settings, now)).map((line) => [line.id, line]))
  return linesTakingStock(after, demandSettings(settings, now)).flatMap(
    ({ ends_at, id, product_id, starts_at, store_id }) => {
      const earlier = was.get(id)
      if (earlier === undefined) return []
      return [
        ...(ends_at > earlier.ends_at ? [{ product_id, store_id, starts_at: earlier.ends_at, ends_at }] : []),
        ...(starts_at < earlier.starts_at ? [{ product_id, store_id, starts_at, ends_at: earlier.starts_at }] : [])
      ]
    }
  )
}

/** Loads the facts of an extension in a fixed number of queries, whatever the number of lines. */
export const extensionFacts = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Sent
): CommandRuntime.Reads<ExtensionFacts> {
  const of = { opportunity_id: header.id }
  const lines = yield* Store.find(opportunity_items, { ...of, is_live: true })
  const units = yield* Store.find(asset_assignments, of)
  const before: Opportunity = { header, lines, units, costs: [] }
  const asked = input.values.parts ?? []
  const which = input.values.lines ?? (asked.length > 0 ? "keep" : "follow")
  const of_parts = asked.map((part) => part.opportunity_item_id)
  const plan = planExtension(
    before,
    input.values,
    asked.length === 0 ? which : [...(Array.isArray(which) ? which : []), ...of_parts]
  )
  const parts = asked.length === 0 ? {} : { parts: { asked, sent: input } }
  if (Result.isFailure(plan)) return { state: yield* loadDecisionState(header, input), plan, promised: [], ...parts }
  const after = asPlanned(before, plan.success)
  const state = yield* loadDecisionState(header, input, {
    stock: true,
    lines: linesTakingStock(after, demandSettings(input.settings, input.now)),
    rated_product_ids: [...new Set(lines.flatMap((line) => line.item_id ?? []))]
  })
  const promised = yield* loadPromised(header.id, state.snapshots ?? new Map(), addedTimes(before, after, input))
  return { state: yield* withOwed(state, input.settings), plan, promised, ...parts }
})
