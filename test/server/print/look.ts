/**
 * Draws the sample documents and writes them into a folder, to be looked at:
 *
 *   node test/server/print/look.ts FOLDER && pdftoppm -r 60 -png FOLDER/quote-40-EUR.pdf page
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { background_limit_millis, makeRenderer } from "../../../server/print/renderer.ts"
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
        const started = performance.now()
        const { bytes, pages } = yield* renderer.pdf(quote(sample), { limit_millis: background_limit_millis })
        const name = `quote-${sample.lines}-${sample.currency}`
        writeFileSync(join(folder, `${name}.pdf`), bytes)
        console.log(name, pages, "pages", bytes.length, "bytes", Math.round(performance.now() - started), "ms")
      }
    })
  )
)
