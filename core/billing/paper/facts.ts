/** What documents are drawn from, read from the store and the settings. */
import { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import { baseCurrency, type Settings, settingText } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { members } from "../../members/schema.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { stores } from "../../stores/stores.ts"
import { zoneOf } from "../../values/zone.ts"
import { partiesOf } from "../parties.ts"
import {
  credit_note_items,
  type CreditNoteRow,
  invoice_items,
  type InvoiceRow,
  invoices,
  type NamedParty
} from "../schema.ts"
import type { CreditNotePaper, InvoicePaper } from "./document.ts"
import type { PaperOptions } from "./letter.ts"
import { paperLanguage } from "./words.ts"

export const nobody: NamedParty = {
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
const inOrder = { order: ["sort_order", "id"] }

/** What the settings and the customer say; `logo_sha256`: the content of the picture that is shown. */
export const paperOptions = Effect.fnUntraced(function* (
  { member_id, store_id }: { readonly member_id: number | null; readonly store_id: number | null },
  settings: Settings,
  logo_sha256: string | null = null
): Effect.fn.Return<PaperOptions, Failure, Store> {
  const store = yield* Store
  const set = (key: string): string | null => settingText(settings, "invoicing", key).trim() || null
  const member = member_id === null ? undefined : yield* store.get(members, member_id)
  const place = store_id === null ? undefined : yield* store.get(stores, store_id)
  return {
    // The customer's language, where there are words for it, with the days of the store.
    language: paperLanguage(member?.locale || settingText(settings, "company", "locale")),
    zone: zoneOf(place?.timezone || settingText(settings, "company", "timezone")),
    base_currency: baseCurrency(settings),
    page_size: set("page_size") === "LETTER" ? "LETTER" : "A4",
    accent: set("accent"),
    intro: null,
    terms: set("terms"),
    footer: set("footer"),
    account_holder: set("account_holder"),
    bank_name: set("bank_name"),
    iban: set("iban"),
    bic: set("bic"),
    payment_link: set("payment_link"),
    logo_sha256
  }
})

/** Buyer and seller, as the document names them or, of a draft, as they are now. */
export const namedParties = Effect.fnUntraced(function* (
  row: Parameters<typeof partiesOf>[0],
  settings: Settings
): Effect.fn.Return<{ readonly seller: NamedParty; readonly buyer: NamedParty }, Failure, Store> {
  const { billed_by, billed_to } = yield* partiesOf(row, settings)
  return { seller: billed_by ?? nobody, buyer: billed_to ?? nobody }
})

/** What an invoice is drawn from, in the look that `options` give it. */
export const invoicePaper = Effect.fnUntraced(function* (
  invoice: InvoiceRow,
  settings: Settings,
  options: PaperOptions
): Effect.fn.Return<InvoicePaper, Failure, Store> {
  const store = yield* Store
  const order = invoice.opportunity_id === null ? undefined : yield* store.get(opportunities, invoice.opportunity_id)
  return {
    invoice,
    items: yield* store.find(invoice_items, { invoice_id: invoice.id }, inOrder),
    ...(yield* namedParties(invoice, settings)),
    order: order === undefined ? null : { number: order.number, subject: order.subject },
    options
  }
})

export const creditNotePaper = Effect.fnUntraced(function* (
  credit_note: CreditNoteRow,
  settings: Settings,
  options: PaperOptions
): Effect.fn.Return<CreditNotePaper, Failure, Store> {
  const store = yield* Store
  const invoice = yield* store.get(invoices, credit_note.invoice_id)
  return {
    credit_note,
    items: yield* store.find(credit_note_items, { credit_note_id: credit_note.id }, inOrder),
    invoice: { number: invoice?.number ?? null, issued_at: invoice?.issued_at ?? null },
    ...(yield* namedParties(credit_note, settings)),
    options
  }
})

const plain = (name: string): string => name.replace(/[^\w.-]+/g, "-")
/** `invoice-0000000042`; of a draft, which has no number, its id. */
export const invoiceFileName = ({ id, number }: Pick<InvoiceRow, "id" | "number">): string =>
  `invoice-${plain(number ?? `draft-${id}`)}`
export const creditNoteFileName = ({ id, number }: Pick<CreditNoteRow, "id" | "number">): string =>
  `credit-note-${plain(number ?? String(id))}`
