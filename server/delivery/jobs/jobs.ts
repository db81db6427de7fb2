/**
 * Durable jobs over Effect's PersistedQueue, one queue for each kind. An offer is part of the caller's transaction; the
 * workers of every server on the database take them after the commit.
 */
import { Cause, Duration, Effect, Exit, Fiber, Latch, References, Schema, type Scope } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlClient, SqlError } from "effect/sql"
import { lockDatabase } from "../../../core/kernel/runtime/schema.ts"
import { Store, type CommandRuntime, type StoreShape } from "../../../core/kernel/index.ts"
import {
  countUnfinished,
  dropLooseNotes,
  dueKinds,
  jobsViewSql,
  lock_seconds,
  makeBell,
  noteOwner
} from "./queue-table.ts"
import type { AnyJobKind, JobCounters, JobOffer, Jobs, ServerContext } from "../../ports/server-context.ts"
import { makeJobCounters } from "../../ports/server-context.ts"
import { runAttempt } from "./attempt.ts"

// Opens the table of Effect's PersistedQueue. Separate from its statements, which every declaration of jobs imports:
// only servers load the queue itself.

type QueueStore = PersistedQueue.PersistedQueueStore["Service"]

/**
 * Poll interval of a queue with free workers. Rarely needed: offers in this process wake it, and the dispatcher wakes
 * it for other due jobs.
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
    // Without a database every queue would log twice a second; the dispatcher logs it once.
    Effect.provideService(References.MinimumLogLevel, "None")
  )

/** Creates missing tables, serialised across servers, and returns the queue's store. */
const openQueueTable = Effect.fnUntraced(function* (
  store: StoreShape,
  only_server: boolean
): Effect.fn.Return<QueueStore, SqlError.SqlError, Scope.Scope | Store> {
  yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      // Opening includes migrations. Its background fibers end with this scope, before the transaction.
      yield* Effect.scoped(openStore(store))
      yield* store.run(
        "create index if not exists effect_queue_unfinished on effect_queue (queue_name, state) " +
          "where state <> 'completed'"
      )
      // Views hold no data and are recreated by each release.
      yield* store.run("drop view if exists system_jobs")
      yield* store.run(jobsViewSql(store.dialect))
      // Jobs still held were left by a killed server, the only one of its database: no need to wait for their locks.
      if (only_server)
        yield* store.run("update effect_queue set acquired_at = null, acquired_by = null where acquired_by is not null")
    })
  )
  return yield* openStore(store)
})

/** Wakes the queue of a kind through its bell row (`makeBell`). */
const ringBell = (queue: QueueStore, kind: string): Effect.Effect<void, PersistedQueue.PersistedQueueError> =>
  queue.offer({ name: kind, id: `bell:${kind}`, element: null, isCustomId: true })

// Workers of one server process: a number per kind, and a dispatcher that wakes them for due jobs. A failed worker
// resumes after a pause; on shutdown, running jobs get some time to finish.

interface KindQueue {
  readonly kind: AnyJobKind
  readonly queue: PersistedQueue.PersistedQueue<{ readonly data: unknown }>
}
type Needs = Store | CommandRuntime | ServerContext

/** Interval of the dispatcher's queries for due jobs. */
const look_millis = 1_000
/** Grace period of running jobs on shutdown; longer ones are released and start over. */
const stop_patience_millis = 3_000

interface Workers {
  /** Queries for due jobs now. */
  readonly wake: () => void
  /** Whether workers of the kind take jobs in this process, so that an offer alone wakes them. */
  readonly isOpen: (kind: string) => boolean
  /** The dispatcher and all workers; runs until interrupted. */
  readonly work: Effect.Effect<void, never, Needs>
}

/** State of the workers of one kind. */
interface Crew extends KindQueue {
  /** Closed until the kind's first job, so unused kinds cost nothing. */
  readonly gate: Latch.Latch
  is_open: boolean
  busy: number
}
interface Worker {
  readonly crew: Crew
  is_busy: boolean
}
interface Running {
  readonly worker: Worker
  readonly fiber: Fiber.Fiber<void>
}

const makeWorkers = (
  store: StoreShape,
  queue_store: QueueStore,
  queues: Iterable<KindQueue>,
  counters: JobCounters
): Workers => {
  const crews = new Map<string, Crew>()
  for (const one of queues) crews.set(one.kind.kind, { ...one, gate: Latch.makeUnsafe(false), is_open: false, busy: 0 })
  const asked = Latch.makeUnsafe(false)
  const stopping = { is_stopping: false }
  const start = Effect.forEach(
    [...crews.values()].flatMap((crew) => Array.from({ length: crew.kind.at_a_time }, () => crew)),
    (crew): Effect.Effect<Running, never, Needs> => {
      const worker: Worker = { crew, is_busy: false }
      const working = Effect.interruptible(workOf(worker, store, counters, stopping))
      return Effect.map(Effect.forkDetach(working), (fiber) => ({ fiber, worker }))
    }
  )
  const stop = (running: ReadonlyArray<Running>): Effect.Effect<void> => {
    stopping.is_stopping = true
    return stopped(running)
  }
  const dispatch = dispatcher(look(store, queue_store, crews), asked)
  return {
    wake: () => asked.openUnsafe(),
    isOpen: (kind) => crews.get(kind)?.is_open === true,
    work: crews.size === 0 ? Effect.never : Effect.acquireUseRelease(start, () => dispatch, stop)
  }
}

/** Loop of one worker: take a job, run it, repeat. */
const workOf = Effect.fnUntraced(function* (
  worker: Worker,
  store: StoreShape,
  counters: JobCounters,
  stopping: { readonly is_stopping: boolean }
): Effect.fn.Return<void, never, Needs> {
  const { crew } = worker
  const kind = crew.kind.kind
  const begin = Effect.sync(() => {
    worker.is_busy = true
    crew.busy++
  })
  const end = Effect.sync(() => {
    if (worker.is_busy) crew.busy--
    worker.is_busy = false
  })
  const one = crew.queue.take(({ data }, { attempts, id }) =>
    Effect.andThen(
      begin,
      runAttempt(counters, { store, kind: crew.kind, data, taken: { kind, job_id: id, attempt: attempts } })
    )
  )
  yield* crew.gate.await
  for (let failures = 0; !stopping.is_stopping;) {
    const exit = yield* Effect.exit(Effect.ensuring(one, end))
    if (Exit.isSuccess(exit)) failures = 0
    else {
      yield* Effect.logWarning("a worker failed and goes on after a pause", { kind }, exit.cause)
      yield* pause(failures++)
    }
  }
})

/** Interrupts idle workers at once, and waits for running jobs up to the grace period. */
const stopped = Effect.fnUntraced(function* (running: ReadonlyArray<Running>) {
  const busy = running.filter(({ worker }) => worker.is_busy)
  yield* Fiber.interruptAll(running.filter(({ worker }) => !worker.is_busy).map(({ fiber }) => fiber))
  if (busy.length === 0) return
  const done = Fiber.awaitAll(busy.map(({ fiber }) => fiber))
  yield* Effect.timeoutOption(Effect.interruptible(done), stop_patience_millis)
  yield* Fiber.interruptAll(busy.map(({ fiber }) => fiber))
})

/** Queries for unclaimed due jobs and wakes the workers of their kinds. */
const look = Effect.fnUntraced(function* (
  store: StoreShape,
  queue_store: QueueStore,
  crews: ReadonlyMap<string, Crew>
) {
  for (const kind of yield* dueKinds(store, [...crews.keys()])) {
    const crew = crews.get(kind)
    if (crew === undefined || crew.busy >= crew.kind.at_a_time) continue
    if (crew.is_open) yield* ringBell(queue_store, kind)
    else {
      yield* makeBell(store, kind)
      crew.is_open = true
      yield* crew.gate.open
    }
  }
})

/** Polls every second and on request; logs when it fails and when it recovers. */
const dispatcher = Effect.fnUntraced(function* (
  look: Effect.Effect<void, unknown>,
  asked: Latch.Latch
): Effect.fn.Return<never> {
  for (let failures = 0; ;) {
    asked.closeUnsafe()
    const exit = yield* Effect.exit(look)
    if (Exit.isSuccess(exit)) {
      if (failures > 0) yield* Effect.logInfo("jobs are taken again")
      failures = 0
      yield* Effect.raceFirst(Effect.sleep(look_millis), asked.await)
    } else {
      if (failures === 0) yield* Effect.logWarning("jobs cannot be taken now", exit.cause)
      yield* pause(failures++)
    }
  }
})

/** Pause after consecutive failures: from half a second, doubled each time up to 30 s, plus up to a tenth. */
const pause = (failures: number): Effect.Effect<void> =>
  Effect.suspend(() => Effect.sleep(Math.min(30_000, 500 * 2 ** Math.min(failures, 6)) * (1 + Math.random() / 10)))

interface JobQueues {
  readonly jobs: Jobs
  /** Runs jobs of every kind until interrupted. */
  readonly work: Effect.Effect<void, never, Store | CommandRuntime | ServerContext | Scope.Scope>
}

/** Attempt limit passed to the queue, which would fail jobs silently; `attempt.ts` counts attempts. */
const never_exhausted = 1_000_000_000
/** Maximum length of a job id: the queue's column. */
const job_id_characters_max = 255

/** Opens a queue for each of these kinds and creates missing tables. */
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
    const id = given.uuid ?? `${name}:${given.subject ?? ""}`
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

/** `Jobs` of a server that is still opening: until then its effects die, and `counts` is empty. */
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

/** Converts a queue's error to a database error, so that callers retry transactions that lost a race. */
const databaseFailure = (
  failure: PersistedQueue.PersistedQueueError | Schema.SchemaError
): Effect.Effect<never, SqlError.SqlError> => {
  const cause = failure._tag === "SchemaError" ? failure : failure.cause
  const found = Cause.isCause(cause) ? Cause.squash(cause) : cause
  return found instanceof SqlError.SqlError ? Effect.fail(found) : Effect.die(failure)
}
