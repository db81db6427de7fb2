/**
 * A purchase order with its lines and their outstanding quantities: `purchase-orders show`, and after a command with
 * the usual next command; `--json` prints all of it.
 */
import { metaIn, type Row, rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending, noteWarnings } from "../context/print.ts"
import type { Json, JsonObject } from "../../core/kernel/index.ts"
import { spokenNumber } from "../../core/values/text.ts"
import { type Column, column, columnsNamed, onClockOf, recordText, tableText } from "../output/table.ts"
import { type Flags, textFlag } from "../context/program.ts"
import { resolveId } from "../context/resolve-id.ts"
import { noteMailed } from "./invoices.ts"

export const printBrief = (context: CommandContext, answer: Parameters<typeof notePending>[1]): void => {
  const order = rowIn(answer.body, "purchase_order")
  printPurchaseOrder(context, order)
  noteWarnings(context, answer.body)
  notePending(context, answer)
  const { is_mailed } = metaIn(answer.body)
  if (is_mailed === true) noteMailed(context, answer, "supplier")
  if (is_mailed === false)
    context.note(
      "Nothing is mailed: the supplier has no e-mail address. " +
        `documents generate --type purchase_order --purchase-order ${order.id} -o FILE makes the PDF.`
    )
  const next = nextStep(order)
  if (next !== undefined) context.note(next)
}

const nextStep = ({ id, items, po_type, returned_at, status }: Row<"purchase_order">): string | undefined => {
  switch (status) {
    case "draft":
      return items?.length === 0
        ? `purchase-orders add ${id} PRODUCT --quantity N --cost C adds a line.`
        : `purchase-orders send ${id} sends it.`
    case "sent":
    case "partially_received":
      return `receive ${id} takes codes at the dock.`
    case "received":
      return po_type === "sub_hire" && returned_at === null
        ? `purchase-orders return ${id} gives back what is here.`
        : undefined
    default:
      return undefined
  }
}

const header = ["po_type_name", "status_name", "subject", "reference"] as const
const times = [
  ...(["expected_at", "starts_at", "ends_at", "sent_at", "received_at", "returned_at"] as const),
  ...(["cancelled_at", "cancellation_reason", "delivery_instructions", "notes"] as const)
]
/** Keys of totals; absent for users who may not see costs. */
const sums = ["subtotal", "tax_total", "total"] as const
export const parts = ["supplier", "store", "opportunity", "items"]

export const showPurchaseOrder = async (context: CommandContext, named: string, flags: Flags): Promise<void> => {
  const path = `/api/v1/purchase_orders/${await resolveId(context, "purchase_orders", named)}`
  const wanted = textFlag(flags, "include")
  if (context.options.json === true)
    return context.printJson(await context.read(path, [["include", wanted ?? parts.join(",")]]))
  printPurchaseOrder(context, rowIn(await context.read(path, [["include", parts.join(",")]]), "purchase_order"))
}

const printPurchaseOrder = (context: CommandContext, order: Row<"purchase_order">): void => {
  const terminal = onClockOf(context.terminal, order)
  const chosen = (keys: ReadonlyArray<keyof Row<"purchase_order">>): JsonObject =>
    Object.fromEntries(keys.map((key) => [key, order[key] ?? null] as const).filter(([, value]) => value !== null))
  const opportunity = order.opportunity?.name ?? null
  context.print(
    recordText(
      {
        ...chosen(["id"]),
        number: order.number === null ? "pending" : spokenNumber(order.number),
        ...chosen(header),
        supplier: order.supplier?.name ?? null,
        store: order.store?.name ?? null,
        ...(opportunity === null ? {} : { for: opportunity }),
        ...chosen(times)
      },
      terminal
    )
  )
  const gap = terminal.is_tty ? "\n" : ""
  const rows = (order.items ?? []).map((row, at) => ({ ...row, line: at + 1 }))
  if (rows.length > 0) context.print(`${gap}${tableText(columnsOf(order, rows), rows, terminal)}`)
  if (order.total !== undefined)
    context.print(`${gap}${recordText({ ...chosen(sums), currency_code: order.currency_code }, terminal)}`)
}
const amounts = [
  ["quantity", "ORDERED"],
  ["received_quantity", "RECEIVED"],
  ["outstanding_quantity", "TO COME"],
  ["returned_quantity", "RETURNED"]
] as const
/** Columns of lines: dates only if a line has its own, costs only if visible, returned only if any were. */
const columnsOf = (
  order: Row<"purchase_order">,
  rows: NonNullable<Row<"purchase_order">["items"]>
): ReadonlyArray<Column> => [
  ...columnsNamed("line, name"),
  ...amounts
    .filter(([key]) => key !== "returned_quantity" || rows.some((row) => Number(row[key]) > 0))
    .map(([key, title]): Column => ({ title, of: (row) => wholeText(row[key]) })),
  ...(rows.some((row) => row.unit_cost !== undefined) ? columnsNamed("unit_cost=COST, subtotal=NET") : []),
  ...(["starts_at", "ends_at"] as const).flatMap((key, at) =>
    rows.some((row) => row[key] !== null && row[key] !== order[key]) ? [column(key, ["FROM", "TO"][at])] : []
  )
]
/** A quantity without decimals if it is whole: `4` for `4.00`. */
const wholeText = (value: Json | undefined): Json =>
  typeof value === "string" ? value.replace(/\.0+$/, "") : (value ?? null)
