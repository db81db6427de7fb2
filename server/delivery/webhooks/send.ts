/** One attempt: a POST without redirects, with a total deadline; little of the response is read. */
import * as http from "node:http"
import * as https from "node:https"
import type { AttemptError } from "./schema.ts"
import { type Guard, RefusedTarget } from "./guard.ts"

const timeout_millis = 15_000
const answer_bytes_max = 65_536
const excerpt_bytes = 1_024

interface Sending {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}
export interface Outcome {
  readonly status: number | null
  /** Reason of the failure; null if the receiver accepted it. */
  readonly error: AttemptError | null
  readonly excerpt: string | null
  /** Seconds of the receiver's `Retry-After`; null if absent. */
  readonly retry_after_seconds: number | null
  /** Bytes read of the response; absent without a response. */
  readonly response_bytes?: number
}

export type Send = (sending: Sending, signal: AbortSignal) => Promise<Outcome>

/** Makes an attempt. Never rejects: errors are outcomes. */
export const sender =
  (guard: Guard, patience_millis: number = timeout_millis): Send =>
  async (sending, signal) => {
    const deadline = AbortSignal.timeout(patience_millis)
    try {
      return await post(guard, sending, AbortSignal.any([signal, deadline]))
    } catch (cause) {
      return { ...none, error: deadline.aborted ? "timeout" : errorOf(cause) }
    }
  }
const none = { status: null, excerpt: null, retry_after_seconds: null }

const post = (guard: Guard, { body, headers, url: address }: Sending, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const url = new URL(address)
    const bytes = Buffer.from(body)
    const asked = (url.protocol === "https:" ? https : http).request(
      url,
      {
        method: "POST",
        agent: guard.agentFor(url.protocol),
        signal,
        headers: { ...headers, "content-length": String(bytes.length) }
      },
      (answer) => read(answer, resolve, reject)
    )
    asked.once("error", reject)
    asked.end(bytes)
  })

const read = (answer: http.IncomingMessage, resolve: (outcome: Outcome) => void, reject: (cause: unknown) => void) => {
  const chunks: Array<Buffer> = []
  let length = 0
  const status = answer.statusCode ?? 0
  const done = (): void => {
    const excerpt = excerptOf(Buffer.concat(chunks))
    const is_taken = status >= 200 && status < 300
    resolve({
      status,
      error: is_taken ? null : "http",
      excerpt: excerpt === "" ? null : excerpt,
      retry_after_seconds: secondsOf(answer.headers["retry-after"]),
      response_bytes: length
    })
  }
  answer.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (chunks.length === 0 || length - chunk.length < excerpt_bytes) chunks.push(chunk)
    if (length < answer_bytes_max) return
    // The status decides; an endless response is cut off.
    done()
    answer.destroy()
  })
  answer.once("end", done)
  answer.once("error", reject)
}
/** Decodes a response excerpt in any encoding, without characters invalid in databases or terminals. */
const excerptOf = (bytes: Buffer): string =>
  new TextDecoder().decode(bytes.subarray(0, excerpt_bytes)).replaceAll("\u0000", "").toWellFormed()

/** Seconds from a `Retry-After` header, a number or a date; null if invalid. */
const secondsOf = (given: string | undefined): number | null => {
  if (given === undefined) return null
  if (/^\d{1,9}$/.test(given.trim())) return Number(given)
  const until = Date.parse(given)
  return Number.isNaN(until) ? null : Math.max(0, Math.ceil((until - Date.now()) / 1_000))
}

const errorOf = (cause: unknown): AttemptError => {
  for (let at: unknown = cause, depth = 0; at instanceof Error && depth < 5; depth++) {
    const code = "code" in at ? String(at.code) : ""
    if (at instanceof RefusedTarget || code === "ERR_IP_BLOCKED") return "refused_target"
    if (/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/.test(code)) return "dns"
    if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME_MISMATCH)/.test(code)) return "tls"
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
    else at = at.cause
  }
  return "connect"
}
