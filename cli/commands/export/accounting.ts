/** `export accounting`: what happened in billing, as files for an accounting program; each document once. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Command, Option } from "commander"
import { Schema } from "effect"
import { export_formats, type ExportFormat, exportFiles } from "../../../core/billing/accounting/csv.ts"
import { postedDocument, type PostedDocument } from "../../../core/billing/accounting/shown.ts"
import { decodeAnswer, decoderOf, objectBody } from "../../answers.ts"
import type { ApiRequest, CommandContext } from "../../context.ts"
import { missingFlagError } from "../../exit-codes.ts"
import { cellsFor } from "../../output/csv.ts"
import { parseDay } from "../../parse-time.ts"
import { type Flags, textFlag, withAction } from "../../program.ts"
import { resolveStore } from "../../resolve-id.ts"
import { responseError } from "../../response-errors.ts"

export const declareAccounting = (out: Command): void => {
  withAction(
    out
      .command("accounting")
      .description(
        "Invoices, credit notes, payments and refunds as files for an accounting program; a second run writes only what is new"
      )
      .addOption(new Option("--format <format>", "of the files").choices([...export_formats]).default("csv"))
      .option("--since <day>", "from this day on, what was not exported before: 2026-01-31")
      .option("--again <day>", "from this day on, also what was exported before")
      .option("-o, --output <dir>", "a folder; made when it is not there", "."),
    exportAccounting
  )
}

const kinds = ["invoices", "voids", "credit_notes", "payments"] as const
const keys_per_call = 500

const page = decoderOf(() =>
  Schema.Struct({
    documents: Schema.Array(postedDocument),
    meta: Schema.Struct({ after_id: Schema.NullOr(Schema.Int) })
  })
)
const settingsShown = decoderOf(() => Schema.Struct({ settings: Schema.Struct({ locale: Schema.String }) }))

const asked = async (context: CommandContext, request: ApiRequest) => {
  const answer = await context.requestAtServer(request)
  if (answer.status >= 400) throw responseError(answer)
  return answer.body
}

const exportAccounting = async (
  context: CommandContext,
  _words: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const again = textFlag(flags, "again")
  const day = again ?? textFlag(flags, "since")
  if (day === undefined) throw missingFlagError("--since", "the first day to export")
  const since = parseDay(
    day,
    again === undefined ? "--since" : "--again",
    (await resolveStore(context, undefined)).zone
  )
  const format = export_formats.find((one) => one === flags["format"]) ?? "csv"
  const documents = await everyDocument(context, since, again !== undefined)
  const files = await writeAll(context, documents, format, textFlag(flags, "output") ?? ".")
  // Only what is written down is marked: a run that broke off is made again.
  for (let at = 0; at < documents.length; at += keys_per_call)
    await asked(context, {
      method: "POST",
      path: "/api/v1/accounting/exports",
      body: { keys: documents.slice(at, at + keys_per_call).map(({ key }) => key) }
    })
  if (context.options.json === true) {
    context.printJson({ documents: documents.length, files: [...files] })
    return
  }
  if (documents.length === 0) return context.note("Nothing is new since then; --again DAY exports it once more.")
  for (const file of files) context.print(`${file}\n`)
  context.note(`Wrote ${documents.length} ${documents.length === 1 ? "document" : "documents"}, marked as exported.`)
}

const everyDocument = async (
  context: CommandContext,
  since: string,
  again: boolean
): Promise<ReadonlyArray<PostedDocument>> => {
  const found: Array<PostedDocument> = []
  for (const kind of kinds) {
    let after_id: number | null = 0
    while (after_id !== null) {
      const query: ReadonlyArray<readonly [string, string]> = [
        ["kind", kind],
        ["since", since],
        ["after_id", String(after_id)],
        ["again", again ? "1" : "0"]
      ]
      const body = await asked(context, { method: "GET", path: "/api/v1/accounting/postings", query })
      const read: ReturnType<typeof page> = decodeAnswer(page, objectBody(body))
      found.push(...read.documents)
      after_id = read.meta.after_id
    }
  }
  return found
}

const writeAll = async (
  context: CommandContext,
  documents: ReadonlyArray<PostedDocument>,
  format: ExportFormat,
  folder: string
): Promise<ReadonlyArray<string>> => {
  if (documents.length === 0) return []
  const company = await asked(context, { method: "GET", path: "/api/v1/settings/company" })
  const { settings } = decodeAnswer(settingsShown, objectBody(company))
  const cells = cellsFor(false)
  await mkdir(folder, { recursive: true })
  const names: Array<string> = []
  for (const { name, text } of exportFiles(documents, format, { locale: settings.locale, cell: cells.of })) {
    const path = join(folder, name)
    await writeFile(path, text, { flag: "wx" })
    names.push(path)
  }
  return names
}
