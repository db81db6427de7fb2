/**
 * Postings: billing as debits and credits of accounts, for accounting programs. Derived from issued documents and
 * payments, one document at a time; every export is written from them. Pure (rules/billing 1.8).
 */
import { isJsonObject, type JsonObject, picked, type Settings, settingText } from "../../kernel/index.ts"
import type { CreditNoteItemRow, CreditNoteRow, InvoiceItemRow, InvoiceRow, PaymentRow } from "../state/tables.ts"
import { dayOf } from "../../values/time.ts"
import { Schema } from "effect"
import { formatMoney } from "../../values/money.ts"

export const posted_kinds = {
  invoices: "Invoices",
  voids: "Voided invoices",
  credit_notes: "Credit notes",
  payments: "Payments and refunds"
} as const
export type PostedKind = keyof typeof posted_kinds

/** Account and tax codes of the accounting program. */
interface Accounts {
  readonly receivables: string
  readonly revenue: (revenue_group_id: number | null) => string
  readonly tax: string
  readonly taxCode: (tax_rate_id: number | null) => string
  readonly payment: (method: string) => string
}
export const accountsOf = (settings: Settings): Accounts => {
  const set = (key: string): string => settingText(settings, "accounting", key)
  const codes = (key: string): JsonObject => {
    const value = settings["accounting"]?.[key]
    return isJsonObject(value) ? value : {}
  }
  const coded = (key: string, fallback: string) => {
    const known = codes(key)
    return (of: number | string | null): string => {
      const code = of === null ? undefined : known[String(of)]
      return code === undefined || code === null || code === "" ? set(fallback) : String(code)
    }
  }
  return {
    receivables: set("receivables_account"),
    revenue: coded("revenue_accounts", "revenue_account"),
    tax: set("tax_account"),
    taxCode: coded("tax_codes", "tax_code"),
    payment: coded("payment_accounts", "payment_account")
  }
}

/**
 * A debit or credit of one account, in minor units of the document's currency: one of the two is zero, neither is
 * negative.
 */
interface Posting {
  readonly account: string
  readonly tax_code: string
  readonly debit: number
  readonly credit: number
}
/** One row of a document, in minor units; amounts of credit notes and voids have the opposite sign. */
interface PostedLine {
  readonly description: string
  readonly account: string
  readonly tax_code: string
  readonly net: number
  readonly tax: number
}
export interface Posted {
  readonly kind: PostedKind
  readonly id: number
  readonly number: string
  /** The accounting date, as an instant. */
  readonly at: string
  readonly due_at: string | null
  readonly member_id: number
  readonly reference: string | null
  /** The invoice of a credit note, void or payment. */
  readonly invoice_number: string | null
  readonly currency_code: string
  readonly exchange_rate: string
  readonly total: number
  readonly lines: ReadonlyArray<PostedLine>
  readonly postings: ReadonlyArray<Posting>
}

/** Posts a positive amount as debit, a negative one as credit; zero produces no posting. */
const posting = (account: string, tax_code: string, amount: number): ReadonlyArray<Posting> =>
  amount === 0 ? [] : [{ account, tax_code, debit: Math.max(0, amount), credit: Math.max(0, 0 - amount) }]

/** Sums amounts to one posting per account and tax code, in order of appearance. */
const summed = (parts: ReadonlyArray<readonly [account: string, tax_code: string, amount: number]>) => {
  const sums = new Map<string, { readonly account: string; readonly tax_code: string; amount: number }>()
  for (const [account, tax_code, amount] of parts) {
    const key = JSON.stringify([account, tax_code])
    const sum = sums.get(key) ?? { account, tax_code, amount: 0 }
    sum.amount += amount
    sums.set(key, sum)
  }
  return [...sums.values()].flatMap(({ account, amount, tax_code }) => posting(account, tax_code, amount))
}

type Item = Pick<InvoiceItemRow, "name" | "quantity" | "subtotal" | "tax_total" | "tax_rate_id"> & {
  readonly revenue_group_id: number | null
}
const linesOf = (items: ReadonlyArray<Item>, accounts: Accounts, sign: 1 | -1): ReadonlyArray<PostedLine> =>
  items
    .filter(({ subtotal, tax_total }) => subtotal !== 0 || tax_total !== 0)
    .map((item) => ({
      description: /^1(\.0+)?$/.test(item.quantity)
        ? item.name
        : `${item.quantity.replace(/\.?0+$/, "")} × ${item.name}`,
      account: accounts.revenue(item.revenue_group_id),
      tax_code: accounts.taxCode(item.tax_rate_id),
      net: sign * item.subtotal,
      tax: sign * item.tax_total
    }))
/** Postings of a sale: its total as debit, revenue and tax as credits by account and tax code. */
const salePostings = (lines: ReadonlyArray<PostedLine>, accounts: Accounts): ReadonlyArray<Posting> => [
  ...posting(
    accounts.receivables,
    "",
    lines.reduce((sum, { net, tax }) => sum + net + tax, 0)
  ),
  ...summed(lines.map(({ account, net, tax_code }) => [account, tax_code, 0 - net])),
  ...summed(lines.map(({ tax, tax_code }) => [accounts.tax, tax_code, 0 - tax]))
]

const numberOf = ({ id, number }: { readonly id: number; readonly number: string | null }): string =>
  number ?? String(id)

export const postedInvoice = (
  invoice: InvoiceRow,
  items: ReadonlyArray<InvoiceItemRow>,
  accounts: Accounts
): Posted => {
  const lines = linesOf(items, accounts, 1)
  return {
    kind: "invoices",
    id: invoice.id,
    number: numberOf(invoice),
    at: invoice.issued_at ?? invoice.created_at,
    ...picked(invoice, ["due_at", "member_id", "reference"]),
    invoice_number: null,
    ...picked(invoice, ["currency_code", "exchange_rate", "total"]),
    lines,
    postings: salePostings(lines, accounts)
  }
}
/** Postings of a voided invoice: the reverse of the invoice's. */
export const postedVoid = (invoice: InvoiceRow, items: ReadonlyArray<InvoiceItemRow>, accounts: Accounts): Posted => {
  const lines = linesOf(items, accounts, -1)
  return {
    ...postedInvoice(invoice, items, accounts),
    kind: "voids",
    number: `${numberOf(invoice)}-VOID`,
    at: invoice.voided_at ?? invoice.updated_at,
    due_at: null,
    invoice_number: numberOf(invoice),
    total: 0 - invoice.total,
    lines,
    postings: salePostings(lines, accounts)
  }
}
/** Postings of a credit note. `groups`: revenue groups by id of the invoice row, as the credit reverses its revenue. */
export const postedCreditNote = (
  note: CreditNoteRow,
  items: ReadonlyArray<CreditNoteItemRow>,
  invoice: Pick<InvoiceRow, "id" | "number" | "reference">,
  groups: ReadonlyMap<number, number | null>,
  accounts: Accounts
): Posted => {
  const lines = linesOf(
    items.map((item) => ({ ...item, revenue_group_id: groups.get(item.invoice_item_id) ?? null })),
    accounts,
    1
  )
  return {
    kind: "credit_notes",
    id: note.id,
    number: numberOf(note),
    at: note.issued_at,
    due_at: null,
    member_id: note.member_id,
    reference: invoice.reference,
    invoice_number: numberOf(invoice),
    ...picked(note, ["currency_code", "exchange_rate", "total"]),
    lines,
    postings: salePostings(lines, accounts)
  }
}
/** Postings of a payment; those of a refund have the opposite sign. */
export const postedPayment = (
  payment: PaymentRow,
  invoice: Pick<InvoiceRow, "id" | "number" | "exchange_rate">,
  accounts: Accounts
): Posted => {
  const amount = payment.kind === "refund" ? 0 - payment.amount : payment.amount
  return {
    kind: "payments",
    id: payment.id,
    number: String(payment.id),
    at: payment.paid_at,
    due_at: null,
    member_id: payment.member_id,
    reference: payment.reference,
    invoice_number: numberOf(invoice),
    currency_code: payment.currency_code,
    exchange_rate: invoice.exchange_rate,
    total: amount,
    lines: [],
    postings: [
      ...posting(accounts.payment(payment.method), "", amount),
      ...posting(accounts.receivables, "", 0 - amount)
    ]
  }
}

// Invoices to notify as overdue: once their due day has ended in the store's time zone.

type Due = Pick<InvoiceRow, "type" | "status" | "due_at" | "overdue_told_at" | "deleted_at">

/** Whether to notify the invoice as overdue: never for proformas, and once even if it is paid and reopened. */
export const isToBeTold = (invoice: Due, zone: string, now_millis: number): boolean =>
  (invoice.status === "issued" || invoice.status === "partially_paid") &&
  invoice.type !== "proforma" &&
  invoice.overdue_told_at === null &&
  invoice.deleted_at === null &&
  invoice.due_at !== null &&
  dayOf(Date.parse(invoice.due_at), zone) < dayOf(now_millis, zone)

// Posted documents as the API and exports return them.

const line = Schema.Struct({
  description: Schema.String,
  account: Schema.String,
  tax_code: Schema.String,
  net: Schema.String,
  tax: Schema.String
})
const posting_shown = Schema.Struct({
  account: Schema.String,
  tax_code: Schema.String,
  debit: Schema.String,
  credit: Schema.String
})
export const postedDocument = Schema.Struct({
  /** `invoices/42`. */
  key: Schema.String,
  kind: Schema.Literals(["invoices", "voids", "credit_notes", "payments"]),
  id: Schema.Int,
  number: Schema.String,
  date: Schema.String,
  due_date: Schema.NullOr(Schema.String),
  member_name: Schema.String,
  member_email: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String),
  invoice_number: Schema.NullOr(Schema.String),
  currency: Schema.String,
  exchange_rate: Schema.String,
  total: Schema.String,
  lines: Schema.Array(line),
  postings: Schema.Array(posting_shown)
})
export type PostedDocument = typeof postedDocument.Type

/** API representation of a posted document, with days in the company's time zone. */
export const shownPosted = (
  posted: Posted,
  member: { readonly name: string; readonly email: string | null },
  zone: string
): PostedDocument => {
  const money = (minor: number): string => formatMoney(minor, posted.currency_code)
  const day = (instant: string): string => dayOf(Date.parse(instant), zone)
  return {
    key: `${posted.kind}/${posted.id}`,
    ...picked(posted, ["kind", "id", "number"]),
    date: day(posted.at),
    due_date: posted.due_at === null ? null : day(posted.due_at),
    member_name: member.name,
    member_email: member.email,
    reference: posted.reference,
    invoice_number: posted.invoice_number,
    currency: posted.currency_code,
    exchange_rate: posted.exchange_rate.replace(/(\.\d{8})\d+$/, "$1"),
    total: money(posted.total),
    lines: posted.lines.map((one) => ({ ...one, net: money(one.net), tax: money(one.tax) })),
    postings: posted.postings.map((one) => ({ ...one, debit: money(one.debit), credit: money(one.credit) }))
  }
}
