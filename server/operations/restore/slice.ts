/**
 * Export and import of a complete business: its owner downloads the journal and uploads it, in repeatable pages, to an
 * empty server. The import takes effect in one transaction, if the projected tables match the export's checksums.
 */
import { Effect } from "effect"
import { boolean, CommandRuntime, created, decodeData, eventsAfter, get, integer } from "../../../core/kernel/index.ts"
import { invalidField, isJsonObject, json, lastPosition, list, object, ok } from "../../../core/kernel/index.ts"
import { postQuery, Rejection, retryOnConflict, Shown, Store, text, timestamp } from "../../../core/kernel/index.ts"
import type { AnyEventType, Catalogue, JsonObject, SharedDraft, StoredEvent } from "../../../core/kernel/index.ts"
import type { Viewer } from "../../../core/kernel/index.ts"
import { allocateId } from "../../../core/kernel/runtime/ids.ts"
import { schema_version, withoutTimeouts } from "../../../core/kernel/runtime/schema.ts"
import { serverContext } from "../../ports/server-context.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import type { Manifest, RestoreRow } from "./files.ts"
import { applyRestore, bringFiles, fileEndpoints, manifestOf, ownManifest, restored_events, restores } from "./files.ts"
import { storedEvent } from "../../../sync/protocol/snapshot.ts"

const events_per_page_max = 2_000
const page_bytes_max = 64 * 1_048_576

const owned = { ability: "*", permission: null, metering_weight: 0, server_only: true } as const satisfies SharedDraft
/** Fails with 403 for everybody but the owner, as all data of the business leaves or arrives. */
const ownerOnly = ({ viewer }: { readonly viewer: Viewer }): Effect.Effect<void, Rejection> =>
  viewer.is_owner
    ? Effect.void
    : Effect.fail(new Rejection({ kind: "forbidden", message: "Only the owner may take all data out or bring it in." }))

const checksum_fields = object({
  name: text({ required: true }),
  rows: integer({ required: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
  checksum: text({ required: true, max: 64 }),
  columns: list(text(), { max_items: 1_000 })
})
const event_fields = object({
  position: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER }),
  stream: text({ required: true, max: 200 }),
  version: integer({ required: true, min: 1, max: Number.MAX_SAFE_INTEGER }),
  type: text({ required: true, max: 200 }),
  data: json<JsonObject>({ required: true }),
  command_id: text({ required: true, max: 64 }),
  actor_id: integer({ nullable: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
  replica_id: integer({ nullable: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
  recorded_at: timestamp({ required: true })
})

/** Progress of an import, for responses. */
const progressOf = Effect.fnUntraced(function* (row: RestoreRow) {
  const manifest = manifestOf(row)
  const [{ events, position } = { events: 0, position: 0 }] =
    row.finished_at !== null
      ? [{ events: manifest.events, position: manifest.position }]
      : yield* Store.run<{ events: number; position: number | null }>(
          "select count(*) as events, max(position) as position from restored_events"
        )
  return {
    restore: {
      id: row.id,
      events: manifest.events,
      received: Number(events),
      received_to: Number(position ?? 0),
      started_at: row.started_at,
      finished_at: row.finished_at
    }
  }
})
const areCounters = (value: JsonObject | undefined): value is { readonly [name: string]: number } =>
  value !== undefined && Object.values(value).every((next) => Number.isSafeInteger(next) && Number(next) >= 0)

const progressShown = {
  restore: Shown.keys({
    id: integer(),
    events: integer(),
    received: integer(),
    received_to: integer(),
    started_at: timestamp(),
    finished_at: timestamp({ nullable: true })
  })
}
const begin = postQuery("/api/v1/system/restores", {
  answer: progressShown,
  error_answers: { 409: null },
  name: "system.begin_restore",
  summary: "Start restoring an exported journal into this empty server",
  ...owned,
  success_status: 201,
  body_max: page_bytes_max,
  authorize: ownerOnly,
  fields: {
    position: integer({ required: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
    events: integer({ required: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
    schema_version: integer({ required: true, min: 1 }),
    tables: list(checksum_fields, { required: true }),
    ids: json<JsonObject>({ form: "object", default: {} }),
    numbers: json<JsonObject>({ form: "object", default: {} })
  },
  run: ({ viewer, values, now }) =>
    Effect.gen(function* () {
      const { ids, numbers } = values
      if (values.schema_version > schema_version)
        return yield* invalidField(
          "schema_version",
          `The export is of a newer release (schema ${values.schema_version}); this server knows ${schema_version}. Bring the server up to date first.`
        )
      if (!areCounters(ids)) return yield* invalidField("ids", "The ids must be whole numbers by name.")
      if (!areCounters(numbers)) return yield* invalidField("numbers", "The numbers must be whole numbers by name.")
      const manifest: Manifest = {
        position: values.position,
        events: values.events,
        schema_version: values.schema_version,
        tables: values.tables,
        ids,
        numbers
      }
      return yield* Store.transaction(
        Effect.gen(function* () {
          yield* nothingHappened
          // Replaces an unfinished earlier import.
          yield* Store.run("delete from restored_events")
          yield* Store.run("delete from restores where finished_at is null")
          const id = yield* allocateId(restores.name)
          const row: RestoreRow = { id, manifest, started_by: viewer.user_id, started_at: now, finished_at: null }
          yield* Store.apply([{ op: "insert", table: restores, row }])
          return created(yield* progressOf(row))
        })
      )
    }).pipe(retryOnConflict)
})

type SentEvent = Pick<StoredEvent, "position" | "type"> & { readonly data: unknown }
/**
 * Returns 422 for the first event out of order, or whose data does not match its type and could not be projected.
 * Events of undeclared types are stored unchanged.
 */
const refusalOf = (events: ReadonlyArray<SentEvent>, catalogue: Catalogue): Rejection | undefined => {
  let before = 0
  for (const [at, { data, position, type }] of events.entries()) {
    if (!isJsonObject(data)) return invalidField(`events.${at}.data`, "What happened must be an object.")
    if (position <= before) return invalidField(`events.${at}.position`, "Events come in the order of their positions.")
    before = position
    const kind = catalogue.events.get(type)
    const problem = kind === undefined ? undefined : problemOf(kind, data)
    if (problem !== undefined) return invalidField(`events.${at}.data`, problem)
  }
  return undefined
}
const problemOf = (kind: AnyEventType, data: JsonObject): string | undefined => {
  try {
    decodeData(kind, data)
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

const receive = postQuery("/api/v1/system/restores/{id}/events", {
  answer: progressShown,
  name: "system.restore_events",
  summary: "Upload the journal's next events; those already received are skipped",
  ...owned,
  body_max: page_bytes_max,
  authorize: ownerOnly,
  params: { id: { table: restores } },
  fields: { events: list(event_fields, { required: true, min_items: 1, max_items: events_per_page_max }) },
  run: ({ rows, values }) =>
    Effect.gen(function* () {
      if (rows.id.finished_at !== null) return yield* invalidField("id", "This import is complete.")
      const events = values.events ?? []
      const refusal = refusalOf(events, (yield* CommandRuntime).catalogue)
      if (refusal !== undefined) return yield* refusal
      return yield* Store.transaction(
        Effect.gen(function* () {
          const { restore } = yield* progressOf(rows.id)
          const fresh = events.filter(({ position }) => position > restore.received_to)
          yield* Store.apply(
            fresh.map((event) => ({
              op: "insert" as const,
              table: restored_events,
              row: { ...event, actor_id: event.actor_id ?? null, replica_id: event.replica_id ?? null }
            }))
          )
          return ok(yield* progressOf(rows.id))
        })
      )
    }).pipe(retryOnConflict)
})

const finish = postQuery("/api/v1/system/restores/{id}/finish", {
  answer: progressShown,
  error_answers: { 409: null },
  name: "system.finish_restore",
  summary: "Finish the restore: rebuild the tables and compare them with the manifest",
  ...owned,
  params: { id: { table: restores } },
  fields: {
    accept_missing_files: boolean({ default: false, describe: "Restore even if referenced files are missing" })
  },
  run: ({ viewer, rows, now, values }) =>
    Effect.gen(function* () {
      yield* ownerOnly({ viewer })
      const { catalogue } = yield* CommandRuntime
      if (rows.id.finished_at !== null) return ok(yield* progressOf(rows.id))
      const finished = yield* Store.transaction(
        Effect.gen(function* () {
          yield* withoutTimeouts
          // Locks the journal: other writers wait, and their own check then finds these events.
          yield* Store.run("update journal_head set position = position where id = 1")
          yield* nothingHappened
          yield* applyRestore(catalogue, manifestOf(rows.id), now)
          yield* bringFiles(catalogue, values.accept_missing_files === true)
          yield* Store.apply([{ op: "update", table: restores, key: rows.id.id, set: { finished_at: now } }])
          return ok(yield* progressOf({ ...rows.id, finished_at: now }))
        })
      )
      const { journalReplaced } = yield* serverContext
      journalReplaced()
      return finished
    }).pipe(retryOnConflict)
})

/** Fails with 409 if more was recorded than reference data and the host of calendars' UIDs. */
const nothingHappened = Effect.gen(function* () {
  const written = yield* Store.run(
    "select position from journal where command_id <> 'seed' and command_id not like 'seed:%' " +
      "and not (type = 'settings.updated' and actor_id is null) limit 1"
  )
  if (written.length > 0)
    return yield* new Rejection({
      kind: "conflict",
      message: "This server has data already; an export can only be brought into an empty one."
    })
})

export const restoreSlice: ServerSlice = {
  name: "restore",
  server_tables: [restores, restored_events],
  endpoints: [
    get("/api/v1/system/journal", {
      answer: { events: Shown.list(storedEvent), meta: Shown.keys({ position: integer(), head: integer() }) },
      name: "system.journal",
      summary: "List all journal events in order, for the owner's export",
      ...owned,
      fields: {
        after: integer({
          default: 0,
          min: 0,
          max: Number.MAX_SAFE_INTEGER,
          describe: "Position of the last event read"
        }),
        limit: integer({ default: events_per_page_max, min: 1, max: events_per_page_max, describe: "Events per page" })
      },
      run: Effect.fnUntraced(function* ({ viewer, values }) {
        yield* ownerOnly({ viewer })
        const store = yield* Store
        const head = yield* lastPosition(store)
        const events = (yield* eventsAfter(store, values.after ?? 0, values.limit ?? events_per_page_max)).filter(
          ({ position }) => position <= head
        )
        return ok({ events: events, meta: { position: events.at(-1)?.position ?? head, head } })
      })
    }),
    get("/api/v1/system/manifest", {
      answer: {
        manifest: Shown.keys({
          position: integer(),
          events: integer(),
          schema_version: integer(),
          tables: Shown.objects({
            name: text(),
            rows: integer(),
            checksum: text(),
            columns: Shown.optional(list(text()))
          }),
          ids: Shown.map(integer()),
          numbers: Shown.map(integer())
        })
      },
      name: "system.manifest",
      summary: "Show the counts and checksums that an export is verified against",
      ...owned,
      run: Effect.fnUntraced(function* ({ viewer }) {
        yield* ownerOnly({ viewer })
        const { catalogue } = yield* CommandRuntime
        return ok({ manifest: yield* Store.transaction(Effect.andThen(withoutTimeouts, ownManifest(catalogue))) })
      })
    }),
    begin,
    get("/api/v1/system/restores/{id}", {
      answer: progressShown,
      name: "system.show_restore",
      summary: "Show the progress of a restore",
      ...owned,
      params: { id: { table: restores } },
      run: Effect.fnUntraced(function* ({ viewer, rows }) {
        yield* ownerOnly({ viewer })
        return ok(yield* progressOf(rows.id))
      })
    }),
    receive,
    finish,
    ...fileEndpoints(owned, ownerOnly)
  ]
}
