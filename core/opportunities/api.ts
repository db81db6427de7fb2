/** The slice of opportunities: its tables, events and endpoints, facet by facet. */
import { Schema } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { follow } from "../kernel/event-type.ts"
import { removeWhere } from "../kernel/row-change.ts"
import { opportunityEvents } from "./events.ts"
import { extensionEndpoints } from "./extension/api.ts"
import { headerEndpoints } from "./header/api.ts"
import { lineEndpoints } from "./lines/api.ts"
import { opportunity_items } from "./lines/schema.ts"
import { moneyEndpoints } from "./money/api.ts"
import { opportunity_costs } from "./money/schema.ts"
import { participantEndpoints } from "./participants/api.ts"
import { opportunity_participants } from "./participants/schema.ts"
import { readEndpoints } from "./query.ts"
import { opportunityResource } from "./resources.ts"
import { opportunities } from "./schema.ts"
import { shortageEndpoints } from "./shortages/api.ts"
import { shortagesSeenAgain } from "./shortages/reactions.ts"
import { acknowledgements } from "./shortages/schema.ts"
import { statusEndpoints } from "./status/api.ts"
import { bulkEndpoints } from "./units/api-bulk.ts"
import { unitEndpoints } from "./units/api.ts"
import { asset_assignments } from "./units/schema.ts"
import { versionEndpoints } from "./versions/api.ts"
import { opportunity_versions } from "./versions/schema.ts"
import { waitingEndpoints } from "./waiting/api.ts"
import { shortage_waits } from "./waiting/schema.ts"

export const opportunitiesSlice: Slice = {
  name: "opportunities",
  tables: [
    opportunities,
    opportunity_items,
    opportunity_costs,
    opportunity_participants,
    asset_assignments,
    opportunity_versions,
    acknowledgements,
    shortage_waits
  ],
  resources: [opportunityResource],
  events: opportunityEvents,
  endpoints: [
    ...readEndpoints,
    ...headerEndpoints,
    ...extensionEndpoints,
    ...statusEndpoints,
    ...lineEndpoints,
    ...moneyEndpoints,
    ...participantEndpoints,
    ...unitEndpoints,
    ...bulkEndpoints,
    ...versionEndpoints,
    ...shortageEndpoints,
    ...waitingEndpoints
  ],
  react: [shortagesSeenAgain],
  // A line that goes takes its place on the waiting list with it.
  follows: [
    follow(
      "opportunity.item_removed",
      () => Schema.Struct({ item_id: Schema.Int }),
      ({ item_id }) => [removeWhere(shortage_waits, { opportunity_item_id: item_id })]
    )
  ]
}
