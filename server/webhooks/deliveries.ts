/**
 * Rows of what is on its way: of events, once for each webhook; of tests and replays as often as they are asked for.
 */
import { createHash, randomUUID } from "node:crypto"
import { bodyOf, type Message } from "./payloads.ts"
import type { DeliveryRow } from "./schema.ts"
import type { JsonObject } from "../../core/kernel/json.ts"

const waiting = (now: string) => ({
  state: "waiting",
  attempts: 0,
  due_at: now,
  claimed_until: null,
  claimed_by: null,
  created_at: now
})

/** A message for a webhook, due at once. */
export const deliveryOf = (
  webhook_id: number,
  { event, kind }: Message,
  body: string | null,
  now: string
): DeliveryRow => ({
  ...waiting(now),
  key: keyOf(webhook_id, event.position, kind.name),
  webhook_id,
  event: kind.name,
  // The command tells apart events that got the same position in two lives of a restored journal: receivers remember
  // ids.
  event_id: `msg_${headerTextOf(event.command_id)}_${event.position}_${webhook_id}_${kind.name.replaceAll(".", "-")}`,
  position: event.position,
  happened_at: event.recorded_at,
  body,
  purpose: "event"
})
/** Devices give their commands any ids. This one becomes a header, and is signed with dots between its parts. */
const headerTextOf = (command_id: string): string =>
  /^[\w-]+$/.test(command_id) ? command_id : createHash("sha256").update(command_id).digest("hex").slice(0, 32)
const keyOf = (webhook_id: number, position: number, name: string): string => `${webhook_id}:${position}:${name}`

/** The same once more, under the same id. Its body is that of the first, looked up when it is sent. */
export const replayOf = (row: DeliveryRow, now: string): DeliveryRow => ({
  ...row,
  ...waiting(now),
  key: `${firstKeyOf(row)}:${randomUUID()}`,
  body: row.position === null ? row.body : null,
  purpose: "replay"
})
/** The key of the delivery that a replay repeats. */
export const firstKeyOf = ({ event, key, position, webhook_id }: DeliveryRow): string =>
  position === null ? key.replace(/^((?:test|told):[^:]+):.*$/, "$1") : keyOf(webhook_id, position, event)

/** A message of what no event caused. */
export const toldOf = (webhook_id: number, event: string, body: string, now: string): DeliveryRow => {
  const id = randomUUID()
  return {
    ...waiting(now),
    key: `told:${id}`,
    webhook_id,
    event,
    event_id: `msg_${id}`,
    position: null,
    happened_at: now,
    body,
    purpose: "event"
  }
}

export const test_event = "webhook.test"
export const testOf = (webhook_id: number, webhook: JsonObject, now: string): DeliveryRow => {
  const id = randomUUID()
  return {
    ...waiting(now),
    key: `test:${id}`,
    webhook_id,
    event: test_event,
    event_id: `msg_${id}`,
    position: null,
    happened_at: now,
    body: bodyOf(test_event, now, { webhook }),
    purpose: "test"
  }
}
