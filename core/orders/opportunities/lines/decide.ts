/** Rules for adding and removing lines (rules/opportunities 7.2, 7.4), and bodies of requests for lines. */
import { Result } from "effect"
import type { LineShortage } from "../../availability/rules/line.ts"
import { demands } from "../../demands/schema.ts"
import { boolean, choice, code, decimal, initialRow, integer, json, longText, money } from "../../../kernel/index.ts"
import { notFound, ref, reject, text, timestamp, unstamped } from "../../../kernel/index.ts"
import type { DecideContext, Decided, JsonObject, Rejection, ValuesOf } from "../../../kernel/index.ts"
import type { AccessoryRow } from "../../../products/kits/schema.ts"
import type { ProductRow } from "../../../products/products/schema.ts"
import { exact, formatDecimal, truncateAt, wholeUnits } from "../../../values/decimal.ts"
import { formatMoney } from "../../../values/money.ts"
import { plusDays } from "../../../values/time.ts"
import { comesToNothing, isBelow, isTold, liveLines, nextPath, pricingRequestOf, recalculate } from "../state/index.ts"
import { shortageText, unitsOf, type DecisionState, type Opportunity, type Warned } from "../state/index.ts"
import { lineAdded } from "../events/lines.ts"
import { charge_period_labels, item_types, kindOfProduct, line_quantity_max, quantity } from "../tables/index.ts"
import { opportunity_items, rental_line, requireTransition, sale_line } from "../tables/index.ts"
import { transaction_type_labels, type ItemRow, type ItemType, type OpportunityRow } from "../tables/index.ts"
import { shareOf } from "../../../pricing/pricing/line.ts"

// Bodies of requests for lines.

const percent = { scale: 2, min: "0", max: "100" } as const
const currency = () => text({ nullable: true, max: 3, format: "currency" })

const by_day = "Manual price of one; per day for rentals not charged once"
const whole_line = "Manual price of the whole line before discount, instead of unit_price"
const fixed_price = "With Fixed, a manual price is charged once, not per day"
export const addItemFields = {
  item_type: choice(item_types, { default: "product", any_case: true }),
  name: text({ required: true }),
  item_id: ref("products", { nullable: true }),
  /** Alias of `item_id`. */
  itemable_id: ref("products", { nullable: true }),
  itemable_type: text({ nullable: true }),
  parent_path: text({ nullable: true }),
  principal_item_id: integer({ nullable: true, names: "opportunity_items" }),
  quantity: decimal({ ...quantity, default: "1.00" }),
  transaction_type: code(transaction_type_labels, {
    nullable: true,
    describe: "Type of the line; default: by the product"
  }),
  charge_period: code(charge_period_labels, { default: 1, describe: fixed_price }),
  store_id: ref("stores", { nullable: true, describe: "Store; must be the opportunity's" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean({ default: false }),
  discount_percent: decimal({ ...percent, nullable: true }),
  unit_price: money({ currency: "currency_code", nullable: true, describe: by_day }),
  line_total: money({ currency: "currency_code", nullable: true, describe: whole_line }),
  currency: currency(),
  revenue_group_id: ref("revenue_groups", { nullable: true }),
  description: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} }),
  materialize_included_accessories: boolean({ default: true })
}

export const changeItemFields = {
  quantity: decimal(quantity),
  unit_price: money({ currency: "currency_code", nullable: true, on_null: "clear", describe: by_day }),
  line_total: money({ currency: "currency_code", nullable: true, on_null: "clear", describe: whole_line }),
  currency: currency(),
  discount_percent: decimal({ ...percent, nullable: true, on_null: "clear" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean(),
  transaction_type: code(transaction_type_labels),
  charge_period: code(charge_period_labels, { describe: fixed_price }),
  item_id: ref("products", { nullable: true, on_null: "clear" }),
  itemable_type: text({ nullable: true, on_null: "clear" }),
  name: text({ required: true, on_null: "reject" }),
  description: longText({ nullable: true, on_null: "clear" }),
  notes: longText({ nullable: true, on_null: "clear" })
}

type AddLine = Partial<ValuesOf<typeof addItemFields>>
interface AddFacts {
  readonly state: DecisionState
  /** Accessories included with the product, in order. */
  readonly included: ReadonlyArray<AccessoryRow>
}

/**
 * A line's own window: the dates sent, else the opportunity's, else one day from now (rules/opportunities 7.2). Without
 * an end sent, it is open-ended if the opportunity has a start and no end, and takes stock without limit.
 */
export const windowOf = (
  header: OpportunityRow,
  sent: { readonly starts_at?: string | null; readonly ends_at?: string | null },
  now: string
): { readonly starts_at: string; readonly ends_at: string | null } => {
  const starts_at = sent.starts_at ?? header.starts_at ?? now
  if (header.starts_at !== null && header.ends_at === null) return { starts_at, ends_at: sent.ends_at ?? null }
  const default_end = header.ends_at !== null && header.ends_at >= starts_at ? header.ends_at : undefined
  return { starts_at, ends_at: sent.ends_at ?? default_end ?? plusDays(starts_at, 1) }
}
/** 422 on `currency` if a price is sent in another currency than the opportunity's. */
export const sameCurrency = (
  header: OpportunityRow,
  currency: string | null | undefined
): Result.Result<void, Rejection> =>
  currency === undefined || currency === null || currency === header.currency_code
    ? Result.succeed(undefined)
    : reject("currency", `The opportunity is in ${header.currency_code}; its prices are too.`)

/** A manual price, per unit or for the line; nulls if a rate decides. 422 on `line_total` with both or quantity 0. */
export const manualPrice = (
  sent: { readonly unit_price?: number | null; readonly line_total?: number | null },
  quantity: string
): Result.Result<Pick<ItemRow, "manual_unit_price" | "manual_total">, Rejection> => {
  const { line_total = null, unit_price = null } = sent
  if (line_total === null) return Result.succeed({ manual_unit_price: unit_price, manual_total: null })
  if (unit_price !== null) return reject("line_total", "Send the price of one or the total of the line, not both.")
  if (wholeUnits(quantity) === 0) return reject("line_total", "A line of nothing has no total.")
  return Result.succeed({ manual_unit_price: shareOf(line_total, quantity), manual_total: line_total })
}

const blankLine = (header: OpportunityRow, context: DecideContext): ItemRow => ({
  ...initialRow(opportunity_items),
  ...unstamped,
  id: context.id(opportunity_items),
  opportunity_id: header.id,
  version_id: header.active_version_id === 0 ? null : header.active_version_id,
  currency_code: header.currency_code
})

/** The line of a request, without price and path. */
const newLine = (state: DecisionState, sent: AddLine, context: DecideContext): Result.Result<ItemRow, Rejection> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const type: ItemType = sent.item_type ?? "product"
    const blank = { ...blankLine(header, context), item_type: type, name: sent.name ?? "" }
    if (type === "group") return { ...blank, custom_fields: sent.custom_fields ?? {} }
    yield* sameCurrency(header, sent.currency)
    if (typeof sent.store_id === "number" && sent.store_id !== header.store_id)
      return yield* reject("store_id", "Lines take stock of their opportunity's store; allocate units of another one.")
    const item_id = type === "text" ? null : (sent.item_id ?? sent.itemable_id ?? null)
    const catalogued = {
      item_id,
      itemable_type: item_id === null ? null : (sent.itemable_type ?? null),
      quantity: sent.quantity ?? "1.00"
    }
    const kind = kindOfProduct(item_id === null ? undefined : state.products.get(item_id))
    if (type === "accessory") {
      // Accessories added after a deal price was agreed are free (rules/opportunities 7.2).
      const manual_unit_price = header.deal_total === null ? null : 0
      return {
        ...blank,
        ...catalogued,
        ...windowOf(header, {}, context.now),
        manual_unit_price,
        transaction_type: kind,
        revenue_group_id: revenueGroup(state, item_id, kind)
      }
    }
    const window = windowOf(header, sent, context.now)
    if (window.ends_at !== null && window.ends_at < window.starts_at)
      return yield* reject("ends_at", "The ends at field must be a date after or equal to starts at.")
    const transaction_type = sent.transaction_type ?? kind
    return {
      ...blank,
      ...catalogued,
      ...window,
      transaction_type,
      charge_period: sent.charge_period ?? 1,
      is_optional: sent.is_optional ?? false,
      discount_percent: sent.discount_percent ?? null,
      ...(yield* manualPrice(sent, sent.quantity ?? "1.00")),
      revenue_group_id: sent.revenue_group_id ?? revenueGroup(state, item_id, transaction_type),
      description: sent.description ?? null,
      notes: sent.notes ?? null,
      custom_fields: sent.custom_fields ?? {}
    }
  })
const revenueGroup = (state: DecisionState, item_id: number | null, transaction_type: number): number | null => {
  const product: ProductRow | undefined = item_id === null ? undefined : state.products.get(item_id)
  return (transaction_type === sale_line ? product?.sale_revenue_group_id : product?.rental_revenue_group_id) ?? null
}

/** The path of a new line: accessories below their principal line, others as requested. */
const placeOf = (opportunity: Opportunity, type: ItemType, sent: AddLine): Result.Result<string, Rejection> => {
  const lines = liveLines(opportunity)
  if (type !== "accessory") return nextPath(lines, type, sent.parent_path ?? null)
  if (sent.principal_item_id === undefined || sent.principal_item_id === null)
    return reject("principal_item_id", "The principal item field is required.")
  const principal = lines.find((line) => line.id === sent.principal_item_id)
  if (principal === undefined) return Result.fail(notFound("No such opportunity item."))
  if (principal.item_type !== "product")
    return reject("principal_item_id", "The principal item must be a product line.")
  return nextPath(lines, type, principal.path)
}

/** Lines for a product's included accessories, one level deep, with the terms of its line (rules/opportunities 7.2). */
const includedLines = (
  state: DecisionState,
  principal: ItemRow,
  included: ReadonlyArray<AccessoryRow>,
  context: DecideContext
): ReadonlyArray<ItemRow> =>
  included.flatMap((accessory, index) => {
    const product = state.products.get(accessory.accessory_product_id)
    if (product === undefined || product.deleted_at !== null) return []
    // Accessories of hired goods may be for sale, like fluid for a fog machine.
    const transaction_type =
      principal.transaction_type === rental_line ? kindOfProduct(product) : principal.transaction_type
    return [
      {
        ...blankLine(state.opportunity.header, context),
        item_type: "accessory" as const,
        item_id: product.id,
        name: product.name,
        path: `${principal.path}${String(index + 1).padStart(4, "0")}`,
        quantity: formatDecimal(truncateAt(exact(accessory.quantity).times(exact(principal.quantity)), 2), 2),
        starts_at: principal.starts_at,
        ends_at: principal.ends_at,
        transaction_type,
        charge_period: principal.charge_period,
        is_optional: principal.is_optional,
        manual_unit_price: accessory.zero_priced ? 0 : null,
        revenue_group_id: revenueGroup(state, product.id, transaction_type)
      }
    ]
  })

/** Warnings for short lines, unless the store's policy is to allow them (rules/opportunities 9.5). */
export const shortLineWarnings = (
  state: DecisionState,
  short: ReadonlyArray<LineShortage>,
  line_ids: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const own = short.filter((one) => line_ids.includes(one.opportunity_item_id) && one.remaining_shortfall > 0)
  return own.length === 0 || !isTold(state) ? [] : [shortageText(own)]
}

/** Warning if the line costs nothing, has no rate, and no price of 0 was set by hand; else empty. */
export const unpricedWarnings = (
  state: DecisionState,
  { header, lines }: Opportunity,
  line_id: number
): ReadonlyArray<string> =>
  lines.flatMap((line) => {
    if (line.id !== line_id || !comesToNothing(line)) return []
    const { rate, request } = pricingRequestOf(state, header, line)
    return request.rate !== null
      ? []
      : [
          `${line.name} comes out at ${formatMoney(0, header.currency_code)}: ` +
            (rate === null ? "it has no product. " : `no ${rate.question.transaction_type} rate holds for it here. `) +
            "Set a unit price, 0 where it is free."
        ]
  })

const bringsAccessories = (type: ItemType, item_id: number | null, sent: AddLine): boolean =>
  type === "product" && item_id !== null && sent.materialize_included_accessories !== false
/**
 * Ids that `addLine` uses, so that it mostly runs once: of its lines, and one for the demand of each with plain goods.
 * None if the opportunity cannot be edited.
 */
export const idsOfLines = (
  { included, state: { opportunity, products, stocked } }: AddFacts,
  sent: AddLine
): ReadonlyArray<readonly [typeof demands | typeof opportunity_items, number]> => {
  if (Result.isFailure(requireTransition(opportunity.header, "edit"))) return []
  const type = sent.item_type ?? "product"
  const item_id = sent.item_id ?? sent.itemable_id ?? null
  const isLive = (id: number): boolean => products.get(id)?.deleted_at === null
  const accessories = bringsAccessories(type, item_id, sent)
    ? included.map((one) => one.accessory_product_id).filter(isLive)
    : []
  const goods = [...(type === "product" || type === "accessory" ? [item_id ?? 0] : []), ...accessories]
  const plain = goods.filter((id) => stocked.get(id)?.is_kit === false && products.get(id)?.product_type !== "service")
  return [
    [opportunity_items, 1 + accessories.length],
    [demands, opportunity.header.store_id === null ? 0 : plain.length]
  ]
}

export const addLine = ({ state, included }: AddFacts, sent: AddLine, context: DecideContext): Decided<Warned> =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    const type = sent.item_type ?? "product"
    const line = { ...(yield* newLine(state, sent, context)), path: yield* placeOf(opportunity, type, sent) }
    const accessories = bringsAccessories(type, line.item_id, sent) ? includedLines(state, line, included, context) : []
    const too_many = accessories.find(({ quantity }) => Number(quantity) > line_quantity_max)
    if (too_many !== undefined)
      return yield* reject(
        "quantity",
        `${too_many.quantity} ${too_many.name} would come along, which is too many. Lower the quantity.`
      )
    const ids = [line, ...accessories].map(({ id }) => id)
    const recalculated = yield* recalculate(
      state,
      { ...opportunity, lines: [...opportunity.lines, line, ...accessories] },
      { priced: ids, demanded: ids },
      context
    )
    const added = recalculated.opportunity.lines.filter(({ id }) => ids.includes(id))
    return {
      events: [...added.map(lineAdded), ...recalculated.events],
      result: {
        id: opportunity.header.id,
        warnings: [
          ...shortLineWarnings(state, recalculated.short, ids),
          ...unpricedWarnings(state, recalculated.opportunity, line.id)
        ]
      }
    }
  })

/** The line and all lines below it. */
export const subtreeOf = (opportunity: Opportunity, line: ItemRow): ReadonlyArray<ItemRow> => [
  ...opportunity.lines.filter(
    (one) => one.is_live === line.is_live && one.version_id === line.version_id && isBelow(one.path, line.path)
  ),
  line
]

/** 422 on `item` if a line has allocated units or was dispatched. */
export const removable = (opportunity: Opportunity, lines: ReadonlyArray<ItemRow>): Result.Result<void, Rejection> => {
  for (const line of lines) {
    if (unitsOf(opportunity, line.id).length > 0)
      return reject("item", `${line.name}: units are allocated to the line; release them first.`)
    if (Number(line.dispatched_quantity) > 0)
      return reject("item", `${line.name}: units of the line were dispatched already.`)
  }
  return Result.succeed(undefined)
}
