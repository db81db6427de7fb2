/** `availability gantt`. */
import { decodeAnswer } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { chartText } from "../../output/grid.ts"
import { type Flags, textFlag } from "../../program.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { decodeGantt } from "../../views/answers.ts"
import { kitsOf, windowOf } from "./window.ts"

export const showGantt = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/availability/${id}/gantt`, [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...kitsOf(flags)
  ])
  if (typeof flags["html"] === "string")
    return (await import("../../views/draw.ts")).drawGantt(context, store, id, body, flags["html"])
  if (context.options.json === true) return context.printJson(body)
  const chart = decodeAnswer(decodeGantt, body).gantt
  context.print(chartText(chart, store.zone, context.terminal))
  for (const part of chart.parts ?? []) {
    context.print(
      `\n${part.quantity}× ${part.product_name ?? `product ${part.product_id}`}, ${part.total_stock} in stock\n`
    )
    context.print(chartText({ ...part, from: chart.from, to: chart.to }, store.zone, context.terminal))
  }
}
