/**
 * Files in a folder: `ab/cd/<sha256>`, closed to others. Content is written under a temporary name, brought to disk,
 * and given its own name, which is brought to disk as well: after a crash a blob is there whole, or not at all.
 */
import { mkdir, open, readdir, readFile, rename, stat, unlink, utimes, writeFile } from "node:fs/promises"
import { createReadStream } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Stream } from "effect"
import {
  BlobMissing,
  type BlobStore,
  type BlobStoreFailure,
  type ByteRange,
  isSha256,
  type StoredBlob
} from "./blob-store.ts"
import { folderFailure, isMissing, spool, sweepSpool } from "./spool.ts"

export interface FolderOptions {
  readonly folder: string
  /** No other process uses the folder, so that temporary files found at the start are of one that crashed. */
  readonly alone: boolean
}
/** A temporary file that nobody wrote to for as long is of a process that has gone. */
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
        // A mark that is there stays: it may be another server's.
        await writeFile(mark_file, `${mark}\n`, { mode: 0o600, flush: true, flag: "wx" }).catch(unlessThere)
        await synced(folder)
      }),
    sweep: attempt(() => sweepSpool(temporary, alone ? opened_millis : Date.now() - abandoned_millis))
  }
}

/** A path is only ever made from what is a hash. */
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

/** Gives temporary content its name. What is there already whole stays; a file of another length is damaged. */
const moved = async (folder: string, temporary: string, path: string, { size_bytes }: StoredBlob): Promise<void> => {
  const there = await stat(path).catch((cause: unknown) => absent(cause, undefined))
  const now = new Date()
  if (there?.size === size_bytes) return utimes(path, now, now)
  const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await rename(temporary, path)
  await synced(dirname(path))
  if (made === undefined) return
  // New folders are entries of the folders above them.
  await synced(dirname(dirname(path)))
  await synced(folder)
}
const synced = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* blobsIn(folder: string): AsyncGenerator<{ readonly sha256: string; readonly stored_at: string }> {
  const namesIn = (path: string): Promise<ReadonlyArray<string>> =>
    readdir(path).catch((cause: unknown) => absent(cause, []))
  for (const first of await namesIn(folder)) {
    if (!/^[0-9a-f]{2}$/.test(first)) continue
    for (const second of await namesIn(join(folder, first))) {
      for (const sha256 of await namesIn(join(folder, first, second))) {
        if (!isSha256(sha256)) continue
        const found = await stat(join(folder, first, second, sha256)).catch((cause: unknown) =>
          absent(cause, undefined)
        )
        if (found !== undefined) yield { sha256, stored_at: found.mtime.toISOString() }
      }
    }
  }
}
