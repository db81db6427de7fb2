/** Billing as a whole: invoices, payments, refunds and credit notes. */
import type { Slice } from "../kernel/catalogue.ts"
import { creditNoteReads } from "./credits/query.ts"
import { billingEvents } from "./events.ts"
import { invoiceReads } from "./invoices/query.ts"
import { emailInvoice } from "./mailing.ts"
import { creditNoteResource, invoiceResource } from "./resources.ts"
import { credit_note_items, credit_notes, invoice_items, invoices, payments } from "./schema.ts"
import { billingSettings } from "./settings.ts"

export const billingSlice: Slice = {
  name: "billing",
  tables: [invoices, invoice_items, payments, credit_notes, credit_note_items],
  resources: [invoiceResource, creditNoteResource],
  events: billingEvents,
  settings: billingSettings,
  endpoints: [...invoiceReads, ...creditNoteReads, emailInvoice]
}
