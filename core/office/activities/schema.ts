/** Activities: calls, meetings, tasks and notes, with owner, subject and participants (rules/members-activities 6). */
import { boolean, choice, code, integer, json, list, longText, object, ref, table, text } from "../../kernel/index.ts"
import { timestamp, type JsonObject, type RowOf } from "../../kernel/index.ts"

/** Values of `regarding_type`: the tables an activity can be about. */
const regarding_types = {
  Member: "Member",
  Product: "Product",
  StockLevel: "Stock Level",
  Opportunity: "Opportunity"
} as const
const regarding_tables: { readonly [T in keyof typeof regarding_types]: string } = {
  Member: "members",
  Product: "products",
  StockLevel: "stock_levels",
  Opportunity: "opportunities"
}
export type RegardingType = keyof typeof regarding_types
export const priorities = { 0: "Low", 1: "Normal", 2: "High" } as const
const scheduled = 2001
export const completed = 2002
export const activity_statuses = {
  [scheduled]: "Scheduled",
  [completed]: "Completed",
  2003: "Cancelled",
  2004: "Held"
} as const
export const time_statuses = { 0: "Free", 1: "Busy" } as const
export const activityFields = {
  subject: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  location: text({ nullable: true }),
  regarding_id: integer({
    nullable: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    names: { by: "regarding_type", tables: regarding_tables }
  }),
  regarding_type: choice(regarding_types, { nullable: true }),
  /** Id of the user who owns the activity. */
  owned_by: ref("users", { nullable: true, on_delete: "keep" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  priority: code(priorities, { default: 1 }),
  type_id: ref("list_values", { nullable: true, on_delete: "clear" }),
  status_id: code(activity_statuses, { default: scheduled }),
  completed: boolean({ default: false }),
  time_status: code(time_statuses, { default: 0 }),
  custom_fields: json<JsonObject>({ default: {} }),
  participants: list(object({ member_id: ref("members", { required: true }), mute: boolean({ default: false }) }), {
    input_only: true
  })
}
const { participants: _participants, ...stored } = activityFields
export const activities = table("activities", stored, {
  entity: "activity",
  named_by: ["subject"],
  visibility: { all_columns: ["activities.*"] },
  references: [
    {
      column: "regarding_id",
      where: { regarding_type: "Member" },
      table: "members",
      rule: { on_delete: "keep", on_merge: "follow" }
    },
    {
      column: "regarding_id",
      where: { regarding_type: "Product" },
      table: "products",
      rule: { on_delete: "keep", on_merge: "follow" }
    },
    {
      column: "regarding_id",
      where: { regarding_type: "StockLevel" },
      table: "stock_levels",
      rule: { on_delete: "clear", clears: ["regarding_type"], on_merge: "follow" }
    },
    {
      column: "regarding_id",
      where: { regarding_type: "Opportunity" },
      table: "opportunities",
      rule: { on_delete: "keep" }
    }
  ],
  counted_by: ["type_id", "status_id", "completed"],
  indexes: [["starts_at"], ["owned_by", "starts_at"], ["regarding_type", "regarding_id"], ["created_at"]]
})
export type ActivityRow = RowOf<typeof activities>

export const activity_participants = table(
  "activity_participants",
  {
    activity_id: ref("activities", { computed: true, on_delete: "delete" }),
    member_id: ref("members", { computed: true, on_delete: "keep", on_merge: "follow", merge_once_per: "activity_id" }),
    mute: boolean({ computed: true, default: false })
  },
  {
    stream: { entity: "activity", column: "activity_id" },
    visibility: {
      all_columns: ["activities.*"],
      granted_columns: [{ to: ["members.delete"], columns: ["activity_id", "member_id"] }]
    },
    indexes: [["activity_id"], ["member_id"]]
  }
)
