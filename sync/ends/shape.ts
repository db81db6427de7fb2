/** The journal as one Electric shape: snapshot and tail alike are its events in order, cut to what the reader may see. */
import { Effect, Option } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Answer, Fault } from "../../core/kernel/endpoint.ts"
import { eventsAfter, headOf } from "../../core/kernel/journal.ts"
import type { Json } from "../../core/kernel/json.ts"
import { type Query, valueOf } from "../../core/kernel/query.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { epochOf } from "../../core/kernel/store/schema.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store, type StoreShape } from "../../core/kernel/store/store.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { redactionFor } from "./redaction.ts"
import { reader_grants } from "./tables.ts"
import { Tail } from "./tail.ts"

const events_per_chunk_max = 2_000
const live_wait_millis = 20_000

const schema = JSON.stringify({
  position: { type: "int8", pk_index: 0, not_null: true }, stream: { type: "text" }, version: { type: "int8" }, type: { type: "text" },
  data: { type: "jsonb" }, command_id: { type: "text" }, actor_id: { type: "int8" }, replica_id: { type: "int8" }, recorded_at: { type: "text" }
})

/** Grants as a number that only grows: A, B, A again gives 1, 2, 3. */
const grantVersion = Effect.fnUntraced(function*(store: StoreShape, user_id: number, fingerprint: string) {
  const known = yield* store.get(reader_grants, user_id)
  if (known?.fingerprint === fingerprint) return known.version
  const { bind, values } = bindings(store.dialect)
  // Several devices of one user may ask for the first time at once: one of them counts.
  const [row] = yield* store.run<{ version: number }>(
    `insert into reader_grants (user_id, fingerprint, version) values (${bind(user_id)}, ${bind(fingerprint)}, 1) on conflict (user_id) do update set ` +
    `version = reader_grants.version + case when reader_grants.fingerprint = excluded.fingerprint then 0 else 1 end, fingerprint = excluded.fingerprint returning version`,
    values)
  return Number(row!.version)
})

export interface ShapeReader { readonly viewer: Viewer; readonly replica_id: number; readonly query: Query; readonly events_per_chunk?: number }

/** One answer of the shape protocol (sync.md 1): 200 with a chunk, or 409 when the reader must begin again. */
export const shapeAnswer = Effect.fnUntraced(function*(catalogue: Catalogue, { viewer, replica_id, query, events_per_chunk = events_per_chunk_max }: ShapeReader): Effect.fn.Return<Answer, Fault, Store> {
  const store = yield* Store
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const handle = `${yield* epochOf(store)}-${viewer.user_id}-${replica_id}-${yield* grantVersion(store, viewer.user_id, redaction.fingerprint)}`
  const offset = valueOf(query, "offset")
  const live = valueOf(query, "live") === "true"
  if (valueOf(query, "table") !== "journal") return yield* invalidField("table", "Only the journal can be followed.")
  if (offset === undefined || !/^(-1|now|\d{1,15}_\d{1,9})$/.test(offset)) return yield* invalidField("offset", "The offset must be -1, now or one this server gave.")
  if (live && (offset === "-1" || offset === "now")) return yield* invalidField("live", "Following live needs an offset this server gave.")
  const tail = yield* Effect.serviceOption(Tail)
  const mark = Option.isSome(tail) ? yield* tail.value.mark : 0
  const head = yield* headOf(store)
  const from = offset === "-1" ? 0 : offset === "now" ? head : Number(offset.split("_")[0])
  const headers = { "cache-control": "private, no-cache", vary: "authorization", "access-control-expose-headers": "*" }
  const known = valueOf(query, "handle")
  // A reader ahead of the journal has seen what a restored backup no longer holds: it must begin again.
  if ((offset !== "-1" && offset !== "now" && known !== handle) || from > head) {
    return { status: 409, headers: { ...headers, "electric-handle": handle }, body: [{ headers: { control: "must-refetch" } }] }
  }
  if (live && from >= head && Option.isSome(tail)) yield* tail.value.grown(mark, live_wait_millis)
  const until = yield* headOf(store)
  const events = (yield* eventsAfter(store, from, events_per_chunk)).filter((event) => event.position <= until)
  // Hidden events move the offset too, or a reader would ask for them for ever.
  const reached = events.length < events_per_chunk ? until : events.at(-1)!.position
  const messages: Array<Json> = []
  for (const event of events) {
    const data = redaction.see(event)
    if (data !== undefined) messages.push(message(event, JSON.stringify(data)))
  }
  const upToDate = reached >= until
  if (upToDate) messages.push({ headers: { control: "up-to-date", global_last_seen_lsn: String(reached) } })
  return {
    status: 200,
    headers: {
      ...headers, "electric-handle": handle, "electric-offset": `${reached}_0`,
      ...(live ? { "electric-cursor": String(reached + 1) } : { "electric-schema": schema }),
      ...(upToDate ? { "electric-up-to-date": "" } : {})
    },
    body: messages
  }
})

const message = (event: StoredEvent, data: string): Json => ({
  key: `"public"."journal"/"${event.position}"`,
  value: {
    position: String(event.position), stream: event.stream, version: String(event.version), type: event.type, data, command_id: event.command_id,
    actor_id: event.actor_id === null ? null : String(event.actor_id), replica_id: event.replica_id === null ? null : String(event.replica_id),
    recorded_at: event.recorded_at
  },
  headers: { operation: "insert", relation: ["public", "journal"], lsn: String(event.position), op_position: 0 }
})
