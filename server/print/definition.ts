/** Converts a document to pdfmake's format: page, header, footer and blocks. */
import type { Column, Content, TDocumentDefinitions } from "pdfmake"
import { type Block, type Code, type Columns, type Image, isRightToLeft } from "../../core/pricing/print/blocks.ts"
import type { Picture, PrintDocument, Run, Signature } from "../../core/pricing/print/blocks.ts"
import { colours, heightOfBlocks, points_per_mm, sizes } from "./estimate.ts"
import { alignmentOf, type Drawing, inlines, inlineText } from "./direction.ts"
import { tableDefinition, totalsDefinition } from "./table-definition.ts"

// Converts blocks to pdfmake's content, with one function per kind.

const blocksDefinition = (drawing: Drawing, blocks: ReadonlyArray<Block>, width: number): Array<Content> => {
  const made: Array<Content> = []
  for (let at = 0; at < blocks.length; at++) {
    const block = blocks[at]
    if (block === undefined) continue
    if (block.kind !== "table") {
      made.push(blockDefinition(drawing, block, width))
      continue
    }
    const next = blocks[at + 1]
    const totals = next?.kind === "totals" ? next : undefined
    made.push(...tableDefinition(drawing, block, totals, width))
    if (totals !== undefined) at++
  }
  return made
}

const blockDefinition = (
  drawing: Drawing,
  block: Exclude<Block, { readonly kind: "table" }>,
  width: number
): Content => {
  switch (block.kind) {
    case "heading":
      return {
        text: inlineText(drawing, block.text, `H${block.level}`),
        fontSize: sizes.headings[block.level],
        bold: true,
        color: drawing.accent,
        alignment: alignmentOf(drawing, "start"),
        margin: [0, block.level === 1 ? 10 : 8, 0, block.level === 1 ? 8 : 4]
      }
    case "paragraph":
      return {
        text: inlines(drawing, block.runs),
        alignment: alignmentOf(drawing, block.alignment),
        ...(block.small === true ? { fontSize: sizes.small, color: colours.muted } : {}),
        margin: [0, 0, 0, 6]
      }
    case "key_values":
      return keyValues(drawing, block.rows, width)
    case "totals":
      return totalsDefinition(drawing, block, width)
    case "image":
      return imageDefinition(drawing, block, width)
    case "code":
      return codeDefinition(drawing, block, width)
    case "signature":
      return signatureDefinition(drawing, block, width)
    case "spacer":
      return { text: "", fontSize: 1, lineHeight: 0.01, margin: [0, 0, 0, block.height_mm * points_per_mm] }
    case "page_break":
      return { text: "", fontSize: 1, lineHeight: 0.01, pageBreak: "after" }
    case "columns":
      return columnsDefinition(drawing, block, width)
    case "together":
      return {
        stack: blocksDefinition(drawing, block.blocks, width),
        // Blocks that may be higher than a page must be breakable, as pdfmake would lose their end.
        unbreakable: heightOfBlocks(block.blocks, width) < drawing.page_height * 0.6
      }
  }
}

const keyValues = (
  drawing: Drawing,
  rows: ReadonlyArray<{ readonly label: string; readonly value: string }>,
  width: number
): Content => {
  const gap = 8
  const label_width = Math.min(width * 0.4, 110)
  return {
    stack: rows.map(({ label, value }) => {
      const cells: Array<Column> = [
        {
          text: inlineText(drawing, label),
          width: label_width,
          color: colours.muted,
          alignment: alignmentOf(drawing, "start")
        },
        { text: inlineText(drawing, value), width: width - label_width - gap, alignment: alignmentOf(drawing, "start") }
      ]
      return { columns: drawing.is_rtl ? cells.reverse() : cells, columnGap: gap, margin: [0, 0, 0, 2.5] }
    }),
    margin: [0, 0, 0, 6]
  }
}

const columnsDefinition = (drawing: Drawing, { columns }: Columns, width: number): Content => {
  const gap = 16
  const shares = columns.reduce((sum, { share }) => sum + share, 0)
  const room = Math.max(1, width - gap * (columns.length - 1))
  const parts = columns.map(({ blocks, share }): Column => {
    const own = (room * share) / shares
    return { stack: blocksDefinition(drawing, blocks, own), width: own }
  })
  return { columns: drawing.is_rtl ? parts.reverse() : parts, columnGap: gap }
}

/** A picture scaled to fit a width and height, neither stretched nor cropped. */
const picture = (drawing: Drawing, shown: Picture, fit: readonly [number, number]): Content => {
  const { bytes, mime_type } = drawing.pictureOf(shown)
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (mime_type === "image/svg+xml") {
    const svg: { svg: string; fit: [number, number]; options: object } = {
      svg: content.toString("utf8"),
      fit: [fit[0], fit[1]],
      // SVGs reference no files, which was checked on reading; none would be opened.
      options: { imageCallback: () => "" }
    }
    return svg
  }
  const name = `picture-${Object.keys(drawing.images).length}`
  drawing.images[name] = `data:${mime_type};base64,${content.toString("base64")}`
  return { image: name, fit: [fit[0], fit[1]] }
}

const imageDefinition = (drawing: Drawing, block: Image, width: number): Content => {
  const wide = Math.min(width, block.width_mm * points_per_mm)
  const high = Math.min(drawing.page_height * 0.9, (block.height_max_mm ?? 250) * points_per_mm)
  return {
    stack: [picture(drawing, block.picture, [wide, high])],
    alignment: alignmentOf(drawing, block.alignment),
    margin: [0, 0, 0, 8]
  }
}

const codeDefinition = (drawing: Drawing, block: Code, width: number): Content => {
  const symbol = drawing.symbolOf(block.symbology, block.value)
  const is_qr = block.symbology === "qr"
  const wide = Math.min(width, (block.width_mm ?? (is_qr ? 30 : 60)) * points_per_mm)
  const high = is_qr ? wide : 13 * points_per_mm
  const alignment = alignmentOf(drawing, block.alignment)
  const caption = block.caption ?? (is_qr ? undefined : block.value)
  const below: ReadonlyArray<Content> =
    caption === undefined
      ? []
      : [
          {
            text: inlineText(drawing, caption),
            fontSize: sizes.small,
            color: colours.muted,
            alignment: alignment === "center" ? "center" : alignment,
            margin: [0, 2, 0, 0]
          }
        ]
  return {
    stack: [{ svg: symbol.svg, width: wide, height: high, alignment }, ...below],
    unbreakable: true,
    margin: [0, 2, 0, 8]
  }
}

const signatureDefinition = (drawing: Drawing, block: Signature, width: number): Content => {
  const own = Math.min(width, 240)
  const drawn: Content =
    block.drawn === undefined
      ? { text: "", margin: [0, 0, 0, 30] }
      : { stack: [picture(drawing, block.drawn, [own * 0.8, 44])], margin: [6, 0, 0, 2] }
  const below = [block.name, block.date].filter((one) => one !== undefined && one !== "")
  const alignment = alignmentOf(drawing, "start")
  return {
    stack: [
      drawn,
      { canvas: [{ type: "line", x1: 0, y1: 0, x2: own, y2: 0, lineWidth: 0.7, lineColor: colours.text }], alignment },
      {
        text: inlineText(drawing, block.label),
        fontSize: sizes.small,
        color: colours.muted,
        alignment,
        margin: [0, 3, 0, 0]
      },
      ...below.map((text): Content => ({ text: inlineText(drawing, text ?? ""), alignment, margin: [0, 1, 0, 0] }))
    ],
    unbreakable: true,
    margin: [0, 8, 0, 10]
  }
}

type Tools = Pick<Drawing, "families" | "pictureOf" | "symbolOf">

/** Width and height of a page in points. */
const page_sizes = { A4: [595.28, 841.89], LETTER: [612, 792] } as const

export const definitionOf = (document: PrintDocument, tools: Tools): TDocumentDefinitions => {
  const { page } = document
  const [short, tall] = page_sizes[page.size]
  const [page_width, page_height] = page.landscape === true ? [tall, short] : [short, tall]
  const margins = marginsOf(document)
  const [left, top, right, bottom] = margins
  const drawing: Drawing = {
    ...tools,
    is_rtl: isRightToLeft(document.language),
    accent: document.accent ?? colours.accent,
    page_height: page_height - top - bottom,
    images: {}
  }
  const width = page_width - left - right
  const content = blocksDefinition(drawing, document.blocks, width)
  const dated = new Date(document.dated_at)
  const head = document.header
  return {
    pageSize: { width: page_width, height: page_height },
    pageMargins: margins,
    content,
    images: drawing.images,
    defaultStyle: {
      font: drawing.families[0]?.name ?? "Roboto",
      fontSize: sizes.body,
      lineHeight: 1.18,
      color: colours.text
    },
    language: document.language,
    displayTitle: true,
    version: "1.7",
    ...(document.version === 1 ? {} : { tagged: true }),
    info: {
      title: document.title,
      ...(document.author === undefined ? {} : { author: document.author }),
      creator: "Flightcase",
      producer: "Flightcase",
      // A fixed date, so that the same document gives the same file.
      creationDate: dated,
      modDate: dated
    },
    ...(head === undefined && document.watermark === undefined
      ? {}
      : { header: () => headerOf(drawing, { ...head, mark: document.watermark }, margins) }),
    footer: (current: number, pages: number) => footerOf(drawing, document, { margins, width, current, pages }),
    ...(document.watermark === undefined
      ? {}
      : {
          watermark: {
            text: document.watermark,
            color: colours.watermark,
            opacity: 0.13,
            bold: true,
            font: "Roboto",
            fontSize: 130
          }
        })
  }
}

type Margins = [left: number, top: number, right: number, bottom: number]
const footer_line = 10.5
/** Page margins in points: as requested, but at least the room of the header and footer. */
export const marginsOf = ({ footer, header, page, watermark }: PrintDocument): Margins => {
  const asked = page.margins_mm ?? { top: 18, right: 18, bottom: 16, left: 18 }
  const lines = Math.max(footer?.lines?.length ?? 0, footer?.page_label === undefined ? 0 : 1)
  return [
    asked.left * points_per_mm,
    Math.max(asked.top * points_per_mm, header === undefined && watermark === undefined ? 0 : 58),
    asked.right * points_per_mm,
    Math.max(asked.bottom * points_per_mm, lines === 0 ? 0 : lines * footer_line + 34)
  ]
}

const headerOf = (
  drawing: Drawing,
  {
    end,
    mark,
    start
  }: { readonly start?: ReadonlyArray<Run>; readonly end?: ReadonlyArray<Run>; readonly mark: string | undefined },
  [left, , right]: Margins
): Content => {
  const parts: Array<Column> = [
    { text: inlines(drawing, start ?? []), alignment: alignmentOf(drawing, "start"), width: "*" },
    // Searchable copy of the watermark, whose large letters are extracted one by one from the PDF.
    ...(mark === undefined
      ? []
      : [{ text: mark, bold: true, color: colours.watermark, alignment: "center" as const, width: "auto" as const }]),
    { text: inlines(drawing, end ?? []), alignment: alignmentOf(drawing, "end"), width: "*" }
  ]
  return {
    columns: drawing.is_rtl ? parts.reverse() : parts,
    columnGap: 16,
    fontSize: sizes.small,
    color: colours.muted,
    margin: [left, 26, right, 0]
  }
}

interface Page {
  readonly margins: Margins
  readonly width: number
  readonly current: number
  readonly pages: number
}
const footerOf = (
  drawing: Drawing,
  { footer }: PrintDocument,
  { current, margins: [left, , right], pages, width }: Page
): Content => {
  const lines = footer?.lines ?? []
  const label = (footer?.page_label ?? "").replaceAll("{page}", String(current)).replaceAll("{pages}", String(pages))
  if (lines.length === 0 && label === "") return { text: "" }
  const parts: Array<Column> = [
    {
      stack: lines.map((text) => ({ text: inlineText(drawing, text) })),
      alignment: alignmentOf(drawing, "start"),
      width: "*"
    },
    { text: inlineText(drawing, label), alignment: alignmentOf(drawing, "end"), width: "auto" }
  ]
  return {
    stack: [
      { canvas: [{ type: "line", x1: 0, y1: 0, x2: width, y2: 0, lineWidth: 0.4, lineColor: colours.line }] },
      { columns: drawing.is_rtl ? parts.reverse() : parts, columnGap: 16, margin: [0, 5, 0, 0] }
    ],
    fontSize: sizes.small,
    lineHeight: 1.1,
    color: colours.muted,
    margin: [left, 10, right, 0]
  }
}
