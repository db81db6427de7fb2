/** Reads queues of the waiting list: a fixed number of queries, however many wait. */
import { Effect, Result } from "effect"
import { type LineAtStore, snapshotsForLines } from "../../availability/api/window.ts"
import { loadStockedProducts } from "../../availability/facts/load-products.ts"
import type { StockedProduct } from "../../availability/rules/snapshot.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import type { Settings } from "../../../kernel/events/settings.ts"
import { type Failure, Store } from "../../../kernel/store/store.ts"
import type { Opportunity } from "../state/aggregate.ts"
import { demandSettings, demandsOf, hasShortageCheck, isHoldingStock, linesTakingStock } from "../state/demands.ts"
import { type ItemRow, opportunity_items, shortage_waits, type WaitRow } from "../tables/lines.ts"
import { opportunities, type OpportunityRow } from "../tables/opportunities.ts"
import { draft, order } from "../tables/statuses.ts"
import type { LeaveReason } from "../events/waiting.ts"
import { lookAtQueue, type Looked, type Queued } from "./decide.ts"

interface Now {
  readonly settings: Settings
  readonly now: string
}
interface Rows {
  readonly header: OpportunityRow | undefined
  readonly line: ItemRow | undefined
  readonly stored: ReadonlyArray<DemandRow>
  readonly stocked: ReadonlyMap<number, StockedProduct>
}

/** The line's present demand, or the reason why it no longer waits. */
const wanted = (
  row: WaitRow,
  { header, line }: Rows,
  { now, settings }: Now
): { readonly line?: LineAtStore; readonly gone: LeaveReason } => {
  if (header === undefined || !hasShortageCheck(header, settings)) return { gone: "closed" }
  if (line === undefined || !line.is_live) return { gone: "removed" }
  if (row.status === "matched" && isHoldingStock(header, settings)) return { gone: "booked" }
  const [asked] = linesTakingStock(alone(header, line), demandSettings(settings, now))
  const quantity = Number(line.quantity) - Number(line.returned_quantity)
  if (asked === undefined || asked.product_id !== row.product_id || quantity <= 0) return { gone: "changed" }
  return asked.ends_at <= now ? { gone: "past" } : { line: { ...asked, quantity }, gone: "changed" }
}
const alone = (header: OpportunityRow, line: ItemRow): Opportunity => ({ header, lines: [line], units: [], costs: [] })

const queuedOf = (row: WaitRow, rows: Rows, context: Now): Queued => {
  const { gone, line } = wanted(row, rows, context)
  const { header, line: item, stocked, stored } = rows
  const holds = header !== undefined && isHoldingStock(header, context.settings)
  if (line === undefined || header === undefined || item === undefined)
    return { row, line: undefined, gone, holds, demands: [] }
  if (holds) return { row, line, gone, holds, demands: stored }
  const as_order = alone({ ...header, state: order, status: draft }, item)
  const would = demandsOf({ stocked, levels: new Map() }, as_order, item, demandSettings(context.settings, context.now))
  return {
    row,
    line,
    gone,
    holds,
    demands: Result.isSuccess(would) ? would.success.map((demand) => ({ ...demand, id: 0 })) : []
  }
}

/** All lines waiting for these products, at any store, with the present availability. */
export const lookAtWaiting = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  context: Now
): Effect.fn.Return<ReadonlyArray<Looked>, Failure, Store> {
  const rows = yield* Store.find(shortage_waits, { product_id: product_ids })
  if (rows.length === 0) return []
  const line_ids = rows.map(({ opportunity_item_id }) => opportunity_item_id)
  const headers = new Map(
    (yield* Store.getMany(opportunities, [...new Set(rows.map(({ opportunity_id }) => opportunity_id))])).map((row) => [
      row.id,
      row
    ])
  )
  const lines = new Map((yield* Store.getMany(opportunity_items, line_ids)).map((row) => [row.id, row]))
  const stored = Map.groupBy(
    yield* Store.find(demands, { source_type: "opportunity_item", source_id: line_ids }),
    (demand) => demand.source_id
  )
  const stocked = yield* loadStockedProducts(product_ids)
  const queued = rows.map((row) =>
    queuedOf(
      row,
      {
        header: headers.get(row.opportunity_id),
        line: lines.get(row.opportunity_item_id),
        stored: stored.get(row.opportunity_item_id) ?? [],
        stocked
      },
      context
    )
  )
  const asked = queued.flatMap(({ line }) => (line === undefined ? [] : [line]))
  return lookAtQueue(yield* snapshotsForLines(asked, context), queued)
})
