/**
 * Backups, made on the server's machine while the server runs: a consistent copy of the database, and its files, in a
 * folder or a bucket. The signing key is not included.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { statfs, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Stream } from "effect"
import type { Catalogue } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openBlobStore } from "../../files/open-store.ts"
import { type BlobStore, isSha256, receiveAll, type StoredBlob } from "../../ports/blob-store.ts"
import { type Credentials, nothing_outside, type Outside } from "../../ports/outside.ts"
import { StartupError } from "../../ports/startup-error.ts"
import { least_room_bytes, mebibytes } from "../../ports/storage-fault.ts"
import type { BackedUpDatabase } from "./database.ts"
import { copyDatabase, databaseParts, listDump, onDatabase, refuseFilled, restoreDatabase } from "./database.ts"
import { type About, type BackupKeys, type Part, readBackup, writeBackup } from "./file.ts"

/** A server's database and files. */
export interface BackupPlace {
  readonly database: BackedUpDatabase
  readonly data_folder: string
  readonly outside: Outside
  /** The server's catalogue, to read and rebuild a journal. */
  readonly catalogue: () => Promise<Catalogue>
}
export interface Backup extends About {
  readonly file: string
  readonly size_bytes: number
  readonly is_sealed: boolean
}
type Keys = Credentials | undefined

const nameAt = (time: Date): string => `flightcase-${time.toISOString().replaceAll(/[-:.]/g, "")}.backup`
const file_name = /^flightcase-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.backup$/
const day_millis = 86_400_000
/** Temporary folders and unfinished backups. */
const temporary = ".flightcase-"
const temporary_name = /^(\.flightcase-.{6}|flightcase-\w+\.backup\.partial)$/

const withFolder = async <A>(beside: string, work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(beside, temporary))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
/** Removes what killed programs left unfinished. */
const sweep = (folder: string, now: Date): void => {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (temporary_name.test(name) && statSync(path).mtimeMs < now.getTime() - day_millis)
      rmSync(path, { recursive: true, force: true })
  }
}
/** Bytes of a database and its files. */
const bytesOf = Effect.gen(function* () {
  const { dialect, run } = yield* Store
  const pages = "page_count * page_size from pragma_page_count, pragma_page_size"
  const size = dialect === "pg" ? "pg_database_size(current_database())" : `(select ${pages})`
  const [row] = yield* run<{ readonly bytes: number }>(
    `select ${size} + coalesce((select sum(size_bytes) from blobs), 0) as bytes`
  )
  return Number(row?.bytes)
})
/** Throws a StartupError unless a folder has room for a backup. */
const refuseWithoutRoom = async (database: BackedUpDatabase, folder: string): Promise<void> => {
  if (database.kind === "sqlite" && !existsSync(database.path))
    throw new StartupError(`There is no database at ${database.path}.`)
  const { bavail, blocks, bsize } = await statfs(folder)
  // A database of an older release, which may have no files, is backed up all the same.
  const needed_bytes = (await onDatabase(database, bytesOf).catch(() => 0)) + least_room_bytes
  // Some file systems report no blocks.
  if (blocks > 0 && bavail * bsize < needed_bytes)
    throw new StartupError(
      `${folder} has ${mebibytes(bavail * bsize)} free: a backup needs ${mebibytes(needed_bytes)}, ` +
        "for the database, its files and a reserve."
    )
}
const storeOf = async ({ data_folder, database, outside }: BackupPlace): Promise<BlobStore> =>
  (await openBlobStore({ data_folder, database, outside })).store

const isBucket = (folder: string): boolean => folder.startsWith("s3://")
const bucketOf = async (folder: string, keys: Keys) => (await import("./bucket.ts")).bucketBackups(folder, keys)
/** The address of a file in a folder or bucket, and the two of an address. */
const fileIn = (folder: string, name: string): string => {
  if (!isBucket(folder)) return join(folder, name)
  const [address = "", ...options] = folder.split("?")
  return [`${address.replace(/\/+$/, "")}/${name}`, ...options].join("?")
}
const partsOfAddress = (file: string): { readonly folder: string; readonly name: string } => {
  const [address = "", ...options] = file.split("?")
  const at = address.lastIndexOf("/")
  return { folder: [address.slice(0, at), ...options].join("?"), name: address.slice(at + 1) }
}
/** Runs work on a backup's file; one in a bucket is downloaded first. */
const withFile = async <A>(file: string, keys: Keys, work: (path: string) => Promise<A>): Promise<A> => {
  if (!isBucket(file)) return work(file)
  const { folder, name } = partsOfAddress(file)
  const bucket = await bucketOf(folder, keys)
  return withFolder(tmpdir(), async (beside) => {
    const path = join(beside, "downloaded.backup")
    await bucket.download(name, path)
    return work(path)
  })
}

interface CreateOptions {
  readonly now: Date
  readonly keys?: BackupKeys
  /** Ends the work early. */
  readonly signal?: AbortSignal
}
/** Creates a backup in a bucket, or in a folder, which is created if missing. */
export const createBackup = async (place: BackupPlace, folder: string, options: CreateOptions): Promise<Backup> => {
  const name = nameAt(options.now)
  if (!isBucket(folder)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    sweep(folder, options.now)
    await refuseWithoutRoom(place.database, folder)
    return written(place, resolve(folder, name), folder, options)
  }
  const bucket = await bucketOf(folder, place.outside.aws)
  const has_data = existsSync(place.data_folder)
  if (has_data) sweep(place.data_folder, options.now)
  const disk = has_data ? place.data_folder : tmpdir()
  await refuseWithoutRoom(place.database, disk)
  return withFolder(disk, async (beside) => {
    const { file, is_sealed, size_bytes, ...about } = await written(place, join(beside, name), beside, options)
    await bucket.upload(name, file, about, is_sealed, options.signal)
    return { ...about, file: fileIn(folder, name), is_sealed, size_bytes }
  })
}
/** Writes a backup's file. `folder`: for temporary files. */
const written = async (
  place: BackupPlace,
  file: string,
  folder: string,
  { keys = {}, now, signal }: CreateOptions
): Promise<Backup> => {
  const writer = await writeBackup(file, keys)
  try {
    const { database } = place
    const { holds, position } = await withFolder(folder, (beside) =>
      copyDatabase(database, place.catalogue, beside, writer.part, signal)
    )
    // Copied after the database, so that every referenced file is included unless it was erased meanwhile.
    const store = await storeOf(place)
    let files = 0
    await Effect.runPromise(
      Stream.runForEach(store.list, ({ sha256 }) =>
        store.read(sha256).pipe(
          Effect.flatMap(({ content }) => Effect.promise(() => writer.part(sha256, Stream.toAsyncIterable(content)))),
          Effect.tap(() => Effect.sync(() => (files += 1))),
          Effect.catchTag("BlobMissing", () => Effect.void)
        )
      ),
      signal === undefined ? {} : { signal }
    )
    await writer.end({ made_at: now.toISOString(), engine: database.kind, holds, position, files })
  } finally {
    writer.giveUp()
  }
  return described(file)
}

const described = (file: string): Backup => {
  const reader = readBackup(file)
  try {
    return { ...reader.about, file, size_bytes: statSync(file).size, is_sealed: reader.is_sealed }
  } finally {
    reader.close()
  }
}
const describedIn = async (folder: string, name: string, keys: Keys): Promise<Backup> => {
  const file = fileIn(folder, name)
  if (!isBucket(folder)) return described(file)
  const found = await (await bucketOf(folder, keys)).describe(name)
  // Copied there by another program, which left the description out.
  if (found === undefined) return { ...(await withFile(file, keys, async (path) => described(path))), file }
  return { ...found, file }
}
/** Names of the backups in a folder or bucket, newest first; other files are ignored. */
const backupNames = async (folder: string, keys: Keys): Promise<ReadonlyArray<string>> => {
  if (!isBucket(folder) && !existsSync(folder)) throw new StartupError(`There is no folder ${folder}.`)
  const names = isBucket(folder) ? await (await bucketOf(folder, keys)).names() : readdirSync(folder)
  return names
    .filter((name) => file_name.test(name))
    .sort()
    .reverse()
}
/** When the newest backup until `now` was made, or, without one, the newest of all; in milliseconds since 1970. */
export const newestBackup = async (folder: string, now: Date, keys: Keys): Promise<number | undefined> => {
  const names = await backupNames(folder, keys)
  const name = names.find((one) => one <= nameAt(now)) ?? names[0] ?? ""
  const [, year, month, day, hour, minute, second] = file_name.exec(name) ?? []
  return year === undefined ? undefined : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
/** Backups in a folder or bucket, newest first. */
export const backupsIn = async (folder: string, keys: Keys): Promise<ReadonlyArray<Backup>> => {
  const found: Array<Backup> = []
  for (const name of await backupNames(folder, keys)) found.push(await describedIn(folder, name, keys))
  return found
}
/** A backup with its description, if that can be read. Nothing is downloaded for it. */
const glancedAt = async (folder: string, name: string, keys: Keys): Promise<Backup | Pick<Backup, "file">> => {
  const file = fileIn(folder, name)
  const about = async () => (isBucket(folder) ? (await bucketOf(folder, keys)).describe(name) : described(file))
  return { ...(await about().catch(() => undefined)), file }
}
interface PruneOptions {
  /** Later backups, of a clock that was ahead, are neither counted nor deleted. */
  readonly now: Date
  readonly aws?: Keys
  /** Deletes nothing. */
  readonly is_plan?: boolean
}
/** Deletes all but the newest `keep` backups; returns those deleted, without description where it cannot be read. */
export const pruneBackups = async (folder: string, keep: number, { aws, is_plan = false, now }: PruneOptions) => {
  const old: Array<Backup | Pick<Backup, "file">> = []
  const past = (await backupNames(folder, aws)).filter((name) => name <= nameAt(now))
  for (const name of past.slice(keep)) {
    old.push(await glancedAt(folder, name, aws))
    if (is_plan) continue
    if (isBucket(folder)) await (await bucketOf(folder, aws)).remove(name)
    else rmSync(join(folder, name), { force: true })
  }
  return old
}

/** Secrets that open a backup, and keys of its bucket. */
interface OpenOptions extends BackupKeys {
  readonly aws?: Keys
}
/** Reads all of a backup. Throws a StartupError if a part is damaged or missing. */
export const verifyBackup = (file: string, options: OpenOptions): Promise<Backup> =>
  withFile(file, options.aws, async (path) => ({ ...(await verified(path, options)), file }))
const verified = async (path: string, keys: BackupKeys): Promise<Backup> => {
  const reader = readBackup(path)
  try {
    const { about, parts } = reader
    const content = await reader.opened(keys)
    for (const part of parts) for (const _ of content(part));
    databaseParts(about, parts, path)
    if (parts.filter(({ name }) => isSha256(name)).length !== about.files)
      throw new StartupError(`${path} lacks a part.`)
  } finally {
    reader.close()
  }
  return described(path)
}

/**
 * Restores a backup into an empty folder (and an empty Postgres, if it is of one). Throws a StartupError before writing
 * anything if they are not empty or the backup is damaged.
 */
export const restoreBackup = (file: string, place: BackupPlace, options: OpenOptions): Promise<Backup> =>
  withFile(file, options.aws, async (path) => ({ ...(await restored(path, place, options)), file }))
const restored = async (file: string, place: BackupPlace, keys: BackupKeys): Promise<Backup> => {
  const { data_folder, database } = place
  const backup = await verified(file, keys)
  // A journal is the same on both.
  if (backup.holds !== "journal" && backup.engine !== database.kind)
    throw new StartupError(
      backup.engine === "pg"
        ? "This is a backup of a Postgres: set DATABASE_URL to an empty database."
        : "This is a backup of an SQLite file: unset DATABASE_URL, and give an empty folder."
    )
  if (existsSync(data_folder) && readdirSync(data_folder).length > 0)
    throw new StartupError(`The folder ${data_folder} is not empty: nothing was restored. Give another one.`)
  await refuseFilled(database)
  mkdirSync(data_folder, { recursive: true, mode: 0o700 })
  const reader = readBackup(file)
  try {
    const content = await reader.opened(keys)
    const store = await storeOf(place)
    const files: Array<StoredBlob> = []
    const kept = (part: Part) =>
      Effect.scoped(
        Effect.gen(function* () {
          const all = Stream.fromIterable(content(part))
          const { blob, keep } = yield* receiveAll(store, all, Math.max(1, part.size_bytes))
          yield* keep
          files.push(blob)
        })
      )
    for (const part of reader.parts) if (isSha256(part.name)) await Effect.runPromise(kept(part))
    const mark = await restoreDatabase(place, databaseParts(backup, reader.parts, file), backup, content, files)
    if (mark !== undefined) await Effect.runPromise(store.setMark(mark))
  } finally {
    reader.close()
  }
  return backup
}

/**
 * Tests a backup: restores it into a temporary folder and checks its journal. A dump of a Postgres is only listed by
 * `pg_restore`.
 */
export const drillBackup = (file: string, options: OpenOptions & Pick<BackupPlace, "catalogue">): Promise<Backup> =>
  withFile(file, options.aws, (path) =>
    withFolder(tmpdir(), async (folder) => ({ ...(await drilled(path, folder, options)), file }))
  )
const drilled = async (
  file: string,
  folder: string,
  { catalogue, ...keys }: BackupKeys & Pick<BackupPlace, "catalogue">
): Promise<Backup> => {
  const { engine, holds } = described(file)
  if (engine === "pg" && holds !== "journal") {
    const backup = await verified(file, keys)
    const reader = readBackup(file)
    try {
      const content = await reader.opened(keys)
      const path = join(folder, "database.dump")
      await writeFile(path, content(databaseParts(backup, reader.parts, file).first), { mode: 0o600 })
      await listDump(path)
    } finally {
      reader.close()
    }
    return backup
  }
  const data_folder = join(folder, "data")
  const path = join(data_folder, "flightcase.sqlite")
  const here: BackupPlace = { database: { kind: "sqlite", path }, data_folder, outside: nothing_outside, catalogue }
  const backup = await restored(file, here, keys)
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const row = db.prepare("select count(*) as events, coalesce(max(position), 0) as position from journal").get()
    if (Number(row?.["position"]) !== backup.position || Number(row?.["events"]) !== backup.position)
      throw new StartupError("The journal of this backup has gaps.")
  } finally {
    db.close()
  }
  return backup
}
