/** `quote duplicate`: copies a quotation, with other dates and current prices. */
import { rowIn } from "../../../base/answers.ts"
import { notePending, noteWarnings, printAnswer } from "../../../context/print.ts"
import { readMoment } from "../../../base/parse-time.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { opportunityPath, showOpportunity } from "../shared/show.ts"
import { present } from "../shared/parts.ts"

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
