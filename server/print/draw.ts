/** Draws a document as PDF. Loaded by drawing threads only: the library loads slowly and draws without a pause. */
import pdfmake from "pdfmake"
import rendering from "pdfmake/js/Renderer.js"
import virtual from "pdfmake/js/virtual-fs.js"
import { carryingDefinition, describeCarried } from "./carried-xml.ts"
import { definitionOf } from "./definition.ts"
import { placeWords } from "./direction.ts"
import { familiesFor, UnusableFont } from "./fonts.ts"
import type { Answer, PdfTask } from "./messages.ts"
import { symbolOf } from "./symbols.ts"

/** A document that cannot be drawn, with the reason for people. */
class Undrawable extends Error {}

// Documents bring all they show: no file and no address is ever opened.
pdfmake.setLocalAccessPolicy(() => false)
pdfmake.setUrlAccessPolicy(() => false)

// Words are put in order of reading when pdfmake has broken the lines and before they are drawn.
const renderer = rendering.default.prototype
const drawLine = renderer.renderLine
renderer.renderLine = function (line, x, y) {
  placeWords(line.inlines)
  drawLine.call(this, line, x, y)
}

// Texts in an SVG ask PDFKit for fonts by the names of their files, of which only pdfmake's folder knows.
const drawSvg = renderer.renderSVG
let svg_fonts: ReadonlyArray<string> = []
renderer.renderSVG = function (drawing) {
  for (const name of svg_fonts) this.pdfDocument.registerFont(name, virtual.default.readFileSync(name))
  drawSvg.call(this, drawing)
}

export const draw = async ({ carried_xml, document, fonts, pictures }: PdfTask): Promise<Answer> => {
  try {
    const families = familiesFor(virtual.default, fonts)
    pdfmake.setFonts(Object.fromEntries(families.map(({ faces, name }) => [name, { ...faces }])))
    svg_fonts = [...new Set(families.flatMap(({ faces }) => Object.values(faces)))]
    const definition = definitionOf(document, {
      families,
      pictureOf: (picture) => {
        const key = "sha256" in picture ? picture.sha256 : picture.base64
        const found = pictures.get(key)
        if (found === undefined) throw new Undrawable(`The picture ${key.slice(0, 64)} is missing.`)
        return found
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
