/**
 * Stores content with its row, and files created by jobs for a user: exports, sheets of labels, with URLs signed on
 * request. The row comes first: removing unused content locks it, so that content uploaded at that moment is stored
 * again and never lost.
 */
import { choice, insert, integer, invalidField, plainTable, Rejection, Store, text } from "../../core/kernel/index.ts"
import type { Failure, RowChange, RowOf } from "../../core/kernel/index.ts"
import { randomUUID } from "node:crypto"
import { Clock, Effect, type Scope, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import { shownFileName } from "../../core/values/file-name.ts"
import { instantOf } from "../../core/values/time.ts"
import type { BlobMissing, BlobTooLarge, Receiving, StoredBlob } from "../ports/blob-store.ts"
import { BlobStoreFailure, receiveAll } from "../ports/blob-store.ts"
import { serverContext } from "../ports/server-context.ts"

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

// Content of the file store, and files created by jobs: on the server alone, outside the journal.

export const blobs = plainTable(
  "blobs",
  "sha256",
  {
    sha256: text({ max: 64 }),
    size_bytes: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    mime_type: text({ max: 255 }),
    /** `storing`: being written; `removing`: being deleted. Rows may reference only `kept` content. */
    state: choice({ storing: "Storing", kept: "Kept", removing: "Removing" }),
    stored_at: text({ max: 24 }),
    /** Time since which no row references it, at first that of its arrival; null while one does. */
    unreferenced_since: text({ max: 24, nullable: true })
  },
  { entity: "blob", indexes: [["unreferenced_since"]] }
)

/** Files created by jobs, such as exports and label sheets; removed when they expire. */
export const downloads = plainTable(
  "downloads",
  "uuid",
  {
    uuid: text({ max: 36 }),
    sha256: text({ max: 64 }),
    name: text({ max: 255 }),
    mime_type: text({ max: 255 }),
    size_bytes: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    /** The requesting user; null for none. */
    owner_id: integer({ nullable: true }),
    made_at: text({ max: 24 }),
    expires_at: text({ max: 24 })
  },
  {
    entity: "download",
    indexes: [["expires_at"], ["sha256"]],
    file: { uuid: "uuid", sha256: "sha256", name: "name", mime_type: "mime_type", size_bytes: "size_bytes" }
  }
)
type DownloadRow = RowOf<typeof downloads>

/** The file store of this database, identified by a mark in the store. One row. */
export const file_stores = plainTable(
  "file_stores",
  "id",
  { id: integer({ min: 1, max: 1 }), mark: text({ max: 64 }), place: text({ max: 1_000 }) },
  { entity: "file_store" }
)

const week_millis = 7 * 86_400_000
const bytes_max = 4 * 1_024 ** 3

interface Download<E, R> {
  readonly name: string
  readonly content: Stream.Stream<Uint8Array, E, R>
  readonly owner_id: number | null
  /** Media type if the creator knows it: text types cannot be detected from content. */
  readonly mime_type?: string
  /** Milliseconds until the file expires; default: a week. */
  readonly kept_millis?: number
}
/**
 * Stores a file for download. `runtime.file_url(uuid, now)` gives a URL valid for an hour, so jobs store the uuid, not
 * the URL.
 */
export const keepDownload = <E, R>({
  name,
  content,
  owner_id,
  mime_type,
  kept_millis = week_millis
}: Download<E, R>): Effect.Effect<
  DownloadRow,
  E | BlobTooLarge | BlobStoreFailure | SqlError.SqlError,
  Exclude<R, Scope.Scope> | Store
> =>
  Effect.gen(function* () {
    const blob = yield* keepContent(content, bytes_max)
    const now_millis = yield* Clock.currentTimeMillis
    const row: DownloadRow = {
      uuid: randomUUID(),
      ...blob,
      name: shownFileName(name),
      mime_type: mime_type ?? blob.mime_type,
      owner_id,
      made_at: instantOf(now_millis),
      expires_at: instantOf(now_millis + kept_millis)
    }
    yield* Store.apply([insert(downloads, row)])
    return row
  })

/**
 * Keeps content for at least a week, in the caller's transaction, for queued work that reads it after its row may be
 * deleted. Fails with 422 `file` if the content is not stored.
 */
export const holdContent = (
  files: ReadonlyArray<Pick<DownloadRow, "sha256" | "name" | "mime_type" | "size_bytes">>
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    if (files.length === 0) return
    const now_millis = yield* Clock.currentTimeMillis
    const rows = files.map(({ sha256, name, mime_type, size_bytes }) =>
      insert(downloads, {
        uuid: randomUUID(),
        sha256,
        name,
        mime_type,
        size_bytes,
        owner_id: null,
        made_at: instantOf(now_millis),
        expires_at: instantOf(now_millis + week_millis)
      })
    )
    yield* filesNamed(rows)
    yield* Store.apply(rows)
  })
