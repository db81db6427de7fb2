/** `quote duplicate` copies a quote or order to other dates, `reprice` updates one: both to the prices of today. */
import { rowIn, rowsIn } from "../../../base/answers.ts"
import { notePending, noteWarnings, printAnswer, printTable } from "../../../context/print.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { momentFlag, present } from "../../../context/pages.ts"
import { opportunityPath, showOpportunity } from "./show.ts"

export const duplicateQuote: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const { zone } = await storeOf(context, rowIn(await context.read(path), "opportunity"))
  const starts_at = momentFlag(context, flags, "from", zone)
  const ends_at = momentFlag(context, flags, "to", zone, starts_at)
  const body = present({ subject: textFlag(flags, "subject"), starts_at, ends_at })
  const made = await context.post(`${path}/clone`, body)
  if (context.options.plan === true) return printAnswer(context, made)
  const copy = `/api/v1/opportunities/${rowIn(made.body, "opportunity").id}`
  const quoted = flags.draft === true ? undefined : await context.post(`${copy}/convert_to_quotation`, {})
  await showOpportunity(context, copy)
  noteWarnings(context, quoted?.body)
  // Neither request warns of stock or of the customer's credit, unlike those of a new quote.
  noteWarnings(context, await context.read(`${copy}/available_actions`))
  notePending(context, made)
}

export const repriceQuote: CommandAction = async (context, [named = ""], flags) => {
  const path = await opportunityPath(context, named)
  const only = textFlag(flags, "only")
  const answer = await context.post(`${path}/reprice`, only === undefined ? {} : { only })
  if (context.options.json === true) context.printJson(answer.body ?? null)
  else {
    const changes = rowsIn(answer.body, "changes")
    if (changes.length === 0) context.note("Prices, taxes and terms are those of today.")
    else printTable(context, "name=LINE, figure=FIGURE, from=FROM, to=TO", changes)
    noteWarnings(context, answer.body)
  }
  if (context.options.plan === true) context.note("Planned only; nothing was written.")
  notePending(context, answer)
}
