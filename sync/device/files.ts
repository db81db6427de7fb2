/**
 * Files that wait on a device for their commands: in its folder, by the SHA-256 of their content, on disk before the
 * command that names them is acknowledged. They go once the command's verdict was pulled; that of a refused command
 * stays until a person has settled the conflict. Nothing is kept of what others attached.
 */
import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync
} from "node:fs"
import { type FileHandle, open, readFile, rename } from "node:fs/promises"
import { join } from "node:path"
import type { UploadedFile } from "../../core/kernel/endpoint.ts"
import { upload_bytes_max } from "../../core/kernel/body-limits.ts"
import { invalidField, Rejection } from "../../core/kernel/rejection.ts"
import type { Outbox } from "./outbox/outbox.ts"
import type { Remote } from "./remote.ts"
import type { WaitingFiles } from "./sync.ts"

/** A file on this machine that a request is to send. */
export interface SourceFile extends UploadedFile {
  readonly path: string
}
export interface SourceFiles {
  readonly [field: string]: SourceFile
}

const filesFolder = (folder: string): string => join(folder, "files")
export const waitingPath = (folder: string, sha256: string): string => join(filesFolder(folder), sha256)
export const isWaiting = (folder: string, sha256: string): boolean => existsSync(waitingPath(folder, sha256))

const sample_bytes = 8_192
/** By its first bytes, as the server tells it. */
const typeOf = async (sample: Uint8Array): Promise<string> => {
  const { fileTypeFromBuffer } = await import("file-type")
  const found = await fileTypeFromBuffer(sample).catch(() => undefined)
  return found?.mime ?? "application/octet-stream"
}

const part_bytes = 65_536
interface Copied {
  readonly sha256: string
  readonly size_bytes: number
  readonly sample: Uint8Array
}
/** Copies up to the limit and one byte; nothing is written where `to` is undefined. */
const copy = async (from: FileHandle, to: FileHandle | undefined): Promise<Copied> => {
  const hash = createHash("sha256")
  const buffer = new Uint8Array(part_bytes)
  const sample = new Uint8Array(sample_bytes)
  let size_bytes = 0
  for (;;) {
    const { bytesRead } = await from.read(buffer, 0, part_bytes, null)
    if (bytesRead === 0) break
    const part = buffer.subarray(0, bytesRead)
    if (size_bytes < sample_bytes) sample.set(part.subarray(0, sample_bytes - size_bytes), size_bytes)
    size_bytes += bytesRead
    if (size_bytes > upload_bytes_max) break
    hash.update(part)
    for (let rest = part; to !== undefined && rest.length > 0;)
      rest = rest.subarray((await to.write(rest)).bytesWritten)
  }
  return { sha256: hash.digest("hex"), size_bytes, sample: sample.subarray(0, size_bytes) }
}

/** The content of a file as it is now; undefined where it cannot be read. */
const contentAt = async (path: string): Promise<string | undefined> => {
  const file = await open(path, "r").catch(() => undefined)
  if (file === undefined) return undefined
  try {
    return (await copy(file, undefined)).sha256
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
/** Whether the content waits here as it was recorded. */
export const isWhole = async (folder: string, sha256: string): Promise<boolean> =>
  (await contentAt(waitingPath(folder, sha256))) === sha256

/** What waits here, as it was recorded; undefined where it is lost. */
export const contentOf = async (folder: string, sha256: string): Promise<Uint8Array | undefined> => {
  const content = await readFile(waitingPath(folder, sha256)).catch(() => undefined)
  return content !== undefined && createHash("sha256").update(content).digest("hex") === sha256 ? content : undefined
}

/** Names are on disk once their folder is. */
const syncFolder = (path: string): void => {
  const folder = openSync(path, "r")
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Keeps a copy of a file. When it answers, the copy is on disk; where it throws, nothing is left of it. */
const keepOne = async (folder: string, field: string, source: SourceFile): Promise<UploadedFile> => {
  const into = filesFolder(folder)
  if (!existsSync(into)) {
    mkdirSync(into, { recursive: true, mode: 0o700 })
    syncFolder(folder)
  }
  const part = join(into, `${randomUUID()}.part`)
  const from = await open(source.path, "r")
  try {
    const to = await open(part, "wx", 0o600)
    const copied = await (async () => {
      try {
        const done = await copy(from, to)
        await to.sync()
        return done
      } finally {
        await to.close()
      }
    })()
    if (copied.size_bytes > upload_bytes_max) throw tooLarge(field, source)
    const { sample, ...content } = copied
    const kept = { name: source.name, ...content, mime_type: await typeOf(sample) }
    await rename(part, waitingPath(folder, kept.sha256))
    // As of now, whenever the file was written: what nobody names yet is not old.
    utimesSync(waitingPath(folder, kept.sha256), new Date(), new Date())
    syncFolder(into)
    return kept
  } finally {
    await from.close()
    rmSync(part, { force: true })
  }
}
const tooLarge = (field: string, { name }: SourceFile): Rejection =>
  invalidField(
    field,
    `The file must not be larger than ${upload_bytes_max / 1_048_576} MB (${upload_bytes_max} bytes); ${name} is.`
  )
const no_room: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS"])
/** A full disk is the machine's, and said so; what else goes wrong is an error of its own. */
const asRefusal = (error: unknown): unknown =>
  error instanceof Error && "code" in error && no_room.has(String(error.code))
    ? new Rejection({
        kind: "unavailable",
        message: `There is no room on this device for the file (${String(error.code)}). Nothing was recorded; make room and attach it again.`
      })
    : error

/** Keeps copies of all files of a request, or none. Throws Rejection where one is too large, or there is no room. */
export const keepFiles = async (
  folder: string,
  sources: SourceFiles
): Promise<{ readonly [field: string]: UploadedFile }> => {
  const kept: { [field: string]: UploadedFile } = {}
  try {
    for (const [field, source] of Object.entries(sources)) kept[field] = await keepOne(folder, field, source)
    return kept
  } catch (error) {
    throw asRefusal(error)
  }
}
/**
 * After the command was recorded: another process, whose command had the same content and was refused, may have removed
 * it meanwhile.
 */
export const keepAgain = async (
  folder: string,
  sources: SourceFiles,
  kept: { readonly [field: string]: UploadedFile }
): Promise<void> => {
  for (const [field, source] of Object.entries(sources)) {
    const sha256 = kept[field]?.sha256
    if (sha256 !== undefined && !isWaiting(folder, sha256)) await keepOne(folder, field, source)
  }
}

/** Younger than this, a file nobody names may be one whose command is about to be recorded. */
const orphaned_after_millis = 3_600_000
/**
 * Removes files that no unsettled command names: those of settled commands at once, what a crash left behind when it is
 * old, and with `at_once` whatever was just refused.
 */
export const pruneFiles = (
  folder: string,
  outbox: Pick<Outbox, "filesNamed">,
  at_once: ReadonlyArray<string> = []
): void => {
  const into = filesFolder(folder)
  if (!existsSync(into)) return
  const names = readdirSync(into)
  if (names.length === 0) return
  const { unsettled, settled } = outbox.filesNamed()
  const old = Date.now() - orphaned_after_millis
  for (const name of names) {
    const path = join(into, name)
    if (unsettled.has(name)) continue
    const is_old = (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < old
    if (settled.has(name) || at_once.includes(name) || is_old) rmSync(path, { force: true })
  }
}

interface FilesParts {
  readonly folder: string
  readonly outbox: Pick<Outbox, "filesNamed">
  readonly remote: Pick<Remote, "sendFile" | "wantedFiles">
  readonly replica_id: number
}
/** A device's files, as its syncs use them. */
export const waitingFiles = ({ folder, outbox, remote, replica_id }: FilesParts): WaitingFiles => ({
  send: async (named, progress) => {
    const wanted = await remote.wantedFiles(replica_id, named)
    const lost: Array<string> = []
    for (const [done, sha256] of wanted.entries()) {
      progress?.({ phase: "files", done, total: wanted.length })
      if (await isWhole(folder, sha256)) await remote.sendFile(replica_id, sha256, waitingPath(folder, sha256))
      else lost.push(sha256)
    }
    if (wanted.length > 0) progress?.({ phase: "files", done: wanted.length, total: wanted.length })
    return lost
  },
  prune: () => pruneFiles(folder, outbox)
})
