/** Builds the rows of a draft from a request (rules/billing 1.3). */
import { Result } from "effect"
import { initialRow } from "../../kernel/endpoints/crud-resource.ts"
import type { DecideContext } from "../../kernel/events/settings.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../kernel/fields/field.ts"
import type { FieldErrors } from "../../kernel/fields/rejection.ts"
import type { ProductRow } from "../../products/products/schema.ts"
import { resolveTax, type TaxTable } from "../../pricing/pricing/line.ts"
import { parseMoney } from "../../values/money.ts"
import { priced, type RowTax, rowTax, type Taxable, taxedRows } from "./amounts.ts"
import { invoice_items, type InvoiceItemRow, type InvoiceRow } from "./tables.ts"
import type { SentItem } from "./fields.ts"

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
  names.every((name) => sameJson(one[name] as Json, other[name] as Json))

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
    const before = one.id === null ? undefined : unsent.get(one.id)
    if (one.id !== null && before === undefined)
      fail("id", "The invoice has no such row left; leave the id out to add one.")
    if (before !== undefined) unsent.delete(before.id)
    const isUnknown = one.id !== null && before === undefined
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
    const kept = before !== undefined && sameIn(row, before, amountColumns)
    const amounts = kept ? undefined : priced(row)
    if (!kept && amounts === undefined) fail("unit_price", "The amount of the row is too large.")
    return { ...row, ...(kept ? {} : { discount_amount: amounts?.discount_amount ?? 0 }) }
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
  const product_id = stays("product_id") ? (before?.product_id ?? null) : sent.product_id
  return {
    ...(before ?? newItem(header)),
    product_id,
    item_type: before !== undefined && product_id === before.product_id ? before.item_type : kindOf(product_id),
    name: name ?? "",
    description: stays("description") ? (before?.description ?? null) : sent.description,
    quantity: sent.quantity ?? (stays("quantity") ? before?.quantity : undefined) ?? "1.00",
    unit_price,
    discount_percent: stays("discount_percent") ? (before?.discount_percent ?? null) : sent.discount_percent,
    tax_class_id:
      sent.tax_class_id ??
      (before !== undefined && !isNewProduct
        ? before.tax_class_id
        : (product?.tax_class_id ?? facts.tax.default_product_tax_class_id)),
    revenue_group_id:
      sent.revenue_group_id ??
      (stays("revenue_group_id") && !isNewProduct ? (before?.revenue_group_id ?? null) : revenueGroupOf(product)),
    starts_at: stays("starts_at") ? (before?.starts_at ?? null) : sent.starts_at,
    ends_at: stays("ends_at") ? (before?.ends_at ?? null) : sent.ends_at
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

/** A row with default values; its id is drawn when it is added. */
export const newItem = (header: Pick<InvoiceRow, "id" | "currency_code">): InvoiceItemRow => ({
  ...initialRow(invoice_items, {}),
  id: 0,
  invoice_id: header.id,
  name: "",
  currency_code: header.currency_code,
  created_at: "",
  updated_at: "",
  deleted_at: null
})
