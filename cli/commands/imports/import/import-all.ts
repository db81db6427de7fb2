/** `import all`: restores an exported business on an empty server, all or nothing. */
import { createHash } from "node:crypto"
import { createReadStream, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { isJsonObject, parseJson, wire_body_depth_max } from "../../../../core/kernel/index.ts"
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { isRows, rowIn, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { localFile, type LocalFile } from "../../../base/input.ts"
import { bytesOf, linesIn } from "../../../base/line-reader.ts"
import { printRecord, progressOf } from "../../../context/print.ts"

/** Maximum events of a page, so that it stays within the server's limits. */
const events_per_page = 1_000
const page_bytes = 8 * 1_048_576

export const importAll = async (context: CommandContext, folder: string, dry_run: boolean): Promise<number> => {
  const { file, sha256, manifest, stored } = manifestIn(folder)
  if ((await checksumOf(file)) !== sha256)
    throw new CliError(exit_codes.invalid, `${file} is not the file the export wrote: its checksum differs.`, {
      way_out: "Copy the folder again, or export again."
    })
  const lost = await missingIn(stored)
  if (lost !== undefined)
    throw new CliError(exit_codes.invalid, `${lost} is not the file the export wrote.`, {
      way_out: "Copy the folder again, files included, or export again."
    })
  const tables = rowsOr(manifest.tables)
  const summary = {
    events: Number(manifest.events),
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + Number(rows), 0),
    files: stored.files.length,
    dry_run
  }
  if (!dry_run) await send(context, { file, manifest, stored })
  printRecord(context, summary)
  if (!dry_run)
    context.note(
      "The server holds the same rows and files as the one exported. Not part of an export: tokens and devices " +
        "(make tokens anew, and let devices log in again); webhooks and inbound sources, and the secrets of settings " +
        "such as mail.smtp_url (set them again)."
    )
  return exit_codes.ok
}

const send = async (context: CommandContext, { file, manifest, stored }: Exported): Promise<void> => {
  const progress = progressOf(context)
  const post = async (path: string, body?: Json, sent_file?: LocalFile): Promise<Json | undefined> => {
    const files = sent_file === undefined ? {} : { files: { file: sent_file } }
    return (await context.askServer({ method: "POST", path: `/api/v1/system/restores${path}`, body, ...files })).body
  }
  const restore = async (path: string, body?: Json): Promise<JsonObject> => rowIn(await post(path, body), "restore")
  const total = Number(manifest.events)
  try {
    const { id } = await restore("", manifest)
    let page: Array<Json> = [],
      bytes = 0,
      sent = 0
    const flush = async (): Promise<void> => {
      if (page.length === 0) return
      await restore(`/${String(id)}/events`, { events: page })
      sent += page.length
      progress.at("import", sent, total)
      page = []
      bytes = 0
    }
    for await (const line of linesIn(createReadStream(file))) {
      if (line === "") continue
      if (page.length >= events_per_page || bytes + line.length > page_bytes) await flush()
      page.push(parseJson(line, wire_body_depth_max))
      bytes += line.length
    }
    await flush()
    for (const [at, { path, sha256 }] of stored.files.entries()) {
      await post(`/${String(id)}/files`, { sha256 }, await localFile(path))
      progress.at("files", at + 1, stored.files.length)
    }
    // Content that the exporting server had lost is missing here.
    await restore(`/${String(id)}/finish`, { accept_missing_files: stored.missing })
  } finally {
    progress.end()
  }
}

interface Exported {
  readonly file: string
  readonly manifest: JsonObject
  readonly stored: StoredFiles
}
/** Files of an export besides the journal; exports of earlier releases have none. */
interface StoredFiles {
  readonly files: ReadonlyArray<{ readonly sha256: string; readonly path: string }>
  /** Whether some were lost before the export. */
  readonly missing: boolean
}
const storedIn = (folder: string, whole: JsonObject): StoredFiles => {
  const stored = whole.stored_files
  if (!isJsonObject(stored)) return { files: [], missing: false }
  const place = join(folder, "files")
  const hashes = rowsOr(stored.files).map(({ sha256 }) => String(sha256))
  const wrong = hashes.find((sha256) => !/^[0-9a-f]{64}$/.test(sha256))
  if (wrong !== undefined)
    throw new CliError(exit_codes.invalid, `manifest.json names a file ${JSON.stringify(wrong)}.`)
  return {
    files: hashes.map((sha256) => ({ sha256, path: join(place, sha256) })),
    missing: Array.isArray(stored.missing) && stored.missing.length > 0
  }
}
/** First file that is missing or altered; undefined if all are complete. */
const missingIn = async ({ files }: StoredFiles): Promise<string | undefined> => {
  for (const { path, sha256 } of files) if (!existsSync(path) || (await checksumOf(path)) !== sha256) return path
  return undefined
}

const manifestIn = (folder: string): Exported & { readonly sha256: string } => {
  const path = join(folder, "manifest.json")
  if (!existsSync(path)) throw usageError(`${folder} holds no export: there is no manifest.json in it.`)
  let whole: Json
  try {
    whole = parseJson(readFileSync(path, "utf8"))
  } catch (error) {
    throw new CliError(
      exit_codes.invalid,
      `${path} is no JSON: ${error instanceof Error ? error.message : String(error)}.`
    )
  }
  const journal = isJsonObject(whole) ? whole.journal : undefined
  if (!isJsonObject(journal) || !isJsonObject(journal.manifest) || !isRows(journal.manifest.tables)) {
    throw new CliError(exit_codes.invalid, "This export has no journal, so a server cannot be made from it.", {
      way_out: "Export as the owner, with the server in reach."
    })
  }
  const file = join(folder, String(journal.file))
  if (!existsSync(file)) throw new CliError(exit_codes.invalid, `${file} is missing.`)
  return {
    file,
    sha256: String(journal["sha256"]),
    manifest: journal.manifest,
    stored: storedIn(folder, isJsonObject(whole) ? whole : {})
  }
}
const checksumOf = async (file: string): Promise<string> => {
  const hash = createHash("sha256")
  for await (const part of bytesOf(createReadStream(file))) hash.update(part)
  return hash.digest("hex")
}
