/** Requests and responses between a socket and the pipeline. */
import type { Stream } from "effect"
import type { Headers } from "../ports/server-slice.ts"

export interface HttpRequest {
  readonly method: string
  /** As on the request line: path, and query if there is one. */
  readonly target: string
  readonly headers: Headers
  readonly remote_address: string
  /** The body's bytes; "too long" once there are more than `max`. Called at most once. */
  readonly body: (max: number) => Promise<Uint8Array | "too long">
  /** The body's bytes as they come, instead of `body`; reading may stop early. */
  readonly parts?: () => AsyncIterable<Uint8Array>
}
/** Content on its way from a store of files, or one that goes on until either side ends it. */
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
