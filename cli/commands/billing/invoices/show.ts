/** `invoices show`: an invoice with its rows, payments and credit notes, and their remaining amounts. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { scaleOf } from "../../../../core/values/currency.ts"
import { exact, formatDecimal } from "../../../../core/values/decimal.ts"
import { type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { columnsNamed, onClockOf, recordText, tableText } from "../../../output/table.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { noteWarnings } from "../../../context/print.ts"
import { billedTotals } from "../../../briefs/invoices.ts"

const header = [
  ...(["id", "number", "type_name", "status_name", "subject"] as const),
  ...(["reference", "issued_at", "due_at", "paid_at"] as const)
]
const sum_keys = [
  ...(["subtotal", "discount_total", "tax_total", "total"] as const),
  ...(["amount_paid", "amount_credited", "amount_outstanding"] as const)
]

export const invoicePath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/invoices/${await resolveId(context, "invoices", named)}`
/** Rows of an invoice in displayed order. */
export const rowsOfInvoice = (invoice: Row<"invoice">) => invoice.items ?? []

const invoice_includes = ["member", "store", "items", "payments", "credit_notes", "credit_notes.items"]
export const showInvoice = async (context: CommandContext, named: string, flags: Flags): Promise<void> => {
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
        columnsNamed("line, name, quantity, unit_price, subtotal=NET, tax_total=TAX, total, left=LEFT"),
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
