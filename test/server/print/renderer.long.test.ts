/** Long documents, many documents at once, and the built rendering program. */
import { existsSync } from "node:fs"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { background_limit_millis, makeRenderer } from "../../../server/print/renderer.ts"
import { pagesOfPdf } from "./pdf-text.ts"
import { quote } from "./samples.ts"

const built = new URL("../../../out/print/worker.js", import.meta.url)
const patient = { limit_millis: background_limit_millis }

describe("the renderer", () => {
  it("draws a thousand lines without losing one, and repeats the table's head on each page", async () => {
    const document = quote({ lines: 1_000, currency: "JPY", language: "en" })
    const { bytes } = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(makeRenderer(), (renderer) => renderer.pdf(document, patient)))
    )
    const pages = pagesOfPdf(bytes)
    const table = document.blocks.find((block) => block.kind === "table")
    const amounts = (table?.rows ?? []).flatMap((row) =>
      row.kind === "row" ? [row.cells[4]?.runs[0]?.text ?? ""] : []
    )
    const shown = pages.join("\n")
    expect(amounts.length).toBe(1_000)
    expect(amounts.filter((amount) => !shown.includes(amount.replaceAll("\u00a0", " ")))).toEqual([])
    const with_rows = pages.filter((page) => /JPY [\d,]+JPY [\d,]+$/m.test(page))
    expect(with_rows.length).toBeGreaterThan(30)
    expect(with_rows.filter((page) => !page.includes("DescriptionQuantity"))).toEqual([])
  })
  it("draws a hundred documents at once", async () => {
    const document = quote({ lines: 1, currency: "EUR", language: "en" })
    const drawn = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(makeRenderer(), (renderer) =>
          Effect.forEach(
            Array.from({ length: 100 }),
            () => Effect.map(renderer.pdf(document, patient), ({ bytes }) => Buffer.from(bytes).toString("base64")),
            { concurrency: "unbounded" }
          )
        )
      )
    )
    expect(drawn.length).toBe(100)
    expect(new Set(drawn).size).toBe(1)
  })
  it.runIf(existsSync(built))("renders identical bytes from the build and from source", async () => {
    const document = quote({ lines: 20, currency: "KWD", language: "ar", logo: "png", watermark: "VOID" })
    const [one, other] = await Effect.runPromise(
      Effect.scoped(
        Effect.forEach([{}, { worker: built }], (options) =>
          Effect.flatMap(makeRenderer(options), (renderer) => renderer.pdf(document, patient))
        )
      )
    )
    expect(Buffer.compare(one?.bytes ?? Buffer.of(1), other?.bytes ?? Buffer.of(2))).toBe(0)
  })
})
