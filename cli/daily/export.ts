/** `export`: all data as files, one line of JSON per row. */
import { createWriteStream } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { once } from "node:events"
import type { Command } from "commander"
import { operationOf, paramNames, type Endpoint } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Desk } from "../desk.ts"
import { Exit, exits } from "../exits.ts"
import { coreEndpoints } from "../nouns/endpoints.ts"
import { progressOf } from "../output/progress.ts"
import { everyRow } from "../pages.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const out = program.command("export").description("All data as files: one .ndjson per resource, and manifest.json").argument("<dir>", "a folder; made when it is not there")
  acting(out, async (desk, [folder = ""]) => {
    await mkdir(folder, { recursive: true })
    const progress = progressOf(desk)
    const files: Array<JsonObject> = []
    const lists = coreEndpoints.filter((endpoint) => operationOf(endpoint) === "list" && endpoint.path.startsWith("/api/v1/"))
    try {
      for (const list of lists.filter(({ path }) => paramNames(path).length === 0)) {
        const ids: Array<number> = []
        const name = list.path.slice("/api/v1/".length).replaceAll("/", ".")
        const count = await writeRows(join(folder, `${name}.ndjson`), noted(everyRow(desk, list.path), ids, progress.at, name))
        if (count === undefined) continue
        files.push({ file: `${name}.ndjson`, rows: count })
        for (const inner of lists.filter((one) => paramNames(one.path).length === 1 && one.path.startsWith(`${list.path}/{`))) {
          const inner_name = `${name}.${inner.path.split("}/")[1]!.replaceAll("/", ".")}`
          const rows = await writeRows(join(folder, `${inner_name}.ndjson`), innerRows(desk, inner, ids, progress.at, inner_name))
          if (rows !== undefined) files.push({ file: `${inner_name}.ndjson`, rows })
        }
      }
    } finally { progress.end() }
    const manifest = { exported_at: new Date().toISOString(), files }
    await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`)
    if (desk.options.json === true) desk.printJson(manifest)
    else desk.note(`Wrote ${files.reduce((sum, file) => sum + Number(file["rows"]), 0)} rows to ${files.length} files in ${folder}.`)
  })
}

type Tell = ReturnType<typeof progressOf>["at"]
async function* noted(rows: AsyncGenerator<JsonObject>, ids: Array<number>, tell: Tell, name: string): AsyncGenerator<JsonObject> {
  for await (const row of rows) {
    if (typeof row["id"] === "number") ids.push(row["id"])
    tell(name, ids.length, undefined)
    yield row
  }
}
async function* innerRows(desk: Desk, list: Endpoint, ids: ReadonlyArray<number>, tell: Tell, name: string): AsyncGenerator<JsonObject> {
  for (const [at, id] of ids.entries()) {
    tell(name, at + 1, ids.length)
    yield* everyRow(desk, list.path.replace(/\{\w+\}/, String(id)))
  }
}

/** How many rows were written; undefined when this user may not see them. */
const writeRows = async (file: string, rows: AsyncGenerator<JsonObject>): Promise<number | undefined> => {
  let out: ReturnType<typeof createWriteStream> | undefined
  let count = 0
  const opened = (): ReturnType<typeof createWriteStream> => out ??= createWriteStream(file, { mode: 0o600 })
  try {
    for await (const row of rows) {
      count++
      if (!opened().write(`${JSON.stringify(row)}\n`)) await once(opened(), "drain")
    }
  } catch (error) {
    if (!(error instanceof Exit) || error.code !== exits.not_allowed) throw error
    return undefined
  }
  opened().end()
  await once(opened(), "finish")
  return count
}
