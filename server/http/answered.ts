/** Responses: CORS, failures, ETags and ranges of files; and reports of them to the log and to slices that meter. */
import { bodyOf, isJsonObject, Rejection, statusOf } from "../../core/kernel/index.ts"
import type { Answer, Endpoint, Failure, Settings, Viewer } from "../../core/kernel/index.ts"
import type { HttpRequest, HttpResponse } from "./http-message.ts"
import { Cause, Effect, Exit, Stream } from "effect"
import { SqlError } from "effect/sql"
import type { Log } from "../ports/log.ts"
import { storage_retry_seconds, type StorageFailure, storageText } from "../ports/storage-fault.ts"
import type { Headers, ServerSlice } from "../ports/server-slice.ts"
import type { ByteRange } from "../ports/blob-store.ts"
import type { RateLimitState } from "./limits.ts"
import type { QuotaState } from "./limit-quota.ts"

// Requests from pages of other origins: the setting `api.cors_origins` lists those that are allowed.

const first = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" ? value : value?.[0]
export const originOf = ({ headers }: Pick<HttpRequest, "headers">): string | undefined => first(headers["origin"])

/** Whether it is a CORS preflight, which browsers send without a token before the page's actual request. */
export const isPreflight = (asked: Pick<HttpRequest, "headers" | "method">): boolean =>
  asked.method === "OPTIONS" &&
  originOf(asked) !== undefined &&
  asked.headers["access-control-request-method"] !== undefined

const allows = (settings: Settings, origin: string): boolean => {
  const origins = settings["api"]?.["cors_origins"]
  return Array.isArray(origins) && (origins.includes(origin) || origins.includes("*"))
}

const taken = "authorization, content-type, idempotency-key, if-none-match, prefer, x-request-id"
const shown = [
  "etag, idempotent-replayed, link, retry-after, x-request-id",
  ...["limit", "remaining", "reset"].flatMap((one) => [`x-quota-${one}`, `x-ratelimit-${one}`])
].join(", ")

export const preflightAnswer = (settings: Settings, origin: string): Answer =>
  allows(settings, origin)
    ? {
        status: 204,
        headers: {
          "access-control-allow-origin": origin,
          "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
          "access-control-allow-headers": taken,
          "access-control-max-age": "600",
          "vary": "origin"
        }
      }
    : {
        status: 403,
        headers: { vary: "origin" },
        body: { message: `Pages of ${origin} may not ask here: the setting api.cors_origins lists those that may.` }
      }

/** Response headers for a page of this origin. */
export const originHeaders = (settings: Settings, origin: string): { readonly [name: string]: string } =>
  allows(settings, origin)
    ? { "access-control-allow-origin": origin, "access-control-expose-headers": shown, "vary": "origin" }
    : { vary: "origin" }

// From a failure to its answer, and its log entry.

interface FailedRequest {
  readonly request_id: string
  readonly asked: Pick<HttpRequest, "method">
  readonly endpoint: Endpoint | undefined
}
interface Reporting {
  readonly log: Log
  readonly storageFault: (error: SqlError.SqlError) => StorageFailure | undefined
}

/** The response to a failure: rejections as they are, database faults and interruptions as 503, all else as 500. */
export const answerTo = (
  cause: Cause.Cause<Failure>,
  asked: FailedRequest,
  { log, storageFault: storageFailure }: Reporting
): Answer => {
  const failure = Cause.findErrorOption(cause)
  if (failure._tag === "Some" && failure.value instanceof Rejection) {
    const { kind, headers } = failure.value
    return {
      status: statusOf[kind],
      body: { ...bodyOf(failure.value) },
      ...(headers === undefined && kind !== "unauthenticated"
        ? {}
        : { headers: { ...(kind === "unauthenticated" ? { "www-authenticate": "Bearer" } : {}), ...headers } })
    }
  }
  const details = { request_id: asked.request_id, method: asked.asked.method, endpoint: asked.endpoint?.name ?? null }
  const storage =
    failure._tag === "Some" && failure.value instanceof SqlError.SqlError ? storageFailure(failure.value) : undefined
  if (storage !== undefined) {
    log.at("error", "database cannot record", { ...details, reason: storage })
    return {
      status: 503,
      body: { message: storageText[storage] },
      headers: { "retry-after": String(storage_retry_seconds) }
    }
  }
  if (failure._tag === "Some" && failure.value instanceof SqlError.SqlError && passes(failure.value)) {
    log.at("error", "database unavailable", {
      ...details,
      reason: failure.value.reason._tag,
      message: failure.value.reason.message
    })
    return {
      status: 503,
      body: { message: "The database cannot be reached or is busy; try again." },
      headers: { "retry-after": "1" }
    }
  }
  if (Cause.hasInterruptsOnly(cause)) {
    log.at("debug", "request given up", details)
    return { status: 503, body: { message: "The server is stopping; try again." }, headers: { "retry-after": "1" } }
  }
  log.at("error", "request failed", { ...details, error: Cause.squash(cause) })
  return { status: 500, body: { message: `Something went wrong here. Name ${asked.request_id} when you report it.` } }
}
const passes = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" ||
  reason._tag === "LockTimeoutError" ||
  reason._tag === "StatementTimeoutError" ||
  reason._tag === "SerializationError" ||
  reason._tag === "DeadlockError"

/** Data of a request for the hooks of slices and the log. */
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
 * The response as it is sent, reported when complete: a file with its last byte, or when the client leaves. An endless
 * one is reported at its start, without a size, as it may last for days.
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
 * The path for logs, without secrets: the pattern of public endpoints, as their paths contain keys. Of others, segments
 * that differ from the pattern are shown only if they are UUIDs or too short for a key.
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
/** The caller's ability among several sufficient ones; the first if the caller has none. */
const abilityAsked = (ability: Endpoint["ability"], { abilities }: Viewer): string | null =>
  ability === null || typeof ability === "string"
    ? ability
    : (ability.find((one) => abilities.has(one)) ?? ability[0] ?? null)

// From an endpoint's answer to the response: headers, cached content, and the requested range of a file.

// Range requests (RFC 9110, 14): one part of a file, as players and interrupted downloads ask for.

/**
 * The requested range; "unsatisfiable" if it begins beyond the end; undefined for the complete file: without a range,
 * with several or an invalid one, or if `If-Range` names another version.
 */
const rangeIn = (
  headers: Headers,
  size_bytes: number,
  etag: string | undefined
): ByteRange | "unsatisfiable" | undefined => {
  const { range, "if-range": version } = headers
  if (typeof range !== "string" || (version !== undefined && version !== etag)) return undefined
  const [, from = "", to = ""] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range) ?? []
  if (from === "" && to === "") return undefined
  if (from === "") {
    const length = Math.min(Number(to), size_bytes)
    return length === 0 ? "unsatisfiable" : { first: size_bytes - length, last: size_bytes - 1 }
  }
  const first = Number(from)
  const last = to === "" ? size_bytes - 1 : Math.min(Number(to), size_bytes - 1)
  if (to !== "" && Number(to) < first) return undefined
  return first >= size_bytes ? "unsatisfiable" : { first, last }
}

/** Data of a request needed for its response. */
interface Replied {
  readonly request_id: string
  readonly path: string
  readonly endpoint: Endpoint | undefined
  readonly asked: HttpRequest
  readonly standing: RateLimitState | undefined
  readonly quota: QuotaState | undefined
}

/** The response to an answer without a stream. */
export const replyOf = (answer: Answer, trace: Replied): HttpResponse => {
  const { body, content, shared, status } = answer
  const headers = headersOf(answer, trace)
  const links = linksOf(answer, trace)
  if (links !== undefined) headers["link"] = links
  if (status === 200 && isKnown(headers["etag"], trace.asked)) return unchanged(headers)
  if (shared !== undefined) return { status, headers, body: (shared.text ??= encoded(JSON.stringify(body))), shared }
  return {
    status,
    headers,
    body: body !== undefined ? encoded(JSON.stringify(body)) : content && encoded(content.text)
  }
}
/** Long texts are encoded once: Node would count their bytes first, and allocate three times their length. */
const encoded = (text: string | Uint8Array): string | Uint8Array =>
  typeof text === "string" && text.length >= encoded_from ? Buffer.from(text) : text
const encoded_from = 16_384
const unchanged = (headers: { readonly [name: string]: string }): HttpResponse => ({
  status: 304,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "content-type")),
  body: undefined
})

/** The `Link` header of a list of several pages: the next and the last one (RFC 8288). */
const linksOf = ({ body, status }: Answer, { asked: { target }, endpoint, path }: Replied): string | undefined => {
  const meta = status === 200 && endpoint?.method === "GET" && isJsonObject(body) ? body["meta"] : undefined
  if (!isJsonObject(meta)) return undefined
  const { page, per_page, total } = meta
  if (typeof page !== "number" || typeof per_page !== "number" || typeof total !== "number") return undefined
  const last = Math.ceil(total / Math.max(1, per_page))
  if (last < 2) return undefined
  const query = new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "")
  query.delete("page")
  const others = query.size === 0 ? "" : `${query.toString()}&`
  const linkTo = (rel: string, to: number): string => `<${path}?${others}page=${to}>; rel="${rel}"`
  return [...(page < last ? [linkTo("next", page + 1)] : []), linkTo("last", last)].join(", ")
}

/** No content, for HEAD. Opens it and closes it after its beginning, to fail as GET would. */
const openedForHead = ({ open }: NonNullable<Answer["streamed"]>) =>
  Effect.map(
    Effect.tap(open(undefined), (content) => Effect.ignore(Stream.runHead(content))),
    () => Stream.empty
  )

/** A file or its requested range (RFC 9110, 14), opened unless the answer is 304 or 416. */
export const streamedReply = Effect.fnUntraced(function* (
  answer: Answer,
  trace: Replied,
  answerTo: (cause: Cause.Cause<Failure>) => Answer
): Effect.fn.Return<HttpResponse> {
  const { streamed } = answer
  if (streamed === undefined) return replyOf(answer, trace)
  const { size_bytes } = streamed
  const headers = headersOf(answer, trace)
  if (isKnown(headers["etag"], trace.asked)) return unchanged(headers)
  // Only GET takes a range (RFC 9110, 14.2).
  const is_head = trace.asked.method === "HEAD"
  const range =
    size_bytes === undefined || is_head ? undefined : rangeIn(trace.asked.headers, size_bytes, headers["etag"])
  if (range === "unsatisfiable") {
    const body = { message: `The file has ${size_bytes} bytes; the part asked for lies beyond.` }
    return replyOf({ status: 416, body, headers: { "content-range": `bytes */${size_bytes}` } }, trace)
  }
  const opened = yield* Effect.exit(is_head ? openedForHead(streamed) : streamed.open(range))
  if (Exit.isFailure(opened)) return replyOf(answerTo(opened.cause), trace)
  if (range === undefined || size_bytes === undefined)
    return { status: answer.status, headers, body: { size_bytes, stream: opened.value } }
  return {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${range.first}-${range.last}/${size_bytes}` },
    body: { size_bytes: range.last - range.first + 1, stream: opened.value }
  }
})

const headersOf = (answer: Answer, trace: Replied): { [name: string]: string } => {
  const { body, content, streamed } = answer
  const { quota, standing } = trace
  const type = body === undefined ? (content?.type ?? streamed?.type) : "application/json"
  const headers: { [name: string]: string } = {}
  if (type !== undefined) headers["content-type"] = type
  if (type === "text/event-stream") headers["x-accel-buffering"] = "no"
  // Responses with an ETag may be cached and revalidated.
  if (answer.headers?.["etag"] === undefined) headers["cache-control"] = "no-store"
  headers["x-content-type-options"] = "nosniff"
  headers["x-request-id"] = trace.request_id
  if (standing !== undefined) {
    headers["x-ratelimit-limit"] = String(standing.limit)
    headers["x-ratelimit-remaining"] = String(standing.remaining)
  }
  if (quota !== undefined) {
    headers["x-quota-limit"] = String(quota.limit)
    headers["x-quota-remaining"] = String(quota.remaining)
    headers["x-quota-reset"] = String(quota.reset_at_seconds)
  }
  if (answer.headers !== undefined)
    for (const [name, value] of Object.entries(answer.headers)) headers[name.toLowerCase()] = value
  return headers
}
/** Whether If-None-Match names this ETag (RFC 9110, 13.1.2); tags of reads are compared weakly. */
const isKnown = (etag: string | undefined, { method, headers }: HttpRequest): boolean => {
  const held = headers["if-none-match"]
  if (etag === undefined || held === undefined || (method !== "GET" && method !== "HEAD")) return false
  const text = typeof held === "string" ? held : held.join(",")
  const opaque = (tag: string): string => tag.replace(/^W\//, "")
  return text.trim() === "*" || (text.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => opaque(tag) === opaque(etag))
}
