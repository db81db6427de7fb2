/**
 * Durable jobs over the API. The requester of a job sees its progress; users who manage the system see all jobs, retry
 * failed ones, and drop failed or waiting ones.
 */
import { Effect, Result, Schema } from "effect"
import { command, forbidden, get, hasAbility, hasOnePermission } from "../../../core/kernel/index.ts"
import { integer, invalidField, listOf, noContent, ok, renderOne, resource, Shown } from "../../../core/kernel/index.ts"
import { Store, text, viewContext, type JsonObject, type Viewer } from "../../../core/kernel/index.ts"
import { serverPermissions } from "../../../core/people/users/permissions.ts"
import { grantToSystemRoles } from "../../../core/people/users/decide.ts"
import { type AnyJobKind, asking_abilities, serverContext, timedWork } from "../../ports/server-context.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import type { JobRow } from "./queue-table.ts"
import { dropJob, emptyEnded, job_notes, requeue, shownError, system_jobs, timed_work } from "./queue-table.ts"

const manage = "system.manage"
const all = serverPermissions.map(({ key }) => key)
const managesSystem = (viewer: Viewer): boolean => hasOnePermission(viewer, manage)

const resultText = (result: JsonObject | null, key: string): string | null => {
  const value = result?.[key]
  return typeof value === "string" ? value : null
}

/** Job kinds of this server by name, once the catalogue is complete. */
type Kinds = () => ReadonlyMap<string, AnyJobKind>
export const jobResource = (kinds: Kinds) =>
  resource({
    singular: "job",
    plural: "jobs",
    table: system_jobs,
    filters: ["kind", "status", "attempts", "owner_id", "created_at", "updated_at", "next_attempt_at"],
    sorts: ["kind", "status", "attempts", "created_at", "updated_at", "next_attempt_at"],
    order: ["-sequence"],
    entity_type: "jobs",
    shows: {
      meaning: text({ nullable: true, describe: "Purpose of this kind of job; null for unknown kinds" }),
      attempts_max: integer({ nullable: true, describe: "Number of attempts after which the job has failed" }),
      progress: Shown.number({ nullable: true, describe: "Progress from 0 to 1, if reported" }),
      download_url: text({ nullable: true, max: 2_000, describe: "URL of the job's file" })
    },
    view: (base, row) => {
      const kind = kinds().get(row.kind)
      return {
        ...base,
        meaning: kind?.meaning ?? null,
        attempts_max: kind?.attempts_max ?? null,
        error: shownError(row.error),
        progress: row.thousandths === null ? null : row.thousandths / 1_000,
        download_url: resultText(row.result, "download_url")
      }
    }
  })

const reading = "system:read"
const reads = { ability: reading, permission: null, metering_weight: 0, server_only: true } as const
const writes = { ability: "system:write", permission: manage, server_only: true } as const
const one = { id: { table: system_jobs } } as const

const refusalToRetry = ({ status }: JobRow): string | undefined =>
  status === "failed" ? undefined : `This job is ${status}; only a failed one can be tried again.`
const refused_while_running = "This job is running; it can be dropped once it has failed or waits."
const refusalToDrop = ({ status }: JobRow): string | undefined =>
  status === "running"
    ? refused_while_running
    : status === "done"
      ? "This job is done; there is nothing to drop."
      : undefined

const kept_days = 14

/** Scheduled task that removes old completed jobs. While a job exists, its id is not queued again. */
const cleanup = timedWork({
  cron: "20 3 * * *",
  kind: "jobs.cleanup",
  meaning: "removes jobs that were done over two weeks ago",
  run: () => Effect.flatMap(serverContext, ({ jobs }) => jobs.forget(kept_days))
})

type JobResource = ReturnType<typeof jobResource>

const list = (jobs: JobResource) =>
  get("/api/v1/system/jobs", {
    answer: Shown.page(() => jobs),
    name: "jobs.list",
    summary: "List your jobs, or everyone's if you manage the system",
    ...reads,
    run: (input) =>
      listOf(jobs, input, { ...(managesSystem(input.viewer) ? {} : { where: { owner_id: input.viewer.user_id } }) })
  })

/**
 * Whether a token may follow jobs of this kind: having its ability suffices, so limited tokens can follow jobs they
 * queued.
 */
const mayFollow = (viewer: Viewer, kind: AnyJobKind | undefined): boolean =>
  [reading, kind?.asked_with].some((ability) => ability !== undefined && hasAbility(viewer, ability))

const show = (jobs: JobResource, kinds: Kinds) =>
  get("/api/v1/system/jobs/{id}", {
    answer: { job: Shown.row(() => jobs) },
    name: "jobs.show",
    summary: "Show a job's progress and result",
    ...reads,
    ability: [reading, ...asking_abilities],
    params: one,
    authorize: ({ rows, viewer }) =>
      !mayFollow(viewer, kinds().get(rows.id.kind))
        ? Effect.fail(forbidden(`The token lacks the ability ${reading}.`))
        : rows.id.owner_id === viewer.user_id || managesSystem(viewer)
          ? Effect.void
          : Effect.fail(forbidden(`A job of somebody else needs the permission ${manage}.`)),
    run: (input) => Effect.map(renderOne(jobs, input.rows.id, input.query, viewContext(input)), ok)
  })

/** Jobs are not in the journal: these commands record no events. */
const unlessRefused = (id: string, refusal: string | undefined) =>
  refusal === undefined ? Result.succeed({ events: [], result: { id } }) : Result.fail(invalidField("status", refusal))
const jobId = Schema.Struct({ id: Schema.String })

const retry = (jobs: JobResource) =>
  command("POST", "/api/v1/system/jobs/{id}/retry", {
    answer: { job: Shown.row(() => jobs) },
    name: "jobs.retry",
    summary: "Retry a failed job, with its full number of attempts",
    ...writes,
    params: one,
    result: jobId,
    facts: () => Effect.void,
    decide: (_facts, { rows: { id: job } }) => unlessRefused(job.id, refusalToRetry(job)),
    respond: Effect.fnUntraced(function* ({ id }, input) {
      const store = yield* Store
      yield* requeue(store, id)
      const job = (yield* store.get(system_jobs, id)) ?? input.rows.id
      return ok(yield* renderOne(jobs, job, [], viewContext(input)))
    })
  })

const drop = command("DELETE", "/api/v1/system/jobs/{id}", {
  name: "jobs.drop",
  summary: "Delete a waiting or failed job; it is not attempted again",
  ...writes,
  params: one,
  result: jobId,
  facts: () => Effect.void,
  decide: (_facts, { rows: { id: job } }) => unlessRefused(job.id, refusalToDrop(job)),
  respond: Effect.fnUntraced(function* ({ id }) {
    // A worker may have taken it meanwhile.
    if (!(yield* dropJob(yield* Store, id))) return yield* invalidField("status", refused_while_running)
    return noContent
  })
})

/** `kinds`: all kinds of the server, once the catalogue is complete. */
export const jobsSlice = (kinds: () => ReadonlyMap<string, AnyJobKind>): ServerSlice => {
  const jobs = jobResource(kinds)
  return {
    name: "jobs",
    server_tables: [job_notes, timed_work],
    resources: [jobs],
    timed: [cleanup],
    concerns: "erasures",
    recorded: Effect.fnUntraced(function* () {
      const about_people = [...kinds().values()].filter(({ names_people }) => names_people === true)
      yield* emptyEnded(
        yield* Store,
        about_people.map(({ kind }) => kind)
      )
    }),
    later_seeds: [grantToSystemRoles({ "Admin": all, "Operations Manager": all })],
    endpoints: [list(jobs), show(jobs, kinds), retry(jobs), drop]
  }
}

// The answer of calls that only queue work: 202 with the job's id, whose progress can be requested.

export const accepted_shown = {
  message: text(),
  job_id: text({ describe: "Id of the job for GET /api/v1/system/jobs/{id}" })
}
/**
 * The answer of endpoints with `answer: { ...accepted_shown, … }, success_status: 202`. `more`: additional keys.
 */
export const accepted = <More extends object = {}>(job_id: string, message: string, more?: More) => ({
  status: 202,
  body: { message, job_id, ...more } as { readonly message: string; readonly job_id: string } & More
})
