/** What was sent, and how it went, is kept for as long as the settings say. */
import { Clock, Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { settingNumber } from "../../core/kernel/settings.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { dailyRetention } from "../jobs/retention.ts"

const day_millis = 86_400_000

/** Removes what is older; what still waits for an attempt stays. */
export const dropOld = Effect.gen(function* () {
  const store = yield* Store
  const { settings } = yield* CommandRuntime
  const days = settingNumber(yield* settings, "webhooks", "retention_days")
  const cutoff = instantOf((yield* Clock.currentTimeMillis) - days * day_millis)
  const logs = bindings(store.dialect)
  yield* store.run(`delete from webhook_logs where created_at < ${logs.bind(cutoff)}`, logs.values)
  const { bind, values } = bindings(store.dialect)
  yield* store.run(
    `delete from webhook_deliveries where created_at < ${bind(cutoff)} ` +
      `and (state <> 'waiting' or webhook_id not in (select id from webhooks))`,
    values
  )
})

export const dropOldDaily = dailyRetention(
  "webhooks.retention",
  "17 3 * * *",
  "removes deliveries and log entries of webhooks that are older than the settings keep them",
  dropOld
)
