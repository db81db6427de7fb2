/** Warehouse documents as PDF: their text by `pdftotext`, their codes by scanning pixels. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  BinaryBitmap,
  Code128Reader,
  DecodeHintType,
  GlobalHistogramBinarizer,
  RGBLuminanceSource
} from "@zxing/library"
import { Effect } from "effect"
import { PNG } from "pngjs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { plain, type PrintDocument, type Row } from "../../../core/pricing/print/blocks.ts"
import { htmlPage } from "../../../core/pricing/print/html.ts"
import { sharedRenderer } from "../serving.ts"
import { type App, openApp, plays_everything } from "../../app.ts"
import { openHouse, orderOfLines, paperOf, rowsOf } from "../../core/documents/content/house.ts"
import { pagesOfPdf } from "./pdf-text.ts"
import { hasProgram } from "../../installed-tools.ts"

const folder = mkdtempSync(join(tmpdir(), "flightcase-papers-"))
let app: App
let house: number
const renderer = sharedRenderer()
beforeAll(async () => {
  app = await openApp()
  house = (await openHouse(app)).order
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})
const pdf = async (document: PrintDocument): Promise<Uint8Array> =>
  (await Effect.runPromise(renderer.pdf(document, { limit_millis: 120_000 }))).bytes
const codesIn = (document: PrintDocument): ReadonlyArray<string> =>
  rowsOf(document).flatMap(({ cells }) => cells.flatMap(({ code }) => (code === undefined ? [] : [code.value])))

/** All Code 128 codes on a page, scanned in rows less than a code's height apart, from either half. */
const scannedFrom = (png: Buffer): ReadonlySet<string> => {
  const { data, height, width } = PNG.sync.read(png)
  const found = new Set<string>()
  const reader = new Code128Reader()
  const hints = new Map<DecodeHintType, unknown>([[DecodeHintType.TRY_HARDER, true]])
  for (let y = 6; y < height; y += 12)
    for (const [from, to] of [
      [0, Math.floor(width * 0.45)],
      [Math.floor(width * 0.55), width]
    ] as const) {
      const light = Uint8ClampedArray.from({ length: to - from }, (_, x) => data[(y * width + from + x) * 4]!)
      try {
        const source = new RGBLuminanceSource(light, to - from, 1)
        found.add(reader.decode(new BinaryBitmap(new GlobalHistogramBinarizer(source)), hints).getText())
      } catch {
        // No code in this row.
      }
    }
  return found
}
const scanned = (bytes: Uint8Array): ReadonlySet<string> => {
  const file = join(folder, "paper.pdf")
  writeFileSync(file, bytes)
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".png"))) rmSync(join(folder, name))
  execFileSync("pdftoppm", ["-r", "200", "-png", file, join(folder, "page")])
  return new Set(
    readdirSync(folder)
      .filter((name) => name.endsWith(".png"))
      .flatMap((name) => [...scannedFrom(readFileSync(join(folder, name)))])
  )
}

describe("warehouse documents as PDF", () => {
  it.skipIf(!hasProgram("pdftotext"))("have names, quantities, serial numbers and weights as text", async () => {
    const file = join(folder, "text.pdf")
    for (const kind of ["pick_list", "delivery_note"] as const) {
      const document = await paperOf(app, house, kind)
      writeFileSync(file, await pdf(document))
      const text = execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" }).replace(/\s+/g, " ")
      for (const { cells } of rowsOf(document))
        for (const cell of cells)
          for (const part of [...cell.runs.map((run) => run.text), ...(cell.note ?? "").split("\n")])
            expect(text).toContain(part.replace(/\s+/g, " "))
    }
  })
  it.skipIf(!hasProgram("pdftoppm"))("have scannable codes, with the order's at the head", async () => {
    const document = await paperOf(app, house, "pick_list")
    const read = scanned(await pdf(document))
    const printed = codesIn(document)
    expect(printed.length).toBeGreaterThan(7)
    for (const code of [...printed, "0000000001"]) expect(read).toContain(code)
  })
  it("repeat their heads and number every page, with one line or many", async () => {
    for (const lines of [1, 40, plays_everything ? 1_000 : 120]) {
      const document = await paperOf(app, await orderOfLines(app, lines), "pick_list")
      const pages = pagesOfPdf(await pdf(document))
      const all = pages.join("\n")
      for (const [at, page] of pages.entries()) expect(page).toContain(`Page ${at + 1} of ${pages.length}`)
      const tabled = pages.filter((page) => /SKU-/.test(page))
      for (const page of tabled) expect(page).toMatch(/Item.*Qty.*Weight.*Code/)
      for (const { cells } of rowsOf(document))
        if (cells[3]?.code !== undefined) expect(all).toContain(cells[3].code.value)
    }
  })
})

const cellRow = (text: string): Row => ({ kind: "row", cells: [{ runs: plain(text) }] })
describe("a printed table", () => {
  const of = (rows: number, together: boolean): PrintDocument => ({
    format: "flightcase.document",
    version: 2,
    title: "Cases",
    language: "en",
    dated_at: "2026-11-22T09:30:00Z",
    page: { size: "A4" },
    blocks: [
      {
        kind: "table",
        columns: [{ title: "Item", share: 1 }],
        rows: Array.from({ length: 12 }, (_, at) => at).flatMap((at) => [
          { kind: "group" as const, text: `Case ${at}`, ...(together ? { together } : {}) },
          ...Array.from({ length: rows }, (_one, row) => cellRow(`Piece ${at}/${row}`))
        ])
      }
    ]
  })
  const split = (pages: ReadonlyArray<string>): number =>
    Array.from({ length: 12 }, (_, at) => pages.filter((page) => page.includes(`Piece ${at}/`)).length).filter(
      (count) => count > 1
    ).length
  it("keeps a case's contents on one page of a PDF where declared", async () => {
    expect(split(pagesOfPdf(await pdf(of(9, false))))).toBeGreaterThan(0)
    expect(split(pagesOfPdf(await pdf(of(9, true))))).toBe(0)
  })
  it("has every row of a case longer than a page of a PDF", async () => {
    const text = pagesOfPdf(await pdf(of(80, true))).join("\n")
    for (let at = 0; at < 12; at++) for (let row = 0; row < 80; row++) expect(text).toContain(`Piece ${at}/${row}`)
  })
  it("shows a cell's code in HTML, or its value alone if the code cannot be drawn", () => {
    const document: PrintDocument = {
      ...of(0, false),
      blocks: [
        {
          kind: "table",
          columns: [{ title: "Code", share: 1 }],
          rows: [{ kind: "row", cells: [{ runs: [], code: { symbology: "code128", value: "A<1" } }] }]
        }
      ]
    }
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    expect(htmlPage(document, { symbolOf: () => svg })).toMatch(/<img alt="" .*data:image\/svg\+xml.*A&lt;1/)
    expect(htmlPage(document)).not.toContain("<img")
    expect(htmlPage(document)).toContain("A&lt;1")
  })
})
