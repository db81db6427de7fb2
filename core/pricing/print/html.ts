/**
 * Renders a document as HTML, from the same blocks as its PDF: a page, or part of one. Text is escaped; there are no
 * scripts and no external requests.
 */
import * as Base64 from "effect/encoding/Base64"
import {
  type Block,
  type Cell,
  type CellCode,
  type Code,
  type Columns,
  type Group,
  type Image,
  isRightToLeft,
  type Picture,
  type PrintDocument,
  type Run,
  type Signature,
  type Table,
  type Totals
} from "./blocks.ts"
import { type Look, sheetFor } from "./html-style.ts"
import { type Pictures, readPicture } from "./picture.ts"

const signs: { readonly [sign: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}
/** Text escaped for content and quoted attributes; control characters and lone surrogates become U+FFFD. */
export const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (sign) => signs[sign] ?? "")

// Renders blocks, with one function for each kind.

export interface HtmlOptions {
  /** Content of pictures that the document refers to by hash. */
  readonly pictures?: Pictures
  /** Renders codes as SVG; without it, text is shown instead, of QR codes only a URL. */
  readonly symbolOf?: (code: Code) => string
}

const look = (...names: ReadonlyArray<Look>): string => ` class="${names.join(" ")}"`

/** An element; attributes (each after a space) and content are escaped already. */
const tag = (name: string, attributes: string, content: string): string => `<${name}${attributes}>${content}</${name}>`

/** Escaped text with line breaks. */
const textHtml = (text: string): string => escaped(text.replace(/\r\n?/g, "\n")).replaceAll("\n", "<br>")
const runsHtml = (runs: ReadonlyArray<Run>): string =>
  runs
    .map(({ bold, italic, link, text }) => {
      const shown = textHtml(text)
      const linked =
        link === undefined ? shown : `<a href="${escaped(link)}" rel="noopener noreferrer"${look("link")}>${shown}</a>`
      const slanted = italic === true ? `<em>${linked}</em>` : linked
      return bold === true ? `<strong>${slanted}</strong>` : slanted
    })
    .join("")

const blocksHtml = (options: HtmlOptions, blocks: ReadonlyArray<Block>): string =>
  blocks.map((block) => blockHtml(options, block)).join("\n")

const blockHtml = (options: HtmlOptions, block: Block): string => {
  switch (block.kind) {
    case "heading":
      return `<h${block.level}${look(`h${block.level}`)}>${textHtml(block.text)}</h${block.level}>`
    case "paragraph":
      return tag(
        "p",
        look(block.small === true ? "small" : "paragraph", ...alignmentLook(block.alignment)),
        runsHtml(block.runs)
      )
    case "key_values":
      return tag(
        "table",
        look("values"),
        block.rows
          .map(({ label, value }) => {
            const shown = tag("span", look("text"), textHtml(value))
            const name = tag("th", ` scope="row"${look("value_label")}`, textHtml(label))
            return tag("tr", "", name + tag("td", look("value"), shown))
          })
          .join("")
      )
    case "table":
      return tableHtml(options, block)
    case "totals":
      return totalsHtml(block)
    case "image":
      return imageHtml(options, block)
    case "code":
      return codeHtml(options, block)
    case "signature":
      return signatureHtml(options, block)
    case "spacer":
      return `<div style="height:${block.height_mm}mm"></div>`
    case "page_break":
      return `<div class="page_break"></div>`
    case "columns":
      return columnsHtml(options, block)
    case "together":
      return `<section style="break-inside:avoid">\n${blocksHtml(options, block.blocks)}\n</section>`
  }
}

const alignmentLook = (alignment: "start" | "center" | "end" | undefined): ReadonlyArray<Look> =>
  alignment === "center" || alignment === "end" ? [alignment] : []

/** Columns as a layout table. */
const columnsHtml = (options: HtmlOptions, { columns }: Columns): string => {
  const shares = columns.reduce((sum, { share }) => sum + share, 0)
  const cells = columns.map(({ blocks, share }) =>
    tag("td", `${look("column")} style="width:${percent(share, shares)}"`, blocksHtml(options, blocks))
  )
  return `<table role="presentation"${look("columns")}><tbody><tr>${cells.join("")}</tr></tbody></table>`
}
const percent = (share: number, all: number): string => `${Math.round((share * 1_000) / all) / 10}%`
const tableHtml = (options: HtmlOptions, table: Table): string => {
  const shares = table.columns.reduce((sum, { share }) => sum + share, 0)
  const titled = table.columns.some(({ title }) => title !== "")
  const head = table.columns.map(({ alignment, share, title }) => {
    const looks = `${look("head", ...alignmentLook(alignment))} style="width:${percent(share, shares)}"`
    return tag("th", ` role="columnheader" scope="col"${looks}`, textHtml(title))
  })
  let is_tinted = false
  const rows = table.rows.map((row) => {
    if (row.kind === "group") {
      is_tinted = false
      return groupHtml(table, row)
    }
    const tint: ReadonlyArray<Look> = table.striped === true && is_tinted ? ["striped"] : []
    is_tinted = !is_tinted
    const cells = row.cells.map((cell, at) => cellHtml(options, table, cell, at, at === 0 ? (row.depth ?? 0) : 0, tint))
    return `<tr role="row">${cells.join("")}</tr>`
  })
  return [
    `<table role="table"${look("table")}>`,
    ...(table.caption === undefined ? [] : [`<caption${look("caption")}>${textHtml(table.caption)}</caption>`]),
    ...(titled ? [`<thead role="rowgroup"><tr role="row">${head.join("")}</tr></thead>`] : []),
    `<tbody role="rowgroup">${rows.join("\n")}</tbody>`,
    "</table>"
  ].join("\n")
}
const groupHtml = ({ columns }: Table, { text, value }: Group): string => {
  const has_value = value !== undefined && columns.length > 1
  const span = has_value ? columns.length - 1 : columns.length
  const name = tag("span", look("name"), textHtml(text))
  const end = has_value ? tag("td", ` role="cell"${look("group", "end")}`, textHtml(value)) : ""
  const head = tag("th", ` role="rowheader" scope="rowgroup" colspan="${span}"${look("group")}`, name)
  return tag("tr", ' role="row"', head + end)
}
const cellHtml = (
  options: HtmlOptions,
  table: Table,
  cell: Cell,
  at: number,
  depth: number,
  tint: ReadonlyArray<Look>
): string => {
  const column = table.columns[at]
  const attribute = look("cell", ...alignmentLook(column?.alignment), ...tint)
  const stepped = depth === 0 ? attribute : `${attribute} style="padding-inline-start:${6 + depth * 14}px"`
  const title = column === undefined || column.title === "" ? "" : ` data-title="${escaped(column.title)}"`
  const box = cell.tick === undefined ? "" : cell.tick ? "☒ " : "☐ "
  const note = cell.note === undefined || cell.note === "" ? "" : `<small${look("note")}>${textHtml(cell.note)}</small>`
  const code = cell.code === undefined ? "" : cellCodeHtml(options, cell.code)
  // Names may wrap, amounts may not.
  const is_text = alignmentLook(column?.alignment).length === 0
  const shown = tag("span", look(is_text ? "name" : "text"), box + runsHtml(cell.runs))
  return tag("td", ` role="cell"${stepped}${title}`, shown + note + code)
}
/** A code in a table with its value below; only the value if it cannot be rendered. */
const cellCodeHtml = (options: HtmlOptions, code: CellCode): string => {
  const value = `<small${look("note")}>${textHtml(code.value)}</small>`
  const drawn = options.symbolOf?.({ kind: "code", ...code })
  if (drawn === undefined) return value
  const size = code.symbology === "qr" ? "width:13mm;height:13mm" : "width:46mm;max-width:100%;height:8mm"
  const address = `data:image/svg+xml;base64,${Base64.encode(drawn)}`
  return `<img alt="" style="display:block;${size}" src="${address}">${value}`
}

const totalsHtml = ({ rows }: Totals): string =>
  tag(
    "table",
    look("totals"),
    rows
      .map(({ label, strong, value }) => {
        const more: ReadonlyArray<Look> = strong === true ? ["strong"] : []
        const name = tag("th", ` scope="row"${look("total_label", ...more)}`, textHtml(label))
        return tag("tr", "", name + tag("td", look("total", ...more), textHtml(value)))
      })
      .join("")
  )

/** Data URL with a picture's content; undefined if it is missing or unsafe. */
const pictureAddress = (options: HtmlOptions, picture: Picture): string | undefined => {
  if ("base64" in picture) {
    // Base64 may only contain characters that are valid in a URL.
    return /^[A-Za-z0-9+/=\s]*$/.test(picture.base64)
      ? `data:${picture.mime_type};base64,${picture.base64.replace(/\s/g, "")}`
      : undefined
  }
  const bytes = options.pictures?.get(picture.sha256)
  const read = bytes === undefined ? undefined : readPicture(bytes)
  return read?._tag === "Success"
    ? `data:${read.success.mime_type};base64,${Base64.encode(read.success.bytes)}`
    : undefined
}
const imageHtml = (options: HtmlOptions, { alignment, alt, height_max_mm, picture, width_mm }: Image): string => {
  const address = pictureAddress(options, picture)
  const limit =
    height_max_mm === undefined ? "" : `;max-height:${height_max_mm}mm;object-fit:contain;object-position:0 50%`
  const size = `width:${width_mm}mm${limit}`
  const shown =
    address === undefined
      ? textHtml(alt)
      : `<img src="${escaped(address)}" alt="${escaped(alt)}"${look("picture")} style="${size}">`
  return `<div${look("figure", ...alignmentLook(alignment))}>${shown}</div>`
}
const codeHtml = (options: HtmlOptions, code: Code): string => {
  const caption = code.caption ?? (code.symbology === "code128" ? code.value : undefined)
  const drawn = options.symbolOf?.(code)
  const width = code.width_mm ?? (code.symbology === "qr" ? 30 : 60)
  const height = code.symbology === "qr" ? "" : ";height:13mm"
  const below = caption === undefined ? "" : `<p${look("code_caption")}>${textHtml(caption)}</p>`
  const figure = look("figure", ...alignmentLook(code.alignment))
  if (drawn !== undefined) {
    const address = `data:image/svg+xml;base64,${Base64.encode(drawn)}`
    const size = `width:${width}mm;max-width:100%${height}`
    return `<div${figure}><img alt="${escaped(code.value)}" style="${size}" src="${address}">${below}</div>`
  }
  // Without rendering, a QR code is left out, unless it holds a URL.
  if (code.symbology === "code128") return `<div${figure}>${below}</div>`
  return /^https?:\/\/\S+$/i.test(code.value)
    ? `<div${figure}>${runsHtml([{ text: code.caption ?? code.value, link: code.value }])}</div>`
    : ""
}
const signatureHtml = (options: HtmlOptions, { date, drawn, label, name }: Signature): string => {
  const address = drawn === undefined ? undefined : pictureAddress(options, drawn)
  const picture =
    address === undefined
      ? ""
      : `<img src="${escaped(address)}" alt="${escaped(name ?? label)}" style="height:40px;max-width:90%">`
  const below = [name, date]
    .filter((one) => one !== undefined && one !== "")
    .map((one) => tag("p", look("signature_text"), tag("span", look("text"), textHtml(one ?? ""))))
  const caption = tag("p", look("signature_text"), tag("small", "", textHtml(label)))
  return tag("div", look("signature"), tag("div", look("signature_line"), picture) + caption + below.join(""))
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

/** Renders a self-contained page for phone, desktop and print. */
export const htmlPage = (document: PrintDocument, options: HtmlOptions = {}): string => {
  const { margins_mm, size, landscape } = document.page
  const { top, right, bottom, left } = margins_mm ?? { top: 18, right: 18, bottom: 16, left: 18 }
  const margins = [top, right, bottom, left].map((margin) => `${margin}mm`).join(" ")
  const sheet = [
    ":root{color-scheme:light}",
    "body{margin:0;background:#fff}",
    ".page{box-sizing:border-box;max-width:900px;margin:0 auto;padding:24px 20px 40px}",
    htmlSheet(document),
    `@page{size:${size === "A4" ? "A4" : "letter"}${landscape === true ? " landscape" : ""};margin:${margins}}`
  ].join("\n")
  return `<!doctype html>
<html lang="${escaped(document.language)}"${directionOf(document)}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(document.title)}</title>
<style>
${sheet}
</style>
</head>
<body>
<main class="page">
${htmlPart(document, options)}
</main>
</body>
</html>
`
}
/** Style sheet for {@link htmlPart}. */
export const htmlSheet = ({ accent, language }: PrintDocument): string =>
  sheetFor(accent ?? "#1d3f66", isRightToLeft(language))
const directionOf = ({ language }: PrintDocument): string => (isRightToLeft(language) ? ' dir="rtl"' : ' dir="ltr"')

/** Renders the document as one element, to be put into a page. */
export const htmlPart = (document: PrintDocument, options: HtmlOptions = {}): string => {
  const { header, watermark } = document
  const foot = document.footer?.lines ?? []
  const head = [header?.start, header?.end].flatMap((part) => {
    const text = part === undefined ? "" : runsHtml(part)
    return text === "" ? [] : [text]
  })
  return [
    `<article${look("document")} lang="${escaped(document.language)}"${directionOf(document)}>`,
    ...(watermark === undefined ? [] : [`<p${look("mark")}>${watermark}</p>`]),
    ...(head.length === 0 ? [] : [`<p${look("header")}>${head.join(" · ")}</p>`]),
    blocksHtml(options, document.blocks),
    ...(foot.length === 0
      ? []
      : [tag("footer", look("footer"), foot.map((line) => tag("p", look("footer_line"), textHtml(line))).join(""))]),
    "</article>"
  ].join("\n")
}
