/** Draws barcodes as SVG, for PDF and HTML. Throws if a text does not fit. */
import { code128, drawingSVG, qrcode } from "bwip-js/generic"
import { symbolOptions } from "./symbol-options.ts"

interface SymbolDrawing {
  readonly svg: string
  readonly width: number
  readonly height: number
}

export const symbolOf = (symbology: "qr" | "code128", value: string): SymbolDrawing => {
  const options = symbolOptions(symbology, value)
  const svg = symbology === "code128" ? code128(options, drawingSVG()) : qrcode(options, drawingSVG())
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []
  return {
    // Bars may be stretched in height, but not in width.
    svg:
      symbology === "code128"
        ? svg.replace("<svg ", `<svg width="${width}" height="${height}" preserveAspectRatio="none" `)
        : svg.replace("<svg ", `<svg width="${width}" height="${height}" `),
    width: Number(width),
    height: Number(height)
  }
}
