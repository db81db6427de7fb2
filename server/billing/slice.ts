/** What billing needs a server for: PDF, mail, what is due at certain times, and payments told from outside. */
import { Context, Effect } from "effect"
import { InvoiceMailer } from "../../core/billing/mailing.ts"
import type { ServerSlice } from "../server-slice.ts"
import { accountingEndpoints } from "./accounting.ts"
import { accounting_exports } from "./accounting-schema.ts"
import { checkInvoicing, invoicingGiven } from "./check-settings.ts"
import { overdueSweep } from "./overdue.ts"
import { invoiceMailOffer, mailInvoice } from "./mail.ts"
import { creditNotePdf, invoicePdf } from "./pdf.ts"
import { toldPayments } from "./told-payments.ts"

export const billingServerSlice: ServerSlice = {
  name: "billing_server",
  server_tables: [accounting_exports],
  endpoints: [invoicePdf, creditNotePdf, ...accountingEndpoints],
  around: (call, next) => {
    const given = invoicingGiven(call)
    return given === undefined ? next : Effect.andThen(checkInvoicing(given), next)
  },
  jobs: [mailInvoice],
  timed: [overdueSweep],
  inbound: toldPayments,
  services: ({ jobs }) => Context.make(InvoiceMailer, (mail) => Effect.asVoid(jobs.offer(invoiceMailOffer(mail))))
}
