/** `invoices pay`, `invoices refund` and `invoices credit`. */
import type { Json, JsonObject } from "../../../../core/kernel/fields/field.ts"
import { exact } from "../../../../core/values/decimal.ts"
import { type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { printAnswer } from "../../../context/print.ts"
import { parseMomentIn } from "../../../base/parse-time.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { present } from "../../orders/shared/parts.ts"
import { brief_includes, printBrief } from "../../../briefs/invoices.ts"
import { invoicePath, rowsOfInvoice } from "./show.ts"

/** Sends a payment, refund or credit, and prints the invoice's new balance. */
const carryOut = async (context: CommandContext, path: string, what: string, body: JsonObject): Promise<void> => {
  const query = context.options.json === true ? [] : brief_includes
  const answer = await context.ask({ method: "POST", path: `${path}/${what}`, query, body })
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  printBrief(context, answer)
}

/** Amount outstanding to pay, or the credit balance to refund; exit 5 if it is zero. */
const amountDue = (verb: "pay" | "refund", invoice: Row<"invoice">): string => {
  const outstanding = exact(invoice.amount_outstanding)
  if (verb === "pay" && outstanding.gt(0)) return invoice.amount_outstanding
  if (verb === "refund" && outstanding.lt(0)) return invoice.amount_outstanding.replace("-", "")
  throw verb === "pay"
    ? new CliError(exit_codes.invalid, `Nothing is outstanding of this invoice; it is ${invoice.status}.`)
    : usageError("The customer is owed nothing of this invoice, so say how much is given back.", "Give --amount.")
}

export const recordMoney = async (
  context: CommandContext,
  verb: "pay" | "refund",
  named: string,
  flags: Flags
): Promise<void> => {
  const path = await invoicePath(context, named)
  const invoice = rowIn(await context.read(path), "invoice")
  const at = textFlag(flags, "at")
  const zone = at === undefined ? "UTC" : (await storeOf(context, invoice)).zone
  await carryOut(
    context,
    path,
    verb === "pay" ? "payments" : "refunds",
    present({
      amount: textFlag(flags, "amount") ?? amountDue(verb, invoice),
      method: textFlag(flags, "method"),
      reference: textFlag(flags, "reference"),
      notes: textFlag(flags, "notes"),
      reason: verb === "refund" ? textFlag(flags, "reason") : undefined,
      // The time is set here, as a server may receive it hours later.
      paid_at: at === undefined ? new Date().toISOString() : parseMomentIn(at, zone, "--at")
    })
  )
}

export const creditInvoice = async (context: CommandContext, named: string, flags: Flags): Promise<void> => {
  const lines = listFlag(flags, "line")
  const amount = textFlag(flags, "amount")
  if (lines.length > 0 && amount !== undefined)
    throw usageError("--line and --amount do not go together.", "Credit rows first, then the amount.")
  const path = await invoicePath(context, named)
  const invoice = rowIn(await context.read(path, [["include", "items"]]), "invoice")
  await carryOut(
    context,
    path,
    "credit_notes",
    present({
      items: lines.length === 0 ? undefined : lines.map((line) => wantedRow(rowsOfInvoice(invoice), line)),
      amount,
      reason: textFlag(flags, "reason"),
      notes: textFlag(flags, "notes")
    })
  )
}
/** Parses `2` or `2=1.5` into the second row, with its uncredited rest or a quantity. */
const wantedRow = (rows: ReadonlyArray<{ readonly id: number }>, line: string): { readonly [name: string]: Json } => {
  const [place = "", quantity] = line.split("=")
  const id = /^[1-9]\d*$/.test(place) ? rows[Number(place) - 1]?.id : undefined
  if (id === undefined)
    throw usageError(
      `--line ${JSON.stringify(line)} names no row.`,
      `The invoice has ${rows.length} row${rows.length === 1 ? "" : "s"}; write --line 1 or --line 1=2.5.`
    )
  return quantity === undefined ? { invoice_item_id: id } : { invoice_item_id: id, quantity }
}
