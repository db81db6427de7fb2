/** Factur-X and ZUGFeRD: an invoice as PDF that carries the same invoice as XML for programs. */
import type { Effect } from "effect"
import type { PrintDocument } from "../../core/print/blocks.ts"
import type { DrawingFailure, DrawOptions, Pdf, Renderer } from "./renderer.ts"

/**
 * Draws the document in the form of PDF/A-3b with `xml` in it: CII in the profile EN 16931 (`invoiceXml(…, "cii")`).
 * Its parts are made as that standard says; no validator of PDF/A has judged them.
 */
export const facturX = (
  renderer: Pick<Renderer, "pdf">,
  document: PrintDocument,
  xml: string,
  options: DrawOptions = {}
): Effect.Effect<Pdf, DrawingFailure> => renderer.pdf(document, { ...options, carried_xml: xml })
