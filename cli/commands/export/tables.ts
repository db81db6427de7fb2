/** Every table with all its rows: projected here from the journal just exported, or read from the replica. */
import { foldStored } from "../../../core/kernel/catalogue.ts"
import { createReadStream, mkdtempSync, rmSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime, Schema } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import type { Key } from "../../../core/kernel/row-change.ts"
import { parseJson, wire_body_depth_max } from "../../../core/kernel/body-limits.ts"
import type { ProjectionContext, StoredEvent } from "../../../core/kernel/event.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { ensureSchema } from "../../../core/kernel/store/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { keyOf, rowsAfter } from "../../../core/kernel/store/scan.ts"
import type { Table } from "../../../core/kernel/table.ts"
import { layer as sqliteLayer } from "../../../sync/sqlite/client.ts"
import { anyRow, decoderOf } from "../../answers.ts"
import { linesIn } from "../../line-reader.ts"
import type { Cells } from "../../output/csv.ts"
import type { Progress } from "../../output/progress.ts"
import { writeRows } from "./rows.ts"

export const tables_folder = "tables"
const events_per_page = 1_000

/** The parts of a stored event that its projection needs; its data is decoded by the declaration of its type. */
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

/** Rows as the database holds them: money in minor units, moments in UTC. `{file, rows}` of each table. */
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

/** Projects the journal into the tables of the store, a page at a time. */
const projectJournal = async (journal: string, run: Run, progress: Progress): Promise<void> => {
  let page: Array<ProjectedEvent> = []
  let done = 0
  const flush = (): Promise<void> =>
    run(
      Effect.gen(function* () {
        const store = yield* Store
        yield* store.transaction(store.apply(page.flatMap((event) => foldStored(catalogue, event, event))))
      })
    )
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
    yield* page as ReadonlyArray<JsonObject>
    after = keyOf(table, last)
  }
}
