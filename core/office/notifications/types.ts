import { boolean, choice, list, plainTable, ref, Store, table, text, visible_to_all } from "../../kernel/index.ts"
import type { RowOf } from "../../kernel/index.ts"
import { Effect } from "effect"

export const notification_channels = {
  database: "The inbox",
  email: "E-mail",
  broadcast: "At once, to connected programs"
} as const
export type NotificationChannel = keyof typeof notification_channels

export const notification_categories = {
  opportunity: "Opportunities",
  invoicing: "Invoicing",
  stock: "Stock",
  compliance: "Documents",
  crm: "Customers and activities",
  system: "System"
} as const
export type NotificationCategory = keyof typeof notification_categories

export interface NotificationType {
  /** Key of the type, such as `opportunity.created`. */
  readonly key: string
  readonly category: NotificationCategory
  readonly name: string
  readonly description: string
  readonly available_channels: ReadonlyArray<NotificationChannel>
  /** Channels used if neither a setting nor a preference defines any. */
  readonly default_channels: ReadonlyArray<NotificationChannel>
  /** Whether it is always sent; settings and preferences for it are rejected (rules/conventions 15). */
  readonly is_system: boolean
}

const inbox = ["database"] as const
const mailed = ["database", "email"] as const
const at_once = ["database", "broadcast"] as const
const all = ["database", "email", "broadcast"] as const
const type = (
  key: string,
  category: NotificationCategory,
  name: string,
  description: string,
  default_channels: ReadonlyArray<NotificationChannel>,
  also: Partial<Pick<NotificationType, "available_channels" | "is_system">> = {}
): NotificationType => ({
  key,
  category,
  name,
  description,
  default_channels,
  available_channels: all,
  is_system: false,
  ...also
})

/** All notification types, in the order of lists. */
export const notificationTypes: ReadonlyArray<NotificationType> = [
  type("opportunity.created", "opportunity", "Opportunity created", "A quote or order was made.", inbox),
  type(
    "opportunity.cancelled",
    "opportunity",
    "Opportunity cancelled",
    "An order was cancelled, or a quote marked lost or dead.",
    at_once
  ),
  type(
    "shortage.waitlist.matched",
    "stock",
    "Waiting list matched",
    "Stock came free for a line that waited for it.",
    all
  ),
  type("purchase_order.received", "stock", "Purchase order received", "Goods of a purchase order came in.", at_once),
  type("invoice.issued", "invoicing", "Invoice issued", "An invoice was given its number.", inbox),
  type("invoice.overdue", "invoicing", "Invoice overdue", "The day an invoice was due has ended.", mailed),
  type("payment.recorded", "invoicing", "Payment recorded", "A payment of an invoice was recorded.", inbox),
  type("document.generated", "compliance", "Document generated", "A document or a batch was rendered.", at_once),
  type("document.accepted", "compliance", "Quotation accepted", "A customer accepted a quotation by its link.", all),
  type("activity.assigned", "crm", "Activity assigned", "An activity was given to somebody.", all),
  type("inspection.due", "stock", "Inspection due", "An inspection of a unit is due soon or overdue.", inbox),
  type("transfer.late", "stock", "Transfer late", "Goods from another store have not arrived on their day.", mailed),
  type("user.invited", "system", "User invited", "Somebody was invited to work here.", mailed),
  type("user.deactivated", "system", "User deactivated", "An account was closed.", mailed),
  type("user.reactivated", "system", "User reactivated", "A closed account was opened again.", mailed),
  type("password.reset", "system", "Access reset", "A login code was sent.", ["email"], {
    available_channels: mailed,
    is_system: true
  }),
  type("system.test_email", "system", "Test message", "A message was sent to try the mail settings.", ["email"], {
    available_channels: ["email"],
    is_system: true
  }),
  type("backup.failed", "system", "Backup failed", "The daily backup could not be made.", mailed)
]
const by_key = new Map(notificationTypes.map((one) => [one.key, one]))
export const notificationType = (key: string): NotificationType | undefined => by_key.get(key)

// Effective channels of notifications: the type's, the company's setting, the person's preference (rules/conventions
// 15).

/** The company's setting; null channels use the type's. */
export interface TypeSetting {
  readonly channels: ReadonlyArray<NotificationChannel> | null
  readonly is_enabled: boolean
}
/** A member's preference; null channels use the setting's. */
export interface TypePreference {
  readonly channels: ReadonlyArray<NotificationChannel> | null
  readonly is_muted: boolean
}

/**
 * Channels of a notification for one person: a system type has its defaults, a disabled or muted type has none.
 * Otherwise the preference takes precedence over the setting, and that over the type's defaults.
 */
export const effectiveChannels = (
  type: NotificationType,
  setting: TypeSetting | undefined,
  preference: TypePreference | undefined
): ReadonlySet<NotificationChannel> => {
  if (type.is_system) return new Set(type.default_channels)
  if (setting?.is_enabled === false || preference?.is_muted === true) return new Set()
  const wanted = preference?.channels ?? setting?.channels ?? type.default_channels
  return new Set(wanted.filter((one) => type.available_channels.includes(one)))
}

// The company's settings and members' preferences for notifications (rules/conventions 15). One row per override;
// without one the type's defaults apply.

/** Null: inherited channels; an empty list: none. */
const channels = list(choice(notification_channels), { nullable: true, distinct: true })

export const notification_settings = plainTable(
  "notification_settings",
  "notification_type",
  { notification_type: text({ max: 60 }), channels, is_enabled: boolean({ default: true }) },
  // Users' own preferences depend on the company's settings.
  { visibility: visible_to_all, named_by: ["notification_type"] }
)
export type NotificationSettingRow = RowOf<typeof notification_settings>

export const notification_preferences = table(
  "notification_preferences",
  {
    /** When members are merged, the primary's preferences take precedence; the other's fill the gaps. */
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
    // The member's stream, so that merging and erasing the member include these rows.
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

export interface NotificationRules {
  /** The company's setting; undefined if the type's defaults apply. */
  readonly setting: (type: string) => TypeSetting | undefined
  /** A member's preference; undefined if the setting applies. */
  readonly preference: (member_id: number, type: string) => TypePreference | undefined
  /** Channels on which this member gets notifications of this type. */
  readonly channels: (member_id: number, type: NotificationType) => ReadonlySet<NotificationChannel>
}

/**
 * Settings and preferences of these members and types, by default of all types: two queries for any number. Other
 * members are treated as without preferences.
 */
export const notificationRules = Effect.fnUntraced(function* (
  member_ids: ReadonlyArray<number>,
  types?: ReadonlyArray<string>
) {
  const of_types = types === undefined ? {} : { notification_type: [...new Set(types)] }
  const settings = new Map(
    (yield* Store.find(notification_settings, of_types)).map((one) => [one.notification_type, one])
  )
  const distinct = [...new Set(member_ids)]
  const rows =
    distinct.length === 0 ? [] : yield* Store.find(notification_preferences, { member_id: distinct, ...of_types })
  const preferences = new Map(rows.map((one) => [`${one.member_id} ${one.notification_type}`, one]))
  const setting = (type: string): TypeSetting | undefined => settings.get(type)
  const preference = (member_id: number, type: string): TypePreference | undefined =>
    preferences.get(`${member_id} ${type}`)
  return {
    setting,
    preference,
    channels: (member_id, type) => effectiveChannels(type, setting(type.key), preference(member_id, type.key))
  } satisfies NotificationRules
})
