/** An issued invoice's balance after a payment or credit. */
import { settled } from "./amounts.ts"
import type { InvoiceRow } from "./tables.ts"

/**
 * The columns that differ. Minor units; a refund is paid below zero. `at`: when the money moved, which is when the
 * invoice became paid, if it did.
 */
export const balanceAfter = (
  invoice: InvoiceRow,
  more: { readonly paid?: number; readonly credited?: number },
  at: string
): Partial<InvoiceRow> => {
  const next = settled(
    invoice,
    { paid: invoice.amount_paid + (more.paid ?? 0), credited: invoice.amount_credited + (more.credited ?? 0) },
    at
  )
  return {
    ...(next.status === invoice.status ? {} : { status: next.status }),
    ...(next.amount_paid === invoice.amount_paid ? {} : { amount_paid: next.amount_paid }),
    ...(next.amount_credited === invoice.amount_credited ? {} : { amount_credited: next.amount_credited }),
    ...(next.amount_outstanding === invoice.amount_outstanding ? {} : { amount_outstanding: next.amount_outstanding }),
    ...(next.paid_at === invoice.paid_at ? {} : { paid_at: next.paid_at })
  }
}
