/** Invoices to notify as overdue: once their due day has ended in the store's time zone. */
import { dayOf } from "../../values/time.ts"
import type { InvoiceRow } from "./tables.ts"

type Due = Pick<InvoiceRow, "type" | "status" | "due_at" | "overdue_told_at" | "deleted_at">

/** A proforma is owed by nobody. What was told once is not told again, however often it is paid and open again. */
export const isToBeTold = (invoice: Due, zone: string, now_millis: number): boolean =>
  (invoice.status === "issued" || invoice.status === "partially_paid") &&
  invoice.type !== "proforma" &&
  invoice.overdue_told_at === null &&
  invoice.deleted_at === null &&
  invoice.due_at !== null &&
  dayOf(Date.parse(invoice.due_at), zone) < dayOf(now_millis, zone)
