/**
 * The workers of one server process: as many for each kind as it may do at a time, and the dispatcher that wakes them
 * for what falls due. A worker that fails goes on after a pause; at the end those at work have a moment to finish.
 */
import { Cause, Effect, Exit, Fiber, Latch, Schedule } from "effect"
import type * as PersistedQueue from "effect/persistence/PersistedQueue"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { type Store, type StoreShape } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import type { JobCounters } from "./counters.ts"
import type { AnyJobKind } from "./job-kind.ts"
import { failedAttempt } from "./outcome.ts"
import {
  dueKinds,
  makeBell,
  noteProgress,
  noteResult,
  type QueueStore,
  ringBell,
  setFailed,
  setWaiting,
  type Taken
} from "./queue-table.ts"

export interface KindQueue {
  readonly kind: AnyJobKind
  readonly queue: PersistedQueue.PersistedQueue<{ readonly data: unknown }>
}
type Needs = Store | CommandRuntime | ServerContext

/** How often the dispatcher asks what is due. */
const look_millis = 1_000
/** For jobs under way when the server stops; what takes longer is released and begins anew. */
const stop_patience_millis = 3_000
/** Writing down how an attempt ended is tried for about as long as its lock holds. */
const settling = Schedule.min([Schedule.exponential(200, 1.5), Schedule.spaced(5_000)]).pipe(
  Schedule.upTo({ duration: 45_000 })
)
const pause = (failures: number): number => Math.min(30_000, 500 * 2 ** Math.min(failures, 6))

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

export const makeWorkers = (
  store: StoreShape,
  queue_store: QueueStore,
  queues: Iterable<KindQueue>,
  counters: JobCounters
): Workers => {
  const crews = new Map<string, Crew>()
  for (const one of queues) crews.set(one.kind.kind, { ...one, gate: Latch.makeUnsafe(false), is_open: false, busy: 0 })
  const asked = Latch.makeUnsafe(false)
  let is_stopping = false

  const worker = (crew: Crew, mine: { busy: boolean }): Effect.Effect<void, never, Needs> =>
    Effect.gen(function* () {
      yield* crew.gate.await
      for (let failures = 0; !is_stopping;) {
        const exit = yield* crew.queue
          .take(({ data }, { attempts, id }) =>
            Effect.suspend(() => {
              mine.busy = true
              crew.busy++
              return runAttempt(store, counters, crew.kind, data, {
                kind: crew.kind.kind,
                job_id: id,
                attempt: attempts
              })
            })
          )
          .pipe(
            Effect.ensuring(
              Effect.sync(() => {
                if (mine.busy) crew.busy--
                mine.busy = false
              })
            ),
            Effect.exit
          )
        if (Exit.isSuccess(exit)) failures = 0
        else {
          yield* Effect.logWarning(`a worker of ${crew.kind.kind} failed and goes on after a pause`, exit.cause)
          yield* jitteredSleep(pause(failures++))
        }
      }
    })

  const open = Effect.fnUntraced(function* (crew: Crew) {
    yield* makeBell(store, crew.kind.kind)
    crew.is_open = true
    yield* crew.gate.open
  })
  const look = Effect.gen(function* () {
    for (const kind of yield* dueKinds(store, [...crews.keys()])) {
      const crew = crews.get(kind)
      if (crew === undefined) continue
      if (!crew.is_open) yield* open(crew)
      else if (crew.busy < crew.kind.at_a_time) yield* ringBell(queue_store, kind)
    }
  })
  const dispatcher = Effect.gen(function* () {
    for (let failures = 0; ;) {
      asked.closeUnsafe()
      const exit = yield* Effect.exit(look)
      if (Exit.isSuccess(exit)) {
        if (failures > 0) yield* Effect.logInfo("jobs are taken again")
        failures = 0
        yield* Effect.raceFirst(Effect.sleep(look_millis), asked.await)
      } else {
        if (failures === 0) yield* Effect.logWarning("jobs cannot be taken now", exit.cause)
        yield* jitteredSleep(pause(failures++))
      }
    }
  })

  const start = Effect.forEach(
    [...crews.values()].flatMap((crew) => Array.from({ length: crew.kind.at_a_time }, () => crew)),
    (crew) => {
      const mine = { busy: false }
      return Effect.map(Effect.forkDetach(Effect.interruptible(worker(crew, mine))), (fiber) => ({ fiber, mine }))
    }
  )
  const stop = (workers: ReadonlyArray<{ readonly fiber: Fiber.Fiber<void>; readonly mine: { busy: boolean } }>) =>
    Effect.gen(function* () {
      is_stopping = true
      const [busy, idle] = [workers.filter(({ mine }) => mine.busy), workers.filter(({ mine }) => !mine.busy)]
      yield* Fiber.interruptAll(idle.map(({ fiber }) => fiber))
      yield* Effect.timeoutOption(
        Effect.interruptible(Fiber.awaitAll(busy.map(({ fiber }) => fiber))),
        stop_patience_millis
      )
      yield* Fiber.interruptAll(busy.map(({ fiber }) => fiber))
    })
  return {
    wake: () => asked.openUnsafe(),
    isOpen: (kind) => crews.get(kind)?.is_open === true,
    work: crews.size === 0 ? Effect.never : Effect.acquireUseRelease(start, () => dispatcher, stop)
  }
}

const jitteredSleep = (millis: number): Effect.Effect<void> =>
  Effect.suspend(() => Effect.sleep(millis * (1 + Math.random() / 10)))

/**
 * One attempt, and what it came to: nothing more to do where it succeeded; a failure ends it here, with an error for
 * people. Fails only where that could not be written down: the queue then tries again by itself.
 */
const runAttempt = Effect.fnUntraced(function* (
  store: StoreShape,
  counters: JobCounters,
  kind: AnyJobKind,
  data: unknown,
  taken: Taken
) {
  const { attempt, job_id } = taken
  counters.begun(kind.kind)
  const run = kind.run(data, {
    job_id,
    number: attempt,
    is_last: attempt >= kind.attempts_max,
    progress: progressOf(store, job_id)
  })
  const exit = yield* Effect.exit(Effect.scoped(run))
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
