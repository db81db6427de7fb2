/** Requests and responses between a socket and the pipeline. */
import { firstOf } from "../../core/values/text.ts"
import type { Answer } from "../../core/kernel/index.ts"
import { Effect, type Stream } from "effect"
import type { Headers } from "../ports/server-slice.ts"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isIP, isIPv6, type Socket } from "node:net"

export interface HttpRequest {
  readonly method: string
  /** Request target: the path, and the query if there is one. */
  readonly target: string
  readonly headers: Headers
  readonly remote_address: string
  /** The body's bytes; "too long" once there are more than `max`. Called at most once. */
  readonly body: (max: number) => Promise<Uint8Array | "too long">
  /** The body's chunks, instead of `body`; reading may stop early. */
  readonly parts?: () => AsyncIterable<Uint8Array>
}
/** Streamed content: a file from the store, or an endless stream. */
interface StreamedBody {
  /** Undefined if the length is unknown before the end. */
  readonly size_bytes: number | undefined
  readonly stream: Stream.Stream<Uint8Array, unknown>
}
export interface HttpResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | StreamedBody | undefined
  readonly shared?: Answer["shared"]
}

// Client addresses, and which of them count as one client.

/**
 * The client behind `trusted_proxies` proxies. Each of them appends its client's address to X-Forwarded-For, so that
 * this many entries from the right are true; those before them are whatever the client wrote. Without proxies the
 * header is ignored.
 */
export const clientAddress = (
  peer: string,
  forwarded_for: string | ReadonlyArray<string> | undefined,
  trusted_proxies: number
): string => {
  if (trusted_proxies === 0) return peer
  const entries = [forwarded_for ?? []]
    .flat()
    .join(",")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
  if (entries.length === 0) return peer
  return bareAddress(entries.at(-trusted_proxies) ?? firstOf(entries)) ?? peer
}
/** The IP address without brackets and port of `[2001:db8::1]:443` or `192.0.2.1:443`; undefined if it is none. */
const bareAddress = (text: string): string | undefined => {
  const found = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  return isIP(found) === 0 ? undefined : found
}

/**
 * The network that counts as one client: an IPv4 address (also from ::ffff:192.0.2.1), or the /64 of an IPv6 address,
 * as one customer has all addresses of it.
 */
export const networkOf = (address: string): string => {
  const plain = address.replace(/%.*$/, "")
  if (!isIPv6(plain)) return plain
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  const [head = "", tail] = plain.split("::")
  const groups = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length - (plain.includes(".") ? 1 : 0)
  const all = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => "0"), ...after]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`
}

// Requests of Node as the pipeline takes them.

/**
 * Bytes of a too long body that are read and discarded: most clients read no response before they have sent everything.
 */
const discarded_max = 8 * 1_048_576
/** Bytes of an unread body that are read after the response; beyond this the connection is closed. */
const discarded_after_response = 256 * 1_024
/** Milliseconds in which the client of such a connection can read its response. */
const closing_millis = 500

export const askedOf = (request: IncomingMessage, trusted_proxies: number): HttpRequest => ({
  method: request.method ?? "GET",
  target: request.url ?? "/",
  headers: request.headers,
  remote_address: clientAddress(
    request.socket.remoteAddress ?? "",
    request.headers["x-forwarded-for"],
    trusted_proxies
  ),
  body: (max) => bodyOf(request, max),
  // The remaining body is discarded with the response, so that the client can read the latter.
  parts: () => ({ [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) })
})

const bodyOf = (request: IncomingMessage, max: number): Promise<Uint8Array | "too long"> => {
  const announced = Number(request.headers["content-length"] ?? Number.NaN)
  if (announced === 0 || (Number.isNaN(announced) && request.headers["transfer-encoding"] === undefined))
    return Promise.resolve(new Uint8Array(0))
  if (announced > max + discarded_max) return Promise.resolve("too long")
  return new Promise((resolve, reject) => {
    let parts: Array<Uint8Array> = []
    let length = 0
    request.on("data", (part: Uint8Array) => {
      length += part.length
      if (length <= max) parts.push(part)
      else {
        parts = []
        if (length > max + discarded_max) {
          request.pause()
          resolve("too long")
        }
      }
    })
    request.on("end", () =>
      resolve(length > max ? "too long" : parts.length === 1 ? firstOf(parts) : Buffer.concat(parts))
    )
    request.on("error", reject)
    request.on("close", () => {
      // Each request closes; an error costs a stack trace.
      if (!request.readableEnded) reject(new Error("the client hung up"))
    })
  })
}

/**
 * Drains small unread bodies: a client cut off mid-upload never sees the response. False for longer bodies and those of
 * unknown length, whose connection must then be closed.
 */
export const discarded = (request: IncomingMessage): Effect.Effect<boolean> =>
  request.complete || !hasBody(request) ? Effect.succeed(true) : discardedBody(request)
const discardedBody = Effect.fnUntraced(function* (request: IncomingMessage) {
  // Lets the parser see data that came with the head: it responds to a malformed chunk with 400, and nothing else may.
  yield* Effect.yieldNow
  const announced = Number(request.headers["content-length"])
  if (request.complete) return true
  if (announced > discarded_after_response && announced <= discarded_max) {
    yield* Effect.callback<void>((resume) => {
      const done = (): void => resume(Effect.void)
      request.once("end", done).once("close", done).on("error", done).resume()
    })
  }
  return announced <= discarded_max
})

const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

/**
 * Ends a request whose body was not read: the rest is read if short, else the connection closed. Node would destroy a
 * closing connection at once, so that its client loses the response while it is still sending.
 */
export const endBody = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.complete || request.destroyed) return
  const { socket } = request
  if (Reflect.get(response, "_last") === true) {
    // Read by Node's own listener, which runs next.
    Reflect.set(request, "_consuming", true)
    Reflect.set(response, "_last", false)
    return closeSoon(socket)
  }
  let bytes = 0
  request.on("data", (part: Uint8Array) => {
    bytes += part.length
    if (bytes <= discarded_after_response) return
    request.pause()
    closeSoon(socket)
  })
  request.resume()
}
const closeSoon = (socket: Socket): void => {
  if (socket.destroyed) return
  socket.end()
  const timer = setTimeout(() => socket.destroy(), closing_millis)
  socket.once("close", () => clearTimeout(timer))
}
