/** Shows order numbers instead of ids on a terminal, as users type them. */
import type { Json, JsonObject } from "../../core/kernel/index.ts"
import { numberText } from "../../core/values/text.ts"
import { rowsIn } from "../base/answers.ts"
import type { CommandContext } from "./context.ts"

const ids_per_request = 100

/** Rows with the order's number in `opportunity_id`, or `id:N` without a visible number. Unchanged in pipes. */
export const withOrderNumbers = async <R extends JsonObject & { readonly opportunity_id: Json }>(
  context: CommandContext,
  rows: ReadonlyArray<R>
): Promise<ReadonlyArray<R | (R & { readonly opportunity_id: string })>> => {
  const ids = [...new Set(rows.flatMap(({ opportunity_id: id }) => (typeof id === "number" ? [id] : [])))]
  if (!context.terminal.is_tty || ids.length === 0) return rows
  const numbers = new Map<number, string>()
  for (let at = 0; at < ids.length; at += ids_per_request) {
    const { body, status } = await context.request({
      method: "GET",
      path: "/api/v1/opportunities",
      query: [
        ["q[id_in]", ids.slice(at, at + ids_per_request).join(",")],
        ["per_page", String(ids_per_request)]
      ]
    })
    for (const { id, number } of status < 400 ? rowsIn(body, "opportunities") : [])
      if (typeof number === "string" && number !== "") numbers.set(id, numberText(number, id))
  }
  return rows.map((row) =>
    typeof row.opportunity_id === "number"
      ? { ...row, opportunity_id: numbers.get(row.opportunity_id) ?? `id:${row.opportunity_id}` }
      : row
  )
}
