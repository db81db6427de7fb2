/** What goes over the wire of a stream: server-sent events (text/event-stream), as bytes. */
import { Duration } from "effect"
import { Sse } from "effect/encoding"
import type { JsonObject } from "../../../core/kernel/json.ts"

/** What a client waits before it connects again. */
const reconnect_millis = 3_000

const encode = new TextEncoder()
/** Says at once that the stream stands, also through proxies that hold back a head without a body. */
export const opening = encode.encode(
  Sse.encoder.write(new Sse.Retry({ duration: Duration.millis(reconnect_millis), lastEventId: undefined })) +
    ": connected\n\n"
)
/** A comment, which clients pass over: who hears nothing for longer knows that the connection is dead. */
export const keep_alive = encode.encode(": \n\n")

export interface Frame {
  readonly id: number
  readonly bytes: Uint8Array
}
export const frameOf = (id: number, shown: JsonObject): Frame => ({
  id,
  bytes: encode.encode(
    Sse.encoder.write({ _tag: "Event", event: "notification", id: String(id), data: JSON.stringify(shown) })
  )
})
