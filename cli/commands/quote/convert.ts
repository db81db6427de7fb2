/** `quote convert`. */
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { order_parts } from "../../output/order.ts"
import { notePending, noteWarnings, printAnswer, warningsIn } from "../../output/print.ts"
import type { Flags } from "../../program.ts"
import { opportunityPath, showOpportunity } from "../orders/show.ts"
import { present } from "./parts.ts"

/** Takes a draft or quotation to the state asked for, in one or two steps. */
export const convert = async (
  context: CommandContext,
  [named = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const to = flags["to"]
  if (to !== "quotation" && to !== "order") throw usageError("--to is quotation or order.")
  const path = await opportunityPath(context, named)
  const opportunity = rowIn(await context.read(path), "opportunity")
  const steps = [
    ...(opportunity["state"] === 0 ? [{ path: `${path}/convert_to_quotation`, body: {} }] : []),
    ...(to === "order"
      ? [{ path: `${path}/convert_to_order`, body: present({ shortage_notes: flags["notes"] }) }]
      : opportunity["state"] === 0
        ? []
        : [{ path: `${path}/convert_to_quotation`, body: {} }])
  ]
  if (to === "order" && !(await agreed(context, path, flags))) throw usageError("Nothing was changed.")
  for (const [at, step] of steps.entries()) {
    const answer = await context.ask({ method: "POST", query: [["include", order_parts]], ...step })
    // Of two steps only the first can be planned: the second is decided on what the first records.
    if (context.options.plan === true) return printAnswer(context, answer)
    if (at === steps.length - 1) {
      await showOpportunity(context, path)
      noteWarnings(context, answer.body)
      notePending(context, answer)
    }
  }
}

/** On a terminal, what speaks against an order is told before it is one: a customer on stop, a shortage. */
const agreed = async (context: CommandContext, path: string, flags: Flags): Promise<boolean> => {
  if (!context.interactive || flags["yes"] === true || context.options.plan === true) return true
  const actions = await context.read(`${path}/available_actions`)
  if (warningsIn(actions).length === 0) return true
  noteWarnings(context, actions)
  const { confirm } = await import("../../prompt.ts")
  return confirm("Make it an order all the same?")
}
