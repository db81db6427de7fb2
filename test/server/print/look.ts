/**
 * Renders the sample documents as PDF and page into a folder for inspection; with Chromium also pictures of the
 * pages at the sizes of a phone and a desk: node test/server/print/look.ts FOLDER && pdftoppm -r 60 -png
 * FOLDER/quote-40-EUR.pdf page
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import { htmlPage } from "../../../core/pricing/print/html.ts"
import type { Code } from "../../../core/pricing/print/blocks.ts"
import { background_limit_millis, makeRenderer } from "../../../server/print/renderer.ts"
import { symbolOf } from "../../../server/print/symbols.ts"
import { chromiumPath, openBrowser } from "../../browser/browser.ts"
import { quote, type Sample } from "./samples.ts"

const folder = process.argv[2] ?? "."
mkdirSync(folder, { recursive: true })
const samples: ReadonlyArray<Sample> = [
  { lines: 1, currency: "EUR", language: "de", watermark: "DRAFT", logo: "png" },
  { lines: 40, currency: "EUR", language: "en", logo: "svg" },
  { lines: 40, currency: "KWD", language: "ar", logo: "svg" },
  { lines: 40, currency: "JPY", language: "en-US", watermark: "VOID" },
  { lines: 1_000, currency: "EUR", language: "fr", logo: "svg" }
]
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const renderer = yield* makeRenderer()
      for (const sample of samples) {
        const document = quote(sample)
        const started = performance.now()
        const { bytes, pages } = yield* renderer.pdf(document, { limit_millis: background_limit_millis })
        const name = `quote-${sample.lines}-${sample.currency}`
        writeFileSync(join(folder, `${name}.pdf`), bytes)
        const drawn = { symbolOf: ({ symbology, value }: Code) => symbolOf(symbology, value).svg }
        writeFileSync(join(folder, `${name}.html`), htmlPage(document, drawn))
        console.log(name, pages, "pages", bytes.length, "bytes", Math.round(performance.now() - started), "ms")
      }
    })
  )
)

const chromium = chromiumPath()
if (chromium !== undefined) {
  const browser = await openBrowser(chromium)
  for (const name of ["quote-1-EUR", "quote-40-EUR", "quote-40-KWD"]) {
    for (const width of [390, 1280]) {
      const page = await browser.newPage({ viewport: { width, height: 844 } })
      await page.goto(pathToFileURL(join(folder, `${name}.html`)).href)
      const wide = await page.evaluate("document.documentElement.scrollWidth")
      await page.screenshot({
        path: join(folder, `${name}-${width}.png`),
        clip: { x: 0, y: 0, width, height: 1_500 },
        fullPage: true
      })
      console.log(name, width, "px, content", wide, "px")
      await page.close()
    }
  }
  await browser.close()
}
