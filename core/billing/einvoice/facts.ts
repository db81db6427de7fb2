/** Reads what an electronic invoice is made from: in a fixed number of queries, whatever the number of rows. */
import { Effect } from "effect"
import type { Settings } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { buyerOf, sellerOf } from "../parties.ts"
import {
  credit_note_items,
  type CreditNoteRow,
  invoice_items,
  type InvoiceRow,
  invoices,
  type NamedParty
} from "../schema.ts"
import { eInvoiceFactsNow } from "./at-issue.ts"
import { ratesReported, vatReportsNow } from "./rates.ts"
import type { Source } from "./source.ts"

export interface Reading {
  readonly settings: Settings
  /** With what was empty at the issue taken as it is now. */
  readonly is_mended: boolean
}

const in_order = { order: ["sort_order", "id"] }

export const invoiceSource = Effect.fnUntraced(function* (invoice: InvoiceRow, reading: Reading) {
  const store = yield* Store
  const items = yield* store.find(invoice_items, { invoice_id: invoice.id }, in_order)
  const deposits = yield* store.getMany(
    invoices,
    items.flatMap(({ deposit_invoice_id }) => deposit_invoice_id ?? [])
  )
  return {
    ...(yield* commonSource(invoice, items, invoice.vat_reports, reading)),
    kind: invoice.type === "deposit" ? "deposit" : "invoice",
    issued_at: invoice.issued_at ?? invoice.created_at,
    due_at: invoice.due_at,
    prices_include_tax: invoice.prices_include_tax,
    notes: [invoice.subject, invoice.notes],
    reference: invoice.reference,
    rows: items,
    preceding: deposits.flatMap(({ issued_at, number }) => (number === null ? [] : [{ number, issued_at }]))
  } satisfies Source
})
export const creditNoteSource = Effect.fnUntraced(function* (note: CreditNoteRow, reading: Reading) {
  const store = yield* Store
  const items = yield* store.find(credit_note_items, { credit_note_id: note.id }, in_order)
  const invoice = yield* store.get(invoices, note.invoice_id)
  const credited = new Map(
    (yield* store.getMany(
      invoice_items,
      items.map(({ invoice_item_id }) => invoice_item_id)
    )).map((row) => [row.id, row])
  )
  return {
    ...(yield* commonSource(note, items, invoice?.vat_reports ?? null, reading)),
    kind: "credit_note",
    issued_at: note.issued_at,
    due_at: null,
    prices_include_tax: note.prices_include_tax,
    notes: [note.reason, note.notes],
    reference: invoice?.reference ?? null,
    rows: items.map((row) => {
      const of = credited.get(row.invoice_item_id)
      return {
        ...row,
        item_type: of?.item_type ?? "custom",
        description: of?.description ?? null,
        discount_percent: null,
        discount_amount: 0,
        starts_at: of?.starts_at ?? null,
        ends_at: of?.ends_at ?? null
      }
    }),
    preceding: invoice?.number == null ? [] : [{ number: invoice.number, issued_at: invoice.issued_at }]
  } satisfies Source
})

type Document = InvoiceRow | CreditNoteRow
const commonSource = Effect.fnUntraced(function* (
  document: Document,
  items: ReadonlyArray<{ readonly tax_rate_id: number | null }>,
  vat_reports: InvoiceRow["vat_reports"],
  { is_mended, settings }: Reading
) {
  const { billed_by, billed_to } = document
  const now = yield* eInvoiceFactsNow(document, settings)
  const then = billed_by?.einvoice
  const { account, base_currency, hire, member_id, zone } = then ?? now
  const isAsIssued = then !== undefined && !is_mended
  const seller = filled(billed_by, isAsIssued ? null : yield* sellerOf(document.store_id, settings))
  const said = isAsIssued ? then : now
  const legal_name = then?.legal_name ?? (then !== undefined && billed_by?.name ? null : said.legal_name)
  return {
    number: document.number ?? "",
    currency_code: document.currency_code,
    exchange_rate: document.exchange_rate,
    base_currency,
    member_id,
    subtotal: document.subtotal,
    tax_total: document.tax_total,
    total: document.total,
    hire,
    zone,
    seller: {
      ...seller,
      name: legal_name ?? seller.name,
      peppol_id: seller.peppol_id ?? then?.peppol_id ?? said.peppol_id
    },
    buyer: filled(billed_to, isAsIssued ? null : yield* buyerOf(document.member_id)),
    account,
    ...ratesReported(vat_reports, yield* vatReportsNow(items, settings))
  } satisfies Partial<Source>
})

const nobody: NamedParty = {
  name: "",
  street: null,
  city: null,
  county: null,
  postcode: null,
  country_code: null,
  tax_number: null,
  registration_number: null,
  peppol_id: null,
  email: null,
  phone: null,
  account_number: null
}
/** As it was when the document was issued, and what it did not say then from `now`. */
const filled = (then: NamedParty | null, now: NamedParty | null): NamedParty => ({
  ...nobody,
  ...now,
  ...Object.fromEntries(Object.entries(then ?? {}).filter(([, value]) => value !== null && value !== ""))
})
