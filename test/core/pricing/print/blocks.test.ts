/** Documents and pictures are read only if they can be drawn. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { picturesOf, type PrintDocument, readDocument } from "../../../../core/pricing/print/blocks.ts"
import { readPicture } from "../../../../core/pricing/print/picture.ts"
import { unknownFields } from "../../../../core/pricing/print/texts.ts"
import { fadingPng } from "../../../server/print/png.ts"
import { quote } from "../../../server/print/samples.ts"

const sample = quote({ lines: 3, currency: "EUR", language: "en", logo: "png" })
const failure = (change: object): string =>
  Result.match(readDocument({ ...sample, ...change }), { onFailure: (message) => message, onSuccess: () => "read" })

describe("a document", () => {
  it("survives JSON unchanged", () => {
    expect(readDocument(JSON.parse(JSON.stringify(sample)))).toEqual(Result.succeed(sample))
  })
  it.each([
    ["another version of the format", { version: 3 }, /version/],
    ["another format", { format: "other" }, /format/],
    ["a script as a link", { blocks: [paragraph("javascript:alert(1)")] }, /link/],
    ["a file as a link", { blocks: [paragraph("file:///etc/passwd")] }, /link/],
    ["an unknown watermark", { watermark: "PAID" }, /watermark/],
    ["an accent that is no colour", { accent: "red;background:url(x)" }, /accent/],
    ["a Code 128 text beyond ASCII", { blocks: [{ kind: "code", symbology: "code128", value: "é" }] }, /ASCII/],
    [
      "a row with too few cells",
      { blocks: [{ kind: "table", columns: [{ title: "A", share: 1 }], rows: [{ kind: "row", cells: [] }] }] },
      /Row 1/
    ],
    ["blocks nested too deep", { blocks: nested(6) }, /deep/],
    ["blocks nested 5,000 deep", { blocks: nested(5_000) }, /deep/]
  ])("is rejected if it is invalid, with the reason: %s", (_what, change, message) => {
    expect(failure(change)).toMatch(message)
  })
  it("lists its pictures, each once", () => {
    const sha256 = "a".repeat(64)
    const image = { kind: "image", picture: { sha256 }, alt: "", width_mm: 10 } as const
    const signature = { kind: "signature", label: "", drawn: { sha256: "b".repeat(64) } } as const
    const columns: PrintDocument["blocks"] = [{ kind: "columns", columns: [{ share: 1, blocks: [image, signature] }] }]
    expect(picturesOf([...columns, image])).toEqual([sha256, "b".repeat(64)])
  })
})

function paragraph(link: string) {
  return { kind: "paragraph", runs: [{ text: "here", link }] }
}
function nested(depth: number): ReadonlyArray<object> {
  let blocks: ReadonlyArray<object> = []
  for (let at = 0; at < depth; at++) blocks = [{ kind: "together", blocks }]
  return blocks
}

const svg = (inner: string): Uint8Array => new TextEncoder().encode(`<svg viewBox="0 0 1 1">${inner}</svg>`)
const reading = (bytes: Uint8Array): string =>
  Result.match(readPicture(bytes), { onFailure: (message) => message, onSuccess: ({ mime_type }) => mime_type })

describe("a picture", () => {
  it("is recognised as PNG or SVG by its content", () => {
    expect(reading(fadingPng(4, 4))).toBe("image/png")
    expect(reading(svg('<path d="M0 0"/><rect fill="url(#a)"/>'))).toBe("image/svg+xml")
  })
  it.each([
    ["a script", svg("<script>1</script>")],
    ["a file", svg('<image href="/etc/passwd"/>')],
    ["a file by its old name", svg('<image xlink:href="file:///etc/passwd"/>')],
    ["an address in a style", svg('<rect style="fill:url(https://example.com/a)"/>')],
    ["a document type", new TextEncoder().encode('<!DOCTYPE svg [<!ENTITY a "b">]><svg></svg>')],
    ["an element that copies another", svg('<g id="a"/><use href="#a"/>')],
    ["an event handler", svg('<rect onclick="1"/>')]
  ])("is rejected as SVG with %s", (_what, bytes) => {
    expect(reading(bytes)).toMatch(/^The SVG picture has/)
  })
  it("is rejected if it is neither PNG, JPEG nor SVG", () => {
    expect(reading(new TextEncoder().encode("<html></html>"))).toMatch(/neither PNG nor JPEG nor SVG/)
  })
  it("is rejected if it has more than 25 million pixels, however small its file", () => {
    const png = fadingPng(2, 2)
    png.writeUInt32BE(60_000, 16)
    png.writeUInt32BE(60_000, 20)
    expect(reading(png)).toBe("The picture has more than 25 million pixels: 60000 × 60000.")
  })
})

describe("the fields of a text", () => {
  it("must be fields of the document; unknown ones are reported", () => {
    const allowed = ["member.name", "lines.name", "member.custom_fields.*"]
    expect(
      unknownFields(["member", "member.name", "member.nmae", "lines.size", "lines.name", "secret"], allowed)
    ).toEqual(["member.nmae", "secret"])
    expect(unknownFields(["member.custom_fields.vat"], allowed)).toEqual([])
  })
})
