/** The event of accepted shortages (rules/opportunities 9.5). */
import { rowMade } from "../../../kernel/endpoints/crud-resource.ts"
import { opportunityStream } from "./event-families.ts"
import { acknowledgements } from "../tables/shortages.ts"

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
