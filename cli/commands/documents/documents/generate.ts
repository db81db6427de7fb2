/** `documents generate` and `documents batch`: documents by numbers of their sources. */
import { setTimeout } from "node:timers/promises"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { objectBody, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { printAnswer, progressOf } from "../../../context/print.ts"
import { recordText } from "../../../output/table.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { printBrief } from "../../../briefs/documents.ts"
import { writePdf } from "./get.ts"

/** Flags that name a document's source, by the keys of `textFlag`. */
const sources = [
  { flag: "order", documentable_type: "Opportunity", table: "opportunities" },
  { flag: "invoice", documentable_type: "Invoice", table: "invoices" },
  { flag: "creditNote", documentable_type: "CreditNote", table: "credit_notes" },
  { flag: "purchaseOrder", documentable_type: "PurchaseOrder", table: "purchase_orders" }
] as const
const which = "--order, --invoice, --credit-note or --purchase-order"

/** The source whose flag was given, with its value. Exit 2 if none or several were. */
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
  const is_queued = flags.async === true
  if (output !== undefined && context.offline)
    throw new CliError(exit_codes.network, "The PDF is drawn by the server, and --offline forbids to ask it.", {
      way_out: "Leave out -o: the document is recorded, and drawn when it was sent. Papers of an order: orders print."
    })
  if (output !== undefined && is_queued)
    throw usageError("With --async there is no PDF to fetch yet.", "Leave out --async, or fetch it later.")
  const body = {
    ...(await commonBody(context, flags, documentable_type)),
    documentable_id: await resolveId(context, table, value),
    ...(is_queued ? { async: true } : {})
  }
  const answer = await context.ask({ method: "POST", path: "/api/v1/documents/generate", body })
  if (context.options.plan === true || (output === undefined && context.options.json === true))
    return printAnswer(context, answer)
  if (output === undefined) return printBrief(context, answer)
  const document = rowIn(answer.body, "document")
  await writePdf(context, answer.command === undefined ? document : await drawnAtServer(context, document), output)
}

const patience_millis = 60_000
/** Sends pending commands, and downloads the document once the server has rendered it. */
const drawnAtServer = async (context: CommandContext, recorded: Row<"document">): Promise<Row<"document">> => {
  await (await context.device()).sync()
  const path = `/api/v1/documents/${recorded.id}`
  for (const until = Date.now() + patience_millis; ; await setTimeout(250)) {
    const answer = await context.requestAtServer({ method: "GET", path })
    if (answer.status === 404)
      throw new CliError(exit_codes.conflict, "The server has not taken it.", {
        way_out: "flightcase sync conflicts says why."
      })
    if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
    const document = rowIn(answer.body, "document")
    if (document.status !== "pending" || Date.now() > until) return document
  }
}

export const generateBatch = async (context: CommandContext, flags: Flags): Promise<void> => {
  const { documentable_type, table, value } = namedSource((flag) => {
    const all = listFlag(flags, flag)
    return all.length === 0 ? undefined : all
  })
  const documentable_ids: Array<number> = []
  for (const one of value) documentable_ids.push(await resolveId(context, table, one))
  const body = { ...(await commonBody(context, flags, documentable_type)), documentable_ids }
  const answer = await context.ask({ method: "POST", path: "/api/v1/documents/batch_generate", body })
  if (flags.wait !== true) return printAnswer(context, answer)
  const { job_id } = objectBody(answer.body)
  return batchDone(context, String(job_id), documentable_ids.length)
}

/** Prints progress until the batch has ended. */
const batchDone = async (context: CommandContext, job_id: string, total: number): Promise<void> => {
  const progress = progressOf(context)
  const path = `/api/v1/system/jobs/${encodeURIComponent(job_id)}`
  try {
    for (;;) {
      const job = rowIn(await context.read(path), "job")
      const { status } = job
      if (status === "done" || status === "failed") {
        progress.end()
        if (context.options.json === true) context.printJson({ job })
        else context.print(recordText(job.result ?? { status }, context.terminal))
        if (status === "done") return
        throw new CliError(exit_codes.failed, `The batch failed: ${String(job.error)}`, {
          way_out: `flightcase jobs retry ${job_id} goes on where it stopped.`
        })
      }
      progress.at("Drawing", Math.round((job.progress ?? 0) * total), total)
      await setTimeout(500)
    }
  } finally {
    progress.end()
  }
}
