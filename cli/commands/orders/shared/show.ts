/**
 * `orders show` and `quote show`: an opportunity with its lines, costs and totals, and notes of allocated units that
 * will be out of service.
 */
import type { Command } from "commander"
import { type Row, rowIn, rowsIn } from "../../../base/answers.ts"
import { isJsonObject, type JsonObject, type Query } from "../../../../core/kernel/index.ts"
import type { CommandContext } from "../../../context/context.ts"
import { verb } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { noteWarnings } from "../../../context/print.ts"
import { orderText } from "../../../output/order.ts"
import { explanationText } from "../../../output/explanation.ts"

export const opportunityPath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/opportunities/${await resolveId(context, "opportunities", named)}`

/** Declares the verb `show` of `orders` or `quote`, with their word for an opportunity. */
export const declareShow = (parent: Command, noun: "order" | "quote"): void => {
  verb(parent, "show", {
    about: `Show ${noun === "order" ? "an order" : "a quote"} with its lines and totals`,
    ...(noun === "order" ? { "<order>": "order, by id or number" } : { "<quote>": "quote, by id or number" }),
    "--explain": "explain each figure in words",
    run: async (context, [named = ""], flags) => {
      const asked = [["outdated", "1"], ...(flags.explain === true ? [["explain", "1"] as const] : [])] as const
      await showOpportunity(context, await opportunityPath(context, named), asked)
    }
  })
}

/**
 * Prints an opportunity, with --json as in the API. `asked`: `explain` adds explanations of amounts, `outdated` adds
 * amounts that would differ now.
 */
export const showOpportunity = async (context: CommandContext, path: string, asked: Query = []): Promise<void> => {
  const included = "items,costs,member,venue,store"
  const body = await context.read(path, [
    ["include", context.options.json === true ? included : `${included},items.assets,pieces`],
    ...asked
  ])
  if (context.options.json === true) return context.printJson(body)
  const opportunity = rowIn(body, "opportunity")
  context.print(orderText(context.terminal, opportunity))
  if (body.explanation !== undefined) context.print(`\n${explanationText(body.explanation, context.terminal)}`)
  noteWarnings(context, body)
  await noteToReplace(context, path, opportunity)
}

/** Notes each allocated unit of a response that will be out of service, one per line. */
export const tellToReplace = (context: CommandContext, body: JsonObject): void => {
  for (const { says } of rowsIn(body, "to_replace")) context.note(`! ${String(says)}`)
}
/** Notes the allocated units of one order that will be out of service, for users who may see its shortages. */
const noteToReplace = async (context: CommandContext, path: string, order: Row<"opportunity">): Promise<void> => {
  const units = (order.items ?? []).flatMap((line) => line.assets ?? [])
  if (units.length === 0) return
  const answer = await context.request({ method: "GET", path: `${path}/shortages` })
  if (answer.status === 200 && isJsonObject(answer.body)) tellToReplace(context, answer.body)
}
