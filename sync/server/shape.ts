/** The journal as one shape of Electric's protocol: its events in order, redacted to what the reader may see. */
import { Effect, Option } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Answer, Failure } from "../../core/kernel/endpoint.ts"
import { eventsAfter, lastPosition } from "../../core/kernel/journal.ts"
import { type Query, valueOf } from "../../core/kernel/query.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { newHandle, handleOf, isOffsetValid, offset_pattern, offsetOf } from "./cursor.ts"
import { redactionFor } from "../protocol/redaction.ts"
import { JournalTail } from "./tail.ts"
import type { messagesShown, mustRefetchShown } from "./answers.ts"

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
/** The reader must begin again, under this handle. */
export type Refetch = Answer<typeof mustRefetchShown.Type>
export const mustRefetch = (handle: string): Refetch => ({
  status: 409,
  headers: { ...private_headers, "electric-handle": handle },
  body: [{ headers: { control: "must-refetch" } }]
})

type Messages = typeof messagesShown.Type
export interface ShapeReader {
  readonly viewer: Viewer
  readonly replica_id: number
  readonly query: Query
  readonly events_per_chunk?: number
}

const changesReader = ({ tables }: Catalogue, { type }: StoredEvent): boolean =>
  tables.some(({ changes_reader, entity }) => changes_reader && type.startsWith(`${entity}.`))

/** One answer of the shape protocol (sync.md 1): 200 with a chunk, or 409 when the reader must begin again. */
export const shapeAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { viewer, replica_id, query, events_per_chunk = events_per_chunk_max }: ShapeReader
): Effect.fn.Return<Answer<Messages> | Refetch, Failure, Store> {
  const store = yield* Store
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const handle = yield* handleOf(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
  const offset = valueOf(query, "offset")
  const live = valueOf(query, "live") === "true"
  if (valueOf(query, "table") !== "journal") return yield* invalidField("table", "Only the journal can be followed.")
  if (offset === undefined || (offset !== "-1" && offset !== "now" && !offset_pattern.test(offset)))
    return yield* invalidField("offset", "The offset must be -1, now or one this server gave.")
  if (live && (offset === "-1" || offset === "now"))
    return yield* invalidField("live", "Following live needs an offset this server gave.")
  const tail = yield* Effect.serviceOption(JournalTail)
  const mark = Option.isSome(tail) ? yield* tail.value.mark : 0
  const head = yield* lastPosition(store)
  const from = offset === "-1" ? 0 : offset === "now" ? head : Number(offset.split("_")[0])
  if (offset !== "-1" && offset !== "now") {
    if (valueOf(query, "handle") !== handle) return mustRefetch(handle)
    // A reader ahead of this journal followed the one before a restore.
    if (!(yield* isOffsetValid(store, offset)))
      return mustRefetch(
        yield* newHandle(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
      )
  }
  if (live && from >= head && Option.isSome(tail)) yield* tail.value.grown(mark, live_wait_millis)
  const until = yield* lastPosition(store)
  const found = (yield* eventsAfter(store, from, events_per_chunk)).filter((event) => event.position <= until)
  // The reader's rights were loaded before the wait: events after one that may change them wait for the next request.
  const turned = found.findIndex((event) => event.position > head && changesReader(catalogue, event))
  const events = turned < 0 ? found : found.slice(0, turned + 1)
  // Events the reader may not see move the offset, too; else they would be asked for again and again.
  const reached = turned < 0 && events.length < events_per_chunk ? until : events.at(-1)!.position
  const messages: Array<Messages[number]> = []
  for (const event of events) {
    const told = redaction.see(event)
    if (told !== undefined) messages.push(message({ ...event, type: told.type }, JSON.stringify(told.data)))
  }
  const upToDate = reached >= until
  if (upToDate) messages.push({ headers: { control: "up-to-date", global_last_seen_lsn: String(reached) } })
  return {
    status: 200,
    headers: {
      ...private_headers,
      "electric-handle": handle,
      "electric-offset": yield* offsetOf(store, reached),
      ...(live ? { "electric-cursor": String(reached + 1) } : { "electric-schema": schema }),
      ...(upToDate ? { "electric-up-to-date": "" } : {})
    },
    body: messages
  }
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
