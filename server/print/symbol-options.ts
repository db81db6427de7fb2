/** How barcodes are made: Code 128 for laser scanners, QR for cameras. */

/** Margins that the standards require around a symbol, in modules. */
export const quiet_modules = { code128: 10, qr: 4 } as const

/** Options by which one module is one unit of the drawing, without text below the bars. */
export const symbolOptions = (kind: "code128" | "qr", text: string) =>
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

/**
 * Readers guess the encoding of text beyond ASCII wrongly unless the symbol names it (ECI 26 is UTF-8). A credit
 * transfer (EPC069-12, "BCD" in its first line) names its encoding itself, and not all banks' readers know ECI.
 */
const withEncoding = (text: string): { readonly text: string; readonly parsefnc?: boolean } =>
  /^[\u0020-\u007e\n\r]*$/.test(text) || /^BCD\r?\n/.test(text)
    ? { text }
    : { text: `^ECI000026${text.replaceAll("^", "^^")}`, parsefnc: true }
