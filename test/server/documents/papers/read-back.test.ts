/** PDFs of any length contain the text that was put in. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { purchaseDocument } from "../../../../core/documents/content/purchase.ts"
import { salesDocument } from "../../../../core/documents/content/sales.ts"
import type { PrintDocument } from "../../../../core/pricing/print/blocks.ts"
import { background_limit_millis } from "../../../../server/print/renderer.ts"
import { sharedRenderer } from "../../serving.ts"
import { plays_everything } from "../../../app.ts"
import { purchaseSample, sampleOptions, salesSample } from "../../../core/documents/samples.ts"
import { pagesOfPdf } from "../../print/pdf-text.ts"

const sold = (type: "quotation" | "order_confirmation") => (lines: number, currency: string) => {
  const options = sampleOptions("en-GB")
  return salesDocument(
    salesSample({ lines, currency, language: "en-GB", type, inclusive: lines === 40 }, options),
    options
  )
}
const kinds: { readonly [kind: string]: (lines: number, currency: string) => PrintDocument } = {
  quotation: sold("quotation"),
  order_confirmation: sold("order_confirmation"),
  purchase_order: (lines, currency) => purchaseDocument(purchaseSample({ lines, currency }), sampleOptions("en-GB"))
}
const squeezed = (text: string): string => text.replace(/\s+/g, "")
/** Whether a text is in Latin letters, as right-to-left text is drawn in another order. */
const isPlain = (text: string): boolean => /^[\u0020-\u024f€£\u2013×]*$/.test(text)

const renderer = sharedRenderer()

describe.each(Object.entries(kinds))("a %s as PDF", (_kind, of) => {
  it.each([
    [1, "EUR"],
    [40, "JPY"],
    [40, "KWD"],
    [plays_everything ? 1_000 : 120, "EUR"]
  ])("contains every name, amount and sum, with %i lines in %s", async (lines, currency) => {
    const document = of(lines, currency)
    const { bytes } = await Effect.runPromise(renderer.pdf(document, { limit_millis: background_limit_millis }))
    const text = squeezed(pagesOfPdf(bytes).join("\n"))
    const cells = document.blocks.flatMap((block) =>
      block.kind === "table"
        ? block.rows.flatMap((row) =>
            row.kind === "group"
              ? [row.text, row.value ?? ""]
              : row.cells.flatMap(({ runs }) => runs.map((run) => run.text))
          )
        : block.kind === "totals"
          ? // A long label goes on below, beside its amount.
            block.rows.flatMap(({ label, value }) => [...label.split(/\s/), value])
          : []
    )
    const missing = cells.filter((cell) => isPlain(cell) && cell.length < 40 && !text.includes(squeezed(cell)))
    expect(missing).toEqual([])
  })
})
