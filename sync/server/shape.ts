/** The journal as a shape of Electric's protocol: events in order, redacted for the reader. */
import { firstOf, lastOf } from "../../core/values/text.ts"
import { choice, eventsAfter, integer, invalidField, journal, json, lastPosition } from "../../core/kernel/index.ts"
import { list, Shown, Store, text, timestamp, valueOf } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, Query, StoredEvent, StoreShape, Viewer } from "../../core/kernel/index.ts"
import { Context, Effect } from "effect"
import { epochOf } from "../../core/kernel/runtime/schema.ts"
import { reader_grants } from "./tables.ts"
import { redactionFor } from "../protocol/redaction.ts"

// Descriptions of sync responses and their headers. Devices decode the responses by Schemas of sync/protocol.

/** A signed bundle, whose recipient decodes the body by its kind. */
export const bundleShown = Shown.keys({
  flightcase_bundle: integer(),
  kind: text(),
  made_at: timestamp(),
  key: text(),
  body: json(),
  signature: text()
})

const control = Shown.keys({ headers: Shown.map(text()) })
/** Messages of Electric's shape protocol: journal rows as texts, and control messages. */
export const messagesShown = Shown.list(
  Shown.either(
    control,
    Shown.keys({
      key: text(),
      value: Shown.map(text({ nullable: true })),
      headers: Shown.keys({
        operation: choice({ insert: "Insert" }),
        relation: list(text()),
        lsn: text(),
        op_position: integer()
      })
    })
  )
)
export const mustRefetchShown = Shown.list(control)

export const private_says = {
  Vary: "Responses differ by caller",
  "Access-Control-Expose-Headers": "Allows browser scripts to read every header"
}
export const shape_says = {
  ...private_says,
  "Electric-Handle": "Id of the shape, as visible to the caller",
  "Electric-Offset": "Offset of the last message in this response",
  "Electric-Cursor": "Value to send back as cursor, so that live responses are not taken from a cache",
  "Electric-Schema": "Columns of the journal's rows",
  "Electric-Up-To-Date": "Present when the client is up to date"
}

// Cursors of readers: a handle identifies the journal and what the reader may see of it, an offset the last event read.

/** Version of a user's permissions, which only grows: A, B, A gives 1, 2, 3. */
const grantVersion = Effect.fnUntraced(function* (store: StoreShape, user_id: number, fingerprint: string) {
  const known = yield* store.get(reader_grants, user_id)
  if (known?.fingerprint === fingerprint) return known.version
  // Devices of a user may do this concurrently; one insert wins.
  const rows = yield* store.sql<{ version: number }>`
    insert into reader_grants (user_id, fingerprint, version) values (${user_id}, ${fingerprint}, 1)
    on conflict (user_id) do update set version = reader_grants.version + case
    when reader_grants.fingerprint = excluded.fingerprint then 0 else 1 end, fingerprint = excluded.fingerprint
    returning version`
  return Number(firstOf(rows).version)
})

/**
 * Handle of a reader. `token`: fingerprint of data hidden by the token, not part of the user's version, as tokens
 * do not change.
 */
export const handleOf = Effect.fnUntraced(function* (
  store: StoreShape,
  viewer: Viewer,
  replica_id: number,
  fingerprint: string,
  token = ""
) {
  const version = yield* grantVersion(store, viewer.user_id, fingerprint)
  return `${yield* epochOf(store)}-${viewer.user_id}-${replica_id}-${version}${token === "" ? "" : `-${token}`}`
})
/** A handle the reader has not had, as data read under the old one belongs to another history. */
export const newHandle = Effect.fnUntraced(function* (
  store: StoreShape,
  viewer: Viewer,
  replica_id: number,
  fingerprint: string,
  token = ""
) {
  yield* store.sql`update reader_grants set version = version + 1 where user_id = ${viewer.user_id}`
  return yield* handleOf(store, viewer, replica_id, fingerprint, token)
})

/** Checksum of an event's immutable columns, from 1 to 999,999,999 (FNV-1a). */
const checkOf = (event: Pick<StoredEvent, "stream" | "version" | "type" | "command_id" | "recorded_at">): number => {
  let hash = 0x811c9dc5
  for (const char of `${event.stream} ${event.version} ${event.type} ${event.command_id} ${event.recorded_at}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return 1 + (hash % 999_999_999)
}

/**
 * Offset after an event, with its checksum: `12_483920118`. In a journal restored from a backup the checksum differs.
 */
export const offsetOf = Effect.fnUntraced(function* (store: StoreShape, position: number) {
  return offsetAfter(position, position === 0 ? undefined : yield* store.get(journal, position))
})
const offsetAfter = (position: number, event: StoredEvent | undefined): string =>
  `${position}_${event === undefined ? 0 : checkOf(event)}`
export const offset_pattern = /^\d{1,15}_\d{1,9}$/
/** Whether the journal still has the event that the offset was issued for. */
export const isOffsetValid = Effect.fnUntraced(function* (store: StoreShape, offset: string) {
  const [position, check] = offset.split("_").map(Number) as [number, number]
  if (position === 0) return true
  const event = yield* store.get(journal, position)
  // Offsets of earlier releases end in 0 instead of a checksum.
  return event !== undefined && (check === 0 || check === checkOf(event))
})

// Waits for new events in the journal; each append wakes the waiting requests.

interface TailShape {
  /** Mark to take before reading the journal: later appends end the wait, even if they precede its start. */
  readonly mark: Effect.Effect<number>
  /** Resolves when the journal may have grown since the mark, or after the timeout. */
  readonly grown: (mark: number, timeout_millis: number) => Effect.Effect<void>
}
export const JournalTail = Context.Reference<TailShape | undefined>("flightcase/sync/Tail", {
  defaultValue: () => undefined
})

/** A tail for one process. Call `wake` after each commit, and on notices from Postgres. */
export const makeJournalTail = (): { readonly tail: TailShape; readonly wake: () => void } => {
  const waiting = new Set<() => void>()
  let wakes = 0
  return {
    wake: () => {
      wakes++
      for (const resume of [...waiting]) resume()
    },
    tail: {
      mark: Effect.sync(() => wakes),
      grown: (mark, timeout_millis) =>
        Effect.callback<void>((resume) => {
          if (wakes !== mark) return resume(Effect.void)
          const done = (): void => {
            clearTimeout(timer)
            waiting.delete(done)
            resume(Effect.void)
          }
          const timer = setTimeout(done, timeout_millis)
          waiting.add(done)
          return Effect.sync(() => {
            clearTimeout(timer)
            waiting.delete(done)
          })
        })
    }
  }
}

const events_per_chunk_max = 2_000
const live_wait_millis = 20_000

const schema = JSON.stringify({
  position: { type: "int8", pk_index: 0, not_null: true },
  stream: { type: "text" },
  version: { type: "int8" },
  type: { type: "text" },
  data: { type: "jsonb" },
  command_id: { type: "text" },
  actor_id: { type: "int8" },
  replica_id: { type: "int8" },
  recorded_at: { type: "text" }
})
export const private_headers = {
  "cache-control": "private, no-cache",
  vary: "authorization",
  "access-control-expose-headers": "*"
}
/** The answer by which the reader must start over under a new handle. */
export type Refetch = Answer<typeof mustRefetchShown.Type>
export const mustRefetch = (handle: string): Refetch => ({
  status: 409,
  headers: { ...private_headers, "electric-handle": handle },
  body: [{ headers: { control: "must-refetch" } }]
})

type Messages = typeof messagesShown.Type
interface ShapeReader {
  readonly viewer: Viewer
  readonly replica_id: number
  readonly query: Query
  readonly events_per_chunk?: number
}

const changesReader = ({ tables }: Catalogue, { type }: StoredEvent): boolean =>
  tables.some(({ changes_reader, entity }) => changes_reader && type.startsWith(`${entity}.`))

const requested = Effect.fnUntraced(function* (query: Query) {
  const offset = valueOf(query, "offset")
  const live = valueOf(query, "live") === "true"
  if (valueOf(query, "table") !== "journal") return yield* invalidField("table", "Only the journal can be followed.")
  const is_given = offset !== undefined && offset_pattern.test(offset)
  if (!is_given && offset !== "-1" && offset !== "now")
    return yield* invalidField("offset", "The offset must be -1, now or one this server gave.")
  if (live && !is_given) return yield* invalidField("live", "Following live needs an offset this server gave.")
  return { offset, live, is_given }
})

/** An answer of the shape protocol: 200 with a chunk, or 409 if the reader must start over. */
export const shapeAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { viewer, replica_id, query, events_per_chunk = events_per_chunk_max }: ShapeReader
): Store.Reads<Answer<Messages> | Refetch> {
  const store = yield* Store
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const handle = yield* handleOf(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
  const { offset, live, is_given } = yield* requested(query)
  const tail = yield* JournalTail
  const mark = tail === undefined ? 0 : yield* tail.mark
  const head = yield* lastPosition(store)
  const from = offset === "now" ? head : Math.max(0, Number(offset.split("_")[0]))
  if (is_given && valueOf(query, "handle") !== handle) return mustRefetch(handle)
  // A reader ahead of this journal followed another one, before a restore.
  if (is_given && !(yield* isOffsetValid(store, offset)))
    return mustRefetch(yield* newHandle(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint))
  if (live && from >= head && tail !== undefined) yield* tail.grown(mark, live_wait_millis)
  const found = yield* eventsAfter(store, from, events_per_chunk)
  // Ends the chunk at an event that may change the reader's permissions, which were loaded before the wait; later
  // events are sent by the next request.
  const turned = found.findIndex((event) => event.position > head && changesReader(catalogue, event))
  const events = turned < 0 ? found : found.slice(0, turned + 1)
  // Events hidden from the reader advance the offset too; otherwise they would be requested forever.
  const last = events.at(-1)
  const upToDate = turned < 0 && found.length < events_per_chunk
  const reached = upToDate ? Math.max(head, last?.position ?? 0) : lastOf(events).position
  const messages = seenMessages(redaction, events)
  if (upToDate) messages.push({ headers: { control: "up-to-date", global_last_seen_lsn: String(reached) } })
  return {
    status: 200,
    headers: {
      ...private_headers,
      "electric-handle": handle,
      "electric-offset": last?.position === reached ? offsetAfter(reached, last) : yield* offsetOf(store, reached),
      ...(live ? { "electric-cursor": String(reached + 1) } : { "electric-schema": schema }),
      ...(upToDate ? { "electric-up-to-date": "" } : {})
    },
    body: messages
  }
})

const seenMessages = (
  { see }: ReturnType<typeof redactionFor>,
  events: ReadonlyArray<StoredEvent>
): Array<Messages[number]> =>
  events.flatMap((event) => {
    const seen = see(event)
    return seen === undefined ? [] : [message({ ...event, type: seen.type }, JSON.stringify(seen.data))]
  })
const message = (event: StoredEvent, data: string): Messages[number] => ({
  key: `"public"."journal"/"${event.position}"`,
  value: {
    position: String(event.position),
    stream: event.stream,
    version: String(event.version),
    type: event.type,
    data,
    command_id: event.command_id,
    actor_id: event.actor_id === null ? null : String(event.actor_id),
    replica_id: event.replica_id === null ? null : String(event.replica_id),
    recorded_at: event.recorded_at
  },
  headers: { operation: "insert", relation: ["public", "journal"], lsn: String(event.position), op_position: 0 }
})
