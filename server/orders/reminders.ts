/**
 * Sweeps that record `transfer.late`, and so notify of goods that have not arrived (rules/transfers 7; also at every
 * start), and that remind of inspections that are due soon (rules/inspections 6).
 */
import { Effect } from "effect"
import { CommandRuntime, lockStreams, settingNumber, Store } from "../../core/kernel/index.ts"
import { stores } from "../../core/setup/stores.ts"
import { instantOf, zoneOf } from "../../core/values/time.ts"
import { inspectionDue } from "../../core/warehouse/inspections/schema.ts"
import { isLate } from "../../core/warehouse/transfers/api.ts"
import { transferChange, transferLate, transfers, transferStream } from "../../core/warehouse/transfers/schema.ts"
import { recordByServer, sweep } from "../ports/server-context.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

/** Ids of transfers that may be late in some time zone, and are not yet recorded as late. */
const candidates = Effect.fnUntraced(function* (now_millis: number) {
  const { sql } = yield* Store
  const rows = yield* sql<{ id: number | string }>`
    select id from transfers where status in ('draft', 'sent') and arrives_at < ${instantOf(now_millis)}
    and late_told_at is null order by id`
  return rows.map(({ id }) => Number(id))
})

/** Records late transfers, checked again under lock, as goods may just have arrived; returns their number. */
const tell = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  yield* lockStreams(ids.map(transferStream))
  const zones = new Map((yield* Store.find(stores, {})).map(({ id, timezone }) => [id, zoneOf(timezone)]))
  const now = instantOf(now_millis)
  const late = (yield* Store.getMany(transfers, ids)).filter(
    (row) => row.late_told_at === null && isLate(row, zones.get(row.to_store_id) ?? "UTC", now_millis)
  )
  if (late.length === 0) return 0
  yield* recordByServer(
    late.map((row) => transferLate.make(transferChange(row, { late_told_at: now }))),
    now
  )
  return late.length
})

export const lateTransfersSweep = sweep({
  cron: "17 * * * *",
  at_start: (now) => Effect.map(candidates(Date.parse(now)), (ids) => ids.length > 0),
  kind: "transfers.late",
  meaning: "records transfers that have not arrived on their day, and notifies of them",
  candidates,
  record: tell,
  counted: "told"
})

const day = 86_400_000

/**
 * Ids of latest, passed inspections due within `remind_days` and not reminded of, of units in stock whose product
 * still has an interval of that kind.
 */
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

const recordReminded = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now: number) {
  const reminded_at = instantOf(now)
  yield* recordByServer(
    ids.map((id) => inspectionDue.make({ id, reminded_at })),
    reminded_at
  )
  return ids.length
})

export const inspectionSweep = sweep({
  cron: "37 * * * *",
  kind: "inspections.due",
  meaning: "sends reminders of inspections that are due soon",
  candidates: dueSoon,
  record: recordReminded,
  counted: "reminded"
})

export const inspectionsServerSlice: ServerSlice = { name: "inspections_server", timed: [inspectionSweep] }
