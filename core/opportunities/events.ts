/** What happens to opportunities: every kind of event they record. */
import type { AnyEventType } from "../kernel/event-type.ts"
import { headerEvents } from "./header/events.ts"
import { partEvents } from "./part-events.ts"
import { shortageAcknowledged } from "./shortages/schema.ts"
import { versionEvents } from "./versions/events.ts"

export const opportunityEvents: ReadonlyArray<AnyEventType> = [
  ...headerEvents,
  ...partEvents,
  ...versionEvents,
  shortageAcknowledged
]
