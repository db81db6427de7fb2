/** The durable job that draws an invoice and hands it to the mail queue (rules/billing 1.3). */
import { Effect } from "effect"
import { type InvoiceMail, invoiceMail } from "../../core/billing/mailing.ts"
import { invoices } from "../../core/billing/schema.ts"
import type { PreparedDocument } from "../../core/documents/content/prepare.ts"
import { typeOfInvoice } from "../../core/documents/types.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { GivenUp, type JobKind, jobKind, type JobOffer, jobOffer } from "../jobs/job-kind.ts"
import { queueMail } from "../mail/jobs.ts"
import { filledDocument, filledMail } from "../documents/filled.ts"
import { contents } from "../documents/preparing.ts"
import { drawn } from "./draw.ts"

const idOf = ({ emailed_at, invoice_id }: InvoiceMail): string => `invoice.${invoice_id}.${emailed_at}`

/** As they were given, else as the layout or the settings word them, else plainly. */
const textsOf = Effect.fnUntraced(function* (mail: InvoiceMail, prepared: PreparedDocument) {
  if (mail.subject !== null && mail.message !== null) return { subject: mail.subject, text: mail.message }
  const filled = yield* filledMail(prepared)
  return { subject: mail.subject ?? filled.subject, text: mail.message ?? filled.text }
})

export const mailInvoice: JobKind<InvoiceMail> = jobKind({
  kind: "invoices.mail",
  meaning: "draws an invoice and queues the mail with it",
  data: invoiceMail,
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  run: (mail) =>
    Effect.gen(function* () {
      const store = yield* Store
      const settings = yield* (yield* CommandRuntime).settings
      const invoice = yield* store.get(invoices, mail.invoice_id)
      if (invoice === undefined) return yield* new GivenUp({ message: "The invoice is gone." })
      const { prepareDocument } = yield* contents
      const prepared = yield* prepareDocument(
        {
          document_type: typeOfInvoice(invoice),
          documentable_id: invoice.id,
          store_id: null,
          document_number: null,
          now: mail.emailed_at
        },
        settings
      )
      if (prepared === undefined) return yield* new GivenUp({ message: "The invoice is gone." })
      const { bytes } = yield* drawn(yield* filledDocument(prepared), {
        limit_millis: (yield* Effect.promise(() => import("../print/renderer.ts"))).background_limit_millis
      })
      const queued = yield* store.transaction(
        queueMail(
          {
            id: idOf(mail),
            store_id: invoice.store_id,
            sender_user_id: mail.sender_user_id === 0 ? null : mail.sender_user_id,
            to: mail.to,
            cc: mail.cc,
            ...(yield* textsOf(mail, prepared)),
            attachments: [{ name: `${prepared.file_name}.pdf`, mime_type: "application/pdf", bytes }]
          },
          settings
        )
      )
      return { mail_job_id: queued.job_id }
    }).pipe(
      Effect.catch((failure) =>
        Effect.fail(isForGood(failure) ? new GivenUp({ message: messageOf(failure) }) : failure)
      )
    )
})
/** What only a person can mend: the document, an address of the settings. */
const isForGood = (failure: unknown): boolean =>
  (failure instanceof Rejection && failure.kind === "invalid") ||
  (typeof failure === "object" && failure !== null && "_tag" in failure && failure._tag === "Undrawable")
const messageOf = (failure: unknown): string =>
  failure instanceof Rejection
    ? (Object.values(failure.errors ?? {}).flat()[0] ?? failure.message)
    : failure instanceof Error
      ? failure.message
      : String(failure)

export const invoiceMailOffer = (mail: InvoiceMail): JobOffer<InvoiceMail> =>
  jobOffer(mailInvoice, mail, {
    subject: `${mail.invoice_id}.${mail.emailed_at}`,
    owner_id: mail.sender_user_id === 0 ? null : mail.sender_user_id
  })
