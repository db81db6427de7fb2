/**
 * Imports: their tables, manifests and checksums, and the files of a business, which its owner downloads one by one,
 * and uploads before the import is finished.
 */
import { Effect, Schema } from "effect"
import { canonicalJson, CommandRuntime, created, get, id, integer, invalid } from "../../../core/kernel/index.ts"
import { invalidField, journal, json, lastPosition, notFound, ok, plainTable } from "../../../core/kernel/index.ts"
import { keyOf, postQuery, quote, Shown, Store, text, timestamp, type Viewer } from "../../../core/kernel/index.ts"
import type { Catalogue, Failure, JsonObject, Key, Rejection, RowOf, Table } from "../../../core/kernel/index.ts"
import { createHash } from "node:crypto"
import {
  advanceIdSequence,
  ensureSequences,
  hasOwnIds,
  nextIds,
  number_sequences
} from "../../../core/kernel/runtime/ids.ts"
import { beginEpoch, projectJournal, schema_version } from "../../../core/kernel/runtime/schema.ts"
import { rowsAfter } from "../../../core/kernel/store/scan.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { owner_user_id } from "../../ports/server-context.ts"
import { isSha256 } from "../../ports/blob-store.ts"
import { blobs } from "../../files/downloads.ts"
import { answerOfFile, file_headers, fileTables, isCurrent } from "../../files/serve.ts"

// Tables of a journal being imported: separate from the journal, on the server only, until it is complete.

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

export const restores = plainTable(
  "restores",
  "id",
  {
    id: id(),
    /** The export's manifest: {@link Manifest}, read by {@link manifestOf}. */
    manifest: json<Manifest>(),
    started_by: integer(),
    started_at: timestamp(),
    finished_at: timestamp({ nullable: true })
  },
  { entity: "restore" }
)
export type RestoreRow = RowOf<typeof restores>

export const restored_events = plainTable(
  "restored_events",
  "position",
  {
    position: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    stream: text(),
    version: count,
    type: text(),
    data: json<JsonObject>(),
    command_id: text(),
    actor_id: integer({ nullable: true }),
    replica_id: integer({ nullable: true }),
    recorded_at: timestamp()
  },
  { entity: "restored_event" }
)

const makeManifestSchema = () => {
  const counters = Schema.Record(Schema.String, Schema.Int)
  return Schema.Struct({
    /** Last position in the journal. */
    position: Schema.Int,
    /** Number of events in the journal; imports are complete with that many. */
    events: Schema.Int,
    schema_version: Schema.Int,
    tables: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        rows: Schema.Int,
        /** SHA-256 in hex over the rows in key order. */
        checksum: Schema.String,
        /** Columns covered by the checksum, as later releases may have more; absent in exports of earlier releases. */
        columns: Schema.optionalKey(Schema.Array(Schema.String))
      })
    ),
    /** Next id of each table, as ids are never reused. */
    ids: counters,
    /** Next number of each document sequence. */
    numbers: counters
  })
}
/** Position and size of a journal, checksums of the tables projected from it, and counters. */
export type Manifest = ReturnType<typeof makeManifestSchema>["Type"]
type TableChecksum = Manifest["tables"][number]

let decodeManifest: ((stored: unknown) => Manifest) | undefined
/** The stored manifest of an import. Throws if the row is damaged. */
export const manifestOf = ({ manifest }: Pick<RestoreRow, "manifest">): Manifest =>
  (decodeManifest ??= Schema.decodeUnknownSync(makeManifestSchema()))(manifest)

// Checksums of this server's tables and its counters: exports contain them, and imports are compared with them.

/** Checksum over a table's rows in key order, as canonical JSON: equal on both engines. Holds one page in memory. */
const checksumOf = Effect.fnUntraced(function* (
  table: Table,
  names: ReadonlyArray<string>
): Store.Reads<TableChecksum> {
  const hash = createHash("sha256")
  let rows = 0
  for (let after: Key | undefined; ;) {
    const page = yield* rowsAfter(table, after)
    const last = page.at(-1)
    if (last === undefined) return { name: table.name, rows, checksum: hash.digest("hex"), columns: names }
    for (const row of page) hash.update(`${canonicalJson(names.map((name) => row[name] ?? null))}\n`)
    rows += page.length
    after = keyOf(table, last)
  }
})
const columnsOf = (table: Table): ReadonlyArray<string> => Object.keys(table.columns).sort()

/** Columns added by releases whose exports did not name the columns of their checksums. */
export const changed_meanwhile: { readonly [table: string]: ReadonlyArray<string> } = {
  custom_fields: ["is_personal"],
  opportunity_items: ["first_made_at"],
  opportunities: ["kept_rule_ids"]
}
/** Checksums over the columns of an export, which may be of an earlier release with fewer columns. */
const checksumsAsExported = (
  catalogue: Catalogue,
  exported: ReadonlyMap<string, TableChecksum>
): Effect.Effect<ReadonlyArray<TableChecksum>, Failure, Store> =>
  Effect.forEach(catalogue.tables, (table) =>
    checksumOf(
      table,
      exported.get(table.name)?.columns ??
        columnsOf(table).filter((name) => changed_meanwhile[table.name]?.includes(name) !== true)
    )
  )

/** Manifest of this server. Must run in one transaction, so that all of it is of one position. */
export const ownManifest = Effect.fnUntraced(function* (catalogue: Catalogue): Store.Reads<Manifest> {
  const store = yield* Store
  const position = yield* lastPosition(store)
  const [{ events } = { events: 0 }] = yield* store.run<{ events: number }>("select count(*) as events from journal")
  const numbers = yield* store.find(number_sequences, {})
  return {
    position,
    events: Number(events),
    schema_version,
    tables: yield* Effect.forEach(catalogue.tables, (table) => checksumOf(table, columnsOf(table))),
    ids: Object.fromEntries(yield* nextIds(catalogue.tables.filter(hasOwnIds))),
    numbers: Object.fromEntries(numbers.map(({ name, next }) => [name, next]))
  }
})

// Fills an empty server from an imported journal. Runs in the caller's transaction: a failure leaves the server as it
// was.

/**
 * Replaces the journal with the imported one, projects every table from it and sets counters to the export's. Fails
 * with 422 if events are missing, tables differ from the export's checksums (the error names each), or there is no
 * owner. Cost: one projection of the journal and one pass over all rows.
 */
export const applyRestore = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  manifest: Manifest,
  now: string
): Store.Reads<void> {
  const store = yield* Store
  const [staged = { events: 0, top: 0 }] = yield* store.run<{ events: number; top: number | null }>(
    "select count(*) as events, max(position) as top from restored_events"
  )
  if (Number(staged.events) !== manifest.events)
    return yield* invalidField(
      "events",
      `${Number(staged.events)} of ${manifest.events} events have come; send the rest first.`
    )
  if (Number(staged.top ?? 0) > manifest.position)
    return yield* invalidField("position", "There are events beyond the last position the export names.")
  const columns = Object.keys(journal.columns).map(quote).join(", ")
  yield* store.run("delete from journal")
  yield* store.run(`insert into journal (${columns}) select ${columns} from restored_events order by position`)
  yield* store.sql`update journal_head set position = ${manifest.position} where id = 1`
  for (const table of catalogue.tables) yield* store.run(`delete from ${quote(table.name)}`)
  yield* projectJournal(catalogue)
  const expected = new Map(manifest.tables.map((table) => [table.name, table]))
  const differing = (yield* checksumsAsExported(catalogue, expected)).filter(({ name, rows, checksum }) => {
    const other = expected.get(name)
    return other === undefined ? rows > 0 : other.checksum !== checksum
  })
  if (differing.length > 0) {
    return yield* invalid(
      Object.fromEntries(
        differing.map(({ name, rows }) => [
          `tables.${name}`,
          [
            `The journal comes to ${rows} other rows of ${name} than the export told (${expected.get(name)?.rows ?? 0}); the export is damaged or of another release.`
          ]
        ])
      )
    )
  }
  if ((yield* store.get(users, owner_user_id))?.is_owner !== true)
    return yield* invalidField("events", "The journal knows no owner; this is no export of a whole server.")
  yield* ensureSequences(catalogue.tables)
  for (const table of catalogue.tables.filter(hasOwnIds)) {
    const next = manifest.ids[table.name]
    if (next !== undefined) yield* advanceIdSequence(table.name, next)
  }
  for (const [name, next] of Object.entries(manifest.numbers)) {
    yield* store.sql`
      insert into number_sequences (name, next) values (${name}, ${next}) on conflict (name) do update
      set next = excluded.next`
  }
  yield* store.run("delete from restored_events")
  // A new epoch: devices that followed the empty journal sync again from the start.
  yield* beginEpoch(store, now)
})

const per_page_max = 1_000
/** Larger than any upload limit, as documents created on the server may be larger than uploads. */
const file_bytes_max = 4 * 1_024 ** 3

/** SQL subquery of the hashes that rows of the journal's tables reference; undefined without such tables. */
const namedFiles = (catalogue: Catalogue): string | undefined => {
  const parts = fileTables({ tables: catalogue.tables, server_tables: [] }).map(
    ({ table, file }) =>
      `select distinct ${quote(file.sha256)} as sha256 from ${quote(table.name)} where ${isCurrent(table)} and ${quote(file.sha256)} is not null`
  )
  return parts.length === 0 ? undefined : `(${parts.join(" union ")}) named`
}

interface Draft {
  readonly ability: string
  readonly permission: null
  readonly metering_weight: number
  readonly server_only: true
}
type OwnerOnly = (input: { readonly viewer: Viewer }) => Effect.Effect<void, Rejection>
export const fileEndpoints = (owned: Draft, ownerOnly: OwnerOnly) => [
  listFiles(owned, ownerOnly),
  takeFile(owned, ownerOnly),
  bringFile(owned, ownerOnly)
]

const listFiles = (owned: Draft, ownerOnly: OwnerOnly) =>
  get("/api/v1/system/files", {
    answer: {
      files: Shown.objects({ sha256: text(), size_bytes: integer({ nullable: true }) }),
      meta: Shown.keys({ after: text() })
    },
    name: "system.files",
    summary: "List all referenced files by hash, for the owner's export",
    ...owned,
    fields: {
      after: text({ default: "", max: 64, describe: "Cursor: meta.after of the previous page" }),
      limit: integer({ default: per_page_max, min: 1, max: per_page_max, describe: "Rows per page" })
    },
    run: Effect.fnUntraced(function* ({ viewer, values }) {
      yield* ownerOnly({ viewer })
      const { sql } = yield* Store
      const named = namedFiles((yield* CommandRuntime).catalogue)
      if (named === undefined) return ok({ files: [], meta: { after: "" } })
      const rows = yield* sql<{ sha256: string; size_bytes: number | string | null }>`
          select named.sha256, blobs.size_bytes from ${sql.literal(named)} left
          join blobs on blobs.sha256 = named.sha256 and blobs.state = 'kept'
          where named.sha256 > ${values.after ?? ""} order by named.sha256 limit ${values.limit ?? per_page_max}`
      const files = rows.map(({ sha256, size_bytes }) => ({
        sha256,
        size_bytes: size_bytes === null ? null : Number(size_bytes)
      }))
      return ok({ files, meta: { after: files.at(-1)?.sha256 ?? "" } })
    })
  })

const takeFile = (owned: Draft, ownerOnly: OwnerOnly) =>
  get("/api/v1/system/files/{sha256}", {
    name: "system.file",
    summary: "Download a file's content, for the owner's export",
    ...owned,
    produces: "application/octet-stream",
    error_answers: { 404: null, 410: null },
    answer_headers: file_headers,
    run: Effect.fnUntraced(function* ({ params, viewer }) {
      yield* ownerOnly({ viewer })
      const sha256 = params["sha256"] ?? ""
      const row = isSha256(sha256) ? yield* Store.get(blobs, sha256) : undefined
      if (row === undefined || row.state !== "kept") return yield* notFound("There is no such file.")
      // The bytes as stored, whatever their type.
      return yield* answerOfFile({ ...row, mime_type: "application/octet-stream", name: sha256 })
    })
  })

const bringFile = (owned: Draft, ownerOnly: OwnerOnly) =>
  postQuery("/api/v1/system/restores/{id}/files", {
    answer: { file: Shown.keys({ sha256: text(), size_bytes: integer() }) },
    name: "system.restore_file",
    summary: "Upload a file for the restore in progress",
    ...owned,
    success_status: 201,
    authorize: ownerOnly,
    uploads: true,
    upload_bytes_max: file_bytes_max,
    params: { id: { table: restores } },
    fields: { sha256: text({ required: true, max: 64, describe: "Expected SHA-256 of the content" }) },
    run: Effect.fnUntraced(function* ({ files, values }) {
      const file = files?.["file"]
      if (file === undefined) return yield* invalidField("file", "Send the file in a form, as the field file.")
      if (file.sha256 !== values.sha256)
        return yield* invalidField("file", `The content comes to ${file.sha256}, not to the hash it was sent under.`)
      return created({ file: { sha256: file.sha256, size_bytes: file.size_bytes } })
    })
  })

/**
 * Marks all files that an import's rows reference as in use, in its transaction. Fails with 422 if some are missing,
 * unless `accept_missing`.
 */
export const bringFiles = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  accept_missing: boolean
): Store.Reads<void> {
  const named = namedFiles(catalogue)
  if (named === undefined) return
  yield* Store.run(
    `update blobs set unreferenced_since = null where state = 'kept' and sha256 in (select named.sha256 from ${named})`
  )
  if (accept_missing) return
  const [lacking] = yield* Store.run<{ files: number | string; example: string | null }>(
    `select count(*) as files, min(named.sha256) as example from ${named} where not exists (select 1 from blobs where blobs.sha256 = named.sha256 and blobs.state = 'kept')`
  )
  if (lacking !== undefined && Number(lacking.files) > 0)
    return yield* invalidField(
      "files",
      `${Number(lacking.files)} files that the journal names have not come, such as ${lacking.example}; send them first, or accept that they are missing (accept_missing_files).`
    )
})
