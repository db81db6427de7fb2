/** Records of acknowledged shortages (rules/opportunities 9.5). */
import { boolean, choice, json, type JsonObject, longText, ref, timestamp } from "../../../kernel/fields/field.ts"
import { table } from "../../../kernel/tables/table.ts"

export const acknowledgements = table(
  "shortage_acknowledgements",
  {
    opportunity_id: ref("opportunities", { computed: true, live: false, on_delete: "keep" }),
    user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    acknowledged_at: timestamp({ computed: true }),
    /** The store's policy at that time, before permissions. */
    policy_at_time: choice({ block: "Block", warn: "Warn", allow: "Allow" }, { computed: true }),
    /** Whether the permission to ignore shortages was needed. */
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
