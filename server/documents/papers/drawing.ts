/**
 * Draws a requested document: prepare, fill in its texts, compose, draw, store and record the result. Safe to repeat: a
 * document that is no longer pending is skipped.
 */
import { createHash, randomUUID } from "node:crypto"
import { Cause, Clock, Data, Effect, Exit, Option, Result, Stream } from "effect"
import { SqlError } from "effect/sql"
import { invoices } from "../../../core/billing/state/tables.ts"
import type { DocumentRow, DocumentSnapshotRow } from "../../../core/documents/schema.ts"
import {
  document_snapshots,
  documentChange,
  documentFailed,
  documentGenerated,
  documents,
  documentStream
} from "../../../core/documents/schema.ts"
import { appendEvents, CommandRuntime, lockStreams, Rejection, Store } from "../../../core/kernel/index.ts"
import type { Failure, NewEvent } from "../../../core/kernel/index.ts"
import { changesOf } from "../../../core/kernel/events/event-type.ts"
import { instantOf } from "../../../core/values/time.ts"
import { keepContent } from "../../files/downloads.ts"
import { type BlobMissing, BlobStoreFailure, type StoredBlob } from "../../ports/blob-store.ts"
import { lineOf } from "../../delivery/jobs/queue-table.ts"
import {
  background_limit_millis,
  limit_millis as request_limit_millis,
  TextInvalid,
  Undrawable
} from "../../print/renderer.ts"
import { drawn, filledDocument, isUndrawable, preparedAgain } from "./filled.ts"
import { type PrintDocument, readDocument } from "../../../core/pricing/print/blocks.ts"
import { serverContext } from "../../ports/server-context.ts"

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
  yield* appendEvents([event], { command_id: yield* runtime.commandId, actor_id, replica_id: null, recorded_at: now })
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
  const of_draft = yield* isOfDraft(row)
  const prepared = yield* preparedAgain(row, yield* runtime.settings)
  if (prepared === undefined) return yield* sourceGone
  const composed = yield* filledDocument(prepared)
  const pdf = yield* drawn(yield* readTree(JSON.stringify(composed)), { limit_millis })
  const files = yield* keepSnapshot(prepared.file_name, JSON.stringify(pdf.document), pdf.pictures)
  const content = yield* keepBytes(pdf.bytes)
  return yield* Store.transaction(
    recordIfPending(
      id,
      row.created_by,
      Effect.fnUntraced(function* (now_pending, now) {
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
  // Requests stop waiting after 25 seconds anyway (`request_waits_millis`).
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

// Stores the content a document was drawn from, and draws its PDF again from it: the same bytes, even if the source,
// branding or logo changed since (rules/billing 3).

/** The document's PDF is missing and cannot be drawn again. */
class DocumentLost extends Data.TaggedError("DocumentLost")<{ readonly message: string }> {}

const tree_type = "application/json"
/** Maximum size of a stored file, larger than any document within its limits. */
const bytes_max = 256 * 1_024 * 1_024

/** Decodes a stored document. New documents are drawn from this, too, so that drawing again starts from equal data. */
const readTree = (text: string): Effect.Effect<PrintDocument, Undrawable> =>
  Effect.suspend(() => {
    const parsed: unknown = JSON.parse(text)
    return Result.match(readDocument(parsed), {
      onFailure: (message) => Effect.fail(new Undrawable({ message })),
      onSuccess: (document) => Effect.succeed(document)
    })
  })

type Kept = Pick<DocumentSnapshotRow, "uuid" | "file_name" | "mime_type" | "file_size" | "sha256">
const kept = (blob: StoredBlob, file_name: string, mime_type: string): Kept => ({
  uuid: randomUUID(),
  file_name,
  mime_type,
  file_size: blob.size_bytes,
  sha256: blob.sha256
})
export const keepBytes = (bytes: Uint8Array) => keepContent(Stream.succeed(bytes), bytes_max)

/** Stores the document's content and its pictures, and returns the columns of their rows. */
const keepSnapshot = Effect.fnUntraced(function* (
  file_name: string,
  tree: string,
  pictures: ReadonlyMap<string, Uint8Array>
) {
  const files: Array<Kept> = [kept(yield* keepBytes(Buffer.from(tree)), `${file_name}.json`, tree_type)]
  for (const [sha256, bytes] of pictures) {
    const blob = yield* keepBytes(bytes)
    files.push(kept(blob, `${sha256.slice(0, 16)}`, blob.mime_type))
  }
  return files
})

const contentOf = Effect.fnUntraced(function* (
  sha256: string
): Effect.fn.Return<Uint8Array, BlobStoreFailure | BlobMissing> {
  const { blobs } = yield* serverContext
  const { content } = yield* blobs.read(sha256)
  return Buffer.concat([...(yield* Stream.runCollect(content))])
})

/** Draws the document again from its stored content. */
export const drawnAgain = Effect.fnUntraced(function* (document_id: number) {
  const rows = yield* Store.find(document_snapshots, { document_id }, { order: ["id"] })
  const tree = rows.find(({ mime_type }) => mime_type === tree_type)
  if (tree === undefined)
    return yield* new DocumentLost({ message: "What this document was drawn from is not known here." })
  const document = yield* readTree(Buffer.from(yield* contentOf(tree.sha256)).toString("utf8"))
  const pictures = new Map<string, Uint8Array>()
  for (const { sha256 } of rows.filter((row) => row !== tree)) pictures.set(sha256, yield* contentOf(sha256))
  const { renderer } = yield* serverContext
  const { background_limit_millis } = yield* Effect.promise(() => import("../../print/renderer.ts"))
  return (yield* renderer.pdf(document, { pictures, limit_millis: background_limit_millis })).bytes
})

type WithPdf = Pick<DocumentRow, "id" | "sha256">
/**
 * The PDF of a document: the stored one, else drawn again and stored. Fails with DocumentLost if the bytes would
 * differ.
 */
export const documentPdf = Effect.fnUntraced(function* ({ id, sha256 }: WithPdf) {
  if (sha256 === null) return yield* new DocumentLost({ message: "This document was not drawn yet." })
  return yield* contentOf(sha256).pipe(
    Effect.catchTag(
      "BlobMissing",
      Effect.fnUntraced(function* () {
        const bytes = yield* drawnAgain(id)
        if (createHash("sha256").update(bytes).digest("hex") !== sha256)
          return yield* new DocumentLost({ message: "The PDF is lost, and what is drawn now would be another one." })
        yield* keepBytes(bytes)
        yield* Effect.logWarning("the PDF of a document was missing, and was drawn again", { document_id: id, sha256 })
        return bytes
      })
    )
  )
})
/** Makes sure that the PDF is stored: draws it again if it is missing. */
export const pdfThere = Effect.fnUntraced(function* (row: WithPdf) {
  const { blobs } = yield* serverContext
  if (row.sha256 !== null && !(yield* blobs.has(row.sha256))) yield* documentPdf(row)
})
