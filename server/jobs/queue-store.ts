/**
 * How the table of Effect's PersistedQueue is opened. Apart from the table's statements, which whatever declares jobs
 * refers to: the queue itself is loaded by servers only.
 */
import { Effect, References, type Scope } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlClient, type SqlError } from "effect/sql"
import { lockDatabase } from "../../core/kernel/store/schema.ts"
import { Store, type StoreShape } from "../../core/kernel/store/store.ts"
import { jobsViewSql, lock_seconds } from "./schema.ts"

export type QueueStore = PersistedQueue.PersistedQueueStore["Service"]

/**
 * How often a queue with free workers looks at its table by itself. It hardly ever must: an offer in this process wakes
 * it, and the dispatcher does for whatever else falls due (`workers.ts`).
 */
const own_look_millis = 60_000
const lock_refresh_millis = (lock_seconds * 1_000) / 3

const openStore = (store: StoreShape): Effect.Effect<QueueStore, SqlError.SqlError, Scope.Scope> =>
  PersistedQueue.makeStoreSql({
    pollInterval: own_look_millis,
    lockRefreshInterval: lock_refresh_millis,
    lockExpiration: lock_seconds * 1_000
  }).pipe(
    Effect.provideService(SqlClient.SqlClient, store.sql),
    // Without a database each queue would log every half second; the dispatcher says it once.
    Effect.provideService(References.MinimumLogLevel, "None")
  )

/** Makes the tables where they are missing, one server after the other, and gives the queue's store. */
export const openQueueTable = Effect.fnUntraced(function* (
  store: StoreShape,
  only_server: boolean
): Effect.fn.Return<QueueStore, SqlError.SqlError, Scope.Scope | Store> {
  yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      // Its migrations are part of opening it. What this one starts ends here, before the transaction does.
      yield* Effect.scoped(openStore(store))
      yield* store.run(
        "create index if not exists effect_queue_unfinished on effect_queue (queue_name, state) " +
          "where state <> 'completed'"
      )
      // A view holds nothing: it is made anew, as this release wants it.
      yield* store.run("drop view if exists system_jobs")
      yield* store.run(jobsViewSql(store.dialect))
      // The only server on its database was killed if somebody still has jobs: nothing need wait for their locks.
      if (only_server)
        yield* store.run("update effect_queue set acquired_at = null, acquired_by = null where acquired_by is not null")
    })
  )
  return yield* openStore(store)
})

/** Wakes the queue of a kind by its row that is no job (`makeBell`). */
export const ringBell = (queue: QueueStore, kind: string): Effect.Effect<void, PersistedQueue.PersistedQueueError> =>
  queue.offer({ name: kind, id: `bell:${kind}`, element: null, isCustomId: true })
