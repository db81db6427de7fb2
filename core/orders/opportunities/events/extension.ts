/** How a hire is extended, or shortened: its dates and those of its lines in one go (rules/opportunities 4.3). */
import type { AnyEventType, NewEvent } from "../../../kernel/events/event-type.ts"
import type { JsonObject } from "../../../kernel/fields/json.ts"
import type { SomeColumns } from "../../../kernel/tables/stored-schema.ts"
import { changedValues, type HeaderChanged, headerChanges, withReason } from "./event-families.ts"
import type { opportunities, OpportunityRow } from "../tables/opportunities.ts"

const extensions = headerChanges({
  extended: {
    meaning: "The hire got other dates, later or sooner; `also` says which lines went with it. Their events follow.",
    activity: (data: HeaderChanged) => withReason(changedValues(data))
  }
})
/** `also`: `lines_followed` and `lines_kept`, ids of lines, and the `reason`, where one was given. */
export const hireExtended = (row: OpportunityRow, set: SomeColumns<typeof opportunities>, also: JsonObject): NewEvent =>
  extensions.make("extended", row, set, also)

export const extensionEvents: ReadonlyArray<AnyEventType> = extensions.types
