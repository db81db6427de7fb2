/** Opportunities: made, changed and copied ones whole; whatever else happens to them as `{ id, action }`. */
import { integer, text } from "../../../core/kernel/field.ts"
import { opportunityEvents } from "../../../core/opportunities/events.ts"
import { lean, type WebhookKind, wholeRow } from "../kind.ts"

const whole = ["opportunity.created", "opportunity.updated", "opportunity.cloned"]
/** What the activity lists; prices and demands that follow from other changes are no events of their own. */
const listed = opportunityEvents
  .filter(({ activity, type }) => activity !== undefined && type.startsWith("opportunity.") && !whole.includes(type))
  .map(({ type }) => type)

export const opportunityKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("opportunities", whole),
  ...lean(listed),
  ...lean(["shortage.acknowledged"], ({ opportunity_id }) => Number(opportunity_id)),
  {
    name: "shortage.waitlist.matched",
    on: "shortage.waitlist.matched",
    payload: {
      form: "event",
      shown: {
        opportunity_id: integer(),
        opportunity_item_id: integer(),
        product_id: integer(),
        quantity: integer(),
        waitlisted_by: integer({ nullable: true }),
        waitlisted_at: text()
      },
      of: ({ opportunity_id, opportunity_item_id, product_id, quantity, waitlisted_at, waitlisted_by }) => ({
        opportunity_id: opportunity_id ?? 0,
        opportunity_item_id: opportunity_item_id ?? 0,
        product_id: product_id ?? 0,
        quantity: quantity ?? 0,
        waitlisted_by: waitlisted_by ?? null,
        waitlisted_at: waitlisted_at ?? ""
      })
    }
  }
]
