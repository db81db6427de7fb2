/**
 * The journal: every event, in commit order. Positions come from one counter row, which is updated last in a
 * transaction, so that readers who follow positions miss nothing.
 */
import { Context, Effect, Schema } from "effect"
import {
  type EventType,
  eventType,
  type NewEvent,
  type Scrub,
  type Scrubs,
  scrubsOf,
  type StoredEvent
} from "./event-type.ts"
import { redactedValue } from "../tables/visibility.ts"
import { jsonObject, type Stored } from "../tables/field-schema.ts"
import { type Key, plainTable, type RowChange, type Table, update } from "../tables/table.ts"
import { itemAt } from "../../values/text.ts"
import { integer, isJsonObject, type Json, json, type JsonObject, sameJson } from "../fields/field.ts"
import { text, timestamp } from "../fields/field.ts"
import { type Bindings, bindings, chunked } from "../store/statement.ts"
import { Store, type StoreRead, type StoreShape } from "../store/store.ts"
import type { SqlError } from "effect/sql"

// An event as redacted for a reader: the changes visible to them, column by column. It replaces the event in their
// journal, at its position, and is projected like any other.

export const redacted_event = "rows.told"

const rowsToldSchema = () => {
  const key = Schema.Union([Schema.Finite, Schema.String])
  const value = Schema.Union([
    Schema.String,
    Schema.Finite,
    Schema.Boolean,
    Schema.Null,
    Schema.Array(Schema.Union([Schema.String, Schema.Finite]))
  ])
  const where = Schema.Record(Schema.String, value)
  const table = Schema.String
  return Schema.Struct({
    of: Schema.String,
    changes: Schema.Array(
      Schema.Union([
        Schema.Struct({ op: Schema.Literal("insert"), table, row: jsonObject }),
        Schema.Struct({ op: Schema.Literal("update"), table, key, set: jsonObject }),
        Schema.Struct({ op: Schema.Literal("delete"), table, key }),
        Schema.Struct({ op: Schema.Literal("update_where"), table, where, set: jsonObject }),
        Schema.Struct({ op: Schema.Literal("delete_where"), table, where })
      ])
    ),
    scrub: Schema.optionalKey(
      Schema.Struct({
        streams: Schema.Array(Schema.String),
        placeholders: jsonObject,
        kept: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
      })
    )
  })
}
/** `of`: the original type, for the activity log. `scrub`: personal data it removes from earlier events. */
type RedactedEvent = ReturnType<typeof rowsToldSchema>["Type"]
export const redactedEventData = (
  of: string,
  changes: ReadonlyArray<RowChange>,
  scrub: Scrub | undefined
): JsonObject => ({
  of,
  changes: changes.map(({ table, ...rest }): Json => ({ ...rest, table: table.name })),
  ...(scrub === undefined
    ? {}
    : {
        scrub: {
          streams: scrub.streams,
          placeholders: scrub.placeholders,
          ...(scrub.kept === undefined ? {} : { kept: scrub.kept })
        }
      })
})
/** Changes of tables that this release does not know are ignored; those rows come with the upgrade. */
export const rowsToldEvent = (tableOf: (name: string) => Table | undefined): EventType<RedactedEvent> =>
  eventType(redacted_event, {
    meaning: "An event the reader may see only in part: its changes to the rows and columns they may see.",
    data: (): Stored<RedactedEvent> => rowsToldSchema(),
    stream: () => "",
    project: ({ changes }) =>
      changes.flatMap((told): ReadonlyArray<RowChange> => {
        const table = tableOf(told.table)
        return table === undefined ? [] : [{ ...told, table }]
      }),
    scrub: (data) => data.scrub
  })

/** Whether a column of a redacted row holds only the placeholder for a reader who may not see it. */
type IsWithheld = (table: string, column: string, key: Key, value: Json) => boolean
export const isWithheldIn =
  (tables: ReadonlyArray<Table>): IsWithheld =>
  (name, column, key, value) => {
    const table = tables.find((one) => one.name === name)
    return table !== undefined && column in table.columns && sameJson(redactedValue(table, column, key), value)
  }
const nothingWithheld: IsWithheld = () => false

/**
 * Applies a scrub to the event's data, or to the row changes of a redacted event; returns the same data if it removes
 * nothing. Values withheld from the reader stay as they are, as in the rows.
 */
export const scrubbed = (
  data: JsonObject,
  scrub: Pick<Scrub, "placeholders" | "kept">,
  isWithheld: IsWithheld = nothingWithheld
): JsonObject => {
  const own = withPlaceholders(data, scrub)
  const changes = data["changes"]
  if (!Array.isArray(changes)) return own
  const next = changes.map((change: JsonObject) => {
    const part = "row" in change ? "row" : "set"
    const values = change[part]
    if (!isJsonObject(values)) return change
    const key = (change["key"] ?? values["id"]) as Key
    const hidden = withPlaceholders(values, scrub, (column, value) =>
      isWithheld(String(change["table"]), column, key, value)
    )
    return hidden === values ? change : { ...change, [part]: hidden }
  })
  return next.every((change, at) => change === changes[at]) ? own : { ...own, changes: next }
}
const withPlaceholders = (
  values: JsonObject,
  { kept = {}, placeholders }: Pick<Scrub, "placeholders" | "kept">,
  stays: (column: string, value: Json) => boolean = () => false
): JsonObject => {
  const hidden = Object.entries(placeholders).filter(([key, placeholder]) => {
    const value = values[key] ?? null
    return value !== null && !sameJson(value, placeholder) && !stays(key, value)
  })
  const cut = Object.entries(kept).flatMap(([name, keys]): ReadonlyArray<readonly [string, Json]> => {
    const document = values[name]
    if (!isJsonObject(document)) return []
    const left = Object.entries(document).filter(([key]) => keys.includes(key))
    return left.length === Object.keys(document).length ? [] : [[name, Object.fromEntries(left)]]
  })
  return hidden.length + cut.length === 0 ? values : { ...values, ...Object.fromEntries([...hidden, ...cut]) }
}

const position = integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
export const journal = plainTable(
  "journal",
  "position",
  {
    position,
    stream: text(),
    version: integer(),
    type: text(),
    data: json<JsonObject>(),
    command_id: text(),
    actor_id: integer({ nullable: true }),
    replica_id: integer({ nullable: true }),
    recorded_at: timestamp()
  },
  {
    uniques: [
      { columns: ["stream", "version"], field: "base", message: "Somebody else changed this just now; try again." }
    ],
    indexes: [["recorded_at"], ["type", "position"], ["actor_id", "position"]],
    // Only commands of devices, and seeds, are looked for.
    partial_indexes: [{ columns: ["command_id"], where: "replica_id is not null or command_id like 'seed%'" }],
    entity: "event"
  }
)
export const journal_head = plainTable("journal_head", "id", {
  id: integer(),
  position: integer({ max: Number.MAX_SAFE_INTEGER })
})
export const journal_tables = [journal, journal_head]

export interface EventMetadata {
  readonly command_id: string
  readonly actor_id: number | null
  readonly replica_id: number | null
  readonly recorded_at: string
  /** Streams without events, of rows whose ids this command allocated, with their version 0. */
  readonly newStreams?: () => Map<string, number>
}

/**
 * Notification that the commit of these events sends (Postgres): it reaches others with the events, and needs no
 * statement or flush of its own.
 */
export const CommitNotice = Context.Reference<
  ((events: ReadonlyArray<NewEvent>) => { readonly channel: string; readonly payload: string }) | undefined
>("flightcase/core/CommitNotice", { defaultValue: () => undefined })
/** SQL of the notification, to follow the columns that a statement returns; empty without one. */
const noticeOf = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, bind: Bindings["bind"]) {
  const notice = (yield* CommitNotice)?.(events)
  return notice === undefined ? "" : `, pg_notify(${bind(notice.channel)}, ${bind(notice.payload)})`
})

/** Appends projected events, and scrubs the personal data they remove from earlier events. */
export const appendAndScrub = Effect.fnUntraced(function* (
  scrubs: Scrubs,
  events: ReadonlyArray<NewEvent>,
  metadata: EventMetadata,
  is_last = false
) {
  const store: StoreShape = yield* Store
  if (events.length === 0) return []
  if (is_last && isOneStatement(store, events) && scrubsOf(scrubs, events).length === 0)
    return yield* appendInOneStatement(store, events, metadata, { run: store.runLast })
  const stored = yield* append(store, events, metadata)
  yield* scrubEarlierEvents(store, scrubs, stored)
  return stored
})

/**
 * Removes the data that these events scrub from earlier events. Called wherever events are written to a journal; a
 * replica passes `isWithheld` for values it holds as placeholders.
 */
export const scrubEarlierEvents = Effect.fnUntraced(function* (
  store: StoreShape,
  scrubs: Scrubs,
  events: ReadonlyArray<StoredEvent>,
  isWithheld?: IsWithheld
) {
  for (const event of events) {
    const asked = scrubs[event.type]?.(event.data)
    if (asked !== undefined) yield* scrub(store, asked, event.position, isWithheld)
  }
})

/** Removes a scrub's data from the events of its streams, below a position. Nulls stay. */
const scrub = Effect.fnUntraced(function* (store: StoreShape, asked: Scrub, below: number, isWithheld?: IsWithheld) {
  const events = yield* store.find(journal, { stream: [...asked.streams] })
  const changes = events
    .filter((event) => event.position < below)
    .flatMap((event) => {
      const data = scrubbed(event.data, asked, isWithheld)
      return data === event.data ? [] : [update(journal, event.position, { data })]
    })
  yield* store.apply(changes)
})

/**
 * Appends events whose effects are already in the tables. Positions are taken last: on Postgres, taking one blocks all
 * other writers until the commit.
 */
export const append = (
  store: StoreShape,
  events: ReadonlyArray<NewEvent>,
  metadata: EventMetadata
): Effect.Effect<ReadonlyArray<StoredEvent>, SqlError.SqlError> =>
  isOneStatement(store, events) ? appendInOneStatement(store, events, metadata) : appendInSteps(store, events, metadata)
/** Whether to append in one statement: not on SQLite, which makes a temporary table for rows that a write returns. */
const isOneStatement = ({ dialect }: StoreShape, { length }: ReadonlyArray<NewEvent>): boolean =>
  dialect === "pg" && length <= one_statement_max

/**
 * Appends events of a device's command after all others of its journal, from `base` on; positions of the server's
 * journal are below it.
 */
export const appendProvisional = (
  events: ReadonlyArray<NewEvent>,
  metadata: EventMetadata,
  base: number
): StoreRead<ReadonlyArray<StoredEvent>> =>
  Effect.flatMap(Store, (store) =>
    Effect.map(
      Effect.forEach(chunked(events, one_statement_max), (some) =>
        appendInOneStatement(store, some, metadata, {
          last: `(select max(${base}, coalesce(max(position), 0)) from journal)`
        })
      ),
      (parts) => parts.flat()
    )
  )

const one_statement_max = 16
/**
 * Inserts events with their versions in one statement, after the position `last`. Without it (Postgres only), it also
 * advances the head.
 */
const appendInOneStatement = Effect.fnUntraced(function* (
  store: StoreShape,
  events: ReadonlyArray<NewEvent>,
  { command_id, actor_id, replica_id, recorded_at }: EventMetadata,
  { last, run = store.run }: { readonly last?: string; readonly run?: StoreShape["run"] } = {}
) {
  const { values, bind } = bindings(store.dialect)
  const is_pg = store.dialect === "pg"
  const typed = (value: unknown, type: string): string => (is_pg ? `${bind(value)}::${type}` : bind(value))
  const given = events.map(({ stream, type, data }, index) => {
    const nth = 1 + events.slice(0, index).filter((before) => before.stream === stream).length
    return `(${index + 1}, ${nth}, ${typed(stream, "text")}, ${typed(type, "text")}, ${typed(JSON.stringify(data), "jsonb")})`
  })
  const count = events.length
  const advanced = () =>
    `head as (update journal_head set position = position + ${bind(count)} where id = 1 returning position), `
  const head = last === undefined ? advanced() : ""
  const before = last ?? `head.position - ${count}`
  const by = `${typed(command_id, "text")}, ${typed(actor_id, "bigint")}, ${typed(replica_id, "bigint")}`
  const version = "(select max(version) from journal before where before.stream = given.stream)"
  const rows = yield* run<{ position: number; version: number }>(
    `with ${head}given (ord, nth, stream, type, data) as (values ${given.join(", ")}) ` +
      `insert into journal (position, stream, version, type, data, command_id, actor_id, replica_id, recorded_at) ` +
      `select ${before} + given.ord, given.stream, coalesce(${version}, 0) + given.nth, given.type, given.data, ` +
      `${by}, ${typed(recorded_at, "timestamptz")} ` +
      `from ${head === "" ? "" : "head, "}given returning position, version${is_pg ? yield* noticeOf(events, bind) : ""}`,
    values
  )
  const placed = [...rows].sort((a, b) => a.position - b.position)
  return events.map((event, index): StoredEvent => ({
    ...event,
    command_id,
    actor_id,
    replica_id,
    recorded_at,
    position: itemAt(placed, index).position,
    version: itemAt(placed, index).version
  }))
})
/** Takes the next positions and adds the current versions of streams; returns the position before them. */
const advanceHead = Effect.fnUntraced(function* (
  store: StoreShape,
  events: ReadonlyArray<NewEvent>,
  versions: Map<string, number>
) {
  const { bind, values } = bindings(store.dialect)
  const is_pg = store.dialect === "pg"
  const more = bind(events.length)
  const unknown = [...new Set(events.map(({ stream }) => stream))].filter((stream) => !versions.has(stream))
  // One index look-up per stream, whatever its length.
  const version = "(select max(version) from journal where journal.stream = given.value)"
  const streams = (): string => bind(JSON.stringify(unknown))
  const found_sql =
    unknown.length === 0
      ? "null"
      : is_pg
        ? `json_object_agg(value, ${version})::text from json_array_elements_text(${streams()}::json) as given (value)`
        : `json_group_object(value, ${version}) from json_each(${streams()}) as given`
  const heads = yield* store.run<{ position: number; found: string | null }>(
    `update journal_head set position = position + ${more} where id = 1 ` +
      `returning position, (select ${found_sql}) as found${is_pg ? yield* noticeOf(events, bind) : ""}`,
    values
  )
  const head = itemAt(heads, 0)
  const found: unknown = JSON.parse(head.found ?? "{}")
  if (isJsonObject(found)) for (const [stream, last] of Object.entries(found)) versions.set(stream, Number(last ?? 0))
  return Number(head.position) - events.length
})
const appendInSteps = Effect.fnUntraced(function* (
  store: StoreShape,
  events: ReadonlyArray<NewEvent>,
  metadata: EventMetadata
) {
  const versions = metadata.newStreams?.() ?? new Map<string, number>()
  const before = yield* advanceHead(store, events, versions)
  const { actor_id, command_id, recorded_at, replica_id } = metadata
  const stored = events.map(({ data, stream, type }, index): StoredEvent => {
    const version = (versions.get(stream) ?? 0) + 1
    versions.set(stream, version)
    const position = before + index + 1
    return { stream, type, data, command_id, actor_id, replica_id, recorded_at, position, version }
  })
  const rows = stored.map((one) => Object.values(one))
  yield* store.insertValues(journal, Object.keys(itemAt(stored, 0)), rows)
  return stored
})

/** The last assigned position; 0 for an empty journal. */
export const lastPosition = (store: StoreShape): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(store.get(journal_head, 1), (row) => row?.position ?? 0)

/** Events after a position, in order. */
export const eventsAfter = (
  store: StoreShape,
  after: number,
  limit: number
): Effect.Effect<ReadonlyArray<StoredEvent>, SqlError.SqlError> =>
  Effect.map(
    store.run(
      `select * from journal where position > ${store.dialect === "pg" ? "$1" : "?"} order by position limit ${limit}`,
      [after]
    ),
    (rows) => rows.map((row) => store.decode(journal, row))
  )
