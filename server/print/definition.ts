/** A document as pdfmake takes it: the page, what is on each page, and the blocks. */
import type { Column, Content, TDocumentDefinitions } from "pdfmake"
import { isRightToLeft, type PrintDocument, type Run } from "../../core/print/blocks.ts"
import { blocksDefinition } from "./block-definition.ts"
import { alignmentOf, type Drawing, inlines, inlineText } from "./inline.ts"
import { colours, page_sizes, points_per_mm, sizes } from "./style.ts"

type Tools = Pick<Drawing, "families" | "pictureOf" | "symbolOf">

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
    info: {
      title: document.title,
      ...(document.author === undefined ? {} : { author: document.author }),
      creator: "Flightcase",
      producer: "Flightcase",
      // The clock is not asked: the same document is the same file.
      creationDate: dated,
      modDate: dated
    },
    ...(head === undefined && document.watermark === undefined
      ? {}
      : { header: () => headerOf(drawing, { ...head, mark: document.watermark }, margins) }),
    footer: (current: number, pages: number) => footerOf(drawing, document, margins, width, current, pages),
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
/** As asked for, but with room for what is on each page. */
const marginsOf = ({ footer, header, page, watermark }: PrintDocument): Margins => {
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
    // The word across the page comes out of it letter by letter; here it can be searched for.
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

const footerOf = (
  drawing: Drawing,
  { footer }: PrintDocument,
  [left, , right]: Margins,
  width: number,
  current: number,
  pages: number
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
