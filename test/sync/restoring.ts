/** Restores a server's database to an earlier backup: journal, verdicts, leased ids and sequences. */
import { Effect } from "effect"
import { expect } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { hasOwnIds, nextIds } from "../../core/kernel/runtime/ids.ts"
import { lastPosition } from "../../core/kernel/events/journal.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { id_leases } from "../../sync/server/tables.ts"
import type { Engine } from "../app.ts"
import type { TestDevice, TestServer } from "./opening.ts"

/** Statement that continues a table's ids with this one. */
export const goOnWith = (engine: Engine, table: string, id: number): string =>
  engine === "pg"
    ? `select setval('ids_${table}', ${id}, false)`
    : `update id_sequences set next = ${id} where name = '${table}'`

/** Makes a backup; returns the function that restores it. */
export const backupOf = (server: TestServer, engine: Engine): Promise<() => Promise<void>> =>
  server.run(
    Effect.gen(function* () {
      const store = yield* Store
      const position = yield* lastPosition(store),
        next = yield* nextIds(catalogue.tables.filter(hasOwnIds))
      const leases = new Set((yield* store.find(id_leases, {})).map((row) => row.key))
      const last = yield* store.run<{ id: number; last_n: number }>("select id, last_n from replicas")
      return () =>
        server.run(
          Effect.gen(function* () {
            yield* store.run(`delete from journal where position > ${position}`)
            yield* store.run(`update journal_head set position = ${position}`)
            for (const { id, last_n } of last) {
              yield* store.run(`delete from replica_verdicts where replica_id = ${id} and n > ${last_n}`)
              yield* store.run(`update replicas set last_n = ${last_n} where id = ${id}`)
            }
            yield* store.apply(
              (yield* store.find(id_leases, {}))
                .filter((row) => !leases.has(row.key))
                .map(({ key }) => ({ op: "delete" as const, table: id_leases, key }))
            )
            yield* rebuild(catalogue)
            for (const [name, id] of next) yield* store.run(goOnWith(engine, name, id))
          })
        )
    })
  )

export const all_settled = { pending: 0, conflicts: 0, held: 0 }
export const counts = async (device: TestDevice) => {
  const { conflicts, held, pending } = await device.status()
  return { pending, conflicts, held }
}
/** Retries the device's only conflict. */
export const retried = async (device: TestDevice, status = 201): Promise<void> => {
  const [conflict] = await device.conflicts()
  expect((await device.resolve(conflict!.id, { retry: true })).status).toBe(status)
}
