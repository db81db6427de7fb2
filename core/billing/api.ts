/** The billing slice: invoices, payments, refunds and credit notes. */
import { choice, integer, json, type JsonObject, longText, text } from "../kernel/fields/field.ts"
import type { SettingGroups } from "../kernel/events/settings.ts"
import type { Slice } from "../kernel/endpoints/endpoint.ts"
import { checkoutEndpoints } from "./checkout/api.ts"
import { creditEndpoints, creditNoteReads } from "./credits/api.ts"
import { eInvoiceEndpoints, eInvoiceSettings } from "./einvoice/api.ts"
import { billedOfOpportunities, creditNoteResource, invoiceResource, paymentResource } from "./state/resources.ts"
import { billingEvents, invoiceIssued, invoiceVoided } from "./state/events.ts"
import { invoiceEndpoints } from "./invoices/query.ts"
import { emailInvoice } from "./mailing.ts"
import { numberingSettings } from "../setup/settings/numbering.ts"
import { paymentEndpoints } from "./payments/api.ts"
import {
  credit_note_items,
  credit_notes,
  invoice_items,
  invoices,
  payments,
  standing_statuses
} from "./state/tables.ts"
import { Effect, Result } from "effect"
import { lockStreams } from "../kernel/runtime/engine.ts"
import { reaction } from "../kernel/events/react.ts"
import { Store } from "../kernel/store/store.ts"
import { opportunityStream } from "../orders/opportunities/events/event-families.ts"
import { headerUpdated } from "../orders/opportunities/events/header.ts"
import { opportunities } from "../orders/opportunities/tables/opportunities.ts"

// Effects of issuing and voiding on the opportunity: its `invoiced` flag (rules/rulings, `invoiced` flag).

/** An opportunity is invoiced while a standard invoice of it stands; deposits and proformas do not count. */
const invoicedFlag = reaction({
  on: [invoiceIssued, invoiceVoided],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const ids = events.map(({ data }) => data.id)
      const rows = (yield* Store.getMany(invoices, ids)).filter(
        (row) => row.type === "standard" && row.opportunity_id !== null
      )
      const opportunity_ids = [...new Set(rows.flatMap((row) => row.opportunity_id ?? []))]
      yield* lockStreams(opportunity_ids.map(opportunityStream))
      const standing =
        opportunity_ids.length === 0
          ? []
          : yield* Store.find(invoices, {
              opportunity_id: opportunity_ids,
              type: "standard",
              status: [...standing_statuses],
              deleted_at: null
            })
      return { opportunities: yield* Store.getMany(opportunities, opportunity_ids), rows, standing }
    }),
  decide: ({ events }, { opportunities: named, rows, standing }) => {
    const status = new Map(events.map(({ data }) => [data.id, data.set.status]))
    return Result.succeed(
      named.flatMap((opportunity) => {
        const own = (row: { readonly opportunity_id: number | null }): boolean => row.opportunity_id === opportunity.id
        const invoiced =
          rows.some((row) => own(row) && status.get(row.id) !== "voided") ||
          standing.some((row) => own(row) && !status.has(row.id))
        return invoiced === opportunity.invoiced ? [] : [headerUpdated(opportunity, { invoiced })]
      })
    )
  }
})

// Settings of what invoices say beside their rows, and of the accounts that money is posted to.

const optional = { nullable: true, on_null: "clear" } as const

/** Account codes by something else's id: `{"3": "4010"}`. */
const codes = (describe: string) => json<JsonObject>({ default: {}, describe })

const billingSettings = {
  invoicing: {
    account_holder: text({ ...optional, max: 70, describe: "Without it the company's name" }),
    bank_name: text({ ...optional }),
    iban: text({
      ...optional,
      max: 42,
      describe: "Printed on invoices; those in EUR get a code that banking apps read"
    }),
    bic: text({ ...optional, max: 11 }),
    payment_link: text({
      ...optional,
      max: 1000,
      describe: "Address to pay at, with {number}, {amount} and {currency}: https://pay.example/?ref={number}"
    }),
    terms: longText({ ...optional, max: 5_000, describe: "Printed below the sums of every invoice" }),
    footer: longText({ ...optional, max: 500, describe: "At the foot of each page, one line below the other" }),
    logo_attachment_id: integer({ ...optional, min: 1, describe: "An attachment: PNG, JPEG or SVG" }),
    accent: text({ ...optional, max: 7, describe: "Colour of headings and lines: #1f4e79" }),
    page_size: choice({ A4: "A4", LETTER: "Letter" }, { default: "A4" }),
    mail_subject: text({
      ...optional,
      max: 255,
      describe: "Of the mail with an invoice, with fields such as {{ invoice.number }}"
    }),
    mail_text: longText({ ...optional, max: 5_000, describe: "Of the mail with an invoice, with the same fields" })
  },
  accounting: {
    receivables_account: text({ default: "1100", max: 50, required: true }),
    revenue_account: text({
      default: "4000",
      max: 50,
      required: true,
      describe: "For rows without a group of their own"
    }),
    revenue_accounts: codes('By id of the revenue group: {"3": "4010"}'),
    tax_account: text({ default: "2200", max: 50, required: true }),
    tax_code: text({ default: "", max: 50, describe: "For rates without a code of their own" }),
    tax_codes: codes('By id of the tax rate: {"1": "20% (VAT on Income)"}'),
    payment_account: text({
      default: "1200",
      max: 50,
      required: true,
      describe: "For methods without one of their own"
    }),
    payment_accounts: codes('By method of payment: {"cash": "1010", "card": "1220"}')
  }
} satisfies SettingGroups

export const billingSlice: Slice = {
  name: "billing",
  tables: [invoices, invoice_items, payments, credit_notes, credit_note_items],
  resources: [invoiceResource, creditNoteResource, paymentResource],
  events: billingEvents,
  endpoints: [
    ...invoiceEndpoints,
    ...checkoutEndpoints,
    ...creditNoteReads,
    ...paymentEndpoints,
    ...creditEndpoints,
    ...eInvoiceEndpoints,
    emailInvoice
  ],
  settings: { ...numberingSettings, ...billingSettings, ...eInvoiceSettings },
  react: [invoicedFlag],
  includes: { opportunities: { billing: billedOfOpportunities } }
}
