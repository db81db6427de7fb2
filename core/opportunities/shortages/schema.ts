/** Shortages somebody saw and went ahead with all the same (rules/opportunities 9.5). */
import { boolean, choice, json, longText, ref, timestamp } from "../../kernel/field.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { rowMade } from "../../kernel/crud-resource.ts"
import { type RowOf, table } from "../../kernel/table.ts"
import { opportunityStream } from "../header/events.ts"

export const acknowledgements = table(
  "shortage_acknowledgements",
  {
    opportunity_id: ref("opportunities", { computed: true, live: false, on_delete: "keep" }),
    user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    acknowledged_at: timestamp({ computed: true }),
    /** The store's own policy. */
    policy_at_time: choice({ block: "Block", warn: "Warn", allow: "Allow" }, { computed: true }),
    /** Whether it took the right to ignore shortages. */
    permission_used: boolean({ computed: true }),
    shortages_snapshot: json<ReadonlyArray<JsonObject>>({ form: "array", computed: true }),
    notes: longText({ nullable: true })
  },
  {
    visibility: { all_columns: ["opportunities.*", "shortages.*"] },
    indexes: [["opportunity_id"]],
    entity: "shortage_acknowledgement"
  }
)
export type AcknowledgementRow = RowOf<typeof acknowledgements>

export const shortageAcknowledged = rowMade("shortage.acknowledged", acknowledgements, {
  meaning: "Somebody saw that an order is short and went ahead.",
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
