/** What happens to sources of webhooks. Their secrets are in no event. */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../core/kernel/event-type.ts"

const what = () => Schema.Struct({ id: Schema.Int, name: Schema.String, kind: Schema.String })
export const sourceAdded = eventType("inbound_source.added", {
  meaning: "A source may send webhooks here.",
  data: what,
  project: "changes_no_table"
})
export const sourceRemoved = eventType("inbound_source.removed", {
  meaning: "A source may send no more webhooks.",
  data: what,
  project: "changes_no_table"
})
export const inboundEvents: ReadonlyArray<AnyEventType> = [sourceAdded, sourceRemoved]
