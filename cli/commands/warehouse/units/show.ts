/** `units show`: prints one unit, its allocations while out of service, and its history. */
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { isServiceState, stateWords } from "../../../../core/products/stock/schema.ts"
import { type Row, rowIn, type RowOfList, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { withOrderNumbers } from "../../../context/order-numbers.ts"
import { type Column, column, columnsNamed, recordText, tableText } from "../../../output/table.ts"
import { allRows } from "../../../context/pages.ts"
import { requireUnit } from "./move.ts"

const history: ReadonlyArray<Column> = [
  ...columnsNamed(
    `id, state_name=STATE, quantity, starts_at=FROM, ended_at=TO, expected_back_at=EXPECTED BACK, reason, note,
    end_note=RELEASED WITH, cost, opportunity_id=ORDER`
  ),
  {
    title: "PHOTOS AND FILES",
    of: ({ attachment_ids }) => (Array.isArray(attachment_ids) ? attachment_ids.join(", ") : "")
  }
]
const files = columnsNamed("id=FILE, original_name=NAME, category, created_at=ATTACHED")
const promised: ReadonlyArray<Column<RowOfList<"conflicts">>> = [
  column("subject", "PROMISED TO"),
  { title: "ORDER", of: (row) => row.number ?? row.opportunity_id },
  ...columnsNamed("line_name=LINE, starts_at=FROM, ends_at=TO")
]
const unit_keys = [
  "id",
  "product_name",
  "store_name",
  "asset_number",
  "serial_number",
  "barcode",
  "location",
  "quantity_held"
] as const

export const showUnit = async (context: CommandContext, code: string): Promise<void> => {
  const { id } = await requireUnit(context, code)
  const level = rowIn(await context.read(`/api/v1/stock_levels/${id}`, [["include", "last_seen"]]), "stock_level")
  const records = await allRows(context, "/api/v1/service_records", [["q[stock_level_id_eq]", String(id)]])
  const open = records.find((row) => row.is_open)
  const conflicts = open === undefined ? [] : await conflictsOf(context, open)
  const photos = (
    await allRows(context, "/api/v1/attachments", [
      ["q[attachable_type_eq]", "StockLevel"],
      ["q[attachable_id_eq]", String(id)]
    ])
  ).map(({ category, created_at, id: attachment_id, original_name }) => ({
    id: attachment_id,
    original_name,
    category,
    created_at
  }))
  const recorded = records.map((row) => ({ ...row, attachment_ids: attachedDuring(row, records, photos) }))
  const where = await whereIs(context, level)
  if (context.options.json === true)
    return context.printJson({ stock_level: level, where, service_records: recorded, conflicts, attachments: photos })
  const state = level.service_state
  const record: JsonObject = {
    ...Object.fromEntries(unit_keys.map((name) => [name, level[name] ?? null])),
    state: isServiceState(state) ? stateWords[state] : state,
    ...(level.inspection_due_at === null ? {} : { inspection_due_at: level.inspection_due_at }),
    where: where?.text ?? null,
    last_seen: level.last_seen == null ? null : `${level.last_seen.as} ${level.last_seen.at}`
  }
  context.print(recordText(record, context.terminal))
  const printTable = <R extends JsonObject>(columns: ReadonlyArray<Column<R>>, rows: ReadonlyArray<R>): void => {
    if (rows.length > 0) context.print(`\n${tableText(columns, rows, context.terminal)}`)
  }
  printTable(promised, conflicts)
  printTable(history, await withOrderNumbers(context, recorded))
  printTable(files, photos)
}

const conflictsOf = async (context: CommandContext, open: Row<"service_record">) =>
  rowsIn((await context.read(`/api/v1/service_records/${open.id}`)).meta, "conflicts")

/** Location and holder, as in `find`; null for units without a code, or not found by it. */
const whereIs = async (context: CommandContext, level: Row<"stock_level">) => {
  const code = level.asset_number ?? level.serial_number ?? level.barcode
  if (code === null) return null
  const { body, status } = await context.request({
    method: "GET",
    path: "/api/v1/search",
    query: [
      ["q", code],
      ["kinds[]", "units"],
      ["limit", "100"]
    ]
  })
  if (status >= 400) return null
  return rowIn(body, "search").units.find(({ id }) => id === level.id)?.where ?? null
}

/** Files attached while this record was the newest open one, such as photos of a fault. */
const attachedDuring = (
  record: Row<"service_record">,
  records: ReadonlyArray<Row<"service_record">>,
  files: ReadonlyArray<{ readonly id: number; readonly created_at: string }>
): ReadonlyArray<number> => {
  const covers = (one: Row<"service_record">, at: string): boolean =>
    one.created_at <= at && (one.ended_at === null || one.ended_at >= at)
  return files.flatMap(({ created_at, id }) => {
    const about = records.filter((one) => covers(one, created_at)).toSorted((one, other) => other.id - one.id)[0]
    return about?.id === record.id ? [id] : []
  })
}
