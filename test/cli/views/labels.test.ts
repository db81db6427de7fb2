import { toBuffer } from "bwip-js/node"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Label, labelSheets, sheets, symbolOf } from "../../../server/print/sheet.ts"
import { symbolOptions } from "../../../server/print/symbol-options.ts"
import { decoded, pixelsOfPng, pixelsOfSvg } from "../../browser/decode.ts"
import { all, classed, faultsOf, readPage, textOf } from "../../browser/page.ts"

/** Valid codes, without spaces around them, as scanners trim. */
const code128_codes = fc
  .string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((point) => String.fromCharCode(point)),
    minLength: 1,
    maxLength: 30
  })
  .map((text) => text.trim())
  .filter((text) => text !== "")
const qr_codes = fc.oneof(
  code128_codes,
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
    .map((text) => text.trim())
    .filter((text) => text !== "" && !/\p{C}/u.test(text))
)
const svgOf = (text: string) => all(readPage(text), "svg")[0]!
const label = (code: string, more: Partial<Label> = {}): Label => ({
  code,
  title: "Moving head",
  more: "Case 7, Slot 1",
  is_case: false,
  ...more
})

describe("a barcode", () => {
  it.each(["code128", "qr"] as const)("scans as the code it was drawn from, %s", async (kind) => {
    await fc.assert(
      fc.asyncProperty(kind === "qr" ? qr_codes : code128_codes, async (code) => {
        const png = await toBuffer({ ...symbolOptions(kind, code), scale: 3, backgroundcolor: "ffffff" })
        expect(decoded(pixelsOfPng(png), kind)).toBe(code)
      }),
      { numRuns: 60 }
    )
  })
  it.each(["code128", "qr"] as const)("is drawn on the label as the same symbol, %s", async (kind) => {
    await fc.assert(
      fc.asyncProperty(kind === "qr" ? qr_codes : code128_codes, async (code) => {
        const sheet = await labelSheets("Labels", [label(code)], { kind, sheet: sheets["2x4"]!, skip: 0 })
        expect(sheet.as_qr).toEqual([])
        expect(decoded(pixelsOfSvg(svgOf(sheet.page)), kind)).toBe(code)
      }),
      { numRuns: 60 }
    )
  })
  it.each([
    ["code128", 10],
    ["qr", 4]
  ] as const)("has the blank margin its standard requires, %s: %d modules", async (kind, quiet) => {
    const { page } = await labelSheets("Labels", [label("CASE-7")], { kind, sheet: sheets["3x8"]!, skip: 0 })
    const pixels = pixelsOfSvg(svgOf(page), 1)
    const units_per_module = kind === "qr" ? 2 : 1
    const middle = Math.floor(pixels.height / 2)
    const columns = Array.from({ length: pixels.width }, (_, x) =>
      Array.from({ length: kind === "qr" ? pixels.height : 1 }, (_, y) =>
        pixels.dark(x, kind === "qr" ? y : middle)
      ).some((one) => one)
    )
    expect(columns.indexOf(true)).toBe(quiet * units_per_module)
    expect(pixels.width - 1 - columns.lastIndexOf(true)).toBe(quiet * units_per_module)
  })
  it("has as many modules as its standard says, for one Code 128 and one QR code", async () => {
    // ISO 15417: start 11, each character 11, check 11, stop 13, and a margin of 10 on either side. Six letters are six
    // characters.
    expect((await symbolOf("code128", "ABCDEF")).modules).toBe(11 + 6 * 11 + 11 + 13 + 20)
    // The smallest QR code is 21 modules across.
    expect((await symbolOf("qr", "A-1")).modules).toBe(21 + 8)
  })
})

describe("a sheet of labels", () => {
  it("prints each code as text, too, and escapes titles", async () => {
    const title = `<script>alert("x")</script> & 'Sons'`
    const { page } = await labelSheets(title, [label("A-1", { title }), label("\u05d0\u05e8\u05d2\u05d6 7")], {
      kind: "qr",
      sheet: sheets["3x8"]!,
      skip: 0
    })
    expect(faultsOf(page)).toEqual([])
    expect(all(readPage(page), "code").map(textOf)).toEqual(["A-1", "\u05d0\u05e8\u05d2\u05d6 7"])
    expect(all(readPage(page), "b").map(textOf)).toEqual([title, "Moving head"])
  })
  it("uses QR if Code 128 cannot hold a code or would not fit, and reports that", async () => {
    const long = "X".repeat(40)
    const small = await labelSheets("Labels", [label("A-1"), label("\u00dcber-1"), label(long)], {
      kind: "code128",
      sheet: sheets["5x13"]!,
      skip: 0
    })
    expect(small.as_qr).toEqual(["\u00dcber-1", long])
    expect(
      all(readPage(small.page), "svg").map((svg, at) => decoded(pixelsOfSvg(svg), at === 0 ? "code128" : "qr"))
    ).toEqual(["A-1", "\u00dcber-1", long])
  })
  it("skips used positions, and starts another sheet when one is full", async () => {
    const labels = Array.from({ length: 25 }, (_, at) => label(`A-${at}`))
    const page = readPage((await labelSheets("Labels", labels, { kind: "qr", sheet: sheets["3x8"]!, skip: 23 })).page)
    expect(
      classed(page, "sheet").map((sheet) => [classed(sheet, "used").length, classed(sheet, "label").length])
    ).toEqual([
      [23, 1],
      [0, 24]
    ])
    await expect(labelSheets("Labels", labels, { kind: "qr", sheet: sheets["3x8"]!, skip: 24 })).rejects.toMatchObject({
      field: "skip"
    })
  })
  it("refuses a code too long for any label", async () => {
    await expect(
      labelSheets("Labels", [label("\u00dc".repeat(200))], { kind: "qr", sheet: sheets["3x8"]!, skip: 0 })
    ).rejects.toMatchObject({ field: "code" })
  })
  it.each(Object.entries(sheets))("fits on A4: %s", (_name, { columns, gap_mm, height_mm, rows, width_mm }) => {
    expect(columns * width_mm + (columns - 1) * gap_mm).toBeLessThan(210)
    expect(rows * height_mm).toBeLessThan(297)
  })
})
