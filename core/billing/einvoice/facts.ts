/** Reads what an electronic invoice is made from: in a fixed number of queries, whatever the number of rows. */
import { Effect } from "effect"
import { baseCurrency, type Settings, settingText } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { stores } from "../../stores/stores.ts"
import { zoneOf } from "../../values/zone.ts"
import { buyerOf, sellerOf } from "../parties.ts"
import {
  credit_note_items,
  type CreditNoteRow,
  invoice_items,
  type InvoiceRow,
  invoices,
  type NamedParty
} from "../schema.ts"
import { ratesReported, vatReportsNow } from "./rates.ts"
import type { Source } from "./source.ts"

const in_order = { order: ["sort_order", "id"] }

export const invoiceSource = Effect.fnUntraced(function* (invoice: InvoiceRow, settings: Settings) {
  const store = yield* Store
  const items = yield* store.find(invoice_items, { invoice_id: invoice.id }, in_order)
  const deposits = yield* store.getMany(
    invoices,
    items.flatMap(({ deposit_invoice_id }) => deposit_invoice_id ?? [])
  )
  return {
    ...(yield* commonSource(invoice, items, invoice.vat_reports, settings)),
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
export const creditNoteSource = Effect.fnUntraced(function* (note: CreditNoteRow, settings: Settings) {
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
    ...(yield* commonSource(note, items, invoice?.vat_reports ?? null, settings)),
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
  settings: Settings
) {
  const store = yield* Store
  const place = document.store_id === null ? undefined : yield* store.get(stores, document.store_id)
  const hire = document.opportunity_id === null ? undefined : yield* store.get(opportunities, document.opportunity_id)
  const said = (group: string, key: string): string | null => settingText(settings, group, key).trim() || null
  const iban = said("invoicing", "iban")
  const seller = filled(document.billed_by, yield* sellerOf(document.store_id, settings))
  return {
    number: document.number ?? "",
    currency_code: document.currency_code,
    exchange_rate: document.exchange_rate,
    base_currency: baseCurrency(settings),
    member_id: document.member_id,
    subtotal: document.subtotal,
    tax_total: document.tax_total,
    total: document.total,
    hire: windowOf(hire),
    zone: zoneOf(place?.timezone || settingText(settings, "company", "timezone")),
    seller: {
      ...seller,
      name: said("einvoice", "legal_name") ?? seller.name,
      peppol_id: seller.peppol_id ?? said("einvoice", "peppol_id")
    },
    buyer: filled(document.billed_to, yield* buyerOf(document.member_id)),
    account:
      iban === null
        ? null
        : {
            iban: iban.replace(/\s+/g, "").toUpperCase(),
            bic: said("invoicing", "bic")?.toUpperCase() ?? null,
            holder: said("invoicing", "account_holder")
          },
    ...ratesReported(vat_reports, yield* vatReportsNow(items, settings))
  } satisfies Partial<Source>
})

const windowOf = (
  hire: { readonly starts_at: string | null; readonly ends_at: string | null } | undefined
): Source["hire"] =>
  hire === undefined || hire.starts_at === null || hire.ends_at === null
    ? null
    : { starts_at: hire.starts_at, ends_at: hire.ends_at }

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
/** As it was when the document was issued; what it did not say then, as it is now: else nothing could be mended. */
const filled = (then: NamedParty | null, now: NamedParty | null): NamedParty => ({
  ...nobody,
  ...now,
  ...Object.fromEntries(Object.entries(then ?? {}).filter(([, value]) => value !== null && value !== ""))
})
