/** What happens to opportunities: every kind of event they record. */
import type { AnyEventType } from "../kernel/event-type.ts"
import { extensionEvents } from "./extension/events.ts"
import { headerEvents } from "./header/events.ts"
import { lineEvents } from "./lines/events.ts"
import { moneyEvents } from "./money/events.ts"
import { participantEvents } from "./participants/events.ts"
import { shortageAcknowledged } from "./shortages/events.ts"
import { statusEvents } from "./status/events.ts"
import { unitEvents } from "./units/events.ts"
import { versionEvents } from "./versions/events.ts"
import { waitingEvents } from "./waiting/events.ts"

export const opportunityEvents: ReadonlyArray<AnyEventType> = [
  ...headerEvents,
  ...extensionEvents,
  ...statusEvents,
  ...lineEvents,
  ...moneyEvents,
  ...participantEvents,
  ...unitEvents,
  ...versionEvents,
  shortageAcknowledged,
  ...waitingEvents
]
