/**
 * Draws a requested document: prepare, fill in its texts, compose, draw, store and record the result. Safe to repeat: a
 * document that is no longer pending is skipped.
 */
import { randomUUID } from "node:crypto"
import { Cause, Clock, Effect, Exit, Option } from "effect"
import { SqlError } from "effect/sql"
import { invoices } from "../../../core/billing/state/tables.ts"
import {
  document_snapshots,
  documentChange,
  documentFailed,
  documentGenerated,
  type DocumentRow,
  documents,
  documentStream
} from "../../../core/documents/schema.ts"
import { CommandRuntime, recordEvents } from "../../../core/kernel/endpoints/endpoint.ts"
import { lockStreams } from "../../../core/kernel/runtime/engine.ts"
import type { NewEvent } from "../../../core/kernel/events/event-type.ts"
import { changesOf } from "../../../core/kernel/runtime/reference-checks.ts"
import { Rejection } from "../../../core/kernel/fields/rejection.ts"
import { type Failure, Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { BlobStoreFailure } from "../../ports/blob-store.ts"
import { lineOf } from "../../delivery/jobs/queue-table.ts"
import {
  background_limit_millis,
  limit_millis as request_limit_millis,
  TextInvalid,
  Undrawable
} from "../../print/renderer.ts"
import { drawn, filledDocument, isUndrawable, preparation } from "./filled.ts"
import { keepBytes, keepSnapshot, readTree } from "./snapshot.ts"

const error_characters_max = 1_000

/** Records a change of a document if it is still pending, in the caller's transaction; returns whether it was. */
const recordIfPending = Effect.fnUntraced(function* (
  id: number,
  actor_id: number | null,
  eventOf: (row: DocumentRow, now: string) => Effect.Effect<NewEvent, Failure, Store | CommandRuntime>
): CommandRuntime.Reads<boolean> {
  yield* lockStreams([documentStream(id)])
  const row = yield* Store.get(documents, id)
  if (row?.status !== "pending") return false
  const runtime = yield* CommandRuntime
  const now = instantOf(yield* Clock.currentTimeMillis)
  const event = yield* eventOf(row, now)
  if (runtime.filesNamed !== undefined) yield* runtime.filesNamed(changesOf(runtime.catalogue.projection, [event], now))
  yield* recordEvents([event], { command_id: yield* runtime.commandId, actor_id, replica_id: null, recorded_at: now })
  return true
})

/** Records that a document could not be drawn, in the caller's transaction. */
export const recordFailed = (id: number, error: string, may_work_later: boolean) =>
  recordIfPending(id, null, (row) =>
    Effect.succeed(
      documentFailed.make({
        ...documentChange(row, { status: "failed", error: error.slice(0, error_characters_max) }),
        may_work_later
      })
    )
  )

const isOfDraft = Effect.fnUntraced(function* ({ documentable_id, documentable_type }: DocumentRow) {
  if (documentable_type !== "Invoice") return false
  return (yield* Store.get(invoices, documentable_id))?.status === "draft"
})

const sourceGone = new Undrawable({
  message: "What it is to be made of is gone, or such a document cannot be made of it."
})

interface Drawing {
  readonly job_id: string
  readonly limit_millis: number
}
/** Draws a document and records the result; false if it was no longer pending. */
const draw = Effect.fnUntraced(function* (id: number, { job_id, limit_millis }: Drawing) {
  const row = yield* Store.get(documents, id)
  if (row?.status !== "pending") return false
  const runtime = yield* CommandRuntime
  const prepare = yield* preparation
  const of_draft = yield* isOfDraft(row)
  const prepared = yield* prepare(
    {
      document_type: row.document_type,
      documentable_id: row.documentable_id,
      store_id: row.store_id,
      document_number: row.document_number,
      // Repeated attempts draw the same date.
      now: row.created_at
    },
    yield* runtime.settings
  )
  if (prepared === undefined) return yield* sourceGone
  const composed = yield* filledDocument(prepared)
  const pdf = yield* drawn(yield* readTree(JSON.stringify(composed)), { limit_millis })
  const files = yield* keepSnapshot(prepared.file_name, JSON.stringify(pdf.document), pdf.pictures)
  const content = yield* keepBytes(pdf.bytes)
  return yield* Store.transaction(
    recordIfPending(id, row.created_by, (now_pending, now) =>
      Effect.gen(function* () {
        const ids = yield* runtime.allocateIds(document_snapshots.name, files.length)
        return documentGenerated.make({
          ...documentChange(now_pending, {
            status: "generated",
            generated_at: now,
            uuid: randomUUID(),
            file_name: `${prepared.file_name}.pdf`,
            file_size: content.size_bytes,
            sha256: content.sha256,
            of_draft
          }),
          documentable_type: row.documentable_type,
          documentable_id: row.documentable_id,
          job_id,
          drawn_from: files.flatMap((file, at) => {
            const snapshot_id = ids[at]
            return snapshot_id === undefined ? [] : [{ ...file, id: snapshot_id, document_id: id }]
          })
        })
      })
    )
  )
})

/** Whether only a person can fix the fault: it is in the document, a text, or its source. */
const isForGood = (failure: unknown): boolean =>
  (failure instanceof Rejection && failure.kind !== "unavailable") ||
  isUndrawable(failure) ||
  failure instanceof TextInvalid
/** Whether the database or file store failed, so that no document can be drawn now. */
const isOfEverything = (failure: unknown): boolean =>
  failure instanceof SqlError.SqlError || failure instanceof BlobStoreFailure
const wordsOf = (failure: unknown): string =>
  failure instanceof Rejection ? (Object.values(failure.errors ?? {}).flat()[0] ?? failure.message) : lineOf(failure)

/**
 * Draws a document, or records the failure. `waits`: temporary failures are passed to the caller, who retries. Failures
 * of the database or file store always are.
 */
export const drawOrFail = Effect.fnUntraced(function* (
  id: number,
  how: { readonly job_id: string; readonly waits: boolean; readonly is_waited_for: boolean }
) {
  // Requests stop waiting after half a minute anyway.
  const limit_millis = how.is_waited_for ? 2 * request_limit_millis : background_limit_millis
  const exit = yield* Effect.exit(draw(id, { job_id: how.job_id, limit_millis }))
  if (Exit.isSuccess(exit)) return
  if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure !== undefined && (isOfEverything(failure) || (how.waits && !isForGood(failure))))
    return yield* Effect.fail(failure)
  if (failure === undefined)
    yield* Effect.logError("a document could not be drawn unexpectedly", { document_id: id }, exit.cause)
  const error = failure === undefined ? "It could not be drawn, unexpectedly; the log says more." : wordsOf(failure)
  yield* Store.transaction(recordFailed(id, error, failure !== undefined && !isForGood(failure)))
})
