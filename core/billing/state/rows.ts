/**
 * Rows of a draft from a request, and billable rows of an opportunity: one for each charged line and cost, or one for a
 * deal price, with nets and taxes that add up exactly to its totals (rules/billing 1.3).
 */
import { Result } from "effect"
import { initialRow, isJsonObject, picked, sameJson, unstamped } from "../../kernel/index.ts"
import type { DecideContext, FieldErrors, Json, JsonObject } from "../../kernel/index.ts"
import type { CostRow, ItemRow, OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { exclusiveTax, resolveLockedTax, resolveTax, type TaxTable } from "../../pricing/pricing/line.ts"
import { netCost } from "../../pricing/pricing/totals.ts"
import type { ProductRow } from "../../products/products/schema.ts"
import { compareDecimals, exact, formatDecimal, roundHalfAway, wholeUnits } from "../../values/decimal.ts"
import { allocateMoney, parseMoney, sumMoney, timesMoney } from "../../values/money.ts"
import { groupKey, type GroupTax, priced, type RowTax, rowTax, type Taxable, taxedRows } from "./amounts.ts"
import type { Amounts } from "./credited.ts"
import type { SentItem } from "./fields.ts"
import { invoice_items, type InvoiceItemRow, type InvoiceRow } from "./tables.ts"

export interface ItemFacts {
  readonly products: ReadonlyMap<number, ProductRow>
  readonly tax: TaxTable
  /** The customer's tax class for sales; null if untaxed. */
  readonly customer_tax_class_id: number | null
}
/** The invoice of the rows, after the update. */
type ItemHeader = Pick<InvoiceRow, "id" | "currency_code" | "prices_include_tax">

const dated = (row: Pick<InvoiceItemRow, "starts_at" | "ends_at">): boolean =>
  row.starts_at === null || row.ends_at === null || row.ends_at >= row.starts_at
const amountColumns = ["quantity", "unit_price", "discount_percent"] as const
const taxColumns = ["tax_class_id", "tax_rate_id", "tax_rate"] as const
const sameIn = (one: InvoiceItemRow, other: InvoiceItemRow, names: ReadonlyArray<keyof InvoiceItemRow>): boolean =>
  names.every((name) => sameJson(one[name], other[name]))

/**
 * All rows of the draft in the order sent, with amounts and taxes. Existing rows keep omitted fields, and their rate
 * while the class is unchanged. `raw`: the rows as sent, to detect omitted fields. Errors are keyed
 * `items.<n>.<field>`.
 */
export const itemsFrom = (
  header: ItemHeader,
  sent: ReadonlyArray<SentItem>,
  raw: Json | undefined,
  stored: ReadonlyArray<InvoiceItemRow>,
  facts: ItemFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<InvoiceItemRow>, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unsent = new Map(stored.map((row) => [row.id, row]))
  const frozen = new Map(stored.map((row) => [row.tax_class_id, pickTax(row)]))
  const taxOf = (tax_class_id: number | null): RowTax =>
    frozen.get(tax_class_id) ?? rowTax(tax_class_id, resolveTax(facts.tax, facts.customer_tax_class_id, tax_class_id))
  const rows = sent.map((one, at): InvoiceItemRow => {
    const fail = (field: string, text: string): void => {
      errors[`items.${at}.${field}`] ??= [text]
    }
    const given = Array.isArray(raw) ? raw[at] : undefined
    const before = unsent.get(one.id ?? 0)
    const isUnknown = one.id !== null && before === undefined
    if (isUnknown) fail("id", "The invoice has no such row left; leave the id out to add one.")
    unsent.delete(before?.id ?? 0)
    const asked = merged(
      header,
      one,
      isJsonObject(given) ? given : {},
      before,
      facts,
      // An unknown row has one error; others would not help.
      isUnknown ? () => undefined : fail
    )
    const row: InvoiceItemRow = {
      ...asked,
      ...(before !== undefined && asked.tax_class_id === before.tax_class_id
        ? pickTax(before)
        : taxOf(asked.tax_class_id)),
      id: before?.id ?? context.id(invoice_items),
      sort_order: one.sort_order ?? at
    }
    if (!dated(row)) fail("ends_at", "The ends at field must be a date after or equal to starts at.")
    // Sending a row again does not change its agreed total.
    const amounts = before !== undefined && sameIn(row, before, amountColumns) ? row : priced(row)
    if (amounts === undefined) fail("unit_price", "The amount of the row is too large.")
    return { ...row, discount_amount: amounts?.discount_amount ?? 0 }
  })
  if (Object.keys(errors).length > 0) return Result.fail(errors)
  const known = new Map(stored.map((row) => [row.id, row]))
  return Result.succeed(taxedItems(header, rows, known))
}
const pickTax = ({ tax_class_id, tax_rate, tax_rate_id, tax_rate_name }: InvoiceItemRow): RowTax => ({
  tax_class_id,
  tax_rate,
  tax_rate_id,
  tax_rate_name
})

/** The rows with net, tax and total. `known`: stored rows, which keep agreed amounts if they are unchanged. */
export const taxedItems = (
  header: Pick<InvoiceRow, "prices_include_tax">,
  rows: ReadonlyArray<InvoiceItemRow>,
  known: ReadonlyMap<number, InvoiceItemRow>
): ReadonlyArray<InvoiceItemRow> => {
  const taxable = rows.map((row): Taxable => {
    const before = known.get(row.id)
    const same = before !== undefined && sameIn(row, before, amountColumns)
    const amount = same ? (header.prices_include_tax ? before.total : before.subtotal) : (priced(row)?.amount ?? 0)
    const stands = same && before.deposit_invoice_id !== null && sameIn(row, before, taxColumns)
    return { amount, tax: pickTax(row), ...(stands ? { fixed: { net: before.subtotal, tax: before.tax_total } } : {}) }
  })
  const taxed = taxedRows(taxable, header.prices_include_tax)
  return rows.map((row, at) => ({ ...row, ...taxed[at] }))
}

/** Columns a body can set: defaults for new rows, stored values for omitted fields of existing ones. */
const merged = (
  header: ItemHeader,
  sent: SentItem,
  given: JsonObject,
  before: InvoiceItemRow | undefined,
  facts: ItemFacts,
  fail: (field: string, text: string) => void
): InvoiceItemRow => {
  const product = sent.product_id === null ? undefined : facts.products.get(sent.product_id)
  const isNewProduct = product !== undefined && product.id !== before?.product_id
  const stays = (name: keyof SentItem): boolean => before !== undefined && !Object.hasOwn(given, name)
  const name = stays("name") && !isNewProduct ? before?.name : (sent.name ?? product?.name)
  if (name === undefined) fail("name", "The name field is required without a product.")
  const unit_price = readPrice(header, sent, before, fail)
  const own = <K extends "product_id" | "description" | "discount_percent" | "starts_at" | "ends_at">(column: K) =>
    before !== undefined && stays(column) ? before[column] : sent[column]
  const product_id = own("product_id")
  return {
    ...(before ?? newItem(header)),
    product_id,
    item_type: before !== undefined && product_id === before.product_id ? before.item_type : kindOf(product_id),
    name: name ?? "",
    description: own("description"),
    quantity: sent.quantity ?? (stays("quantity") ? before?.quantity : undefined) ?? "1.00",
    unit_price,
    discount_percent: own("discount_percent"),
    tax_class_id:
      sent.tax_class_id ??
      (before !== undefined && !isNewProduct
        ? before.tax_class_id
        : (product?.tax_class_id ?? facts.tax.default_product_tax_class_id)),
    revenue_group_id:
      sent.revenue_group_id ??
      (stays("revenue_group_id") && !isNewProduct ? (before?.revenue_group_id ?? null) : revenueGroupOf(product)),
    starts_at: own("starts_at"),
    ends_at: own("ends_at")
  }
}
const kindOf = (product_id: number | null): InvoiceItemRow["item_type"] => (product_id === null ? "custom" : "product")
const revenueGroupOf = (product: ProductRow | undefined): number | null =>
  (product?.product_type === "sale" ? product.sale_revenue_group_id : product?.rental_revenue_group_id) ?? null

const readPrice = (
  { currency_code }: ItemHeader,
  { unit_price }: SentItem,
  before: InvoiceItemRow | undefined,
  fail: (field: string, text: string) => void
): number => {
  if (unit_price === null || unit_price === undefined) {
    if (before === undefined) fail("unit_price", "The unit price field is required.")
    return before?.unit_price ?? 0
  }
  const read = parseMoney(unit_price, currency_code, { signed: true })
  if (Result.isFailure(read)) fail("unit_price", `The unit price field ${read.failure}`)
  return Result.isSuccess(read) ? read.success : 0
}

/** A row with default values; its id is assigned when it is added. */
export const newItem = (header: Pick<InvoiceRow, "id" | "currency_code">): InvoiceItemRow => ({
  ...initialRow(invoice_items),
  id: 0,
  invoice_id: header.id,
  name: "",
  currency_code: header.currency_code,
  ...unstamped
})

export interface CheckoutSource {
  readonly header: OpportunityRow
  /** All live lines in path order: groups, optional and uncharged ones included. */
  readonly lines: ReadonlyArray<ItemRow>
  readonly costs: ReadonlyArray<CostRow>
  readonly products: ReadonlyMap<number, ProductRow>
  readonly tax: TaxTable
  readonly customer_tax_class_id: number | null
  /** Totals of the active version, else of the opportunity. */
  readonly totals: { readonly net: number; readonly tax: number }
}

/** A charged line, cost or deal price. `as_priced`: tax percentage used for its price; null if not stored. */
interface Charged {
  readonly row: Pick<InvoiceItemRow, "name" | "item_type"> & Partial<InvoiceItemRow>
  readonly net: number
  readonly tax_class_id: number | null
  readonly as_priced: string | null
}
const sale = 1
/** Discount of a line, and the price of one for its whole hire before it, to the periods' hundredth. */
const listPrice = ({ discount_percent, discounted_total, quantity, unit_price }: ItemRow) => {
  const once = exact(unit_price).times(exact(quantity))
  const kept = exact(100).minus(exact(discount_percent ?? "0"))
  if (kept.equals(100) || kept.isZero() || once.isZero()) return {}
  const periods = roundHalfAway(exact(discounted_total).times(100).dividedBy(kept).dividedBy(once), 2)
  return { unit_price: roundHalfAway(exact(unit_price).times(periods)).toNumber(), discount_percent }
}
const chargedLine = ({ header, products }: CheckoutSource, line: ItemRow): Charged => {
  const product = line.item_id === null ? undefined : products.get(line.item_id)
  const is_sale = line.transaction_type === sale
  return {
    net: line.total,
    tax_class_id: product?.tax_class_id ?? null,
    as_priced: line.tax_rate,
    row: {
      opportunity_item_id: line.id,
      product_id: line.item_id,
      item_type:
        line.item_type === "text" || (line.item_type === "service" && product === undefined) ? "custom" : "product",
      ...picked(line, ["name", "description", "quantity"]),
      ...listPrice(line),
      revenue_group_id:
        line.revenue_group_id ?? (is_sale ? product?.sale_revenue_group_id : product?.rental_revenue_group_id) ?? null,
      starts_at: is_sale ? null : (line.starts_at ?? header.charge_starts_at ?? header.starts_at),
      ends_at: is_sale ? null : (line.ends_at ?? header.charge_ends_at ?? header.ends_at)
    }
  }
}
const chargedCost = (source: CheckoutSource, cost: CostRow): Charged => {
  const { default_product_tax_class_id } = source.tax
  const is_computed = cost.surcharge_id !== null
  const tax_class_id = (is_computed ? cost.product_tax_class_id : null) ?? default_product_tax_class_id
  const net = is_computed
    ? cost.amount
    : netCost(
        {
          prices_include_tax: source.header.prices_include_tax,
          default_product_tax_class_id,
          taxOf: (id) => resolveLockedTax(source.header, source.tax, source.customer_tax_class_id, id)
        },
        cost
      ).net
  return {
    net,
    tax_class_id,
    as_priced: cost.tax_rate,
    row: {
      opportunity_cost_id: cost.id,
      item_type: "cost",
      name: cost.description,
      quantity: is_computed ? "1.00" : formatDecimal(wholeUnits(cost.quantity), 2)
    }
  }
}

/** Whether a line is billed; texts and lines of quantity 0 are only if their total is not 0. */
const isBilled = ({ item_type, quantity, total }: ItemRow): boolean =>
  total !== 0 || (item_type !== "text" && compareDecimals(quantity, "0") > 0)
const chargedParts = (source: CheckoutSource): ReadonlyArray<Charged> => {
  const { costs, header, lines, tax } = source
  if (header.deal_total !== null)
    return [
      {
        net: header.deal_total,
        tax_class_id: tax.default_product_tax_class_id,
        as_priced: null,
        row: {
          name: header.subject,
          item_type: "custom",
          starts_at: header.charge_starts_at ?? header.starts_at,
          ends_at: header.charge_ends_at ?? header.ends_at
        }
      }
    ]
  return [
    ...lines
      .filter((line) => line.item_type !== "group" && !line.is_optional && isBilled(line))
      .map((line) => chargedLine(source, line)),
    ...costs
      .filter((cost) => !cost.is_optional && (cost.surcharge_id !== null || wholeUnits(cost.quantity) > 0))
      .map((cost) => chargedCost(source, cost))
  ]
}

type Rates = (part: Charged) => RowTax
/** Tax rates by current rules, or as of the tax lock. */
const byRules =
  ({ customer_tax_class_id, header, tax }: CheckoutSource): Rates =>
  ({ tax_class_id }) =>
    rowTax(tax_class_id, resolveLockedTax(header, tax, customer_tax_class_id, tax_class_id))
/** Tax rates used when the lines were priced; current rules where not stored. */
const asPriced = (source: CheckoutSource): Rates => {
  const now = byRules(source)
  return (part) => {
    const rules = now(part)
    if (part.as_priced === null || part.as_priced === rules.tax_rate) return rules
    const rate = source.tax.rates.find((one) => compareDecimals(one.rate, part.as_priced ?? "0") === 0)
    return {
      tax_class_id: part.tax_class_id,
      tax_rate_id: rate?.id ?? null,
      tax_rate_name: rate?.name ?? `${formatDecimal(part.as_priced, 2)} %`,
      tax_rate: formatDecimal(part.as_priced, 4)
    }
  }
}

const groupsOf = (parts: ReadonlyArray<Charged>, rates: Rates): ReadonlyMap<string, Amounts> =>
  new Map(
    [...Map.groupBy(parts, (part) => groupKey(rates(part)))].map(([key, group]) => {
      const [first] = group
      const net = sumMoney(group.map((part) => part.net))
      return [key, { net, tax: exclusiveTax(net, (first && rates(first).tax_rate) ?? "0").tax }]
    })
  )

/**
 * Rates, and tax by group, that give the opportunity's total tax, which may be locked or follow older rules. If neither
 * current rules nor the lines' own rates give it, it is split in proportion to the groups.
 */
const ratesAndGroups = (
  source: CheckoutSource,
  parts: ReadonlyArray<Charged>
): { readonly rates: Rates; readonly ofGroup: GroupTax } => {
  const tries = [byRules(source), asPriced(source)].map((rates) => ({ rates, groups: groupsOf(parts, rates) }))
  const taxIn = (groups: ReadonlyMap<string, Amounts>): number => sumMoney([...groups.values()].map(({ tax }) => tax))
  const exact_try = tries.find(({ groups }) => taxIn(groups) === source.totals.tax)
  const { groups, rates } = exact_try ??
    tries[source.header.tax_locked ? 1 : 0] ?? { rates: byRules(source), groups: new Map<string, Amounts>() }
  const all = [...groups]
  const weights = all.map(([, group]) => group.tax)
  const shared =
    exact_try === undefined
      ? allocateMoney(source.totals.tax, weights.some((one) => one !== 0) ? weights : all.map(([, { net }]) => net))
      : weights
  const taxes = new Map(all.map(([key], at) => [key, shared[at] ?? 0]))
  return { rates, ofGroup: (amount, tax) => ({ net: amount, tax: taxes.get(groupKey(tax)) ?? 0 }) }
}

/** The parts with nets that add up to `net`: the last non-zero one takes the difference. */
const exactNets = (parts: ReadonlyArray<Charged>, net: number): ReadonlyArray<Charged> => {
  const missing = net - sumMoney(parts.map((part) => part.net))
  const at = parts.findLastIndex((part) => part.net !== 0)
  return missing === 0
    ? parts
    : parts.map((part, index) => (index === at ? { ...part, net: part.net + missing } : part))
}

/** A row's rounding difference is at most its net divided by this. */
const rounding_share = 100
/** Quantity × price − rounding (`discount_amount`) = net; quantity 1 if no price is close, or a factor not above 0. */
const quantityAndPrice = (quantity: string, net: number) => {
  const one = { quantity: "1.00", unit_price: net, discount_percent: null, discount_amount: 0 }
  if (net <= 0 || compareDecimals(quantity, "0") <= 0) return one
  const unit_price = exact(net).dividedBy(exact(quantity)).ceil().toNumber()
  const discount_amount = Number(timesMoney(unit_price, quantity)) - net
  return discount_amount < 0 || discount_amount * rounding_share > net
    ? one
    : { ...one, quantity, unit_price, discount_amount }
}
/**
 * Columns of a row that give its net: list price and discount of `row` where they do, else a price made of the net. The
 * description names the quantity if the row has another one then.
 */
export const priceOfNet = (row: Partial<InvoiceItemRow>, quantity: string, net: number, word: string) => {
  const { description, discount_percent = null, unit_price = 0 } = row
  const list = { quantity, unit_price, discount_percent }
  const found = discount_percent === null ? undefined : priced(list)
  if (found !== undefined && found.amount === net && net > 0) return { ...list, discount_amount: found.discount_amount }
  const made = quantityAndPrice(quantity, net)
  return compareDecimals(made.quantity, quantity) === 0
    ? made
    : { ...made, description: [`${word} ${quantity}`, description].filter((line) => line).join("\n") }
}

/** Billable rows with net, tax and total, and id 0. Empty if nothing is charged. */
export const billedRows = (
  source: CheckoutSource,
  invoice: Pick<InvoiceRow, "id" | "currency_code">,
  quantity_word = "Quantity"
): ReadonlyArray<InvoiceItemRow> => {
  const parts = exactNets(chargedParts(source), source.totals.net)
  const { ofGroup, rates } = ratesAndGroups(source, parts)
  const taxable = parts.map((part): Taxable => ({ amount: part.net, tax: rates(part) }))
  const taxed = taxedRows(taxable, false, ofGroup)
  return parts.map((part, at) => {
    const { quantity = "1.00" } = part.row
    return {
      ...newItem(invoice),
      ...part.row,
      ...(part.net === 0
        ? { quantity, unit_price: 0, discount_percent: null }
        : priceOfNet(part.row, quantity, part.net, quantity_word)),
      ...rates(part),
      ...taxed[at],
      sort_order: at
    }
  })
}
