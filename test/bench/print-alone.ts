/** pdfmake alone, with the definition that Flightcase makes of the document; `once` renders one and exits. */
import pdfmake from "pdfmake"
import virtual from "pdfmake/js/virtual-fs.js"
import type { PrintDocument } from "../../core/pricing/print/blocks.ts"
import { readPicture } from "../../core/pricing/print/picture.ts"
import { definitionOf } from "../../server/print/definition.ts"
import { familiesFor } from "../../server/print/fonts.ts"
import { symbolOf } from "../../server/print/symbols.ts"
import { quote } from "../server/print/samples.ts"

pdfmake.setLocalAccessPolicy(() => false)
pdfmake.setUrlAccessPolicy(() => false)

export const drawAlone = async (document: PrintDocument): Promise<void> => {
  const families = familiesFor(virtual.default, [])
  pdfmake.setFonts(Object.fromEntries(families.map(({ faces, name }) => [name, { ...faces }])))
  const definition = definitionOf(document, {
    families,
    symbolOf,
    pictureOf: (picture) => {
      const read = readPicture(Buffer.from("base64" in picture ? picture.base64 : "", "base64"))
      if (read._tag === "Failure") throw new Error(read.failure)
      return read.success
    }
  })
  await pdfmake.createPdf(definition).getBuffer()
}
if (process.argv[2] === "once") await drawAlone(quote({ lines: 40, currency: "EUR", language: "en", logo: "png" }))
