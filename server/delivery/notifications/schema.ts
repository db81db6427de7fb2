/**
 * Notifications, on the server alone: a row for each person and notification event. Rows name their subject by id;
 * texts are written on reading, so that no row contains a name.
 */
import { boolean, id, integer, json, plainTable, text, timestamp } from "../../../core/kernel/index.ts"
import type { JsonObject, RowOf } from "../../../core/kernel/index.ts"

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
    /** Table of the subject, such as `opportunities`; its id is in `subject_id`. */
    subject_type: text({ nullable: true, max: 60, search: true }),
    subject_id: integer({ ...whole, nullable: true }),
    /** Ids and figures for the texts; no names. */
    details: json<JsonObject>({ default: {}, hidden: true }),
    /** Space-separated permissions required to see the row: those of the subject's list. */
    seen_with: text({ default: "", hidden: true, max: 100 }),
    /** The acting user; null for the server or clients without an account. */
    actor_id: integer({ ...whole, nullable: true }),
    /** Whether the recipient caused it: listed as read and, except for system types, not mailed. */
    is_own: boolean({ default: false }),
    /** Burst that the row counts: later notifications of one type by one user, while unread (`write.ts`). */
    burst: text({ nullable: true, hidden: true, max: 200 }),
    /** Whether it is in the inbox. */
    in_inbox: boolean({ hidden: true }),
    is_broadcast: boolean({ hidden: true }),
    /** `none`: not mailed; `waiting`: to be mailed; `sent`. */
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

/** Rate state of each burst: up to when the commands of one user and type use up the allowed rate. */
export const notification_bursts = plainTable(
  "notification_bursts",
  "burst",
  { burst: text({ max: 200 }), paced_until: timestamp() },
  { indexes: [["paced_until"]] }
)
/** Commands already counted in a burst's row, so that a repeated job does not count them again. */
export const notification_burst_commands = plainTable(
  "notification_burst_commands",
  "command",
  { command: text({ max: 300 }), created_at: timestamp() },
  { indexes: [["created_at"]] }
)
