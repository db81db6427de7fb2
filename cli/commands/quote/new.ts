/** `quote new`. */
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import { notePending, printAnswer } from "../../output/print.ts"
import { parseMomentIn } from "../../parse-time.ts"
import { type Flags, listFlag, textFlag } from "../../program.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { showOpportunity } from "../orders/show.ts"
import { findProduct, present } from "./parts.ts"

/** Makes an opportunity with its lines, and a quotation of it unless it is to stay a draft. */
export const newQuote = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const nothing_given = ["subject", "member", "from", "to", "line"].every((name) => flags[name] === undefined)
  const answers: Flags =
    nothing_given && context.interactive
      ? { ...flags, ...(await (await import("./wizard.ts")).askForQuote(context, flags)) }
      : flags
  if (typeof answers["subject"] !== "string") throw missingFlagError("--subject", "the subject")
  const store = await resolveStore(context, textFlag(answers, "store"))
  const lines = await readLines(context, listFlag(answers, "line"))
  const momentGiven = (name: string): string | undefined => {
    const text = textFlag(answers, name)
    return text === undefined ? undefined : parseMomentIn(text, store.zone, `--${name}`)
  }
  const memberGiven = async (name: string): Promise<number | undefined> => {
    const text = textFlag(answers, name)
    return text === undefined ? undefined : resolveId(context, "members", text)
  }
  const body = present({
    subject: answers["subject"],
    store_id: store.id,
    reference: textFlag(answers, "reference"),
    currency: textFlag(answers, "currency"),
    starts_at: momentGiven("from"),
    ends_at: momentGiven("to"),
    member_id: await memberGiven("member"),
    venue_id: await memberGiven("venue")
  })
  const made = await context.ask({ method: "POST", path: "/api/v1/opportunities", body })
  if (context.options.plan === true) return printAnswer(context, made)
  const path = `/api/v1/opportunities/${String(rowIn(made.body, "opportunity")["id"])}`
  // One command after another: each is decided on what the one before made.
  for (const { name, item_id, quantity } of lines)
    await context.ask({ method: "POST", path: `${path}/items`, body: { name, item_id, quantity } })
  if (answers["draft"] !== true) await context.ask({ method: "POST", path: `${path}/convert_to_quotation`, body: {} })
  await showOpportunity(context, path)
  notePending(context, made)
}

interface Line {
  readonly item_id: number
  readonly name: string
  readonly quantity: string
}
/** `AURA*12` is twelve of a product. Every product is looked up before anything is written. */
const readLines = async (context: CommandContext, given: ReadonlyArray<string>): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  for (const text of given) {
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(\d+(?:\.\d+)?))?$/s.exec(text.trim()) ?? []
    if (code === "")
      throw usageError(`--line ${JSON.stringify(text)} names no product: write --line SKU or --line SKU*12.`)
    lines.push({ ...(await findProduct(context, code)), quantity })
  }
  return lines
}
