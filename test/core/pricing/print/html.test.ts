/** Documents are safe and readable HTML. `UPDATE_GOLDEN=1` updates the stored pages. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Block, plain } from "../../../../core/pricing/print/blocks.ts"
import { htmlPage, htmlPart } from "../../../../core/pricing/print/html.ts"
import { all, readPage, textOf } from "../../../browser/page.ts"
import { of, quote } from "../../../server/print/samples.ts"

const golden = (name: string, text: string): void => {
  const path = join(import.meta.dirname, "../../../fixtures/golden/print", name)
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  expect(text).toBe(readFileSync(path, "utf8"))
}
const symbolOf = (): string => '<svg xmlns="http://www.w3.org/2000/svg"></svg>'

describe("a document as HTML", () => {
  it("equals the golden page", () => {
    const document = quote({ lines: 3, currency: "EUR", language: "de", watermark: "DRAFT", logo: "svg" })
    golden("quote.html", htmlPage(document, { symbolOf }))
  })
  it("escapes all text that users enter", () => {
    const evil = `"><script>alert(1)</script><img src=x onerror='1'>&amp;\u0000`
    const document = of(
      [
        { kind: "heading", level: 2, text: evil },
        { kind: "paragraph", runs: [{ text: evil, link: `https://example.com/"><b>` }] },
        { kind: "key_values", rows: [{ label: evil, value: evil }] },
        {
          kind: "table",
          caption: evil,
          columns: [{ title: evil, share: 1 }],
          rows: [
            { kind: "group", text: evil, value: evil },
            { kind: "row", cells: [{ runs: plain(evil), note: evil, tick: false }] }
          ]
        },
        { kind: "totals", rows: [{ label: evil, value: evil, strong: true }] },
        { kind: "image", picture: { mime_type: "image/png", base64: evil }, alt: evil, width_mm: 10 },
        { kind: "code", symbology: "qr", value: evil, caption: evil },
        { kind: "signature", label: evil, name: evil, date: evil }
      ],
      { title: evil, header: { start: plain(evil) }, footer: { lines: [evil] } }
    )
    for (const text of [htmlPage(document, { symbolOf }), htmlPart(document)]) {
      // `readPage` throws on a misplaced tag, quote or sign.
      const page = readPage(text.replaceAll(/\s(class|style|role)="[^"]*"/g, "").replace("<!doctype html>\n", ""))
      const names = new Set(all(page).map(({ name }) => name))
      expect([...names].filter((name) => ["script", "iframe", "object", "form"].includes(name))).toEqual([])
      expect(
        all(page)
          .flatMap(({ attributes }) => Object.keys(attributes))
          .filter((name) => name.startsWith("on"))
      ).toEqual([])
      expect(textOf(page)).toContain("<script>alert(1)</script>")
    }
  })
  it("labels each column's cells, and marks header cells", () => {
    const part = htmlPart(quote({ lines: 1, currency: "EUR", language: "en" }))
    expect(part).toContain('<th role="columnheader" scope="col"')
    expect(part).toContain('data-title="Amount"')
    expect(part).toMatch(/<th scope="row" class="total_label strong">Total<\/th>/)
  })
  it("runs from right to left in Arabic", () => {
    expect(htmlPage(of([], { language: "ar" }))).toContain('<html lang="ar" dir="rtl">')
  })
  it("shows the alternative text where the picture is missing", () => {
    const image: Block = { kind: "image", picture: { sha256: "a".repeat(64) }, alt: "Our logo", width_mm: 10 }
    expect(htmlPart(of([image]))).toContain(">Our logo</div>")
  })
  it("links the URL of a code that cannot be drawn, and omits a code that holds no URL", () => {
    const code = (value: string): Block => ({ kind: "code", symbology: "qr", value, caption: "Scan" })
    expect(htmlPart(of([code("https://example.com/d/1")]))).toContain('<a href="https://example.com/d/1"')
    expect(htmlPart(of([code("BCD\n002")]))).not.toContain("BCD")
  })
})
