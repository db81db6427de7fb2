/** When sub-hired goods are due back at their supplier, and when people are reminded of it. */
import { integer } from "../kernel/field.ts"
import type { SettingGroups, Settings } from "../kernel/settings.ts"
import { exact } from "../values/decimal.ts"
import { dateAfter } from "../values/period.ts"
import { dayOf } from "../values/zone.ts"
import { windowOf } from "./receiving/intake.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "./schema.ts"

export const procurement_group = "procurement"
export const procurementSettings = {
  [procurement_group]: {
    return_reminder_days: integer({
      default: 1,
      min: 0,
      max: 365,
      describe: "How many days before sub-hired goods are due back people are reminded; 0 on the day itself"
    })
  }
} satisfies SettingGroups
export const reminderDaysIn = (settings: Settings): number => {
  const days = settings[procurement_group]?.["return_reminder_days"]
  return typeof days === "number" ? days : 1
}

type Dated = Pick<PurchaseOrderRow, "po_type" | "starts_at" | "ends_at" | "returned_at" | "deleted_at">
type Present = Pick<PurchaseOrderItemRow, "starts_at" | "ends_at" | "received_quantity" | "returned_quantity">
export const isHere = (item: Pick<Present, "received_quantity" | "returned_quantity">): boolean =>
  exact(item.received_quantity).greaterThan(item.returned_quantity)

/** When the first of the goods that are here is due back; null where none is. */
export const dueBackAt = (order: Dated, items: ReadonlyArray<Present>): string | null => {
  if (order.po_type !== "sub_hire" || order.deleted_at !== null) return null
  const ends = items.filter(isHere).flatMap((item) => windowOf(order, item).ends_at ?? [])
  return ends.sort()[0] ?? null
}

/** Whether people are to be reminded now: once for each end, however late. */
export const isReminderDue = (
  order: Dated & Pick<PurchaseOrderRow, "return_reminded_for">,
  due_at: string | null,
  { days, now_millis, zone }: { readonly days: number; readonly now_millis: number; readonly zone: string }
): boolean =>
  due_at !== null &&
  order.return_reminded_for !== due_at &&
  dayOf(Date.parse(due_at), zone) <= dateAfter(dayOf(now_millis, zone), days)
