/** Messages of Electric's shape protocol, with their headers. Devices decode them by Schemas of sync/protocol. */
import { type Answer, choice, integer, list, Shown, type StoredEvent, text } from "../../core/kernel/index.ts"
import { Sse } from "effect/encoding"
import type { redactionFor } from "../protocol/redaction.ts"

const control = Shown.keys({ headers: Shown.map(text()) })
/** Messages of Electric's shape protocol: journal rows as texts, and control messages. */
export const messagesShown = Shown.list(
  Shown.either(
    control,
    Shown.keys({
      key: text(),
      value: Shown.map(text({ nullable: true })),
      headers: Shown.keys({
        operation: choice({ insert: "Insert" }),
        relation: list(text()),
        lsn: text(),
        op_position: integer()
      })
    })
  )
)
export const mustRefetchShown = Shown.list(control)

export const private_says = {
  Vary: "Responses differ by caller",
  "Access-Control-Expose-Headers": "Allows browser scripts to read every header"
}
export const shape_says = {
  ...private_says,
  "Electric-Handle": "Id of the shape, as visible to the caller",
  "Electric-Offset": "Offset of the last message in this response",
  "Electric-Cursor": "Value to send back as cursor, so that live responses are not taken from a cache",
  "Electric-Schema": "Columns of the journal's rows",
  "Electric-Up-To-Date": "Present when the client is up to date"
}

export const private_headers = {
  "cache-control": "private, no-cache",
  vary: "authorization",
  "access-control-expose-headers": "*"
}
/** The answer by which the reader must start over under a new handle. */
type Refetch = Answer<typeof mustRefetchShown.Type>
export const mustRefetch = (handle: string): Refetch => ({
  status: 409,
  headers: { ...private_headers, "electric-handle": handle },
  body: [{ headers: { control: "must-refetch" } }]
})

type Messages = typeof messagesShown.Type
export const seenMessages = (
  { see }: ReturnType<typeof redactionFor>,
  events: ReadonlyArray<StoredEvent>
): Array<Messages[number]> =>
  events.flatMap((event) => {
    const seen = see(event)
    return seen === undefined ? [] : [message({ ...event, type: seen.type }, JSON.stringify(seen.data))]
  })
const message = (event: StoredEvent, data: string): Messages[number] => ({
  key: `"public"."journal"/"${event.position}"`,
  value: {
    position: String(event.position),
    stream: event.stream,
    version: String(event.version),
    type: event.type,
    data,
    command_id: event.command_id,
    actor_id: event.actor_id === null ? null : String(event.actor_id),
    replica_id: event.replica_id === null ? null : String(event.replica_id),
    recorded_at: event.recorded_at
  },
  headers: { operation: "insert", relation: ["public", "journal"], lsn: String(event.position), op_position: 0 }
})

/** Messages as server-sent events. The last one, which ends a batch, has the offset after it as id. */
export const eventsOf = (messages: Messages, offset: string | undefined): string =>
  messages
    .map((one, at) => {
      const id = at === messages.length - 1 ? offset : undefined
      return Sse.encoder.write({ _tag: "Event", event: "message", id, data: JSON.stringify(one) })
    })
    .join("")
