/** `units workshop`: lists units that are out of service now. */
import type { Row } from "../../../base/answers.ts"
import { unpagedMeta } from "../../../../core/kernel/index.ts"
import { out_of_service_labels } from "../../../../core/products/stock/schema.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { printTable } from "../../../context/print.ts"
import { type Column, columnsNamed } from "../../../output/table.ts"
import { allRows, idFlag, queryOf } from "../../../context/pages.ts"
import { type Flags, textFlag } from "../../../context/program.ts"

type Listed = Row<"service_record"> & { readonly is_overdue: boolean }
const columns: ReadonlyArray<Column<Listed>> = [
  {
    title: "UNIT",
    of: (row) =>
      row.asset_number ?? row.serial_number ?? row.barcode ?? `stock level ${row.stock_level_id}, record ${row.id}`
  },
  ...columnsNamed(
    "product_name=PRODUCT, quantity?1, state_name=STATE, reason, starts_at=SINCE, expected_back_at=EXPECTED BACK"
  ),
  { title: "OVERDUE", of: (row) => (row.is_overdue ? "overdue" : "") },
  ...columnsNamed("store_name=STORE?2")
]

export const showWorkshop = async (context: CommandContext, flags: Flags): Promise<void> => {
  const state = textFlag(flags, "state")
  if (state !== undefined && !Object.hasOwn(out_of_service_labels, state))
    throw usageError(`--state: ${JSON.stringify(state)} is none of ${Object.keys(out_of_service_labels).join(", ")}.`)
  const query = queryOf({
    "q[ended_at_null]": 1,
    "q[state_eq]": state,
    "q[store_id_eq]": await idFlag(context, flags, "store", "stores")
  })
  const now = new Date().toISOString()
  const rows = (await allRows(context, "/api/v1/service_records", query)).map((row): Listed => {
    const back = row.expected_back_at
    return { ...row, is_overdue: row.state !== "lost" && back !== null && back <= now }
  })
  const in_order = rows.sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  if (context.options.json === true)
    return context.printJson({ service_records: in_order, meta: unpagedMeta(in_order.length) })
  if (in_order.length === 0) return context.note("Nothing is out of service.")
  printTable(context, columns, in_order)
}
/** Sort key: by expected return, overdue first, then by start; lost units last. */
const orderOf = (row: Listed): string =>
  `${row.state === "lost" ? 2 : row.expected_back_at === null ? 1 : 0} ` +
  `${row.expected_back_at ?? ""} ${row.starts_at} ${String(row.id).padStart(12, "0")}`
