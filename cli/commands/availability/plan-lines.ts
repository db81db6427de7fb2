/** What `availability what-if` and `availability fit` share: the list of products, and moments. */
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import type { Flags } from "../../program.ts"
import { resolveId, type ResolvedStore } from "../../resolve-id.ts"
import { hireMoment, plainOr } from "./window.ts"

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
/**
 * The moment a flag names; a day without a time is sent as a date, but as the end of a hire it is the whole of it. Exit
 * 2 where it is missing.
 */
export const momentGiven = (
  context: CommandContext,
  flags: Flags,
  name: "from" | "to" | "until",
  what: string,
  store: ResolvedStore
): string => {
  const text = flags[name]
  if (typeof text !== "string") throw missingFlagError(`--${name}`, what)
  return name === "to" ? hireMoment(context, flags, store, name) : plainOr(text, store, `--${name}`)
}
