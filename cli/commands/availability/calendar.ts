/** `availability calendar`. */
import { decodeAnswer } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { gridText } from "../../output/grid.ts"
import { type Flags, textFlag } from "../../program.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { decodeCalendar } from "../../views/answers.ts"
import { kitsOf, windowOf } from "./window.ts"

export const showCalendar = async (
  context: CommandContext,
  _args: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const ids: Array<readonly [string, string]> = []
  for (const one of textFlag(flags, "products")?.split(",") ?? [])
    ids.push(["product_ids[]", String(await resolveId(context, "products", one.trim()))])
  const body = await context.read("/api/v1/availability/calendar", [
    ["store_id", String(store.id)],
    ...windowOf(flags, store),
    ...ids,
    ...kitsOf(flags)
  ])
  if (typeof flags["html"] === "string")
    return (await import("../../views/draw.ts")).drawCalendar(context, store, body, flags["html"])
  if (context.options.json === true) return context.printJson(body)
  context.print(gridText(decodeAnswer(decodeCalendar, body).calendar.products, context.terminal))
}
