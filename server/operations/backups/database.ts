/**
 * The database in a backup: a copy of the SQLite file, a dump by `pg_dump`, or, where that is not installed or is older
 * than the server, the journal with the checksums that `flightcase export` has, too. All are of one moment.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { createReadStream, existsSync, readdirSync, rmSync } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { backup as backupDatabase, DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { canonicalJson, eventsAfter, insert, lastPosition, make as makeStore } from "../../../core/kernel/index.ts"
import { Store, type AnyRow, type Catalogue, type Failure, type RowOf, type Table } from "../../../core/kernel/index.ts"
import { ensureSchema, withoutTimeouts } from "../../../core/kernel/runtime/schema.ts"
import { instantOf } from "../../../core/values/time.ts"
import * as Sqlite from "../../../sync/sqlite/client.ts"
import { accounting_exports } from "../../billing/accounting.ts"
import { document_link_pins } from "../../documents/links/public-links.ts"
import { blobs, file_stores } from "../../files/downloads.ts"
import * as Postgres from "../../pg/client.ts"
import type { StoredBlob } from "../../ports/blob-store.ts"
import { StartupError } from "../../ports/startup-error.ts"
import { applyRestore, bringFiles, type Manifest, manifestOf, ownManifest, restored_events } from "../restore/files.ts"
import type { About, BackupWriter, Part } from "./file.ts"

export type BackedUpDatabase =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "pg"; readonly url: string }

/** Part with the copy of the database. */
const database_part = "database"
/** Part with the checksums of an exported journal, and those with its pages of events, in order. */
const manifest_part = "manifest"
const page_part = /^journal\/\d{9}$/
/** Part with rows outside a journal that its server cannot do without, and the mark of the file store. */
const kept_part = "kept"
const kept_tables: ReadonlyArray<Table> = [accounting_exports, document_link_pins]
interface KeptRows {
  readonly mark: string | undefined
  readonly rows: { readonly [table: string]: ReadonlyArray<AnyRow> }
}
const events_per_page = 2_000

/** The parts of this backup that hold the database; throws a StartupError if one is missing. */
export const databaseParts = (about: About, parts: ReadonlyArray<Part>, file: string) => {
  const name = about.holds === "journal" ? manifest_part : database_part
  const first = parts.find((part) => part.name === name)
  if (first === undefined) throw new StartupError(`${file} holds no database.`)
  const kept = parts.find((part) => part.name === kept_part)
  return { first, kept, pages: parts.filter((part) => page_part.test(part.name)) }
}

/**
 * Runs a Postgres program; returns false if it is not installed, or refuses a server newer than itself. Throws a
 * StartupError if it fails. The password is hidden from other users.
 */
const ranProgram = async (
  program: string,
  args: ReadonlyArray<string>,
  { signal, url }: { readonly url?: string; readonly signal?: AbortSignal | undefined } = {}
): Promise<boolean> => {
  const address = url === undefined ? undefined : new URL(url)
  const password = address === undefined ? "" : decodeURIComponent(address.password)
  if (address !== undefined) address.password = ""
  try {
    await promisify(execFile)(program, address === undefined ? args : [...args, `--dbname=${address.href}`], {
      maxBuffer: 64 * 1_048_576,
      ...(signal === undefined ? {} : { signal }),
      // Messages in English.
      env: { ...process.env, LC_ALL: "C", ...(password === "" ? {} : { PGPASSWORD: password }) }
    })
    return true
  } catch (cause) {
    const { code, stderr } = cause as { readonly code?: unknown; readonly stderr?: string }
    if (code === "ENOENT" || stderr?.includes("server version mismatch") === true) return false
    throw new StartupError(`${program} failed: ${(stderr ?? String(cause)).trim().split("\n")[0] ?? ""}`, cause)
  }
}
const pgRestore = async (...[args, options]: readonly [ReadonlyArray<string>, { readonly url: string }?]) => {
  if (!(await ranProgram("pg_restore", args, options)))
    throw new StartupError("pg_restore is not installed: install the client programs of Postgres.")
}
export const listDump = (path: string): Promise<void> => pgRestore(["--list", path])

/** Runs an effect with a server's store on this database. */
export const onDatabase = async <A, E>(database: BackedUpDatabase, work: Effect.Effect<A, E, Store>): Promise<A> => {
  const sql =
    database.kind === "pg"
      ? Postgres.layer({ url: database.url, max: 1, lock_timeout_ms: 10_000 })
      : Sqlite.layer({ path: database.path, busy_timeout_ms: 10_000 })
  const store = Layer.effect(
    Store,
    Effect.map(SqlClient.SqlClient, (client) => makeStore(client, true))
  )
  const runtime = ManagedRuntime.make(Layer.provide(store, sql))
  try {
    return await runtime.runPromise(work)
  } finally {
    await runtime.dispose()
  }
}

/** Bytes of a database and its files; 0 if that fails, as for one of an old release without the table of files. */
export const bytesOf = async (database: BackedUpDatabase): Promise<number> => {
  const pages = "page_count * page_size from pragma_page_count, pragma_page_size"
  const size = database.kind === "pg" ? "pg_database_size(current_database())" : `(select ${pages})`
  const statement = `select ${size} + coalesce((select sum(size_bytes) from blobs), 0) as bytes`
  const [row] = await onDatabase(database, Store.run<{ readonly bytes: number }>(statement)).catch(() => [])
  return Number(row?.bytes ?? 0)
}

interface Copied {
  readonly holds: NonNullable<About["holds"]>
  /** A journal position that the copy contains at least. */
  readonly position: number
}
/** Writes the database's parts, or its journal and rows kept beside it. `folder`: for temporary files. */
export const copyDatabase = async (
  database: BackedUpDatabase,
  catalogue: () => Promise<Catalogue>,
  folder: string,
  part: BackupWriter["part"],
  { holds, signal }: { readonly holds?: "journal"; readonly signal?: AbortSignal | undefined }
): Promise<Copied> => {
  if (holds === "journal") return onDatabase(database, exported(await catalogue(), part))
  const path = join(folder, "database")
  const written = () => part(database_part, createReadStream(path, { highWaterMark: 262_144 }))
  if (database.kind === "pg") {
    const { url } = database
    const position = await onDatabase(database, Effect.flatMap(Store, lastPosition))
    const args = ["--format=custom", "--no-owner", "--no-privileges", `--file=${path}`]
    if (!(await ranProgram("pg_dump", args, { url, signal })))
      return onDatabase(database, exported(await catalogue(), part))
    await written()
    return { holds: "database", position }
  }
  const source = new DatabaseSync(database.path, { readOnly: true, timeout: 10_000 })
  try {
    // All pages in one step, so that the copy is consistent while the server writes.
    await backupDatabase(source, path, { rate: 2_147_483_647 })
  } finally {
    source.close()
  }
  const copy = new DatabaseSync(path, { readOnly: true })
  try {
    const row = copy.prepare("select coalesce(max(position), 0) as position from journal").get()
    await written()
    return { holds: "database", position: Number(row?.["position"]) }
  } finally {
    copy.close()
  }
}

/** Writes journal and manifest of one snapshot. */
const exported = (catalogue: Catalogue, part: BackupWriter["part"]): Effect.Effect<Copied, Failure, Store> =>
  Store.transaction(
    Effect.gen(function* () {
      const store = yield* Store
      if (store.dialect === "pg") yield* store.run("set transaction isolation level repeatable read read only")
      yield* withoutTimeouts
      const manifest = yield* ownManifest(catalogue)
      yield* Effect.promise(() => part(manifest_part, [Buffer.from(JSON.stringify(manifest))]))
      const rows: { [table: string]: ReadonlyArray<AnyRow> } = {}
      for (const table of kept_tables) rows[table.name] = yield* Store.select(table, (sql) => sql`where 1 = 1`)
      const kept: KeptRows = { mark: (yield* store.get(file_stores, 1))?.mark, rows }
      yield* Effect.promise(() => part(kept_part, [Buffer.from(JSON.stringify(kept))]))
      for (let after = 0, page = 0; ; page++) {
        const events = yield* eventsAfter(store, after, events_per_page)
        const last = events.at(-1)
        if (last === undefined) return { holds: "journal" as const, position: manifest.position }
        const name = `journal/${String(page).padStart(9, "0")}`
        yield* Effect.promise(() => part(name, [Buffer.from(JSON.stringify(events))]))
        after = last.position
      }
    })
  )

/**
 * Throws a StartupError unless folder and database are empty. A move may keep the folder, `own_folder`, as long as no
 * SQLite database is there.
 */
export const refuseFilled = async (
  { data_folder, database }: { readonly data_folder: string; readonly database: BackedUpDatabase },
  own_folder?: string
): Promise<void> => {
  const held = existsSync(data_folder) ? readdirSync(data_folder) : []
  if (data_folder !== own_folder && held.length > 0)
    throw new StartupError(`The folder ${data_folder} is not empty: nothing was restored. Give another one.`)
  if (database.kind === "sqlite") {
    if (!existsSync(database.path)) return
    throw new StartupError(`There is a database at ${database.path}: nothing was restored. Move it away first.`)
  }
  const tables = "select 1 from information_schema.tables where table_schema = current_schema() limit 1"
  if ((await onDatabase(database, Store.run(tables))).length > 0)
    throw new StartupError("The Postgres database is not empty: nothing was restored. Name another one.")
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
const held = (made_at: string): Effect.Effect<string | undefined, Failure, Store> =>
  Store.transaction(
    Effect.gen(function* () {
      for (const statement of heldSql(made_at)) yield* Store.run(statement)
      const [row] = yield* Store.run<{ readonly mark: string }>("select mark from file_stores where id = 1")
      return row?.mark
    })
  )

type Content = (part: Part) => Generator<Uint8Array>
/**
 * Restores the database from its parts; returns the mark of its file store, if it has one. `files`: the content
 * restored before.
 */
export const restoreDatabase = async (
  place: {
    readonly database: BackedUpDatabase
    readonly data_folder: string
    readonly catalogue: () => Promise<Catalogue>
  },
  { first, kept, pages }: ReturnType<typeof databaseParts>,
  { holds, made_at }: About,
  content: Content,
  files: ReadonlyArray<StoredBlob>
): Promise<string | undefined> => {
  const { data_folder, database } = place
  if (holds === "journal") {
    const catalogue = await place.catalogue()
    // SQLite would make a file that others can read.
    if (database.kind === "sqlite") await (await open(database.path, "wx", 0o600)).close()
    const around: KeptRows = kept === undefined ? { mark: undefined, rows: {} } : parsed(content(kept))
    await onDatabase(database, journalRestored(catalogue, parsed(content(first)), pages, content, files, around.rows))
    return around.mark
  }
  const path = database.kind === "sqlite" ? database.path : join(data_folder, "restored.dump")
  const handle = await open(path, "wx", 0o600)
  try {
    for (const bytes of content(first)) await handle.write(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (database.kind === "sqlite") {
    const db = new DatabaseSync(path)
    try {
      const [result] = db.prepare("pragma integrity_check").all()
      if (result?.["integrity_check"] !== "ok") throw new StartupError("The database of this backup is damaged.")
    } finally {
      db.close()
    }
  } else
    try {
      const args = ["--no-owner", "--no-privileges", "--exit-on-error", path]
      await pgRestore(args, { url: database.url })
    } finally {
      rmSync(path)
    }
  return onDatabase(database, held(made_at))
}

/** Brings an exported journal into an empty database of either engine, with the manifest's rows, ids and numbers. */
const journalRestored = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  manifest: Manifest,
  pages: ReadonlyArray<Part>,
  content: Content,
  files: ReadonlyArray<StoredBlob>,
  kept_rows: KeptRows["rows"]
) {
  yield* ensureSchema(catalogue, "server")
  const now = instantOf(yield* Clock.currentTimeMillis)
  yield* Store.transaction(
    Effect.gen(function* () {
      yield* withoutTimeouts
      for (const page of pages) {
        const events: ReadonlyArray<RowOf<typeof restored_events>> = parsed(content(page))
        yield* Store.apply(events.map((event) => insert(restored_events, event)))
      }
      yield* applyRestore(catalogue, manifestOf({ manifest }), now)
      const kept = { state: "kept", stored_at: now, unreferenced_since: now } as const
      yield* Store.apply(files.map((blob) => insert(blobs, { ...blob, ...kept })))
      for (const table of kept_tables)
        yield* Store.apply((kept_rows[table.name] ?? []).map((row) => insert(table, row)))
      yield* bringFiles(catalogue, true)
    })
  )
})
const parsed = (content: Iterable<Uint8Array>) => JSON.parse(Buffer.concat([...content]).toString("utf8"))

/** Counts and digest of a database's journal, tables, ids and numbers: equal on both engines. */
const contentOf = (whole: Catalogue, database: BackedUpDatabase) =>
  onDatabase(
    database,
    Store.transaction(
      Effect.gen(function* () {
        const store = yield* Store
        if (store.dialect === "pg") yield* store.run("set transaction isolation level repeatable read read only")
        yield* withoutTimeouts
        const { events, ids, numbers, position, tables } = yield* ownManifest(whole)
        const hash = createHash("sha256").update(canonicalJson({ ids, numbers, position }))
        for (const { checksum, name, rows } of tables) hash.update(`\n${name} ${rows} ${checksum}`)
        for (let after = 0; ;) {
          const page = yield* eventsAfter(store, after, events_per_page)
          const last = page.at(-1)
          if (last === undefined) break
          for (const event of page) hash.update(`\n${canonicalJson({ ...event })}`)
          after = last.position
        }
        const rows = tables.reduce((sum, table) => sum + table.rows, 0)
        return { events, position, tables: tables.length, rows, digest: hash.digest("hex") }
      })
    )
  )

/**
 * Counts and digest of a copied database. Throws a StartupError if it differs from its source, or the source has
 * recorded something since.
 */
export const compared = async (whole: Catalogue, from: BackedUpDatabase, to: BackedUpDatabase) => {
  const copy = await contentOf(whole, to)
  const source = await contentOf(whole, from)
  if (source.position !== copy.position)
    throw new StartupError(
      `${source.position - copy.position} events were recorded meanwhile and are not in the copy: stop the server, ` +
        "and move into another empty place."
    )
  if (source.digest !== copy.digest) throw new StartupError("The copy differs from its source: do not use it.")
  return copy
}
