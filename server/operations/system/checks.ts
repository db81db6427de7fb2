/** Checks of a running server, each with its finding and whether it passed. */
import { statfs } from "node:fs/promises"
import { Cause, Clock, Effect, Option } from "effect"
import { CommandRuntime, Store } from "../../../core/kernel/index.ts"
import { mailServer, MailTransport } from "../../delivery/mail/transport.ts"
import { makeGuard } from "../../delivery/webhooks/guard.ts"
import { serverContext } from "../../ports/server-context.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import { least_room_bytes, mebibytes } from "../../ports/storage-fault.ts"
import { shownError } from "../../delivery/jobs/queue-table.ts"
import { backupsOf } from "../backups/schedule.ts"
import { namesText } from "../../../core/values/text.ts"

interface Found {
  readonly ok: boolean
  readonly detail: string
}

const hour_millis = 3_600_000
const day_millis = 24 * hour_millis
const skew_seconds_max = 5
const oldest_backup_millis = 26 * hour_millis
const certificate_days_min = 14
const named_max = 3
const targets_at_a_time = 8

const well = (detail: string): Found => ({ ok: true, detail })
const bad = (detail: string): Found => ({ ok: false, detail })

const databaseSize = Effect.gen(function* () {
  const store = yield* Store
  const [row] = yield* store.run<{ readonly version: string; readonly bytes: number }>(
    store.dialect === "pg"
      ? "select current_setting('server_version') as version, pg_database_size(current_database()) as bytes"
      : "select sqlite_version() as version, page_count * page_size as bytes from pragma_page_count, pragma_page_size"
  )
  return { version: row?.version ?? "", bytes: Number(row?.bytes) }
})
const database = Effect.gen(function* () {
  const { dialect } = yield* Store
  const condition = yield* (yield* serverContext).health
  if (condition.status === "unavailable") return bad("does not answer")
  if (condition.status === "degraded") return bad(`takes no changes: ${condition.reason}`)
  const { bytes, version } = yield* databaseSize
  const events = condition.journal_position.toLocaleString("en")
  return well(`${dialect === "pg" ? "Postgres" : "SQLite"} ${version}, ${mebibytes(bytes)}, ${events} events`)
})

const clock = Effect.gen(function* () {
  const store = yield* Store
  const now = yield* Clock.currentTimeMillis
  if (store.dialect !== "pg") return well(new Date(now).toISOString())
  const [row] = yield* store.run<{ readonly millis: number }>(
    "select extract(epoch from clock_timestamp()) * 1000 as millis"
  )
  const seconds = Math.round((Number(row?.millis) - now) / 1_000)
  return Math.abs(seconds) > skew_seconds_max
    ? bad(`the database's clock is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} this server's`)
    : well(`${new Date(now).toISOString()}, as the database's`)
})

/** Room for another copy of an SQLite database, which a migration or a backup needs. */
const disk = Effect.gen(function* () {
  const { data_folder } = yield* serverContext
  if (data_folder === undefined) return well("no data folder")
  const { bavail, bsize } = yield* Effect.promise(() => statfs(data_folder))
  const free_bytes = bavail * bsize
  const { bytes } = (yield* Store).dialect === "pg" ? { bytes: 0 } : yield* databaseSize
  const wanted_bytes = Math.max(least_room_bytes, bytes)
  const text = `${mebibytes(free_bytes)} free`
  return free_bytes < wanted_bytes ? bad(`${text}; ${mebibytes(wanted_bytes)} or more are needed`) : well(text)
})

const mail = Effect.gen(function* () {
  const configured = yield* mailServer
  if (configured.mode === "outbox") return well("no mail server is set: messages are written to outbox/")
  if ("fault" in configured) return bad(configured.fault)
  const transport = Option.getOrThrow(yield* Effect.serviceOption(MailTransport))
  const fault = yield* transport.check(configured.server)
  const { host, port } = configured.server
  return fault === undefined ? well(`${host} port ${port} takes messages`) : bad(fault)
})

const jobs = Effect.gen(function* () {
  const store = yield* Store
  const late = new Date((yield* Clock.currentTimeMillis) - hour_millis).toISOString()
  const rows = yield* store.sql<{ readonly id: string; readonly status: string }>`
    select id, status from system_jobs
    where status = 'failed' or (status = 'queued' and next_attempt_at < ${late}) order by id limit 1000`
  const of = (status: string): ReadonlyArray<string> => rows.filter((row) => row.status === status).map(({ id }) => id)
  const parts = [
    { ids: of("failed"), text: "failed" },
    { ids: of("queued"), text: "should have begun an hour ago or more" }
  ].filter(({ ids }) => ids.length > 0)
  return parts.length === 0
    ? well("none has failed")
    : bad(parts.map(({ ids, text }) => `${ids.length} ${text}: ${namesText(ids, named_max)}`).join("; "))
})

/** The webhooks that are turned off, and certificates of the others' targets. */
const targets = Effect.gen(function* () {
  const { outside } = yield* serverContext
  const { sql } = yield* Store
  const rows = yield* sql<{
    readonly url: string
    readonly is_active: boolean | number
    readonly disabled_at: unknown
  }>`
    select url, is_active, disabled_at from webhooks order by id`
  const active = rows.filter(({ is_active }) => Boolean(is_active)).map(({ url }) => url)
  const off = rows.filter(({ disabled_at, url }) => disabled_at !== null && !active.includes(url)).map(({ url }) => url)
  const origins = new Set(active.map((url) => new URL(url).origin))
  const secure = [...origins].filter((origin) => origin.startsWith("https:"))
  const guard = makeGuard({ allows_private: outside.webhooks_private })
  const now = yield* Clock.currentTimeMillis
  const faults = yield* Effect.forEach(
    secure,
    (origin) =>
      Effect.promise(() =>
        guard.certificateEnd(origin).then(
          (end) => {
            const days = Math.floor((end - now) / day_millis)
            return days < certificate_days_min ? [`the certificate of ${origin} ends in ${days} days`] : []
          },
          (cause: Error) => [`${origin}: ${cause.message}`]
        )
      ),
    { concurrency: targets_at_a_time }
  )
  const found = [...off.map((url) => `${url} is turned off after failures`), ...faults.flat()]
  return found.length > 0
    ? bad(namesText(found, named_max))
    : well(`${rows.length} ${rows.length === 1 ? "webhook" : "webhooks"}, ${secure.length} certificates checked`)
})
const backups = Effect.gen(function* () {
  const { aws, backups: given_folder } = (yield* serverContext).outside
  const { folder, is_scheduled, last, server } = yield* backupsOf(given_folder)
  if (is_scheduled && last !== undefined) {
    if (last.error !== null) return bad(`the scheduled one failed: ${shownError(last.error)}`)
    const prune_error = last.result?.["prune_error"]
    if (typeof prune_error === "string") return bad(`old ones cannot be deleted: ${shownError(prune_error)}`)
  }
  if (folder === undefined) return well("unknown: neither backups.folder nor FLIGHTCASE_BACKUPS names a folder")
  const now = yield* Clock.currentTimeMillis
  const newest = yield* Effect.tryPromise({
    try: async () => (await import("../backups/backup.ts")).newestBackup(folder, { now: new Date(now), server, aws }),
    catch: (cause) => cause
  })
  if (newest === undefined) return bad(`there is none in ${folder}`)
  const age_millis = now - newest
  if (age_millis < 0) return bad("the only ones are dated after this server's clock")
  const text = `the newest is ${Math.floor(age_millis / hour_millis)} hours old`
  return age_millis > oldest_backup_millis ? bad(text) : well(text)
})

/** A check that cannot be made is a fault. */
const checked = <R>(check: string, look: Effect.Effect<Found, unknown, R>) =>
  look.pipe(
    Effect.catchCause((cause) => Effect.succeed(bad(String(Cause.squash(cause))))),
    Effect.map(({ detail, ok }) => ({ check, ok, detail }))
  )
export const systemChecks = Effect.gen(function* () {
  const slices: ReadonlyArray<ServerSlice> = (yield* CommandRuntime).catalogue.slices
  const own = yield* Effect.all(
    [
      checked("database", database),
      checked("clock", clock),
      checked("disk", disk),
      checked("mail", mail),
      checked("jobs", jobs),
      checked("webhooks", targets),
      checked("backups", backups)
    ],
    { concurrency: 3 }
  )
  return [...own, ...(yield* Effect.forEach(slices, ({ checks }) => checks ?? Effect.succeed([]))).flat()]
})
