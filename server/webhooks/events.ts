/**
 * What is done to webhooks, for the journal: who has what sent where. Neither secrets nor whole addresses are in these
 * events, as paths and queries of addresses often hold secrets of their receivers.
 */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../core/kernel/event-type.ts"
import type { WebhookRow } from "./schema.ts"

const what = () =>
  Schema.Struct({
    id: Schema.Int,
    user_id: Schema.Int,
    /** `https://example.com`: scheme, host and port. */
    target: Schema.String,
    events: Schema.Array(Schema.String),
    is_active: Schema.Boolean
  })
export const webhookCreated = eventType("webhook.created", {
  meaning: "An address was subscribed to events.",
  data: what,
  project: "changes_no_table"
})
export const webhookUpdated = eventType("webhook.updated", {
  meaning: "A webhook goes elsewhere, tells of other events, or was turned on or off by hand.",
  data: what,
  project: "changes_no_table"
})
const which = () => Schema.Struct({ id: Schema.Int })
export const webhookSecretRotated = eventType("webhook.secret_rotated", {
  meaning: "A webhook's deliveries are signed with a new secret.",
  data: which,
  project: "changes_no_table"
})
export const webhookDeleted = eventType("webhook.deleted", {
  meaning: "A webhook was removed, with its log.",
  data: which,
  project: "changes_no_table"
})
export const webhookEvents: ReadonlyArray<AnyEventType> = [
  webhookCreated,
  webhookUpdated,
  webhookSecretRotated,
  webhookDeleted
]

type Described = Pick<WebhookRow, "id" | "user_id" | "url" | "events" | "is_active">
export const describedWebhook = ({ id, user_id, url, events, is_active }: Described) => ({
  id,
  user_id,
  target: URL.parse(url)?.origin ?? "",
  events,
  is_active
})
