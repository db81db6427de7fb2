/** Renders labels on A4 sheets, to be printed at full size. */
import { setImmediate } from "node:timers/promises"
import { symbolOptions } from "./symbol-options.ts"
import { html, type Markup, nothing, pageText, trusted, words } from "./markup.ts"

// Renders barcodes: Code 128 for laser scanners, QR for cameras. The library is loaded for the first one.

type SymbolKind = "code128" | "qr"
interface Symbol {
  readonly kind: SymbolKind
  readonly drawing: Markup
  /** Width in modules with quiet zones; for QR also its height. */
  readonly modules: number
}

/** Whether a text is printable ASCII, which Code 128 can hold and scanners send unchanged. QR holds any text. */
const fitsCode128 = (text: string): boolean => /^[\u0020-\u007e]{1,80}$/.test(text)
/** Whether phones can read a text as QR code of a label's size. */
export const fitsQr = (text: string): boolean => text !== "" && Buffer.byteLength(text) <= 300

/** Renders the symbol as SVG that fills its container. Throws if the text does not fit. */
export const symbolOf = async (kind: SymbolKind, text: string): Promise<Symbol> => {
  const { code128, drawingSVG, qrcode } = await import("bwip-js/generic")
  const options = symbolOptions(kind, text)
  const svg = kind === "code128" ? code128(options, drawingSVG()) : qrcode(options, drawingSVG())
  const width = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
  // Bars may be stretched in height, but their widths must keep their proportions.
  const proportions = kind === "code128" ? "none" : "xMidYMid meet"
  const opened = svg.replace(
    "<svg ",
    `<svg class="symbol" role="img" aria-hidden="true" preserveAspectRatio="${proportions}" `
  )
  return { kind, drawing: trusted(opened), modules: kind === "code128" ? width : width / 2 }
}

/** Grid of a sheet in millimetres. It is centred: the rest is equal margins. */
interface Sheet {
  readonly columns: number
  readonly rows: number
  readonly width_mm: number
  readonly height_mm: number
  readonly gap_mm: number
  readonly text: string
}
export const sheets: { readonly [name: string]: Sheet } = {
  "3x8": {
    columns: 3,
    rows: 8,
    width_mm: 63.5,
    height_mm: 33.9,
    gap_mm: 2.5,
    text: "24 of 63.5 × 33.9 mm, as Avery L7159"
  },
  "3x7": {
    columns: 3,
    rows: 7,
    width_mm: 63.5,
    height_mm: 38.1,
    gap_mm: 2.5,
    text: "21 of 63.5 × 38.1 mm, as Avery L7160"
  },
  "3x9": {
    columns: 3,
    rows: 9,
    width_mm: 63.5,
    height_mm: 29.6,
    gap_mm: 2.5,
    text: "27 of 63.5 × 29.6 mm, as Avery L4737"
  },
  "2x7": {
    columns: 2,
    rows: 7,
    width_mm: 99.1,
    height_mm: 38.1,
    gap_mm: 2.5,
    text: "14 of 99.1 × 38.1 mm, as Avery L7163"
  },
  "2x4": {
    columns: 2,
    rows: 4,
    width_mm: 99.1,
    height_mm: 67.7,
    gap_mm: 2.5,
    text: "8 of 99.1 × 67.7 mm, as Avery L7165"
  },
  "5x13": {
    columns: 5,
    rows: 13,
    width_mm: 38.1,
    height_mm: 21.2,
    gap_mm: 2.5,
    text: "65 of 38.1 × 21.2 mm, as Avery L7651"
  }
}
const page_mm = { width: 210, height: 297 }
/** The sheet of a grid or product, such as `3x8` and `avery-l7159`; undefined for other names. */
export const sheetNamed = (name: string): Sheet | undefined => {
  const said = name
    .trim()
    .toLowerCase()
    .replace("\u00d7", "x")
    .replace(/^avery[ -]?/, "")
  return Object.entries(sheets).find(
    ([grid, { text }]) => grid === said || text.toLowerCase().endsWith(` ${said}`)
  )?.[1]
}

/** Labels that cannot be drawn: `field` says whether `skip` is too large or a label's code too long. */
export class LabelsRefused extends Error {
  readonly field: "skip" | "code"
  constructor(field: "skip" | "code", message: string) {
    super(message)
    this.field = field
  }
}

export interface Label {
  /** Content of the symbol, also printed below it. */
  readonly code: string
  readonly title: string
  /** Second line, such as its location. */
  readonly more: string | null
  readonly is_case: boolean
}
interface LabelRequest {
  readonly kind: SymbolKind
  readonly sheet: Sheet
  /** Places already used up on the first sheet. */ readonly skip: number
}
interface LabelSheets {
  readonly page: string
  /** Codes drawn as QR, as they do not fit as Code 128. */ readonly as_qr: ReadonlyArray<string>
}

/** Minimum width of bars that can be read reliably from an office printer. */
const module_least_mm = 0.19
const pad_mm = 2
/** Width of the bar that marks a case's label. */
const mark_mm = 1.4

/** Renders the sheets as one page. Rejects with {@link LabelsRefused}, such as for a code too long even for QR. */
export const labelSheets = async (
  title: string,
  labels: ReadonlyArray<Label>,
  { kind, sheet, skip }: LabelRequest
): Promise<LabelSheets> => {
  const per_sheet = sheet.columns * sheet.rows
  if (skip >= per_sheet)
    throw new LabelsRefused("skip", `a sheet has ${per_sheet} labels, so at most ${per_sheet - 1} are used up.`)
  const as_qr: Array<string> = []
  const drawn: Array<Markup> = []
  for (const [at, label] of labels.entries()) {
    // Drawing blocks, so a server answers others in between.
    if (at % 20 === 19) await setImmediate()
    const symbol = await symbolFor(kind, label.code, sheet)
    if (symbol.kind !== kind) as_qr.push(label.code)
    drawn.push(labelMarkup(label, symbol))
  }
  const places = [...Array.from({ length: skip }, () => html`<li class="used"></li>`), ...drawn]
  const pages: Array<Markup> = []
  for (let at = 0; at < places.length; at += per_sheet)
    pages.push(html`<ol class="sheet">
${places.slice(at, at + per_sheet)}</ol>
`)
  const count = labels.length === 1 ? "1 label" : `${labels.length} labels`
  return {
    as_qr,
    page: pageText({
      title,
      style: sheetStyle(sheet),
      body: html`<body><header><h1>${title}</h1><p>${count}, ${sheet.text}.
Print at full size (100 %), without margins of the printer's own.</p></header>
<main>${pages}</main></body>`
    })
  }
}

/** The requested symbol if the code fits, else QR, which holds more text and any script. */
const symbolFor = async (kind: SymbolKind, code: string, sheet: Sheet): Promise<Symbol> => {
  if (kind === "code128" && fitsCode128(code)) {
    const symbol = await symbolOf("code128", code)
    if ((sheet.width_mm - 2 * pad_mm - mark_mm) / symbol.modules >= module_least_mm) return symbol
  }
  if (!fitsQr(code))
    throw new LabelsRefused("code", `The code ${JSON.stringify(code.slice(0, 40))}… is too long for a label.`)
  return symbolOf("qr", code)
}

const secondLine = (more: string | null): Markup => (more === null ? nothing : html`<small>${words(more)}</small>`)
const labelMarkup = (
  { code, is_case, more, title }: Label,
  { drawing, kind }: Symbol
): Markup => html`<li class="label ${kind}${is_case ? " case" : ""}"><div class="bars">${drawing}</div>
<div class="text"><b>${words(title)}</b>${secondLine(more)}<code>${words(code)}</code></div></li>
`

const sheetStyle = ({ columns, gap_mm, height_mm, rows, width_mm }: Sheet): string => {
  const left = (page_mm.width - columns * width_mm - (columns - 1) * gap_mm) / 2,
    top = (page_mm.height - rows * height_mm) / 2
  const small = height_mm < 25,
    large = height_mm > 50
  const text_pt = small ? 6 : large ? 11 : 8
  // Half a millimetre less than the page, so that no printer starts another one.
  return `@page { size: A4 portrait; margin: 0; }
* { box-sizing: border-box; }
:root { color-scheme: only light; }
html { background: #e7eaee; color: #000;
  font: 14px/1.3 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
body { margin: 0; } header { padding: 14px 20px 0; } h1 { font-size: 18px; margin: 0 0 2px; overflow-wrap: anywhere;
  } header p { margin: 0; color: #444; }
.sheet { list-style: none; margin: 16px auto; padding: ${top.toFixed(2)}mm ${left.toFixed(2)}mm 0; width: 210mm;
  height: 296.5mm; background: #fff; box-shadow: 0 1px 6px rgb(0 0 0 / .3); display: grid;
  grid-template-columns: repeat(${columns}, ${width_mm}mm); grid-auto-rows: ${height_mm}mm; column-gap: ${gap_mm}mm;
  align-content: start; overflow: hidden; }
.label, .used { overflow: hidden; padding: ${pad_mm}mm; display: flex; }
.symbol { display: block; fill: #000; }
.text { min-width: 0; display: flex; flex-direction: column; font-size: ${text_pt}pt;
  line-height: 1.15; }
.text b, .text small { overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: ${large ? 3 : small ? 1 : 2}; overflow-wrap: anywhere; flex: none; }
.text small { font-size: .85em; color: #333; -webkit-line-clamp: 2; }
.text code { font: 600 ${small ? 7 : large ? 14 : 9.5}pt/1.2 ui-monospace, "SF Mono", Consolas,
  "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; white-space: pre-wrap; }
.code128 { flex-direction: column; }
.code128 .bars { flex: 1 1 auto; min-height: 0; order: 2; } .code128 .symbol { width: 100%; height: 100%; }
.code128 .text { display: contents; } .code128 .text b { order: 1; font-size: ${text_pt}pt;
  -webkit-line-clamp: ${large ? 2 : 1}; } .code128 .text small { order: 4; -webkit-line-clamp: 1;
  font-size: ${small ? 5 : large ? 9 : 6.5}pt; } .code128 .text code { order: 3; text-align: center; }
.qr { gap: 2mm; align-items: center; } .qr .bars { flex: none;
  width: ${Math.min(height_mm - 2 * pad_mm, width_mm * 0.5).toFixed(2)}mm; } .qr .symbol { width: 100%;
  height: auto; }
.qr .text { gap: .6mm; flex: 1 1 auto; }
.case { border-left: ${mark_mm}mm solid #000; }
@media screen { .label, .used { outline: 1px dashed #c3cad2; outline-offset: -1px; }
  .used { background: repeating-linear-gradient(45deg, #eceff2 0 6px, #fff 6px 12px); } }
@media print { html { background: #fff; } header { display: none; } .sheet { margin: 0; box-shadow: none;
  break-after: page; } .sheet:last-child { break-after: auto; } }
`
}
