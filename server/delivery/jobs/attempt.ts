/** One attempt at a job, and its result. */
import { Cause, Effect, Exit, Schedule } from "effect"
import { SqlError } from "effect/sql"
import { traced, type CommandRuntime, type Store, type StoreShape } from "../../../core/kernel/index.ts"
import type { AnyJobKind, JobCounters, ServerContext } from "../../ports/server-context.ts"
import {
  ended_with_server,
  failedAttempt,
  noteFailures,
  noteProgress,
  noteResult,
  setFailed,
  setWaiting,
  type Taken
} from "./queue-table.ts"

/** Schedule for recording the outcome: retried for nearly as long as the lock lasts. */
const settling = Schedule.min([Schedule.exponential(200, 1.5), Schedule.spaced(5_000)]).pipe(
  Schedule.upTo({ duration: 45_000 })
)

/** Default time limit of an attempt: a hanging one would hold its worker forever, as its lock is renewed. */
const usual_limit_seconds = 3_600

interface Job {
  readonly store: StoreShape
  readonly kind: AnyJobKind
  readonly data: unknown
  readonly taken: Taken
}
const failuresOf = ({ sql }: StoreShape, job_id: string): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(sql<{ failures: number | null }>`select failures from job_notes where job_id = ${job_id}`, ([row]) =>
    Number(row?.failures ?? 0)
  )

/**
 * Runs one attempt. Succeeds if the job is done or its failure was recorded; fails only if recording failed, and the
 * queue then retries.
 */
export const runAttempt = Effect.fnUntraced(function* (
  counters: JobCounters,
  job: Job
): Effect.fn.Return<void, SqlError.SqlError, Store | CommandRuntime | ServerContext> {
  const { data, kind, store, taken } = job
  const { job_id } = taken
  const counts_all = kind.counts_broken_off !== false
  const attempt = counts_all || taken.attempt === 1 ? taken.attempt : 1 + (yield* failuresOf(store, job_id))
  // The server stopped during the last attempt, or could not record its failure.
  if (attempt > kind.attempts_max) {
    yield* Effect.logWarning("a job failed for good", { job_id, attempt, error: ended_with_server })
    counters.failed(kind.kind, true)
    return yield* Effect.retry(failedForGood(job, ended_with_server, taken.attempt - 1), settling)
  }
  counters.begun(kind.kind)
  const run = traced(
    Effect.suspend(() =>
      kind.run(data, {
        job_id,
        number: attempt,
        is_last: attempt >= kind.attempts_max,
        progress: progressOf(store, job_id)
      })
    ),
    () => ({
      name: `job ${kind.kind}`,
      kind: "consumer",
      attributes: { "flightcase.job_id": job_id, "flightcase.attempt": attempt }
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
  const waiting = (seconds: number) =>
    Effect.andThen(
      counts_all ? Effect.void : noteFailures(store, job_id, attempt),
      setWaiting(store, taken, error, seconds)
    )
  yield* Effect.retry(wait_seconds === undefined ? failedForGood(job, error) : waiting(wait_seconds), settling)
})

/**
 * Records the final failure and runs the kind's `ended` in one transaction. If `ended` fails unexpectedly, the job
 * still ends.
 */
const failedForGood = (
  { data, kind, store, taken }: Job,
  error: string,
  attempts = taken.attempt
): Effect.Effect<void, SqlError.SqlError, Store | CommandRuntime | ServerContext> => {
  const failed = setFailed(store, taken, error, attempts)
  if (kind.ended === undefined) return failed
  return Effect.catchCause(
    store.transaction(Effect.andThen(kind.ended(data, error), failed)),
    (cause): Effect.Effect<void, SqlError.SqlError> => {
      const fault = Cause.squash(cause)
      if (fault instanceof SqlError.SqlError) return Effect.fail(fault)
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      const about = { kind: kind.kind, job_id: taken.job_id }
      return Effect.andThen(Effect.logError("what follows a failed job failed itself", about, cause), failed)
    }
  )
}

/** Returns the function that stores progress in steps of a hundredth; failed writes are skipped. */
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
