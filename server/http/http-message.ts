/** Requests and responses between a socket and the pipeline. */
import { firstOf } from "../../core/values/text.ts"
import type { Stream } from "effect"
import type { Headers } from "../ports/server-slice.ts"
import { isIP, isIPv6 } from "node:net"

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
export interface StreamedBody {
  /** Undefined if the length is unknown before the end. */
  readonly size_bytes: number | undefined
  readonly stream: Stream.Stream<Uint8Array, unknown>
}
export interface HttpResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | StreamedBody | undefined
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
  const entries = [forwarded_for ?? []]
    .flat()
    .join(",")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
  if (trusted_proxies === 0 || entries.length === 0) return peer
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
