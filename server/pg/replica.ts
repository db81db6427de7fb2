/**
 * Reads from a streaming replica. It answers a read only once it has replayed everything that was committed before the
 * read arrived, on any server: no answer is older than the primary's would be. Otherwise the primary answers.
 */
import { Data, Effect, Schedule } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { make as makeStore, Rejection, Store } from "../../core/kernel/index.ts"
import type { Answer, Endpoint, StoreShape } from "../../core/kernel/index.ts"
import type { ServerEndpoint, ServerSlice } from "../ports/server-slice.ts"
import { mebibytes } from "../ports/storage-fault.ts"
import * as Postgres from "./client.ts"

type Condition = "up_to_date" | "lagging" | "failing"

/** Whether it is a read that devices answer, too: it needs nothing but tables, and has no effects. */
const mayAskReplica = ({ kind, method, public: is_public, server_only }: Endpoint): boolean =>
  kind === "query" && method === "GET" && !server_only && !is_public

class Behind extends Data.TaggedError("Behind") {}

const look_spaced = "1 second"
const look_limit = "2 seconds"
const read_limit = "30 seconds"
const statement_timeout_ms = 30_000
const connection_timeout_ms = 1_000
/** Waits for the replica before the primary answers: 2, 4, 8, 16 and 32 ms. */
const replay_waits = { schedule: Schedule.exponential(2), times: 5 }

/**
 * End of the log up to which commits are visible on the primary. Without synchronous commits they are visible before
 * they are flushed.
 */
const written_position = `(case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn()
  else pg_current_wal_flush_lsn() end)::text`
const same_database = "(select system_identifier from pg_control_system()) || ' ' || current_database()"

const writtenPosition = (primary: StoreShape) =>
  Effect.map(primary.run<{ readonly position: string }>(`select ${written_position} as position`), ([row]) =>
    String(row?.position)
  )

/** Waits until the replica has replayed the position; fails with Behind after {@link replay_waits}. */
const awaitReplay = (replica: StoreShape, position: string) =>
  replica
    .run<{ readonly has_replayed: boolean | null }>(
      "select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $1::pg_lsn as has_replayed",
      [position]
    )
    .pipe(
      Effect.filterOrFail(
        ([row]) => row?.has_replayed === true,
        () => new Behind()
      ),
      Effect.retry({ ...replay_waits, while: (failure) => failure instanceof Behind })
    )

/** Returns as `fault` why a Postgres is no replica of the primary, else as `behind_bytes` the log not replayed. */
const lookAt = Effect.fnUntraced(function* (primary: StoreShape, replica: StoreShape) {
  const [wanted] = yield* primary.run<{ readonly database: string; readonly position: string }>(
    `select ${same_database} as database, ${written_position} as position`
  )
  const [found] = yield* replica.run<{
    readonly database: string
    readonly is_replica: boolean
    readonly behind_bytes: string | null
  }>(
    `select ${same_database} as database, pg_is_in_recovery() as is_replica,
      pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn()) as behind_bytes`,
    [wanted?.position ?? null]
  )
  if (found?.is_replica !== true) return { fault: "it is no replica: it accepts writes" }
  if (found.database !== wanted?.database) return { fault: "it is a replica of another database" }
  return { behind_bytes: Math.max(0, Number(found.behind_bytes)) }
})

/** Rows of reference tables come from the primary's cache, as those of every read do; reads take no locks. */
const withCachedRows = (primary: StoreShape, replica: StoreShape): StoreShape => ({
  ...replica,
  openTransaction: Effect.succeed(undefined),
  transactionOf: () => undefined,
  getMany: (table, keys) => (table.reference ? primary : replica).getMany(table, keys),
  find: (table, where, options) => (table.reference ? primary : replica).find(table, where, options)
})

const openReplica = (url: string, connections_max: number) =>
  Effect.map(
    // Reads are transactions, which get half of the connections.
    Postgres.make({ url, max: 2 * connections_max, connection_timeout_ms, statement_timeout_ms }),
    (sql) => makeStore(sql)
  )

/** Looks at the Postgres of the second URL as a replica of the first, as {@link lookAt} does. */
export const checkReplica = (url: string, replica_url: string) =>
  Effect.gen(function* () {
    return yield* lookAt(yield* openReplica(url, 1), yield* openReplica(replica_url, 1))
  }).pipe(Effect.scoped)

interface ReplicaState {
  replica: StoreShape | undefined
  condition: Condition
  fault: string
  behind_bytes: number
  /** Reads by what became of them: answered by the replica, or by the primary because it lagged or failed. */
  readonly reads: { [Outcome in Condition]: number }
}

/** Sends reads to the replica at the URL. The server starts and serves without it, too. */
export const replicaSlice = (url: string, connections_max: number): ServerSlice => {
  const state: ReplicaState = {
    replica: undefined,
    condition: "failing",
    fault: "it was not reached yet",
    behind_bytes: 0,
    reads: { up_to_date: 0, lagging: 0, failing: 0 }
  }
  return {
    name: "replica",
    around: ({ endpoint }, next) => {
      if (!mayAskReplica(endpoint)) return next
      const { condition, reads, replica } = state
      if (replica !== undefined && condition === "up_to_date") return readFrom(replica, state, next)
      reads[condition]++
      return next
    },
    background: Effect.scoped(
      Effect.flatMap(openReplica(url, connections_max), (replica) => watch(replica, state))
    ).pipe(
      Effect.catch((cause) => failed(state, cause)),
      Effect.repeat(Schedule.spaced(look_spaced)),
      Effect.asVoid
    ),
    measured: Effect.sync(() => measurementsOf(state)),
    checks: Effect.sync(() => [foundOf(state)])
  }
}

/** Answers a read from the replica, and from the primary if that fails or lags. */
const readFrom = (replica: StoreShape, state: ReplicaState, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  Effect.gen(function* () {
    const primary = yield* Store
    const position = yield* writtenPosition(primary)
    const answered = Effect.sync(() => void state.reads.up_to_date++)
    return yield* replica.transaction(Effect.andThen(awaitReplay(replica, position), next)).pipe(
      Effect.provideService(Store, withCachedRows(primary, replica)),
      Effect.timeout(read_limit),
      Effect.tap(() => answered),
      Effect.catch((failure) => {
        if (failure instanceof Rejection) return Effect.andThen(answered, Effect.fail(failure))
        const is_behind = failure instanceof Behind
        state.reads[is_behind ? "lagging" : "failing"]++
        if (is_behind) return Effect.andThen(lags(state), next)
        // A fault of this read alone, such as a time-out, says nothing of others.
        return isSqlError(failure) && failure.reason._tag === "ConnectionError"
          ? Effect.andThen(failed(state, failure), next)
          : next
      })
    )
  })

/** Looks at the replica every second; reads go to it while it keeps up. */
const watch = (replica: StoreShape, state: ReplicaState) =>
  Effect.gen(function* () {
    const primary = yield* Store
    const { behind_bytes, fault } = yield* lookAt(primary, replica)
    if (fault !== undefined) return yield* failed(state, fault)
    state.behind_bytes = behind_bytes
    state.replica = replica
    yield* awaitReplay(replica, yield* writtenPosition(primary))
    if (state.condition !== "up_to_date") yield* Effect.logInfo("replica answers reads")
    state.condition = "up_to_date"
  }).pipe(
    Effect.timeout(look_limit),
    Effect.catch((failure) => (failure instanceof Behind ? lags(state) : failed(state, failure))),
    Effect.repeat(Schedule.spaced(look_spaced)),
    Effect.asVoid
  )

const lags = (state: ReplicaState) =>
  Effect.sync(() => {
    state.condition = "lagging"
  })
const failed = (state: ReplicaState, cause: unknown) => {
  const fault = cause instanceof Error ? cause.message : String(cause)
  const isKnown = state.condition === "failing" && state.fault === fault
  state.condition = "failing"
  state.fault = fault
  return isKnown ? Effect.void : Effect.logWarning("replica fails, the primary answers reads", fault)
}

const measurementsOf = ({ behind_bytes, condition, reads }: ReplicaState) => {
  const gauge = (name: string, description: string, value: number) =>
    ({ name, description, kind: "gauge", labels: {}, value }) as const
  return [
    gauge(
      "flightcase_replica_up",
      "1 while the replica of the database answers reads",
      Number(condition === "up_to_date")
    ),
    gauge("flightcase_replica_behind_bytes", "Bytes of log not yet replayed at the last check", behind_bytes),
    ...Object.entries(reads).map(([outcome, value]) => ({
      name: "flightcase_replica_reads_total",
      description: "Reads answered by the replica, or by the primary as the replica lagged or failed",
      kind: "counter" as const,
      labels: { replica: outcome },
      value
    }))
  ]
}

const foundOf = ({ behind_bytes, condition, fault, reads }: ReplicaState) => {
  const total = reads.up_to_date + reads.lagging + reads.failing
  const share = `answered ${reads.up_to_date} of ${total} reads since the start`
  if (condition === "up_to_date") return { check: "replica", ok: true, detail: `has what was committed; ${share}` }
  const reason = condition === "failing" ? fault : `is ${mebibytes(behind_bytes)} behind`
  return { check: "replica", ok: false, detail: `${reason}, so the primary answers; it ${share}` }
}
