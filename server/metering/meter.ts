/**
 * Counts calls and deliveries without making them wait: they are kept in memory and written in batches, soon after. A
 * server that is killed loses what it had not written, of the last second at most.
 */
import { Effect, Queue, type Scope, Semaphore } from "effect"
import { SqlError } from "effect/sql"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { AnsweredServerCall } from "../server-slice.ts"
import type { Measurement } from "../system/measurements.ts"
import type { AttemptTold } from "../webhooks/attempt.ts"
import { type Buffer, makeBuffer } from "./buffer.ts"
import { answeredOf, type Metered, sentOf } from "./metered.ts"
import { type AddMonthUnits, writeBatch } from "./write.ts"

export interface MeterOptions {
  readonly addMonthUnits?: AddMonthUnits
  /** How long a call waits to be written at most, while the database takes it. */
  readonly flush_millis?: number
  /** Rows of one transaction; as many that wait are written at once. */
  readonly batch_rows?: number
  /** Rows in memory while the database takes none; what comes beyond is dropped, and counted. */
  readonly rows_max?: number
}
export interface Meter {
  /** Never fails and never waits. */
  readonly answered: (call: AnsweredServerCall) => void
  readonly attempted: (told: AttemptTold) => Effect.Effect<void>
  /** Writes all that waits, so that what is read next has it; where the database takes none, it goes on waiting. */
  readonly flushed: Effect.Effect<void, never, Store | CommandRuntime>
  /** Takes the addresses of these users out of what waits. */
  readonly forget: (user_ids: ReadonlySet<number>) => void
  readonly run: Effect.Effect<void, Failure, Store | CommandRuntime | Scope.Scope>
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>>
}

// Larger batches touch each page of the indexes less often; one is written within a hundredth of a second.
const batch_rows_usual = 1_000
const after_failure_millis = 1_000

export const makeMeter = ({
  addMonthUnits,
  flush_millis = 600,
  batch_rows = batch_rows_usual,
  rows_max = 20_000
}: MeterOptions = {}): Meter => {
  const buffer = makeBuffer(batch_rows, rows_max)
  let written = 0
  const woken = Effect.runSync(Queue.sliding<void>(1))
  const filled = Effect.runSync(Queue.sliding<void>(1))
  const one_at_a_time = Semaphore.makeUnsafe(1)

  const add = (metered: Metered): void => {
    if (!buffer.add(metered)) return
    const waiting = buffer.waiting()
    if (waiting === 1) Queue.offerUnsafe(woken, undefined)
    if (waiting === batch_rows) Queue.offerUnsafe(filled, undefined)
  }
  /** What waits as this begins; what comes meanwhile is for the next. */
  const writeAll = Effect.gen(function* () {
    for (let left = buffer.waiting(); left > 0;) {
      const batch = buffer.next()
      if (batch === undefined) return
      yield* Effect.tapError(writeBatch(batch, addMonthUnits), (failure) =>
        Effect.sync(() => {
          if (blamesRows(failure)) buffer.refused()
        })
      )
      buffer.done()
      left -= batch.metered.length
      written += batch.metered.length
    }
  })
  const flush = one_at_a_time.withPermits(1)(writeAll)
  const { flowing, stuck } = outageTold(buffer)
  const round = Effect.gen(function* () {
    if (buffer.waiting() === 0) yield* Queue.take(woken)
    if (buffer.waiting() < batch_rows) yield* Effect.timeoutOption(Queue.take(filled), flush_millis)
    yield* flush
    yield* flowing
  }).pipe(Effect.catchCause((cause) => Effect.andThen(stuck(cause), Effect.sleep(after_failure_millis))))

  return {
    answered: (call) => {
      const metered = answeredOf(call)
      if (metered !== undefined) add(metered)
    },
    attempted: (told) =>
      Effect.sync(() => {
        const sent = sentOf(told)
        if (sent !== undefined) add(sent)
      }),
    flushed: Effect.catchCause(flush, stuck),
    forget: (user_ids) =>
      buffer.change((one) =>
        one.user_id !== null && user_ids.has(one.user_id) ? { ...one, remote_address: "", user_agent: null } : one
      ),
    run: Effect.gen(function* () {
      yield* Effect.addFinalizer(() => Effect.catchCause(flush, stuck))
      yield* Effect.forever(round)
    }),
    measured: Effect.sync(() => measuredOf(buffer.waiting(), written, buffer.dropped()))
  }
}

/** An outage is told of when it begins, and what was lost in it when it ends. */
const outageTold = (buffer: Buffer) => {
  let is_stuck = false
  let told = 0
  return {
    stuck: (cause: unknown): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (is_stuck) return Effect.void
        is_stuck = true
        return Effect.logWarning("metering waits: the database takes no rows", cause)
      }),
    flowing: Effect.suspend(() => {
      is_stuck = false
      const lost = buffer.dropped() - told
      told = buffer.dropped()
      return lost === 0 ? Effect.void : Effect.logError(`metering lost ${lost} rows: it could not keep more in memory`)
    })
  }
}

const measuredOf = (waiting: number, written: number, dropped: number): ReadonlyArray<Measurement> => [
  {
    name: "flightcase_metering_rows_waiting",
    description: "Metered calls in the memory of this process, not written yet",
    kind: "gauge",
    labels: {},
    value: waiting
  },
  {
    name: "flightcase_metering_rows_written_total",
    description: "Metered calls this process has written",
    kind: "counter",
    labels: {},
    value: written
  },
  {
    name: "flightcase_metering_rows_dropped_total",
    description: "Metered calls this process has lost, as the database took none for long",
    kind: "counter",
    labels: {},
    value: dropped
  }
]

/** Refused for what is in the rows; whatever else a database says, the same rows may be taken later. */
const blamesRows = (failure: Failure): boolean => {
  if (!(failure instanceof SqlError.SqlError)) return true
  const { _tag, cause } = failure.reason
  return _tag === "ConstraintError" || _tag === "UniqueViolation" || cause instanceof TypeError || isOfData(cause)
}
/** SQLSTATE 22 (data) and 54 (more than fits in an index); SQLite: too big, a constraint, another type. */
const isOfData = (cause: unknown): boolean => {
  if (!(cause instanceof Error)) return false
  if ("errcode" in cause && typeof cause.errcode === "number") return [18, 19, 20].includes(cause.errcode & 255)
  return "code" in cause && typeof cause.code === "string" && /^(22|54)/.test(cause.code)
}
