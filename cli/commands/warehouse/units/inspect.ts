/** `units inspect` and `units due`: records inspections at the bench, also offline, and lists what is due. */
import type { Json, JsonObject, Query } from "../../../../core/kernel/index.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { linesOf, localFile } from "../../../base/input.ts"
import { formatIn, readMoment } from "../../../base/parse-time.ts"
import type { CommandContext } from "../../../context/context.ts"
import { notePending, printAnswer } from "../../../context/print.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { type Column, columnsNamed, tableText } from "../../../output/table.ts"
import { oneLine } from "../../../output/text.ts"
import { attachPhotos } from "../../documents/attach.ts"
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
  const body: Record<string, Json> = {
    inspection_kind_id: await resolveId(context, "inspection_kinds", kind),
    result: flags.pass === true ? "pass" : "fail"
  }
  for (const name of ["value", "note", "inspector"]) {
    const given = textFlag(flags, name)
    if (given !== undefined) body[name] = given
  }
  const done: Array<JsonObject> = []
  let worst: number = exit_codes.ok
  for await (const code of codes.length > 0 ? codes : linesOf(undefined)) {
    try {
      const row = await inspectOne(context, code, body, flags)
      if (row !== undefined) done.push(row.inspection)
      if (row !== undefined) await attachPhotos(context, row.unit_id, photos, "inspection")
    } catch (error) {
      if (!(error instanceof CliError) || error.code === exit_codes.network || codes.length === 1) throw error
      worst = worst === exit_codes.ok ? error.code : worst
      context.note(oneLine(`✗ ${code}: ${error.message}`))
    }
  }
  if (context.options.plan === true) {
    if (context.options.json !== true) context.note("Planned only; nothing was written.")
  } else if (context.options.json === true) context.printJson({ inspections: done })
  return worst
}

const inspectOne = async (context: CommandContext, code: string, sent: JsonObject, flags: Flags) => {
  const unit = await requireUnit(context, code)
  const { zone } = await resolveStore(context, String(unit.store_id))
  const [at, due] = [textFlag(flags, "at"), textFlag(flags, "due")]
  const body = {
    ...sent,
    stock_level_id: unit.id,
    ...(at === undefined ? {} : { inspected_at: readMoment(context, at, zone, "--at") }),
    ...(due === undefined ? {} : { due_at: readMoment(context, due, zone, "--due") })
  }
  const answer = await context.ask({ method: "POST", path: "/api/v1/inspections", body })
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
  const [kind, product, store] = [textFlag(flags, "kind"), textFlag(flags, "product"), textFlag(flags, "store")]
  const within = textFlag(flags, "within") ?? "30"
  if (!/^\d{1,4}$/.test(within)) throw usageError(`--within: ${JSON.stringify(within)} is no number of days.`)
  const until = new Date(Date.now() + Number(within) * 86_400_000).toISOString()
  const query: Query = [
    ["due_before", until],
    ["per_page", String(pages_of)],
    ...(store === undefined ? [] : [["store_id", String((await resolveStore(context, store)).id)] as const]),
    ...(product === undefined ? [] : [["product_id", String(await resolveId(context, "products", product))] as const]),
    ...(kind === undefined
      ? []
      : [["inspection_kind_id", String(await resolveId(context, "inspection_kinds", kind))] as const])
  ]
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
  context.print(tableText(columns, rows, context.terminal))
}
