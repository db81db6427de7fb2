/**
 * Backups, made on the server's machine while the server runs: a consistent copy of the database, and its files. The
 * signing key is not included.
 */
import { execFile } from "node:child_process"
import { createReadStream, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { open, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { backup as backupDatabase, DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { Effect, ManagedRuntime, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type BlobStore, isSha256, receiveAll } from "../ports/blob-store.ts"
import { openBlobStore } from "../files/open-store.ts"
import { nothing_outside, type Outside } from "../ports/outside.ts"
import { StartupError } from "../ports/startup-error.ts"
import { backupNames } from "../ports/storage-fault.ts"
import { bucketKeys } from "./config.ts"
import { type Environment, readVariables } from "./environment.ts"
import * as Postgres from "../pg/client.ts"
import { type About, readBackup, writeBackup } from "./backup-file.ts"

export interface BackupPlace {
  readonly database: { readonly kind: "sqlite"; readonly path: string } | { readonly kind: "pg"; readonly url: string }
  readonly data_folder: string
  readonly outside: Outside
}
/** Database and folder of the server configured by this environment. `given_folder` overrides FLIGHTCASE_DATA. */
export const placeFrom = (environment: Environment, given_folder: string | undefined): BackupPlace => {
  const given = readVariables(environment)
  const data_folder = resolve(given_folder ?? given.FLIGHTCASE_DATA)
  return {
    data_folder,
    database:
      given.DATABASE_URL === undefined
        ? { kind: "sqlite", path: join(data_folder, "flightcase.sqlite") }
        : { kind: "pg", url: given.DATABASE_URL },
    outside: {
      ...nothing_outside,
      blobs: given.FLIGHTCASE_BLOBS,
      aws: given.FLIGHTCASE_BLOBS === undefined ? undefined : bucketKeys(given)
    }
  }
}
export interface Backup extends About {
  readonly file: string
  readonly size_bytes: number
  readonly is_sealed: boolean
}

const database_part = "database"

/**
 * Runs a Postgres program; throws a StartupError if it is not installed or fails. The password is hidden from other
 * users.
 */
const runProgram = async (program: string, args: ReadonlyArray<string>, url?: string): Promise<void> => {
  const address = url === undefined ? undefined : new URL(url)
  const password = address === undefined ? "" : decodeURIComponent(address.password)
  if (address !== undefined) address.password = ""
  try {
    await promisify(execFile)(program, address === undefined ? args : [...args, `--dbname=${address.href}`], {
      maxBuffer: 64 * 1_048_576,
      env: password === "" ? process.env : { ...process.env, PGPASSWORD: password }
    })
  } catch (cause) {
    const { code, stderr } = cause as { readonly code?: unknown; readonly stderr?: string }
    if (code === "ENOENT")
      throw new StartupError(
        `${program} is not installed: install the client programs of Postgres, or use flightcase export.`,
        cause
      )
    throw new StartupError(`${program} failed: ${(stderr ?? String(cause)).trim().split("\n")[0] ?? ""}`, cause)
  }
}

/** Rows of the last statement, run on Postgres. */
const onPostgres = async (
  url: string,
  statements: ReadonlyArray<string>
): Promise<ReadonlyArray<{ readonly [column: string]: unknown }>> => {
  const runtime = ManagedRuntime.make(Postgres.layer({ url, max: 1, lock_timeout_ms: 10_000 }))
  try {
    return await runtime.runPromise(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        let rows: ReadonlyArray<{ readonly [column: string]: unknown }> = []
        for (const statement of statements) rows = yield* sql.unsafe<{ readonly [column: string]: unknown }>(statement)
        return rows
      })
    )
  } finally {
    await runtime.dispose()
  }
}
const position_sql = "select coalesce(max(position), 0) as position from journal"

/** Copies the database consistently into `folder`; returns its path and a journal position it contains at least. */
const copied = async (
  database: BackupPlace["database"],
  folder: string
): Promise<{ readonly path: string; readonly position: number }> => {
  const path = join(folder, "database")
  if (database.kind === "pg") {
    const [row] = await onPostgres(database.url, [position_sql])
    await runProgram("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", `--file=${path}`], database.url)
    return { path, position: Number(row?.["position"]) }
  }
  if (!existsSync(database.path)) throw new StartupError(`There is no database at ${database.path}.`)
  const source = new DatabaseSync(database.path, { readOnly: true, timeout: 10_000 })
  try {
    // All pages in one step, so that the copy is consistent while the server writes.
    await backupDatabase(source, path, { rate: 2_147_483_647 })
  } finally {
    source.close()
  }
  const copy = new DatabaseSync(path, { readOnly: true })
  try {
    return { path, position: Number(copy.prepare(position_sql).get()?.["position"]) }
  } finally {
    copy.close()
  }
}

const withFolder = async <A>(beside: string, work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(beside, ".flightcase-"))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
const storeOf = async ({ data_folder, database, outside }: BackupPlace): Promise<BlobStore> =>
  (await openBlobStore({ data_folder, database, outside })).store

/** Creates a backup in a folder, which is created if missing. */
export const createBackup = async (
  place: BackupPlace,
  folder: string,
  options: { readonly now: Date; readonly passphrase: string | undefined; readonly onPart?: (files: number) => void }
): Promise<Backup> => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = resolve(folder, backupNames.at(options.now))
  const writer = writeBackup(file, options.passphrase)
  try {
    const position = await withFolder(folder, async (beside) => {
      const copy = await copied(place.database, beside)
      await writer.part(database_part, createReadStream(copy.path, { highWaterMark: 262_144 }))
      return copy.position
    })
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
      )
    )
    writer.end({ format: 1, made_at: options.now.toISOString(), engine: place.database.kind, position, files })
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
/** Backups in a folder, newest first; other files are ignored. */
export const backupsIn = (folder: string): ReadonlyArray<Backup> => {
  if (!existsSync(folder)) throw new StartupError(`There is no folder ${folder}.`)
  return readdirSync(folder)
    .filter((name) => backupNames.millisOf(name) !== undefined)
    .sort()
    .reverse()
    .map((name) => described(join(folder, name)))
}
/** Deletes all but the newest `keep` backups; returns those deleted. With `is_plan` nothing is deleted. */
export const pruneBackups = (folder: string, keep: number, is_plan: boolean): ReadonlyArray<Backup> => {
  const old = backupsIn(folder).slice(keep)
  if (!is_plan) for (const { file } of old) rmSync(file)
  return old
}

/** Reads all of a backup. Throws a StartupError if a part is damaged or missing. */
export const verifyBackup = async (file: string, passphrase: string | undefined): Promise<Backup> => {
  const reader = readBackup(file)
  try {
    for (const part of reader.parts) for (const _ of reader.content(part, passphrase));
    if (reader.parts.length !== reader.about.files + 1) throw new StartupError(`${file} lacks a part.`)
  } finally {
    reader.close()
  }
  return described(file)
}

/**
 * Statements that stop queued work of a restored backup, as it may have been done since: jobs fail, deliveries are
 * dropped.
 */
const heldSql = (made_at: string): ReadonlyArray<string> => [
  "update effect_queue set state = 'failed', acquired_at = null, acquired_by = null, " +
    `last_failure = 'The server was restored from a backup of ${made_at}: this may have been done since.' ` +
    "where state = 'pending'",
  "update webhook_deliveries set state = 'dropped', claimed_until = null, claimed_by = null where state = 'waiting'"
]
const mark_sql = "select mark from file_stores where id = 1"

/**
 * Restores a backup into an empty folder (and an empty Postgres, if it is of one). Throws a StartupError before writing
 * anything if they are not empty or the backup is damaged.
 */
export const restoreBackup = async (
  file: string,
  place: BackupPlace,
  passphrase: string | undefined
): Promise<Backup> => {
  const { data_folder, database } = place
  const backup = await verifyBackup(file, passphrase)
  if (backup.engine !== database.kind)
    throw new StartupError(
      backup.engine === "pg"
        ? "This is a backup of a Postgres: set DATABASE_URL to an empty database."
        : "This is a backup of an SQLite file: unset DATABASE_URL, and give an empty folder."
    )
  if (existsSync(data_folder) && readdirSync(data_folder).length > 0)
    throw new StartupError(`The folder ${data_folder} is not empty: nothing was restored. Give another one.`)
  if (database.kind === "pg") {
    const [row] = await onPostgres(database.url, [
      "select count(*) as found from information_schema.tables where table_schema = current_schema()"
    ])
    if (Number(row?.["found"]) > 0)
      throw new StartupError("The database of DATABASE_URL is not empty: nothing was restored. Name another one.")
  }
  mkdirSync(data_folder, { recursive: true, mode: 0o700 })
  const reader = readBackup(file)
  try {
    const database_content = reader.parts.find(({ name }) => name === database_part)
    if (database_content === undefined) throw new StartupError(`${file} holds no database.`)
    const mark = await restoredDatabase(place, reader.content(database_content, passphrase), heldSql(backup.made_at))
    const store = await storeOf(place)
    const kept = (size_bytes: number, content: Iterable<Uint8Array>) =>
      Effect.scoped(
        Effect.gen(function* () {
          const all = Stream.fromIterable(content)
          const { keep } = yield* receiveAll(store, all, Math.max(1, size_bytes))
          yield* keep
        })
      )
    for (const part of reader.parts)
      if (isSha256(part.name)) await Effect.runPromise(kept(part.size_bytes, reader.content(part, passphrase)))
    if (mark !== undefined) await Effect.runPromise(store.setMark(mark))
  } finally {
    reader.close()
  }
  return backup
}

/** Restores the database; returns the mark of its file store, if it has one. */
const restoredDatabase = async (
  { data_folder, database }: BackupPlace,
  content: Iterable<Uint8Array>,
  afterwards: ReadonlyArray<string>
): Promise<string | undefined> => {
  const path = database.kind === "sqlite" ? database.path : join(data_folder, "restored.dump")
  const handle = await open(path, "wx", 0o600)
  try {
    for (const bytes of content) await handle.write(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (database.kind === "sqlite") {
    const db = new DatabaseSync(path)
    try {
      const [result] = db.prepare("pragma integrity_check").all()
      if (result?.["integrity_check"] !== "ok") throw new StartupError("The database of this backup is damaged.")
      db.exec(`pragma journal_mode = wal; begin; ${afterwards.join(";")}; commit`)
      return textOf(db.prepare(mark_sql).get()?.["mark"])
    } finally {
      db.close()
    }
  }
  try {
    await runProgram("pg_restore", ["--no-owner", "--no-privileges", "--exit-on-error", path], database.url)
  } finally {
    rmSync(path)
  }
  const [row] = await onPostgres(database.url, [...afterwards, mark_sql])
  return textOf(row?.["mark"])
}
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/**
 * Tests a backup: restores an SQLite backup into a temporary folder and checks its journal. A Postgres backup is only
 * listed by `pg_restore`.
 */
export const drillBackup = async (file: string, passphrase: string | undefined): Promise<Backup> =>
  withFolder(tmpdir(), async (folder) => {
    const { engine } = described(file)
    if (engine === "pg") {
      const backup = await verifyBackup(file, passphrase)
      const reader = readBackup(file)
      try {
        const part = reader.parts.find(({ name }) => name === database_part)
        if (part === undefined) throw new StartupError(`${file} holds no database.`)
        const path = join(folder, "database.dump")
        await writeFile(path, reader.content(part, passphrase), { mode: 0o600 })
        await runProgram("pg_restore", ["--list", path])
      } finally {
        reader.close()
      }
      return backup
    }
    const data_folder = join(folder, "data")
    const path = join(data_folder, "flightcase.sqlite")
    const here: BackupPlace = { database: { kind: "sqlite", path }, data_folder, outside: nothing_outside }
    const backup = await restoreBackup(file, here, passphrase)
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      const row = db.prepare("select count(*) as events, coalesce(max(position), 0) as position from journal").get()
      if (Number(row?.["position"]) !== backup.position || Number(row?.["events"]) !== backup.position)
        throw new StartupError("The journal of this backup has gaps.")
    } finally {
      db.close()
    }
    return backup
  })
