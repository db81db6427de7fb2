/** What `availability what-if` and `availability fit` share: the list of products, and moments. */
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import type { Flags } from "../../program.ts"
import { resolveId, type ResolvedStore } from "../../resolve-id.ts"
import { plainOr } from "./window.ts"

/** `AURA*12` is twelve of a product. */
export const planLines = async (
  context: CommandContext,
  given: ReadonlyArray<string>
): Promise<ReadonlyArray<{ readonly product_id: number; readonly quantity: number }>> => {
  const lines: Array<{ readonly product_id: number; readonly quantity: number }> = []
  for (const text of given) {
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(\d+))?$/s.exec(text.trim()) ?? []
    if (code === "") throw usageError(`${JSON.stringify(text)} names no product: write SKU or SKU*12.`)
    lines.push({ product_id: await resolveId(context, "products", code), quantity: Number(quantity) })
  }
  return lines
}
/** The moment a flag names; a plain date is sent as it is and means a day of the store. Exit 2 where it is missing. */
export const momentGiven = (
  flags: Flags,
  name: "from" | "to" | "until",
  what: string,
  store: ResolvedStore
): string => {
  const text = flags[name]
  if (typeof text !== "string") throw missingFlagError(`--${name}`, what)
  return plainOr(text, store, `--${name}`)
}
