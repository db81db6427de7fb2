/** `units inspect` and `units due`: records inspections at the bench, also offline, and lists what is due. */
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { linesOf, localFile } from "../../../base/input.ts"
import { formatIn } from "../../../base/parse-time.ts"
import type { CommandContext } from "../../../context/context.ts"
import { idFlag, momentFlag, present, queryOf } from "../../../context/pages.ts"
import { notePending, printAnswer, printTable } from "../../../context/print.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { type Column, columnsNamed } from "../../../output/table.ts"
import { attachPhotos, eachInTurn } from "../../documents/attach.ts"
import { requireUnit } from "./move.ts"

/** Records one result for each unit, continuing after errors; the exit code is that of the first error. */
export const inspectUnits = async (
  context: CommandContext,
  codes: ReadonlyArray<string>,
  flags: Flags
): Promise<number> => {
  const kind = textFlag(flags, "kind")
  if (kind === undefined) throw usageError("Say which inspection it was.", "For example --kind PAT.")
  if ((flags.pass === true) === (flags.fail === true)) throw usageError("Say how it ended: --pass or --fail.")
  const photos = listFlag(flags, "photo")
  for (const photo of photos) await localFile(photo)
  const body = present({
    inspection_kind_id: await resolveId(context, "inspection_kinds", kind),
    result: flags.pass === true ? "pass" : "fail",
    value: textFlag(flags, "value"),
    note: textFlag(flags, "note"),
    inspector: textFlag(flags, "inspector")
  })
  const done: Array<JsonObject> = []
  const { worst } = await eachInTurn(context, "code", codes.length > 0 ? codes : linesOf(undefined), async (code) => {
    const row = await inspectOne(context, code, body, flags)
    if (row === undefined) return
    done.push(row.inspection)
    await attachPhotos(context, row.unit_id, photos, "inspection")
  })
  if (context.options.plan === true) {
    if (context.options.json !== true) context.note("Planned only; nothing was written.")
  } else if (context.options.json === true) context.printJson({ inspections: done })
  return worst
}

const inspectOne = async (context: CommandContext, code: string, sent: JsonObject, flags: Flags) => {
  const unit = await requireUnit(context, code)
  const { zone } = await resolveStore(context, String(unit.store_id))
  const body = present({
    ...sent,
    stock_level_id: unit.id,
    inspected_at: momentFlag(context, flags, "at", zone),
    due_at: momentFlag(context, flags, "due", zone)
  })
  const answer = await context.post("/api/v1/inspections", body)
  if (answer.events !== undefined && context.options.json === true) {
    await printAnswer(context, answer)
    return undefined
  }
  const row = rowIn(answer.body, "inspection")
  if (context.options.json !== true) {
    const { due_at } = row
    const next = row.result === "fail" || due_at === null ? "" : `, next due ${formatIn(due_at, zone)}`
    context.print(`${unit.label}\t${row.result === "pass" ? "passed" : "failed"}${next}\n`)
    notePending(context, answer)
  }
  return { inspection: row, unit_id: unit.id }
}

type Due = ReturnType<typeof rowsIn<"inspection_dues">>[number]
const columns: ReadonlyArray<Column<Due>> = [
  {
    title: "UNIT",
    of: (row) => row.asset_number ?? row.serial_number ?? row.barcode ?? `stock level ${row.stock_level_id}`
  },
  ...columnsNamed(
    "product_name=PRODUCT, kind_name=KIND, status, due_at=DUE, inspected_at=LAST INSPECTED, value, location"
  )
]
const pages_of = 500

/** Lists units whose inspection is due within some days, failed and overdue ones included. */
export const showDue = async (context: CommandContext, flags: Flags): Promise<void> => {
  const within = textFlag(flags, "within") ?? "30"
  if (!/^\d{1,4}$/.test(within)) throw usageError(`--within: ${JSON.stringify(within)} is no number of days.`)
  const until = new Date(Date.now() + Number(within) * 86_400_000).toISOString()
  const query = queryOf({
    due_before: until,
    per_page: pages_of,
    store_id: await idFlag(context, flags, "store", "stores"),
    product_id: await idFlag(context, flags, "product", "products"),
    inspection_kind_id: await idFlag(context, flags, "kind", "inspection_kinds")
  })
  const rows: Array<Due> = []
  for (let page = 1; ; page++) {
    const some = rowsIn(
      await context.read("/api/v1/inspection_dues", [...query, ["page", String(page)]]),
      "inspection_dues"
    )
    rows.push(...some)
    if (some.length < pages_of) break
  }
  if (context.options.json === true) return context.printJson({ inspection_dues: rows })
  if (rows.length === 0) return context.note(`Nothing is due within ${within} days.`)
  printTable(context, columns, rows)
}
