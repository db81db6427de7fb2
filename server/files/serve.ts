/**
 * `GET /files/{uuid}`: downloads a file by its signed URL. Content that no row has referenced for a day is removed,
 * without blocking the store: it is first marked, and from then on cannot be referenced or reused until it is gone.
 */
import { Clock, Effect, Stream } from "effect"
import { chunked, CommandRuntime, get, invalidField, notFound, quote, Rejection } from "../../core/kernel/index.ts"
import { Store, upload_bytes_max } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, Failure, FileColumns, Input, Table } from "../../core/kernel/index.ts"
import { contentDisposition } from "../../core/values/file-name.ts"
import { instantOf } from "../../core/values/time.ts"
import type { DeviceFilesShape } from "../../sync/server/tables.ts"
import type { BlobStore, BlobStoreFailure } from "../ports/blob-store.ts"
import { serverContext, timedWork, open_access } from "../ports/server-context.ts"
import { isShownInPlace } from "./content-type.ts"
import type { ServerSlice } from "../ports/server-slice.ts"
import { isSameSignature, signatureOf } from "../ports/secret-box.ts"
import { blobs, downloads, file_stores, filesUnavailable, keepContent } from "./downloads.ts"

// Finds files by uuid, in the rows of every table that references files.

interface NamedFile {
  readonly sha256: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
}
interface FileTable {
  readonly table: Table
  readonly file: FileColumns
}
type Tables = Pick<Catalogue, "tables" | "server_tables">
export const fileTables = ({ tables, server_tables }: Tables): ReadonlyArray<FileTable> =>
  [...tables, ...server_tables].flatMap((table) => (table.file === undefined ? [] : [{ table, file: table.file }]))

/** SQL condition: whether a row references its file. Rows marked as deleted do not. */
export const isCurrent = (table: Table): string => ("deleted_at" in table.columns ? "deleted_at is null" : "1 = 1")

/** The file with this uuid; undefined if no row references it, or it has expired. */
const fileOf = Effect.fnUntraced(function* (
  catalogue: Tables,
  uuid: string,
  now: string
): Store.Reads<NamedFile | undefined> {
  const { sql } = yield* Store
  for (const { table, file } of fileTables(catalogue)) {
    const [found] = yield* sql<{ sha256: string; name: string; mime_type: string; size_bytes: number | string }>`
      select ${sql(file.sha256)} as sha256, ${sql(file.name)} as name, ${sql(file.mime_type)} as mime_type,
      ${sql(file.size_bytes)} as size_bytes from ${sql(table.name)} where ${sql(file.uuid)} = ${uuid}
      and ${sql.literal(isCurrent(table))}
      ${"expires_at" in table.columns ? sql`and expires_at > ${now}` : sql.literal("")}`
    if (found !== undefined) return { ...found, size_bytes: Number(found.size_bytes) }
  }
  return undefined
})

const kept_unreferenced_millis = 86_400_000
/** Time after which an interrupted removal is repeated: the process that began it has finished or died. */
const removal_millis = 3_600_000
const at_a_time = 500

/** SQL condition: whether any row references the blob of the outer statement. */
const isNamed = (catalogue: Catalogue): string =>
  `(${fileTables(catalogue)
    .map(
      ({ table, file }) =>
        `exists (select 1 from ${quote(table.name)} ` +
        `where ${quote(table.name)}.${quote(file.sha256)} = blobs.sha256 and ${isCurrent(table)})`
    )
    .join(" or ")})`

/** Deletes expired downloads, and content unreferenced for a day, as of an instant; returns the number of blobs. */
export const collectFiles = Effect.fnUntraced(function* (
  now_millis: number
): Effect.fn.Return<number, Failure | BlobStoreFailure, Store | CommandRuntime> {
  const { sql } = yield* Store
  const { blobs } = yield* serverContext
  const named = sql.literal(isNamed((yield* CommandRuntime).catalogue))
  const now = instantOf(now_millis)
  yield* sql`delete from downloads where expires_at <= ${now}`
  yield* sql`
    update blobs set unreferenced_since = ${now} where unreferenced_since is null and state = 'kept'
    and not ${named}`
  // Rows that no command recorded, from an imported journal, may reference content too.
  yield* sql`
    update blobs set unreferenced_since = null where unreferenced_since is not null and state = 'kept'
    and ${named}`
  const unused = instantOf(now_millis - kept_unreferenced_millis)
  const abandoned = instantOf(now_millis - removal_millis)
  let removed = 0
  for (;;) {
    const claimed = yield* sql<{ sha256: string }>`
      update blobs set state = 'removing', unreferenced_since = ${now} where sha256 in ( select sha256 from blobs
      where (state <> 'removing' and unreferenced_since <= ${unused} and not ${named}) or (state = 'removing'
      and unreferenced_since <= ${abandoned}) order by sha256 limit ${at_a_time})
      and unreferenced_since <= ${abandoned} returning sha256`
    if (claimed.length === 0) return removed
    for (const { sha256 } of claimed) {
      yield* blobs.remove(sha256)
      yield* sql`delete from blobs where sha256 = ${sha256} and state = 'removing'`
    }
    removed += claimed.length
  }
})

/** Adds rows to `blobs` for content older than a day without one, such as after the database was restored. */
export const findUnknown = Effect.fnUntraced(function* (
  blobs: BlobStore,
  now_millis: number
): Effect.fn.Return<void, Failure | BlobStoreFailure, Store> {
  const { sql } = yield* Store
  const before = instantOf(now_millis - kept_unreferenced_millis)
  yield* Stream.runForEachArray(
    Stream.rechunk(
      Stream.filter(blobs.list, ({ stored_at }) => stored_at < before),
      at_a_time
    ),
    (page) =>
      Effect.forEach(
        chunked(page, at_a_time),
        (some) => {
          const rows = some.map(
            ({ sha256, stored_at }) =>
              sql`(${sha256}, 0, 'application/octet-stream', 'kept', ${stored_at}, ${instantOf(now_millis)})`
          )
          return sql`
            insert into blobs (sha256, size_bytes, mime_type, state, stored_at, unreferenced_since)
            values ${sql.csv(rows)} on conflict (sha256) do nothing`
        },
        { discard: true }
      )
  )
})

/** UTC hour in which the complete store is compared with its rows. */
const comparing_hour = 3

const collectWork = timedWork({
  cron: "17 * * * *",
  kind: "files.collect",
  meaning: "removes files unreferenced for a day",
  attempts_max: 3,
  run: Effect.fnUntraced(function* ({ due_at }) {
    const { blobs } = yield* serverContext
    const now_millis = Date.parse(due_at)
    yield* blobs.sweep
    if (new Date(now_millis).getUTCHours() === comparing_hour) yield* findUnknown(blobs, now_millis)
    return { removed: yield* collectFiles(now_millis) }
  })
})

// Storage for devices' files until their commands reference them.

export const deviceFiles: DeviceFilesShape = {
  present: Effect.fnUntraced(function* (sha256) {
    const rows = yield* Store.getMany(blobs, sha256)
    // Content close to its removal counts as missing, so that the device sends it again.
    const fresh = instantOf((yield* Clock.currentTimeMillis) - kept_unreferenced_millis / 2)
    const stays = rows.filter(
      ({ state, unreferenced_since }) => state === "kept" && (unreferenced_since === null || unreferenced_since > fresh)
    )
    return new Set(stays.map((row) => row.sha256))
  }),
  keep: (content) =>
    keepContent(Stream.succeed(content), upload_bytes_max).pipe(
      Effect.catchTags({
        BlobTooLarge: ({ bytes_max }) =>
          Effect.fail(invalidField("file", `The file must not be larger than ${bytes_max} bytes.`)),
        BlobStoreFailure: filesUnavailable
      })
    )
}

// Signed URLs of files: valid for an hour without a token.

const address_seconds = 3_600

/** Signs path and expiry only, as scheme, host and port may differ between signer and reader. */
const fileSignature = (key: string, uuid: string, expires: string): string =>
  signatureOf(key, "files", `/files/${uuid}?expires=${expires}`)

export const fileUrl = (public_url: string, key: string, uuid: string, now: string): string => {
  const expires = String(Math.floor(Date.parse(now) / 1_000) + address_seconds)
  return `${public_url}/files/${uuid}?expires=${expires}&signature=${fileSignature(key, uuid, expires)}`
}

/** Whether the query is a valid, unexpired signature and nothing else: `expires` and `signature`, once each. */
export const isSignedFor = (
  key: string,
  uuid: string,
  query: ReadonlyArray<readonly [string, string]>,
  now_millis: number
): boolean => {
  const given = new Map(query)
  const expires = given.get("expires")
  const signature = given.get("signature")
  if (query.length !== 2 || expires === undefined || signature === undefined) return false
  if (!/^[1-9]\d{0,11}$/.test(expires)) return false
  return isSameSignature(signature, fileSignature(key, uuid, expires)) && Number(expires) * 1_000 > now_millis
}

/** The file's response: inline if its type runs no scripts, otherwise a download; always with the stored type. */
export const answerOfFile = ({ mime_type, name, sha256, size_bytes }: NamedFile): Effect.Effect<Answer<never>> =>
  Effect.map(serverContext, ({ blobs }) => ({
    status: 200,
    streamed: {
      type: mime_type,
      size_bytes,
      open: (range) => Effect.map(Effect.catch(blobs.read(sha256, range), filesUnavailable), ({ content }) => content)
    },
    headers: {
      "content-disposition": contentDisposition(name, isShownInPlace(mime_type) ? "inline" : "attachment"),
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, max-age=3600, immutable",
      "accept-ranges": "bytes",
      etag: `"${sha256}"`
    }
  }))

const closed = new Rejection({
  kind: "forbidden",
  message: "This address of a file is not complete or holds no longer; ask for it again where you got it."
})
/** 403 for a wrong signature before 404 for an unknown file, so that the answers do not reveal which files exist. */
const served = Effect.fnUntraced(function* (uuid: string, query: Input["query"]): CommandRuntime.Reads<Answer<never>> {
  const { key } = yield* serverContext
  const now_millis = yield* Clock.currentTimeMillis
  if (!isSignedFor(key, uuid, query, now_millis)) return yield* closed
  const file = yield* fileOf((yield* CommandRuntime).catalogue, uuid, instantOf(now_millis))
  return file === undefined ? yield* notFound("There is no such file any more.") : yield* answerOfFile(file)
})

export const file_headers = {
  "Content-Disposition": "The file's name, and whether it may be shown in place",
  ETag: "SHA-256 of the content",
  "Accept-Ranges": "bytes: ranges may be requested",
  "Content-Range": "Returned range, if one was requested",
  "Content-Security-Policy": "Prevents browsers from running scripts in the file",
  "Cross-Origin-Resource-Policy": "Prevents other sites from embedding the file",
  "Cache-Control": "The reader alone may cache it, for an hour"
}

export const showFile = get("/files/{uuid}", {
  name: "files.show",
  summary: "Download a file by its signed URL",
  ...open_access,
  produces: "application/octet-stream",
  error_answers: { 403: null, 404: null, 410: null },
  answer_headers: file_headers,
  run: ({ params, query }) => served(params["uuid"] ?? "", query)
})

// Files on the server: served by signed addresses, kept in the store while a row names them.

export const filesSlice: ServerSlice = {
  name: "files",
  server_tables: [blobs, downloads, file_stores],
  endpoints: [showFile],
  jobs: [collectWork.kind],
  timed: [collectWork]
}
