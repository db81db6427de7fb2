/** `orders invoice`: creates a draft for the unbilled rest of an order, or part of it. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { type OrderLine, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { printAnswer } from "../../../context/print.ts"
import { type CommandAction, type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { brief_includes, printBrief } from "../../../briefs/invoices.ts"
import { itemsOf, lineMeant, present } from "../shared/parts.ts"
import { order } from "../../../../core/orders/opportunities/tables/statuses.ts"
import { opportunityPath } from "../shared/show.ts"

export const invoiceOrder: CommandAction = async (context, [named = ""], flags) => {
  const lines = listFlag(flags, "line")
  const [percent, amount] = [textFlag(flags, "percent"), textFlag(flags, "amount")]
  if ([percent, amount, lines[0]].filter((one) => one !== undefined).length > 1)
    throw usageError("--percent, --amount and --line do not go together.", "Make a draft of each.")
  const path = await opportunityPath(context, named)
  const opportunity = rowIn(await context.read(path, [["include", "items"]]), "opportunity")
  const type = textFlag(flags, "type")
  if (type === undefined || type === "standard") await requireOrder(context, opportunity, named, flags)
  const items = itemsOf(opportunity)
  const asked: Array<JsonObject> = []
  for (const line of lines) asked.push(await lineAsked(context, items, line))
  const answer = await context.ask({
    method: "POST",
    path: `${path}/invoices`,
    query: context.options.json === true ? [] : brief_includes,
    body: present({
      type,
      percent,
      amount,
      lines: asked.length === 0 ? undefined : asked,
      deduct_deposits: flags.deposits === false ? false : undefined
    })
  })
  if (context.options.plan === true || context.options.json === true) return printAnswer(context, answer)
  printBrief(context, answer)
}
/** Orders are billed without confirmation; quotations only by deposits and proformas. */
const requireOrder = async (
  context: CommandContext,
  { state, state_label }: Row<"opportunity">,
  named: string,
  flags: Flags
): Promise<void> => {
  if (state === order || flags.yes === true) return
  const said = `It is a ${state_label.toLowerCase()}, and no order yet.`
  const typed = named.includes("#") ? `'${named}'` : named
  const way_out =
    `flightcase quote convert ${typed} makes it one; --type deposit or proforma bills before, ` +
    "and --yes bills it as it is."
  if (!context.interactive) throw usageError(said, way_out)
  context.note(`! ${said}`)
  const { confirm } = await import("../../../output/prompt.ts")
  if (!(await confirm("Bill it all the same?"))) throw usageError("Nothing was changed.", way_out)
}
/** A line to bill: `Lamp` for its unbilled rest, `12=2` for a quantity. */
const lineAsked = async (
  context: CommandContext,
  items: ReadonlyArray<OrderLine>,
  line: string
): Promise<JsonObject> => {
  const [, named = line, quantity] = /^(.*)=(\d+(?:\.\d+)?)$/.exec(line) ?? []
  const { id } = await lineMeant(context, items, named)
  return present({ opportunity_item_id: id, quantity })
}
