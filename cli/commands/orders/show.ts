/** `orders show` and `quote show`: an opportunity with its lines, costs and totals. */
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { resolveId } from "../../resolve-id.ts"
import { orderText } from "../../output/order.ts"
import { explanationText } from "../../output/explanation.ts"

export const opportunityPath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/opportunities/${await resolveId(context, "opportunities", named)}`

/** Prints an opportunity, with --json as the API gives it; `explained` adds how its figures were worked out, in words. */
export const showOpportunity = async (context: CommandContext, path: string, explained = false): Promise<void> => {
  const included = "items,costs,member,venue,store"
  const body = await context.read(path, [
    ["include", context.options.json === true ? included : `${included},items.assets,pieces`],
    ...(explained ? ([["explain", "1"]] as const) : [])
  ])
  if (context.options.json === true) return context.printJson(body)
  const opportunity = rowIn(body, "opportunity")
  context.print(orderText(context.terminal, opportunity))
  if (explained) context.print(`\n${explanationText(body["explanation"], context.terminal)}`)
  const { noteToReplace } = await import("../shortages/to-replace.ts")
  await noteToReplace(context, path, opportunity)
}
