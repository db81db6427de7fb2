/** Types of notifications, with their channels and defaults. */
export const notification_channels = {
  database: "The inbox",
  email: "E-mail",
  broadcast: "At once, to programs that listen"
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
  /** `opportunity.created`. */
  readonly key: string
  readonly category: NotificationCategory
  readonly name: string
  readonly description: string
  readonly available_channels: ReadonlyArray<NotificationChannel>
  /** Used where neither a setting nor a preference says otherwise. */
  readonly default_channels: ReadonlyArray<NotificationChannel>
  /** Sent whatever settings and preferences say; neither takes it (rules/conventions 15). */
  readonly is_system: boolean
}

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

/** Every type, in the order lists show them. */
export const notificationTypes: ReadonlyArray<NotificationType> = [
  type("opportunity.created", "opportunity", "Opportunity created", "A quote or order was made.", ["database"]),
  type(
    "opportunity.cancelled",
    "opportunity",
    "Opportunity cancelled",
    "An order was cancelled, or a quote was lost.",
    ["database", "broadcast"]
  ),
  type("shortage.waitlist.matched", "stock", "Waiting list matched", "Stock came free for a line that waited for it.", [
    "database",
    "email",
    "broadcast"
  ]),
  type("purchase_order.received", "stock", "Purchase order received", "Goods of a purchase order came in.", [
    "database",
    "broadcast"
  ]),
  type("invoice.issued", "invoicing", "Invoice issued", "An invoice was given its number.", ["database"]),
  type("invoice.overdue", "invoicing", "Invoice overdue", "The day an invoice was due has ended.", [
    "database",
    "email"
  ]),
  type("payment.recorded", "invoicing", "Payment recorded", "A payment of an invoice was recorded.", ["database"]),
  type("document.generated", "compliance", "Document generated", "A document somebody asked for is drawn.", [
    "database",
    "broadcast"
  ]),
  type("document.accepted", "compliance", "Quotation accepted", "A customer accepted a quotation by its link.", [
    "database",
    "email",
    "broadcast"
  ]),
  type("activity.assigned", "crm", "Activity assigned", "An activity was given to somebody.", [
    "database",
    "email",
    "broadcast"
  ]),
  type("user.invited", "system", "User invited", "Somebody was invited to work here.", ["database", "email"]),
  type("user.deactivated", "system", "User deactivated", "An account was closed.", ["database", "email"]),
  type("user.reactivated", "system", "User reactivated", "A closed account was opened again.", ["database", "email"]),
  type("password.reset", "system", "Access reset", "Somebody was sent a code to log in with.", ["email"], {
    available_channels: ["database", "email"],
    is_system: true
  }),
  type("system.test_email", "system", "Test message", "A message was sent to try the mail settings.", ["email"], {
    available_channels: ["email"],
    is_system: true
  })
]
const by_key = new Map(notificationTypes.map((one) => [one.key, one]))
export const notificationType = (key: string): NotificationType | undefined => by_key.get(key)
