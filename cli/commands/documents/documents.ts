/**
 * `documents`: generates documents by number of their source, downloads PDFs from the server by signed URLs, and checks
 * that a file equals a document byte for byte; the verbs derived from the API are added.
 */
import type { Command } from "commander"
import { listFlag, repeatable, required, textFlag, verb } from "../../context/program.ts"
import type { CommandAction, Flags } from "../../context/program.ts"
import { setTimeout } from "node:timers/promises"
import { isJsonObject, type JsonObject } from "../../../core/kernel/index.ts"
import { objectBody, type Row, rowIn, rowsIn } from "../../base/answers.ts"
import type { ApiRequest, CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { idFlag, present } from "../../context/pages.ts"
import { noteWarnings, printAnswer } from "../../context/print.ts"
import { recordText } from "../../output/table.ts"
import { resolveId } from "../../context/resolve-id.ts"
import { printBrief } from "../../briefs/documents.ts"
import { endedJob, signedFile, writeAs } from "../../context/signed-file.ts"
import type { QueryResult } from "../../../sync/device/device.ts"
import { localFile } from "../../base/input.ts"

export const declare = (program: Command): void => {
  const documents = program.command("documents").description("Quotations, delivery notes, invoices and other documents")
  verb(documents, "generate", {
    about: "Create a document from an order, invoice, credit note or purchase order",
    "--type <type>": required("quotation, order_confirmation, pick_list, delivery_note, return_note, invoice …"),
    "--order <order>": "source order, by number or id",
    "--invoice <invoice>": "source invoice, by number or id",
    "--credit-note <note>": "source credit note, by number or id",
    "--purchase-order <order>": "source purchase order, by number or id",
    "--store <store>": "store for branding and texts (default: the source's store)",
    "--async": "do not wait for the PDF",
    "-o, --output <file>": "save the PDF to this file; - for standard output",
    run: async (context, _named, flags) => generateDocument(context, flags)
  })
  verb(documents, "batch", {
    about: "Create documents for up to 100 orders, invoices or other sources, in one job",
    "--type <type>": required("type of document, such as quotation or invoice"),
    "--order <order>": repeatable("source order; repeatable"),
    "--invoice <invoice>": repeatable("source invoice; repeatable"),
    "--credit-note <note>": repeatable("source credit note; repeatable"),
    "--purchase-order <order>": repeatable("source purchase order; repeatable"),
    "--store <store>": "store for branding and texts",
    "--wait": "show progress until all are created",
    run: async (context, _named, flags) => generateBatch(context, flags)
  })
  verb(documents, "get", {
    about: "Download a document's PDF",
    "<document>": "document, by number or id",
    "--certificate": "include the acceptance certificate",
    "-o, --output <file>": "output file (default: its own name, in this folder); - for standard output",
    run: getDocument
  })
  verb(documents, "verify", {
    about: "Identify a PDF's document and who accepted it; offline, from the replica",
    "<file>": "PDF to identify",
    run: verifyFile
  }).addHelpText("after", "\nExit 0: it is the document, unchanged and not voided. 1: it is not, or it was voided.")
}

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
const commonBody = async (context: CommandContext, flags: Flags, documentable_type: string): Promise<JsonObject> =>
  present({
    document_type: textFlag(flags, "type") ?? "",
    documentable_type,
    store_id: await idFlag(context, flags, "store", "stores")
  })

const generateDocument = async (context: CommandContext, flags: Flags): Promise<void> => {
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
  const answer = await context.post("/api/v1/documents/generate", body)
  if (context.options.plan === true || (output === undefined && context.options.json === true))
    return printAnswer(context, answer)
  if (output === undefined) return printBrief(context, answer)
  const document = rowIn(answer.body, "document")
  await writePdf(context, answer.command === undefined ? document : await drawnAtServer(context, document), output)
}

const patience_millis = 60_000
/** Syncs, and returns the document's row once the server has drawn it, or as it is after `patience_millis`. */
const drawnAtServer = async (context: CommandContext, recorded: Row<"document">): Promise<Row<"document">> => {
  await (await context.device()).sync()
  const path = `/api/v1/documents/${recorded.id}`
  for (const until = Date.now() + patience_millis; ; await setTimeout(250)) {
    const answer = await context.requestAtServer({ method: "GET", path })
    if (answer.status === 404)
      throw new CliError(exit_codes.conflict, "The server has not taken it.", {
        way_out: "flightcase sync conflicts says why."
      })
    if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
    noteWarnings(context, answer.body)
    const document = rowIn(answer.body, "document")
    if (document.status !== "pending" || Date.now() > until) return document
  }
}

const generateBatch = async (context: CommandContext, flags: Flags): Promise<void> => {
  const { documentable_type, table, value } = namedSource((flag) => {
    const all = listFlag(flags, flag)
    return all.length === 0 ? undefined : all
  })
  const documentable_ids: Array<number> = []
  for (const one of value) documentable_ids.push(await resolveId(context, table, one))
  const body = { ...(await commonBody(context, flags, documentable_type)), documentable_ids }
  const answer = await context.post("/api/v1/documents/batch_generate", body)
  if (flags.wait !== true) return printAnswer(context, answer)
  const { job_id } = objectBody(answer.body)
  return batchDone(context, String(job_id), documentable_ids.length)
}

/** Prints progress until the batch has ended, then its result. Exit 1 if it failed. */
const batchDone = async (context: CommandContext, job_id: string, total: number): Promise<void> => {
  const job = await endedJob(context, job_id, { doing: "Drawing", total })
  if (context.options.json === true) context.printJson({ job })
  else context.print(recordText(job.result ?? { status: job.status }, context.terminal))
  if (job.status === "failed")
    throw new CliError(exit_codes.failed, `The batch failed: ${String(job.error)}`, {
      way_out: `flightcase jobs retry ${job_id} goes on where it stopped.`
    })
}

const getDocument: CommandAction = async (context, [named = ""], flags) => {
  if (context.offline)
    throw new CliError(exit_codes.network, "The PDF is on the server, and --offline forbids to ask it.", {
      way_out: "Leave out --offline when there is a network; papers of the warehouse: flightcase orders print."
    })
  const id = await resolveId(context, "documents", named)
  if (flags.certificate === true) return writeCertificate(context, id, textFlag(flags, "output"))
  const answer = await context.askServer({ method: "GET", path: `/api/v1/documents/${id}` })
  noteWarnings(context, answer.body)
  await writePdf(context, rowIn(answer.body, "document"), textFlag(flags, "output"))
}

/** Writes the document with its latest acceptance certificate. */
const writeCertificate = async (context: CommandContext, id: number, given: string | undefined): Promise<void> => {
  const answer = await context.askServer({ method: "GET", path: `/api/v1/documents/${id}/acceptances` })
  const acceptances = rowsIn(answer.body, "document_acceptances")
  const url = acceptances.map(({ download_url }) => download_url).findLast((one) => typeof one === "string")
  if (typeof url !== "string")
    throw new CliError(
      exit_codes.failed,
      acceptances.length === 0 ? "Nobody has accepted the document." : "The certificate is still being made.",
      { way_out: acceptances.length === 0 ? "Leave out --certificate for its PDF." : "Try again in a moment." }
    )
  const { content, name } = await signedFile(context, url)
  if (given === "-") return context.printContent(content)
  const file = await writeAs(name ?? `certificate-${id}.pdf`, content, given)
  if (context.options.json === true) return context.printJson({ document: { id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}

/** Downloads and writes a document's PDF, given its row from the server. */
const writePdf = async (
  context: CommandContext,
  document: Row<"document">,
  given: string | undefined
): Promise<void> => {
  const { download_url, status } = document
  if (download_url === null)
    throw new CliError(
      exit_codes.failed,
      status === "generated" || status === "finalised"
        ? "You may see this document, and not its PDF."
        : `The document is ${status}: it has no PDF.`,
      {
        way_out:
          status === "pending"
            ? "Try again in a moment."
            : status === "generated" || status === "finalised"
              ? "Documents need the permission documents.view, orders to suppliers costs.view as well."
              : "Make it again: flightcase documents generate."
      }
    )
  const { content, name } = await signedFile(context, download_url)
  if (given === "-") return context.printContent(content)
  const own_name = `${document.document_type}-${document.document_number ?? document.id}.pdf`
  const file = await writeAs(name ?? own_name, content, given)
  if (context.options.json === true)
    return context.printJson({ document: { id: document.id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}

const file_kinds: { readonly [part: string]: string } = {
  pdf: "the PDF of the document",
  certificate: "the PDF with the certificate of its acceptance",
  snapshot: "what the document was drawn from"
}
const document_keys = [
  "document_number",
  "document_type_name",
  "status_name",
  "documentable_type",
  "documentable_id"
] as const
const times = ["generated_at", "finalised_at", "voided_at", "void_reason"] as const

const verifyFile: CommandAction = async (context, [path = ""]) => {
  const { name, sha256 } = await localFile(path)
  const asking = { method: "POST", path: "/api/v1/documents/verify", body: { sha256 } }
  const here = await context.ask(asking)
  const body = isKnown(here) || context.offline ? objectOf(here) : objectOf(await atServer(context, asking, here))
  const document = isJsonObject(body.document) ? rowIn(body, "document") : undefined
  const is_good = body.known === true && document?.status !== "voided"
  if (context.options.json === true) context.printJson({ file: name, sha256, ...body })
  else if (document === undefined)
    context.print(`${name} is no document known here, or it was altered.\nSHA-256 ${sha256}`)
  else context.print(verdict(context, document, body, sha256))
  return is_good ? exit_codes.ok : exit_codes.failed
}

const objectOf = ({ body }: QueryResult): JsonObject => (isJsonObject(body) ? body : {})
const isKnown = (answer: QueryResult): boolean => objectOf(answer).known === true
/** Asks the server for documents unknown to the replica, as they may have been created since its last sync. */
const atServer = async (context: CommandContext, asking: ApiRequest, here: QueryResult): Promise<QueryResult> => {
  try {
    const answer = await context.requestAtServer(asking)
    return answer.status < 400 ? answer : here
  } catch (error) {
    if (error instanceof CliError && error.code === exit_codes.network) {
      context.note("The server cannot be reached: this is what was known here at the last sync.")
      return here
    }
    throw error
  }
}

const verdict = (context: CommandContext, document: Row<"document">, body: JsonObject, sha256: string): string => {
  const chosen = Object.fromEntries(
    [...document_keys, ...times]
      .map((key) => [key, document[key] ?? null] as const)
      .filter(([, value]) => value !== null)
  )
  const accepted = rowsIn(body, "acceptances").map(({ accepted_at, name }) => `${name}, ${accepted_at}`)
  return recordText(
    {
      file: `is ${file_kinds[String(body.part)] ?? "of the document"}, unchanged`,
      ...chosen,
      accepted_by: accepted.length === 0 ? "nobody at a public link" : accepted.join("; "),
      sha256
    },
    context.terminal
  )
}
