/**
 * Jobs that draw documents. One that somebody waits for has workers of its own, and never waits behind the others; of
 * those that nobody waits for, one document is drawn at a time, so that requests stay quick.
 */
import { Effect, Schema } from "effect"
import * as Semaphore from "effect/Semaphore"
import { documentRequested, documentsBatched } from "../../core/documents/events.ts"
import { draw_kinds } from "../../core/documents/jobs.ts"
import { documents } from "../../core/documents/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type AnyJobKind, jobKind, jobOffer, type Process, processOf } from "../jobs/job-kind.ts"

const oneDocument = Schema.Struct({ document_id: Schema.Int })
type OneDocument = typeof oneDocument.Type
const someDocuments = Schema.Struct({ document_ids: Schema.Array(Schema.Int) })

/** Drawing ends no server: it is done in threads that may only use so much memory. */
const harmless = { counts_broken_off: false } as const
/** Loaded with the first document: most who load this draw none. */
const drawing = Effect.promise(() => import("./drawing.ts"))
const drawOrFail = (
  id: number,
  how: { readonly job_id: string; readonly waits: boolean; readonly is_waited_for: boolean }
) => Effect.flatMap(drawing, (it) => it.drawOrFail(id, how))
const recordFailed = (id: number, error: string) => Effect.flatMap(drawing, (it) => it.recordFailed(id, error, true))
const ended = ({ document_id }: OneDocument, error: string) => recordFailed(document_id, error)

/** Of what nobody waits for, one is drawn at a time. */
const alone = Semaphore.makeUnsafe(1)

const waited_for = jobKind({
  ...harmless,
  kind: draw_kinds.request,
  meaning: "draws a document that somebody waits for",
  asked_with: "documents:write",
  data: oneDocument,
  attempts_max: 3,
  waits_seconds: [1, 3],
  at_a_time: 2,
  run: ({ document_id }, { is_last, job_id }) =>
    drawOrFail(document_id, { job_id, waits: !is_last, is_waited_for: true }),
  ended
})
const queued = jobKind({
  ...harmless,
  kind: draw_kinds.job,
  meaning: "draws a document",
  asked_with: "documents:write",
  data: oneDocument,
  attempts_max: 5,
  waits_seconds: [2, 10, 60, 300],
  at_a_time: 1,
  run: ({ document_id }, { is_last, job_id }) =>
    alone.withPermits(1)(drawOrFail(document_id, { job_id, waits: !is_last, is_waited_for: false })),
  ended
})
const batch = jobKind({
  ...harmless,
  kind: draw_kinds.batch,
  meaning: "draws documents one after another",
  asked_with: "documents:write",
  data: someDocuments,
  attempts_max: 5,
  waits_seconds: [2, 10, 60, 300],
  at_a_time: 1,
  run: ({ document_ids }, { job_id, progress }) =>
    Effect.gen(function* () {
      for (const [at, id] of document_ids.entries()) {
        yield* alone.withPermits(1)(drawOrFail(id, { job_id, waits: false, is_waited_for: false }))
        yield* progress((at + 1) / document_ids.length)
      }
      const rows = yield* (yield* Store).getMany(documents, document_ids)
      const failed = rows.filter(({ status }) => status === "failed").length
      return { done: rows.length - failed, failed }
    }),
  ended: ({ document_ids }, error) => Effect.forEach(document_ids, (id) => recordFailed(id, error), { discard: true })
})

export const drawing_jobs: ReadonlyArray<AnyJobKind> = [waited_for, queued, batch]
export const drawing_processes: ReadonlyArray<Process> = [
  processOf({
    on: [documentRequested],
    jobs: ({ actor_id, data }) => {
      const about = { subject: String(data.id), owner_id: actor_id }
      if (data.drawn_by === "batch") return []
      return [jobOffer(data.drawn_by === "job" ? queued : waited_for, { document_id: data.id }, about)]
    }
  }),
  processOf({
    on: [documentsBatched],
    jobs: ({ actor_id, data }) => [
      jobOffer(batch, { document_ids: data.document_ids }, { subject: String(data.id), owner_id: actor_id })
    ]
  })
]
