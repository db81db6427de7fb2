/**
 * Draws sample documents as PDF into a folder, to be looked at:
 *
 *   node test/core/documents/look.ts FOLDER && pdftoppm -r 60 -png FOLDER/quotation-40-EUR.pdf page
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Effect } from "effect"
import { creditNoteDocument, invoiceDocument } from "../../../core/billing/paper/document.ts"
import { purchaseDocument } from "../../../core/documents/content/purchase.ts"
import { salesDocument } from "../../../core/documents/content/sales.ts"
import type { PrintDocument } from "../../../core/pricing/print/blocks.ts"
import { background_limit_millis, makeRenderer } from "../../../server/print/renderer.ts"
import { creditNoteSample, invoiceSample } from "../billing/paper/samples.ts"
import { purchaseSample, sampleOptions, salesSample, type SalesSample } from "./samples.ts"

const folder = process.argv[2] ?? "."
mkdirSync(folder, { recursive: true })

const logos = new Map<string, Uint8Array>()
const logo = (width: number, height: number): string => {
  const bytes = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><rect width="${width}" height="${height}" fill="#1f4e79"/><circle cx="${width / 2}" cy="${height / 2}" r="${Math.min(width, height) / 3}" fill="#fff"/></svg>`
  )
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  logos.set(sha256, bytes)
  return sha256
}
const sales = (sample: SalesSample, set: Parameters<typeof sampleOptions>[1] = {}): PrintDocument => {
  const options = sampleOptions(sample.language, set)
  return salesDocument(salesSample(sample, options), options)
}
const texts = {
  intro: "Thank you for your enquiry. We are glad to offer:",
  terms: "Prices hold until the day above. Equipment remains our property. Damage and loss are charged."
}
const eur = { currency: "EUR", language: "en-GB" }
const papers: { readonly [name: string]: PrintDocument } = {
  "quotation-1-EUR": sales({ ...eur, lines: 1, language: "de" }, { logo_sha256: logo(400, 100) }),
  "quotation-40-EUR": sales({ ...eur, lines: 40 }, { ...texts, logo_sha256: logo(1_600, 60) }),
  "quotation-40-KWD": sales({ lines: 40, currency: "KWD", language: "en-GB", buyer: "شركة الأضواء للفعاليات" }, texts),
  "quotation-1000-EUR": sales({ ...eur, lines: 1_000, language: "fr", buyer: "ООО «Свет и Звук»" }, texts),
  "quotation-bare-JPY": sales({ lines: 5, currency: "JPY", language: "en-US", is_bare: true }, { page_size: "LETTER" }),
  "order_confirmation-1-EUR": sales({ ...eur, lines: 1, type: "order_confirmation" }),
  "order_confirmation-40-JPY": sales(
    {
      lines: 40,
      currency: "JPY",
      language: "en-US",
      type: "order_confirmation",
      inclusive: true,
      buyer: "Φωτισμός Αθηνών Α.Ε."
    },
    { ...texts, page_size: "LETTER", logo_sha256: logo(60, 400) }
  ),
  "order_confirmation-1000-EUR": sales({ ...eur, lines: 1_000, type: "order_confirmation", inclusive: true }),
  "quotation-deal-EUR": sales({ ...eur, lines: 8, header: { deal_total: 250_000, rental_charge_total: 312_345 } }),
  "purchase_order-1-EUR": purchaseDocument(purchaseSample({ lines: 1, currency: "EUR" }), sampleOptions("de")),
  "purchase_order-40-KWD": purchaseDocument(
    purchaseSample({ lines: 40, currency: "KWD", buyer: "شركة الأضواء للفعاليات", order: { status: "draft" } }),
    sampleOptions("en-GB", texts)
  ),
  "purchase_order-1000-EUR": purchaseDocument(purchaseSample({ lines: 1_000, currency: "EUR" }), sampleOptions("fr")),
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
        const { bytes, pages } = yield* renderer.pdf(document, {
          limit_millis: background_limit_millis,
          pictures: logos
        })
        writeFileSync(join(folder, `${name}.pdf`), bytes)
        console.log(name, pages, "pages", bytes.length, "bytes", Math.round(performance.now() - started), "ms")
      }
    })
  )
)
