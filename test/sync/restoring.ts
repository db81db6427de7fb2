/** A server put back as it was when a backup was made: journal, verdicts, blocks of ids and where ids go on. */
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { hasOwnIds, nextIds } from "../../core/kernel/ids.ts"
import { lastPosition } from "../../core/kernel/journal.ts"
import { rebuild } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { id_leases } from "../../sync/server/tables.ts"
import type { Engine } from "../app.ts"
import type { DeviceTestServer } from "./server.ts"

/** Takes note of what a backup holds, and gives the way back to it. */
export const backupOf = (test_server: DeviceTestServer, engine: Engine): Promise<() => Promise<void>> =>
  test_server.app().run(
    Effect.gen(function* () {
      const store = yield* Store
      const position = yield* lastPosition(store),
        next = yield* nextIds(catalogue.tables.filter(hasOwnIds))
      const leases = new Set((yield* store.find(id_leases, {})).map((row) => row.key))
      const last = yield* store.run<{ id: number; last_n: number }>("select id, last_n from replicas")
      return () =>
        test_server.app().run(
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
            for (const [name, id] of next) {
              yield* store.run(
                engine === "pg"
                  ? `select setval('ids_${name}', ${id}, false)`
                  : `update id_sequences set next = ${id} where name = '${name}'`
              )
            }
          })
        )
    })
  )
