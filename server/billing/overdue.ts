/**
 * The sweep that records `invoice.overdue`. It looks every hour, as days end at another hour in each zone, and what a
 * stopped server missed is made up at its next start (rules/billing 1.3).
 */
import { Clock, Effect, Schema } from "effect"
import { invoiceChange, invoiceOverdue, invoiceStream } from "../../core/billing/events.ts"
import { isToBeTold } from "../../core/billing/overdue.ts"
import { invoices } from "../../core/billing/schema.ts"
import { CommandRuntime, recordEvents } from "../../core/kernel/command-runtime.ts"
import { lockStreams } from "../../core/kernel/engine.ts"
import { settingText } from "../../core/kernel/settings.ts"
import { bindings, chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { stores } from "../../core/stores/stores.ts"
import { instantOf } from "../../core/values/time.ts"
import { zoneOf } from "../../core/values/zone.ts"
import { jobKind, type TimedWork } from "../jobs/job-kind.ts"

const at_once = 100

/** Whatever may be overdue by any zone's day; what was told already is left out. */
const candidates = Effect.fnUntraced(function* (now: string) {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const rows = yield* store.run<{ id: number | string }>(
    `select id from invoices where status in (${bind("issued")}, ${bind("partially_paid")}) ` +
      `and due_at < ${bind(now)} ` +
      "and overdue_told_at is null and deleted_at is null order by id",
    values
  )
  return rows.map(({ id }) => Number(id))
})

/** Zones by store; null is the company's. */
const zones = Effect.gen(function* () {
  const settings = yield* (yield* CommandRuntime).settings
  const company = settingText(settings, "company", "timezone")
  const own = new Map((yield* (yield* Store).find(stores, {})).map(({ id, timezone }) => [id, timezone]))
  return (store_id: number | null): string => zoneOf((store_id === null ? undefined : own.get(store_id)) || company)
})

/** Records it for those that are overdue still, once no payment of them is being recorded. */
const tell = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  const store = yield* Store
  const runtime = yield* CommandRuntime
  yield* lockStreams(ids.map(invoiceStream))
  const zone = yield* zones
  const now = instantOf(now_millis)
  const due = (yield* store.getMany(invoices, ids)).filter((row) => isToBeTold(row, zone(row.store_id), now_millis))
  if (due.length === 0) return 0
  yield* recordEvents(
    due.map((row) => invoiceOverdue.make(invoiceChange(row, { overdue_told_at: now }))),
    { command_id: yield* runtime.commandId, actor_id: null, replica_id: null, recorded_at: now }
  )
  return due.length
})

export const overdueSweep: TimedWork = {
  cron: "7 * * * *",
  kind: jobKind({
    kind: "invoices.overdue",
    meaning: "tells of invoices that became overdue",
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 5,
    waits_seconds: [10, 60, 600],
    at_a_time: 1,
    run: () =>
      Effect.gen(function* () {
        const store = yield* Store
        const now_millis = yield* Clock.currentTimeMillis
        let told = 0
        for (const some of chunked(yield* candidates(instantOf(now_millis)), at_once))
          told += yield* store.transaction(tell(some, now_millis))
        return { told }
      })
  })
}
