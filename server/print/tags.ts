/**
 * Tags of a drawn document (PDF 1.7, 14.8): the reading order of its content, and decoration. The library draws line by
 * line and has a structure tree, but does not connect the two; documents of version 1 keep their original form.
 */
import type { PdfDocument, StructureElement } from "pdfmake/js/Renderer.js"
import type { Tag } from "./direction.ts"

export interface Margins {
  readonly top: number
  readonly bottom: number
}
interface Line {
  readonly inlines: ReadonlyArray<{ readonly text: string; readonly block?: Tag }>
}
/** The tags of a document so far. */
interface Tags {
  readonly root: StructureElement
  last: { readonly block: Tag; readonly element: StructureElement } | undefined
}

const tags = new WeakMap<PdfDocument, Tags>()
const tagsOf = (document: PdfDocument): Tags => {
  const known = tags.get(document)
  if (known !== undefined) return known
  const root = document.struct("Document")
  document.addStructure(root)
  const made = { root, last: undefined }
  tags.set(document, made)
  return made
}

const drawnAs = (document: PdfDocument, type: "Layout" | "Pagination", draw: () => void): void => {
  document.markContent("Artifact", { type })
  draw()
  document.endMarkedContent()
}
/** Marks what `draw` draws as decoration: rules, stripes, pictures described beside them. */
export const asDecoration = (document: PdfDocument, draw: () => void): void => drawnAs(document, "Layout", draw)

/** A line of a paragraph or heading, which its other lines belong to; at head and foot, one of the page. */
export const asLine = (document: PdfDocument, line: Line, y: number, margins: Margins, draw: () => void): void => {
  if (y < margins.top || y > document.page.height - margins.bottom) return drawnAs(document, "Pagination", draw)
  if (line.inlines.every(({ text }) => text.trim() === "")) return drawnAs(document, "Layout", draw)
  const block = line.inlines.find((word) => word.block !== undefined)?.block ?? { tag: "P" }
  const known = tagsOf(document)
  const content = document.markStructureContent(block.tag)
  draw()
  document.endMarkedContent()
  if (known.last?.block !== block) {
    const element = document.struct(block.tag)
    known.root.add(element)
    known.last = { block, element }
  }
  known.last.element.add(content)
}
