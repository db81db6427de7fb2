/**
 * Draws sample invoices and credit notes as PDF into a folder, to be looked at:
 *
 *   node test/core/billing/paper/look.ts FOLDER && pdftoppm -r 60 -png FOLDER/invoice-40-EUR.pdf page
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { creditNoteDocument, invoiceDocument } from "../../../../core/billing/paper/document.ts"
import { background_limit_millis, makeRenderer } from "../../../../server/print/renderer.ts"
import { creditNoteSample, invoiceSample } from "./samples.ts"

const folder = process.argv[2] ?? "."
mkdirSync(folder, { recursive: true })
const papers = {
  "invoice-1-EUR": invoiceDocument(invoiceSample({ lines: 1, currency: "EUR", language: "de" })),
  "draft-3-EUR": invoiceDocument(
    invoiceSample({
      lines: 3,
      currency: "EUR",
      language: "en-GB",
      invoice: { status: "draft", number: null, issued_at: null, due_at: null }
    })
  ),
  "invoice-40-EUR": invoiceDocument(
    invoiceSample({ lines: 40, currency: "EUR", language: "en-GB", with_discount: true, with_deposit: true })
  ),
  "invoice-40-JPY": invoiceDocument(
    invoiceSample({
      lines: 40,
      currency: "JPY",
      language: "en-US",
      buyer: "Φωτισμός Αθηνών Α.Ε.",
      invoice: { status: "voided" },
      options: { page_size: "LETTER" }
    })
  ),
  "invoice-40-KWD": invoiceDocument(
    invoiceSample({ lines: 40, currency: "KWD", language: "en-GB", buyer: "شركة الأضواء للفعاليات" })
  ),
  "invoice-1000-EUR": invoiceDocument(
    invoiceSample({ lines: 1_000, currency: "EUR", language: "fr", buyer: "ООО «Свет и Звук»", with_discount: true })
  ),
  "credit_note-5-EUR": creditNoteDocument(creditNoteSample({ lines: 5, currency: "EUR", language: "de" }))
}
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const renderer = yield* makeRenderer()
      for (const [name, document] of Object.entries(papers)) {
        const started = performance.now()
        const { bytes, pages } = yield* renderer.pdf(document, { limit_millis: background_limit_millis })
        writeFileSync(join(folder, `${name}.pdf`), bytes)
        console.log(name, pages, "pages", bytes.length, "bytes", Math.round(performance.now() - started), "ms")
      }
    })
  )
)
