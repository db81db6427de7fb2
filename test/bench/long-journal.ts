/** A journal of the requested length: a real one with copies of its rows and events. */
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { changesOf, type StoredEvent } from "../../core/kernel/events/event-type.ts"
import { hasOwnIds } from "../../core/kernel/runtime/ids.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { ensureSchema, seed } from "../../core/kernel/runtime/schema.ts"
import { quote } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { syncSlice } from "../../sync/server/api.ts"
import { replicas } from "../../sync/server/tables.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"

export const serverCatalogue = catalogueOf([...catalogue.slices, syncSlice])

export const openServerStore = (path: string) =>
  ManagedRuntime.make(
    Layer.merge(
      Layer.provide(Store.layer, Sqlite.layer({ path, synchronous: "normal" })),
      serverRuntime({ catalogue: serverCatalogue, commandId: () => "bench" })
    )
  )
export type ServerStore = ReturnType<typeof openServerStore>

/**
 * Writes at least `least` events, and as many copies of the rows; ids of a copy are above those of all earlier ones.
 */
export const longJournal = async (
  path: string,
  written: ReadonlyArray<StoredEvent>,
  least: number
): Promise<ServerStore> => {
  const runtime = openServerStore(path)
  const copies = Math.max(1, Math.ceil(least / written.length))
  await runtime.runPromise(
    Effect.gen(function* () {
      const store = yield* Store
      yield* ensureSchema(serverCatalogue, "server")
      yield* store.transaction(
        Effect.gen(function* () {
          for (let at = 0; at < written.length; at += 2_000) {
            const events = written.slice(at, at + 2_000)
            yield* store.apply(events.flatMap((one) => changesOf(serverCatalogue.projection, [one], one.recorded_at)))
            yield* store.apply(events.map((row) => ({ op: "insert" as const, table: journal, row: { ...row } })))
          }
          yield* store.run("update journal_head set position = ?", [written.length])
        })
      )
      const big: Array<{ readonly name: string; readonly columns: ReadonlyArray<string> }> = []
      for (const table of catalogue.tables.filter(hasOwnIds)) {
        const [{ rows } = { rows: 0 }] = yield* store.run<{ rows: number }>(
          `select count(*) as rows from ${quote(table.name)}`
        )
        if (rows > 250)
          big.push({
            name: table.name,
            columns: (yield* store.run<{ name: string }>("select name from pragma_table_info(?)", [table.name])).map(
              ({ name }) => name
            )
          })
      }
      for (let copy = 1; copy < copies; copy++) {
        yield* store.transaction(
          Effect.gen(function* () {
            for (const { name, columns } of big) {
              // A unit can be claimed once, so its copies claim quantities instead.
              const values = columns.map((column) =>
                column === "id" ? `id + ${copy * 1_000_000}` : column === "asset_id" ? "null" : quote(column)
              )
              yield* store.run(
                `insert or ignore into ${quote(name)} (${columns.map(quote).join(", ")}) select ${values.join(", ")} from ${quote(name)} where id < 1000000`
              )
            }
            yield* store.run(
              `insert into journal select position + ?, stream || '-' || ?, version, type, data, command_id, actor_id, replica_id, recorded_at from journal where position <= ?`,
              [copy * written.length, copy, written.length]
            )
            yield* store.run("update journal_head set position = ?", [(copy + 1) * written.length])
          })
        )
      }
      yield* seed(serverCatalogue, "2026-01-01T00:00:00.000Z")
      yield* store.apply([
        {
          op: "insert",
          table: replicas,
          row: {
            id: 1,
            user_id: 1,
            name: "bench",
            schema_version: 1,
            last_n: 0,
            seen_at: null,
            revoked_at: null,
            created_at: "2026-01-01T00:00:00.000Z",
            updated_at: "2026-01-01T00:00:00.000Z",
            deleted_at: null
          }
        }
      ])
    })
  )
  return runtime
}
