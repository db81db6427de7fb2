/** What tells people of each type; codes to log in with and tests of the mail settings are mails alone. */
import type { Cause } from "../happening.ts"
import { activityAssigned } from "./activities.ts"
import { documentGeneratedCause } from "./documents.ts"
import { opportunityCancelled, waitlistMatched } from "./opportunities.ts"
import { simpleCauses } from "./simple.ts"
import { userCauses } from "./users.ts"

export const causes: ReadonlyArray<Cause> = [
  ...simpleCauses,
  opportunityCancelled,
  waitlistMatched,
  documentGeneratedCause,
  activityAssigned,
  ...userCauses
]
const by_event = new Map<string, Array<Cause>>()
for (const cause of causes) for (const type of cause.on) by_event.set(type, [...(by_event.get(type) ?? []), cause])

/** The causes events of this type may be. */
export const causesOf = (event_type: string): ReadonlyArray<Cause> => by_event.get(event_type) ?? []
/** Types of events that may tell somebody something. */
export const telling_events: ReadonlyArray<string> = [...by_event.keys()]
