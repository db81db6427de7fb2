/** How an opportunity is made, copied, extended, and its header changed (rules/opportunities 4, 5). */
import { Schema } from "effect"
import { rowMade } from "../../../kernel/endpoints/crud-resource.ts"
import { type AnyEventType, eventType, type NewEvent } from "../../../kernel/events/event-type.ts"
import type { JsonObject } from "../../../kernel/fields/field.ts"
import type { SomeColumns } from "../../../kernel/tables/stored-schema.ts"
import { changedValues, type HeaderChanged, headerChanges, pick, withReason } from "./event-families.ts"
import { opportunities, type OpportunityRow } from "../tables/opportunities.ts"

export const opportunityCreated = rowMade("opportunity.created", opportunities, {
  meaning: "An opportunity was created: its full header.",
  activity: (row) => ({
    old_values: null,
    new_values: pick(row, [
      "subject",
      "number",
      "state",
      "status",
      "member_id",
      "store_id",
      "owned_by",
      "venue_id",
      "reference",
      "description",
      "external_description",
      "charge_total",
      "tag_list"
    ])
  })
})

const updates = headerChanges({ updated: "Fields of the opportunity's header were changed." })
export const headerUpdated = (row: OpportunityRow, set: SomeColumns<typeof opportunities>): NewEvent =>
  updates.make("updated", row, set)

const extensions = headerChanges({
  extended: {
    meaning:
      "The hire dates changed, later or earlier; `also` names the lines that moved with it. Their events follow.",
    activity: (data: HeaderChanged) => withReason(changedValues(data))
  }
})
/** `also`: `lines_followed` and `lines_kept`, ids of lines, and the `reason`, where one was given. */
export const hireExtended = (row: OpportunityRow, set: SomeColumns<typeof opportunities>, also: JsonObject): NewEvent =>
  extensions.make("extended", row, set, also)

export const opportunityCloned = eventType("opportunity.cloned", {
  meaning: "This opportunity was created as a copy of another one.",
  data: () => Schema.Struct({ id: Schema.Int, source_opportunity_id: Schema.Int }),
  project: "changes_no_table",
  activity: (data) => ({ old_values: null, new_values: pick(data, ["source_opportunity_id"]) })
})

export const headerEvents: ReadonlyArray<AnyEventType> = [
  opportunityCreated,
  ...updates.types,
  opportunityCloned,
  ...extensions.types
]
