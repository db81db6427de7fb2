/**
 * What the house and its people said of notifications (rules/conventions 15). A row stands for what somebody said;
 * where there is none, the type's own defaults hold.
 */
import { boolean, choice, list, ref, text } from "../kernel/field.ts"
import { type RowOf, plainTable, table } from "../kernel/table.ts"
import { visible_to_all } from "../kernel/visibility.ts"
import { notification_channels } from "./types.ts"

/** Null: those of the setting, or of the type. An empty list: nobody is told. */
const channels = list(choice(notification_channels), { nullable: true, distinct: true })

export const notification_settings = plainTable(
  "notification_settings",
  "notification_type",
  { notification_type: text({ max: 60 }), channels, is_enabled: boolean({ default: true }) },
  // What people see of their own preferences depends on them.
  { visibility: visible_to_all, named_by: ["notification_type"] }
)
export type NotificationSettingRow = RowOf<typeof notification_settings>

export const notification_preferences = table(
  "notification_preferences",
  {
    /** Of two members that turn out to be one, the primary's own come first; the other's fill in what it left open. */
    member_id: ref("members", {
      computed: true,
      on_delete: "keep",
      on_merge: "follow",
      merge_once_per: "notification_type"
    }),
    notification_type: text({ computed: true, max: 60 }),
    channels,
    is_muted: boolean({ default: false })
  },
  {
    // As a merge and an erasure of the member find them.
    stream: { entity: "member", column: "member_id" },
    named_by: ["notification_type"],
    uniques: [
      {
        columns: ["member_id", "notification_type"],
        field: "preferences",
        message: "The preference was set at the same time by somebody else. Send it again."
      }
    ],
    visibility: {
      all_columns: ["members.edit"],
      by_row: (row, viewer) => viewer.person_id !== null && row["member_id"] === viewer.person_id,
      says_by: ["member_id"]
    }
  }
)
export type NotificationPreferenceRow = RowOf<typeof notification_preferences>
