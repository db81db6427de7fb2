/** Events of creating, copying and extending an opportunity, and of header changes (rules/opportunities 4, 5). */
import { Schema } from "effect"
import { eventType, rowMade, update } from "../../../kernel/index.ts"
import type { AnyEventType, JsonObject, NewEvent, SomeColumns } from "../../../kernel/index.ts"
import type { HeaderChanged } from "./event-families.ts"
import { changedValues, headerChanges, opportunityStream, pick, withReason } from "./event-families.ts"
import { acknowledgements, opportunities, type OpportunityRow } from "../tables/index.ts"

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
/** `also`: ids of lines in `lines_followed` and `lines_kept`, and the `reason`, if given. */
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

// Events of status changes, locks, deletion and restoring (rules/opportunities 1, 6).

const activityWithReason = (data: HeaderChanged) => withReason(changedValues(data))
const explained = (meaning: string) => ({ meaning, activity: activityWithReason })
export const statusChanges = headerChanges({
  quoted: "A draft became a quotation.",
  converted_to_order: "A quotation became an order; its stock is reserved.",
  status_changed: "The opportunity's status within its state changed.",
  status_promoted: "The order's status followed its lines: Active to Checked.",
  reinstated: explained("A lost, dead, postponed or cancelled opportunity was reinstated."),
  reopened: explained("A complete order was reopened."),
  reverted_to_draft: explained("A quotation became a draft again."),
  reverted_to_quotation: explained("An order became a quotation again; its reservations were released."),
  locks_applied: explained("Exchange rate and taxes were locked."),
  locks_released: explained("Exchange rate and taxes were unlocked."),
  restored: {
    meaning: "A deleted opportunity was restored.",
    activity: ({ id }) => ({ old_values: null, new_values: { id } })
  }
})
export type StatusChange = Parameters<typeof statusChanges.make>[0]

export const opportunityDeleted = eventType("opportunity.deleted", {
  meaning: "An opportunity was deleted; it can be restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [update(opportunities, id, { deleted_at: recorded_at })],
  activity: ({ id }) => ({ old_values: null, new_values: { id } })
})

export const statusEvents: ReadonlyArray<AnyEventType> = [...statusChanges.types, opportunityDeleted]

/** The event of accepted shortages (rules/opportunities 9.5). */
export const shortageAcknowledged = rowMade("shortage.acknowledged", acknowledgements, {
  meaning: "A user acknowledged that an order is short and went ahead.",
  stream: ({ opportunity_id }) => opportunityStream(opportunity_id!),
  activity: ({ permission_used, policy_at_time, shortages_snapshot }) => ({
    old_values: null,
    new_values: {
      policy_at_time: policy_at_time ?? null,
      permission_used: permission_used ?? null,
      shortage_count: shortages_snapshot?.length ?? 0
    }
  })
})
