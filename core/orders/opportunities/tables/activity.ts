/**
 * The activity of an opportunity, read from its stream: each event as an entry with old and new values
 * (rules/opportunities 15).
 */
import { type AnyEventType, decodeData, type StoredEvent } from "../../../kernel/events/event-type.ts"
import type { Catalogue } from "../../../kernel/endpoints/endpoint.ts"
import type { AuditEntry } from "../../../people/activity-log.ts"

/**
 * Event types with an activity entry, including those of other slices (an attached file). Resulting prices and demands
 * have none.
 */
export const activityKinds = ({ events }: Pick<Catalogue, "events">): ReadonlyMap<string, AnyEventType> =>
  new Map([...events].filter(([, { activity }]) => activity !== undefined))

/**
 * One entry. `user_name`: the actor's present name, null for the system. `ip_address` is always null: the journal holds
 * none.
 */
export const activityEntry = (
  event: StoredEvent,
  kind: AnyEventType | undefined,
  opportunity_id: number,
  user_name: string | null
): AuditEntry => {
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
