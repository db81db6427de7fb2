/** PDFs for customers, and time limits of rendering. `UPDATE_GOLDEN=1` updates the stored text. */
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { type Block, plain, type PrintDocument } from "../../../core/pricing/print/blocks.ts"
import { makeRenderer, type Renderer } from "../../../server/print/renderer.ts"
import { sharedRenderer } from "../serving.ts"
import { pagesOfPdf } from "./pdf-text.ts"
import { fadingPng } from "./png.ts"
import { arabic_name, of, quote } from "./samples.ts"

const renderer = sharedRenderer()

const drawn = async (
  document: PrintDocument,
  options?: Parameters<Renderer["pdf"]>[1]
): Promise<ReadonlyArray<string>> =>
  pagesOfPdf((await Effect.runPromise(renderer.pdf(document, { limit_millis: 60_000, ...options }))).bytes)
const refused = (document: PrintDocument, options?: Parameters<Renderer["pdf"]>[1]) =>
  Effect.runPromise(Effect.flip(renderer.pdf(document, { limit_millis: 60_000, ...options })))

describe("a document as PDF", () => {
  it("has the words of the golden file, on as many pages", async () => {
    const pages = await drawn(quote({ lines: 24, currency: "EUR", language: "de", watermark: "DRAFT", logo: "svg" }))
    const text = pages.join("\n--- next page ---\n") + "\n"
    const path = join(import.meta.dirname, "../../fixtures/golden/print/quote.txt")
    if (process.env["UPDATE_GOLDEN"] === "1") {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    expect(text).toBe(readFileSync(path, "utf8"))
  })
  it("is tagged from version 2 on, and has the golden bytes in version 1", async () => {
    const sample = quote({ lines: 24, currency: "EUR", language: "de", watermark: "DRAFT", logo: "svg" })
    const fileOf = async (version: 1 | 2) =>
      Buffer.from((await Effect.runPromise(renderer.pdf({ ...sample, version }, { limit_millis: 60_000 }))).bytes)
    // Hash of the PDF before PDFs had tags.
    const kept = "81d626cea5bcfc0abc3ddf32f6128105754c8e224be072930936551457b2ebb7"
    expect(
      createHash("sha256")
        .update(await fileOf(1))
        .digest("hex")
    ).toBe(kept)
    const file = (await fileOf(2)).toString("latin1")
    const tags = (name: string) => file.match(new RegExp(`/S /${name}\\b`, "g"))?.length ?? 0
    expect(file).toContain("/Marked true")
    expect([tags("Document"), tags("H1")]).toEqual([1, 1])
    expect(tags("P")).toBeGreaterThan(100)
  })
  it("has the same bytes each time, also from another thread", async () => {
    const document = quote({ lines: 2, currency: "KWD", language: "ar", logo: "png" })
    const hashOf = async (one: Renderer) => {
      const { bytes } = await Effect.runPromise(one.pdf(document, { limit_millis: 60_000 }))
      return createHash("sha256").update(bytes).digest("hex")
    }
    const elsewhere = Effect.flatMap(makeRenderer({ threads: 1 }), (other) => Effect.promise(() => hashOf(other)))
    const hashes = [await hashOf(renderer), await hashOf(renderer), await Effect.runPromise(Effect.scoped(elsewhere))]
    expect(new Set(hashes).size).toBe(1)
  })
  it("has its watermark as text on every page", async () => {
    const pages = await drawn(
      of([{ kind: "page_break" }, { kind: "heading", level: 1, text: "Two" }], { watermark: "VOID" })
    )
    expect(pages.map((page) => page.split("\n").filter((line) => line === "VOID").length)).toEqual([2, 2])
  })
  it("keeps its totals with the last rows, under the table's header", async () => {
    const row = { kind: "row" as const, cells: [{ runs: plain("Lamp") }] }
    const pagesWith = (rows: number) =>
      drawn(
        of([
          {
            kind: "table",
            columns: [{ title: "Description", share: 1 }],
            rows: Array.from({ length: rows }, () => row)
          },
          { kind: "totals", rows: ["Net", "Tax", "Total"].map((label) => ({ label, value: "1.00" })) }
        ])
      )
    // Numbers of rows around the one at which the totals no longer fit on the page.
    let last: ReadonlyArray<string> = []
    for (let rows = 30; rows < 40; rows++) {
      last = await pagesWith(rows)
      const page = last.at(-1) ?? ""
      expect(page.split("\n")[0]).toBe("Description")
      expect(page.match(/Lamp/g)?.length ?? 0).toBeGreaterThanOrEqual(2)
      expect(page).toContain("Total")
      expect(last.join("\n").match(/Lamp/g)).toHaveLength(rows)
    }
    expect(last.length).toBe(2)
  })
  it("prints every word of a row or unbreakable block that is longer than a page", async () => {
    const words = Array.from({ length: 3_000 }, (_, at) => `word${at}`)
    const long = words.join(" ")
    const table: Block = {
      kind: "table",
      columns: [
        { title: "Description", share: 1 },
        { title: "Amount", share: 1, alignment: "end" }
      ],
      rows: [{ kind: "row", cells: [{ runs: plain("Lamp"), note: long }, { runs: plain("1.00") }] }]
    }
    const together: Block = { kind: "together", blocks: [{ kind: "paragraph", runs: plain(long) }] }
    const found = (pages: ReadonlyArray<string>): ReadonlyArray<string> =>
      [...new Set(pages.join(" ").match(/word\d+/g))].sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
    expect(found(await drawn(of([table])))).toEqual(words)
    expect(found(await drawn(of([together])))).toEqual(words)
  })
  it("contains every character of a word of 60,000 characters", async () => {
    const word = "Lamp".repeat(15_000)
    const { bytes } = await Effect.runPromise(renderer.pdf(of([{ kind: "paragraph", runs: plain(`A ${word} case`) }])))
    expect((await pagesOfPdf(bytes)).join("").replace(/\s/g, "")).toBe(`A${word}case`)
  })
  it("shows every character, or a box for those without a font", async () => {
    const [page = ""] = await drawn(of([{ kind: "paragraph", runs: plain("Zoë Łukasiewicz Ωμέγα Жук ₴ ✓ 漢 🎉.") }]))
    expect(page).toBe("Zoë Łukasiewicz Ωμέγα Жук ₴ ✓ □ □.")
  })
  it("sets Hebrew from right to left, and numbers and Latin words in it from left to right", async () => {
    const [page = ""] = await drawn(
      of([
        { kind: "paragraph", runs: plain("שלום עולם") },
        { kind: "paragraph", runs: plain("Case אבג דהו (12) here") }
      ])
    )
    // Drawn left to right: the first letter of right-to-left text is on the right.
    expect(page.split("\n")).toEqual(["םלוע םולש", "Case (12) והד גבא here"])
  })
  it("sets Arabic from right to left with its letters joined, and numbers and Latin words in it from left to right", async () => {
    const [page = ""] = await drawn(
      of([
        { kind: "paragraph", runs: plain(arabic_name) },
        { kind: "paragraph", runs: plain("اسم عربي مع رقم 250 وكلمة LED في الوسط") }
      ])
    )
    // لأ is one glyph, whose letters keep their order.
    expect(page.split("\n")).toEqual(["تايلاعفلل ءاوضلأا ةكرش", "طسولا يف LED ةملكو 250 مقر عم يبرع مسا"])
  })
  it.each([
    ["a picture that is not given", { picture: { sha256: "a".repeat(64) } }, /is not given/],
    ["an invalid picture", { picture: { mime_type: "image/png", base64: "AAAA" } }, /neither PNG nor JPEG/],
    [
      "a picture that is cut off",
      { picture: { mime_type: "image/png", base64: fadingPng(40, 40).subarray(0, 60).toString("base64") } },
      /damaged|cannot be drawn|not/
    ]
  ] as const)("is refused with %s, and the next one is drawn", async (_what, { picture }, message) => {
    const image: Block = { kind: "image", picture, alt: "", width_mm: 20 }
    const failure = await refused(of([image]))
    expect(failure._tag).toBe("Undrawable")
    expect(failure.message).toMatch(message)
    expect(await drawn(of([{ kind: "paragraph", runs: plain("Next") }]))).toEqual(["Next"])
  })
  it("is refused with an invalid font, which is named", async () => {
    const font = { name: "Our Own", normal: new Uint8Array([1, 2, 3]), use: "first" as const }
    expect((await refused(of([]), { fonts: [font] })).message).toMatch(/^The font Our Own cannot be used/)
  })
  it("is set in the font it is given", async () => {
    const path = join(import.meta.dirname, "../../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSerif.ttf")
    const font = { name: "Serif", normal: new Uint8Array(readFileSync(path)), use: "first" as const }
    const { bytes } = await Effect.runPromise(
      renderer.pdf(of([{ kind: "paragraph", runs: plain("Lamp") }]), { fonts: [font], limit_millis: 60_000 })
    )
    expect(Buffer.from(bytes).toString("latin1")).toMatch(/\+DejaVuSerif/)
  })
})
