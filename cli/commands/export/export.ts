/** `export`: all data as files, and the journal from which an empty server becomes the same. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Command } from "commander"
import { operationOf, paramNames, type Endpoint } from "../../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { declareAccounting } from "./accounting.ts"
import { leftBehind, leftBehindText } from "./left-behind.ts"
import { type WrittenFiles, writeFiles } from "./files.ts"
import { journal_file, writeJournal } from "./journal.ts"
import { writeRows } from "./rows.ts"
import { writeTables } from "./tables.ts"
import { coreEndpoints } from "../../derived/endpoints.ts"
import { type Cells, cellsFor, guardText } from "../../output/csv.ts"
import { type Progress, progressOf } from "../../output/progress.ts"
import { everyRow } from "../../pages.ts"
import { type Flags, withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const out = program
    .command("export")
    .description(
      "All data as files: .csv and .ndjson per list and per table, and the journal with its files, " +
        "which import all brings into an empty server"
    )
    .argument("<dir>", "a folder; made when it is not there")
    .option("--raw", "cells of .csv as they are, also those a spreadsheet would run as formulas")
  withAction(out, exportAll)
  declareAccounting(out)
}

const exportAll = async (
  context: CommandContext,
  [folder = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const progress = progressOf(context)
  const cells = cellsFor(flags["raw"] === true)
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
  const rows = files.reduce((sum, file) => sum + Number(file["rows"]), 0)
  const and_files = stored === undefined || stored.files.length === 0 ? "" : ` with ${stored.files.length} stored files`
  const events = typeof journal === "string" ? "" : `, and ${String(journal.manifest["events"])} events${and_files}`
  context.note(`Wrote ${rows} rows in ${files.length} files to ${folder}${events}.`)
}

type Tell = Progress["at"]
/** Every list of the API, each with the lists of its rows (`products`, then `products.rates`). Gives the files written. */
const writeLists = async (
  context: CommandContext,
  folder: string,
  tell: Tell,
  cells: Cells
): Promise<ReadonlyArray<JsonObject>> => {
  const lists = coreEndpoints.filter(
    (endpoint) => operationOf(endpoint) === "list" && endpoint.path.startsWith("/api/v1/")
  )
  const nameOf = (path: string): string =>
    path
      .slice("/api/v1/".length)
      .replace(/\{\w+\}\//, "")
      .replaceAll("/", ".")
  const files: Array<JsonObject> = []
  for (const list of lists.filter(({ path }) => paramNames(path).length === 0)) {
    const ids: Array<number> = []
    const name = nameOf(list.path)
    const count = await writeRows(join(folder, name), noted(everyRow(context, list.path), ids, tell, name), cells)
    if (typeof count === "string") {
      context.note(`Left out ${name}: ${count}`)
      continue
    }
    files.push({ file: `${name}.ndjson`, rows: count })
    const inner_lists = lists.filter(({ path }) => paramNames(path).length === 1 && path.startsWith(`${list.path}/{`))
    for (const inner of inner_lists) {
      const inner_name = nameOf(inner.path)
      const rows = await writeRows(join(folder, inner_name), innerRows(context, inner, ids, tell, inner_name), cells)
      if (typeof rows === "number") files.push({ file: `${inner_name}.ndjson`, rows })
    }
  }
  return files
}

/** Passes rows on, and keeps their ids. */
async function* noted(
  rows: AsyncGenerator<JsonObject>,
  ids: Array<number>,
  tell: Tell,
  name: string
): AsyncGenerator<JsonObject> {
  for await (const row of rows) {
    if (typeof row["id"] === "number") ids.push(row["id"])
    tell(name, ids.length, undefined)
    yield row
  }
}
/** Rows of a list that hangs on a row, for each of these ids. */
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
