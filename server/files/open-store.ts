/** Opens the file store configured by the environment, and checks that it is the one this database uses. */
import { mkdir, open, readdir, readFile, rename, stat, unlink, utimes, writeFile } from "node:fs/promises"
import { createReadStream, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Stream } from "effect"
import type { BlobStore, BlobStoreFailure, ByteRange, StoredBlob } from "../ports/blob-store.ts"
import { BlobMissing, isSha256 } from "../ports/blob-store.ts"
import { folderFailure, isMissing, spool, sweepSpool } from "./spool.ts"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { Store, type Failure } from "../../core/kernel/index.ts"
import type { Outside } from "../ports/outside.ts"
import { StartupError } from "../ports/startup-error.ts"
import { file_stores } from "./downloads.ts"

// Files in a folder: `ab/cd/<sha256>`, private. Content is written under a temporary name, flushed to disk, and
// renamed, which is flushed as well: after a crash a blob is complete or absent.

interface FolderOptions {
  readonly folder: string
  /** Whether no other process uses the folder: then temporary files found on opening are left from a crash. */
  readonly alone: boolean
}
/** A temporary file unchanged for this long belongs to a dead process. */
const abandoned_millis = 3_600_000
const read_bytes = 256 * 1_024

export const folderStore = ({ folder, alone }: FolderOptions): BlobStore => {
  const failed = folderFailure(folder)
  const attempt = <A>(work: () => Promise<A>): Effect.Effect<A, BlobStoreFailure> =>
    Effect.tryPromise({ try: work, catch: failed })
  const pathOf = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256)
  const temporary = join(folder, "tmp")
  const mark_file = join(folder, "store-id")
  const opened_millis = Date.now()
  return {
    kind: "folder",
    place: folder,
    receive: (bytes_max) =>
      Effect.map(spool(temporary, bytes_max), (spooling) => ({
        write: spooling.write,
        end: spooling.end,
        keep: attempt(() => moved(folder, spooling.path, pathOf(spooling.blob().sha256), spooling.blob()))
      })),
    read: (sha256, range) =>
      Effect.tryPromise({
        try: () => stat(pathOf(checked(sha256))),
        catch: (cause) => (isMissing(cause) ? new BlobMissing({ sha256 }) : failed(cause))
      }).pipe(Effect.map(({ size }) => ({ size_bytes: size, content: contentOf(pathOf(sha256), range, failed) }))),
    has: (sha256) =>
      attempt(() =>
        stat(pathOf(checked(sha256))).then(
          () => true,
          (cause: unknown) => absent(cause, false)
        )
      ),
    remove: (sha256) =>
      attempt(() => unlink(pathOf(checked(sha256))).catch((cause: unknown) => absent(cause, undefined))),
    list: Stream.suspend(() => Stream.fromAsyncIterable(blobsIn(folder), failed)),
    mark: attempt(() =>
      readFile(mark_file, "utf8").then(
        (text) => (text.trim() === "" ? undefined : text.trim()),
        (cause: unknown) => absent(cause, undefined)
      )
    ),
    setMark: (mark) =>
      attempt(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        // Keeps an existing mark: it may be another server's.
        await writeFile(mark_file, `${mark}\n`, { mode: 0o600, flush: true, flag: "wx" }).catch(unlessThere)
        await synced(folder)
      }),
    sweep: attempt(() => sweepSpool(temporary, alone ? opened_millis : Date.now() - abandoned_millis))
  }
}

/** Paths are built from valid hashes only. */
const checked = (sha256: string): string => {
  if (!isSha256(sha256)) throw new TypeError("a blob is named by its SHA-256")
  return sha256
}
const absent = <A>(cause: unknown, otherwise: A): A => {
  if (isMissing(cause)) return otherwise
  throw cause
}

const unlessThere = (cause: unknown): void => {
  if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause
}

const contentOf = (
  path: string,
  range: ByteRange | undefined,
  failed: (cause: unknown) => BlobStoreFailure
): Stream.Stream<Uint8Array, BlobStoreFailure> =>
  Stream.suspend(() =>
    Stream.fromAsyncIterable<Uint8Array, BlobStoreFailure>(
      createReadStream(path, {
        highWaterMark: read_bytes,
        ...(range === undefined ? {} : { start: range.first, end: range.last })
      }),
      failed
    )
  )

/**
 * Moves temporary content to its place. An existing file of equal length stays; one of another length is damaged and
 * replaced.
 */
const moved = async (folder: string, temporary: string, path: string, { size_bytes }: StoredBlob): Promise<void> => {
  const there = await stat(path).catch((cause: unknown) => absent(cause, undefined))
  const now = new Date()
  if (there?.size === size_bytes) return utimes(path, now, now)
  const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await rename(temporary, path)
  await synced(dirname(path))
  if (made === undefined) return
  // A new folder is an entry of its parent, so the parent is flushed too.
  await synced(dirname(dirname(path)))
  await synced(folder)
}
/** Flushes a file or folder to the disk, in a thread, as a server answers requests meanwhile. */
export const synced = async (path: string): Promise<void> => {
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* blobsIn(folder: string): AsyncGenerator<{ readonly sha256: string; readonly stored_at: string }> {
  const namesIn = (path: string): Promise<ReadonlyArray<string>> =>
    readdir(path).catch((cause: unknown) => absent(cause, []))
  for (const first of (await namesIn(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    for (const second of await namesIn(join(folder, first))) {
      for (const sha256 of (await namesIn(join(folder, first, second))).filter(isSha256)) {
        const found = await stat(join(folder, first, second, sha256)).catch((cause: unknown) =>
          absent(cause, undefined)
        )
        if (found !== undefined) yield { sha256, stored_at: found.mtime.toISOString() }
      }
    }
  }
}

interface StoreOptions {
  readonly database: { readonly kind: "sqlite" | "pg" }
  readonly data_folder?: string | undefined
  readonly outside?: Outside | undefined
}
interface OpenedStore {
  readonly store: BlobStore
  /** Whether the store is deleted on closing: a temporary folder, if there is neither a data folder nor a bucket. */
  readonly is_passing: boolean
  readonly close: () => void
}

export const openBlobStore = async ({ data_folder, database, outside }: StoreOptions): Promise<OpenedStore> => {
  const alone = database.kind === "sqlite"
  if (outside?.blobs !== undefined && outside.aws !== undefined) {
    const { s3Store } = await import("./s3-store.ts")
    const folder = join(data_folder ?? tmpdir(), "uploads")
    const store = s3Store({ url: outside.blobs, credentials: outside.aws, folder, alone })
    return { store, is_passing: false, close: () => {} }
  }
  if (data_folder !== undefined)
    return { store: folderStore({ folder: join(data_folder, "blobs"), alone }), is_passing: false, close: () => {} }
  // The folder is created with the first file.
  const folder = join(tmpdir(), `flightcase-files-${randomUUID()}`)
  return {
    store: folderStore({ folder, alone: true }),
    is_passing: true,
    close: () => rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * The database remembers its file store by a mark in the store. A second server with a separate folder would store
 * files that the first one cannot read, and lack those of the first: it refuses to start.
 */
export const claimBlobStore = Effect.fnUntraced(function* ({
  is_passing,
  store
}: OpenedStore): Effect.fn.Return<void, Failure | StartupError, Store> {
  if (is_passing) return
  const marked = yield* Effect.result(markOf(store))
  if (marked._tag === "Failure") {
    if (store.kind === "s3") return yield* Effect.fail(new StartupError(marked.failure.message, marked.failure))
    return yield* Effect.logWarning(
      `${marked.failure.message} No file can be kept; FLIGHTCASE_DATA and FLIGHTCASE_BLOBS say where they are.`
    )
  }
  yield* Effect.ignore(store.sweep)
  const database = yield* Store
  yield* database.sql`
    insert into file_stores (id, mark, place)
    values (1, ${marked.success}, ${store.place.slice(0, 1_000)}) on conflict (id) do nothing`
  const known = yield* database.get(file_stores, 1)
  if (known === undefined || known.mark === marked.success) return
  // Two servers found an empty bucket at the same time: the mark of the first to claim it stays.
  if (store.kind === "s3" && known.place === store.place) return yield* Effect.orDie(store.setMark(known.mark))
  return yield* Effect.fail(
    new StartupError(
      `The files of this database are in ${known.place}, not in ${store.place}: share that folder among the servers, name a bucket with FLIGHTCASE_BLOBS, or copy its files here, store-id included (it must say ${known.mark}).`
    )
  )
})
const markOf = Effect.fnUntraced(function* (store: BlobStore): Effect.fn.Return<string, BlobStoreFailure> {
  const mark = yield* store.mark
  if (mark !== undefined) return mark
  yield* store.setMark(randomUUID())
  // Another server on the same folder may have set its mark first.
  return (yield* store.mark) ?? ""
})
