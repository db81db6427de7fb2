/** The journal as a shape of Electric's protocol: events in order, redacted for the reader. */
import { lastOf } from "../../core/values/text.ts"
import { eventsAfter, invalidField, lastPosition, Store, valueOf } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, Query, StoredEvent, StoreShape, Viewer } from "../../core/kernel/index.ts"
import { Cause, Clock, Context, Effect, Fiber, Stream } from "effect"
import type { SqlError } from "effect/sql"
import { eventsOf, type messagesShown, mustRefetch, private_headers, seenMessages } from "./messages.ts"
import { handleOf, isOffsetValid, newHandle, offset_pattern, offsetOf, positionOf } from "./tables.ts"
import { commandDecided } from "../protocol/events.ts"
import { type Redaction, redactionFor } from "../protocol/redaction.ts"

// Waits for new events in the journal; each append wakes the waiting requests. What devices that follow would all read
// for themselves is read once, or remembered while it cannot have changed.

type Messages = typeof messagesShown.Type
/** Events after a position, with what was made of them for readers who see the same. */
interface Page {
  readonly events: ReadonlyArray<StoredEvent>
  readonly bodies: Map<string, Pick<Required<Answer<Messages>>, "body" | "shared"> & { frames?: Uint8Array }>
}
/** A device that a caller may follow with, as read at an instant. */
interface Follower {
  readonly viewer: Viewer
  readonly read_at: number
  readonly handle: string
  readonly redaction: Redaction
}

interface TailShape {
  /** Mark to take before reading the journal: later appends end the wait, even if they precede its start. */
  readonly mark: Effect.Effect<number>
  /** Resolves when the journal may have grown since the mark, or after the timeout. */
  readonly grown: (mark: number, timeout_millis: number) => Effect.Effect<void>
  /** Whether nothing has changed since this caller was authenticated that may change what they may see. */
  readonly isCurrent: (viewer: Viewer, now?: number) => boolean
  /** Whether waiting requests must be answered now. */
  readonly isStopping: () => boolean
  /** Ends waits and what is known of callers, on every server. Call after a commit that ended a device. */
  readonly ended: () => void
  /** Devices by id. They hold while their callers are current, and no longer than a wait. */
  readonly followers: Map<number, Follower>
  /** The device of a live request, if an earlier one read it. */
  readonly known: (reader: ShapeReader) => Follower | undefined
  /** Offset after the last event, as read after this mark was taken: it holds until the next wake-up. */
  end: { readonly mark: number; readonly offset: string } | undefined
  /** Pages by position, and whether an offset is the journal's end, as read for all requests of one turn. */
  readonly pages: ReturnType<typeof onceATurn<Page>>
  readonly ends: ReturnType<typeof onceATurn<{ readonly head: number; readonly is_valid: boolean }>>
}
export const JournalTail = Context.Reference<TailShape | undefined>("flightcase/sync/Tail", {
  defaultValue: () => undefined
})

const isSameSet = <A>(one: ReadonlySet<A>, other: ReadonlySet<A>): boolean =>
  one === other || (one.size === other.size && [...one].every((each) => other.has(each)))
/** Whether two reads of a caller found the same rights. */
const isSameCaller = (one: Viewer, other: Viewer): boolean =>
  one === other ||
  (one.token_id === other.token_id &&
    one.user_id === other.user_id &&
    one.person_id === other.person_id &&
    one.is_owner === other.is_owner &&
    one.is_active === other.is_active &&
    isSameSet(new Set(one.role_ids), new Set(other.role_ids)) &&
    isSameSet(one.permissions, other.permissions) &&
    isSameSet(one.abilities, other.abilities))

/** Shares a read among the requests of one turn and mark: each gets what was read after it came and its mark. */
const onceATurn = <A>() => {
  const reads = new Map<string, Fiber.Fiber<A, SqlError.SqlError>>()
  return Effect.fnUntraced(function* (mark: number, what: string, read: Effect.Effect<A, SqlError.SqlError>) {
    const asked = `${mark} ${what}`
    let reading = reads.get(asked)
    if (reading === undefined) {
      // A fiber of its own: the first who asks may hang up, and the others still wait for it.
      reading = yield* Effect.forkDetach(read, { startImmediately: true })
      if (reads.size === 0) queueMicrotask(() => reads.clear())
      reads.set(asked, reading)
    }
    return yield* Fiber.join(reading)
  })
}

/** A tail for one process. Call `wake` after each commit, and on notices from Postgres. */
export const makeJournalTail = (
  host: Partial<Pick<TailShape, "isCurrent" | "isStopping" | "ended">> = {}
): { readonly tail: TailShape; readonly wake: () => void } => {
  const waiting = new Set<() => void>()
  const { isCurrent = () => true, isStopping = () => false } = host
  const followers = new Map<number, Follower>()
  let wakes = 0
  const wake = (): void => {
    wakes++
    for (const resume of [...waiting]) resume()
  }
  return {
    wake,
    tail: {
      isCurrent,
      isStopping,
      ended: () => {
        followers.clear()
        ;(host.ended ?? wake)()
      },
      followers,
      known: ({ query, replica_id, viewer }) => {
        const known = valueOf(query, "live") === "true" ? followers.get(replica_id) : undefined
        if (known === undefined || known.handle !== valueOf(query, "handle")) return undefined
        const is_current = isCurrent(known.viewer) && isCurrent(viewer) && isSameCaller(known.viewer, viewer)
        return is_current && performance.now() < known.read_at + live_wait_millis ? known : undefined
      },
      end: undefined,
      pages: onceATurn(),
      ends: onceATurn(),
      mark: Effect.sync(() => wakes),
      grown: (mark, timeout_millis) =>
        Effect.callback<void>((resume) => {
          if (wakes !== mark || isStopping()) return resume(Effect.void)
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
interface ShapeReader {
  readonly viewer: Viewer
  readonly replica_id: number
  readonly query: Query
  readonly events_per_chunk?: number
}
/** A request that was checked. `at`: the offset after position `from`, where it is known. */
interface Cursor {
  readonly tail: TailShape | undefined
  readonly head: number
  readonly mark: number
  readonly from: number
  readonly at: string | undefined
  /** When its wait ends at the latest, by the process's clock. */
  readonly due: number
  /** Whether it has sent events before, since which the reader's rights may have changed. */
  readonly goes_on?: true
  /** Whether it has sent a part of a batch, whose end must follow without a wait. */
  readonly is_within?: boolean
}

const changesReader = ({ tables }: Catalogue, { type }: StoredEvent): boolean =>
  tables.some(({ changes_reader, entity }) => changes_reader && type.startsWith(`${entity}.`))

/** Finds the handle of a device that follows; most requests find it remembered (`TailShape.known`). */
const followerOf = Effect.fnUntraced(function* (store: StoreShape, catalogue: Catalogue, reader: ShapeReader) {
  const { replica_id, viewer } = reader
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const read_at = performance.now()
  const handle = yield* handleOf(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
  return { viewer, read_at, redaction, handle }
})
const followers_kept = 1_000
const remember = ({ followers }: TailShape, replica_id: number, follower: Follower): void => {
  followers.delete(replica_id)
  const [oldest] = followers.keys()
  if (oldest !== undefined && followers.size >= followers_kept) followers.delete(oldest)
  followers.set(replica_id, follower)
}

/** The page after a position, read once for the requests of a turn that wait at it, and the mark before the read. */
const pageAfter = Effect.fnUntraced(function* (
  store: StoreShape,
  tail: TailShape | undefined,
  from: number,
  limit: number
) {
  const read = Effect.map(eventsAfter(store, from, limit), (events): Page => ({ events, bodies: new Map() }))
  if (tail === undefined) return { page: yield* read, mark: 0 }
  const mark = yield* tail.mark
  return { page: yield* tail.pages(mark, `${from} ${limit}`, read), mark }
})

/** The journal's last position, and whether the journal still has the event of an offset, if one was given. */
const endOf = Effect.fnUntraced(function* (store: StoreShape, tail: TailShape | undefined, offset?: string) {
  const read = Effect.gen(function* () {
    const head = yield* lastPosition(store)
    return { head, is_valid: offset === undefined || (yield* isOffsetValid(store, offset)) }
  })
  if (tail === undefined || offset === undefined) return yield* read
  const mark = yield* tail.mark
  const { end } = tail
  const is_known = end?.mark === mark && end.offset === offset
  const found = is_known ? { head: positionOf(offset), is_valid: true } : yield* tail.ends(mark, offset, read)
  if (found.is_valid && found.head === positionOf(offset)) tail.end = { mark, offset }
  return found
})

/** The part of a page that the reader gets, and its messages, made once for readers who see the same. */
const chunkOf = (
  catalogue: Catalogue,
  { bodies, events: found }: Page,
  { redaction, replica_id }: Pick<Follower, "redaction"> & Pick<ShapeReader, "replica_id">,
  { events_per_chunk, from, head }: Pick<Cursor, "from" | "head"> & Pick<Required<ShapeReader>, "events_per_chunk">
) => {
  // Ends the chunk at an event that may change the reader's permissions, which were loaded before the wait; later
  // events are sent by the next request.
  const turned = found.findIndex((event) => event.position > head && changesReader(catalogue, event))
  const events = turned < 0 ? found : found.slice(0, turned + 1)
  // Events hidden from the reader advance the offset too; otherwise they would be requested forever.
  const last = events.at(-1)
  const upToDate = turned < 0 && found.length < events_per_chunk
  const reached = upToDate ? Math.max(from, head, last?.position ?? 0) : lastOf(events).position
  // Verdicts are for one device alone; those who see none of these see the same.
  const is_own = (event: StoredEvent): boolean => event.type === commandDecided.type && event.replica_id === replica_id
  const of_device = events.some(is_own) ? replica_id : 0
  const key = [upToDate, reached, events.length, of_device, redaction.readers].join(" ")
  let sent = bodies.get(key)
  if (sent === undefined) {
    const body = seenMessages(redaction, events)
    if (upToDate) body.push({ headers: { control: "up-to-date", global_last_seen_lsn: String(reached) } })
    bodies.set(key, (sent = { body, shared: { compressed: new Map() } }))
  }
  return { sent, last, reached, upToDate, is_turned: turned >= 0, is_empty: sent.body.length === (upToDate ? 1 : 0) }
}

/** Waits for events the reader sees, if it is live and has all others. */
const nextChunk = Effect.fnUntraced(function* (
  store: StoreShape,
  catalogue: Catalogue,
  reader: ShapeReader & Pick<Follower, "redaction">,
  cursor: Cursor
) {
  const { events_per_chunk = events_per_chunk_max, viewer } = reader
  const { due, tail } = cursor
  let { at, from, mark } = cursor
  for (;;) {
    const left = due - performance.now()
    const waits = tail !== undefined && from >= cursor.head && cursor.is_within !== true
    if (waits) yield* tail.grown(mark, left)
    const { page, ...read } = yield* pageAfter(store, tail, from, events_per_chunk)
    mark = read.mark
    const chunk = chunkOf(catalogue, page, reader, { events_per_chunk, from, head: cursor.head })
    const { last, reached } = chunk
    if (last !== undefined || reached !== from) at = yield* offsetOf(store, reached, last)
    if (tail !== undefined && chunk.upToDate && at !== undefined && last !== undefined) tail.end = { mark, offset: at }
    // Without a wait, the rights are those that this request was authenticated with.
    const is_current =
      tail === undefined ||
      (!waits && cursor.goes_on !== true) ||
      tail.isCurrent(viewer, yield* Clock.currentTimeMillis)
    const is_over = !waits || !chunk.upToDate || !chunk.is_empty || !is_current || tail.isStopping()
    // Where a wait ends without events, the journal may have been restored, and lack the event of the offset.
    if (is_over || performance.now() >= due || (last === undefined && !(yield* endOf(store, tail, at)).is_valid))
      return { ...chunk, at, is_current, mark }
    from = reached
  }
})

/** Sent first, so that the reader knows that nothing on the way holds events back. */
const opening = new TextEncoder().encode(": following\n\n")

/** Events of a live request as server-sent events, until its wait ends or its reader's rights change. */
const streamFrom = (
  store: StoreShape,
  catalogue: Catalogue,
  reader: ShapeReader & Pick<Follower, "redaction">,
  begun: Cursor & { readonly tail: TailShape }
): Required<Answer>["streamed"] => {
  const { due, tail } = begun
  let cursor: Cursor | undefined
  const sent = Effect.fnUntraced(function* (after: Cursor) {
    const chunk = yield* nextChunk(store, catalogue, reader, after)
    const { at, is_current, is_empty, is_turned, mark, reached, upToDate } = chunk
    if (!is_current || is_turned || (is_empty && reached === after.from && after.is_within !== true))
      return yield* Cause.done()
    const offset = upToDate ? (at ?? (yield* offsetOf(store, reached))) : undefined
    cursor = { ...after, from: reached, at, mark, goes_on: true, is_within: !upToDate }
    chunk.sent.frames ??= new TextEncoder().encode(eventsOf(chunk.sent.body, offset))
    return [chunk.sent.frames] as const
  })
  const pull = Effect.suspend(() => {
    const after = cursor
    cursor ??= begun
    if (after === undefined) return Effect.succeed([opening] as const)
    if (performance.now() >= due || tail.isStopping()) return Cause.done()
    return Effect.tapErrorTag(sent(after), "SqlError", (error) => Effect.logWarning("a stream of events ended", error))
  })
  const stream = Stream.fromPull(Effect.succeed(pull))
  return { type: "text/event-stream", size_bytes: undefined, open: () => Effect.succeed(stream) }
}

const requested = Effect.fnUntraced(function* (query: Query) {
  const offset = valueOf(query, "offset")
  const live = valueOf(query, "live") === "true"
  if (valueOf(query, "table") !== "journal") return yield* invalidField("table", "Only the journal can be followed.")
  const is_given = offset !== undefined && offset_pattern.test(offset)
  if (!is_given && offset !== "-1" && offset !== "now")
    return yield* invalidField("offset", "The offset must be -1, now or one this server gave.")
  if (live && !is_given) return yield* invalidField("live", "Following live needs an offset this server gave.")
  return { is_given, live, offset, as_stream: live && valueOf(query, "live_sse") === "true" }
})

/** An answer of the shape protocol: 200 with a chunk, or 409 if the reader must start over. */
export const shapeAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  reader: ShapeReader
): Store.Reads<Answer<Messages> | ReturnType<typeof mustRefetch>> {
  const { query, replica_id, viewer } = reader
  const store = yield* Store
  const tail = yield* JournalTail
  const known = tail?.known(reader)
  const follower = known ?? (yield* followerOf(store, catalogue, reader))
  const { handle, redaction } = follower
  const { as_stream, is_given, live, offset } = yield* requested(query)
  const followed = live ? tail : undefined
  const mark = tail === undefined ? 0 : yield* tail.mark
  const { head, is_valid } = yield* endOf(store, followed, is_given ? offset : undefined)
  const from = offset === "now" ? head : Math.max(0, positionOf(offset))
  if (is_given && valueOf(query, "handle") !== handle) return mustRefetch(handle)
  // A reader ahead of this journal followed another one, before a restore.
  if (!is_valid) {
    tail?.followers.clear()
    return mustRefetch(yield* newHandle(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint))
  }
  if (followed !== undefined && replica_id > 0 && known === undefined) remember(followed, replica_id, follower)
  const at = is_given && !offset.endsWith("_0") ? offset : undefined
  const headers = { ...private_headers, "electric-handle": handle }
  const due = performance.now() + live_wait_millis
  const cursor = { tail: followed, head, mark, from, at, due }
  const unmoved = { ...headers, "electric-offset": offset, "electric-cursor": `${from}` }
  if (followed !== undefined && as_stream) {
    const begun = { ...cursor, tail: followed }
    return { status: 200, headers: unmoved, streamed: streamFrom(store, catalogue, { ...reader, redaction }, begun) }
  }
  const chunk = yield* nextChunk(store, catalogue, { ...reader, redaction }, cursor)
  // Rights changed during the wait: the next request is answered by those it has then.
  if (!chunk.is_current) return { status: 200, headers: unmoved, body: [] }
  const end = chunk.at ?? (yield* offsetOf(store, chunk.reached))
  const place = live ? { "electric-cursor": String(chunk.reached + 1) } : { "electric-schema": schema }
  return chunkAnswer(chunk, { ...headers, "electric-offset": end, ...place })
})
const chunkAnswer = (
  { sent: { body, shared }, upToDate }: ReturnType<typeof chunkOf>,
  headers: Required<Answer>["headers"]
): Answer<Messages> => ({
  status: 200,
  headers: { ...headers, ...(upToDate ? { "electric-up-to-date": "" } : {}) },
  body,
  shared
})
