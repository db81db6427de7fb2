/** Barcodes as drawings: Code 128 for laser scanners, QR for cameras. The library is loaded when the first one is drawn. */
import { type Markup, trusted } from "./markup.ts"

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

/** What the standards ask for around a symbol, in modules. */
export const quiet_modules = { code128: 10, qr: 4 } as const
/** Options by which one module is one unit of the drawing, without text below the bars. */
export const symbolOptions = (kind: SymbolKind, text: string) =>
  kind === "code128"
    ? { bcid: "code128", text, scale: 1, height: 8, paddingwidth: quiet_modules.code128 }
    : // A module of a matrix takes two units.
      {
        bcid: "qrcode",
        ...withEncoding(text),
        scale: 1,
        eclevel: "M",
        paddingwidth: quiet_modules.qr * 2,
        paddingheight: quiet_modules.qr * 2
      }

/** Readers guess the encoding of text beyond ASCII wrongly unless the symbol names it (ECI 26 is UTF-8). */
const withEncoding = (text: string): { readonly text: string; readonly parsefnc?: boolean } =>
  /^[\u0020-\u007e]*$/.test(text) ? { text } : { text: `^ECI000026${text.replaceAll("^", "^^")}`, parsefnc: true }

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
