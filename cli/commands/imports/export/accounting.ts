/** `export accounting`: billing as files for an accounting program; each document once. */
import { secret_placeholder } from "../../../../core/setup/settings/secrets.ts"
import { isJsonObject, type JsonObject } from "../../../../core/kernel/index.ts"
import { decodeAnswer, decoderOf, metaIn, objectBody, rowsOr, textOrNull } from "../../../base/answers.ts"
import type { ApiRequest, CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, missingFlagError } from "../../../base/exit-codes.ts"
import { oneLine } from "../../../output/text.ts"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Command, Option } from "commander"
import { Schema } from "effect"
import { export_formats, exportFiles, type ExportFormat } from "../../../../core/billing/accounting/csv.ts"
import { postedDocument, type PostedDocument } from "../../../../core/billing/accounting/postings.ts"
import { cellsFor } from "../../../../core/values/csv.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { type CommandAction, textFlag, verb } from "../../../context/program.ts"
import { resolveStore } from "../../../context/resolve-id.ts"

// Lists data that an export leaves on the server, as it holds secrets: webhooks, inbound sources, secret settings.

/** Names of data that stays on the server; null if unknown, without permission or connection. */
interface LeftBehind extends JsonObject {
  readonly webhooks: ReadonlyArray<string> | null
  readonly inbound_sources: ReadonlyArray<string> | null
  readonly secret_settings: ReadonlyArray<string> | null
}

export const leftBehind = async (context: CommandContext): Promise<LeftBehind> => ({
  webhooks: await namesAt(context, "/api/v1/webhooks", "webhooks", webhookName),
  inbound_sources: await namesAt(context, "/api/v1/inbound_sources", "inbound_sources", ({ name }) => String(name)),
  secret_settings: await secretsSet(context)
})

export const leftBehindText = (left: LeftBehind): string => {
  const parts = [
    partText("webhooks", left.webhooks),
    partText("inbound sources", left.inbound_sources),
    partText("secrets of settings", left.secret_settings)
  ]
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0
    ? ""
    : `Left on the server, as they hold secrets: ${known.join("; ")}. Set them up anew after an import.`
}
const names_max = 5
const partText = (what: string, names: ReadonlyArray<string> | null): string | undefined => {
  if (names === null) return `${what} (you may not see whether there are any)`
  if (names.length === 0) return undefined
  const first = names.slice(0, names_max).join(", ")
  return oneLine(`${what}: ${names.length} (${first}${names.length > names_max ? ", …" : ""})`)
}

/** Id and origin of a webhook; path and query of its URL may contain the receiver's secrets. */
const webhookName = ({ id, url }: JsonObject): string => {
  const at = textOrNull(url)
  return at !== null && URL.canParse(at) ? `${String(id)} ${new URL(at).origin}` : String(id)
}

/**
 * Body of a server's response; undefined without permission or connection, null if an earlier release lacks the path.
 */
const bodyAt = async (context: CommandContext, path: string, page: number): Promise<JsonObject | null | undefined> => {
  if (context.offline) return undefined
  try {
    const query = [["page", String(page)] as const, ["per_page", "100"] as const]
    const answer = await context.requestAtServer({ method: "GET", path, query })
    if (answer.status === 401 || answer.status === 403) return undefined
    if (answer.status === 404) return null
    if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
    return objectBody(answer.body)
  } catch (error) {
    if (error instanceof CliError && error.code === exit_codes.network) return undefined
    throw error
  }
}

const namesAt = async (
  context: CommandContext,
  path: string,
  key: string,
  nameOf: (row: JsonObject) => string
): Promise<ReadonlyArray<string> | null> => {
  const names: Array<string> = []
  for (let page = 1; ; page++) {
    const body = await bodyAt(context, path, page)
    if (body === undefined) return null
    const rows = rowsOr(body?.[key])
    names.push(...rows.map(nameOf))
    const { total } = metaIn(body)
    if (rows.length === 0 || typeof total !== "number" || names.length >= total) return names
  }
}

const secretsSet = async (context: CommandContext): Promise<ReadonlyArray<string> | null> => {
  const body = await bodyAt(context, "/api/v1/settings", 1)
  if (body === undefined) return null
  return rowsOr(body?.settings).flatMap(({ group, settings }) =>
    isJsonObject(settings)
      ? Object.entries(settings).flatMap(([key, value]) =>
          value === secret_placeholder ? [`${String(group)}.${key}`] : []
        )
      : []
  )
}

export const declareAccounting = (out: Command): void => {
  verb(out, "accounting", {
    about: "Export invoices, credit notes, payments and refunds for accounting; later runs write only new ones",
    "--format <format>": (typed) =>
      new Option(typed, "format of the files").choices([...export_formats]).default("csv"),
    "--since <day>": "documents from this day on that were not exported before: 2026-01-31",
    "--again <day>": "documents from this day on, whether exported before or not",
    "-o, --output <dir>": (typed) => new Option(typed, "folder; created if missing").default("."),
    run: exportAccounting
  })
}

const posting_kinds = ["invoices", "voids", "credit_notes", "payments"] as const
const keys_per_call = 500

const page = decoderOf(() =>
  Schema.Struct({
    documents: Schema.Array(postedDocument),
    meta: Schema.Struct({ after_id: Schema.NullOr(Schema.Int) })
  })
)
const settingsShown = decoderOf(() => Schema.Struct({ settings: Schema.Struct({ locale: Schema.String }) }))

const asked = async (context: CommandContext, request: ApiRequest) => (await context.askServer(request)).body

const exportAccounting: CommandAction = async (context, _words, flags) => {
  const again = textFlag(flags, "again")
  const day = again ?? textFlag(flags, "since")
  if (day === undefined) throw missingFlagError("--since", "the first day to export")
  const since = parseDay(
    day,
    again === undefined ? "--since" : "--again",
    (await resolveStore(context, undefined)).zone
  )
  const format = export_formats.find((one) => one === flags.format) ?? "csv"
  const documents = await everyDocument(context, since, again !== undefined)
  const files = await writeAll(context, documents, format, textFlag(flags, "output") ?? ".")
  // Only documents in written files are marked, so that an interrupted run can be repeated.
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
  for (const kind of posting_kinds) {
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
