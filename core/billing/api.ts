/** Billing as a whole: invoices, payments, refunds and credit notes. */
import type { Slice } from "../kernel/catalogue.ts"
import { checkoutEndpoints } from "./checkout/api.ts"
import { creditEndpoints } from "./credits/api.ts"
import { creditNoteReads } from "./credits/query.ts"
import { eInvoiceEndpoints } from "./einvoice/api.ts"
import { eInvoiceSettings } from "./einvoice/settings.ts"
import { billingEvents } from "./events.ts"
import { invoiceEndpoints } from "./invoices/api.ts"
import { invoicedFlag } from "./invoices/reactions.ts"
import { numberingSettings } from "./numbering/series.ts"
import { paymentEndpoints } from "./payments/api.ts"
import { creditNoteResource, invoiceResource } from "./resources.ts"
import { credit_note_items, credit_notes, invoice_items, invoices, payments } from "./schema.ts"

export const billingSlice: Slice = {
  name: "billing",
  tables: [invoices, invoice_items, payments, credit_notes, credit_note_items],
  resources: [invoiceResource, creditNoteResource],
  events: billingEvents,
  endpoints: [
    ...invoiceEndpoints,
    ...checkoutEndpoints,
    ...creditNoteReads,
    ...paymentEndpoints,
    ...creditEndpoints,
    ...eInvoiceEndpoints
  ],
  settings: { ...numberingSettings, ...eInvoiceSettings },
  react: [invoicedFlag]
}
