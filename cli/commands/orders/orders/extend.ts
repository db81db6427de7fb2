/** `orders extend`: moves an order's header, lines, charge period and demands, and prints them before and after. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { QueryResult } from "../../../../sync/device/device.ts"
import { type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { notePending, noteWarnings, printAnswer } from "../../../context/print.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import { formatIn, readMoment } from "../../../base/parse-time.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { itemsOf, lineMeant } from "../shared/parts.ts"
import { opportunityPath } from "../shared/show.ts"

const moment_flags = [
  ["from", "--from", "starts_at"],
  ["to", "--to", "ends_at"],
  ["chargeFrom", "--charge-from", "charge_starts_at"],
  ["chargeTo", "--charge-to", "charge_ends_at"]
] as const

export const extendOrder: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const order = rowIn(await context.read(path, [["include", "items"]]), "opportunity")
  const { zone } = await storeOf(context, order)
  const dates = Object.fromEntries(
    moment_flags.flatMap(([name, flag, field]) => {
      const text = textFlag(flags, name)
      return text === undefined ? [] : [[field, readMoment(context, text, zone, flag)]]
    })
  )
  if (Object.keys(dates).length === 0) dates.ends_at = await askForEnd(context, order, zone)
  const reason = textFlag(flags, "reason")
  const body: JsonObject = {
    ...dates,
    lines: await linesMeant(context, order, textFlag(flags, "lines")),
    ...(reason === undefined ? {} : { reason })
  }
  if (context.options.plan === true) {
    const planned = await context.ask({ method: "POST", path: `${path}/extend`, body })
    if (context.options.json === true) return printAnswer(context, planned)
    showExtension(context, planned, order, zone)
    return context.note("Planned only; nothing was written.")
  }
  if (context.interactive && flags.yes !== true && !(await agreed(context, path, body, order, zone)))
    throw usageError("Nothing was changed.")
  const answer = await context.ask({ method: "POST", path: `${path}/extend`, body })
  if (context.options.json === true) return printAnswer(context, answer)
  showExtension(context, answer, order, zone)
  notePending(context, answer)
}

const askForEnd = async (context: CommandContext, { ends_at }: Row<"opportunity">, zone: string): Promise<string> => {
  if (!context.interactive) throw missingFlagError("--to", "the new end")
  const { promptText } = await import("../../../output/prompt.ts")
  const now = ends_at === null ? "" : ` (now ${formatIn(ends_at, zone)})`
  return readMoment(context, await promptText(`New end${now}`), zone, "--to")
}

/** Lines to move: `follow`, `keep`, or lines by id, product or name, separated by commas. */
const linesMeant = async (
  context: CommandContext,
  order: Row<"opportunity">,
  text: string | undefined
): Promise<Json> => {
  if (text === undefined || text === "follow" || text === "keep") return text ?? "follow"
  const ids: Array<number> = []
  for (const one of text.split(",")) ids.push((await lineMeant(context, itemsOf(order), one)).id)
  return ids
}

/** Prints the preview, and asks for confirmation. */
const agreed = async (
  context: CommandContext,
  path: string,
  body: JsonObject,
  order: Row<"opportunity">,
  zone: string
): Promise<boolean> => {
  showExtension(context, await context.ask({ method: "POST", path: `${path}/extend/preview`, body }), order, zone)
  const { confirm } = await import("../../../output/prompt.ts")
  return confirm("Extend it so?")
}

type Hire = Row<"extension">["before"]
const rows: ReadonlyArray<readonly [title: string, key: Exclude<keyof Hire, "shortages">]> = [
  ["from", "starts_at"],
  ["to", "ends_at"],
  ["charged from", "charge_starts_at"],
  ["charged to", "charge_ends_at"],
  ["total", "charge_total"],
  ["tax", "tax_total"],
  ["total with tax", "charge_including_tax_total"]
]
const shortOf = (hire: Hire): string =>
  hire.shortages.map((one) => `${one.product_name ?? one.product_id} by ${one.remaining_shortfall}`).join(", ") ||
  "nothing"

const showExtension = (context: CommandContext, answer: QueryResult, order: Row<"opportunity">, zone: string): void => {
  const extension = rowIn(answer.body, "extension")
  const { after, before } = extension
  const shown = (value: Json | undefined): string =>
    typeof value === "string" ? formatIn(value, zone) : String(value ?? "")
  const compared = [
    ...rows.map(([title, key]) => ({ what: title, before: shown(before[key]), after: shown(after[key]) })),
    { what: "short of", before: shortOf(before), after: shortOf(after) }
  ].filter((row) => row.before !== "" || row.after !== "")
  context.print(tableText(columnsNamed("what=, before, after"), compared, context.terminal))
  const names = new Map(itemsOf(order).map(({ id, name }) => [id, name]))
  const told = (ids: ReadonlyArray<number>): string => ids.map((id) => names.get(id) ?? String(id)).join(", ") || "none"
  context.note(
    `Lines that go along: ${told(extension.lines_followed)}. ` +
      `Lines with other dates: ${told(extension.lines_kept)}.`
  )
  const first_end = extension.original_ends_at
  if (first_end !== null) context.note(`Before it was first extended: until ${formatIn(first_end, zone)}.`)
  noteWarnings(context, isJsonObject(answer.body) ? answer.body : {})
}
