/** `shortages wait|leave|waiting`: manages lines that wait for goods. */
import type { Json, JsonObject } from "../../../../core/kernel/fields/field.ts"
import { unpagedMeta } from "../../../../core/kernel/endpoints/resource.ts"
import type { QueryResult } from "../../../../sync/device/device.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { withOrderNumbers } from "../../../context/order-numbers.ts"
import { printAnswer } from "../../../context/print.ts"
import { allRows } from "../../../context/pages.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { looksLikeId } from "../../../context/resolve-id.ts"
import { opportunityPath } from "../shared/show.ts"

const listed = (body: Json | undefined): QueryResult => {
  const waiting = rowsIn(body, "waiting")
  return { status: 200, body: { waiting, meta: unpagedMeta(waiting.length) } }
}

export const showWaiting = async (context: CommandContext, order: string | undefined): Promise<void> => {
  if (order !== undefined) {
    const path = `${await opportunityPath(context, order)}/shortages`
    return printAnswer(context, listed(await context.read(path)))
  }
  const rows = await allRows(context, "/api/v1/shortage_waits", [["q[status_eq]", "waiting"]])
  const shown = context.options.json === true ? rows : await withOrderNumbers(context, rows)
  await printAnswer(context, { status: 200, body: { shortage_waits: shown, meta: unpagedMeta(rows.length) } })
}

/** Id of an order's line, given by id, or by name if unique. */
const lineOf = async (context: CommandContext, path: string, text: string): Promise<number> => {
  if (looksLikeId(text)) return Number(text)
  const { items } = rowIn(await context.read(path, [["include", "items"]]), "opportunity")
  const found = (items ?? []).filter(({ name }) => name.toLowerCase() === text.trim().toLowerCase())
  const [line] = found
  if (line !== undefined && found.length === 1) return line.id
  throw new CliError(
    line === undefined ? exit_codes.not_found : exit_codes.usage,
    line === undefined
      ? `The order has no line ${JSON.stringify(text)}.`
      : `${JSON.stringify(text)} is the name of several lines: ids ${found.map(({ id }) => id).join(", ")}.`,
    { way_out: "Give the id of the line; orders show lists them." }
  )
}

const changeWaiting = async (context: CommandContext, path: string, body: JsonObject, done: string): Promise<void> => {
  const answer = await context.ask({ method: "POST", path, body })
  if (context.options.json === true || context.options.plan === true) return printAnswer(context, answer)
  await printAnswer(context, { ...answer, ...listed(answer.body) })
  context.note(done)
}

export const waitFor = async (
  context: CommandContext,
  [order = "", line]: ReadonlyArray<string | undefined>,
  flags: Flags
): Promise<void> => {
  const path = await opportunityPath(context, order)
  const note = textFlag(flags, "note")
  const body: JsonObject = {
    resolution: "waitlist",
    ...(line === undefined ? {} : { lines: [{ opportunity_item_id: await lineOf(context, path, line) }] }),
    ...(note === undefined ? {} : { note })
  }
  await changeWaiting(
    context,
    `${path}/shortages/resolve`,
    body,
    "Whoever waits is told when all they ask for is free; nothing is reserved by that."
  )
}

export const leaveList = async (
  context: CommandContext,
  [order = "", line]: ReadonlyArray<string | undefined>
): Promise<void> => {
  const path = await opportunityPath(context, order)
  const body: JsonObject = line === undefined ? {} : { opportunity_item_ids: [await lineOf(context, path, line)] }
  await changeWaiting(context, `${path}/shortages/leave`, body, "Off the waiting list.")
}
