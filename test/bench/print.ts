/**
 * A quotation of 40 lines as PDF in its own thread, the first and later ones, against pdfmake alone with the same
 * definition; how long the main thread is blocked meanwhile; and memory with 100 renderings queued. The thread runs the
 * bundled program, pdfmake alone the package.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { pathToFileURL } from "node:url"
import { Effect, Exit, Scope } from "effect"
import { makeRenderer, type Renderer } from "../../server/print/renderer.ts"
import { quote } from "../server/print/samples.ts"
import { inTurns, median, print as printed, timed } from "./measure.ts"
import { root } from "./processes.ts"

const rounds = 5
const per_round = 3
const worker = pathToFileURL(join(root, "out/print/worker.js"))
const document = quote({ lines: 40, currency: "EUR", language: "en", logo: "png" })

const opened = async (): Promise<{ readonly renderer: Renderer; readonly close: () => Promise<void> }> => {
  const scope = Scope.makeUnsafe()
  const renderer = await Effect.runPromise(Scope.provide(makeRenderer({ worker }), scope))
  return { renderer, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}
const draw = async (renderer: Renderer): Promise<void> => {
  await Effect.runPromise(renderer.pdf(document, { limit_millis: 60_000 }))
}
/** Longest block of the main thread during the work, in milliseconds. */
const lagOf = async (work: () => Promise<void>): Promise<number> => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await new Promise((resolve) => setTimeout(resolve, 10))
  await work()
  // The delay is recorded when the next timer fires.
  await new Promise((resolve) => setTimeout(resolve, 10))
  delay.disable()
  return delay.max / 1e6
}

/** Renders 100 at once; runs before pdfmake is loaded into this process. */
const hundred = async (renderer: Renderer): Promise<void> => {
  const before = process.memoryUsage().rss
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 20)
  const started = performance.now()
  await Promise.all(Array.from({ length: 100 }, () => draw(renderer)))
  clearInterval(watch)
  const seconds = (performance.now() - started) / 1000
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
  console.log(`\n100 PDFs of 40 lines asked for at once, two threads`)
  console.log(`  ${seconds.toFixed(1)} s; memory ${megabytes(before)} before, ${megabytes(most)} at most`)
}

export const print = async (): Promise<void> => {
  const { close, renderer } = await opened()
  await hundred(renderer)
  const { drawAlone } = await import("./print-alone.ts")
  const alone = (): Promise<void> => drawAlone(document)
  const first = timed("flightcase, a new thread", 1, async () => {
    const fresh = await opened()
    await draw(fresh.renderer)
    await fresh.close()
  })
  const first_alone = timed("pdfmake alone, a new process", 1, async () => {
    execFileSync(process.execPath, [join(root, "test/bench/print-alone.ts"), "once"], { stdio: "inherit" })
  })
  printed("first PDF of 40 lines", await inTurns([first, first_alone], 3), { unit: "documents", as: "duration" })
  const sides = [timed("flightcase", per_round, () => draw(renderer)), timed("pdfmake alone", per_round, alone)]
  printed("PDF of 40 lines", await inTurns(sides, rounds, 2), { unit: "documents", as: "duration" })

  const lags: Array<readonly [number, number]> = []
  for (let at = 0; at < rounds; at++) lags.push([await lagOf(() => draw(renderer)), await lagOf(alone)])
  const ours = median(lags.map(([one]) => one)),
    theirs = median(lags.map(([, one]) => one))
  console.log(`\nlongest standstill of the main thread during one PDF`)
  console.log(
    `  flightcase ${ours.toFixed(1)} ms, pdfmake alone ${theirs.toFixed(1)} ms, ratio ${(ours / theirs).toFixed(2)}`
  )

  await close()
}
