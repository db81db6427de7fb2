/** The daily backup that the settings ask for: a job of the server, once on all servers, pruned after. */
import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import { CommandRuntime, settings_table, Store, type Catalogue } from "../../../core/kernel/index.ts"
import { zoneOf } from "../../../core/values/time.ts"
import { system_jobs } from "../../delivery/jobs/queue-table.ts"
import { server_permission } from "../../delivery/notifications/causes/happening.ts"
import { writeDown } from "../../delivery/notifications/write.ts"
import { GivenUp, serverContext, timedWork } from "../../ports/server-context.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import type { BackedUpDatabase } from "./database.ts"

const kind = "backups.daily"
const failed = "backup.failed"

const texts = Effect.fnUntraced(function* (...keys: ReadonlyArray<string>) {
  const rows = new Map((yield* Store.getMany(settings_table, keys)).map(({ key, value }) => [key, value]))
  return keys.map((key) => {
    const value = rows.get(key)
    return typeof value === "string" && value !== "" ? value : undefined
  })
})
const schedule = Effect.gen(function* () {
  const [at, zone] = yield* texts("backups.daily_at", "company.timezone")
  const [hour, minute] = at?.split(":").map(Number) ?? []
  return at === undefined ? undefined : { cron: `${minute} ${hour} * * *`, zone: zoneOf(zone) }
})

/**
 * Place and recipient of the backups, if set, whether they are scheduled, the latest job for one, and the server's id
 * in their names: it comes from the mark of its file store, which a restored database keeps.
 */
export const backupsOf = Effect.fnUntraced(function* (given_folder: string | undefined) {
  const [folder, at, recipient] = yield* texts("backups.folder", "backups.daily_at", "backups.recipient")
  const last = yield* Store.first(system_jobs, { kind }, { order: ["-sequence"] })
  const [store] = yield* Store.run<{ readonly mark: string }>("select mark from file_stores where id = 1")
  const server = store === undefined ? undefined : createHash("sha256").update(store.mark).digest("hex").slice(0, 8)
  return { folder: given_folder ?? folder, recipient, is_scheduled: at !== undefined, last, server }
})

/** The slice. `whole`: returns the complete catalogue. */
export const backupsSlice = (whole: () => Catalogue, database: BackedUpDatabase | undefined): ServerSlice => ({
  name: "backups",
  timed: [
    timedWork({
      cron: schedule,
      kind,
      meaning: "backs up the database and its files as the settings say, and prunes old backups",
      attempts_max: 3,
      waits_seconds: [60, 600],
      limit_seconds: 6 * 3_600,
      run: Effect.fnUntraced(function* () {
        const { data_folder, outside } = yield* serverContext
        const settings = (yield* (yield* CommandRuntime).settings)["backups"] ?? {}
        const { folder, recipient, server } = yield* backupsOf(outside.backups)
        if (folder === undefined || data_folder === undefined || database === undefined)
          return yield* new GivenUp({
            message: "There is no place for backups: set backups.folder, or FLIGHTCASE_BACKUPS."
          })
        const { createBackup, pruneBackups } = yield* Effect.promise(() => import("./backup.ts"))
        const now = new Date(yield* Clock.currentTimeMillis)
        const place = { database, data_folder, outside, catalogue: async () => whole() }
        const keys = { recipient, passphrase: outside.backup_passphrase }
        const tried = <A>(work: (signal: AbortSignal) => Promise<A>) =>
          Effect.tryPromise({ try: work, catch: (cause) => cause })
        const made = yield* tried((signal) => createBackup(place, folder, { now, server, keys, signal }))
        // Another attempt would make another backup.
        const pruned = yield* tried(() =>
          pruneBackups(folder, Number(settings["keep"]), { now, server, aws: outside.aws })
        ).pipe(
          Effect.map((old) => ({ pruned: old.length })),
          Effect.catch((cause) => Effect.succeed({ prune_error: String(cause) }))
        )
        return { file: made.file, size_bytes: made.size_bytes, position: made.position, ...pruned }
      }),
      ended: ({ due_at }, error) =>
        writeDown(
          [
            {
              notification_type: failed,
              key: due_at,
              subject: null,
              details: { error },
              seen_with: server_permission,
              to: null,
              actor_id: null,
              command_id: `${kind}:${due_at}`
            }
          ],
          () => {}
        )
    })
  ]
})
