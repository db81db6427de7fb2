/** An invoice after a command: what people look for, and what is usually done next. `--json` has all of it. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/json.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending, noteWarnings } from "../context/print.ts"
import { recordText } from "../output/table.ts"

/** What it shows of other things. */
export const brief_includes = [["include", "member"]] as const

/** The invoice of an answer in brief; beside it what was recorded, and the command that usually follows. */
export const printBrief = (context: CommandContext, answer: QueryResult): void => {
  const invoice = rowIn(answer.body, "invoice")
  context.print(
    recordText({ ...briefOf(invoice), ...movedIn(isJsonObject(answer.body) ? answer.body : {}) }, context.terminal)
  )
  noteWarnings(context, answer.body)
  notePending(context, answer)
  const next = nextStep(invoice)
  if (next !== undefined) context.note(next)
}

const briefOf = (invoice: JsonObject): JsonObject => {
  const value = (key: string): Json => invoice[key] ?? null
  const has_moved = ["amount_paid", "amount_credited"].some((key) => Number(invoice[key]) !== 0)
  return {
    id: value("id"),
    number: invoice["number"] ?? (invoice["status"] === "draft" ? "none yet" : "pending"),
    type: value("type_name"),
    customer: isJsonObject(invoice["member"]) ? (invoice["member"]["name"] ?? null) : value("member_id"),
    subject: value("subject"),
    status: value("status_name"),
    total: `${String(value("total"))} ${String(value("currency_code"))}`,
    ...(has_moved ? { paid: value("amount_paid"), credited: value("amount_credited") } : {}),
    outstanding: value("amount_outstanding"),
    due: value("due_at"),
    ...billedTotals(invoice)
  }
}
/** What is billed of the opportunity, and what is left, both without tax. */
export const billedTotals = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    ["billed_total", "left_to_bill_total"].flatMap((key) => {
      const value = row[key]
      return value === undefined || value === null ? [] : [[key, value] as const]
    })
  )
/** What the command recorded beside the invoice: a payment, a refund, or a credit note by its number. */
const movedIn = (body: JsonObject): JsonObject => {
  const { credit_note, payment, refund } = body
  if (isJsonObject(credit_note))
    return { credit_note: credit_note["number"] ?? "pending", credited_now: credit_note["total"] ?? null }
  if (isJsonObject(payment)) return { payment: payment["amount"] ?? null }
  return isJsonObject(refund) ? { refund: refund["amount"] ?? null } : {}
}

const nextStep = ({ amount_outstanding, id, status, type }: JsonObject): string | undefined => {
  const command = (verb: string): string => `flightcase invoices ${verb} ${String(id)}`
  if (status === "draft") return `A draft: ${command("issue")} gives it its number.`
  if (type === "proforma" || status === "voided") return undefined
  if (Number(amount_outstanding) < 0)
    return `The customer is owed money: ${command("refund")} records that it was given back.`
  return status === "issued" || status === "partially_paid"
    ? `${command("email")} sends it; ${command("pay")} records a payment.`
    : undefined
}
