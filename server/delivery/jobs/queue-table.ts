/**
 * The table of Effect's PersistedQueue, `effect_queue`: statements its API lacks. Times are the database's: UTC, as
 * every session sets.
 */
import { choice, integer, json, longText, plainTable, text, timestamp } from "../../../core/kernel/index.ts"
import type { Dialect, JsonObject, RowOf, StoreShape } from "../../../core/kernel/index.ts"
import { Cause, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { printableLine } from "../../../core/values/text.ts"
import { type AnyJobKind, GivenUp, type JobCount } from "../../ports/server-context.ts"

// Data about jobs beside the queue's table `effect_queue`, on the server only, and the view that joins both.

/** Additional data of a job. Written only if needed: most jobs have no row here. */
export const job_notes = plainTable(
  "job_notes",
  "job_id",
  {
    job_id: text({ max: 255 }),
    /** The user who may read the job. */
    owner_id: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    /** Progress in thousandths. */
    progress: integer({ nullable: true }),
    result: json<JsonObject>({ nullable: true }),
    /** Failed attempts, for kinds that do not count attempts interrupted by a shutdown. */
    failures: integer({ nullable: true })
  },
  { entity: "job_note", indexes: [["owner_id"]] }
)

/** Last queued due time of each scheduled task. */
export const timed_work = plainTable(
  "timed_work",
  "kind",
  { kind: text({ max: 100 }), due_at: text({ max: 24 }) },
  { entity: "timed_work", on_conflict_ignore: true }
)

const job_statuses = { queued: "Queued", running: "Running", done: "Done", failed: "Failed" } as const

/** The view of jobs, with its columns for lists and filters. */
export const system_jobs = plainTable(
  "system_jobs",
  "id",
  {
    id: text({ max: 255, search: true }),
    kind: text({ max: 100, search: true, describe: "Kind of job, such as mail.send" }),
    status: choice(job_statuses),
    attempts: integer({ describe: "Number of attempts so far" }),
    error: longText({ nullable: true, describe: "Reason the last attempt failed, in one line" }),
    owner_id: integer({
      nullable: true,
      max: Number.MAX_SAFE_INTEGER,
      describe: "User who requested it and may read its status"
    }),
    result: json<JsonObject>({ nullable: true, describe: "Result of the finished job; its keys depend on the kind" }),
    created_at: timestamp(),
    updated_at: timestamp(),
    next_attempt_at: timestamp({ nullable: true, describe: "Time of the next attempt; null unless queued" }),
    thousandths: integer({ nullable: true, hidden: true }),
    sequence: integer({ hidden: true, max: Number.MAX_SAFE_INTEGER })
  },
  { entity: "job" }
)
export type JobRow = RowOf<typeof system_jobs>

/** Seconds after which a job is released if its server process stopped renewing the lock. */
export const lock_seconds = 60
/** State of the bell rows, one per kind, which are no jobs. */
const bell_state = "bell"

/** SQL condition: whether a row's lock is valid. */
const isHeld = (dialect: Dialect): string =>
  dialect === "pg"
    ? `q.acquired_at >= now() - interval '${lock_seconds} seconds'`
    : `q.acquired_at >= datetime('now', '-${lock_seconds} seconds')`

/** SQL expression for the job status of a row of the queue's table. */
const statusSql = (dialect: Dialect): string =>
  `case when q.state = 'completed' then 'done' when q.state = 'failed' then 'failed' ` +
  `when ${isHeld(dialect)} then 'running' else 'queued' end`

export const jobsViewSql = (dialect: Dialect): string => {
  const instant = (column: string): string =>
    dialect === "pg" ? `(${column} at time zone 'UTC')` : `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})`
  const as_text = dialect === "pg" ? `::text collate "C"` : ""
  const status = statusSql(dialect)
  return (
    `create view system_jobs as select q.id${as_text} as id, lower(q.id)${as_text} as id_folded, ` +
    `q.queue_name${as_text} as kind, lower(q.queue_name)${as_text} as kind_folded, (${status})${as_text} as status, ` +
    `q.attempts as attempts, case when q.state = 'completed' then null else q.last_failure end as error, ` +
    `n.owner_id as owner_id, n.result as result, ` +
    `${instant("q.created_at")} as created_at, ${instant("q.updated_at")} as updated_at, ` +
    `case when (${status}) = 'queued' then ${instant("q.visible_at")} end as next_attempt_at, ` +
    `n.progress as thousandths, q.sequence as sequence ` +
    `from effect_queue q left join job_notes n on n.job_id = q.id where q.state <> '${bell_state}'`
  )
}

const now = ({ dialect, sql }: StoreShape) => sql.literal(dialect === "pg" ? "now()" : "current_timestamp")
const held = ({ dialect, sql }: StoreShape) => sql.literal(isHeld(dialect))
type Done = Effect.Effect<void, SqlError.SqlError>

/**
 * Creates a kind's bell row. Queues are woken by offers only: offering the row's id again (`ringBell`) wakes one and
 * writes nothing.
 */
export const makeBell = (store: StoreShape, kind: string): Done =>
  Effect.asVoid(store.sql`
    insert into effect_queue (id, queue_name, element, state, attempts, visible_at, created_at, updated_at)
    values (${`bell:${kind}`}, ${kind}, 'null', ${bell_state}, 0, ${now(store)}, ${now(store)}, ${now(store)}) on
    conflict (id, queue_name) do nothing`)

/** Kinds among these with unclaimed due jobs. One index probe each. */
export const dueKinds = (
  store: StoreShape,
  kinds: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError> => {
  if (kinds.length === 0) return Effect.succeed([])
  const { sql } = store
  const asked = sql.csv(kinds.map((kind) => sql`(${kind})`))
  const text = sql.literal(store.dialect === "pg" ? "::text" : "")
  return Effect.map(
    sql<{ kind: string }>`
      with asked (kind) as (values ${asked}) select kind from asked where exists (select 1 from effect_queue q
      where q.queue_name = asked.kind${text} and q.state = 'pending' and q.visible_at <= ${now(store)}
      and (q.acquired_at is null or not ${held(store)}))`,
    (rows) => rows.map(({ kind }) => kind)
  )
}

/** One attempt: a job taken by this process. */
export interface Taken {
  readonly kind: string
  readonly job_id: string
  readonly attempt: number
}
const ofAttempt = ({ sql }: StoreShape, { kind, job_id, attempt }: Taken) => sql`
  where id = ${job_id} and queue_name = ${kind} and attempts = ${attempt} and state = 'pending'
  and acquired_by is not null`

/** Ends the attempt as finally failed. The queue's own settling then finds no attempt to settle. */
export const setFailed = (store: StoreShape, taken: Taken, error: string, attempts = taken.attempt): Done =>
  Effect.asVoid(store.sql`
    update effect_queue set state = 'failed', last_failure = ${error}, acquired_at = null, attempts = ${attempts},
    acquired_by = null, updated_at = ${now(store)} ${ofAttempt(store, taken)}`)
/** Ends the attempt as failed; the next one starts after the delay. */
export const setWaiting = (store: StoreShape, taken: Taken, error: string, wait_seconds: number): Done => {
  const seconds = Math.max(0, Math.ceil(wait_seconds))
  const due =
    store.dialect === "pg" ? `now() + interval '${seconds} seconds'` : `datetime('now', '+${seconds} seconds')`
  return Effect.asVoid(store.sql`
    update effect_queue set visible_at = ${store.sql.literal(due)}, last_failure = ${error}, acquired_at = null,
    acquired_by = null, updated_at = ${now(store)} ${ofAttempt(store, taken)}`)
}

export const noteFailures = ({ sql }: StoreShape, job_id: string, failures: number): Done =>
  Effect.asVoid(sql`
    insert into job_notes (job_id, failures) values (${job_id}, ${failures}) on conflict (job_id) do update
    set failures = excluded.failures`)
/** Queues a failed job again; a job whose data was erased stays failed. */
export const requeue = Effect.fnUntraced(function* (store: StoreShape, id: string) {
  yield* store.sql`
    update job_notes set failures = null where failures is not null and job_id = ${id} and exists (select 1
    from effect_queue q where q.id = job_notes.job_id and q.state = 'failed')`
  yield* store.sql`
    update effect_queue set state = 'pending', attempts = 0, last_failure = null, visible_at = ${now(store)},
    updated_at = ${now(store)} where id = ${id} and state = 'failed' and element <> ${emptied}`
})
/** Data of a job whose data was erased. */
const emptied = "{}"
/** Erases the data of ended jobs of these kinds; they remain listed as done or failed. */
export const emptyEnded = Effect.fnUntraced(function* ({ sql }: StoreShape, kinds: ReadonlyArray<string>) {
  if (kinds.length === 0) return
  const ended = sql`q.queue_name in ${sql.in(kinds)} and q.state in ('completed', 'failed')`
  yield* sql`update job_notes set result = null where job_id in (select q.id from effect_queue q where ${ended})`
  yield* sql`
    update effect_queue as q set element = ${emptied}, last_failure = case when q.state = 'failed'
    then 'What it was about was erased with a person''s data; it cannot be tried again.' end where ${ended}`
})
/** Removes a job that is not running. Returns whether it did. */
export const dropJob = Effect.fnUntraced(function* (store: StoreShape, id: string) {
  const dropped = yield* store.sql`
    delete from effect_queue as q where q.id = ${id} and (q.state = 'failed' or (q.state = 'pending'
    and (q.acquired_at is null or not ${held(store)}))) returning id`
  if (dropped.length > 0) yield* store.sql`delete from job_notes where job_id = ${id}`
  return dropped.length > 0
})

export const noteOwner = ({ sql }: StoreShape, job_id: string, owner_id: number): Done =>
  Effect.asVoid(sql`
    insert into job_notes (job_id, owner_id) values (${job_id}, ${owner_id}) on conflict (job_id) do nothing`)
export const noteProgress = ({ sql }: StoreShape, job_id: string, thousandths: number): Done =>
  Effect.asVoid(sql`
    insert into job_notes (job_id, progress) values (${job_id}, ${thousandths}) on conflict (job_id) do update
    set progress = excluded.progress`)
export const noteResult = ({ dialect, sql }: StoreShape, job_id: string, result: JsonObject): Done =>
  Effect.asVoid(sql`
    insert into job_notes (job_id, result)
    values (${job_id}, ${JSON.stringify(result)}${sql.literal(dialect === "pg" ? "::jsonb" : "")})
    on conflict (job_id) do update set result = excluded.result`)
export const dropLooseNotes = (store: StoreShape): Done =>
  Effect.asVoid(
    store.run("delete from job_notes where not exists (select 1 from effect_queue q where q.id = job_notes.job_id)")
  )

/** Numbers of queued, running and failed jobs, by kind and status. */
export const countUnfinished = (store: StoreShape): Effect.Effect<ReadonlyArray<JobCount>, SqlError.SqlError> =>
  Effect.map(
    store.run<{ kind: string; status: string; jobs: number }>(
      `select q.queue_name as kind, ${statusSql(store.dialect)} as status, count(*) as jobs from effect_queue q ` +
        `where q.state <> 'completed' and q.state <> '${bell_state}' group by 1, 2 order by 1, 2`
    ),
    (rows) => rows.map(({ kind, status, jobs }) => ({ kind, status, jobs: Number(jobs) }))
  )

// Outcome of a failed attempt. Pure.

interface FailedAttempt {
  /** One-line reason of the failure. */
  readonly error: string
  /** Whether it is a defect of the server rather than an expected failure. */
  readonly is_defect: boolean
  /** Seconds until the next attempt; undefined if none follows. */
  readonly wait_seconds: number | undefined
}

export const failedAttempt = (
  kind: Pick<AnyJobKind, "attempts_max" | "waits_seconds">,
  job_id: string,
  attempt: number,
  cause: Cause.Cause<unknown>
): FailedAttempt => {
  const failure = Cause.squash(cause)
  const is_over = failure instanceof GivenUp || attempt >= kind.attempts_max
  return {
    error: lineOf(failure),
    is_defect: cause.reasons.some((reason) => reason._tag === "Die"),
    wait_seconds: is_over ? undefined : waitSeconds(kind.waits_seconds, job_id, attempt)
  }
}

const default_wait_seconds = 60
/** Delay after an attempt, plus 0 to 10 % depending only on job and attempt. */
export const waitSeconds = (waits_seconds: ReadonlyArray<number>, job_id: string, attempt: number): number => {
  const wait = waits_seconds[attempt - 1] ?? waits_seconds.at(-1) ?? default_wait_seconds
  return wait * (1 + spread(`${job_id} ${attempt}`) / 10)
}
/** A number from 0 to below 1, evenly distributed over texts (FNV-1a). */
const spread = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0
  // Mixing, as texts that differ at their end differ only in the low bits.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 0
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}

const line_characters_max = 500
/** A failure in one line: its message without a stack. */
export const lineOf = (failure: unknown): string => {
  const message =
    typeof failure === "string"
      ? failure
      : typeof failure === "object" && failure !== null && "message" in failure
        ? String(failure.message)
        : ""
  return clean(message) || "It failed without saying why."
}
const clean = (text: string): string => {
  const line = printableLine(text.replace(/\s+/g, " ").trim())
  return line.length > line_characters_max ? `${line.slice(0, line_characters_max - 1)}…` : line
}

export const ended_with_server = "The server ended during the last attempt."

/** The stored error of a job for display; the queue stores whole stacks. */
export const shownError = (stored: string | null): string | null => {
  if (stored === null) return null
  if (stored.startsWith("Lock expired after final attempt")) return ended_with_server
  // A Schema error ends in `at ["word"]`, which belongs to the message.
  const [first = ""] = stored.split(/\n\s*at (?!\[)/)
  return clean(first.replace(/^(?:\w*Error|Error): /, "")) || "It failed without saying why."
}
