/** Events of an opportunity's participants (rules/opportunities 12). */
import type { AnyEventType, NewEvent } from "../../../kernel/index.ts"
import { childEvents, pick } from "./event-families.ts"
import { opportunity_participants, type ParticipantRow } from "../tables/index.ts"
import { headerEvents, shortageAcknowledged, statusEvents } from "./header.ts"
import { lineEvents, unitEvents } from "./lines.ts"
import { moneyEvents } from "./money.ts"
import { versionEvents } from "./versions.ts"
import { waitingEvents } from "./waiting.ts"

const { added, changes, removed } = childEvents("participant", opportunity_participants)
const shown = ["member_id", "role", "mute"]

const participant_added = added("participant_added", "A participant was added.", (row) => ({
  participant_id: row.id,
  ...pick(row, shown)
}))
export const participantAdded = participant_added.make

const participant_changes = changes({ participant_updated: "A participant's role or mute changed." })
export const participantUpdated = (row: ParticipantRow, set: Partial<ParticipantRow>): NewEvent =>
  participant_changes.make(row, "participant_updated", set)

const participant_removed = removed("participant_removed", "A participant was removed.")
export const participantRemoved = (row: ParticipantRow): NewEvent =>
  participant_removed.make(row, { participant_id: row.id, ...pick(row, shown) })

const participantEvents: ReadonlyArray<AnyEventType> = [
  participant_added.type,
  ...participant_changes.types,
  participant_removed.type
]

// All event types that opportunities record.

export const opportunityEvents: ReadonlyArray<AnyEventType> = [
  ...headerEvents,
  ...statusEvents,
  ...lineEvents,
  ...moneyEvents,
  ...participantEvents,
  ...unitEvents,
  ...versionEvents,
  shortageAcknowledged,
  ...waitingEvents
]
