/** Temporary files for incoming content: hashed and counted while written, deleted with their scope. */
import { createHash, randomUUID } from "node:crypto"
import { type FileHandle, mkdir, open, readdir, stat, unlink } from "node:fs/promises"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { BlobStoreFault, Receiving, StoredBlob } from "../ports/blob-store.ts"
import { BlobStoreFailure, BlobTooLarge } from "../ports/blob-store.ts"
import { sample_bytes, typeOfContent } from "./content-type.ts"

interface Spooling extends Omit<Receiving, "keep"> {
  readonly path: string
  /** The content's hash, size and type, after `end`; throws before. */
  readonly blob: () => StoredBlob
}

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined
export const isMissing = (cause: unknown): boolean => codeOf(cause) === "ENOENT" || codeOf(cause) === "ENOTDIR"

const faults: { readonly [code: string]: BlobStoreFault } = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read_only",
  EACCES: "read_only",
  EPERM: "read_only"
}
export const folderFailure =
  (folder: string) =>
  (cause: unknown): BlobStoreFailure => {
    const fault = faults[codeOf(cause) ?? ""] ?? "failing"
    const what =
      fault === "full" ? "is on a full disk" : fault === "read_only" ? "may not be written" : "cannot be used"
    return new BlobStoreFailure({
      fault,
      message: `The folder of files ${folder} ${what} (${codeOf(cause) ?? String(cause)}).`,
      cause
    })
  }

/** Opens a temporary file in the folder, which is created if missing. */
export const spool = (folder: string, bytes_max: number): Effect.Effect<Spooling, BlobStoreFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const failed = folderFailure(folder)
    const attempt = <A>(work: () => Promise<A>) => Effect.tryPromise({ try: work, catch: failed })
    const path = join(folder, `${randomUUID()}.part`)
    yield* attempt(() => mkdir(folder, { recursive: true, mode: 0o700 }))
    const file = yield* Effect.acquireRelease(
      attempt(() => open(path, "wx", 0o600)),
      (opened) => Effect.promise(() => discarded(opened, path))
    )
    const hash = createHash("sha256")
    const sample = new Uint8Array(sample_bytes)
    let size_bytes = 0
    let ended: StoredBlob | undefined
    return {
      path,
      write: (part) => {
        if (size_bytes + part.length > bytes_max) return Effect.fail(new BlobTooLarge({ bytes_max }))
        if (size_bytes < sample_bytes) sample.set(part.subarray(0, sample_bytes - size_bytes), size_bytes)
        size_bytes += part.length
        hash.update(part)
        return attempt(() => writeAll(file, part))
      },
      end: attempt(async () => {
        await file.sync()
        const mime_type = await typeOfContent(sample.subarray(0, size_bytes))
        ended = { sha256: hash.digest("hex"), size_bytes, mime_type }
        return ended
      }),
      blob: () => {
        if (ended === undefined) throw new Error("content is kept once it has come to its end")
        return ended
      }
    }
  })

const writeAll = async (file: FileHandle, part: Uint8Array): Promise<void> => {
  for (let rest = part; rest.length > 0;) rest = rest.subarray((await file.write(rest)).bytesWritten)
}
const discarded = async (file: FileHandle, path: string): Promise<void> => {
  await file.close().catch(() => {})
  await unlink(path).catch(() => {})
}

/** Deletes temporary files last written before a time; does nothing without the folder. */
export const sweepSpool = async (folder: string, before_millis: number): Promise<void> => {
  const names = await readdir(folder).catch((cause: unknown) => {
    if (isMissing(cause)) return []
    throw cause
  })
  for (const name of names.filter((one) => one.endsWith(".part"))) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < before_millis) await unlink(path).catch(() => {})
  }
}
