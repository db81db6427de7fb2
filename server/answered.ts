/** What is told of a request once it was answered: to the log, and to slices that count. */
import { Effect, Stream } from "effect"
import type { Endpoint } from "../core/kernel/endpoint.ts"
import type { Viewer } from "../core/kernel/viewer.ts"
import type { HttpRequest, HttpResponse } from "./http-message.ts"
import type { Log } from "./log.ts"
import type { ServerSlice } from "./server-slice.ts"

/** What of a request is told. */
interface Answered {
  readonly request_id: string
  readonly started_millis: number
  readonly clock_millis: number
  readonly asked: HttpRequest
  readonly path: string
  readonly asked_for: Endpoint | undefined
  readonly viewer: Viewer | undefined
  readonly request_bytes: number
}
type Finished = (trace: Answered, status: number, response_bytes: number) => void

export const tellingOf = (log: Log, slices: ReadonlyArray<ServerSlice>): Finished => {
  const listeners = slices.flatMap((slice) => slice.answered ?? [])
  return (trace, status, response_bytes) => {
    const { asked, asked_for, clock_millis, request_id, viewer } = trace
    const duration_ms = performance.now() - trace.started_millis
    const shown = shownPath(trace.path, asked_for)
    const user_id = viewer?.user_id ?? null
    const token_id = viewer?.token_id ?? null
    log.at("info", "request", {
      request_id,
      method: asked.method,
      path: shown,
      status,
      duration_ms: Math.round(duration_ms * 10) / 10,
      user_id,
      token_id
    })
    if (listeners.length === 0 || !isOfInterface(trace.path)) return
    const agent = asked.headers["user-agent"]
    const call = {
      request_id,
      method: asked.method,
      target: asked.target,
      uri: shown,
      endpoint: asked_for?.name ?? null,
      ability: viewer === undefined ? null : abilityAsked(asked_for?.ability ?? null, viewer),
      metering_weight: asked_for?.metering_weight ?? 1,
      user_id,
      token_id,
      status,
      started_millis: clock_millis,
      duration_ms: Math.round(duration_ms),
      request_bytes: trace.request_bytes,
      response_bytes,
      remote_address: asked.remote_address,
      user_agent: typeof agent === "string" ? agent.slice(0, 500) : null
    }
    for (const tell of listeners) tell(call)
  }
}

/**
 * The reply as it leaves, told of once it has: a file with its last byte, or when nobody wants more of it. One that
 * goes on until it is ended is told of as it begins, without a size: it may go on for days.
 */
export const told = (trace: Answered, reply: HttpResponse, finished: Finished): HttpResponse => {
  const { body, status } = reply
  const is_file = typeof body === "object" && "stream" in body && body.size_bytes !== undefined
  if (!is_file || trace.asked.method === "HEAD") {
    finished(trace, status, trace.asked.method === "HEAD" ? 0 : lengthOf(body))
    return reply
  }
  let sent = 0
  const counted = Stream.tap(body.stream, (part) => Effect.sync(() => (sent += part.length)))
  const stream = Stream.ensuring(
    counted,
    Effect.sync(() => finished(trace, status, sent))
  )
  return { ...reply, body: { ...body, stream } }
}

/**
 * Secrets stay out of logs: queries hold signatures, paths of public endpoints hold keys. Elsewhere too somebody may
 * have put a token or a code where an id belongs: of what no endpoint says, words too short for a key and UUIDs are
 * shown.
 */
const shownPath = (path: string, endpoint: Endpoint | undefined): string => {
  if (endpoint?.public === true) return endpoint.path
  const begin = path.slice(0, 500)
  if (only_words.test(begin)) return begin
  const known = endpoint?.path.split("/")
  return begin
    .split("/")
    .map((segment, at) => (segment === known?.[at] || decoded(segment).split(/[.:]/).every(isShort) ? segment : "…"))
    .join("/")
}
const only_words = /^(?:\/[\w.-]{0,24})*$/
const isShort = (word: string): boolean => /^[\w-]{0,24}$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(word)
const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const isOfInterface = (path: string): boolean => path.startsWith("/api/v1/") || path === "/api/v1"
const lengthOf = (body: HttpResponse["body"]): number =>
  body === undefined
    ? 0
    : typeof body === "string"
      ? Buffer.byteLength(body)
      : "stream" in body
        ? (body.size_bytes ?? 0)
        : body.length
/** Of several that would do, the one the caller has. */
const abilityAsked = (ability: Endpoint["ability"], { abilities }: Viewer): string | null =>
  ability === null || typeof ability === "string"
    ? ability
    : (ability.find((one) => abilities.has(one)) ?? ability[0] ?? null)
