/**
 * Billing: invoices with their rows, payments and refunds, and credit notes with theirs (rules/billing 1). Amounts are
 * minor units of the row's currency; all events of an invoice are in its stream.
 */
import { boolean, choice, decimal, integer, json, longText, money, ref, table, text } from "../../kernel/index.ts"
import { timestamp, type JsonObject, type RowOf } from "../../kernel/index.ts"

export const invoice_types = { standard: "Standard", deposit: "Deposit", proforma: "Proforma" } as const
export const invoice_statuses = {
  draft: "Draft",
  issued: "Issued",
  partially_paid: "Partially Paid",
  paid: "Paid",
  credited: "Credited",
  voided: "Voided"
} as const
/** Statuses of invoices that count: issued and not voided. */
export const standing_statuses = ["issued", "partially_paid", "paid", "credited"] as const
const item_types = { product: "Product", cost: "Cost", custom: "Custom", text: "Text" } as const
const payment_kinds = { payment: "Payment", refund: "Refund" } as const
export const payment_methods = {
  cash: "Cash",
  card: "Card",
  bank_transfer: "Bank Transfer",
  cheque: "Cheque",
  direct_debit: "Direct Debit",
  other: "Other"
} as const
export const credit_note_statuses = { issued: "Issued" } as const

/** One row per tax class and rate, highest rate first; minor units. Frozen: later tax rules do not affect it. */
export interface TaxSummaryRow extends JsonObject {
  readonly tax_class_id: number | null
  readonly tax_rate_id: number | null
  readonly tax_rate_name: string
  /** Percentage with four decimals. */
  readonly rate: string
  readonly net: number
  readonly tax: number
  readonly gross: number
}
/**
 * Buyer or seller as of the issue. Retention is required by law: changed addresses and erased persons do not affect it.
 */
export interface NamedParty extends JsonObject {
  readonly name: string
  readonly street: string | null
  readonly city: string | null
  readonly county: string | null
  readonly postcode: string | null
  readonly country_code: string | null
  readonly tax_number: string | null
  readonly registration_number: string | null
  readonly peppol_id: string | null
  readonly email: string | null
  readonly phone: string | null
  readonly account_number: string | null
  /** Seller data for electronic invoices as of the issue; absent on buyers and on older documents. */
  readonly einvoice?: EInvoiceFacts
}
/** Settings, store and hire for electronic invoices, as of the issue. */
export interface EInvoiceFacts extends JsonObject {
  /** Registered name of the seller. */
  readonly legal_name: string | null
  readonly peppol_id: string | null
  readonly account: { readonly iban: string; readonly bic: string | null; readonly holder: string | null } | null
  readonly zone: string
  readonly base_currency: string
  /** The buyer's reference without an account number; unaffected by merges of members. */
  readonly member_id: number
  readonly hire: { readonly starts_at: string; readonly ends_at: string } | null
}

/** Reporting of rows of one rate on electronic invoices; without a rate: untaxed rows. */
export interface VatReport extends JsonObject {
  readonly tax_rate_id: number | null
  readonly name: string
  /** Null: the percentage decides. */
  readonly category: "S" | "Z" | "E" | "AE" | "O" | null
  readonly reason: string | null
}

/** Money in the currency of the row's `currency_code`; deductions and credits are negative. */
const amount = () => money({ currency: "currency_code", computed: true, default: 0, signed: true })
const currencyOfRow = () => text({ max: 3, computed: true, hidden: true })
/** Archived members and products stay referenced; after a merge the reference moves to the remaining one. */
const follows = { on_delete: "keep", on_merge: "follow" } as const
const rateColumns = {
  tax_rate_id: ref("tax_rates", { nullable: true, computed: true, live: false, on_delete: "keep" }),
  tax_rate_name: text({ nullable: true, computed: true }),
  /** Percentage; null on rows without money. */
  tax_rate: decimal({ scale: 4, nullable: true, computed: true })
}
const taxSummary = () => json<ReadonlyArray<TaxSummaryRow>>({ form: "array", computed: true, default: [] })
const party = () => json<NamedParty | null>({ nullable: true, computed: true, hidden: true })
/** Exchange rate kept with the document: the value of one unit of `currency_code` in the base currency. */
const exchangeRate = () => decimal({ scale: 10, shown_scale: 8, computed: true, default: "1.0000000000" })

const seen = { all_columns: ["invoices.*", "payments.*"] } as const
/** Index for lists, which select undeleted invoices: with `deleted_at` in it, counting and skipping read no rows. */
const listed = (...columns: ReadonlyArray<string>): ReadonlyArray<string> => [...columns, "deleted_at"]

const invoiceColumns = {
  number: text({ nullable: true, computed: true, max: 80, search: true }),
  type: choice(invoice_types, { default: "standard", any_case: true }),
  status: choice(invoice_statuses, { computed: true, default: "draft" }),
  subject: text({ nullable: true, search: true, on_null: "clear" }),
  reference: text({ nullable: true, search: true, on_null: "clear" }),
  member_id: ref("members", follows),
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "keep", live: false }),
  opportunity_id: ref("opportunities", { nullable: true, on_delete: "keep", live: false }),
  version_id: ref("opportunity_versions", { nullable: true, computed: true, live: false, on_delete: "keep" }),
  currency_code: text({ max: 3, computed: true }),
  exchange_rate: exchangeRate(),
  prices_include_tax: boolean({ default: false }),
  /** Before tax, after discounts. */
  subtotal: amount(),
  discount_total: amount(),
  tax_total: amount(),
  total: amount(),
  /** Payments less refunds. */
  amount_paid: amount(),
  amount_credited: amount(),
  /** Outstanding amount; negative if owed to the customer. */
  amount_outstanding: amount(),
  tax_summary: taxSummary(),
  payment_terms_days: integer({ nullable: true, min: 0, max: 365 }),
  notes: longText({ nullable: true, max: 5_000, on_null: "clear" }),
  void_reason: longText({ nullable: true, computed: true, max: 1_000 }),
  custom_fields: json<JsonObject>({ default: {} }),
  issued_at: timestamp({ nullable: true, computed: true }),
  due_at: timestamp({ nullable: true, on_null: "clear" }),
  paid_at: timestamp({ nullable: true, computed: true }),
  voided_at: timestamp({ nullable: true, computed: true }),
  emailed_at: timestamp({ nullable: true, computed: true }),
  /** When `invoice.overdue` was recorded, which happens once. */
  overdue_told_at: timestamp({ nullable: true, computed: true, hidden: true }),
  billed_to: party(),
  billed_by: party(),
  /** Rates of its rows as of the issue; null on drafts and older invoices. */
  vat_reports: json<ReadonlyArray<VatReport> | null>({ form: "array", nullable: true, computed: true, hidden: true })
}
export const invoices = table("invoices", invoiceColumns, {
  visibility: seen,
  named_by: ["number", "subject"],
  searched: { columns: ["number", "subject", "reference"] },
  bookkeeping: ["overdue_told_at", "billed_to", "billed_by", "vat_reports"],
  days: ["issued_at", "due_at"],
  soft_delete: true,
  counted_by: ["store_id", "type", "status"],
  lease_block_size: 100,
  indexes: [
    listed("number_folded"),
    listed("status", "due_at"),
    listed("status", "issued_at"),
    listed("type", "status"),
    listed("member_id"),
    listed("store_id"),
    listed("opportunity_id"),
    listed("currency_code"),
    listed("subject_folded"),
    listed("reference_folded"),
    listed("subtotal"),
    listed("tax_total"),
    listed("total"),
    listed("amount_paid"),
    listed("amount_outstanding"),
    listed("issued_at"),
    listed("due_at"),
    listed("paid_at"),
    listed("created_at"),
    listed("updated_at")
  ],
  partial_indexes: [
    { columns: listed("voided_at"), where: "voided_at is not null" },
    { columns: listed("emailed_at"), where: "emailed_at is not null" }
  ]
})
export type InvoiceRow = RowOf<typeof invoices>

/** Rows of an invoice share its stream and visibility. */
const ofInvoice = { stream: { entity: "invoice", column: "invoice_id" }, visibility: seen } as const
const invoiceId = () => ref("invoices", { computed: true, live: false, on_delete: "keep" })

export const invoice_items = table(
  "invoice_items",
  {
    invoice_id: invoiceId(),
    opportunity_item_id: ref("opportunity_items", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    opportunity_cost_id: ref("opportunity_costs", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    product_id: ref("products", { nullable: true, live: false, ...follows }),
    item_type: choice(item_types, { computed: true, default: "custom" }),
    name: text(),
    description: longText({ nullable: true }),
    quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", default: "1.00" }),
    unit_price: money({ currency: "currency_code", signed: true, default: 0 }),
    discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
    discount_amount: amount(),
    /** Net, even if prices include tax. */
    subtotal: amount(),
    tax_class_id: ref("product_tax_classes", { nullable: true, live: false, on_delete: "keep" }),
    ...rateColumns,
    tax_total: amount(),
    total: amount(),
    revenue_group_id: ref("revenue_groups", { nullable: true, live: false, on_delete: "keep" }),
    starts_at: timestamp({ nullable: true }),
    ends_at: timestamp({ nullable: true }),
    sort_order: integer({ min: 0, max: 999_999, default: 0 }),
    /** The deposit this row deducts. */
    deposit_invoice_id: ref("invoices", {
      nullable: true,
      computed: true,
      hidden: true,
      live: false,
      on_delete: "keep"
    }),
    currency_code: currencyOfRow()
  },
  {
    ...ofInvoice,
    entity: "invoice_item",
    lease_block_size: 1_000,
    indexes: [["invoice_id", "sort_order"], ["opportunity_item_id"], ["product_id"]],
    partial_indexes: [{ columns: ["deposit_invoice_id"], where: "deposit_invoice_id is not null" }]
  }
)
export type InvoiceItemRow = RowOf<typeof invoice_items>

/** Payments and refunds: `amount` is positive in both. */
export const payments = table(
  "payments",
  {
    invoice_id: invoiceId(),
    member_id: ref("members", { computed: true, ...follows }),
    kind: choice(payment_kinds, { computed: true, default: "payment" }),
    amount: money({ currency: "currency_code" }),
    currency_code: text({ max: 3, computed: true }),
    method: choice(payment_methods, { default: "other", any_case: true }),
    reference: text({ nullable: true, search: true }),
    notes: longText({ nullable: true, max: 1_000 }),
    /** Reason of the refund. */
    reason: longText({ nullable: true, max: 1_000 }),
    paid_at: timestamp(),
    recorded_by: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    /** Id at the payment provider; a repeated report is recorded once. */
    external_id: text({ nullable: true, computed: true, hidden: true }),
    /** The refunded payment, if given. */
    payment_id: ref("payments", { nullable: true, computed: true, live: false, on_delete: "keep" })
  },
  {
    ...ofInvoice,
    named_by: ["reference"],
    days: ["paid_at"],
    lease_block_size: 100,
    indexes: [["invoice_id", "paid_at"], ["member_id"], ["paid_at"]],
    uniques: [{ columns: ["external_id"], field: "external_id", message: "This payment has been recorded already." }]
  }
)
export type PaymentRow = RowOf<typeof payments>

export const credit_notes = table(
  "credit_notes",
  {
    number: text({ nullable: true, computed: true, max: 80, search: true }),
    status: choice(credit_note_statuses, { computed: true, default: "issued" }),
    invoice_id: invoiceId(),
    member_id: ref("members", { computed: true, ...follows }),
    store_id: ref("stores", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    currency_code: text({ max: 3, computed: true }),
    exchange_rate: exchangeRate(),
    prices_include_tax: boolean({ computed: true, default: false, hidden: true }),
    subtotal: amount(),
    tax_total: amount(),
    total: amount(),
    tax_summary: taxSummary(),
    reason: longText({ nullable: true, max: 1_000 }),
    notes: longText({ nullable: true, max: 5_000 }),
    issued_at: timestamp(),
    billed_to: party(),
    billed_by: party()
  },
  {
    ...ofInvoice,
    named_by: ["number"],
    bookkeeping: ["billed_to", "billed_by"],
    days: ["issued_at"],
    indexes: [
      ["number_folded"],
      ["invoice_id"],
      ["member_id"],
      ["store_id"],
      ["opportunity_id"],
      ["total"],
      ["issued_at"],
      ["created_at"],
      ["updated_at"]
    ]
  }
)
export type CreditNoteRow = RowOf<typeof credit_notes>

export const credit_note_items = table(
  "credit_note_items",
  {
    credit_note_id: ref("credit_notes", { computed: true, live: false, on_delete: "keep" }),
    invoice_id: ref("invoices", { computed: true, live: false, hidden: true, on_delete: "keep" }),
    invoice_item_id: ref("invoice_items", { computed: true, live: false, on_delete: "keep" }),
    name: text({ computed: true }),
    /** Positive; amounts are negative, and positive where a deduction is credited. */
    quantity: decimal({ scale: 2, computed: true, default: "1.00" }),
    unit_price: amount(),
    subtotal: amount(),
    tax_class_id: ref("product_tax_classes", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    ...rateColumns,
    tax_total: amount(),
    total: amount(),
    /** Whether an amount was credited without a quantity. */
    by_amount: boolean({ computed: true, hidden: true, default: false }),
    sort_order: integer({ computed: true, default: 0 }),
    currency_code: currencyOfRow()
  },
  { ...ofInvoice, entity: "credit_note_item", indexes: [["credit_note_id", "sort_order"], ["invoice_item_id"]] }
)
export type CreditNoteItemRow = RowOf<typeof credit_note_items>
