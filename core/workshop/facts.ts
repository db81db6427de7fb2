/** Reads what the rules of the workshop decide on, and whom a unit out of service was promised to. */
import { Effect } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import { Store } from "../kernel/store/store.ts"
import { lineWindow } from "../availability/line-demands.ts"
import { demandDateSourceIn } from "../availability/settings.ts"
import type { Settings } from "../kernel/settings.ts"
import { opportunity_items } from "../opportunities/lines/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { isClosed } from "../opportunities/status/statuses.ts"
import { allocated, asset_assignments, prepared } from "../opportunities/units/schema.ts"
import { outOfServiceIn } from "../service/service.ts"
import { type StockLevelRow, stock_levels, stock_transactions } from "../stock/schema.ts"
import { millisOf } from "../values/time.ts"
import type { ServiceFacts } from "./decide.ts"
import { service_records } from "./schema.ts"

/** Facts of these levels, by id: three queries. */
export const loadServiceFacts = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyMap<number, ServiceFacts>, Failure, Store> {
  if (ids.length === 0) return new Map()
  const store = yield* Store
  const levels = yield* store.getMany(stock_levels, ids)
  const open = Map.groupBy(
    yield* store.find(service_records, { stock_level_id: [...ids], ended_at: null }, { order: ["starts_at", "id"] }),
    (row) => row.stock_level_id
  )
  const lines = Map.groupBy(
    ids.length > 1
      ? []
      : yield* store.find(
          stock_transactions,
          { stock_level_id: [...ids] },
          { order: ["-transaction_at", "-id"], limit: 1 }
        ),
    (row) => row.stock_level_id
  )
  return new Map(
    levels.map((level) => [level.id, { level, open: open.get(level.id) ?? [], newest: lines.get(level.id)?.[0] }])
  )
})

/** A line that a unit is allocated to, and has not left for, while the unit is out of service. */
export interface Promised {
  readonly opportunity_id: number
  readonly opportunity_item_id: number
  readonly asset_assignment_id: number
  readonly stock_level_id: number
  readonly number: string | null
  readonly subject: string
  readonly line_name: string
  readonly starts_at: string
  readonly ends_at: string
}
/**
 * What these units are allocated to in the time they are out of service, by start: another unit has to go there. Four
 * queries, however many units.
 */
export const promisedTo = Effect.fnUntraced(function* (
  levels: ReadonlyArray<StockLevelRow>,
  { now, settings }: { readonly now: string; readonly settings: Settings }
): Effect.fn.Return<ReadonlyArray<Promised>, Failure, Store> {
  const out = new Map(levels.filter((one) => one.out_of_service.length > 0 || one.is_gone).map((one) => [one.id, one]))
  if (out.size === 0) return []
  const store = yield* Store
  const units = yield* store.find(asset_assignments, { stock_level_id: [...out.keys()], status: [allocated, prepared] })
  const headers = new Map(
    (yield* store.getMany(opportunities, [...new Set(units.map((unit) => unit.opportunity_id))]))
      .filter((row) => row.deleted_at === null && !isClosed(row))
      .map((row) => [row.id, row])
  )
  const lines = new Map(
    (yield* store.getMany(opportunity_items, [...new Set(units.map((unit) => unit.opportunity_item_id))]))
      .filter((row) => row.is_live)
      .map((row) => [row.id, row])
  )
  const date_source = { demand_date_source: demandDateSourceIn(settings), now }
  return units
    .flatMap((unit): ReadonlyArray<Promised> => {
      const header = headers.get(unit.opportunity_id),
        line = lines.get(unit.opportunity_item_id),
        level = out.get(unit.stock_level_id)
      if (header === undefined || line === undefined || level === undefined) return []
      const { ends_at, starts_at } = lineWindow(line, header, date_source)
      const window = { from: millisOf(starts_at), to: millisOf(ends_at) }
      if (!level.is_gone && outOfServiceIn(level.out_of_service, window, millisOf(now)) === undefined) return []
      return [
        {
          opportunity_id: header.id,
          opportunity_item_id: line.id,
          asset_assignment_id: unit.id,
          stock_level_id: unit.stock_level_id,
          number: header.number,
          subject: header.subject,
          line_name: line.name,
          starts_at,
          ends_at
        }
      ]
    })
    .sort((one, other) => (one.starts_at < other.starts_at ? -1 : one.starts_at > other.starts_at ? 1 : 0))
})
