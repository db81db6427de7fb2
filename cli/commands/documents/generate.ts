/** `documents generate` and `documents batch`: of what people name by its number. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { notePending, printAnswer } from "../../output/print.ts"
import { type Flags, listFlag, textFlag } from "../../program.ts"
import { resolveId } from "../../resolve-id.ts"
import { writePdf } from "./get.ts"

/** Flags that say what a document is made of, as `textFlag` names them. */
const sources = [
  { flag: "order", documentable_type: "Opportunity", table: "opportunities" },
  { flag: "invoice", documentable_type: "Invoice", table: "invoices" },
  { flag: "creditNote", documentable_type: "CreditNote", table: "credit_notes" },
  { flag: "purchaseOrder", documentable_type: "PurchaseOrder", table: "purchase_orders" }
] as const
const which = "--order, --invoice, --credit-note or --purchase-order"

/** The one kind of source that was named, with what was said of it. */
const namedSource = <N>(named: (flag: string) => N | undefined) => {
  const given = sources.flatMap((source) => {
    const value = named(source.flag)
    return value === undefined ? [] : [{ ...source, value }]
  })
  const [first] = given
  if (first === undefined) throw usageError("Say of what it is to be made.", `Give ${which}.`)
  if (given.length > 1) throw usageError("A document is made of one kind of thing.", `Give one of ${which}.`)
  return first
}
const commonBody = async (context: CommandContext, flags: Flags, documentable_type: string): Promise<JsonObject> => {
  const store = textFlag(flags, "store")
  return {
    document_type: textFlag(flags, "type") ?? "",
    documentable_type,
    ...(store === undefined ? {} : { store_id: await resolveId(context, "stores", store) })
  }
}

export const generateDocument = async (context: CommandContext, flags: Flags): Promise<void> => {
  const { documentable_type, table, value } = namedSource((flag) => textFlag(flags, flag))
  const output = textFlag(flags, "output")
  const is_queued = flags["async"] === true
  if (output !== undefined && is_queued)
    throw usageError("With --async there is no PDF to fetch yet.", "Leave out --async, or fetch it later.")
  const body = {
    ...(await commonBody(context, flags, documentable_type)),
    documentable_id: await resolveId(context, table, value),
    ...(is_queued ? { async: true } : {})
  }
  const answer = await context.ask({ method: "POST", path: "/api/v1/documents/generate", body })
  if (output === undefined || context.options.plan === true || answer.events !== undefined) {
    await printAnswer(context, answer)
    return notePending(context, answer)
  }
  await writePdf(context, rowIn(answer.body, "document"), output)
}

export const generateBatch = async (context: CommandContext, flags: Flags): Promise<void> => {
  const { documentable_type, table, value } = namedSource((flag) => {
    const all = listFlag(flags, flag)
    return all.length === 0 ? undefined : all
  })
  const documentable_ids: Array<number> = []
  for (const one of value) documentable_ids.push(await resolveId(context, table, one))
  const body = { ...(await commonBody(context, flags, documentable_type)), documentable_ids }
  await printAnswer(context, await context.ask({ method: "POST", path: "/api/v1/documents/batch_generate", body }))
}
