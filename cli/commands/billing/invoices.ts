/** `invoices`: shows invoices, records payments and refunds, and credits; other verbs are derived from the API. */
import type { Command } from "commander"
import { scaleOf } from "../../../core/values/money.ts"
import { type CommandAction, type Flags, listFlag, repeatable, textFlag, verb } from "../../context/program.ts"
import type { Json, JsonObject } from "../../../core/kernel/index.ts"
import { exact, formatDecimal } from "../../../core/values/decimal.ts"
import { type Row, rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { noteWarnings, printAnswer } from "../../context/print.ts"
import { parseMomentIn } from "../../base/parse-time.ts"
import { resolveId, storeOf } from "../../context/resolve-id.ts"
import { present } from "../../context/pages.ts"
import { billedTotals, brief_includes, printBrief } from "../../briefs/invoices.ts"
import { columnsNamed, onClockOf, recordText, tableText } from "../../output/table.ts"

export const declare = (program: Command): void => {
  const invoices = program.command("invoices").description("Invoices and their payments, by id or number")
  verb(invoices, "show", {
    about: "Show an invoice with its rows, creditable amounts and payments",
    "<invoice>": "invoice, by id or number",
    "--include <a,b>": "related records to include, with --json",
    run: showInvoice
  })
  const moved = {
    "--method <method>": "cash, card, bank_transfer, cheque, direct_debit or other",
    "--reference <text>": "reference of the bank or on the receipt",
    "--at <time>": "date paid or refunded, or a time on the store's clock (default: now)",
    "--notes <text>": "notes on the payment or refund"
  }
  verb(invoices, "pay", {
    about: "Record a payment",
    "<invoice>": "invoice, by id or number",
    "--amount <amount>": "amount paid (default: what is outstanding)",
    ...moved,
    run: async (context, [named = ""], flags) => recordMoney(context, "pay", named, flags)
  })
  verb(invoices, "refund", {
    about: "Record a refund",
    "<invoice>": "invoice, by id or number",
    "--amount <amount>": "amount refunded (default: what the customer is owed)",
    ...moved,
    "--reason <text>": "reason of the refund",
    run: async (context, [named = ""], flags) => recordMoney(context, "refund", named, flags)
  })
  verb(invoices, "credit", {
    about: "Issue a credit note for rows, an amount or the whole remainder",
    "<invoice>": "invoice, by id or number",
    "--line <n[=quantity]>": repeatable("row by its number in show (default quantity: all that is left); repeatable"),
    "--amount <amount>": "amount including tax, spread over the rows",
    "--reason <text>": "reason, printed on the credit note",
    "--notes <text>": "notes on the credit note",
    run: creditInvoice
  })
}

/** Sends a payment, refund or credit, and prints the invoice's new balance. */
const carryOut = async (context: CommandContext, path: string, what: string, body: JsonObject): Promise<void> => {
  const query = context.options.json === true ? [] : brief_includes
  const answer = await context.post(`${path}/${what}`, body, query)
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  printBrief(context, answer)
}

/** Amount outstanding to pay, or the credit balance to refund. Exit 5 if nothing is to pay, 2 if nothing to refund. */
const amountDue = (verb: "pay" | "refund", invoice: Row<"invoice">): string => {
  const outstanding = exact(invoice.amount_outstanding)
  if (verb === "pay" && outstanding.gt(0)) return invoice.amount_outstanding
  if (verb === "refund" && outstanding.lt(0)) return invoice.amount_outstanding.replace("-", "")
  throw verb === "pay"
    ? new CliError(exit_codes.invalid, `Nothing is outstanding of this invoice; it is ${invoice.status}.`)
    : usageError("The customer is owed nothing of this invoice, so say how much is given back.", "Give --amount.")
}

const recordMoney = async (
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

const creditInvoice: CommandAction = async (context, [named = ""], flags) => {
  const lines = listFlag(flags, "line")
  const amount = textFlag(flags, "amount")
  if (amount?.trim() === "")
    throw usageError("An empty --amount credits nothing.", "Leave it out to credit the remainder.")
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

const header = [
  ...(["id", "number", "type_name", "status_name", "subject"] as const),
  ...(["reference", "issued_at", "due_at", "paid_at"] as const)
]
const sum_keys = [
  ...(["subtotal", "discount_total", "tax_total", "total"] as const),
  ...(["amount_paid", "amount_credited", "amount_outstanding"] as const)
]

const invoicePath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/invoices/${await resolveId(context, "invoices", named)}`
/** Rows of an invoice in displayed order. */
const rowsOfInvoice = (invoice: Row<"invoice">) => invoice.items ?? []

const invoice_includes = ["member", "store", "items", "payments", "credit_notes", "credit_notes.items"]
const showInvoice: CommandAction = async (context, [named = ""], flags) => {
  const path = await invoicePath(context, named)
  const wanted = textFlag(flags, "include")
  if (context.options.json === true)
    return context.printJson(await context.read(path, [["include", wanted ?? invoice_includes.join(",")]]))
  const body = await context.read(path, [["include", invoice_includes.join(",")]])
  printInvoice(context, rowIn(body, "invoice"))
  noteWarnings(context, body)
}

/** Rows with their position and uncredited rest. */
const withLeft = (invoice: Row<"invoice">): ReadonlyArray<JsonObject> => {
  const credited = (invoice.credit_notes ?? []).flatMap((note) => note.items ?? [])
  return rowsOfInvoice(invoice).map((row, at) => {
    const left = credited
      .filter((one) => one.invoice_item_id === row.id)
      .reduce((rest, one) => rest.plus(one.total), exact(row.total))
    return { ...row, line: at + 1, left: formatDecimal(left, scaleOf(invoice.currency_code)) }
  })
}
/** Payments, refunds and credit notes by time. */
const movements = (invoice: Row<"invoice">): ReadonlyArray<JsonObject> =>
  [
    ...(invoice.payments ?? []).map((row) => ({ ...row, at: row.paid_at, what: row.kind })),
    ...(invoice.credit_notes ?? []).map((note) => ({
      at: note.issued_at,
      what: "credit note",
      amount: note.total,
      method_name: null,
      reference: note.number ?? "pending"
    }))
  ].toSorted((one, other) => String(one.at).localeCompare(String(other.at)))

const printInvoice = (context: CommandContext, invoice: Row<"invoice">): void => {
  const terminal = onClockOf(context.terminal, invoice)
  const chosen = (keys: ReadonlyArray<keyof Row<"invoice">>): JsonObject =>
    Object.fromEntries(keys.map((key) => [key, invoice[key] ?? null] as const).filter(([, value]) => value !== null))
  const is_draft = invoice.status === "draft"
  context.print(
    recordText(
      {
        ...chosen(header),
        number: invoice.number ?? (is_draft ? "none yet" : "pending"),
        customer: invoice.member?.name ?? null
      },
      terminal
    )
  )
  const rows = withLeft(invoice)
  const gap = terminal.is_tty ? "\n" : ""
  if (rows.length > 0)
    context.print(
      `${gap}${tableText(
        columnsNamed(
          "line, name, quantity, unit_price, subtotal=NET, tax_total=TAX, total, left=LEFT, discount_percent=DISCOUNT"
        ),
        rows,
        terminal
      )}`
    )
  const moved = movements(invoice)
  if (moved.length > 0)
    context.print(
      `${gap}${tableText(columnsNamed("at, what, amount, method_name=METHOD, reference"), moved, terminal)}`
    )
  const { currency_code } = invoice
  context.print(`${gap}${recordText({ ...chosen(sum_keys), ...billedTotals(invoice), currency_code }, terminal)}`)
}
