/** `quote reprice`: updates prices, taxes and terms; `--plan` prints the changes. */
import { rowsIn } from "../../../base/answers.ts"
import { notePending, noteWarnings } from "../../../context/print.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { opportunityPath } from "./show.ts"

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
