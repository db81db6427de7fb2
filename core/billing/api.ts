/** The billing slice: invoices, payments, refunds and credit notes. */
import { choice, command, created, crudResource, forbidden, get, hasOnePermission, integer } from "../kernel/index.ts"
import { json, later, lockStreams, longText, ok, reaction, ref, renderById, Shown, Store } from "../kernel/index.ts"
import { boolean, text, viewContext, viewManageAccess, wholeNumber, withRules } from "../kernel/index.ts"
import type { Endpoint, Input, JsonObject, SettingGroups, Slice } from "../kernel/index.ts"
import { checkoutEndpoints } from "./checkout/api.ts"
import { eInvoiceEndpoints, eInvoiceSettings } from "./einvoice/api.ts"
import { billedOfOpportunities, creditNoteResource, invoiceResource, paymentResource } from "./state/resources.ts"
import { billingEvents, invoiceIssued, invoiceVoided } from "./state/events.ts"
import { invoiceEndpoints } from "./invoices/query.ts"
import { emailInvoice } from "./mailing.ts"
import { digits_default, numbering_group } from "../setup/settings/groups.ts"
import {
  credit_note_items,
  credit_notes,
  invoice_items,
  type InvoiceRow,
  invoices,
  payments,
  standing_statuses
} from "./state/tables.ts"
import { Effect, Result, Schema } from "effect"
import { opportunityStream } from "../orders/opportunities/events/event-families.ts"
import { headerUpdated } from "../orders/opportunities/events/header.ts"
import { opportunities } from "../orders/opportunities/tables/index.ts"
import { type MovedResult, no_payment_named, recordPayment, recordRefund, type RefundFacts } from "./payments/decide.ts"
import { credit_notes_path, creditFields, one, path, paymentFields, read, refundFields, write } from "./state/fields.ts"
import { deductedBy } from "./invoices/facts.ts"
import type { CreditFacts, CreditResult } from "./credits/decide.ts"

// Credit notes: the list, one of them, and issuing one for an invoice (rules/billing 1.5).

const creditNoteReads = crudResource({
  resource: creditNoteResource,
  fields: {},
  path: credit_notes_path,
  access: viewManageAccess("credit-notes", "invoices.view", null),
  only: ["list", "show"]
}).endpoints

const crediting = later(() => import("./credits/decide.ts"))

const credit_result: Schema.Codec<CreditResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, credit_note_id: wholeNumber })
)
const is = (value: unknown): boolean => value !== null && value !== undefined
const oneOfThem = ({ amount, items }: JsonObject): { readonly [field: string]: ReadonlyArray<string> } =>
  is(items) && is(amount)
    ? { amount: ["Give items or an amount, not both; with neither all that is left is credited."] }
    : {}
const rows_of_credit_notes = [["include", "items"]] as const

const creditFacts = Effect.fnUntraced(function* (invoice: InvoiceRow) {
  const facts: CreditFacts = {
    invoice,
    items: yield* Store.find(invoice_items, { invoice_id: invoice.id }, { order: ["sort_order", "id"] }),
    credited: yield* Store.find(credit_note_items, { invoice_id: invoice.id }, { order: ["id"] }),
    deducted_by: yield* deductedBy(invoice)
  }
  return facts
})

const credit = command("POST", `${path}/{id}/credit_notes`, {
  answer: { credit_note: Shown.row(() => creditNoteResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.credit",
  summary: "Issue a credit note for rows, an amount or the whole remainder",
  ability: write,
  permission: "invoices.credit",
  params: one,
  fields: creditFields,
  check: oneOfThem,
  result: credit_result,
  facts: (input) => withRules(crediting, () => creditFacts(input.rows.id)),
  decide: ({ known, rules }, input, context) => rules.issueCreditNote(known, input.values, context),
  respond: ({ id, credit_note_id }, input) =>
    Effect.map(
      Effect.all({
        note: renderById(creditNoteResource, credit_note_id, rows_of_credit_notes, viewContext(input)),
        invoice: renderById(invoiceResource, id, input.query, viewContext(input))
      }),
      ({ note, invoice }) => created({ credit_note: note.credit_note, invoice: invoice.invoice })
    )
})

// The credit draft of an opportunity: what is billed beyond its total (rules/billing 1.10).

const drafting = later(() => import("./credits/draft.ts"))
const of_opportunity = { id: { table: opportunities } } as const
const seesOrders = {
  authorize: ({ viewer }: Pick<Input, "viewer">) =>
    hasOnePermission(viewer, "opportunities.view")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission opportunities.view."))
}
const money = () => text({ describe: "Money: a decimal string in the opportunity's currency" })
export const credit_draft = Shown.keys({
  opportunity_id: integer(),
  currency_code: text(),
  subtotal: money(),
  tax_total: money(),
  total: money(),
  left_out: text({ describe: "Overbilled amount of invoices in other currencies, not in the draft; before tax" }),
  items: Shown.objects({
    invoice_id: integer(),
    invoice_number: text({ nullable: true }),
    invoice_item_id: integer(),
    name: text(),
    amount: text({ describe: "Amount to credit before tax, as items of a credit note take it" }),
    tax_total: money()
  })
})
const credit_drafts = {
  fields: {
    store_id: ref("stores", { nullable: true }),
    member_id: ref("members", { nullable: true }),
    page: integer({ min: 1, max: 1_000_000, default: 1, describe: "Page number, from 1" }),
    per_page: integer({ min: 1, max: 500, default: 50, describe: "Rows per page" })
  },
  answer: {
    credit_drafts: Shown.objects({
      number: text({ nullable: true }),
      subject: text(),
      member_name: text({ nullable: true }),
      beyond_total: text({ describe: "Billed beyond the opportunity's total, before tax" }),
      billed_total: money(),
      currency_code: text(),
      opportunity_id: integer(),
      member_id: integer({ nullable: true }),
      store_id: integer({ nullable: true })
    }),
    meta: Shown.keys({ total: integer(), per_page: integer(), page: integer() })
  }
}
const showDraft = get("/api/v1/opportunities/{id}/credit_draft", {
  answer: { credit_draft },
  name: "opportunities.credit_draft",
  summary: "Show what invoices bill beyond an opportunity's total",
  ...read,
  ...seesOrders,
  params: of_opportunity,
  run: Effect.fnUntraced(function* (input) {
    const rules = yield* drafting
    return ok({ credit_draft: yield* rules.creditDraft(input.rows.id) })
  })
})
const issueDraft = command("POST", "/api/v1/opportunities/{id}/credit_notes", {
  answer: { credit_notes: Shown.rows(() => creditNoteResource) },
  success_status: 201,
  name: "opportunities.credit",
  summary: "Issue the credit draft: a credit note per invoice that bills beyond the total",
  ability: write,
  permission: "invoices.credit",
  ...seesOrders,
  params: of_opportunity,
  fields: { reason: creditFields.reason, notes: creditFields.notes, issued_at: creditFields.issued_at },
  creates: [credit_notes, credit_note_items],
  result: Shown.keys({ id: integer(), credit_note_ids: Shown.list(integer()) }),
  facts: ({ rows }) => withRules(drafting, (rules) => rules.draftFacts(rows.id)),
  decide: ({ known, rules }, input, context) => rules.issueDraft(input.rows.id, known, input.values, context),
  respond: ({ credit_note_ids }, input) =>
    Effect.map(
      Effect.forEach(credit_note_ids, (id) =>
        renderById(creditNoteResource, id, rows_of_credit_notes, viewContext(input))
      ),
      (notes) => created({ credit_notes: notes.map((note) => note.credit_note) })
    )
})

const listDrafts = get("/api/v1/credit_drafts", {
  ...credit_drafts,
  name: "credit_drafts.list",
  summary: "List credit drafts: opportunities invoiced above their total, newest first",
  ...read,
  ...seesOrders,
  run: Effect.fnUntraced(function* (input) {
    const { page = 1, per_page = 50 } = input.values
    const { drafts, total } = yield* (yield* drafting).listDrafts(input.values)
    return ok({ credit_drafts: drafts, meta: { total, per_page, page } })
  })
})

const creditEndpoints: ReadonlyArray<Endpoint> = [credit, showDraft, issueDraft, listDrafts]

// Endpoints of payments and refunds (rules/billing 1.4). Writers of one invoice wait for each other.

const record = { ability: "payments:write", permission: "payments.record" } as const
const result: Schema.Codec<MovedResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, payment_id: wholeNumber })
)

/** Response of a payment or refund: it and the updated invoice, as callers usually need both. */
const both = ({ id, payment_id }: MovedResult, input: Input) =>
  Effect.all({
    row: renderById(paymentResource, payment_id, [], viewContext(input)),
    invoice: renderById(invoiceResource, id, input.query, viewContext(input))
  })

const refundFacts = Effect.fnUntraced(function* (payment_id: number | null): Store.Reads<RefundFacts> {
  const payment = payment_id === null ? undefined : yield* Store.get(payments, payment_id)
  if (payment === undefined) return no_payment_named
  const moved = yield* Store.find(payments, { invoice_id: payment.invoice_id })
  return {
    payment,
    refunded: moved.filter((one) => one.payment_id === payment.id).reduce((sum, { amount }) => sum + amount, 0)
  }
})

const pay = command("POST", `${path}/{id}/payments`, {
  answer: { payment: Shown.row(() => paymentResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.pay",
  summary: "Record a payment",
  ...record,
  params: one,
  fields: paymentFields,
  result,
  facts: () => Effect.void,
  decide: (_facts, input, context) => recordPayment(input.rows.id, input.values, context),
  respond: (done, input) =>
    Effect.map(both(done, input), ({ row, invoice }) => created({ payment: row.payment, invoice: invoice.invoice }))
})
const refund = command("POST", `${path}/{id}/refunds`, {
  answer: { refund: Shown.row(() => paymentResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.refund",
  summary: "Record a refund",
  ...record,
  params: one,
  fields: refundFields,
  result,
  facts: ({ values }) => refundFacts(values.payment_id ?? null),
  decide: (facts, input, context) => recordRefund(input.rows.id, facts, input.values, context),
  respond: (done, input) =>
    Effect.map(both(done, input), ({ row, invoice }) => created({ refund: row.payment, invoice: invoice.invoice }))
})

const paymentEndpoints: ReadonlyArray<Endpoint> = [pay, refund]

// Effects of issuing and voiding on the opportunity: its `invoiced` flag (rules/rulings, `invoiced` flag).

/** An opportunity is invoiced while it has an issued standard invoice; deposits and proformas do not count. */
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

// Settings of invoices, and of the accounts they are posted to.

const optional = { nullable: true, on_null: "clear" } as const

/** A setting of account or tax codes by key: `{"3": "4010"}`. */
const codes = (describe: string) => json<JsonObject>({ default: {}, describe })

const billingSettings = {
  invoicing: {
    account_holder: text({ ...optional, max: 70, describe: "Account holder; default: the company's name" }),
    bank_name: text({ ...optional }),
    iban: text({ ...optional, max: 42, describe: "IBAN on invoices; in EUR, with a payment QR code for banking apps" }),
    bic: text({ ...optional, max: 11 }),
    payment_link: text({
      ...optional,
      max: 1000,
      describe: "Payment URL with {number}, {amount} and {currency}: https://pay.example/?ref={number}"
    }),
    terms: longText({ ...optional, max: 5_000, describe: "Terms on invoices; layouts may override" }),
    footer: longText({ ...optional, max: 500, describe: "Page footer, up to 6 lines" }),
    logo_attachment_id: integer({ ...optional, min: 1, describe: "Id of the logo's attachment: PNG, JPEG or SVG" }),
    accent: text({ ...optional, max: 7, describe: "Colour of headings and rules, such as #1f4e79" }),
    page_size: choice({ A4: "A4", LETTER: "Letter" }, { default: "A4" }),
    mail_subject: text({
      ...optional,
      max: 255,
      describe: "Subject of invoice mail, with fields such as {{ invoice.number }}"
    }),
    mail_text: longText({ ...optional, max: 5_000, describe: "Text of invoice mail, with fields as in the subject" })
  },
  accounting: {
    receivables_account: text({ default: "1100", max: 50, required: true }),
    revenue_account: text({
      default: "4000",
      max: 50,
      required: true,
      describe: "Account for rows whose revenue group has no account, or without a group"
    }),
    revenue_accounts: codes('Accounts by revenue group id: {"3": "4010"}'),
    tax_account: text({ default: "2200", max: 50, required: true }),
    tax_code: text({ default: "", max: 50, describe: "Accounting code for tax rates without one of their own" }),
    tax_codes: codes('Codes by tax rate id: {"1": "20% (VAT on Income)"}'),
    payment_account: text({
      default: "1200",
      max: 50,
      required: true,
      describe: "Account for payment methods without one of their own"
    }),
    payment_accounts: codes('Accounts by payment method: {"cash": "1010", "card": "1220"}')
  }
} satisfies SettingGroups

// Format of document numbers: a prefix and a number of digits, for each kind (rules/billing 1.3).

const prefix = () => text({ default: "", max: 40, describe: "Prefix of the number; {store} becomes its id" })
const digits = () =>
  integer({ default: digits_default, min: 1, max: 20, describe: "Minimum digits, zero-padded: 4 gives 0044" })
const per_store = () => boolean({ default: false, describe: "Number each store separately" })
const numberingSettings = {
  [numbering_group]: {
    "opportunity.prefix": prefix(),
    "opportunity.digits": integer({
      nullable: true,
      on_null: "clear",
      min: 1,
      max: 20,
      describe: "Minimum digits; null uses opportunities.number_pad"
    }),
    "invoice.prefix": prefix(),
    "invoice.digits": digits(),
    "invoice.per_store": per_store(),
    "proforma.prefix": prefix(),
    "proforma.digits": digits(),
    "proforma.per_store": per_store(),
    "credit_note.prefix": prefix(),
    "credit_note.digits": digits(),
    "credit_note.per_store": per_store(),
    "purchase_order.prefix": prefix(),
    "purchase_order.digits": digits(),
    "purchase_order.per_store": per_store(),
    "document.prefix": prefix(),
    "document.digits": digits(),
    "document.per_store": per_store()
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
    ...(creditNoteReads ?? []),
    ...paymentEndpoints,
    ...creditEndpoints,
    ...eInvoiceEndpoints,
    emailInvoice
  ],
  settings: { ...numberingSettings, ...billingSettings, ...eInvoiceSettings },
  react: [invoicedFlag],
  includes: { opportunities: { billing: billedOfOpportunities } }
}
