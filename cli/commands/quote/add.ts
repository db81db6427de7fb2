/** `quote add`. */
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { notePending, noteWarnings, printAnswer } from "../../output/print.ts"
import { readMoment } from "../../parse-time.ts"
import { type Flags, textFlag } from "../../program.ts"
import { type ResolvedStore, resolveStore } from "../../resolve-id.ts"
import { opportunityPath, showOpportunity } from "../orders/show.ts"
import { findProduct, present } from "./parts.ts"

/** Adds a line to a quote. */
export const addLine = async (
  context: CommandContext,
  [named = "", code = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const path = await opportunityPath(context, named)
  const { item_id, name } = await findProduct(context, code)
  const zone = flags["from"] === undefined && flags["to"] === undefined ? "UTC" : (await storeOf(context, path)).zone
  const momentGiven = (flag: string, begins?: string): string | undefined => {
    const text = textFlag(flags, flag)
    return text === undefined ? undefined : readMoment(context, text, zone, `--${flag}`, begins)
  }
  const starts_at = momentGiven("from")
  const answer = await context.ask({
    method: "POST",
    path: `${path}/items`,
    body: present({
      item_id,
      name: flags["name"] ?? name,
      quantity: flags["quantity"],
      unit_price: flags["price"],
      discount_percent: flags["discount"],
      notes: flags["notes"],
      is_optional: flags["optional"] === true ? true : undefined,
      starts_at,
      ends_at: momentGiven("to", starts_at)
    })
  })
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  noteWarnings(context, answer.body)
  notePending(context, answer)
}
const storeOf = async (context: CommandContext, path: string): Promise<ResolvedStore> => {
  const opportunity = rowIn(await context.read(path), "opportunity")
  return resolveStore(context, opportunity["store_id"] === null ? undefined : String(opportunity["store_id"]))
}
