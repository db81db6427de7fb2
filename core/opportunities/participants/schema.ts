/** Members who take part in an opportunity (rules/opportunities 12). */
import { boolean, ref, text } from "../../kernel/field.ts"
import { type RowOf, table } from "../../kernel/table.ts"
import { opportunityId } from "../child-columns.ts"

export const opportunity_participants = table(
  "opportunity_participants",
  {
    opportunity_id: opportunityId(),
    member_id: ref("members", {
      required: true,
      create_only: true,
      on_delete: "keep",
      on_merge: "follow",
      merge_once_per: "opportunity_id"
    }),
    role: text({ nullable: true, max: 100, on_null: "clear" }),
    mute: boolean({ default: false })
  },
  {
    entity: "opportunity_participant",
    visibility: {
      all_columns: ["opportunities.*"],
      granted_columns: [{ to: ["members.delete"], columns: ["opportunity_id", "member_id"] }]
    },
    indexes: [["member_id"]],
    uniques: [
      { columns: ["opportunity_id", "member_id"], field: "member_id", message: "The member takes part already." }
    ]
  }
)
export type ParticipantRow = RowOf<typeof opportunity_participants>
