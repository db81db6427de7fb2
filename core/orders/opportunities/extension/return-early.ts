/** Goods that come back before their line ends are checked in, and charged until then (rules/opportunities 4.5). */
import { Result } from "effect"
import { reject, type DecideContext, type Decided, type NewEvent, type Rejection } from "../../../kernel/index.ts"
import { exact, formatDecimal } from "../../../values/decimal.ts"
import { formatMoney } from "../../../values/money.ts"
import { isInFuture } from "../../../values/time.ts"
import { lineChanged } from "../events/lines.ts"
import type { PartAsked, returnedResult } from "./plan.ts"
import { type Part, partsOf, type Split, splitEvents, splitLine, withPartAt } from "./split.ts"
import { promoted, recalculate, withLine, type DecisionState, type Opportunity } from "../state/index.ts"
import { checked_in, requireTransition, type AssignmentRow, type ItemRow } from "../tables/index.ts"
import { allocatedCountChanged } from "../units/decide.ts"
import { checking, returning, stepUnits } from "../units/lifecycle.ts"

interface EarlyReturn {
  readonly items: ReadonlyArray<PartAsked>
  readonly returned_at: string | null
  readonly received_by: number | null
  readonly return_store_id: number | null
  /** Condition of goods that are checked at once; null if they are checked later. */
  readonly condition: number | null
  readonly damage_notes: string | null
  /** Whether bulk goods were checked in before, and are only charged until then. */
  readonly already_back: boolean
}
const isBack = ({ status }: AssignmentRow): boolean => status >= checked_in
const sum = (one: string, other: string): string => formatDecimal(exact(one).plus(exact(other)), 2)

/** When a part came back: the time sent, the last check-in of units that are back already, or now. */
const returnedAt = ({ units }: Part, { returned_at }: EarlyReturn, context: DecideContext): string =>
  returned_at ??
  (units.length > 0 && units.every(isBack)
    ? units.reduce((last, unit) => ((unit.returned_at ?? "") > last ? (unit.returned_at ?? "") : last), "")
    : context.happened_at)

/** 422 on `returned_at` for a time in the future, or not before the line's end. */
const requireEarly = (
  { header }: Opportunity,
  { line }: Part,
  at: string,
  now: string
): Result.Result<void, Rejection> => {
  const ends_at = line.ends_at ?? header.ends_at
  if (isInFuture(at, now)) return reject("returned_at", "The returned at field must not be in the future.")
  return ends_at === null || at < ends_at
    ? Result.succeed(undefined)
    : reject(
        "returned_at",
        `${line.name} is hired until ${ends_at}, so nothing of it is back early at ${at}; check it in, ` +
          "and extend the part that stayed longer."
      )
}

/**
 * Bulk quantity to check in for the part; "0.00" if tracked by units alone, or with `already_back`. 422 if more than is
 * out, or with `already_back` more than came back.
 */
const countedIn = (
  state: DecisionState,
  { field, line, quantity, units }: Part,
  already_back: boolean
): Result.Result<string, Rejection> => {
  const is_serialised = state.stocked.get(line.item_id ?? 0)?.is_serialised === true
  const out = exact(line.dispatched_quantity).minus(exact(line.returned_quantity))
  if (is_serialised || (units.length > 0 && exact(line.dispatched_quantity).isZero())) return Result.succeed("0.00")
  if (!already_back)
    return exact(quantity).greaterThan(out)
      ? reject(`${field}.quantity`, `${line.name}: ${out.toNumber()} are out; no more can come back.`)
      : Result.succeed(quantity)
  return exact(quantity).greaterThan(exact(line.returned_quantity))
    ? reject(`${field}.quantity`, `${line.name}: ${Number(line.returned_quantity)} came back until now.`)
    : Result.succeed("0.00")
}

/** The goods of all parts checked in, on the lines they went out on. */
const checkedIn = (
  state: DecisionState,
  parts: ReadonlyArray<Part>,
  sent: EarlyReturn,
  context: DecideContext
): Result.Result<
  { readonly opportunity: Opportunity; readonly events: ReadonlyArray<NewEvent>; readonly counts: Map<number, number> },
  Rejection
> =>
  Result.gen(function* () {
    const { condition, damage_notes, received_by } = sent
    let { opportunity } = state
    const events: Array<NewEvent> = []
    const counts = new Map<number, number>()
    for (const part of parts) {
      const at = returnedAt(part, sent, context)
      yield* requireEarly(opportunity, part, at, context.now)
      const stepped = yield* stepUnits(
        { ...state, opportunity },
        part.units.filter((unit) => !isBack(unit)).map((unit) => ({ unit, field: `${part.field}.asset_ids` })),
        [
          returning(at, { received_by, return_store_id: sent.return_store_id }),
          ...(condition === null ? [] : [checking(at, { condition, checked_by: received_by, damage_notes })])
        ]
      )
      events.push(...stepped.events)
      for (const [id, by] of stepped.counts) counts.set(id, (counts.get(id) ?? 0) + by)
      opportunity = stepped.opportunity
      const quantity = yield* countedIn(state, part, sent.already_back)
      if (exact(quantity).isZero()) continue
      const returned_quantity = sum(part.line.returned_quantity, quantity)
      const also = { quantity, received_by, condition, damage_notes }
      events.push(lineChanged(part.line, "bulk_returned", { returned_quantity }, also))
      opportunity = withLine(opportunity, part.line.id, { returned_quantity })
    }
    return { opportunity, events, counts }
  })

/** Every part on a line of its own that ends when it came back; units and quantities go along. */
const splitParts = (
  state: DecisionState,
  checked: Opportunity,
  parts: ReadonlyArray<Part>,
  sent: EarlyReturn,
  context: DecideContext
): Result.Result<{ readonly opportunity: Opportunity; readonly splits: ReadonlyArray<Split> }, Rejection> =>
  Result.gen(function* () {
    let opportunity = checked
    const splits: Array<Split> = []
    for (const part of parts) {
      const line = opportunity.lines.find(({ id }) => id === part.line.id) ?? part.line
      const is_counted = exact(line.dispatched_quantity).greaterThan(0)
      const moved = is_counted
        ? { dispatched_quantity: part.quantity, returned_quantity: part.quantity }
        : { dispatched_quantity: "0.00", returned_quantity: "0.00" }
      const found = yield* splitLine(opportunity, part, moved, context)
      if (found === undefined) continue
      const at = returnedAt(part, sent, context)
      const starts_at = line.starts_at ?? opportunity.header.starts_at
      const ends_at = starts_at !== null && at < starts_at ? starts_at : at
      opportunity = yield* withPartAt(state, found.opportunity, found.split.part, { ends_at })
      splits.push(found.split)
    }
    return { opportunity, splits }
  })

const warningsOf = (
  { opportunity: { header } }: DecisionState,
  splits: ReadonlyArray<Split>,
  after: Opportunity
): ReadonlyArray<string> => {
  const money = (minor: number): string => `${formatMoney(minor, header.currency_code)} ${header.currency_code}`
  const in_full = splits.filter(
    ({ part }) => after.lines.find(({ id }) => id === part.id)?.discounted_total === part.discounted_total
  )
  return [
    ...(in_full.length === 0
      ? []
      : [`Charged in full, as the price does not depend on time: ${in_full.map(({ part }) => part.name).join(", ")}.`]),
    ...(header.deal_total === null
      ? []
      : [`A deal price of ${money(header.deal_total)} is set, so the total stays; set another one or clear it.`]),
    ...(header.invoiced && after.header.charge_total < header.charge_total
      ? [
          "It is invoiced already: what is billed beyond its total now is its credit draft " +
            `(flightcase orders credit ${header.id}).`
        ]
      : [])
  ]
}

/**
 * Checks goods in and ends their charge at their return: part of a line becomes its own line, a whole line ends then.
 * 422: `state`, `items.N…`, `returned_at`.
 */
export const returnEarly = (
  state: DecisionState,
  sent: EarlyReturn,
  context: DecideContext
): Decided<typeof returnedResult.Type> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "edit")
    yield* requireTransition(header, "check_in")
    const parts = yield* partsOf(state, sent.items, { name: "items", isMeant: isBack, is_complete: true }, context)
    const checked = yield* checkedIn(state, parts, sent, context)
    const { opportunity: split, splits } = yield* splitParts(state, checked.opportunity, parts, sent, context)
    const change = promoted(split, false)
    const ids = splits.flatMap(({ before, part }) => [before.id, part.id])
    const recalculated = yield* recalculate(
      state,
      change.opportunity,
      { demanded: change.events.length > 0 ? "all" : [...new Set(ids)] },
      context
    )
    const after = recalculated.opportunity
    const totalOf = (row: ItemRow | undefined): number =>
      row === undefined ? 0 : (after.lines.find(({ id }) => id === row.id)?.total ?? 0)
    const money = (minor: number): string => formatMoney(minor, header.currency_code)
    return {
      events: [
        ...checked.events,
        ...splitEvents(state, splits, split, after),
        ...change.events,
        ...recalculated.events,
        ...allocatedCountChanged(state.levels, checked.counts)
      ],
      result: {
        id: header.id,
        returned: splits.map(({ before, part, rest }) => ({
          opportunity_item_id: before.id,
          part_item_id: part.id,
          quantity: part.quantity,
          charged_until: after.lines.find(({ id }) => id === part.id)?.ends_at ?? "",
          total_before: money(before.total),
          total_after: money(totalOf(rest) + totalOf(part))
        })),
        warnings: warningsOf(state, splits, after)
      }
    }
  })
