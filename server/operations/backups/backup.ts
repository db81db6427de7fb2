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
import { type Catalogue, Store } from "../../../core/kernel/index.ts"
import { file_stores } from "../../files/downloads.ts"
import { openBlobStore } from "../../files/open-store.ts"
import { type BlobStore, isSha256, receiveAll, type StoredBlob } from "../../ports/blob-store.ts"
import { type Credentials, nothing_outside, type Outside } from "../../ports/outside.ts"
import { StartupError } from "../../ports/startup-error.ts"
import { least_room_bytes, mebibytes } from "../../ports/storage-fault.ts"
import { type BackedUpDatabase, bytesOf, compared, copyDatabase, databaseParts, listDump } from "./database.ts"
import { onDatabase, refuseFilled, restoreDatabase } from "./database.ts"
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

/** Time in a backup's name: names sort by it. */
const timeOf = (time: Date): string => time.toISOString().replaceAll(/[-:.]/g, "")
/** Time and server of a backup's file; earlier releases named no server. */
const file_name = /^flightcase-(\d{8}T\d{9}Z)(?:-([0-9a-f]{8}))?\.backup$/
const timeIn = (name: string): string => file_name.exec(name)?.[1] ?? ""
const serverIn = (name: string): string | undefined => file_name.exec(name)?.[2]
const day_millis = 86_400_000
/** Prefix of temporary folders; below, the names of these and of unfinished backups. */
const temporary = ".flightcase-"
const temporary_name = /^(\.flightcase-.{6}|flightcase-[\w-]+\.backup\.partial)$/

const withFolder = async <A>(beside: string, work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(beside, temporary))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
/** Removes what killed programs left unfinished a day ago or earlier. */
const sweep = (folder: string, now: Date): void => {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (temporary_name.test(name) && statSync(path).mtimeMs < now.getTime() - day_millis)
      rmSync(path, { recursive: true, force: true })
  }
}
/** Throws a StartupError unless the database exists and the folder has room for its backup. */
const refuseWithoutRoom = async (database: BackedUpDatabase, folder: string): Promise<void> => {
  if (database.kind === "sqlite" && !existsSync(database.path))
    throw new StartupError(`There is no database at ${database.path}.`)
  const { bavail, blocks, bsize } = await statfs(folder)
  const needed_bytes = (await bytesOf(database)) + least_room_bytes
  // Some file systems report no blocks.
  if (blocks > 0 && bavail * bsize < needed_bytes)
    throw new StartupError(
      `${folder} has ${mebibytes(bavail * bsize)} free: a backup needs ${mebibytes(needed_bytes)}, ` +
        "for the database, its files and a reserve."
    )
}
const storeOf = async (place: BackupPlace): Promise<BlobStore> => (await openBlobStore(place)).store

const isBucket = (folder: string): boolean => folder.startsWith("s3://")
const bucketOf = async (folder: string, keys: Keys) => (await import("./bucket.ts")).bucketBackups(folder, keys)
/** Address of a file in a folder or bucket; `partsOfAddress` splits one in a bucket again. */
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
  /** Id of the server that is backed up. */
  readonly server?: string | undefined
  readonly keys?: BackupKeys
  /** Copies the journal, which both engines restore. */
  readonly holds?: "journal"
  /** Ends the work early. */
  readonly signal?: AbortSignal
}
/** Creates a backup in a bucket, or in a folder, which is created if missing. */
export const createBackup = async (place: BackupPlace, folder: string, options: CreateOptions): Promise<Backup> => {
  const { now, server } = options
  const name = `flightcase-${timeOf(now)}${server === undefined ? "" : `-${server}`}.backup`
  if (!isBucket(folder)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    sweep(folder, now)
    await refuseWithoutRoom(place.database, folder)
    return written(place, resolve(folder, name), folder, options)
  }
  const bucket = await bucketOf(folder, place.outside.aws)
  const has_data = existsSync(place.data_folder)
  if (has_data) sweep(place.data_folder, now)
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
  { keys = {}, now, signal, ...options }: CreateOptions
): Promise<Backup> => {
  const writer = await writeBackup(file, keys)
  try {
    const { database } = place
    const { holds, position } = await withFolder(folder, (beside) =>
      copyDatabase(database, place.catalogue, beside, writer.part, { ...options, signal })
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
const unknown_server =
  "It is unknown whose backups are meant: set FLIGHTCASE_DATA or DATABASE_URL as their server has it."
/** Which server's backups to list or prune, and the present time. */
interface OwnBackups {
  /** Later backups, of a clock that was ahead, are neither counted nor deleted. */
  readonly now: Date
  /** Id of the server whose backups they are. */
  readonly server: string | undefined
  readonly aws?: Keys
}
/**
 * Backups of a server among those of a place that several may share. Those that name no server, of earlier releases,
 * are its own unless there are some of another. Throws a StartupError if it is unknown which server's are meant.
 */
const ofServer = (names: ReadonlyArray<string>, given: string | undefined): ReadonlyArray<string> => {
  const [first, ...more] = new Set(names.flatMap((name) => serverIn(name) ?? []))
  if (given === undefined && more.length > 0) throw new StartupError(unknown_server)
  const server = given ?? first
  const is_shared = more.length > 0 || (first ?? server) !== server
  return names.filter((name) => serverIn(name) === server || (serverIn(name) === undefined && !is_shared))
}
/** Milliseconds since 1970 of a server's newest backup until `now`, else of its newest of all; undefined if none. */
export const newestBackup = async (folder: string, { aws, now, server }: OwnBackups): Promise<number | undefined> => {
  const names = ofServer(await backupNames(folder, aws), server)
  const name = names.find((one) => timeIn(one) <= timeOf(now)) ?? names[0] ?? ""
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(timeIn(name))
  const [, year, month, day, hour, minute, second] = parts ?? []
  return year === undefined ? undefined : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
/**
 * A server's backups in a folder or bucket, those that name no server, and the number of other servers' backups; all of
 * them without a server. Newest first.
 */
export const backupsIn = async (folder: string, keys: Keys, server?: string) => {
  const names = await backupNames(folder, keys)
  const own = names.filter((name) => server === undefined || (serverIn(name) ?? server) === server)
  const backups: Array<Backup> = []
  for (const name of own) backups.push(await describedIn(folder, name, keys))
  return { backups, others: names.length - own.length }
}
/** A backup with its description, if that can be read. Nothing is downloaded for it. */
const glancedAt = async (folder: string, name: string, keys: Keys): Promise<Backup | Pick<Backup, "file">> => {
  const file = fileIn(folder, name)
  const about = async () => (isBucket(folder) ? (await bucketOf(folder, keys)).describe(name) : described(file))
  return { ...(await about().catch(() => undefined)), file }
}
/** Deletes all but a server's newest `keep` backups; returns those deleted or, with `is_plan`, to be deleted. */
export const pruneBackups = async (
  folder: string,
  keep: number,
  { aws, is_plan = false, now, server }: OwnBackups & { /** Deletes nothing. */ readonly is_plan?: boolean }
) => {
  const old: Array<Backup | Pick<Backup, "file">> = []
  const names = await backupNames(folder, aws)
  if (server === undefined && names.some((name) => serverIn(name) !== undefined)) throw new StartupError(unknown_server)
  const past = ofServer(names, server).filter((name) => timeIn(name) <= timeOf(now))
  for (const name of past.slice(keep)) {
    old.push(await glancedAt(folder, name, aws))
    if (is_plan) continue
    if (isBucket(folder)) await (await bucketOf(folder, aws)).remove(name)
    else rmSync(join(folder, name), { force: true })
  }
  return old
}

/** Secrets that open a backup, keys of its bucket, and the folder of a server that is moved, which may stay. */
interface OpenOptions extends BackupKeys {
  readonly aws?: Keys
  readonly own_folder?: string
}
/**
 * Reads all of a backup. With a catalogue, it also restores it into a temporary folder and checks its journal; of a
 * dump of a Postgres, `pg_restore` lists the content. Throws a StartupError if a part is damaged or missing.
 */
export const verifyBackup = (
  file: string,
  { catalogue, ...options }: OpenOptions & Partial<Pick<BackupPlace, "catalogue">>
): Promise<Backup> =>
  withFile(file, options.aws, async (path) => {
    const found =
      catalogue === undefined
        ? await verified(path, options)
        : await withFolder(tmpdir(), (folder) => drilled(path, folder, { ...options, catalogue }))
    return { ...found, file }
  })
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
 * Restores a backup into an empty folder, and an empty Postgres if the place has one. Throws a StartupError before
 * writing anything if they are not empty, or the backup is damaged or a copy of the other engine's database.
 */
export const restoreBackup = (file: string, place: BackupPlace, options: OpenOptions): Promise<Backup> =>
  withFile(file, options.aws, async (path) => ({ ...(await restored(path, place, options)), file }))
const restored = async (file: string, place: BackupPlace, keys: OpenOptions): Promise<Backup> => {
  const { data_folder, database } = place
  const backup = await verified(file, keys)
  // A journal is the same on both.
  if (backup.holds !== "journal" && backup.engine !== database.kind)
    throw new StartupError(
      backup.engine === "pg"
        ? "This is a backup of a Postgres: set DATABASE_URL to an empty database."
        : "This is a backup of an SQLite file: unset DATABASE_URL, and give an empty folder."
    )
  await refuseFilled(place, keys.own_folder)
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
    const parts = databaseParts(backup, reader.parts, file)
    const mark = await restoreDatabase(place, parts, backup, content, files)
    if (mark !== undefined) await Effect.runPromise(store.setMark(mark))
  } finally {
    reader.close()
  }
  return backup
}

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

/** Throws a StartupError if the files of the database are not in the place that is given. */
const refuseOtherFiles = async (from: BackupPlace): Promise<void> => {
  const known = await onDatabase(from.database, Store.get(file_stores, 1))
  if (known === undefined || known.mark === (await Effect.runPromise((await storeOf(from)).mark))) return
  throw new StartupError(
    `The files of this database are in ${known.place}: set FLIGHTCASE_BLOBS or --data as its server has it.`
  )
}

/**
 * Copies journal and files from SQLite to an empty Postgres, or back, and leaves the source as it is. Throws a
 * StartupError before writing anything if the target is not empty, and at the end if it differs from the source.
 */
export const moveServer = async (from: BackupPlace, to: BackupPlace) => {
  if (from.database.kind === to.database.kind)
    throw new StartupError("The target is of the same kind: backup create and restore copy it, tokens included.")
  await refuseFilled(to, from.data_folder)
  const [now, beside] = [new Date(), existsSync(from.data_folder) ? from.data_folder : tmpdir()]
  sweep(beside, now)
  try {
    await refuseOtherFiles(from)
    const { files } = await withFolder(beside, async (folder) => {
      const { file } = await createBackup(from, folder, { now, holds: "journal" })
      return restored(file, to, { own_folder: from.data_folder })
    })
    return { ...(await compared(await from.catalogue(), from.database, to.database)), files }
  } catch (cause) {
    if (cause instanceof StartupError) throw cause
    const way_out = "Start the server of this release on the source once, and move into another empty place."
    throw new StartupError(`The copy failed: ${String(cause)} ${way_out}`, cause)
  }
}
