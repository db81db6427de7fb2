/** Changing a line (rules/opportunities 7.3). */
import { Result } from "effect"
import { reject } from "../../../kernel/index.ts"
import type { AnyRow, DecideContext, Decided, JsonObject, Rejection, ValuesOf } from "../../../kernel/index.ts"
import { demandSettings, inActiveVersion, recalculate, roomOf, takesRoom, unitsOf, withLine } from "../state/index.ts"
import type { DecisionState, Opportunity, Warned } from "../state/index.ts"
import type { DemandSettings } from "../../availability/rules/line-demands.ts"
import { kindOfProduct, requireTransition, type ItemRow } from "../tables/index.ts"
import {
  type changeItemFields,
  manualPrice,
  sameCurrency,
  shortLineWarnings,
  unpricedWarnings,
  windowOf
} from "./decide.ts"
import { type LineChange, lineChanged } from "../events/lines.ts"

export type ChangeLine = Partial<ValuesOf<typeof changeItemFields>>
/** One event to record, with the columns it sets. */
type Step = readonly [event: LineChange, set: Partial<ItemRow>]
type Steps = Result.Result<ReadonlyArray<Step>, Rejection>
const none: Steps = Result.succeed([])

/** Fields that a group may not have, as it has no charge of its own. */
const charge_fields = [
  "quantity",
  "unit_price",
  "line_total",
  "discount_percent",
  "starts_at",
  "ends_at",
  "is_optional",
  "item_id",
  "itemable_type",
  "transaction_type",
  "charge_period"
] as const

const quantitySteps = (
  state: DecisionState,
  line: ItemRow,
  quantity: string | undefined,
  depth: DemandSettings
): Steps => {
  if (quantity === undefined) return none
  const { levels, opportunity } = state
  const by_product = Map.groupBy(
    unitsOf(opportunity, line.id).filter(takesRoom),
    (unit) => levels.get(unit.stock_level_id)?.product_id ?? line.item_id ?? 0
  )
  for (const [product_id, { length }] of by_product)
    if (product_id === line.item_id || !state.stocked.has(line.item_id ?? 0)) {
      if (Number(quantity) < length)
        return reject("quantity", `${length} units are allocated to the line; release some first.`)
    } else if (roomOf(state, { ...line, quantity }, product_id, depth) < length)
      return reject(
        "quantity",
        `${length} units of ${state.stocked.get(product_id)?.name ?? "a part"} are allocated to its kits; ` +
          "release some first."
      )
  if (Number(quantity) < Number(line.dispatched_quantity))
    return reject("quantity", `${Number(line.dispatched_quantity)} were dispatched already.`)
  return Result.succeed([["item_quantity_changed", { quantity }]])
}

const windowSteps = ({ header }: Opportunity, sent: ChangeLine, now: string): Steps => {
  const window = windowOf(header, sent, now)
  return window.ends_at !== null && window.ends_at < window.starts_at
    ? reject("ends_at", "The ends at field must be a date after or equal to starts at.")
    : Result.succeed([["item_dates_changed", window]])
}

/** Replaces the product of a line. The name sent, or else the existing one, is kept with it. */
const substitutionSteps = ({ opportunity, products }: DecisionState, line: ItemRow, sent: ChangeLine): Steps => {
  if (line.item_type === "text") return reject("item_id", "A text line stands for no product.")
  if (unitsOf(opportunity, line.id).length > 0)
    return reject("item_id", "Units are allocated to the line; release them first.")
  if (Number(line.dispatched_quantity) > 0) return reject("item_id", "Units of the line were dispatched already.")
  const { item_id = null, itemable_type = null, name = line.name } = sent
  const kindOf = (id: number | null): number => kindOfProduct(id === null ? undefined : products.get(id))
  // A line of its product's kind gets the new product's kind.
  const follows = line.transaction_type === kindOf(line.item_id) && kindOf(item_id) !== kindOf(line.item_id)
  const kind = follows ? { transaction_type: kindOf(item_id) } : {}
  return Result.succeed([["item_substituted", { item_id, itemable_type, name, ...kind }]])
}

/** The request as events in a fixed order. `has`: the body contains the field, even as null. */
const stepsOf = (
  state: DecisionState,
  line: ItemRow,
  sent: ChangeLine,
  has: (name: keyof ChangeLine) => boolean,
  { now, settings }: Pick<DecideContext, "now" | "settings">
): Steps =>
  Result.gen(function* () {
    const { opportunity } = state
    const { description, discount_percent, is_optional, name, notes, unit_price } = sent
    const steps: Array<Step> = [...(yield* quantitySteps(state, line, sent.quantity, demandSettings(settings, now)))]
    if (unit_price !== undefined || sent.line_total !== undefined) {
      const { manual_total, ...price } = yield* manualPrice(sent, sent.quantity ?? line.quantity)
      const total = manual_total === line.manual_total ? {} : { manual_total }
      steps.push(["item_price_overridden", { ...price, ...total }])
    }
    if (discount_percent !== undefined) steps.push(["item_discount_set", { discount_percent }])
    if (has("starts_at") || has("ends_at")) steps.push(...(yield* windowSteps(opportunity, sent, now)))
    const { charge_period = line.charge_period, transaction_type } = sent
    if (is_optional !== undefined) steps.push(["item_optional_toggled", { is_optional }])
    if (has("item_id") || has("itemable_type")) steps.push(...(yield* substitutionSteps(state, line, sent)))
    else if (name !== undefined) steps.push(["item_renamed", { name }])
    if (transaction_type !== undefined || sent.charge_period !== undefined)
      steps.push([
        "item_kind_changed",
        { charge_period, ...(transaction_type === undefined ? {} : { transaction_type }) }
      ])
    if (description !== undefined || notes !== undefined) {
      const set = { description: description ?? line.description, notes: notes ?? line.notes }
      steps.push(["item_details_updated", set])
    }
    return steps
  })

/** Changes that do not affect prices. */
const isText = (event: LineChange): boolean => event === "item_renamed" || event === "item_details_updated"
const changesLine = (line: AnyRow, set: Partial<ItemRow>): boolean =>
  Object.entries(set).some(([name, value]) => line[name] !== value)

/** Applies the whole request or nothing. 422 on the field that cannot change. */
export const changeLine = (
  state: DecisionState,
  line: ItemRow,
  sent: ChangeLine,
  body: JsonObject,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* inActiveVersion(line)
    const has = (name: keyof ChangeLine): boolean => Object.hasOwn(body, name)
    const charge =
      line.item_type === "group" ? charge_fields.find((name) => has(name) && body[name] !== null) : undefined
    if (charge !== undefined) return yield* reject(charge, "A group carries no charge of its own.")
    yield* sameCurrency(opportunity.header, sent.currency)
    const steps = yield* stepsOf(state, line, sent, has, context)
    const changes = steps.filter(([, set]) => changesLine(line, set))
    // Sending a price field unchanged changes no column, yet reprices the line with the header's days and today's rates
    // (rules/opportunities 4).
    const reprices = steps.some(([event]) => !isText(event))
    if (changes.length === 0 && !reprices) return { events: [], result: { id: opportunity.header.id, warnings: [] } }
    const after = withLine(opportunity, line.id, Object.assign({}, ...changes.map(([, set]) => set)))
    const recalculated = yield* recalculate(
      state,
      after,
      reprices ? { priced: [line.id], demanded: [line.id] } : { totals: false },
      context
    )
    const total = recalculated.opportunity.lines.find(({ id }) => id === line.id)?.total ?? line.total
    return {
      events: [
        ...changes.map(([event, set]) => lineChanged(line, event, set, isText(event) ? {} : { total })),
        ...recalculated.events
      ],
      result: {
        id: opportunity.header.id,
        warnings: reprices
          ? [
              ...shortLineWarnings(state, recalculated.short, [line.id]),
              ...unpricedWarnings(state, recalculated.opportunity, line.id)
            ]
          : []
      }
    }
  })
