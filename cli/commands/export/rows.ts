/** Rows into two files of the same name: NDJSON, which keeps everything as it is, and CSV for spreadsheets. */
import { once } from "node:events"
import { createReadStream, createWriteStream, type WriteStream } from "node:fs"
import { rm } from "node:fs/promises"
import { stringify } from "csv-stringify"
import { parseJson, wire_body_depth_max } from "../../../core/kernel/body-limits.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { linesIn } from "../../line-reader.ts"
import type { Cells } from "../../output/csv.ts"

/** A new file that only its owner may read, in place of any earlier one. */
export const openOut = async (file: string): Promise<WriteStream> => {
  await rm(file, { force: true })
  const out = createWriteStream(file, { mode: 0o600, flags: "wx" })
  await once(out, "open")
  return out
}
export const writeLine = async (out: WriteStream, line: string): Promise<void> => {
  if (!out.write(line)) await once(out, "drain")
}
export const closeOut = async (out: WriteStream): Promise<void> => {
  out.end()
  await once(out, "finish")
}

/** There is no file of what the person may not see, or of what only the server has while it cannot be reached. */
const left_out: ReadonlySet<number> = new Set([exit_codes.not_allowed, exit_codes.network])

/** Writes rows to `path.ndjson` and `path.csv`, a page in memory at a time. Gives their number, or in words why there are none. */
export const writeRows = async (
  path: string,
  rows: AsyncGenerator<JsonObject>,
  cells: Cells
): Promise<number | string> => {
  const file = `${path}.ndjson`
  const columns = new Set<string>()
  let out: WriteStream | undefined
  let count = 0
  try {
    for await (const row of rows) {
      out ??= await openOut(file)
      count++
      for (const column of Object.keys(row)) columns.add(column)
      await writeLine(out, `${JSON.stringify(row)}\n`)
    }
  } catch (error) {
    out?.destroy()
    if (!(error instanceof CliError) || !left_out.has(error.code)) throw error
    await rm(file, { force: true })
    return error.message
  }
  await closeOut(out ?? (await openOut(file)))
  await writeTable(`${path}.csv`, [...columns], file, cells)
  return count
}

/** Writes the CSV from the NDJSON, with every column that any row has. */
const writeTable = async (file: string, columns: ReadonlyArray<string>, from: string, cells: Cells): Promise<void> => {
  const out = await openOut(file)
  const table = stringify({ header: columns.length > 0, columns: [...columns], record_delimiter: "windows", bom: true })
  table.pipe(out)
  for await (const line of linesIn(createReadStream(from))) {
    if (line === "") continue
    const row = parseJson(line, wire_body_depth_max)
    if (!isJsonObject(row)) throw new CliError(exit_codes.failed, `${from} has changed while it was read.`)
    if (!table.write(columns.map((column) => cells.of(row[column])))) await once(table, "drain")
  }
  table.end()
  await once(out, "finish")
}
