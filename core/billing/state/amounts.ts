/**
 * Totals and taxes of an invoice's rows (rules/billing 1.2, 1.3). Tax is rounded once for each class and rate; the rows
 * share it, and the last non-zero row takes the rounding difference.
 */
import { Result } from "effect"
import { reject, type Rejection } from "../../kernel/index.ts"
import { exclusiveTax, inclusiveTax, type ResolvedTax, type TaxedAmount } from "../../pricing/pricing/line.ts"
import { compareDecimals } from "../../values/decimal.ts"
import { percentOfMoney, sumMoney, timesMoney } from "../../values/money.ts"
import type { InvoiceItemRow, InvoiceRow, TaxSummaryRow } from "./tables.ts"

/** Tax class and rate of a row, stored with it. */
export type RowTax = Pick<InvoiceItemRow, "tax_class_id" | "tax_rate_id" | "tax_rate_name" | "tax_rate">
export const rowTax = (tax_class_id: number | null, tax: ResolvedTax): RowTax => ({
  tax_class_id,
  tax_rate_id: tax.tax_rate_id,
  tax_rate_name: tax.name,
  tax_rate: tax.percentage
})

/** A row's amount after its discount, and the discount; undefined if price × quantity is too large to be exact. */
export const priced = ({
  discount_percent,
  quantity,
  unit_price
}: Pick<InvoiceItemRow, "quantity" | "unit_price" | "discount_percent">):
  | { readonly amount: number; readonly discount_amount: number }
  | undefined => {
  const before = Number(timesMoney(unit_price, quantity))
  if (!Number.isSafeInteger(before)) return undefined
  const discount_amount = discount_percent === null ? 0 : percentOfMoney(before, discount_percent)
  return { amount: before - discount_amount, discount_amount }
}

/** A row to be taxed; its amount includes tax if prices do. */
export interface Taxable {
  readonly amount: number
  readonly tax: RowTax
  /** Net and tax of a row that deducts a deposit, which are not recalculated. */
  readonly fixed?: Pick<TaxedAmount, "net" | "tax">
}
interface TaxedRow {
  readonly subtotal: number
  readonly tax_total: number
  readonly total: number
}
export const groupKey = ({ tax_class_id, tax_rate, tax_rate_id }: RowTax): string =>
  `${tax_class_id}/${tax_rate_id}/${tax_rate}`

/** Calculates net and tax of all rows of one class and rate, rounded once. */
export type GroupTax = (amount: number, tax: RowTax) => Pick<TaxedAmount, "net" | "tax">
const groupTax =
  (prices_include_tax: boolean): GroupTax =>
  (amount, { tax_rate }) =>
    prices_include_tax ? inclusiveTax(amount, tax_rate ?? "0") : exclusiveTax(amount, tax_rate ?? "0")

/** Net, tax and total of each row, in their order. `ofGroup` calculates the tax of rows of one class and rate. */
export const taxedRows = (
  rows: ReadonlyArray<Taxable>,
  prices_include_tax: boolean,
  ofGroup: GroupTax = groupTax(prices_include_tax)
): ReadonlyArray<TaxedRow> => {
  const taxed = rows.map(({ fixed }): TaxedRow | undefined =>
    fixed === undefined ? undefined : { subtotal: fixed.net, tax_total: fixed.tax, total: fixed.net + fixed.tax }
  )
  const own = [...rows.keys()].filter((at) => taxed[at] === undefined)
  const each = groupTax(prices_include_tax)
  for (const group of Map.groupBy(own, (at) => groupKey(taxableAt(rows, at).tax)).values()) {
    const members = group.map((at) => ({ at, ...taxableAt(rows, at) }))
    const tax = taxableAt(rows, group[0] ?? 0).tax
    const whole = ofGroup(
      members.reduce((sum, { amount }) => sum + amount, 0),
      tax
    )
    const last = members.findLast(({ amount }) => amount !== 0)?.at ?? members.at(-1)?.at
    let { net, tax: left } = whole
    for (const { amount, at } of members) {
      if (at === last) continue
      const one = each(amount, tax)
      taxed[at] = { subtotal: one.net, tax_total: one.tax, total: one.net + one.tax }
      net -= one.net
      left -= one.tax
    }
    if (last !== undefined) taxed[last] = { subtotal: net, tax_total: left, total: net + left }
  }
  return taxed.map((one) => one ?? { subtotal: 0, tax_total: 0, total: 0 })
}
const taxableAt = (rows: ReadonlyArray<Taxable>, at: number): Taxable => {
  const row = rows[at]
  if (row === undefined) throw new RangeError(`There is no row ${at}.`)
  return row
}

type Summed = Pick<InvoiceItemRow, "subtotal" | "discount_amount" | "tax_total" | "total"> & RowTax
/** One row per class and rate, highest rate first. Rows whose rate is null are left out. */
export const taxSummary = (rows: ReadonlyArray<Summed>): ReadonlyArray<TaxSummaryRow> =>
  [
    ...Map.groupBy(
      rows.filter(({ tax_rate }) => tax_rate !== null),
      groupKey
    ).values()
  ]
    .map((group): TaxSummaryRow => {
      const { tax_class_id = null, tax_rate = null, tax_rate_id = null, tax_rate_name = null } = group[0] ?? {}
      const [net, tax] = [group.map((row) => row.subtotal), group.map((row) => row.tax_total)].map(sumMoney)
      return {
        tax_class_id,
        tax_rate_id,
        tax_rate_name: tax_rate_name ?? "",
        rate: tax_rate ?? "0.0000",
        net: net ?? 0,
        tax: tax ?? 0,
        gross: (net ?? 0) + (tax ?? 0)
      }
    })
    .toSorted(
      (one, other) => compareDecimals(other.rate, one.rate) || (one.tax_class_id ?? 0) - (other.tax_class_id ?? 0)
    )

type InvoiceSums = Pick<
  InvoiceRow,
  "subtotal" | "discount_total" | "tax_total" | "total" | "tax_summary" | "amount_outstanding"
>
/** Totals of a draft, without payments. */
export const sumsOf = (rows: ReadonlyArray<Summed>): InvoiceSums => {
  const total = sumMoney(rows.map((row) => row.total))
  return {
    subtotal: sumMoney(rows.map((row) => row.subtotal)),
    discount_total: sumMoney(rows.map((row) => row.discount_amount)),
    tax_total: sumMoney(rows.map((row) => row.tax_total)),
    total,
    tax_summary: taxSummary(rows),
    amount_outstanding: total
  }
}
/** The sums; 422 on `items` if one is too large to be exact. */
export const exactSums = <S extends object>(sums: S): Result.Result<S, Rejection> =>
  Object.values(sums).every((one) => typeof one !== "number" || Number.isSafeInteger(one))
    ? Result.succeed(sums)
    : reject("items", "The total is too large.")
/** 422 on `currency` unless the currency is enabled for new documents. */
export const requireEnabled = (currency: {
  readonly code: string
  readonly is_enabled: boolean
}): Result.Result<void, Rejection> =>
  currency.is_enabled
    ? Result.succeed(undefined)
    : reject("currency", `${currency.code} is not enabled; enable it first (PUT /api/v1/currencies/${currency.code}).`)

/** Payments and credits of an invoice, in minor units. */
interface Moved {
  /** Payments less refunds. */
  readonly paid: number
  /** Total credited, positive. */
  readonly credited: number
}
/**
 * Status and amounts of an issued invoice after a payment or credit (rules/billing 1.1). `paid_at` is when it became
 * paid, null while it is not.
 */
export const settled = (
  row: Pick<InvoiceRow, "total" | "paid_at">,
  { credited, paid }: Moved,
  at: string
): Pick<InvoiceRow, "status" | "amount_paid" | "amount_credited" | "amount_outstanding" | "paid_at"> => {
  const { total } = row
  const amount_outstanding = total - credited - paid
  const status =
    total === 0
      ? "paid"
      : credited === total
        ? "credited"
        : amount_outstanding <= 0
          ? "paid"
          : paid > 0
            ? "partially_paid"
            : "issued"
  return {
    status,
    amount_paid: paid,
    amount_credited: credited,
    amount_outstanding,
    paid_at: status === "paid" ? (row.paid_at ?? at) : null
  }
}

/**
 * Columns of an invoice that a payment or credit changes, in minor units; refunds are negative. `at`: time of the
 * payment or credit, stored as `paid_at` if the invoice becomes paid.
 */
export const balanceAfter = (
  invoice: InvoiceRow,
  more: { readonly paid?: number; readonly credited?: number },
  at: string
): Partial<InvoiceRow> => {
  const next = settled(
    invoice,
    { paid: invoice.amount_paid + (more.paid ?? 0), credited: invoice.amount_credited + (more.credited ?? 0) },
    at
  )
  return {
    ...(next.status === invoice.status ? {} : { status: next.status }),
    ...(next.amount_paid === invoice.amount_paid ? {} : { amount_paid: next.amount_paid }),
    ...(next.amount_credited === invoice.amount_credited ? {} : { amount_credited: next.amount_credited }),
    ...(next.amount_outstanding === invoice.amount_outstanding ? {} : { amount_outstanding: next.amount_outstanding }),
    ...(next.paid_at === invoice.paid_at ? {} : { paid_at: next.paid_at })
  }
}
