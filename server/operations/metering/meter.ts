/**
 * Records calls and deliveries without delaying them: kept in memory and written in batches soon after. A killed server
 * loses records of the last second at most.
 */
import { Effect, Queue, type Scope, Semaphore } from "effect"
import { chunked, CommandRuntime, inPowersOfTwo, quote, settingText, Store } from "../../../core/kernel/index.ts"
import type { Failure, StoreShape } from "../../../core/kernel/index.ts"
import { allocateIds } from "../../../core/kernel/runtime/ids.ts"
import { Durability } from "../../../sync/sqlite/client.ts"
import type { AddressForm, Metered, RequestLogRow } from "./metered.ts"
import { address_forms, answeredOf, hourSums, logRows, monthSums, request_logs, sentOf } from "./metered.ts"
import { SqlError } from "effect/sql"
import type { AnsweredServerCall, Measurement } from "../../ports/server-slice.ts"
import type { AttemptTold } from "../../delivery/webhooks/sending.ts"

// Writes metered calls to the database: logs, sums and the months' units of one batch in one transaction.

/** Adds units to the counters of their tokens in a month (`2026-11`), in the caller's transaction. */
type AddMonthUnits = (units: ReadonlyMap<number, number>, month: string) => Effect.Effect<void, Failure, Store>

/** Records written together by one transaction. */
interface Batch {
  readonly metered: ReadonlyArray<Metered>
  /** Id of its first row once attempted: shows whether a commit whose response was lost took place. */
  first_id: number | undefined
}

const log_columns = Object.keys(request_logs.columns)
const insert_logs = `insert into request_logs (${log_columns.map(quote).join(", ")}) `
const insert_recordset =
  `${insert_logs}select ${log_columns.map(quote).join(", ")} ` +
  "from json_populate_recordset(null::request_logs, $1::json)"
const one_row = `(${log_columns.map(() => "?").join(", ")})`
const insert_bound = new Map<number, string>()
const textOf = (rows: number): string => {
  let text = insert_bound.get(rows)
  if (text === undefined)
    insert_bound.set(rows, (text = `${insert_logs}values ${Array.from({ length: rows }, () => one_row).join(", ")}`))
  return text
}
/** Appends a row's values in column order. Written out, as lookups by name take longer than SQLite's insert. */
const pushValues = (values: Array<unknown>, row: RequestLogRow): void => {
  values.push(
    row.id,
    row.channel,
    row.webhook_channel,
    row.request_id,
    row.method,
    row.uri,
    row.route_name,
    row.resource,
    row.operation,
    row.personal_access_token_id,
    row.user_id,
    row.ability,
    row.status_code,
    row.duration_ms,
    row.request_bytes,
    row.response_bytes,
    row.price_weight,
    row.weighted_units,
    row.ip_address,
    row.user_agent,
    row.created_at
  )
}
const rows_bound_max = 128
const rows_sent_max = 2_000
/** Inserts rows without the store's lookups for each value, as these rows are built here. */
const insertLogs = Effect.fnUntraced(function* (store: StoreShape, rows: ReadonlyArray<RequestLogRow>) {
  if (store.dialect === "pg") {
    for (const some of chunked(rows, rows_sent_max)) yield* store.run(insert_recordset, [JSON.stringify(some)])
    return
  }
  for (const some of inPowersOfTwo(rows, rows_bound_max)) {
    const values: Array<unknown> = []
    for (const row of some) pushValues(values, row)
    yield* store.run(textOf(some.length), values)
  }
})

const isForm = (text: string): text is AddressForm => Object.hasOwn(address_forms, text)

const sum_columns = [
  ["hour", "bigint"],
  ["channel", "text"],
  ["personal_access_token_id", "bigint"],
  ["route_name", "text"],
  ["resource", "text"],
  ["status_code", "bigint"],
  ["request_count", "bigint"],
  ["weighted_units", "bigint"]
] as const
const named = sum_columns.map(([name]) => name).join(", ")
const adding =
  "on conflict (hour, channel, personal_access_token_id, route_name, resource, status_code) do update set " +
  "request_count = usage_hours.request_count + excluded.request_count, " +
  "weighted_units = usage_hours.weighted_units + excluded.weighted_units"
const add_sums = {
  pg:
    `insert into usage_hours (id, ${named}) select nextval('ids_usage_hours'), ${named} from ` +
    `json_to_recordset($1::json) as given (${sum_columns.map(([name, type]) => `${name} ${type}`).join(", ")}) ` +
    adding,
  sqlite:
    `insert into usage_hours (${named}) select ${sum_columns.map(([name]) => `value ->> '${name}'`).join(", ")} ` +
    `from json_each(?) where true ${adding}`
}

const write = Effect.fnUntraced(function* (batch: Batch, addMonthUnits: AddMonthUnits | undefined) {
  const store = yield* Store
  const { metered } = batch
  if (batch.first_id !== undefined && (yield* store.exists(request_logs, { id: batch.first_id }))) return
  const form = settingText(yield* (yield* CommandRuntime).settings, "metering", "ip_addresses")
  const ids = yield* allocateIds(request_logs.name, metered.length)
  batch.first_id = ids[0]
  const rows = logRows(metered, ids, isForm(form) ? form : "shortened")
  yield* insertLogs(store, rows)
  const sums = hourSums(metered)
  yield* store.run(add_sums[store.dialect], [JSON.stringify(sums)])
  if (addMonthUnits !== undefined) for (const [month, units] of monthSums(sums)) yield* addMonthUnits(units, month)
})

/**
 * Writes a batch, completely or not at all. On SQLite the commit does not wait for the disk, so a power cut may lose
 * the last seconds; a killed server loses nothing committed.
 */
const writeBatch = (
  batch: Batch,
  addMonthUnits: AddMonthUnits | undefined
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.flatMap(Store, (store) =>
    Effect.uninterruptible(Effect.provideService(store.transaction(write(batch, addMonthUnits)), Durability, "normal"))
  )

// Metered calls not yet written, in order of arrival; limited in number.

interface Buffer {
  /** Adds a record; false if the buffer is full. */
  readonly add: (metered: Metered) => boolean
  /** The batch to write next, the same one until `done` or `refused` is called; undefined if none waits. */
  readonly next: () => Batch | undefined
  /** Removes the written batch. */
  readonly done: () => void
  /**
   * Call if the batch was rejected for its content: it is bisected until the faulty row is found, so that others are
   * written.
   */
  readonly refused: () => void
  readonly change: (to: (metered: Metered) => Metered) => void
  readonly waiting: () => number
  readonly dropped: () => number
}

export const makeBuffer = (batch_rows: number, rows_max: number): Buffer => {
  let added: Array<Metered> = []
  let batches: ReadonlyArray<Batch> = []
  let in_batches = 0
  let dropped = 0
  const setBatches = (all: ReadonlyArray<Batch>): void => {
    batches = all
    in_batches = all.reduce((sum, { metered }) => sum + metered.length, 0)
  }
  return {
    add: (metered) => {
      const has_room = added.length + in_batches < rows_max
      if (has_room) added.push(metered)
      else dropped++
      return has_room
    },
    next: () => {
      if (batches.length === 0 && added.length > 0) {
        setBatches([{ metered: added.slice(0, batch_rows), first_id: undefined }])
        added = added.slice(batch_rows)
      }
      return batches[0]
    },
    done: () => setBatches(batches.slice(1)),
    refused: () => {
      const [first, ...others] = batches
      if (first === undefined) return
      const { metered } = first
      const middle = Math.ceil(metered.length / 2)
      const halves = metered.length === 1 ? [] : [metered.slice(0, middle), metered.slice(middle)]
      if (metered.length === 1) dropped++
      setBatches([...halves.map((half) => ({ metered: half, first_id: undefined })), ...others])
    },
    change: (to) => {
      added = added.map(to)
      batches = batches.map((batch) => ({ ...batch, metered: batch.metered.map(to) }))
    },
    waiting: () => added.length + in_batches,
    dropped: () => dropped
  }
}

/** Longest delay of a record while the database is available. */
const flush_millis = 600
interface MeterOptions {
  readonly addMonthUnits?: AddMonthUnits
  /** Rows per transaction; that many waiting rows are written at once. */
  readonly batch_rows?: number
  /** Rows in memory while the database is unavailable; further ones are dropped and counted. */
  readonly rows_max?: number
}
export interface Meter {
  /** Records an answered call. Never fails and never waits. */
  readonly answered: (call: AnsweredServerCall) => void
  readonly attempted: (told: AttemptTold) => Effect.Effect<void>
  /** Writes all waiting records, so that the next read sees them; if the database is unavailable they keep waiting. */
  readonly flushed: Effect.Effect<void, never, Store | CommandRuntime>
  /** Removes the addresses and user agents of these users from unwritten records. */
  readonly forget: (user_ids: ReadonlySet<number>) => void
  readonly run: Effect.Effect<void, Failure, Store | CommandRuntime | Scope.Scope>
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>>
}

// Larger batches touch each page of the indexes less often; one is written within a hundredth of a second.
const batch_rows_usual = 1_000
const after_failure_millis = 1_000

export const makeMeter = ({
  addMonthUnits,
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
  /** Writes the records present at its start. */
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

/** Logs the start of an outage, and at its end the number of lost records. */
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
    description: "Metered calls not yet written by this process",
    kind: "gauge",
    labels: {},
    value: waiting
  },
  {
    name: "flightcase_metering_rows_written_total",
    description: "Metered calls written by this process",
    kind: "counter",
    labels: {},
    value: written
  },
  {
    name: "flightcase_metering_rows_dropped_total",
    description: "Metered calls lost by this process: too many waited, or the database refused the row",
    kind: "counter",
    labels: {},
    value: dropped
  }
]

/** Whether the rows caused the failure; after any other error the same rows may be accepted later. */
const blamesRows = (failure: Failure): boolean => {
  if (!(failure instanceof SqlError.SqlError)) return true
  const { _tag, cause } = failure.reason
  return _tag === "ConstraintError" || _tag === "UniqueViolation" || cause instanceof TypeError || isOfData(cause)
}
/**
 * Whether a database error is about data: SQLSTATE 22 and 54 (index entry too large); on SQLite too big, constraint and
 * type errors.
 */
const isOfData = (cause: unknown): boolean => {
  if (!(cause instanceof Error)) return false
  if ("errcode" in cause && typeof cause.errcode === "number") return [18, 19, 20].includes(cause.errcode & 255)
  return "code" in cause && typeof cause.code === "string" && /^(22|54)/.test(cause.code)
}
