/** Daily removal of what is older than the settings keep it, a few rows at a time: nobody waits long for them. */
import { Effect, Schema } from "effect"
import type { CommandRuntime } from "../../../core/kernel/endpoints/command-runtime.ts"
import type { Failure } from "../../../core/kernel/store/failure.ts"
import { bindings } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { jobKind, type TimedWork } from "../../ports/job-kind.ts"

const rows_at_a_time = 2_000

/** Deletes rows by their ids, the first of an order first. `before`: the condition, given how values are bound. */
export const deleteInParts = (
  table: string,
  order: string,
  before: (bind: (value: unknown) => string) => string
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    for (;;) {
      const { bind, values } = bindings(store.dialect)
      const deleted = yield* store.run(
        `delete from ${table} where id in (select id from ${table} where ${before(bind)} ` +
          `order by ${order} limit ${rows_at_a_time}) returning id`,
        values
      )
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
