/** News from the server while a device watches: events as they are committed. */
import { Sse } from "effect/encoding"
import { isJsonObject, type Json, parseJson, wire_body_depth_max } from "../../../core/kernel/index.ts"
import { firstOf, lastOf } from "../../../core/values/text.ts"
import { httpClientAt, jsonOf, Unreachable } from "../../http-client.ts"
import { eventOfShapeRow } from "../../protocol/snapshot.ts"
import type { takeNews } from "./sync.ts"

type News = Parameters<typeof takeNews>[1]
interface TailCursor {
  readonly url: string
  readonly token: string
  readonly replica_id: number
  readonly offset: string
  readonly handle: string | undefined
}
/** Timeout of a live request, longer than the 20 seconds for which the server holds it open. */
const live_timeout_millis = 45_000
/** Longest wait for a stream's first bytes. They come at once unless something on the way holds them back. */
const opening_millis = 10_000
/** Life below which a request without news was cut; after this number in a row, single answers are requested. */
const cut_millis = 1_000
const cuts_max = 3
/** Time for which single answers are then requested. */
const without_streams_millis = 600_000
/** Events that wait for the device, above which a stream is ended. */
const waiting_max = 2_000
const message_bytes_max = 64 * 1_048_576

/** A live request: what came of it, and how it ended. */
interface Following {
  readonly cursor: TailCursor
  readonly stop: AbortController
  readonly news: Array<News>
  /** Offset that the next news follows. */
  reached: string
  /** "sync": by an answer that a sync has to look at. */
  end: "done" | "sync" | Error | undefined
  /** Called when news came or it ended. */
  changed: () => void
}

/**
 * Follows the shape from the device's place by server-sent events, or by long-polling where these do not pass. `next`
 * resolves with what came after the place, or with undefined if the next sync has to fetch it; it rejects if the server
 * is unreachable. Of waits that overlap the last one counts. The request goes on between them; the signal of a wait
 * ends it, and `close`.
 */
export const newsReader = (place: () => Promise<TailCursor>) => {
  let following: Following | undefined
  let cuts = 0
  let streams_from = 0
  let waits = 0
  const close = (): void => {
    following?.stop.abort()
    following = undefined
  }
  const begin = async (own: Following): Promise<void> => {
    const begun_millis = performance.now()
    const as_stream = begun_millis >= streams_from
    const heldBack = (): void => {
      streams_from = performance.now() + without_streams_millis
      own.end = "done"
      own.stop.abort()
    }
    const timer = as_stream ? setTimeout(heldBack, opening_millis) : undefined
    await follow(own, as_stream, () => clearTimeout(timer)).catch((error: unknown) => {
      own.end ??= error instanceof Error ? error : new Error("aborted")
    })
    clearTimeout(timer)
    const is_quick = performance.now() - begun_millis < cut_millis
    cuts = is_quick && own.reached === own.cursor.offset && !own.stop.signal.aborted ? cuts + 1 : 0
    if (cuts >= cuts_max) {
      streams_from = performance.now() + without_streams_millis
      // Otherwise a server that answers at once would get a thousand requests a second.
      if (own.end === undefined) await new Promise((resume) => setTimeout(resume, cut_millis))
    }
    own.end ??= "done"
    own.changed()
  }
  const next = async (signal: AbortSignal): Promise<News | undefined> => {
    const wait = ++waits
    // The wait before sees that it was replaced.
    following?.changed()
    signal.addEventListener("abort", close, { once: true })
    for (;;) {
      const cursor = await place()
      if (wait !== waits || signal.aborted || cursor.handle === undefined || cursor.offset === "-1") return undefined
      if (following === undefined || !goesOnAt(following, cursor)) {
        close()
        const stop = new AbortController()
        following = { cursor, stop, news: [], reached: cursor.offset, end: undefined, changed: () => {} }
        void begin(following)
      }
      const own = following
      if (own.news.length > 0) return merged(own.news)
      if (own.end === undefined) {
        await new Promise<void>((resume) => (own.changed = resume))
        continue
      }
      close()
      if (own.end === "sync") return undefined
      if (own.end instanceof Error) throw own.end
    }
  }
  return { next, close }
}
const merged = (news: ReadonlyArray<News>): News => ({
  ...lastOf(news),
  after: firstOf(news).after,
  events: news.flatMap(({ events }) => events)
})
/** Drops news that the device has by now; returns whether the rest follows its place. */
const goesOnAt = ({ cursor: { handle }, news, reached }: Following, place: TailCursor): boolean => {
  while (news[0] !== undefined && positionIn(news[0].offset) <= positionIn(place.offset)) news.shift()
  return handle === place.handle && (news[0]?.after ?? reached) === place.offset
}

/** Sends a live request and notes what comes until it ends. `opened`: called when the first bytes have come. */
const follow = async (into: Following, as_stream: boolean, opened: () => void): Promise<void> => {
  const { url, token, replica_id, offset, handle = "" } = into.cursor
  const client = httpClientAt({ url, token, timeout_millis: live_timeout_millis })
  const query = new URLSearchParams({ table: "journal", replica_id: String(replica_id), offset, handle, live: "true" })
  if (as_stream) query.set("live_sse", "true")
  const path = `/api/v1/sync/shape?${query.toString()}`
  const accept = as_stream ? "text/event-stream, application/json" : "application/json"
  const response = await client.open({ method: "GET", path, headers: { accept }, signal: into.stop.signal })
  const { headers, status } = response
  if (status >= 500 || status === 429) throw new Unreachable(client.url, new Error(`answered ${status}`))
  const is_of_shape = status === 200 && headers.get("electric-handle") === handle
  if (is_of_shape && headers.get("content-type")?.startsWith("text/event-stream") === true)
    return read(response, into, opened)
  const bytes = new Uint8Array(await response.arrayBuffer())
  const reached = headers.get("electric-offset") ?? ""
  // All answers but "nothing new" end the wait: changes, a new history, an invalid token.
  if (status === 200 && positionIn(reached) === positionIn(offset)) return
  const is_complete = is_of_shape && headers.has("electric-up-to-date")
  note(into, () => (is_complete ? jsonOf({ status, headers, bytes }) : undefined), reached)
}
/** Reads a stream, in which the last message of a batch has a new offset as id. Returning ends the request. */
const read = async ({ body }: Response, into: Following, opened: () => void): Promise<void> => {
  let texts: Array<string> = []
  const take = (event: Sse.AnyEvent): void => {
    if (event._tag !== "Event") return
    texts.push(event.data)
    if (event.id === undefined || event.id === into.reached) return
    const batch = texts
    texts = []
    note(into, () => batch.map((text) => parseJson(text, wire_body_depth_max)), event.id)
  }
  const parser = Sse.makeParser(take, { maxEventSize: message_bytes_max })
  const decoder = new TextDecoder()
  for await (const part of body ?? []) {
    opened()
    const error = parser.feed(decoder.decode(part, { stream: true }))
    // A sync fetches a long batch by pages, keeps each, and its answers are compressed.
    if (error !== undefined || texts.length > waiting_max) into.end = "sync"
    const waiting = into.news.reduce((sum, { events }) => sum + events.length, 0)
    if (into.end !== undefined || waiting > waiting_max) return
  }
  // The stream ended within a batch, as the next one might.
  if (texts.length > 0) into.end = "sync"
}
/** Notes the events of messages that go up to the journal's end; a sync follows if they do not, and says why. */
const note = (into: Following, messages: () => Json | undefined, offset: string): void => {
  try {
    const known = messages()
    if (!Array.isArray(known)) throw new Error("incomplete")
    const events = known
      .flatMap((one: Json) => (isJsonObject(one) && one["value"] !== undefined ? [eventOfShapeRow(one["value"])] : []))
      .sort((one, other) => one.position - other.position)
    const { handle = "" } = into.cursor
    if (offset !== into.reached) into.news.push({ after: into.reached, events, offset, handle, up_to_date: true })
    into.reached = offset
  } catch {
    into.end = "sync"
  }
  into.changed()
}
const positionIn = (offset: string): number => Number(offset.split("_")[0])
