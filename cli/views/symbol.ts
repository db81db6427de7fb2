/** Barcodes as drawings: Code 128 for laser scanners, QR for cameras. The library is loaded when the first one is drawn. */
import { symbolOptions } from "../../server/print/symbol-options.ts"
import { type Markup, trusted } from "./markup.ts"

export { quiet_modules, symbolOptions } from "../../server/print/symbol-options.ts"

export type SymbolKind = "code128" | "qr"
export interface Symbol {
  readonly kind: SymbolKind
  readonly drawing: Markup
  /** Its width in modules, quiet zones included; of QR its height too. */
  readonly modules: number
}

/** Printable ASCII, which Code 128 holds and every scanner sends as typed. QR holds any text. */
export const fitsCode128 = (text: string): boolean => /^[\u0020-\u007e]{1,80}$/.test(text)
/** More bytes make a QR code that phones cannot read at the size of a label. */
export const fitsQr = (text: string): boolean => text !== "" && Buffer.byteLength(text) <= 300

/** The symbol as SVG that fills the place it is put in. Throws when the text does not fit. */
export const symbolOf = async (kind: SymbolKind, text: string): Promise<Symbol> => {
  const { code128, drawingSVG, qrcode } = await import("bwip-js/generic")
  const options = symbolOptions(kind, text)
  const svg = kind === "code128" ? code128(options, drawingSVG()) : qrcode(options, drawingSVG())
  const width = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
  // Bars may be stretched in height, never in width against each other.
  const opened = svg.replace(
    "<svg ",
    `<svg class="symbol" role="img" aria-hidden="true" preserveAspectRatio="${kind === "code128" ? "none" : "xMidYMid meet"}" `
  )
  return { kind, drawing: trusted(opened), modules: kind === "code128" ? width : width / 2 }
}
