/** Brief output of an invoice after a command, with the usual next commands; `--json` prints all of it. */
import { isJsonObject, type JsonObject } from "../../core/kernel/index.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { metaIn, type Row, rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending, noteWarnings, warningsIn } from "../context/print.ts"
import { recordText } from "../output/table.ts"

export const brief_includes = [["include", "member"]] as const

/** Prints the invoice of a response in brief, with the payment, refund or credit note and the usual next command. */
export const printBrief = (context: CommandContext, answer: QueryResult): void => {
  const invoice = rowIn(answer.body, "invoice")
  context.print(
    recordText({ ...briefOf(invoice), ...movedIn(isJsonObject(answer.body) ? answer.body : {}) }, context.terminal)
  )
  noteWarnings(context, answer.body)
  notePending(context, answer)
  if (metaIn(answer.body).is_mailed === true) return noteMailed(context, answer, "customer")
  const next = nextStep(invoice)
  if (next !== undefined) context.note(next)
}

/** Notes that mail goes out, unless a warning says what becomes of it. */
export const noteMailed = (context: CommandContext, answer: QueryResult, to: string): void => {
  if (warningsIn(answer.body).length > 0) return
  const when = answer.command === undefined ? "" : " once it is synced, if the server sends mail"
  context.note(`Its PDF goes to the ${to} by e-mail${when}.`)
}

const briefOf = (invoice: Row<"invoice">): JsonObject => {
  const has_moved = Number(invoice.amount_paid) !== 0 || Number(invoice.amount_credited) !== 0
  return {
    id: invoice.id,
    number: invoice.number ?? (invoice.status === "draft" ? "none yet" : "pending"),
    type: invoice.type_name,
    customer: invoice.member?.name ?? invoice.member_id,
    subject: invoice.subject,
    status: invoice.status_name,
    total: `${invoice.total} ${invoice.currency_code}`,
    ...(has_moved ? { paid: invoice.amount_paid, credited: invoice.amount_credited } : {}),
    outstanding: invoice.amount_outstanding,
    due: invoice.due_at,
    ...billedTotals(invoice)
  }
}
/** Billed and unbilled totals of the invoice's opportunity, without tax. */
export const billedTotals = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    ["billed_total", "left_to_bill_total"].flatMap((key) => {
      const value = row[key]
      return value === undefined || value === null ? [] : [[key, value] as const]
    })
  )
/** The payment, refund or credit note that a response contains besides the invoice. */
const movedIn = (body: JsonObject): JsonObject => {
  if (isJsonObject(body.credit_note)) {
    const { number, total } = rowIn(body, "credit_note")
    return { credit_note: number ?? "pending", credited_now: total }
  }
  if (isJsonObject(body.payment)) return { payment: rowIn(body, "payment").amount }
  return isJsonObject(body.refund) ? { refund: rowIn(body, "refund").amount } : {}
}

const nextStep = ({ amount_outstanding, id, status, type }: Row<"invoice">): string | undefined => {
  const command = (verb: string): string => `flightcase invoices ${verb} ${id}`
  if (status === "draft") return `A draft: ${command("issue")} gives it its number.`
  if (type === "proforma" || status === "voided") return undefined
  if (Number(amount_outstanding) < 0)
    return `The customer is owed money: ${command("refund")} records that it was given back.`
  return status === "issued" || status === "partially_paid"
    ? `${command("email")} sends it; ${command("pay")} records a payment.`
    : undefined
}
