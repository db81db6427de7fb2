/** `export`: all data as files, and the journal from which an empty server becomes the same. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Command } from "commander"
import { operationOf, paramNames, type Endpoint } from "../../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { journal_file, writeJournal } from "./journal.ts"
import { writeRows } from "./rows.ts"
import { writeTables } from "./tables.ts"
import { profileExists } from "../../profile-folder.ts"
import { coreEndpoints } from "../../derived/endpoints.ts"
import { cellsFor, guardText } from "../../output/csv.ts"
import { progressOf } from "../../output/progress.ts"
import { everyRow } from "../../pages.ts"
import { withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const out = program
    .command("export")
    .description(
      "All data as files: .csv and .ndjson per list and per table, and the journal, which import all brings into an empty server"
    )
    .argument("<dir>", "a folder; made when it is not there")
    .option("--raw", "cells of .csv as they are, also those a spreadsheet would run as formulas")
  withAction(out, async (context, [folder = ""], flags) => {
    await mkdir(folder, { recursive: true })
    const progress = progressOf(context)
    const files: Array<JsonObject> = []
    const cells = cellsFor(flags["raw"] === true)
    let journal: Awaited<ReturnType<typeof writeJournal>>
    const lists = coreEndpoints.filter(
      (endpoint) => operationOf(endpoint) === "list" && endpoint.path.startsWith("/api/v1/")
    )
    try {
      for (const list of lists.filter(({ path }) => paramNames(path).length === 0)) {
        const ids: Array<number> = []
        const name = list.path.slice("/api/v1/".length).replaceAll("/", ".")
        const count = await writeRows(
          join(folder, name),
          noted(everyRow(context, list.path), ids, progress.at, name),
          cells
        )
        if (typeof count === "string") {
          context.note(`Left out ${name}: ${count}`)
          continue
        }
        files.push({ file: `${name}.ndjson`, rows: count })
        for (const inner of lists.filter(
          (one) => paramNames(one.path).length === 1 && one.path.startsWith(`${list.path}/{`)
        )) {
          const inner_name = `${name}.${inner.path.split("}/")[1]!.replaceAll("/", ".")}`
          const rows = await writeRows(
            join(folder, inner_name),
            innerRows(context, inner, ids, progress.at, inner_name),
            cells
          )
          if (typeof rows === "number") files.push({ file: `${inner_name}.ndjson`, rows })
        }
      }
      journal = await writeJournal(context, folder, progress)
      const source =
        typeof journal !== "string"
          ? { journal: join(folder, journal_file) }
          : profileExists(context.profile(), context.env)
            ? { replica: join(context.folder(), "replica.sqlite") }
            : undefined
      if (source !== undefined) files.push(...(await writeTables(folder, source, progress, cells)))
    } finally {
      progress.end()
    }
    const manifest = {
      exported_at: new Date().toISOString(),
      files,
      journal: typeof journal === "string" ? null : journal
    }
    await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`)
    if (typeof journal === "string") context.note(journal)
    if (cells.led() > 0) context.note(guardText(cells.led()))
    if (context.options.json === true) context.printJson(manifest)
    else
      context.note(
        `Wrote ${files.reduce((sum, file) => sum + Number(file["rows"]), 0)} rows in ${files.length} files to ${folder}${typeof journal === "string" ? "" : `, and ${String(journal.manifest["events"])} events`}.`
      )
  })
}

type Tell = ReturnType<typeof progressOf>["at"]
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
