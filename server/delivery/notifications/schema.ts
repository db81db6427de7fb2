/**
 * Notifications, on the server alone: a row for each person and notification event. Rows name their subject by id;
 * texts are written on reading, so that no row contains a name.
 */
import { boolean, id, integer, json, type JsonObject, text, timestamp } from "../../../core/kernel/fields/field.ts"
import { plainTable, type RowOf } from "../../../core/kernel/tables/table.ts"

const whole = { max: Number.MAX_SAFE_INTEGER } as const

export const notifications = plainTable(
  "notifications",
  "id",
  {
    id: id(),
    /** Unique id of user and event: an event notifies a user once, however often its job runs. */
    dedupe_key: text({ hidden: true, max: 200 }),
    user_id: integer({ ...whole, hidden: true }),
    notification_type: text({ max: 60, search: true }),
    /** Table and id of the subject, such as `opportunities`. */
    subject_type: text({ nullable: true, max: 60, search: true }),
    subject_id: integer({ ...whole, nullable: true }),
    /** Ids and figures for the texts; no names. */
    details: json<JsonObject>({ default: {}, hidden: true }),
    /** Permissions, separated by spaces, required to see it: those of the subject's list. */
    seen_with: text({ default: "", hidden: true, max: 100 }),
    /** The acting user; null for the server or clients without an account. */
    actor_id: integer({ ...whole, nullable: true }),
    /** The recipient's own action: listed as read, and not mailed. */
    is_own: boolean({ default: false }),
    /** Row of a burst: counts later notifications of one type by one user while unread (`bursts.ts`). */
    burst: text({ nullable: true, hidden: true, max: 200 }),
    /** Whether it is in the inbox. */
    in_inbox: boolean({ hidden: true }),
    is_broadcast: boolean({ hidden: true }),
    /** `none`, `waiting` to be gathered into a mail, or `sent`. */
    mail_state: text({ hidden: true, max: 10 }),
    read_at: timestamp({ nullable: true }),
    created_at: timestamp()
  },
  {
    entity: "notification",
    on_conflict_ignore: true,
    uniques: [{ columns: ["dedupe_key"], field: "dedupe_key", message: "It was told already." }],
    // Lists, totals and resuming streams read by user in id order; counts need nothing else.
    indexes: [["user_id", "id", "in_inbox", "seen_with"], ["created_at"]],
    partial_indexes: [
      { columns: ["user_id", "in_inbox", "seen_with"], where: "read_at is null" },
      { columns: ["burst", "created_at"], where: "burst is not null" },
      { columns: ["user_id", "id"], where: "mail_state = 'waiting'" }
    ]
  }
)
export type NotificationRow = RowOf<typeof notifications>

/** Time of the last gathered mail to the user. */
export const notification_mailings = plainTable("notification_mailings", "user_id", {
  user_id: integer(whole),
  sent_at: timestamp()
})

/** How far one user's notifications of one type exceed the rate of single rows. */
export const notification_bursts = plainTable(
  "notification_bursts",
  "burst",
  { burst: text({ max: 200 }), paced_until: timestamp() },
  { indexes: [["paced_until"]] }
)
/** Commands counted in a burst's row, each once, however often its job runs. */
export const notification_burst_commands = plainTable(
  "notification_burst_commands",
  "command",
  { command: text({ max: 300 }), created_at: timestamp() },
  { indexes: [["created_at"]] }
)
