/**
 * The workers of one server process: as many for each kind as it may do at a time, and the dispatcher that wakes them
 * for what falls due. A worker that fails goes on after a pause; at the end those at work have a moment to finish.
 */
import { Effect, Exit, Fiber, Latch } from "effect"
import type * as PersistedQueue from "effect/persistence/PersistedQueue"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Store, StoreShape } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import { runAttempt } from "./attempt.ts"
import type { JobCounters } from "./counters.ts"
import type { AnyJobKind } from "./job-kind.ts"
import { type QueueStore, ringBell } from "./queue-store.ts"
import { dueKinds, makeBell } from "./queue-table.ts"

export interface KindQueue {
  readonly kind: AnyJobKind
  readonly queue: PersistedQueue.PersistedQueue<{ readonly data: unknown }>
}
type Needs = Store | CommandRuntime | ServerContext

/** How often the dispatcher asks what is due. */
const look_millis = 1_000
/** For jobs under way when the server stops; what takes longer is released and begins anew. */
const stop_patience_millis = 3_000

export interface Workers {
  /** Asks at once what is due. */
  readonly wake: () => void
  /** Whether somebody in this process looks for jobs of the kind, so that its queue's own wake-up reaches them. */
  readonly isOpen: (kind: string) => boolean
  /** Works until it is interrupted. */
  readonly work: Effect.Effect<void, never, Needs>
}

/** The workers of one kind. */
interface Crew extends KindQueue {
  /** Closed until there is a first job: a kind nobody uses costs nothing. */
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

export const makeWorkers = (
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

/** One worker's life: it takes a job, does it, takes the next. */
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
    Effect.andThen(begin, runAttempt(store, counters, crew.kind, data, { kind, job_id: id, attempt: attempts }))
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

/** Those without a job end at once. */
const stopped = Effect.fnUntraced(function* (running: ReadonlyArray<Running>) {
  const busy = running.filter(({ worker }) => worker.is_busy)
  yield* Fiber.interruptAll(running.filter(({ worker }) => !worker.is_busy).map(({ fiber }) => fiber))
  if (busy.length === 0) return
  const done = Fiber.awaitAll(busy.map(({ fiber }) => fiber))
  yield* Effect.timeoutOption(Effect.interruptible(done), stop_patience_millis)
  yield* Fiber.interruptAll(busy.map(({ fiber }) => fiber))
})

/** Wakes the workers of each kind that has a job nobody does. */
const look = (store: StoreShape, queue_store: QueueStore, crews: ReadonlyMap<string, Crew>) =>
  Effect.gen(function* () {
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

/** Looks every second, and at once when asked; says when it cannot, and when it can again. */
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

/** Doubled with each failure from half a second to 30 s, and up to a tenth longer. */
const pause = (failures: number): Effect.Effect<void> =>
  Effect.suspend(() => Effect.sleep(Math.min(30_000, 500 * 2 ** Math.min(failures, 6)) * (1 + Math.random() / 10)))
