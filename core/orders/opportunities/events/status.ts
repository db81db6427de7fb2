/** How an opportunity moves from status to status, is locked, deleted and restored (rules/opportunities 1, 6). */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../../kernel/events/event-type.ts"
import { update } from "../../../kernel/tables/table.ts"
import { changedValues, type HeaderChanged, headerChanges, withReason } from "./event-families.ts"
import { opportunities } from "../tables/opportunities.ts"

const activityWithReason = (data: HeaderChanged) => withReason(changedValues(data))
const explained = (meaning: string) => ({ meaning, activity: activityWithReason })
const status_changes = headerChanges({
  quoted: "A draft became a quotation.",
  converted_to_order: "A quotation became an order; its stock is reserved.",
  status_changed: "The opportunity's status within its state changed.",
  status_promoted: "The order's status followed its lines: dispatched, on hire, returned or complete.",
  reinstated: explained("A closed opportunity was reinstated."),
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
export type StatusChange = Parameters<typeof status_changes.make>[0]
export const statusChanged = status_changes.make

export const opportunityDeleted = eventType("opportunity.deleted", {
  meaning: "An opportunity was deleted; it can be restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [update(opportunities, id, { deleted_at: recorded_at })],
  activity: ({ id }) => ({ old_values: null, new_values: { id } })
})

export const statusEvents: ReadonlyArray<AnyEventType> = [...status_changes.types, opportunityDeleted]
