/**
 * A batch of 100 quotations of 40 lines: its duration against rendering the same document tree alone in the same kind
 * of thread, the server's memory, and its response times meanwhile, against an idle server in the same run.
 */
import { setTimeout as pause } from "node:timers/promises"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect, Exit, Result, Scope } from "effect"
import { type PrintDocument, readDocument } from "../../core/pricing/print/blocks.ts"
import { makeRenderer } from "../../server/print/renderer.ts"
import { median } from "./measure.ts"
import { type Client, clientOf, root, startServer } from "./processes.ts"
import { onSqlite } from "./stage.ts"

const batch_size = 100
const lines = 40
const rounds = 2
const quiet_seconds = 8

const megabytesOf = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024)
}

/** Sends requests in sequence until stopped; returns their durations in milliseconds. */
const asking = async (ask: Client, goes_on: () => boolean): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  while (goes_on()) {
    const started = performance.now()
    await ask("GET", "/api/v1/opportunities?per_page=20")
    took.push(performance.now() - started)
    await pause(5)
  }
  return took
}
const percentile = (values: ReadonlyArray<number>, part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0

/** Creates an order with a number of lines, and clones of it. */
const furnished = async (ask: Client): Promise<ReadonlyArray<number>> => {
  const { opportunity } = await ask("POST", "/api/v1/opportunities", { subject: "Summer Ball" })
  for (let line = 0; line < lines; line++)
    await ask("POST", `/api/v1/opportunities/${opportunity.id}/items`, { name: `Lamp ${line}`, quantity: 2 })
  const ids: Array<number> = [opportunity.id]
  while (ids.length < batch_size)
    ids.push((await ask("POST", `/api/v1/opportunities/${opportunity.id}/clone`)).opportunity.id)
  return ids
}

/** Stored input of a quotation's rendering. */
const treeIn = (folder: string): PrintDocument => {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name)
    if (!statSync(path).isFile()) continue
    const text = readFileSync(path, "utf8")
    if (text.startsWith('{"format":"flightcase.document"')) return Result.getOrThrow(readDocument(JSON.parse(text)))
  }
  throw new Error(`no document was drawn in ${folder}`)
}

/** Renders the same document as often in a thread, one at a time; returns the seconds. */
const drawnAlone = async (document: PrintDocument): Promise<number> => {
  const scope = Scope.makeUnsafe()
  const worker = pathToFileURL(join(root, "out/print/worker.js"))
  const renderer = await Effect.runPromise(Scope.provide(makeRenderer({ worker }), scope))
  const draw = () => Effect.runPromise(renderer.pdf(document, { limit_millis: 60_000 }))
  await draw()
  const started = performance.now()
  for (let at = 0; at < batch_size; at++) await draw()
  const seconds = (performance.now() - started) / 1_000
  await Effect.runPromise(Scope.close(scope, Exit.void))
  return seconds
}

export const documents = async (): Promise<void> => {
  const engine = await onSqlite()
  const server = await startServer(engine.environment)
  const ask = clientOf(server)
  const documentable_ids = await furnished(ask)
  const [documentable_id] = documentable_ids
  await ask("POST", "/api/v1/documents/generate", {
    document_type: "quotation",
    documentable_type: "Opportunity",
    documentable_id
  })
  const document = treeIn(join(dirname(engine.path), "blobs"))
  console.log(`\n${batch_size} quotations of ${lines} lines in a batch`)
  for (let round = 0; round < rounds; round++) {
    const alone = await drawnAlone(document)
    const quiet_until = performance.now() + quiet_seconds * 1_000
    const quiet = await asking(ask, () => performance.now() < quiet_until)
    const before = megabytesOf(server.pid)
    const started = performance.now()
    const { job_id } = await ask("POST", "/api/v1/documents/batch_generate", {
      document_type: "quotation",
      documentable_type: "Opportunity",
      documentable_ids
    })
    let is_done = false
    let most = before
    const waiting = (async () => {
      for (;;) {
        const { job } = await ask("GET", `/api/v1/system/jobs/${job_id}`)
        most = Math.max(most, megabytesOf(server.pid))
        if (job.status === "done" || job.status === "failed") break
        await pause(100)
      }
      is_done = true
      return (performance.now() - started) / 1_000
    })()
    const busy = await asking(ask, () => !is_done)
    const seconds = await waiting
    const ratio = (part: number): string => (percentile(busy, part) / percentile(quiet, part)).toFixed(2)
    console.log(
      `  ${seconds.toFixed(1)} s, drawing alone ${alone.toFixed(1)} s (${(seconds / alone).toFixed(2)} times); ` +
        `memory ${before} MB before, ${most} MB at most; ` +
        `requests ${median(busy).toFixed(1)} ms, quiet ${median(quiet).toFixed(1)} ms ` +
        `(${ratio(0.5)} times; of 95 % ${ratio(0.95)} times)`
    )
  }
  await server.stop()
  await engine.stop()
}
