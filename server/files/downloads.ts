/** Files created by jobs for a user: exports, sheets of labels. Their URLs are signed on request. */
import { choice, integer, text } from "../../core/kernel/fields/field.ts"
import { insert, plainTable, type RowOf } from "../../core/kernel/tables/table.ts"
import { randomUUID } from "node:crypto"
import { Clock, Effect, type Scope, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import { type Failure, Store } from "../../core/kernel/store/store.ts"
import { shownFileName } from "../../core/values/file-name.ts"
import { instantOf } from "../../core/values/time.ts"
import type { BlobStoreFailure, BlobTooLarge } from "../ports/blob-store.ts"
import { filesNamed, keepContent } from "./keep.ts"

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
export type DownloadRow = RowOf<typeof downloads>

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
