/** Builds the lines of a draft from a request (rules/billing 2.3). */
import { Result } from "effect"
import { priced, rowTax, type Taxable, taxedRows } from "../../billing/state/amounts.ts"
import { initialRow, isJsonObject, unstamped } from "../../kernel/index.ts"
import type { DecideContext, FieldErrors, Json, JsonObject } from "../../kernel/index.ts"
import type { ProductRow } from "../../products/products/schema.ts"
import { resolveTax, type TaxTable } from "../../pricing/pricing/line.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"
import { convertMoney, parseMoney } from "../../values/money.ts"
import { purchase_order_items, type PurchaseOrderItemRow, type PurchaseOrderRow } from "../schema.ts"
import type { SentItem } from "../fields.ts"

export interface ItemFacts {
  readonly products: ReadonlyMap<number, ProductRow>
  /** Opportunity of each opportunity item named by the request or a stored line. */
  readonly opportunity_of: ReadonlyMap<number, number>
  readonly tax: TaxTable
  /** The supplier's tax class for purchases; null if untaxed. */
  readonly supplier_tax_class_id: number | null
  readonly base_currency: string
}
/** The order of the lines, after the update. */
type ItemHeader = Pick<
  PurchaseOrderRow,
  "id" | "po_type" | "opportunity_id" | "currency_code" | "exchange_rate" | "starts_at" | "ends_at"
>

type Fail = (field: string, text: string) => void
/** One line of a request: the parsed values, the fields sent, and the stored line it changes. */
interface Asked {
  readonly sent: SentItem
  readonly given: JsonObject
  readonly before: PurchaseOrderItemRow | undefined
}

/**
 * All lines of the draft in the order sent, with amounts and taxes. Existing lines keep omitted fields. `raw`: the
 * lines as sent, to detect omitted fields. Errors are keyed `items.<n>.<field>`.
 */
export const itemsFrom = (
  header: ItemHeader,
  sent: ReadonlyArray<SentItem>,
  raw: Json | undefined,
  stored: ReadonlyArray<PurchaseOrderItemRow>,
  facts: ItemFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<PurchaseOrderItemRow>, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unsent = new Map(stored.map((row) => [row.id, row]))
  const rows = sent.map((one, at): PurchaseOrderItemRow => {
    const fail: Fail = (field, text) => {
      errors[`items.${at}.${field}`] ??= [text]
    }
    const given = Array.isArray(raw) ? raw[at] : undefined
    const before = one.id === null ? undefined : unsent.get(one.id)
    if (one.id !== null && before === undefined) {
      fail("id", "The order has no such line left; leave the id out to add one.")
      return newItem(header)
    }
    if (before !== undefined) unsent.delete(before.id)
    const asked = merged(header, { sent: one, given: isJsonObject(given) ? given : {}, before }, facts, fail)
    const row = { ...asked, id: before?.id ?? context.id(purchase_order_items), sort_order: one.sort_order ?? at }
    checkRow(header, row, facts, fail)
    return row
  })
  return Object.keys(errors).length > 0 ? Result.fail(errors) : Result.succeed(taxedItems(rows, facts))
}
const checkRow = (header: ItemHeader, row: PurchaseOrderItemRow, facts: ItemFacts, fail: Fail): void => {
  if (row.starts_at !== null && row.ends_at !== null && row.ends_at < row.starts_at)
    fail("ends_at", "The ends at field must be a date after or equal to starts at.")
  if (priced(forPrice(row)) === undefined) fail("unit_cost", "The amount of the line is too large.")
  const line = row.opportunity_item_id
  if (line === null) return
  if (header.opportunity_id === null)
    fail("opportunity_item_id", "Name the opportunity of this line as opportunity_id of the order.")
  else if (facts.opportunity_of.has(line) && facts.opportunity_of.get(line) !== header.opportunity_id)
    fail("opportunity_item_id", "The line belongs to another opportunity than the order.")
}
const forPrice = ({ discount_percent, quantity, unit_cost }: PurchaseOrderItemRow) => ({
  discount_percent,
  quantity,
  unit_price: unit_cost
})

/** Lines with net, tax and total; tax is rounded once per class and rate (rules/rates 8). */
export const taxedItems = (
  rows: ReadonlyArray<PurchaseOrderItemRow>,
  facts: Pick<ItemFacts, "tax" | "supplier_tax_class_id">
): ReadonlyArray<PurchaseOrderItemRow> => {
  const taxable = rows.map((row): Taxable => ({
    amount: priced(forPrice(row))?.amount ?? 0,
    tax: rowTax(row.tax_class_id, resolveTax(facts.tax, facts.supplier_tax_class_id, row.tax_class_id))
  }))
  const taxed = taxedRows(taxable, false)
  return rows.map((row, at) => ({ ...row, tax_rate: taxable[at]?.tax.tax_rate ?? null, ...taxed[at] }))
}
/** Columns a body can set: defaults for new lines, stored values for omitted fields of existing ones. */
const merged = (header: ItemHeader, asked: Asked, facts: ItemFacts, fail: Fail): PurchaseOrderItemRow => {
  const { before, given, sent } = asked
  const stays = (name: keyof SentItem): boolean => before !== undefined && !Object.hasOwn(given, name)
  const own = <K extends "product_id" | "opportunity_item_id" | "description" | "discount_percent">(column: K) =>
    before !== undefined && stays(column) ? before[column] : sent[column]
  const product_id = own("product_id")
  const product = product_id === null ? undefined : facts.products.get(product_id)
  const is_new_product = product !== undefined && product.id !== before?.product_id
  const kept = is_new_product ? undefined : before
  const name = stays("name") && kept !== undefined ? kept.name : (sent.name ?? product?.name)
  if (name === undefined || name === "") fail("name", "The name field is required without a product.")
  return {
    ...(before ?? newItem(header)),
    product_id,
    opportunity_item_id: own("opportunity_item_id"),
    name: name ?? "",
    description: own("description"),
    quantity: sent.quantity ?? (stays("quantity") ? before?.quantity : undefined) ?? "1.00",
    unit_cost: costOf(header, asked, { product, kept }, facts, fail),
    discount_percent: own("discount_percent"),
    tax_class_id:
      sent.tax_class_id ??
      (kept === undefined
        ? (product?.purchase_tax_class_id ?? facts.tax.default_product_tax_class_id)
        : kept.tax_class_id),
    cost_group_id:
      sent.cost_group_id ??
      (kept === undefined ? costGroupOf(header, product) : stays("cost_group_id") ? kept.cost_group_id : null),
    starts_at: stays("starts_at") ? (before?.starts_at ?? null) : (sent.starts_at ?? header.starts_at),
    ends_at: stays("ends_at") ? (before?.ends_at ?? null) : (sent.ends_at ?? header.ends_at)
  }
}
const costGroupOf = ({ po_type }: ItemHeader, product: ProductRow | undefined): number | null =>
  (po_type === "purchase" ? product?.purchase_cost_group_id : product?.sub_rental_cost_group_id) ?? null

const costOf = (
  header: ItemHeader,
  { sent }: Asked,
  { kept, product }: { readonly product: ProductRow | undefined; readonly kept: PurchaseOrderItemRow | undefined },
  { base_currency }: ItemFacts,
  fail: Fail
): number => {
  if (sent.unit_cost === null || sent.unit_cost === undefined)
    return kept === undefined ? usualCost(header, product, base_currency) : kept.unit_cost
  const read = parseMoney(sent.unit_cost, header.currency_code)
  if (Result.isFailure(read)) fail("unit_cost", `The unit cost field ${read.failure}`)
  return Result.isSuccess(read) ? read.success : 0
}
/** The product's sub-hire or purchase cost, converted from the base currency to the order's. */
const usualCost = (
  { currency_code, exchange_rate, po_type }: ItemHeader,
  product: ProductRow | undefined,
  base_currency: string
): number => {
  const price = (po_type === "purchase" ? product?.purchase_price : product?.sub_rental_price) ?? 0
  if (currency_code === base_currency || price === 0 || exact(exchange_rate).isZero()) return price
  return convertMoney(price, base_currency, currency_code, formatDecimal(exact(1).dividedBy(exact(exchange_rate)), 20))
}

/** A line with default values; its id is assigned when it is added. */
export const newItem = (header: Pick<PurchaseOrderRow, "id" | "currency_code">): PurchaseOrderItemRow => ({
  ...initialRow(purchase_order_items),
  id: 0,
  purchase_order_id: header.id,
  currency_code: header.currency_code,
  ...unstamped
})
