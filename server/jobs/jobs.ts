/**
 * Durable jobs over Effect's PersistedQueue, one queue for each kind. An offer is part of the caller's transaction; the
 * workers of every server on the database take them after the commit.
 */
import { Cause, Effect, Schedule, Schema, type Scope } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlClient, SqlError } from "effect/sql"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store, type StoreShape } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import { type AnyJobKind, GivenUp, type JobOffer } from "./job-kind.ts"

export interface Jobs {
  /** Queues a job in the caller's transaction and answers its id. A subject that was queued before is not queued again. */
  readonly offer: (offer: JobOffer) => Effect.Effect<string, Failure, Store>
}

export interface JobQueues {
  readonly jobs: Jobs
  /** Takes jobs of every kind until it is interrupted. */
  readonly work: Effect.Effect<void, never, Store | CommandRuntime | ServerContext | Scope.Scope>
}

/** The queues of these kinds. Their tables are made where they are missing. */
export const makeJobQueues = Effect.fnUntraced(function* (kinds: ReadonlyArray<AnyJobKind>, store: StoreShape) {
  const made = yield* Effect.provideService(
    PersistedQueue.makeStoreSql({ pollInterval: store.dialect === "pg" ? 500 : 1_000 }),
    SqlClient.SqlClient,
    store.sql
  )
  const factory = yield* Effect.provideService(PersistedQueue.makeFactory, PersistedQueue.PersistedQueueStore, made)
  const queues = new Map(
    yield* Effect.forEach(kinds, (kind) =>
      Effect.map(
        factory.make({
          name: kind.kind,
          schema: Schema.Struct({ data: kind.data, owner_id: Schema.NullOr(Schema.Int) }),
          maxAttempts: kind.attempts_max,
          retrySchedule: waitsOf(kind)
        }),
        (queue) => [kind.kind, { kind, queue }] as const
      )
    )
  )
  const jobs: Jobs = {
    offer: (offer) =>
      Effect.suspend(() => {
        const found = queues.get(offer.kind.kind)
        if (found === undefined) return Effect.die(new Error(`no slice lists the job ${offer.kind.kind}`))
        const id = `${offer.kind.kind}:${offer.subject}`
        return found.queue
          .offer(
            { data: offer.data, owner_id: offer.owner_id ?? null },
            { id, ...(offer.delay_seconds === undefined ? {} : { delay: offer.delay_seconds * 1_000 }) }
          )
          .pipe(Effect.catch(databaseFailure))
      })
  }
  const work = Effect.forEach(
    [...queues.values()].flatMap(({ kind, queue }) => Array.from({ length: kind.at_a_time }, () => ({ kind, queue }))),
    ({ kind, queue }) =>
      queue
        .take(({ data }, { id, attempts }) =>
          Effect.scoped(
            kind.run(data, {
              job_id: id,
              number: attempts,
              is_last: attempts >= kind.attempts_max,
              progress: () => Effect.void
            })
          ).pipe(
            Effect.catchIf(
              (failure) => failure instanceof GivenUp,
              () => Effect.void
            )
          )
        )
        .pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logWarning(`job ${kind.kind} failed`, cause)
          ),
          Effect.forever
        ),
    { concurrency: "unbounded", discard: true }
  )
  return { jobs, work: work as JobQueues["work"] } satisfies JobQueues
})

const waitsOf = ({ waits_seconds }: AnyJobKind): Schedule.Schedule<unknown, number> =>
  Schedule.fromStepWithMetadata(
    Effect.succeed(({ attempt }) => {
      const wait = waits_seconds[Math.min(attempt, waits_seconds.length) - 1] ?? 60
      return Effect.succeed([attempt, wait * 1_000] as never)
    })
  )

/** A queue's failure is the database's: transactions that lost a race are tried again by whoever began them. */
const databaseFailure = (
  failure: PersistedQueue.PersistedQueueError | Schema.SchemaError
): Effect.Effect<never, SqlError.SqlError> => {
  const cause = failure._tag === "SchemaError" ? failure : failure.cause
  const found = Cause.isCause(cause) ? Cause.squash(cause) : cause
  return found instanceof SqlError.SqlError ? Effect.fail(found) : Effect.die(failure)
}
