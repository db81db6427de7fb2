/** One attempt at a job, and what it came to. */
import { Effect, Exit, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Store, StoreShape } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import type { JobCounters } from "./counters.ts"
import type { AnyJobKind } from "./job-kind.ts"
import { failedAttempt } from "./outcome.ts"
import { noteProgress, noteResult, setFailed, setWaiting, type Taken } from "./queue-table.ts"

/** Writing down how an attempt ended is tried for nearly as long as its lock holds. */
const settling = Schedule.min([Schedule.exponential(200, 1.5), Schedule.spaced(5_000)]).pipe(
  Schedule.upTo({ duration: 45_000 })
)

/** One that hangs would keep its worker for ever, as its lock is renewed. */
const usual_limit_seconds = 3_600

/**
 * Succeeds where nothing is left to do, be it that the job is done or that its failure was written down here, with an
 * error for people. Fails only where that could not be written: the queue then tries again by itself.
 */
export const runAttempt = Effect.fnUntraced(function* (
  store: StoreShape,
  counters: JobCounters,
  kind: AnyJobKind,
  data: unknown,
  taken: Taken
): Effect.fn.Return<void, SqlError.SqlError, Store | CommandRuntime | ServerContext> {
  const { attempt, job_id } = taken
  counters.begun(kind.kind)
  const run = Effect.suspend(() =>
    kind.run(data, {
      job_id,
      number: attempt,
      is_last: attempt >= kind.attempts_max,
      progress: progressOf(store, job_id)
    })
  )
  const limit_seconds = kind.limit_seconds ?? usual_limit_seconds
  const exit = yield* Effect.exit(
    Effect.timeoutOrElse(Effect.scoped(run), {
      duration: limit_seconds * 1_000,
      orElse: () => Effect.fail(`It did not end within ${limit_seconds} seconds.`)
    })
  )
  if (Exit.isSuccess(exit)) {
    const result = exit.value
    if (result !== undefined) yield* Effect.retry(noteResult(store, job_id, result), settling)
    return
  }
  const { error, is_defect, wait_seconds } = failedAttempt(kind, job_id, attempt, exit.cause)
  counters.failed(kind.kind, wait_seconds === undefined)
  const about = { job_id, attempt, error, ...(wait_seconds === undefined ? {} : { again_in_seconds: wait_seconds }) }
  if (is_defect) yield* Effect.logError("a job failed unexpectedly", about, exit.cause)
  else yield* Effect.logWarning(wait_seconds === undefined ? "a job failed for good" : "a job failed", about)
  yield* Effect.retry(
    wait_seconds === undefined ? setFailed(store, taken, error) : setWaiting(store, taken, error, wait_seconds),
    settling
  )
})

/** Writes progress where it has moved by a hundredth; what cannot be written is left out. */
const progressOf = (store: StoreShape, job_id: string) => {
  let written = -10
  return (done: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const thousandths = Math.round(Math.min(1, Math.max(0, done)) * 1_000)
      if (Number.isNaN(thousandths) || Math.abs(thousandths - written) < 10) return Effect.void
      written = thousandths
      return Effect.ignore(noteProgress(store, job_id, thousandths))
    })
}
