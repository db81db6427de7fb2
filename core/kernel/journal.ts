/**
 * The journal: every event, in the order transactions committed. One counter row gives positions and is updated last
 * in its transaction, so that a reader who follows positions misses nothing (sync.md 2).
 */
import { Effect } from "effect"
import { insert, update } from "./change.ts"
import { integer, json, text, timestamp } from "./field.ts"
import { foldEvent, type NewEvent, type Projection, type Scrub, type Scrubs, type StoredEvent } from "./event.ts"
import { type JsonObject, sameJson } from "./json.ts"
import { Store, type StoreShape } from "./store/store.ts"
import { plainTable } from "./table.ts"
import type { SqlError } from "effect/sql"

const position = integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
export const journal = plainTable("journal", "position", {
  position, stream: text(), version: integer(), type: text(), data: json<JsonObject>(), command_id: text(),
  actor_id: integer({ nullable: true }), replica_id: integer({ nullable: true }), recorded_at: timestamp()
}, {
  uniques: [{ columns: ["stream", "version"], field: "base", message: "Somebody else changed this just now; try again." }],
  indexes: [["command_id"], ["recorded_at"], ["type", "position"], ["actor_id", "position"]],
  entity: "event"
})
export const journal_head = plainTable("journal_head", "id", { id: integer(), position: integer({ max: Number.MAX_SAFE_INTEGER }) })
export const journal_tables = [journal, journal_head]

export interface Recording {
  readonly command_id: string
  readonly actor_id: number | null
  readonly replica_id: number | null
  readonly recorded_at: string
}

/** Versions the streams have reached; 0 for a new one. */
export const versionsOf = (store: StoreShape, streams: ReadonlyArray<string>): Effect.Effect<Map<string, number>, SqlError.SqlError> => {
  const distinct = [...new Set(streams)]
  const places = distinct.map((_, index) => store.dialect === "pg" ? `$${index + 1}` : "?").join(", ")
  return Effect.map(
    store.run<{ stream: string; version: number }>(
      `select stream, max(version) as version from journal where stream in (${places}) group by stream`, distinct),
    (rows) => new Map(rows.map((row) => [row.stream, Number(row.version)])))
}

/**
 * Folds events into the tables, then appends them: positions are taken last. Runs inside the caller's transaction.
 * Events that scrub take personal data out of the events before them.
 */
export const record = Effect.fnUntraced(function*(
  projection: Projection, events: ReadonlyArray<NewEvent>, recording: Recording, scrubs: Scrubs = {}
) {
  const store: StoreShape = yield* Store
  if (events.length === 0) return []
  yield* store.apply(events.flatMap((event) => foldEvent(projection, event, { ...recording, position: 0 })))
  const stored = yield* append(store, events, recording)
  yield* scrubBefore(store, scrubs, stored)
  return stored
})

/** Carries out what the events that scrub ask for. Whoever writes events into a journal calls this, a replica too. */
export const scrubBefore = Effect.fnUntraced(function*(store: StoreShape, scrubs: Scrubs, events: ReadonlyArray<StoredEvent>) {
  for (const event of events) {
    const asked = scrubs[event.type]?.(event.data as never)
    if (asked !== undefined) yield* scrub(store, asked, event.position)
  }
})

/** Puts placeholders over the values of the given keys in events of the given streams, below a position. Nulls stay. */
export const scrub = Effect.fnUntraced(function*(store: StoreShape, { streams, placeholders }: Scrub, below: number) {
  const events = yield* store.find(journal, { stream: [...streams] })
  const scrubbed = events.filter((event) => event.position < below).flatMap((event) => {
    const hidden = Object.entries(placeholders).filter(([key, placeholder]) =>
      (event.data[key] ?? null) !== null && !sameJson(event.data[key]!, placeholder))
    return hidden.length === 0 ? [] : [update(journal, event.position, { data: { ...event.data, ...Object.fromEntries(hidden) } })]
  })
  yield* store.apply(scrubbed)
})

/** Appends events whose effects are already in the tables. */
export const append = Effect.fnUntraced(function*(store: StoreShape, events: ReadonlyArray<NewEvent>, recording: Recording) {
  const versions = yield* versionsOf(store, events.map((event) => event.stream))
  const heads = yield* store.run<{ position: number }>(
    `update journal_head set position = position + ${store.dialect === "pg" ? "$1" : "?"} where id = 1 returning position`, [events.length])
  const before = Number(heads[0]!.position) - events.length
  const stored = events.map((event, index): StoredEvent => {
    const version = (versions.get(event.stream) ?? 0) + 1
    versions.set(event.stream, version)
    return { ...event, ...recording, version, position: before + index + 1 }
  })
  yield* store.apply(stored.map((row) => insert(journal, { ...row })))
  return stored
})

/** The last position given; 0 on an empty journal. */
export const headOf = (store: StoreShape): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(store.get(journal_head, 1), (row) => row?.position ?? 0)

/** Events after a position, in order. */
export const eventsAfter = (store: StoreShape, after: number, limit: number): Effect.Effect<ReadonlyArray<StoredEvent>, SqlError.SqlError> =>
  Effect.map(
    store.run(`select * from journal where position > ${store.dialect === "pg" ? "$1" : "?"} order by position limit ${limit}`, [after]),
    (rows) => rows.map((row) => store.decode(journal, row) as StoredEvent))
