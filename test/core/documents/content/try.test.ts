import { writeFileSync, mkdirSync } from "node:fs"
import { Effect } from "effect"
import { it } from "vitest"
import { openApp } from "../../../app.ts"
import { openHouse, orderOfLines, paperOf } from "./house.ts"
import { makeRenderer } from "../../../../server/print/renderer.ts"
import { htmlPage } from "../../../../core/print/html.ts"
import { symbolOf } from "../../../../server/print/symbols.ts"
it("x", { timeout: 200000 }, async () => {
  const app = await openApp()
  mkdirSync("/tmp/w/paper-look", { recursive: true })
  const jobs: Array<[string, number]> = [["house", (await openHouse(app)).order]]
  for (const n of [1, 40, 1000]) jobs.push([String(n), await orderOfLines(app, n)])
  await Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const r = yield* makeRenderer({ threads: 1 })
    for (const [name, order] of jobs)
      for (const kind of ["pick_list", "delivery_note", "return_note"] as const) {
        let t = performance.now()
        const d = yield* Effect.promise(() => paperOf(app, order, kind))
        const t1 = performance.now() - t
        t = performance.now()
        const { bytes, pages } = yield* r.pdf(d, { limit_millis: 120000 })
        writeFileSync(`/tmp/w/paper-look/${name}-${kind}.pdf`, bytes)
        writeFileSync(`/tmp/w/paper-look/${name}-${kind}.html`, htmlPage(d, { symbolOf: ({ symbology, value }) => symbolOf(symbology, value).svg }))
        console.log(name, kind, pages, "pages", Math.round(t1), Math.round(performance.now() - t))
      }
  })))
  app.invented.clear()
  await app.close().catch(() => {})
})
