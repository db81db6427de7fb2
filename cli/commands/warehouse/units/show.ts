/** `units show`: one unit, what it is promised to while it is out of service, and its history. */
import type { JsonObject } from "../../../../core/kernel/fields/json.ts"
import { isServiceState, stateWords } from "../../../../core/products/service.ts"
import { objectBody, rowIn, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { withOrderNumbers } from "../../../context/order-numbers.ts"
import { type Column, column, recordText, tableText } from "../../../output/table.ts"
import { allRows } from "../../../context/pages.ts"
import { requireUnit } from "./move.ts"

const history: ReadonlyArray<Column> = [
  column("id"),
  column("state_name", "STATE"),
  column("quantity"),
  column("starts_at", "FROM"),
  column("ended_at", "TO"),
  column("expected_back_at", "EXPECTED BACK"),
  column("reason"),
  column("note"),
  column("end_note", "RELEASED WITH"),
  column("cost"),
  column("opportunity_id", "ORDER"),
  {
    title: "PHOTOS AND FILES",
    of: ({ attachment_ids }) => (Array.isArray(attachment_ids) ? attachment_ids.join(", ") : "")
  }
]
const promised: ReadonlyArray<Column> = [
  { title: "PROMISED TO", of: (row) => row["subject"] },
  { title: "ORDER", of: (row) => row["number"] ?? row["opportunity_id"] },
  column("line_name", "LINE"),
  column("starts_at", "FROM"),
  column("ends_at", "TO")
]
const shown = [
  "id",
  "product_name",
  "store_name",
  "asset_number",
  "serial_number",
  "barcode",
  "location",
  "quantity_held"
]

export const showUnit = async (context: CommandContext, code: string): Promise<void> => {
  const { id } = await requireUnit(context, code)
  const level = rowIn(await context.read(`/api/v1/stock_levels/${id}`), "stock_level")
  const records = await allRows(context, "/api/v1/service_records", [["q[stock_level_id_eq]", String(id)]])
  const open = records.find((row) => row["is_open"] === true)
  const conflicts = open === undefined ? [] : await conflictsOf(context, open)
  const photos = (
    await allRows(context, "/api/v1/attachments", [
      ["q[attachable_type_eq]", "StockLevel"],
      ["q[attachable_id_eq]", String(id)]
    ])
  ).map(({ category, created_at, id: attachment_id, original_name }): JsonObject => ({
    id: attachment_id ?? null,
    original_name: original_name ?? null,
    category: category ?? null,
    created_at: created_at ?? null
  }))
  const recorded = records.map((row): JsonObject => ({ ...row, attachment_ids: attachedDuring(row, records, photos) }))
  const where = await whereIs(context, level)
  if (context.options.json === true)
    return context.printJson({ stock_level: level, where, service_records: recorded, conflicts, attachments: photos })
  const state = String(level["service_state"])
  const record: JsonObject = {
    ...Object.fromEntries(shown.map((name) => [name, level[name] ?? null])),
    state: isServiceState(state) ? stateWords[state] : state,
    where: where === null ? null : (where["text"] ?? null)
  }
  context.print(recordText(record, context.terminal))
  for (const [columns, rows] of [
    [promised, conflicts],
    [history, await withOrderNumbers(context, recorded)],
    [
      [column("id", "FILE"), column("original_name", "NAME"), column("category"), column("created_at", "ATTACHED")],
      photos
    ]
  ] as const)
    if (rows.length > 0) context.print(`\n${tableText(columns, rows, context.terminal)}`)
}

const conflictsOf = async (context: CommandContext, open: JsonObject): Promise<ReadonlyArray<JsonObject>> =>
  rowsOr(rowIn(objectBody(await context.read(`/api/v1/service_records/${String(open["id"])}`)), "meta")["conflicts"])

/** Where it is and who has it, as `find` says it; null for a unit without a code, or one that is not found by it. */
const whereIs = async (context: CommandContext, level: JsonObject): Promise<JsonObject | null> => {
  const code = ["asset_number", "serial_number", "barcode"]
    .map((name) => level[name])
    .find((one) => typeof one === "string")
  if (typeof code !== "string") return null
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
  const found = rowsOr(objectBody(objectBody(body)["search"])["units"]).find(({ id }) => id === level["id"])
  return found === undefined ? null : objectBody(found["where"])
}

/** Files attached to the unit while this record was the newest one that was open: photos of what it is about. */
const attachedDuring = (
  record: JsonObject,
  records: ReadonlyArray<JsonObject>,
  files: ReadonlyArray<JsonObject>
): ReadonlyArray<number> => {
  const covers = (one: JsonObject, at: string): boolean =>
    String(one["created_at"]) <= at && (one["ended_at"] === null || String(one["ended_at"]) >= at)
  return files.flatMap(({ created_at, id }) => {
    const about = records
      .filter((one) => covers(one, String(created_at)))
      .toSorted((one, other) => Number(other["id"]) - Number(one["id"]))[0]
    return about !== undefined && about["id"] === record["id"] ? [Number(id)] : []
  })
}
