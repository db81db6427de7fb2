/** Logs and sums are kept for as long as the settings say, and deleted a few at a time: nobody waits long for them. */
import { Clock, Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { settingNumber } from "../../core/kernel/settings.ts"
import { instantOf } from "../../core/values/time.ts"
import { dropMonthsBefore, monthOf } from "../limits/month.ts"
import { dailyRetention, deleteInParts } from "../jobs/retention.ts"
import { hour_millis } from "./metered.ts"

/** What is older than the settings keep. Whole hours of logs go, so that no hour is told in part. */
export const dropOld = Effect.gen(function* () {
  const settings = yield* (yield* CommandRuntime).settings
  const now = yield* Clock.currentTimeMillis
  const logs = now - settingNumber(settings, "metering", "log_retention_days") * 24 * hour_millis
  const whole_hour = instantOf(Math.floor(logs / hour_millis) * hour_millis)
  yield* deleteInParts("request_logs", "created_at, id", (bind) => `created_at < ${bind(whole_hour)}`)
  const sums = new Date(now)
  sums.setUTCMonth(sums.getUTCMonth() - settingNumber(settings, "metering", "usage_retention_months"))
  const first_hour = Math.floor(sums.getTime() / hour_millis)
  yield* deleteInParts("usage_hours", "hour", (bind) => `hour < ${bind(first_hour)}`)
  yield* dropMonthsBefore(monthOf(sums.getTime()))
})

export const dropOldDaily = dailyRetention(
  "metering.retention",
  "37 3 * * *",
  "removes calls and sums of calls that are older than the settings keep them",
  dropOld
)
