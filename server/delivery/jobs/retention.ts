/** Daily removal of what is older than the settings keep it, a few rows at a time: nobody waits long for them. */
import { Effect, Schema } from "effect"
import type { CommandRuntime } from "../../../core/kernel/endpoints/command-runtime.ts"
import type { Failure } from "../../../core/kernel/store/failure.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { jobKind, type TimedWork } from "../../ports/job-kind.ts"

const rows_at_a_time = 2_000

/** Deletes the rows whose `column` is below a value by their ids, the lowest first. */
export const deleteInParts = (
  table: string,
  column: string,
  below: string | number
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    for (;;) {
      const deleted = yield* sql`
        delete from ${sql(table)} where id in (select id from ${sql(table)}
        where ${sql(column)} < ${below} order by ${sql(column)}, id limit ${rows_at_a_time}) returning id`
      if (deleted.length < rows_at_a_time) return
      yield* Effect.yieldNow
    }
  })

/** Each slice has a minute of its own, so that they do not delete at the same time. */
export const dailyRetention = (
  kind: string,
  cron: string,
  meaning: string,
  run: Effect.Effect<void, Failure, Store | CommandRuntime>
): TimedWork => ({
  cron,
  kind: jobKind({
    kind,
    meaning,
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 5,
    waits_seconds: [60, 600],
    at_a_time: 1,
    run: () => run
  })
})
