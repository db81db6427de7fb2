/** Exports every table with all its rows: projected from the exported journal, or read from the replica. */
import { once } from "node:events"
import { createReadStream, createWriteStream, mkdtempSync, rmSync, type WriteStream } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { stringify } from "csv-stringify"
import { foldStored, isJsonObject, keyOf, parseJson, Store } from "../../../../core/kernel/index.ts"
import { wire_body_depth_max } from "../../../../core/kernel/index.ts"
import type { JsonObject, Key, ProjectionContext, StoredEvent, Table } from "../../../../core/kernel/index.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { linesIn } from "../../../base/line-reader.ts"
import type { Cells } from "../../../../core/values/csv.ts"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime, Schema } from "effect"
import { catalogue } from "../../../../core/catalogue.ts"
import { ensureSchema } from "../../../../core/kernel/runtime/schema.ts"
import { rowsAfter } from "../../../../core/kernel/store/scan.ts"
import { layer as sqliteLayer } from "../../../../sync/sqlite/client.ts"
import { anyRow, decoderOf } from "../../../base/answers.ts"
import type { Progress } from "../../../context/print.ts"

// Writes rows to two files of one name: NDJSON, which is exact, and CSV for spreadsheets.

/** Creates a file readable by its owner only, replacing an earlier one. */
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

/** Exit codes of lists that are skipped: not allowed for the user, or on an unreachable server only. */
const left_out: ReadonlySet<number> = new Set([exit_codes.not_allowed, exit_codes.network])

/**
 * Writes rows to `path.ndjson` and `path.csv`, with one page in memory at a time. Returns their number, or the reason
 * why the list was left out.
 */
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

/** Writes the CSV from the NDJSON, with all columns that any row has. */
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

const tables_folder = "tables"
const events_per_page = 1_000

/** Decodes the parts of a stored event needed for projection; its type's declaration decodes the data. */
const decodeEvent = decoderOf<ProjectedEvent>(() =>
  Schema.Struct({
    type: Schema.String,
    data: anyRow,
    position: Schema.Finite,
    recorded_at: Schema.String,
    actor_id: Schema.NullOr(Schema.Finite)
  })
)
type ProjectedEvent = Pick<StoredEvent, "type" | "data"> & ProjectionContext

type Run = <A>(effect: Effect.Effect<A, unknown, Store>) => Promise<A>

/** Writes every table's rows as stored: money in minor units, times in UTC. Returns `{file, rows}` for each table. */
export const writeTables = async (
  folder: string,
  from: { readonly journal: string } | { readonly replica: string },
  progress: Progress,
  cells: Cells
): Promise<ReadonlyArray<JsonObject>> => {
  await mkdir(join(folder, tables_folder), { recursive: true, mode: 0o700 })
  if ("replica" in from) return opened(from.replica, (run) => dump(folder, run, progress, cells))
  const scratch = mkdtempSync(join(tmpdir(), "flightcase-export-"))
  try {
    return await opened(join(scratch, "folded.sqlite"), async (run) => {
      await run(ensureSchema(catalogue, "replica"))
      await projectJournal(from.journal, run, progress)
      return dump(folder, run, progress, cells)
    })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const opened = async <A>(path: string, use: (run: Run) => Promise<A>): Promise<A> => {
  const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sqliteLayer({ path })))
  try {
    return await use((effect) => runtime.runPromise(effect))
  } finally {
    await runtime.dispose()
  }
}

/** Projects the journal into the store's tables, page by page. */
const projectJournal = async (journal: string, run: Run, progress: Progress): Promise<void> => {
  let page: Array<ProjectedEvent> = []
  let done = 0
  const flush = (): Promise<void> =>
    run(Effect.asVoid(Store.transaction(Store.apply(page.flatMap((event) => foldStored(catalogue, event, event))))))
  for await (const line of linesIn(createReadStream(journal))) {
    if (line === "") continue
    page.push(decodeEvent(parseJson(line, wire_body_depth_max)))
    if (page.length < events_per_page) continue
    await flush()
    done += page.length
    progress.at("tables", done, undefined)
    page = []
  }
  await flush()
}

const dump = async (folder: string, run: Run, progress: Progress, cells: Cells): Promise<ReadonlyArray<JsonObject>> => {
  const files: Array<JsonObject> = []
  for (const [at, table] of catalogue.tables.entries()) {
    progress.at("tables", at, catalogue.tables.length)
    files.push({
      file: `${tables_folder}/${table.name}.ndjson`,
      rows: await writeRows(join(folder, tables_folder, table.name), rowsOf(table, run), cells)
    })
  }
  return files
}
async function* rowsOf(table: Table, run: Run): AsyncGenerator<JsonObject> {
  for (let after: Key | undefined; ;) {
    const page = await run(rowsAfter(table, after))
    const last = page.at(-1)
    if (last === undefined) return
    yield* page
    after = keyOf(table, last)
  }
}
