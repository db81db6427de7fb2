/** Draws documents as PDF, in drawing threads only: the library loads slowly and blocks while drawing. */
import { inflateSync } from "node:zlib"
import pdfmake, { type Attachment, type TDocumentDefinitions } from "pdfmake"
import rendering, { type PdfDocument, type StructureElement } from "pdfmake/js/Renderer.js"
import virtual from "pdfmake/js/virtual-fs.js"
import { definitionOf, marginsOf } from "./definition.ts"
import { placeWords, type Tag } from "./direction.ts"
import { type Answer, familiesFor, type PdfTask, UnusableFont } from "./fonts.ts"
import { symbolOf } from "./symbols.ts"

// Makes a drawn invoice a Factur-X invoice: embeds the XML and adds its metadata. For drawing threads.

const file_name = "factur-x.xml"
const namespace = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"

/** Attachment for the document's definition. Its relationship is "Alternative", as the XML has the pages' content. */
const carryingDefinition = (
  xml: string,
  dated: Date
): Required<Pick<TDocumentDefinitions, "subset" | "version" | "files">> => {
  const file: Attachment = {
    src: `data:text/xml;base64,${Buffer.from(xml, "utf8").toString("base64")}`,
    name: file_name,
    type: "text/xml",
    description: "Invoice as data (CII, EN 16931)",
    relationship: "Alternative",
    creationDate: dated,
    modifiedDate: dated
  }
  return { subset: "PDF/A-3b", version: "1.7", files: { [file_name]: file } }
}

/** The members we use of PDFKit's document, which its types do not declare. */
interface Finished {
  readonly info: { [key: string]: unknown }
  endSubset: () => void
  readonly appendXML: (xml: string) => void
}
const isFinished = (document: object): document is Finished =>
  "endSubset" in document && "appendXML" in document && "info" in document

/**
 * Adds metadata when the document ends, after the visible content. Escapes title and author, which the library inserts
 * as they are.
 */
const describeCarried = (document: object): void => {
  if (!isFinished(document)) throw new Error("the PDF library has no metadata")
  const end = document.endSubset
  document.endSubset = function () {
    end.call(this)
    for (const [key, value] of Object.entries(document.info))
      if (typeof value === "string" || value instanceof String) document.info[key] = escaped(String(value))
    document.appendXML(invoice_metadata)
    document.appendXML(schema_metadata)
  }
}
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "")

const invoice_metadata = `
        <rdf:Description xmlns:fx="${namespace}" rdf:about="">
            <fx:DocumentType>INVOICE</fx:DocumentType>
            <fx:DocumentFileName>${file_name}</fx:DocumentFileName>
            <fx:Version>1.0</fx:Version>
            <fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>
        </rdf:Description>
        `
const property = (name: string, description: string): string => `
                                <rdf:li rdf:parseType="Resource">
                                    <pdfaProperty:name>${name}</pdfaProperty:name>
                                    <pdfaProperty:valueType>Text</pdfaProperty:valueType>
                                    <pdfaProperty:category>external</pdfaProperty:category>
                                    <pdfaProperty:description>${description}</pdfaProperty:description>
                                </rdf:li>`
/** Description of the Factur-X metadata, which PDF/A requires for non-standard schemas. */
const schema_metadata = `
        <rdf:Description
            xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
            xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
            xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"
            rdf:about="">
            <pdfaExtension:schemas>
                <rdf:Bag>
                    <rdf:li rdf:parseType="Resource">
                        <pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
                        <pdfaSchema:namespaceURI>${namespace}</pdfaSchema:namespaceURI>
                        <pdfaSchema:prefix>fx</pdfaSchema:prefix>
                        <pdfaSchema:property>
                            <rdf:Seq>${[
                              property("DocumentFileName", "name of the embedded XML invoice file"),
                              property("DocumentType", "INVOICE"),
                              property("Version", "The actual version of the Factur-X XML schema"),
                              property("ConformanceLevel", "The conformance level of the embedded Factur-X data")
                            ].join("")}
                            </rdf:Seq>
                        </pdfaSchema:property>
                    </rdf:li>
                </rdf:Bag>
            </pdfaExtension:schemas>
        </rdf:Description>
        `

/** Error of a document that cannot be drawn, with the reason for users. */
class Undrawable extends Error {}

// Documents contain everything they show: no file or URL is opened.
pdfmake.setLocalAccessPolicy(() => false)
pdfmake.setUrlAccessPolicy(() => false)

// Reorders words after pdfmake has broken the lines and before it draws them.
const renderer = rendering.default.prototype
const drawLine = renderer.renderLine
renderer.renderLine = function (line, x, y) {
  placeWords(line.inlines)
  const draw = () => drawLine.call(this, line, x, y)
  if (tagged === undefined) draw()
  else asLine(this.pdfDocument, line, y, tagged, draw)
}

/** Margins of the current document; undefined for version 1, which is drawn without tags. */
let tagged: Margins | undefined
for (const kind of ["renderVector", "renderImage", "renderSVG", "renderWatermark"] as const) {
  const draw = renderer[kind]
  renderer[kind] = function (drawing) {
    if (tagged === undefined) draw.call(this, drawing)
    else asDecoration(this.pdfDocument, () => draw.call(this, drawing))
  }
}

// Texts in SVGs request fonts from PDFKit by file name, which are found only in pdfmake's virtual folder.
const drawSvg = renderer.renderSVG
let svg_fonts: ReadonlyArray<string> = []
renderer.renderSVG = function (drawing) {
  for (const name of svg_fonts) this.pdfDocument.registerFont(name, virtual.default.readFileSync(name))
  drawSvg.call(this, drawing)
}

/** Chunks of a PNG that are drawn, and its packed pixels; undefined if it is cut off or has not exactly one head. */
const chunksOf = (bytes: Uint8Array, view: DataView) => {
  const [kept, packed]: [Array<Uint8Array>, Array<Uint8Array>] = [[bytes.subarray(0, 8)], []]
  let heads = 0
  for (let at = 8, length = 0; at + 12 <= bytes.length; at += 12 + length) {
    length = view.getUint32(at)
    const type = Buffer.from(bytes.subarray(at + 4, at + 8)).toString("latin1")
    if (type === "IEND") break
    if (type === "IHDR") heads++
    if (at + 12 + length > bytes.length || heads !== 1 || (type === "IHDR" && length !== 13)) return undefined
    if (type === "IDAT") packed.push(bytes.subarray(at + 8, at + 8 + length))
    const is_drawn = type === "tRNS" ? view.getUint8(25) < 4 : ["IHDR", "PLTE", "IDAT"].includes(type)
    if (is_drawn) kept.push(bytes.subarray(at, at + 12 + length))
  }
  return heads === 1 ? { kept, packed } : undefined
}
/**
 * The PNG with only the chunks that are drawn, if its pixels unpack, to no more than it says in its one head; undefined
 * otherwise. The library unpacks without a limit, ends the thread where it cannot, and loses its place in other chunks.
 */
const soundPng = (bytes: Uint8Array): Uint8Array | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const chunks = chunksOf(bytes, view)
  if (chunks === undefined) return undefined
  const rows = rowsOf(view)
  const maxOutputLength = rows.reduce((sum, { bytes: of_row, count }) => sum + of_row * count, 0)
  try {
    const pixels = inflateSync(Buffer.concat(chunks.packed), { maxOutputLength })
    let at = 0
    for (const { bytes: of_row, count } of rows)
      for (let row = 0; row < count; row++, at += of_row) if ((pixels[at] ?? 0) > filter_max) return undefined
    return Buffer.concat([...chunks.kept, png_end])
  } catch {
    return undefined
  }
}
const png_end = Buffer.from("0000000049454e44ae426082", "hex")
const filter_max = 4
const samples: { readonly [colour_type: number]: number } = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** First column and row, and steps, of the passes of an interlaced PNG. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2]
] as const
/** Bytes and number of a PNG's rows, in each of its passes; a row starts with its filter. */
const rowsOf = (view: DataView): ReadonlyArray<{ readonly bytes: number; readonly count: number }> => {
  const [width, height] = [view.getUint32(16), view.getUint32(20)]
  const bits = view.getUint8(24) * (samples[view.getUint8(25)] ?? 0)
  return (view.getUint8(28) === 0 ? ([[0, 0, 1, 1]] as const) : passes).flatMap(([x, y, across, down]) => {
    const columns = Math.ceil((width - x) / across)
    return columns <= 0 || height <= y
      ? []
      : [{ bytes: 1 + Math.ceil((columns * bits) / 8), count: Math.ceil((height - y) / down) }]
  })
}

export const draw = async ({ carried_xml, document, fonts, pictures }: PdfTask): Promise<Answer> => {
  try {
    const families = familiesFor(virtual.default, fonts)
    pdfmake.setFonts(Object.fromEntries(families.map(({ faces, name }) => [name, { ...faces }])))
    svg_fonts = [...new Set(families.flatMap(({ faces }) => Object.values(faces)))]
    const [, top, , bottom] = marginsOf(document)
    tagged = document.version === 1 ? undefined : { top, bottom }
    const definition = definitionOf(document, {
      families,
      pictureOf: (picture) => {
        const key = "sha256" in picture ? picture.sha256 : picture.base64
        const found = pictures.get(key)
        if (found === undefined) throw new Undrawable(`The picture ${key.slice(0, 64)} is missing.`)
        if (found.mime_type !== "image/png") return found
        const sound = soundPng(found.bytes)
        if (sound === undefined) throw new Undrawable("A picture is damaged.")
        return { ...found, bytes: sound }
      },
      symbolOf: (symbology, value) => {
        try {
          return symbolOf(symbology, value)
        } catch {
          throw new Undrawable(`The text does not fit a ${symbology === "qr" ? "QR code" : "Code 128"}.`)
        }
      }
    })
    const carrying = carried_xml === undefined ? {} : carryingDefinition(carried_xml, new Date(document.dated_at))
    const created = pdfmake.createPdf({ ...definition, ...carrying })
    if (carried_xml !== undefined) describeCarried(await created.getStream())
    const bytes = await created.getBuffer()
    return { kind: "pdf", bytes, pages: pagesOf(bytes) }
  } catch (cause) {
    if (cause instanceof Undrawable || cause instanceof UnusableFont) return { kind: "refused", message: cause.message }
    const message = cause instanceof Error ? cause.message : String(cause)
    const damaged = /^Invalid image|^SVGMeasure|Unknown image format/.exec(message) !== null
    return { kind: "refused", message: damaged ? "A picture is damaged." : `The document cannot be drawn: ${message}` }
  }
}

const pagesOf = (bytes: Buffer): number =>
  Number(/\/Type \/Pages\s+\/Count (\d+)/.exec(bytes.toString("latin1"))?.[1] ?? 0)

// Tags of a drawn document (PDF 1.7, 14.8): the reading order of its content, and decoration. The library draws line by
// line and has a structure tree, but does not connect the two; documents of version 1 keep their original form.

interface Margins {
  readonly top: number
  readonly bottom: number
}
interface Line {
  readonly inlines: ReadonlyArray<{ readonly text: string; readonly block?: Tag }>
}
/** Tags of the document drawn so far. */
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
/** Marks drawn content as decoration: rules, stripes, and pictures described in text. */
const asDecoration = (document: PdfDocument, draw: () => void): void => drawnAs(document, "Layout", draw)

/** Tags a line: as part of its paragraph or heading; as pagination in header and footer; blank, as decoration. */
const asLine = (document: PdfDocument, line: Line, y: number, margins: Margins, draw: () => void): void => {
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
