/**
 * The sweep that records `transfer.late`, and so notifies of goods that have not arrived. It looks every hour, as days
 * end at another hour in each zone, and at every start (rules/transfers 7).
 */
import { Clock, Effect } from "effect"
import { CommandRuntime, recordEvents } from "../../core/kernel/endpoints/endpoint.ts"
import { lockStreams } from "../../core/kernel/runtime/engine.ts"
import { chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { stores } from "../../core/setup/stores.ts"
import { instantOf, zoneOf } from "../../core/values/time.ts"
import { isLate } from "../../core/warehouse/transfers/api.ts"
import { transferChange, transferLate, transfers, transferStream } from "../../core/warehouse/transfers/schema.ts"
import { timedWork } from "../ports/server-context.ts"

const at_once = 100

/** Ids of transfers that may be late in some time zone, and are not yet recorded as late. */
const candidates = Effect.fnUntraced(function* (now: string) {
  const { sql } = yield* Store
  const rows = yield* sql<{ id: number | string }>`
    select id from transfers where status in ('draft', 'sent') and arrives_at < ${now}
    and late_told_at is null order by id`
  return rows.map(({ id }) => Number(id))
})

/** Records late transfers, checked again under lock, as goods may just have arrived; returns their number. */
const tell = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  const runtime = yield* CommandRuntime
  yield* lockStreams(ids.map(transferStream))
  const zones = new Map((yield* Store.find(stores, {})).map(({ id, timezone }) => [id, zoneOf(timezone)]))
  const now = instantOf(now_millis)
  const late = (yield* Store.getMany(transfers, ids)).filter(
    (row) => row.late_told_at === null && isLate(row, zones.get(row.to_store_id) ?? "UTC", now_millis)
  )
  if (late.length === 0) return 0
  yield* recordEvents(
    late.map((row) => transferLate.make(transferChange(row, { late_told_at: now }))),
    { command_id: yield* runtime.commandId, actor_id: null, replica_id: null, recorded_at: now }
  )
  return late.length
})

export const lateTransfersSweep = timedWork({
  cron: "17 * * * *",
  at_start: (now) => Effect.map(candidates(now), (ids) => ids.length > 0),
  kind: "transfers.late",
  meaning: "records transfers that have not arrived on their day, and notifies of them",
  waits_seconds: [10, 60, 600],
  run: () =>
    Effect.gen(function* () {
      const now_millis = yield* Clock.currentTimeMillis
      let told = 0
      for (const some of chunked(yield* candidates(instantOf(now_millis)), at_once))
        told += yield* Store.transaction(tell(some, now_millis))
      return { told }
    })
})
