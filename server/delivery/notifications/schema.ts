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
    /** Of person and happening: the same happening tells a person once, however often its job runs. */
    dedupe_key: text({ hidden: true, max: 200 }),
    user_id: integer({ ...whole, hidden: true }),
    notification_type: text({ max: 60, search: true }),
    /** What it is about: `opportunities` and its id. */
    subject_type: text({ nullable: true, max: 60, search: true }),
    subject_id: integer({ ...whole, nullable: true }),
    /** Ids and figures the words are made of besides; no names. */
    details: json<JsonObject>({ default: {}, hidden: true }),
    /** The permissions, apart by blanks, without which it is not shown: those its subject's list asks for. */
    seen_with: text({ default: "", hidden: true, max: 100 }),
    /** Who did it; null: the server itself, or somebody without an account. */
    actor_id: integer({ ...whole, nullable: true }),
    /** The person told did it: it is in the list as read, and is not mailed. */
    is_own: boolean({ default: false }),
    /** Much of one type by one person: those after it are counted by this row, while it is unread (`bursts.ts`). */
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
    // Lists, their totals and whoever listens again go by person in the order of ids; counts ask for nothing else.
    indexes: [["user_id", "id", "in_inbox", "seen_with"], ["created_at"]],
    partial_indexes: [
      { columns: ["user_id", "in_inbox", "seen_with"], where: "read_at is null" },
      { columns: ["burst", "created_at"], where: "burst is not null" },
      { columns: ["user_id", "id"], where: "mail_state = 'waiting'" }
    ]
  }
)
export type NotificationRow = RowOf<typeof notifications>

/** When somebody was last mailed what had been gathered. */
export const notification_mailings = plainTable("notification_mailings", "user_id", {
  user_id: integer(whole),
  sent_at: timestamp()
})

/** How far what one person does of one type is ahead of the pace at which it is told one by one. */
export const notification_bursts = plainTable(
  "notification_bursts",
  "burst",
  { burst: text({ max: 200 }), paced_until: timestamp() },
  { indexes: [["paced_until"]] }
)
/** Commands that were told of by the row of a burst: each is counted once, however often its job runs. */
export const notification_burst_commands = plainTable(
  "notification_burst_commands",
  "command",
  { command: text({ max: 300 }), created_at: timestamp() },
  { indexes: [["created_at"]] }
)
