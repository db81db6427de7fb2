/**
 * Follows a user's notifications: reads the server's event stream and reconnects whenever it ends. Reconnecting sends
 * the last received id, so that nothing is missed.
 */
import { Duration, Schema } from "effect"
import { Sse } from "effect/encoding"
import { isJsonObject, parseJson, type JsonObject } from "../core/kernel/index.ts"
import { backoffMillis } from "./device/exchange/watch.ts"

/** Fields of a notification in every release of the server. */
export interface Notification {
  readonly id: number
  readonly title: string
  readonly body: string | null
  readonly is_own: boolean
  readonly read_at: string | null
  /** The notification as in the server's answers. */
  readonly shown: JsonObject
}
const known = Schema.decodeUnknownOption(
  Schema.Struct({
    id: Schema.Int,
    title: Schema.String,
    body: Schema.NullOr(Schema.String),
    is_own: Schema.Boolean,
    read_at: Schema.NullOr(Schema.String)
  })
)
/** Decodes a notification; undefined if it is unreadable, as a server of another release may send other events. */
export const notificationOf = (text: string): Notification | undefined => {
  try {
    const shown = parseJson(text)
    if (!isJsonObject(shown)) return undefined
    const read = known(shown)
    return read._tag === "None" ? undefined : { ...read.value, shown }
  } catch {
    return undefined
  }
}

interface FollowOptions {
  /** Base URL without a trailing slash. */
  readonly url: string
  readonly token: string
  readonly stop: AbortSignal
  readonly told: (notification: Notification) => void
  /** Last received id; without it only new notifications are sent. */
  readonly after?: number
  /** Random number from 0 to 1. */
  readonly chance?: () => number
}
/** Why following ended; "unknown" for a server whose release has no stream. */
export type FollowEnd =
  | { readonly why: "stopped" }
  | { readonly why: "unknown" }
  | { readonly why: "refused"; readonly status: number; readonly message: string }

/** Silence after which the connection counts as lost: the server sends something every 15 seconds. */
const silence_millis = 45_000
const longest_wait_millis = 120_000

/** Follows the stream until it ends for good. Never rejects: failures are retried with growing waits. */
export const followNotifications = async (options: FollowOptions): Promise<FollowEnd> => {
  const { stop } = options
  const chance = options.chance ?? Math.random
  const place: Place = { last: options.after, reconnect_millis: 1_000 }
  for (let tries = 0; ; tries++) {
    if (stop.aborted) return { why: "stopped" }
    const ended = await followOnce(options, place)
    if (ended.kind === "over") return ended.end
    if (ended.kind === "stood") tries = 0
    const wait = Math.max(
      place.reconnect_millis * (0.5 + chance() / 2),
      backoffMillis(tries, chance),
      ended.wait_millis
    )
    await pause(Math.min(wait, longest_wait_millis), stop)
  }
}

interface Place {
  last: number | undefined
  reconnect_millis: number
}
type Once =
  | { readonly kind: "over"; readonly end: FollowEnd }
  /** Result of a connection. `stood`: it had been established. */
  | { readonly kind: "stood" | "failed"; readonly wait_millis: number }

const followOnce = async ({ stop, token, told, url }: FollowOptions, place: Place): Promise<Once> => {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), silence_millis)
  let has_stood = false
  try {
    const response = await fetch(`${url}/api/v1/notifications/stream`, {
      headers: {
        accept: "text/event-stream",
        authorization: `Bearer ${token}`,
        ...(place.last === undefined ? {} : { "last-event-id": String(place.last) })
      },
      signal: AbortSignal.any([stop, silent.signal])
    })
    const type = response.headers.get("content-type") ?? ""
    if (response.status !== 200 || !type.startsWith("text/event-stream")) return await refusedBy(response)
    has_stood = true
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Retry") return void (place.reconnect_millis = millisOf(event))
      if (event.event !== "notification") return
      const notification = notificationOf(event.data)
      if (event.id !== undefined && /^\d{1,15}$/.test(event.id)) place.last = Number(event.id)
      if (notification !== undefined) told(notification)
    })
    const decoder = new TextDecoder()
    for await (const part of response.body ?? []) {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), silence_millis)
      parser.feed(decoder.decode(part, { stream: true }))
    }
  } catch {
    // Covers unreachable servers, lost connections, and an end on our side.
  } finally {
    clearTimeout(timer)
  }
  if (stop.aborted) return { kind: "over", end: { why: "stopped" } }
  return { kind: has_stood ? "stood" : "failed", wait_millis: 0 }
}

const refusedBy = async (response: Response): Promise<Once> => {
  const { status } = response
  const text = await response.text()
  // Other content with status 200, such as a proxy's page, may be gone on the next try.
  if (status === 404 || status === 405) return { kind: "over", end: { why: "unknown" } }
  if (status === 401 || status === 403 || status === 422)
    return { kind: "over", end: { why: "refused", status, message: messageIn(text) } }
  const seconds = Number(response.headers.get("retry-after") ?? "0")
  return { kind: "failed", wait_millis: Number.isFinite(seconds) ? seconds * 1_000 : 0 }
}
const messageIn = (text: string): string => {
  try {
    const body = parseJson(text)
    const message = isJsonObject(body) ? body["message"] : undefined
    return typeof message === "string" ? message : ""
  } catch {
    return ""
  }
}
const retry_millis_max = 60_000
const millisOf = ({ duration }: Sse.Retry): number => Math.min(Duration.toMillis(duration), retry_millis_max)

const pause = (millis: number, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stop.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      stop.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    stop.addEventListener("abort", end)
  })
