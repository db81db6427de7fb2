/**
 * Stores content with its row. The row comes first: removing unused content locks it, so that content uploaded at that
 * moment is stored again and never lost.
 */
import { Clock, Effect, type Scope, type Stream } from "effect"
import { SqlError } from "effect/sql"
import { invalidField, Rejection } from "../../core/kernel/fields/rejection.ts"
import type { RowChange } from "../../core/kernel/tables/table.ts"
import { type Failure, Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { serverContext } from "../ports/server-context.ts"
import type { BlobMissing, BlobTooLarge, Receiving, StoredBlob } from "../ports/blob-store.ts"
import { BlobStoreFailure, receiveAll } from "../ports/blob-store.ts"

/** Stores received content. Not within a transaction, as others that store the same content would wait for its end. */
export const keepReceived = Effect.fnUntraced(function* (
  { keep }: Receiving,
  blob: StoredBlob
): Effect.fn.Return<StoredBlob, BlobStoreFailure | SqlError.SqlError, Store> {
  yield* announce(blob, removal_tries)
  yield* keep
  const { sql } = yield* Store
  yield* sql`update blobs set state = 'kept' where sha256 = ${blob.sha256} and state = 'storing'`
  return blob
})

const removal_tries = 50
/** Protects content from removal for a day, waiting if it is being removed right now. References are not affected. */
const announce = (blob: StoredBlob, tries: number): Effect.Effect<void, BlobStoreFailure | SqlError.SqlError, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    const now = instantOf(yield* Clock.currentTimeMillis)
    const announced = yield* sql`
      insert into blobs (sha256, size_bytes, mime_type, state, stored_at, unreferenced_since)
      values (${blob.sha256}, ${blob.size_bytes}, ${blob.mime_type}, 'storing', ${now}, ${now})
      on conflict (sha256) do update set stored_at = excluded.stored_at, unreferenced_since = case
      when blobs.unreferenced_since is null then null else excluded.unreferenced_since end
      where blobs.state <> 'removing' returning sha256`
    if (announced.length > 0) return
    if (tries === 0)
      return yield* new BlobStoreFailure({
        fault: "unreachable",
        message: `The content ${blob.sha256} is being removed, and that does not end.`
      })
    yield* Effect.sleep(200)
    yield* announce(blob, tries - 1)
  })

/** Stores all of a stream, for files created by jobs. It is removed after a day unless a row references it by then. */
export const keepContent = <E, R>(
  content: Stream.Stream<Uint8Array, E, R>,
  bytes_max: number
): Effect.Effect<
  StoredBlob,
  E | BlobTooLarge | BlobStoreFailure | SqlError.SqlError,
  Exclude<R, Scope.Scope> | Store
> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { blobs: kept_in } = yield* serverContext
      const { blob, ...receiving } = yield* receiveAll(kept_in, content, bytes_max)
      return yield* keepReceived(receiving, blob)
    })
  )

/**
 * Marks content that these row changes reference as in use, in their transaction; fails with 422 if it is not stored.
 */
export const filesNamed = (changes: ReadonlyArray<RowChange>): Effect.Effect<void, Failure, Store> => {
  const named = new Set(changes.flatMap(namedBy))
  return named.size === 0 ? Effect.void : hold([...named].sort())
}
const hold = Effect.fnUntraced(function* (named: ReadonlyArray<string>): Store.Reads<void> {
  const { sql } = yield* Store
  const held = yield* sql<{ sha256: string }>`
    update blobs set unreferenced_since = null where state = 'kept' and sha256 in ${sql.in(named)}
    returning sha256`
  if (held.length < named.length)
    return yield* invalidField("file", "The file's content is not here; send the file itself.")
})
const namedBy = (change: RowChange): ReadonlyArray<string> => {
  const column = change.table.file?.sha256
  if (column === undefined || change.op === "delete" || change.op === "delete_where") return []
  const sha256 = (change.op === "insert" ? change.row : change.set)[column]
  return typeof sha256 === "string" ? [sha256] : []
}

/** Converts a store failure or missing content to a rejection; the reason is logged. */
export const filesUnavailable = (failure: BlobStoreFailure | BlobMissing): Effect.Effect<never, Rejection> =>
  Effect.gen(function* () {
    if (!(failure instanceof BlobStoreFailure)) {
      yield* Effect.logError("the content of a file is missing", { sha256: failure.sha256 })
      return yield* new Rejection({ kind: "gone", message: "The content of this file is lost." })
    }
    yield* Effect.logError("files cannot be kept or read", { reason: failure.message })
    return yield* new Rejection({
      kind: "unavailable",
      message: unavailable_text[failure.fault],
      headers: { "retry-after": failure.fault === "unreachable" ? "2" : "30" }
    })
  })
const unavailable_text = {
  full: "The disk for files is full: no file can be kept until there is room again. All else goes on.",
  read_only: "Files cannot be kept: their folder may not be written. All else goes on.",
  failing: "Files cannot be kept or read for now: their disk fails. All else goes on.",
  unreachable: "Files cannot be kept or read for now: their store does not answer. Try again; all else goes on."
} as const
