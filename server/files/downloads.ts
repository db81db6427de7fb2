/** Files that jobs make for somebody: exports, sheets of labels. Their addresses are signed when they are asked for. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, type Scope, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import type { Failure } from "../../core/kernel/failure.ts"
import { insert } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { shownFileName } from "../../core/values/file-name.ts"
import { instantOf } from "../../core/values/time.ts"
import type { BlobStoreFailure, BlobTooLarge } from "./blob-store.ts"
import { filesNamed, keepContent } from "./keep.ts"
import { type DownloadRow, downloads } from "./schema.ts"

const week_millis = 7 * 86_400_000
const bytes_max = 4 * 1_024 ** 3

export interface Download<E, R> {
  readonly name: string
  readonly content: Stream.Stream<Uint8Array, E, R>
  readonly owner_id: number | null
  /** Where its maker knows it: texts cannot be told apart by their content. */
  readonly mime_type?: string
  /** For how long; a week unless said. */
  readonly kept_millis?: number
}
/**
 * Keeps the file for a while. `runtime.file_url(uuid, now)` is its address, good for an hour each time: a job keeps the
 * uuid, never the address.
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
    yield* (yield* Store).apply([insert(downloads, row)])
    return row
  })

/**
 * Keeps content for a week, in the caller's transaction, for work that was queued and reads it later: whatever named it
 * may have been deleted by then. Refused with 422 `file` where the content is not here.
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
    yield* (yield* Store).apply(rows)
  })
