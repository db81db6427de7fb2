/** `availability what-if`. */
import { objectBody, rowIn, rowsIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { column, tableText } from "../../output/table.ts"
import { type Flags, textFlag } from "../../program.ts"
import { resolveStore } from "../../resolve-id.ts"
import { momentGiven, planLines } from "./plan-lines.ts"

/** Prints per line what would be free and what short. Nothing is written. */
export const whatIf = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const dates = {
    starts_at: momentGiven(context, flags, "from", "the start of the hire", store),
    ends_at: momentGiven(context, flags, "to", "the end of the hire", store)
  }
  const lines = (await planLines(context, products)).map((line) => ({ ...line, ...dates }))
  const { body } = await context.ask({
    method: "POST",
    path: "/api/v1/availability/what_if",
    body: { store_id: store.id, lines }
  })
  if (context.options.json === true) return context.printJson(objectBody(body))
  const answer = rowIn(body, "what_if")
  context.print(
    tableText(
      [
        column("product_id", "ID"),
        column("product_name", "PRODUCT"),
        column("requested_quantity", "WANTED"),
        column("available_for_line", "FREE"),
        column("shortage_quantity", "SHORT")
      ],
      rowsIn(answer, "lines"),
      context.terminal
    )
  )
  if (answer["has_shortage"] === false) context.note("All of it is free.")
}
