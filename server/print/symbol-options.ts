/** Options for barcodes: Code 128 for laser scanners, QR for cameras. */

/** Margins that the standards require around a symbol, in modules. */
export const quiet_modules = { code128: 10, qr: 4 } as const

/** Options for drawings without text below the bars; a module of Code 128 is one unit wide. */
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
 * Marks text beyond ASCII as UTF-8 (ECI 26), as readers guess wrongly. Not for credit transfers (EPC069-12, first line
 * "BCD"), which name their encoding, and whose readers may not know ECI.
 */
const withEncoding = (text: string): { readonly text: string; readonly parsefnc?: boolean } =>
  /^[\u0020-\u007e\n\r]*$/.test(text) || /^BCD\r?\n/.test(text)
    ? { text }
    : { text: `^ECI000026${text.replaceAll("^", "^^")}`, parsefnc: true }
