/** What people were told is kept for as long as the settings say. */
import { Clock, Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { settingNumber } from "../../core/kernel/settings.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { dailyRetention, deleteInParts } from "../jobs/retention.ts"

const day_millis = 86_400_000

/** Removes what is older, read or not. */
export const dropOld = Effect.gen(function* () {
  const store = yield* Store
  const { settings } = yield* CommandRuntime
  const days = settingNumber(yield* settings, "notifications", "retention_days")
  const cutoff_at = instantOf((yield* Clock.currentTimeMillis) - days * day_millis)
  const { bind, values } = bindings(store.dialect)
  const cutoff = bind(cutoff_at)
  yield* deleteInParts("notifications", "created_at, id", (bind) => `created_at < ${bind(cutoff_at)}`)
  yield* store.run(`delete from notification_burst_commands where created_at < ${cutoff}`, values)
  yield* store.run(`delete from notification_bursts where paced_until < ${cutoff}`, values)
})

export const dropOldDaily = dailyRetention(
  "notifications.retention",
  "27 3 * * *",
  "removes notifications that are older than the settings keep them",
  dropOld
)
