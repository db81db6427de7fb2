/** Opportunities: made, changed and copied ones whole; whatever else happens to them as `{ id, action }`. */
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
  ...lean(["shortage.acknowledged"], ({ opportunity_id }) => Number(opportunity_id))
]
