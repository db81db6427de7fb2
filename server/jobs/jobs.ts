/**
 * Durable jobs over Effect's PersistedQueue, one queue for each kind. An offer is part of the caller's transaction; the
 * workers of every server on the database take them after the commit.
 */
import { Cause, Duration, Effect, Schema, type Scope } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlError } from "effect/sql"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Store, StoreShape } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import { type JobCounters, makeJobCounters } from "./counters.ts"
import type { AnyJobKind } from "./job-kind.ts"
import type { JobOffer, Jobs } from "./offers.ts"
import { openQueueTable } from "./queue-store.ts"
import { countUnfinished, dropLooseNotes, noteOwner } from "./queue-table.ts"
import { type KindQueue, makeWorkers } from "./workers.ts"

export interface JobQueues {
  readonly jobs: Jobs
  /** Takes jobs of every kind until it is interrupted. */
  readonly work: Effect.Effect<void, never, Store | CommandRuntime | ServerContext | Scope.Scope>
}

/** The queue itself would fail a job without a word to anybody: `attempt.ts` counts. */
const never_exhausted = 1_000_000_000
/** As long as the queue's column for it. */
const job_id_characters_max = 255

/** The queues of these kinds. Their tables are made where they are missing. */
export const makeJobQueues = Effect.fnUntraced(function* (kinds: ReadonlyArray<AnyJobKind>, store: StoreShape) {
  const queue_store = yield* openQueueTable(store, store.dialect === "sqlite")
  const factory = yield* Effect.provideService(
    PersistedQueue.makeFactory,
    PersistedQueue.PersistedQueueStore,
    queue_store
  )
  const queues = new Map<string, KindQueue>()
  for (const kind of kinds) {
    if (!/^[a-z0-9_.]+$/.test(kind.kind))
      return yield* Effect.die(new Error(`no name for a kind of jobs: ${kind.kind}`))
    if (queues.has(kind.kind)) return yield* Effect.die(new Error(`two kinds of jobs are called ${kind.kind}`))
    const schema = Schema.Struct({ data: kind.data })
    const queue = yield* factory.make({ name: kind.kind, schema, maxAttempts: never_exhausted })
    queues.set(kind.kind, { kind, queue })
  }
  const counters: JobCounters = makeJobCounters(queues.keys())
  const workers = makeWorkers(store, queue_store, queues.values(), counters)

  const offer = Effect.fnUntraced(function* (given: JobOffer): Effect.fn.Return<string, SqlError.SqlError> {
    const name = given.kind.kind
    const queue = queues.get(name)?.queue
    const id = `${name}:${given.subject}`
    if (queue === undefined) return yield* Effect.die(new Error(`no slice lists the job ${name}`))
    if (id.length > job_id_characters_max) return yield* Effect.die(new Error(`the job's id is too long: ${id}`))
    const delay = given.delay_seconds === undefined ? {} : { delay: given.delay_seconds * 1_000 }
    yield* queue.offer({ data: given.data }, { id, ...delay }).pipe(Effect.catch(databaseFailure))
    if (given.owner_id !== undefined && given.owner_id !== null) yield* noteOwner(store, id, given.owner_id)
    if (!workers.isOpen(name)) yield* store.sql.afterCommit(Effect.sync(workers.wake))
    return id
  })
  const jobs: Jobs = {
    offer,
    counts: counters.all,
    unfinished: countUnfinished(store),
    forget: (days) =>
      queue_store
        .cleanup({ timeToLive: Duration.days(days), failedTimeToLive: undefined })
        .pipe(Effect.catch(databaseFailure), Effect.andThen(dropLooseNotes(store)))
  }
  return { jobs, work: workers.work } satisfies JobQueues
})

/** The jobs of a server that is still being opened: what asks too early is told so. */
export const jobsOnceOpen = (opened: () => Jobs | undefined): Jobs => {
  const jobs = Effect.suspend(() => {
    const found = opened()
    return found === undefined
      ? Effect.die(new Error("there are no jobs before the server has opened"))
      : Effect.succeed(found)
  })
  return {
    offer: (offer) => Effect.flatMap(jobs, (one) => one.offer(offer)),
    counts: () => opened()?.counts() ?? [],
    unfinished: Effect.flatMap(jobs, (one) => one.unfinished),
    forget: (days) => Effect.flatMap(jobs, (one) => one.forget(days))
  }
}

/** A queue's failure is the database's: transactions that lost a race are tried again by whoever began them. */
const databaseFailure = (
  failure: PersistedQueue.PersistedQueueError | Schema.SchemaError
): Effect.Effect<never, SqlError.SqlError> => {
  const cause = failure._tag === "SchemaError" ? failure : failure.cause
  const found = Cause.isCause(cause) ? Cause.squash(cause) : cause
  return found instanceof SqlError.SqlError ? Effect.fail(found) : Effect.die(failure)
}
