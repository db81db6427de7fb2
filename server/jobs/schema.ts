/**
 * What is kept of jobs beside the queue's own table `effect_queue`, on the server alone, and the one view that shows
 * both.
 */
import { choice, integer, json, longText, text, timestamp } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Dialect } from "../../core/kernel/store/dialect.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

/** Written only where there is something to say: most jobs have no row here. */
export const job_notes = plainTable(
  "job_notes",
  "job_id",
  {
    job_id: text({ max: 255 }),
    /** The user who may ask for the job. */
    owner_id: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    /** Thousandths done. */
    progress: integer({ nullable: true }),
    result: json<JsonObject>({ nullable: true }),
    /** Attempts that failed, of kinds that do not count those their server's end broke off. */
    failures: integer({ nullable: true })
  },
  { entity: "job_note", indexes: [["owner_id"]] }
)

/** The last due time of each timed work that was queued. */
export const timed_work = plainTable(
  "timed_work",
  "kind",
  { kind: text({ max: 100 }), due_at: text({ max: 24 }) },
  { entity: "timed_work", on_conflict_ignore: true }
)

export const job_statuses = { queued: "Queued", running: "Running", done: "Done", failed: "Failed" } as const
export type JobStatus = keyof typeof job_statuses

/** The view's columns, as lists and filters take them. */
export const system_jobs = plainTable(
  "system_jobs",
  "id",
  {
    id: text({ max: 255, search: true }),
    kind: text({ max: 100, search: true, describe: "What it does, as the server's programs name it: mail.send" }),
    status: choice(job_statuses),
    attempts: integer({ describe: "How often it was begun" }),
    error: longText({ nullable: true, describe: "Why the last attempt failed, in one line" }),
    owner_id: integer({
      nullable: true,
      max: Number.MAX_SAFE_INTEGER,
      describe: "The user who asked for it, and may ask how it goes"
    }),
    result: json<JsonObject>({ nullable: true, describe: "What it came to" }),
    created_at: timestamp(),
    updated_at: timestamp(),
    next_attempt_at: timestamp({ nullable: true, describe: "When it is begun next; null unless it is queued" }),
    thousandths: integer({ nullable: true, hidden: true }),
    sequence: integer({ hidden: true, max: Number.MAX_SAFE_INTEGER })
  },
  { entity: "job" }
)
export type JobRow = RowOf<typeof system_jobs>

/** How long a job stays with the server process that took it and no longer says so. */
export const lock_seconds = 60
/** The state of the rows that are no jobs: one for each kind, see `queue-table.ts`. */
export const bell_state = "bell"

/** Whether a row's lock holds. */
export const isHeld = (dialect: Dialect): string =>
  dialect === "pg"
    ? `q.acquired_at >= now() - interval '${lock_seconds} seconds'`
    : `q.acquired_at >= datetime('now', '-${lock_seconds} seconds')`

/** The status of a row of the queue's table, which says it in other words. */
export const statusSql = (dialect: Dialect): string =>
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
