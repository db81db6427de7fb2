/** Documents whole, and every PDF that is written. */
import { documentGenerated } from "../../../core/documents/events.ts"
import { integer, text } from "../../../core/kernel/field.ts"
import { pdf_generated } from "../telling.ts"
import { type WebhookKind, wholeRow } from "../kind.ts"

export const documentKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("documents", ["document.generated", "document.finalised", "document.voided"]),
  ...wholeRow("document_acceptances", ["document.accepted"]),
  {
    name: pdf_generated,
    // Invoices and credit notes that are drawn when they are asked for leave no event: `telling.ts`.
    on: documentGenerated.type,
    payload: {
      form: "event",
      shown: {
        document_id: integer({ nullable: true }),
        documentable_type: text(),
        documentable_id: integer(),
        job_id: text({ nullable: true })
      },
      of: ({ documentable_id, documentable_type, id, job_id }) => ({
        document_id: Number(id),
        documentable_type: documentable_type ?? "",
        documentable_id: documentable_id ?? 0,
        job_id: job_id ?? null
      })
    }
  }
]
