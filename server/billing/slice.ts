/** Server part of billing: PDF, mail, scheduled work, and payments reported by providers. */
import { Context, Effect } from "effect"
import { attachments } from "../../core/office/attachments/attachables.ts"
import { isBic, isIban, mail_fields, paymentLinkFault } from "../../core/billing/paper/mail-text.ts"
import { choice, CommandRuntime, get, isJsonObject, lockStreams, notFound } from "../../core/kernel/index.ts"
import { settingText, Store } from "../../core/kernel/index.ts"
import type { Answer, Failure, JsonObject, Settings, SharedDraft } from "../../core/kernel/index.ts"
import { unknownFields } from "../../core/pricing/print/texts.ts"
import type { ServerCall, ServerSlice } from "../ports/server-slice.ts"
import type { JobKind, JobOffer } from "../ports/server-context.ts"
import { GivenUp, jobKind, jobOffer, recordByServer, serverContext, sweep } from "../ports/server-context.ts"
import { type InvoiceMail, invoiceMail, InvoiceMailer } from "../../core/billing/mailing.ts"
import { invoices } from "../../core/billing/state/tables.ts"
import type { DocumentSource, PreparedDocument } from "../../core/documents/content/prepare.ts"
import { document_types, typeOfInvoice } from "../../core/documents/schema.ts"
import {
  contents,
  drawingRefused,
  drawn,
  filledDocument,
  filledMail,
  mailDocument,
  mailing,
  senderOf
} from "../documents/papers/filled.ts"
import { invoiceChange, invoiceOverdue, invoiceStream } from "../../core/billing/state/events.ts"
import { isToBeTold } from "../../core/billing/accounting/postings.ts"
import { invalidSettings } from "../../core/setup/settings/api.ts"
import { stores } from "../../core/setup/stores.ts"
import { instantOf, zoneOf } from "../../core/values/time.ts"
import {
  credit_notes_path,
  one,
  one_credit_note,
  path,
  read,
  read_credit_notes
} from "../../core/billing/state/fields.ts"
import { drawing_weight } from "../../core/documents/lifecycle-api.ts"
import { tellPdf } from "../delivery/webhooks/fan-out.ts"
import { queuedNow } from "../delivery/mail/transport.ts"
import { accounting_exports, accountingEndpoints } from "./accounting.ts"
import { toldPayments } from "./webhook-payments.ts"

// Settings of invoices as a server checks them: texts with fields, the account, the address to pay at, the logo.

type Errors = { [field: string]: ReadonlyArray<string> }

/** Changed invoice settings in a call; undefined if it changes none. */
const invoicingGiven = ({ endpoint, params, request }: ServerCall): JsonObject | undefined => {
  if (endpoint.name !== "settings.update" || params["group"] !== "invoicing" || !isJsonObject(request.body))
    return undefined
  const given = request.body["settings"]
  return isJsonObject(given) ? given : undefined
}

const textIn = (given: JsonObject, key: string): string => {
  const value = given[key]
  return typeof value === "string" ? value.trim() : ""
}

const checkInvoicing = Effect.fnUntraced(function* (given: JsonObject) {
  const errors: Errors = {}
  const iban = textIn(given, "iban")
  if (iban !== "" && !isIban(iban))
    errors["iban"] = ["The iban field must be an IBAN: its two check digits do not fit the rest."]
  const bic = textIn(given, "bic")
  if (bic !== "" && !isBic(bic)) errors["bic"] = ["The bic field must have 8 or 11 signs, such as BYLADEM1001."]
  const link = textIn(given, "payment_link")
  const fault = link === "" ? undefined : paymentLinkFault(link)
  if (fault !== undefined) errors["payment_link"] = [`The payment_link field ${fault}`]
  const accent = textIn(given, "accent")
  if (accent !== "" && !/^#[0-9a-f]{6}$/.test(accent))
    errors["accent"] = ["The accent field must be a colour such as #1f4e79, in small letters."]
  yield* checkTexts(given, errors)
  yield* checkLogo(given, errors)
  if (Object.keys(errors).length === 0) return
  return yield* invalidSettings(errors)
})

const checkTexts = Effect.fnUntraced(function* (given: JsonObject, errors: Errors) {
  const { renderer } = yield* serverContext
  for (const key of ["mail_subject", "mail_text"]) {
    const fragment = textIn(given, key)
    if (fragment === "") continue
    const found = yield* renderer.fieldsOf({ [key]: fragment }).pipe(
      Effect.catchTag("TextInvalid", ({ faults, message }) => {
        const [first] = faults
        errors[key] = [`The ${key} field cannot be read: ${first?.message ?? message}`]
        return Effect.succeed({ [key]: [] })
      }),
      // A busy server saves without the check; fields that cannot be filled later are replaced by the plain text.
      Effect.catch(() => Effect.succeed({ [key]: [] }))
    )
    const [unknown] = unknownFields(found[key] ?? [], mail_fields)
    if (unknown !== undefined)
      errors[key] = [`The ${key} field names ${unknown}, which there is not. There are: ${mail_fields.join(", ")}.`]
  }
})

const pictures = ["image/png", "image/jpeg", "image/svg+xml"]
const checkLogo = Effect.fnUntraced(function* (given: JsonObject, errors: Errors) {
  const id = given["logo_attachment_id"]
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return
  const row = yield* Store.get(attachments, id)
  if (row === undefined || row.deleted_at !== null)
    errors["logo_attachment_id"] = ["The logo_attachment_id field must be the id of an attachment."]
  else if (!pictures.includes(row.mime_type))
    errors["logo_attachment_id"] = ["The attachment of the logo must be a PNG, JPEG or SVG picture."]
})

// The durable job that draws an invoice and hands it to the mail queue (rules/billing 1.3).

/** Subject and text of the mail: as given, else from the layout or the settings, else the default. */
const textsOf = Effect.fnUntraced(function* (mail: InvoiceMail, prepared: PreparedDocument) {
  if (mail.subject !== null && mail.message !== null) return { subject: mail.subject, text: mail.message }
  const filled = yield* filledMail(prepared)
  return { subject: mail.subject ?? filled.subject, text: mail.message ?? filled.text }
})

const mailInvoice: JobKind<InvoiceMail> = jobKind({
  ...mailing,
  kind: "invoices.mail",
  meaning: "renders an invoice and queues the mail with it",
  data: invoiceMail,
  run: Effect.fnUntraced(function* (mail) {
    const invoice = yield* Store.get(invoices, mail.invoice_id)
    if (invoice === undefined) return yield* new GivenUp({ message: "The invoice is gone." })
    const { cc, emailed_at: now, sender_user_id, to } = mail
    return yield* mailDocument(
      {
        document_type: typeOfInvoice(invoice),
        documentable_id: invoice.id,
        store_id: null,
        document_number: null,
        now
      },
      "The invoice is gone.",
      { id: `invoice.${invoice.id}.${now}`, store_id: invoice.store_id, sender_user_id, to, cc },
      (prepared) => textsOf(mail, prepared)
    )
  })
})

const invoiceMailOffer = (mail: InvoiceMail): JobOffer<InvoiceMail> =>
  jobOffer(mailInvoice, mail, { subject: `${mail.invoice_id}.${mail.emailed_at}`, owner_id: senderOf(mail) })

// The sweep that records `invoice.overdue`. It looks every hour, as days end at another hour in each zone, and at every
// start (rules/billing 1.3).

/** Ids of invoices that may be overdue in some time zone and are not yet recorded as overdue. */
const candidates = Effect.fnUntraced(function* (now_millis: number) {
  const { sql } = yield* Store
  const rows = yield* sql<{ id: number | string }>`
    select id from invoices where status in ('issued', 'partially_paid') and due_at < ${instantOf(now_millis)}
    and overdue_told_at is null and deleted_at is null order by id`
  return rows.map(({ id }) => Number(id))
})

/** Returns the time zone of a store, by id; null gives the company's. */
const zones = Effect.gen(function* () {
  const settings = yield* (yield* CommandRuntime).settings
  const company = settingText(settings, "company", "timezone")
  const own = new Map((yield* Store.find(stores, {})).map(({ id, timezone }) => [id, timezone]))
  return (store_id: number | null): string => zoneOf((store_id === null ? undefined : own.get(store_id)) || company)
})

/** Records overdue invoices, checked again under lock, as a payment may be in progress; returns their number. */
const tell = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  yield* lockStreams(ids.map(invoiceStream))
  const zone = yield* zones
  const now = instantOf(now_millis)
  const due = (yield* Store.getMany(invoices, ids)).filter((row) => isToBeTold(row, zone(row.store_id), now_millis))
  if (due.length === 0) return 0
  yield* recordByServer(
    due.map((row) => invoiceOverdue.make(invoiceChange(row, { overdue_told_at: now }))),
    now
  )
  return due.length
})

export const overdueSweep = sweep({
  cron: "7 * * * *",
  at_start: (now) => Effect.map(candidates(Date.parse(now)), (ids) => ids.length > 0),
  kind: "invoices.overdue",
  meaning: "records invoices that became overdue, and notifies of them",
  candidates,
  record: tell,
  counted: "told"
})

// The PDF of an invoice and of a credit note (rules/billing 1.3).

const pdf = {
  server_only: true,
  produces: "application/pdf",
  error_answers: { 422: null, 503: null },
  answer_headers: { "Content-Disposition": "Name of the file", "Cache-Control": "Prevents caching" },
  fields: {
    format: choice(
      { pdf: "Plain PDF", facturx: "Factur-X: PDF with the e-invoice embedded as XML" },
      { default: "pdf", any_case: true }
    )
  }
} as const satisfies SharedDraft

/** The e-invoice to embed if the format is `facturx`, refused for the same reasons as the e-invoice itself. */
const carried = (
  format: "pdf" | "facturx" | undefined,
  xml: (of: typeof import("../../core/billing/einvoice/write.ts")) => Effect.Effect<string, Failure, Store>
): Effect.Effect<{ readonly carried_xml?: string }, Failure, Store> =>
  format === "facturx"
    ? Effect.map(
        Effect.flatMap(
          Effect.promise(() => import("../../core/billing/einvoice/write.ts")),
          xml
        ),
        (carried_xml) => ({ carried_xml })
      )
    : Effect.succeed({})

/** The PDF response. `name` has plain ASCII characters only. */
const answerOf = (name: string, bytes: Uint8Array): Answer<never> => ({
  status: 200,
  content: { type: "application/pdf", text: bytes },
  headers: {
    "content-disposition": `inline; filename="${name}.pdf"`,
    // Not cached, as it shows later payments.
    "cache-control": "private, no-store"
  }
})

/** The PDF of an invoice or credit note, drawn as its document is, with payments made later; 404 if it is gone. */
const pdfOf = Effect.fnUntraced(function* (
  source: Omit<DocumentSource, "store_id" | "document_number">,
  settings: Settings,
  carries: Effect.Effect<{ readonly carried_xml?: string }, Failure, Store>
) {
  const { prepareDocument } = yield* contents
  const prepared = yield* prepareDocument({ ...source, store_id: null, document_number: null }, settings)
  if (prepared === undefined) return yield* notFound("There is no such document.")
  const options = yield* carries
  const { bytes } = yield* Effect.catch(
    Effect.flatMap(filledDocument(prepared), (document) => drawn(document, options)),
    drawingRefused
  )
  yield* tellPdf(document_types[source.document_type].of, source.documentable_id)
  return answerOf(prepared.file_name, bytes)
})

const invoicePdf = get(`${path}/{id}/pdf`, {
  ...pdf,
  ...read,
  metering_weight: drawing_weight,
  name: "invoices.pdf",
  summary: "Download an invoice as PDF; drafts and voided ones are marked on each page",
  params: one,
  run: ({ now, rows: { id: invoice }, settings, values }) =>
    pdfOf(
      { document_type: typeOfInvoice(invoice), documentable_id: invoice.id, now },
      settings,
      carried(values.format, ({ invoiceXml }) => invoiceXml(invoice, settings, "cii"))
    )
})
const creditNotePdf = get(`${credit_notes_path}/{id}/pdf`, {
  ...pdf,
  ...read_credit_notes,
  metering_weight: drawing_weight,
  name: "credit_notes.pdf",
  summary: "Download a credit note as PDF",
  params: one_credit_note,
  run: ({ now, rows: { id: credit_note }, settings, values }) =>
    pdfOf(
      { document_type: "credit_note", documentable_id: credit_note.id, now },
      settings,
      carried(values.format, ({ creditNoteXml }) => creditNoteXml(credit_note, settings, "cii"))
    )
})

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
  services: ({ jobs }) =>
    Context.make(
      InvoiceMailer,
      Effect.fnUntraced(function* (mail) {
        yield* jobs.offer(invoiceMailOffer(mail))
        const { leaves, text } = yield* queuedNow("The invoice", mail.to.join(", "))
        return leaves ? [] : [text]
      })
    )
}
