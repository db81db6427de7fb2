/** `export`: all data as files, and the journal to restore an empty server from. */
import { createHash } from "node:crypto"
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { foldCase, isJsonObject, operationOf, paramNames } from "../../../../core/kernel/index.ts"
import type { Endpoint, Json, JsonObject } from "../../../../core/kernel/index.ts"
import { objectBody, rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { type Progress, progressOf } from "../../../context/print.ts"
import { closeOut, openOut, writeLine, writeRows, writeTables } from "./tables.ts"
import type { Command } from "commander"
import { declareAccounting, leftBehind, leftBehindText } from "./accounting.ts"
import { catalogue } from "../../../../core/catalogue.ts"
import { type Cells, cellsFor, guardText } from "../../../../core/values/csv.ts"
import { everyRow } from "../../../context/pages.ts"
import { type CommandAction, verb } from "../../../context/program.ts"

// Exports the files of a business besides its journal, named by hash.

const files_folder = "files"

/** Entry of the files in an export's manifest. */
interface WrittenFiles extends JsonObject {
  readonly folder: string
  readonly files: ReadonlyArray<{ readonly sha256: string; readonly size_bytes: number }>
  /** Hashes of referenced files that the server has lost. */
  readonly missing: ReadonlyArray<string>
}

/** Writes all referenced files. Files of an earlier export in the folder are not downloaded again. */
const writeFiles = async (context: CommandContext, folder: string, progress: Progress): Promise<WrittenFiles> => {
  const place = join(folder, files_folder)
  const files: Array<{ readonly sha256: string; readonly size_bytes: number }> = []
  const missing: Array<string> = []
  for (let after = ""; ;) {
    const page = await answered(context, "/api/v1/system/files", [["after", after]])
    // Servers of earlier releases store no files.
    if (page.status === 404) return { folder: files_folder, files, missing }
    const rows = rowsIn(objectBody(page.body), "files")
    if (rows.length === 0) return { folder: files_folder, files, missing }
    await mkdir(place, { recursive: true })
    for (const row of rows) {
      const sha256 = String(row["sha256"])
      const size_bytes = row.size_bytes
      if (typeof size_bytes !== "number" || !(await fetched(context, place, sha256, size_bytes))) missing.push(sha256)
      else files.push({ sha256, size_bytes })
      progress.at("files", files.length, undefined)
    }
    after = String(rowIn(objectBody(page.body), "meta").after)
  }
}

const answered = async (
  context: CommandContext,
  path: string,
  query: ReadonlyArray<readonly [string, string]> = []
): ReturnType<CommandContext["requestAtServer"]> => {
  const answer = await context.requestAtServer({ method: "GET", path, query })
  if (answer.status >= 400 && answer.status !== 410 && answer.status !== 404)
    throw (await import("../../../base/response-errors.ts")).responseError(answer)
  return answer
}

/** Downloads a file; false if the server has lost its content. */
const fetched = async (
  context: CommandContext,
  place: string,
  sha256: string,
  size_bytes: number
): Promise<boolean> => {
  const path = join(place, sha256)
  const there = await stat(path).catch(() => undefined)
  if (there?.size === size_bytes) return true
  const { content, status } = await answered(context, `/api/v1/system/files/${sha256}`)
  if (status === 410 || status === 404) return false
  const bytes = typeof content?.text === "string" ? Buffer.from(content.text) : (content?.text ?? new Uint8Array())
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new CliError(exit_codes.failed, `The file ${sha256} did not arrive as it was sent.`, {
      way_out: "Export again into the same folder; what has arrived is not fetched again."
    })
  await writeFile(`${path}.part`, bytes)
  await rename(`${path}.part`, path)
  return true
}

// Exports the journal: all events, from which an empty server can be restored.

const journal_file = "journal.ndjson"

/** Entry of the journal in an export's manifest. */
interface WrittenJournal extends JsonObject {
  readonly file: string
  readonly sha256: string
  /** State of a server after the import, as reported by the exporting one: positions, tables, counters. */
  readonly manifest: JsonObject
}

/** Writes the journal, or returns the reason it cannot: only the owner may export it, from the server. */
const writeJournal = async (
  context: CommandContext,
  folder: string,
  progress: Progress
): Promise<WrittenJournal | string> => {
  try {
    return await written(context, folder, progress)
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== exit_codes.network) throw error
    await rm(join(folder, journal_file), { force: true })
    return `The journal, from which a server can be made anew, was left out: ${error.message}`
  }
}
const written = async (
  context: CommandContext,
  folder: string,
  progress: Progress
): Promise<WrittenJournal | string> => {
  if (context.offline)
    return "The journal, from which a server can be made anew, was left out: it comes from the server, and --offline forbids to ask it."
  const answerOr = async (
    path: string,
    query: ReadonlyArray<readonly [string, string]> = []
  ): Promise<JsonObject | string> => {
    const answer = await context.requestAtServer({ method: "GET", path, query })
    if (answer.status === 403 || answer.status === 401)
      return "The journal, from which a server can be made anew, was left out: only the owner may take it."
    if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
    return objectBody(answer.body)
  }
  const first = await answerOr("/api/v1/system/manifest")
  if (typeof first === "string") return first
  const manifest = first.manifest
  if (!isJsonObject(manifest)) throw new CliError(exit_codes.failed, "The server's manifest cannot be read.")
  const last = Number(manifest.position)
  const hash = createHash("sha256")
  // An earlier journal stays until this one is whole.
  const part = join(folder, `${journal_file}.part`)
  const out = await openOut(part)
  try {
    for (let after = 0; after < last;) {
      const page = await answerOr("/api/v1/system/journal", [["after", String(after)]])
      if (typeof page === "string") return page
      // Events after the manifest was made are not part of it.
      for (const event of rowsIn(page, "events")) {
        if (Number(event.position) > last) break
        const line = `${JSON.stringify(event)}\n`
        hash.update(line)
        await writeLine(out, line)
      }
      after = Number(rowIn(page, "meta").position)
      progress.at("journal", Math.min(after, last), last)
    }
    await closeOut(out)
    await rename(part, join(folder, journal_file))
  } finally {
    out.destroy()
    await rm(part, { force: true })
  }
  return { file: journal_file, sha256: hash.digest("hex"), manifest }
}

export const declare = (program: Command): void => {
  const out = verb(program, "export", {
    about: "Export all lists and tables as .csv and .ndjson, and the journal and files for `import all`",
    "<dir>": "folder; created if missing",
    "--raw": "do not escape .csv cells that a spreadsheet would run as formulas",
    run: exportAll
  })
  declareAccounting(out)
}

const exportAll: CommandAction = async (context, [folder = ""], flags) => {
  // Fails at once where there is neither a replica nor a server.
  if (!context.isDevice()) await context.requestAtServer({ method: "GET", path: "/api/v1/system/health" })
  await mkdir(folder, { recursive: true })
  const progress = progressOf(context)
  const cells = cellsFor(flags.raw === true)
  const files: Array<JsonObject> = []
  let journal: Awaited<ReturnType<typeof writeJournal>>
  let stored: WrittenFiles | undefined
  try {
    files.push(...(await writeLists(context, folder, progress.at, cells)))
    journal = await writeJournal(context, folder, progress)
    if (typeof journal !== "string") stored = await writeFiles(context, folder, progress)
    const source =
      typeof journal !== "string"
        ? { journal: join(folder, journal_file) }
        : context.isDevice()
          ? { replica: join(context.folder(), "replica.sqlite") }
          : undefined
    if (source !== undefined) files.push(...(await writeTables(folder, source, progress, cells)))
  } finally {
    progress.end()
  }
  const left_behind = await leftBehind(context)
  const manifest = {
    exported_at: new Date().toISOString(),
    files,
    journal: typeof journal === "string" ? null : journal,
    stored_files: stored ?? null,
    left_behind
  }
  await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  if (typeof journal === "string") context.note(journal)
  if (stored !== undefined && stored.missing.length > 0)
    context.note(`The server has lost the content of ${stored.missing.length} files; manifest.json names them.`)
  const left = leftBehindText(left_behind)
  if (left !== "") context.note(left)
  if (cells.led() > 0) context.note(guardText(cells.led()))
  if (context.options.json === true) return context.printJson(manifest)
  const rows = files.reduce((sum, file) => sum + Number(file.rows), 0)
  const and_files = stored === undefined || stored.files.length === 0 ? "" : ` with ${stored.files.length} stored files`
  const events = typeof journal === "string" ? "" : `, and ${String(journal.manifest.events)} events${and_files}`
  context.note(`Wrote ${rows} rows in ${files.length} files to ${folder}${events}.`)
}

type Tell = Progress["at"]
/** Writes every list of `core/` with its nested lists (`products`, then `products.rates`); returns the files. */
const writeLists = async (
  context: CommandContext,
  folder: string,
  tell: Tell,
  cells: Cells
): Promise<ReadonlyArray<JsonObject>> => {
  const lists = catalogue.endpoints.filter(
    (endpoint) => operationOf(endpoint) === "list" && endpoint.path.startsWith("/api/v1/")
  )
  const nameOf = (path: string): string =>
    path
      .slice("/api/v1/".length)
      .replace(/\{\w+\}\//, "")
      .replaceAll("/", ".")
  const files: Array<JsonObject> = []
  for (const list of lists.filter(({ path }) => paramNames(path).length === 0)) {
    const name = nameOf(list.path)
    const inner_lists = lists.filter(({ path }) => paramNames(path).length === 1 && path.startsWith(`${list.path}/{`))
    const nested: Nested = new Map(
      inner_lists.flatMap(({ path }) => (isIncluded(name, path) ? [[lastPart(path), []]] : []))
    )
    const ids: Array<number> = []
    const rows = unnested(context, list.path, nested)
    const said = name === "products" ? withGroupPaths(context, rows) : rows
    const count = await writeRows(join(folder, name), noted(said, ids, tell, name), cells)
    if (typeof count === "string") {
      context.note(`Left out ${name}: ${count}`)
      continue
    }
    files.push({ file: `${name}.ndjson`, rows: count })
    for (const inner of inner_lists) {
      const inner_name = nameOf(inner.path)
      const known = nested.get(lastPart(inner.path))
      const inner_rows = known === undefined ? innerRows(context, inner, ids, tell, inner_name) : streamed(known)
      const rows = await writeRows(join(folder, inner_name), inner_rows, cells)
      if (typeof rows === "number") files.push({ file: `${inner_name}.ndjson`, rows })
    }
  }
  return files
}

/** Rows of nested lists by name, where the list includes them: a request for each row takes long. */
type Nested = Map<string, Array<JsonObject>>
const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1)
const includeOf = (plural: string, name: string) =>
  catalogue.resources.find((one) => one.plural === plural)?.includes[name]
const isIncluded = (plural: string, path: string): boolean => includeOf(plural, lastPart(path))?.kind === "many"

/**
 * Rows of a list without their nested ones, which move to `nested`. What the user may not list by row, or a row does
 * not show, leaves `nested` and is requested by row.
 */
async function* unnested(context: CommandContext, path: string, nested: Nested): AsyncGenerator<JsonObject> {
  const names = [...nested.keys()]
  let is_first = true
  for await (const row of everyRow(context, path, names.length === 0 ? [] : [["include", names.join(",")]])) {
    const own: { [name: string]: Json } = { ...row }
    for (const name of names) {
      const include = includeOf(lastPart(path), name)
      const shown = row[name]
      if (!Array.isArray(shown) || (is_first && !(await isListed(context, `${path}/${row.id}/${name}`))))
        nested.delete(name)
      nested.get(name)?.push(...(Array.isArray(shown) ? shown.filter(isJsonObject) : []))
      own[name] = include?.kind === "many" ? (include.empty ?? null) : null
    }
    is_first = false
    yield own
  }
}
const isListed = async (context: CommandContext, path: string): Promise<boolean> =>
  (await context.request({ method: "GET", path, query: [["per_page", "1"]] })).status < 400
async function* streamed(rows: ReadonlyArray<JsonObject>): AsyncGenerator<JsonObject> {
  yield* rows
}

/**
 * Products with the path of their group, `Lighting / Moving heads`, by which an import finds or makes it: `/ Name` for
 * one at the top where another below has the same name.
 */
async function* withGroupPaths(
  context: CommandContext,
  products: AsyncGenerator<JsonObject>
): AsyncGenerator<JsonObject> {
  const groups = new Map<Json, JsonObject>()
  for await (const group of everyRow(context, "/api/v1/product_groups")) groups.set(group.id ?? null, group)
  const pathOf = (id: Json | undefined): ReadonlyArray<string> => {
    const group = groups.get(id ?? null)
    return group === undefined ? [] : [...pathOf(group.parent_id), String(group.name)]
  }
  const below = new Set(
    [...groups.values()].flatMap((one) => (one.parent_id === null ? [] : foldCase(String(one.name))))
  )
  for await (const product of products) {
    const path = pathOf(product.product_group_id)
    const is_ambiguous = path.length === 1 && path.every((name) => below.has(foldCase(name)))
    yield { ...product, group: is_ambiguous ? ["/", ...path].join(" ") : path.join(" / ") }
  }
}

/** Yields rows unchanged, and collects their ids. */
async function* noted(
  rows: AsyncGenerator<JsonObject>,
  ids: Array<number>,
  tell: Tell,
  name: string
): AsyncGenerator<JsonObject> {
  for await (const row of rows) {
    if (typeof row.id === "number") ids.push(row.id)
    tell(name, ids.length, undefined)
    yield row
  }
}
/** Rows of a nested list below each of these ids. */
async function* innerRows(
  context: CommandContext,
  list: Endpoint,
  ids: ReadonlyArray<number>,
  tell: Tell,
  name: string
): AsyncGenerator<JsonObject> {
  for (const [at, id] of ids.entries()) {
    tell(name, at + 1, ids.length)
    yield* everyRow(context, list.path.replace(/\{\w+\}/, String(id)))
  }
}
