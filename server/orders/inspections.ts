/** Reminders of inspections that are due soon (rules/inspections 6). */
import { Clock, Effect } from "effect"
import { CommandRuntime, recordEvents } from "../../core/kernel/endpoints/endpoint.ts"
import { settingNumber } from "../../core/kernel/events/settings.ts"
import { chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { inspectionDue } from "../../core/warehouse/inspections/schema.ts"
import { timedWork } from "../ports/server-context.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

const at_once = 100
const day = 86_400_000

/** Ids of passed inspections that are due within the reminder's days, of units still in stock, and not reminded of. */
const dueSoon = Effect.fnUntraced(function* (now: number) {
  const settings = yield* (yield* CommandRuntime).settings
  const until = instantOf(now + settingNumber(settings, "inspections", "remind_days") * day)
  const { sql } = yield* Store
  const rows = yield* sql<{ id: number | string }>`
    select i.id from inspections i join stock_levels l on l.id = i.stock_level_id
    where i.is_latest and i.result = 'pass' and i.reminded_at is null and i.due_at <= ${until} and not l.is_gone
    and exists (select 1 from inspection_intervals v where v.product_id = l.product_id
      and v.inspection_kind_id = i.inspection_kind_id) order by i.id`
  return rows.map(({ id }) => Number(id))
})

const remind = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now: number) {
  const runtime = yield* CommandRuntime
  const reminded_at = instantOf(now)
  yield* recordEvents(
    ids.map((id) => inspectionDue.make({ id, reminded_at })),
    { command_id: yield* runtime.commandId, actor_id: null, replica_id: null, recorded_at: reminded_at }
  )
})

export const inspectionSweep = timedWork({
  cron: "37 * * * *",
  kind: "inspections.due",
  meaning: "sends reminders of inspections that are due soon",
  waits_seconds: [10, 60, 600],
  run: () =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const ids = yield* dueSoon(now)
      for (const some of chunked(ids, at_once)) yield* Store.transaction(remind(some, now))
      return { reminded: ids.length }
    })
})

export const inspectionsServerSlice: ServerSlice = { name: "inspections_server", timed: [inspectionSweep] }
