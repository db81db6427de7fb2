/** `quote duplicate` copies a quote or order to other dates, `reprice` updates one: both to the prices of today. */
import { rowIn, rowsIn } from "../../../base/answers.ts"
import { readMoment } from "../../../base/parse-time.ts"
import { notePending, noteWarnings, printAnswer } from "../../../context/print.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import { opportunityPath, showOpportunity } from "./show.ts"
import { present } from "../../../context/writes.ts"

export const duplicateQuote: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const { zone } = await storeOf(context, rowIn(await context.read(path), "opportunity"))
  const moment = (flag: string, begins?: string): string | undefined => {
    const text = textFlag(flags, flag)
    return text === undefined ? undefined : readMoment(context, text, zone, `--${flag}`, begins)
  }
  const starts_at = moment("from")
  const body = present({ subject: textFlag(flags, "subject"), starts_at, ends_at: moment("to", starts_at) })
  const made = await context.ask({ method: "POST", path: `${path}/clone`, body })
  if (context.options.plan === true) return printAnswer(context, made)
  const copy = `/api/v1/opportunities/${rowIn(made.body, "opportunity").id}`
  const quoted =
    flags.draft === true
      ? undefined
      : await context.ask({ method: "POST", path: `${copy}/convert_to_quotation`, body: {} })
  await showOpportunity(context, copy)
  noteWarnings(context, quoted?.body)
  notePending(context, made)
}

export const repriceQuote: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const only = textFlag(flags, "only")
  const answer = await context.ask({
    method: "POST",
    path: `${path}/reprice`,
    body: only === undefined ? {} : { only }
  })
  if (context.options.json === true) context.printJson(answer.body ?? null)
  else {
    const changes = rowsIn(answer.body, "changes")
    if (changes.length === 0) context.note("Prices, taxes and terms are those of today.")
    else context.print(tableText(columnsNamed("name=LINE, figure=FIGURE, from=FROM, to=TO"), changes, context.terminal))
    noteWarnings(context, answer.body)
  }
  if (context.options.plan === true) context.note("Planned only; nothing was written.")
  notePending(context, answer)
}
