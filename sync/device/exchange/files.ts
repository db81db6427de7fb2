/**
 * Files waiting for their commands, in the device's folder by SHA-256, on disk before the command is acknowledged.
 * Removed once the verdict is pulled; those of refused commands once the conflict is resolved. Others' attachments are
 * not stored.
 */
import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync
} from "node:fs"
import { join } from "node:path"
import { invalidField, Rejection, upload_bytes_max, type UploadedFile } from "../../../core/kernel/index.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { Remote } from "./remote.ts"
import type { WaitingFiles } from "./sync.ts"

/** A local file to send with a request, with its type as detected by the caller. */
interface SourceFile extends UploadedFile {
  readonly path: string
}
export interface SourceFiles {
  readonly [field: string]: SourceFile
}
interface KeptFiles {
  readonly [field: string]: UploadedFile
}

const filesFolder = (folder: string): string => join(folder, "files")
export const waitingPath = (folder: string, sha256: string): string => join(filesFolder(folder), sha256)
export const isWaiting = (folder: string, sha256: string): boolean => existsSync(waitingPath(folder, sha256))
/** Content of a waiting file; undefined if it is missing or does not match its hash. */
export const contentOf = (folder: string, sha256: string): Uint8Array | undefined => {
  if (!isWaiting(folder, sha256)) return undefined
  const content = readFileSync(waitingPath(folder, sha256))
  return createHash("sha256").update(content).digest("hex") === sha256 ? content : undefined
}

const opened = <A>(path: string, flags: string, work: (file: number) => A): A => {
  const file = openSync(path, flags, 0o600)
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

const part_bytes = 65_536
/** Copies a file; stops once it is beyond the size limit. */
const copy = (from: number, to: number): Pick<UploadedFile, "sha256" | "size_bytes"> => {
  const hash = createHash("sha256")
  const buffer = new Uint8Array(part_bytes)
  let size_bytes = 0
  while (size_bytes <= upload_bytes_max) {
    const part = buffer.subarray(0, readSync(from, buffer))
    if (part.length === 0) break
    size_bytes += part.length
    hash.update(part)
    for (let rest = part; rest.length > 0;) rest = rest.subarray(writeSync(to, rest))
  }
  fsyncSync(to)
  return { sha256: hash.digest("hex"), size_bytes }
}

/** Copies a file into the device's folder, durably. If it throws, nothing is left. */
const keepOne = (folder: string, field: string, { name, mime_type, path }: SourceFile): UploadedFile => {
  const into = filesFolder(folder)
  if (!existsSync(into)) {
    mkdirSync(into, { recursive: true, mode: 0o700 })
    opened(folder, "r", fsyncSync)
  }
  const part = join(into, `${randomUUID()}.part`)
  try {
    const content = opened(path, "r", (from) => opened(part, "wx", (to) => copy(from, to)))
    if (content.size_bytes > upload_bytes_max) throw tooLarge(field, name)
    const kept = waitingPath(folder, content.sha256)
    renameSync(part, kept)
    // Updates the time of a file stored before, so that it is not removed as an old unreferenced file.
    utimesSync(kept, new Date(), new Date())
    // The folder is flushed too, so that the file's name is on disk.
    opened(into, "r", fsyncSync)
    return { name, mime_type, ...content }
  } finally {
    rmSync(part, { force: true })
  }
}
const tooLarge = (field: string, name: string): Rejection =>
  invalidField(
    field,
    `The file must not be larger than ${upload_bytes_max / 1_048_576} MB (${upload_bytes_max} bytes); ${name} is.`
  )
const no_room: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS"])
const noRoom = (code: string): string =>
  `There is no room on this device for the file (${code}). Nothing was recorded; make room and attach it again.`
/** Converts a full or read-only disk to a rejection; other errors are returned unchanged. */
const asRefusal = (error: unknown): unknown =>
  error instanceof Error && "code" in error && no_room.has(String(error.code))
    ? new Rejection({ kind: "unavailable", message: noRoom(String(error.code)) })
    : error

/** Copies a request's files. Throws a Rejection if one is too large or the disk is full; `pruneFiles` cleans up. */
export const keepFiles = (folder: string, sources: SourceFiles): KeptFiles => {
  try {
    return Object.fromEntries(Object.entries(sources).map(([field, source]) => [field, keepOne(folder, field, source)]))
  } catch (error) {
    throw asRefusal(error)
  }
}
/**
 * Copies files again after their command was recorded: another process may have removed equal content of a refused
 * command meanwhile.
 */
export const keepAgain = (folder: string, sources: SourceFiles, kept: KeptFiles): void => {
  for (const [field, source] of Object.entries(sources)) {
    const sha256 = kept[field]?.sha256
    if (sha256 !== undefined && !isWaiting(folder, sha256)) keepOne(folder, field, source)
  }
}

/** Minimum age of unreferenced files to remove: a younger one may belong to a command about to be recorded. */
const orphaned_after_millis = 3_600_000
/**
 * Removes files that no unsettled command references: those of settled commands, of requests sent directly, and old
 * leftovers of crashes.
 */
export const pruneFiles = (
  folder: string,
  outbox: Pick<Outbox, "filesNamed">,
  at_once: ReadonlyArray<string> = []
): void => {
  const into = filesFolder(folder)
  const names = existsSync(into) ? readdirSync(into) : []
  if (names.length === 0) return
  const { unsettled, settled } = outbox.filesNamed()
  const old_millis = Date.now() - orphaned_after_millis
  for (const name of names) {
    if (unsettled.has(name)) continue
    const path = join(into, name)
    const is_old = (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < old_millis
    if (settled.has(name) || at_once.includes(name) || is_old) rmSync(path, { force: true })
  }
}

interface FilesParts {
  readonly folder: string
  readonly outbox: Pick<Outbox, "filesNamed">
  readonly remote: Pick<Remote, "sendFile" | "wantedFiles">
  readonly replica_id: number
}
/** Operations of a sync on the device's waiting files. */
export const waitingFiles = ({ folder, outbox, remote, replica_id }: FilesParts): WaitingFiles => ({
  send: async (named, progress) => {
    const wanted = await remote.wantedFiles(replica_id, named)
    const lost: Array<string> = []
    for (const [done, sha256] of wanted.entries()) {
      progress?.({ phase: "files", done, total: wanted.length })
      if (contentOf(folder, sha256) === undefined) lost.push(sha256)
      else await remote.sendFile(replica_id, sha256, waitingPath(folder, sha256))
    }
    if (wanted.length > 0) progress?.({ phase: "files", done: wanted.length, total: wanted.length })
    return lost
  },
  prune: () => pruneFiles(folder, outbox)
})
