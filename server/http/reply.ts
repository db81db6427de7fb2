/** From an endpoint's answer to the response: headers, cached content, and the requested range of a file. */
import type { ByteRange } from "../ports/blob-store.ts"
import type { Headers } from "../ports/server-slice.ts"
import { type Cause, Effect, Exit } from "effect"
import type { Answer, Failure } from "../../core/kernel/endpoints/endpoint.ts"
import type { HttpRequest, HttpResponse } from "./http-message.ts"
import { limitHeaders, type RateLimitState } from "./limits.ts"
import type { QuotaState } from "./limit-quota.ts"

// Range requests (RFC 9110, 14): one part of a file, as players and interrupted downloads ask for.

/**
 * The requested range. Undefined, which means all, for no, several or invalid ranges, and for another version
 * (`If-Range`).
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
  readonly asked: HttpRequest
  readonly standing: RateLimitState | undefined
  readonly quota: QuotaState | undefined
}

/** The response to an answer that is not streamed. */
export const replyOf = (answer: Answer, trace: Replied): HttpResponse => {
  const { body, content, status } = answer
  const headers = headersOf(answer, trace)
  if (status === 200 && isKnown(headers["etag"], trace.asked)) return unchanged(headers)
  return { status, headers, body: body !== undefined ? JSON.stringify(body) : content?.text }
}
const unchanged = (headers: { readonly [name: string]: string }): HttpResponse => ({
  status: 304,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "content-type")),
  body: undefined
})

/** A file or its requested range (RFC 9110, 14): opened only if its content is to be sent. */
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
  const range = size_bytes === undefined ? undefined : rangeIn(trace.asked.headers, size_bytes, headers["etag"])
  if (range === "unsatisfiable") {
    const body = { message: `The file has ${size_bytes} bytes; the part asked for lies beyond.` }
    return replyOf({ status: 416, body, headers: { "content-range": `bytes */${size_bytes}` } }, trace)
  }
  const opened = yield* Effect.exit(streamed.open(range))
  if (Exit.isFailure(opened)) return replyOf(answerTo(opened.cause), trace)
  if (range === undefined || size_bytes === undefined)
    return { status: answer.status, headers, body: { size_bytes, stream: opened.value } }
  return {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${range.first}-${range.last}/${size_bytes}` },
    body: { size_bytes: range.last - range.first + 1, stream: opened.value }
  }
})

const headersOf = (answer: Answer, trace: Replied): { readonly [name: string]: string } => {
  const { body, content, streamed } = answer
  const type = content?.type ?? streamed?.type
  const headers: { [name: string]: string } = {
    ...(body !== undefined ? json_headers : type !== undefined ? { "content-type": type } : {}),
    // Responses with an ETag may be cached and revalidated.
    ...(answer.headers?.["etag"] === undefined ? { "cache-control": "no-store" } : {}),
    "x-content-type-options": "nosniff",
    "x-request-id": trace.request_id,
    ...limitHeaders(trace.standing, trace.quota)
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
const json_headers = { "content-type": "application/json" }
