/**
 * Splits lines of an order: a part that comes back early, or stays longer, gets a line of its own, priced for its dates
 * at the rate of its line (rules/opportunities 4.5).
 */
import { Result } from "effect"
import { changedColumns, invalid, reject, unstamped } from "../../../kernel/index.ts"
import type { DecideContext, NewEvent, Rejection } from "../../../kernel/index.ts"
import { exact, formatDecimal, roundHalfAway } from "../../../values/decimal.ts"
import { allocateMoney } from "../../../values/money.ts"
import { lineAdded, lineChanged, unitChanged } from "../events/lines.ts"
import { headerPriced } from "../events/money.ts"
import type { PartAsked } from "./plan.ts"
import { demandSettings, inActiveVersion, nextPath, parentPath, partsOfLine, priceOne, roomOf } from "../state/index.ts"
import { stockedProductOf, takesRoom, unitsOf, withHeader, withLine } from "../state/index.ts"
import type { DecisionState, Opportunity } from "../state/index.ts"
import { opportunity_items, order, sale_line, type AssignmentRow, type ItemRow } from "../tables/index.ts"

/** A part of a line, or all of it. `field`: its place in the body. */
export interface Part {
  readonly line: ItemRow
  readonly quantity: string
  readonly units: ReadonlyArray<AssignmentRow>
  readonly field: string
}
type Dates = Partial<Pick<ItemRow, "starts_at" | "ends_at">>

const hundredths = (quantity: string): number => exact(quantity).times(100).toNumber()
const less = (quantity: string, part: string): string => formatDecimal(exact(quantity).minus(exact(part)), 2)
const isWhole = ({ line, quantity }: Pick<Part, "line" | "quantity">): boolean =>
  exact(quantity).equals(exact(line.quantity))

// Parts as requested.

/** 422 unless the opportunity is an order: on a quotation, quantity and dates of its lines are changed instead. */
const requireOrder = ({ header }: Opportunity): Result.Result<void, Rejection> =>
  header.state === order
    ? Result.succeed(undefined)
    : reject("state", "Only lines of an order are split; change quantities and dates of a quotation's lines.")

/** The line of a requested part; 422 for one that cannot be split. */
const lineOfPart = (
  { header, lines }: Opportunity,
  { opportunity_item_id }: PartAsked,
  field: string
): Result.Result<ItemRow, Rejection> =>
  Result.gen(function* () {
    const line = lines.find(({ id }) => id === opportunity_item_id)
    const at = `${field}.opportunity_item_id`
    if (line === undefined)
      return yield* reject(at, `${header.number ?? `Opportunity ${header.id}`} has no line ${opportunity_item_id}.`)
    yield* inActiveVersion(line)
    if (stockedProductOf(line) === null) return yield* reject(at, `${line.name} takes nothing from stock.`)
    if (line.transaction_type === sale_line) return yield* reject(at, `${line.name} is sold, not hired out.`)
    return line
  })

/** Units of a part: the named ones; without names all units of a whole line, else those for which `isMeant` is true. */
const unitsOfPart = (
  state: DecisionState,
  line: ItemRow,
  { asset_ids }: PartAsked,
  { field, isMeant, quantity }: { readonly field: string; readonly quantity: string; readonly isMeant: IsMeant }
): Result.Result<ReadonlyArray<AssignmentRow>, Rejection> => {
  const own = unitsOf(state.opportunity, line.id)
  if (asset_ids === undefined || asset_ids === null)
    return Result.succeed(isWhole({ line, quantity }) ? own : own.filter(isMeant))
  const errors: { [name: string]: ReadonlyArray<string> } = {}
  for (const [at, id] of asset_ids.entries())
    if (asset_ids.indexOf(id) !== at) errors[`${field}.asset_ids.${at}`] = ["The unit is listed twice."]
    else if (!own.some((unit) => unit.id === id))
      errors[`${field}.asset_ids.${at}`] = [`${line.name} has no such unit; name its own.`]
  return Object.keys(errors).length > 0
    ? Result.fail(invalid(errors))
    : Result.succeed(own.filter(({ id }) => asset_ids.includes(id)))
}
type IsMeant = (unit: AssignmentRow) => boolean

/** 422 unless the units are those of the quantity, for the line's product and each tracked part of its kit. */
const requireUnitsOf = (
  state: DecisionState,
  { field, line, quantity, units }: Part,
  is_complete: boolean,
  context: Pick<DecideContext, "now" | "settings">
): Result.Result<void, Rejection> => {
  const settings = demandSettings(context.settings, context.now)
  const product_id = line.item_id ?? 0
  const own = state.stocked.get(product_id)
  const tracked = [...(own?.is_serialised === true ? [product_id] : []), ...partsOfLine(state, line, settings).keys()]
  const of = (all: ReadonlyArray<AssignmentRow>, id: number): number =>
    all.filter((unit) => takesRoom(unit) && (state.levels.get(unit.stock_level_id)?.product_id ?? product_id) === id)
      .length
  for (const id of tracked) {
    const name = state.stocked.get(id)?.name ?? line.name
    const all = of(unitsOf(state.opportunity, line.id), id)
    const [room, rest] = [quantity, less(line.quantity, quantity)].map((one) =>
      roomOf(state, { ...line, quantity: one }, id, settings)
    )
    const named = of(units, id)
    const has_some = all > 0 || is_complete
    if (has_some && (named > (room ?? 0) || all - named > (rest ?? 0) || (is_complete && named < (room ?? 0))))
      return reject(
        `${field}.asset_ids`,
        `${name} is tracked unit by unit: name the ${room} of this part (${named} are named or known).`
      )
  }
  return Result.succeed(undefined)
}

/**
 * Checks the parts of a request. `isMeant`: units that belong to a part without being named; `is_complete`: every unit
 * of a part must be known, as for goods that come back.
 */
export const partsOf = (
  state: DecisionState,
  asked: ReadonlyArray<PartAsked>,
  about: { readonly name: string; readonly isMeant: IsMeant; readonly is_complete: boolean },
  context: Pick<DecideContext, "now" | "settings">
): Result.Result<ReadonlyArray<Part>, Rejection> =>
  Result.gen(function* () {
    const { is_complete, isMeant, name } = about
    yield* requireOrder(state.opportunity)
    const parts: Array<Part> = []
    for (const [at, one] of asked.entries()) {
      const field = `${name}.${at}`
      const line = yield* lineOfPart(state.opportunity, one, field)
      if (parts.some((part) => part.line.id === line.id))
        return yield* reject(`${field}.opportunity_item_id`, `${line.name} is named twice; name its part once.`)
      const named = one.asset_ids?.length
      const quantity = one.quantity ?? (named === undefined ? line.quantity : formatDecimal(named, 2))
      if (exact(quantity).greaterThan(exact(line.quantity)))
        return yield* reject(
          `${field}.quantity`,
          `${line.name}: the line has ${Number(line.quantity)}; ${Number(quantity)} are no part of it.`
        )
      const units = yield* unitsOfPart(state, line, one, { field, isMeant, quantity })
      yield* requireUnitsOf(state, { line, quantity, units, field }, is_complete, context)
      parts.push({ line, quantity, units, field })
    }
    return parts
  })

// The split.

/** A line before, what stays on it, and the new line of its part; without a new line, all of it is the part. */
export interface Split {
  readonly before: ItemRow
  readonly rest: ItemRow | undefined
  readonly part: ItemRow
  readonly units: ReadonlyArray<AssignmentRow>
}

/** Moves quantity, price and discount of a part to a new line with the same dates; both add up to the line's. */
export const splitLine = (
  opportunity: Opportunity,
  { line: { id: line_id }, quantity, units }: Part,
  moved: Pick<ItemRow, "dispatched_quantity" | "returned_quantity">,
  context: DecideContext
): Result.Result<{ readonly opportunity: Opportunity; readonly split: Split } | undefined, Rejection> =>
  Result.gen(function* () {
    const before = opportunity.lines.find(({ id }) => id === line_id)
    if (before === undefined) return undefined
    if (isWhole({ line: before, quantity }))
      return { opportunity, split: { before, rest: undefined, part: before, units } }
    const weights = [hundredths(quantity), hundredths(less(before.quantity, quantity))]
    const shares = (amount: number): readonly [part: number, rest: number] => {
      const [part = 0, rest = 0] = allocateMoney(amount, weights)
      return [part, rest]
    }
    const amounts = { discounted_total: shares(before.discounted_total), rule_discount: shares(before.rule_discount) }
    const manual = before.manual_total === null ? undefined : shares(before.manual_total)
    const part: ItemRow = {
      ...before,
      ...unstamped,
      ...moved,
      id: context.id(opportunity_items),
      path: yield* nextPath(opportunity.lines, before.item_type, parentPath(before.path)),
      quantity: formatDecimal(exact(quantity), 2),
      manual_total: manual?.[0] ?? null,
      discounted_total: amounts.discounted_total[0],
      rule_discount: amounts.rule_discount[0],
      on_order_quantity: "0.00",
      // Billing counts a part with the line it was split from; discount rules of that line's day still apply.
      origin_item_id: before.origin_item_id ?? before.id,
      first_made_at: before.first_made_at ?? before.created_at
    }
    const rest: ItemRow = {
      ...before,
      quantity: less(before.quantity, quantity),
      dispatched_quantity: less(before.dispatched_quantity, moved.dispatched_quantity),
      returned_quantity: less(before.returned_quantity, moved.returned_quantity),
      manual_total: manual?.[1] ?? null,
      discounted_total: amounts.discounted_total[1],
      rule_discount: amounts.rule_discount[1]
    }
    const ids = new Set(units.map(({ id }) => id))
    return {
      opportunity: {
        ...opportunity,
        lines: [...opportunity.lines.map((line) => (line.id === before.id ? rest : line)), part],
        units: opportunity.units.map((unit) => (ids.has(unit.id) ? { ...unit, opportunity_item_id: part.id } : unit))
      },
      split: { before, rest, part, units }
    }
  })

/**
 * Columns of a line at other dates, at its own rate: where today's price for its present dates is another one than
 * agreed, the agreed one changes in proportion.
 */
const atDates = (
  state: DecisionState,
  line: ItemRow,
  dates: Dates
): Result.Result<Pick<ItemRow, "discounted_total" | "rule_discount"> & Dates, Rejection> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const priced = (row: ItemRow) => Result.mapError(priceOne(state, header, row), invalid)
    const today = (yield* priced(line)).discounted_total ?? 0
    const then = (yield* priced({ ...line, ...dates })).discounted_total ?? 0
    const ratio = (amount: number, of: number, by: number): number =>
      by === 0 ? amount : roundHalfAway(exact(amount).times(of).dividedBy(by)).toNumber()
    const discounted_total = line.discounted_total === today ? then : ratio(line.discounted_total, then, today)
    return {
      ...dates,
      discounted_total,
      rule_discount: ratio(line.rule_discount, discounted_total, line.discounted_total)
    }
  })

/** The opportunity with the part at its dates. Discounts that are kept under a lock shrink with the part's. */
export const withPartAt = (
  state: DecisionState,
  opportunity: Opportunity,
  part: ItemRow,
  dates: Dates
): Result.Result<Opportunity, Rejection> =>
  Result.map(atDates(state, part, dates), (set) => {
    const { applied_discounts } = opportunity.header
    const amounts = applied_discounts.map(({ amount }) => Number(amount))
    const total = amounts.reduce((sum, amount) => sum + amount, 0) + set.rule_discount - part.rule_discount
    const parts = allocateMoney(Math.max(0, total), amounts)
    return set.rule_discount === part.rule_discount || amounts.length === 0
      ? withLine(opportunity, part.id, set)
      : withHeader(withLine(opportunity, part.id, set), {
          applied_discounts: applied_discounts.map((one, at) => ({ ...one, amount: parts[at] ?? 0 }))
        })
  })

/**
 * Events of splits: each line's own change, the new line, and its units. `after`: the opportunity with all prices;
 * `change`: before prices were recalculated.
 */
export const splitEvents = (
  { opportunity: { header } }: DecisionState,
  splits: ReadonlyArray<Split>,
  change: Opportunity,
  after: Opportunity
): ReadonlyArray<NewEvent> => {
  const rowIn = ({ lines }: Opportunity, row: ItemRow): ItemRow => lines.find(({ id }) => id === row.id) ?? row
  const discounts = changedColumns(
    { applied_discounts: header.applied_discounts },
    { applied_discounts: change.header.applied_discounts }
  )
  return [
    ...splits.flatMap(({ before, part, rest, units }) => {
      const { total } = rowIn(after, rest ?? part)
      if (rest === undefined) {
        const set = changedColumns(before, rowIn(change, part))
        return Object.keys(set).length === 0 ? [] : [lineChanged(before, "item_dates_changed", set, { total })]
      }
      const also = { part_item_id: part.id, part_quantity: part.quantity, total }
      return [
        lineChanged(before, "item_split", changedColumns(before, rowIn(change, rest)), also),
        lineAdded(rowIn(after, part)),
        ...units.map((unit) => unitChanged(unit, "asset_line_changed", { opportunity_item_id: part.id }))
      ]
    }),
    ...(Object.keys(discounts).length === 0 ? [] : [headerPriced(header.id, discounts)])
  ]
}
