/** Invoices as Factur-X: contents of the file. Conformance to PDF/A is not checked here. */
import { inflateSync } from "node:zlib"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { sharedRenderer } from "../serving.ts"
import { readXml } from "../../core/billing/einvoice/xml-reader.ts"
import { pagesOfPdf } from "./pdf-text.ts"
import { quote } from "./samples.ts"

const xml =
  '<?xml version="1.0" encoding="UTF-8"?>\n<rsm:CrossIndustryInvoice xmlns:rsm="urn:x">Grüße &amp; 5 €</rsm:CrossIndustryInvoice>\n'
const renderer = sharedRenderer()
const drawn = (title: string) => {
  const document = { ...quote({ lines: 3, currency: "EUR", language: "de", logo: "png" }), title }
  return Effect.runPromise(renderer.pdf(document, { carried_xml: xml, limit_millis: 60_000 }))
}

describe("an invoice as Factur-X", () => {
  it("embeds the XML as the alternative to its page", async () => {
    const { bytes, pages } = await drawn("Invoice 42")
    const text = Buffer.from(bytes).toString("latin1")
    const stream = /\/Type \/EmbeddedFile\b[^]*?stream\n([^]*?)\nendstream/.exec(text)
    expect(inflateSync(Buffer.from(stream?.[1] ?? "", "latin1")).toString("utf8")).toBe(xml)
    expect(text).toContain("/AFRelationship /Alternative")
    expect(text).toMatch(/\/F \(factur-x\.xml\)/)
    expect(text).toMatch(/\/AF \[\d+ 0 R\]/)
    expect(pages).toBe(1)
    expect(pagesOfPdf(bytes)).toHaveLength(1)
  })
  it("has the colour profile, fonts and id that PDF/A-3b requires, and no encryption", async () => {
    const text = Buffer.from((await drawn("Invoice 42")).bytes).toString("latin1")
    expect(text).toContain("/S /GTS_PDFA1")
    expect(text).toMatch(/\/ID \[<[0-9a-f]+> <[0-9a-f]+>\]/)
    expect(text).not.toContain("/Encrypt")
    const fonts = text.match(/\/Type \/FontDescriptor\b/g) ?? []
    expect(fonts.length).toBeGreaterThan(0)
    expect(text.match(/\/FontFile[23] \d+ 0 R/g) ?? []).toHaveLength(fonts.length)
  })
  it("has metadata that are valid XML, whatever the title", async () => {
    const title = 'Invoice <42> & "Söhne"'
    const bytes = Buffer.from((await drawn(title)).bytes)
    const from = bytes.indexOf("<x:xmpmeta")
    const until = bytes.indexOf("</x:xmpmeta>") + "</x:xmpmeta>".length
    const metadata = bytes.subarray(from, until).toString("utf8")
    const read = JSON.stringify(readXml(`<?xml version="1.0" encoding="UTF-8"?>\n${metadata}`))
    expect(read).toContain(JSON.stringify(title))
    expect(metadata).toContain("<pdfaid:part>3</pdfaid:part>")
    expect(metadata).toContain("<pdfaid:conformance>B</pdfaid:conformance>")
    expect(metadata).toContain("<fx:DocumentFileName>factur-x.xml</fx:DocumentFileName>")
    expect(metadata).toContain("<fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>")
    for (const name of ["DocumentType", "DocumentFileName", "Version", "ConformanceLevel"])
      expect(metadata).toContain(`<pdfaProperty:name>${name}</pdfaProperty:name>`)
  })
  it("has the same bytes each time", async () => {
    const [one, other] = [await drawn("Invoice 42"), await drawn("Invoice 42")]
    expect(Buffer.compare(one.bytes, other.bytes)).toBe(0)
  })
})
