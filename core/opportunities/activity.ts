/**
 * The activity of an opportunity, read from its stream: each event as an entry with old and new values
 * (rules/opportunities 15).
 */
import { decodeData } from "../kernel/event-type.ts"
import type { StoredEvent } from "../kernel/event.ts"
import { opportunityEvents } from "./events.ts"
import type { AuditEntry } from "../activity-log/answers.ts"

const entries = new Map(
  opportunityEvents.filter(({ activity }) => activity !== undefined).map((kind) => [kind.type, kind])
)
/** The types of events that are entries. Prices and demands that follow from them are not. */
export const activity_event_types: ReadonlyArray<string> = [...entries.keys()]

/**
 * One entry. `user_name`: the actor's present name, null for the system. `ip_address` is always null: the journal holds
 * none.
 */
export const activityEntry = (event: StoredEvent, opportunity_id: number, user_name: string | null): AuditEntry => {
  const kind = entries.get(event.type)
  return {
    id: event.position,
    user_id: event.actor_id,
    user_name,
    action: event.type,
    auditable_type: "opportunity",
    auditable_id: opportunity_id,
    ...(kind?.activity?.(decodeData(kind, event.data)) ?? { old_values: null, new_values: null }),
    ip_address: null,
    created_at: event.recorded_at
  }
}
