/** `quote new`. */
import type { QueryResult } from "../../../sync/device/device.ts"
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError, usageError } from "../../exit-codes.ts"
import { order_parts } from "../../output/order.ts"
import { notePending, noteWarnings, printAnswer, warningsIn } from "../../output/print.ts"
import { readMoment } from "../../parse-time.ts"
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
  const momentGiven = (name: string, begins?: string): string | undefined => {
    const text = textFlag(answers, name)
    return text === undefined ? undefined : readMoment(context, text, store.zone, `--${name}`, begins)
  }
  const memberGiven = async (name: string): Promise<number | undefined> => {
    const text = textFlag(answers, name)
    return text === undefined ? undefined : resolveId(context, "members", text)
  }
  // All that may be refused is looked at before the customer is made.
  const starts_at = momentGiven("from")
  const dates = { starts_at, ends_at: momentGiven("to", starts_at) }
  const venue_id = await memberGiven("venue")
  const customer = await newCustomer(context, answers)
  if (customer?.planned !== undefined) return printAnswer(context, customer.planned)
  const body = present({
    subject: answers["subject"],
    store_id: store.id,
    reference: textFlag(answers, "reference"),
    currency: textFlag(answers, "currency"),
    ...dates,
    member_id: customer?.member_id ?? (await memberGiven("member")),
    venue_id
  })
  const made = await context.ask({
    method: "POST",
    path: "/api/v1/opportunities",
    query: [["include", order_parts]],
    body
  })
  if (context.options.plan === true) return printAnswer(context, made)
  const path = `/api/v1/opportunities/${String(rowIn(made.body, "opportunity")["id"])}`
  // One command after another: each is decided on what the one before made.
  const told = [made]
  for (const { name, item_id, quantity } of lines)
    told.push(await context.ask({ method: "POST", path: `${path}/items`, body: { name, item_id, quantity } }))
  if (answers["draft"] !== true)
    told.push(await context.ask({ method: "POST", path: `${path}/convert_to_quotation`, body: {} }))
  await showOpportunity(context, path)
  const warnings = [...new Set(told.flatMap(({ body: answered }) => warningsIn(answered)))]
  noteWarnings(context, { meta: { warnings } })
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

/** The customer that `--new-customer` names, made with an e-mail address and a phone number where they are given. */
const newCustomer = async (
  context: CommandContext,
  answers: Flags
): Promise<{ readonly member_id: number; readonly planned?: QueryResult } | undefined> => {
  const name = textFlag(answers, "newCustomer")
  const contacts = [
    ["emails", "address", "email"],
    ["phones", "number", "phone"]
  ] as const
  if (name === undefined) {
    const alone = contacts.find(([, , flag]) => answers[flag] !== undefined)
    if (alone !== undefined) throw usageError(`--${alone[2]} is of a new customer: give --new-customer NAME, too.`)
    return undefined
  }
  if (answers["member"] !== undefined) throw usageError("Give --member or --new-customer, not both.")
  const email = textFlag(answers, "email")
  if (email !== undefined && !/^\S+@\S+$/.test(email)) throw usageError(`--email: ${JSON.stringify(email)} is none.`)
  const body = { name, membership_type: "organisation" }
  const made = await context.ask({ method: "POST", path: "/api/v1/members", body })
  const member_id = Number(rowIn(made.body, "member")["id"])
  if (context.options.plan === true) return { member_id, planned: made }
  for (const [kind, field, flag] of contacts) {
    const text = textFlag(answers, flag)
    if (text === undefined) continue
    const contact = { [field]: text, is_primary: true }
    await context.ask({ method: "POST", path: `/api/v1/members/${member_id}/${kind}`, body: contact })
  }
  return { member_id }
}
