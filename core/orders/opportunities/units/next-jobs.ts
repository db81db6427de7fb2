/** Units allocated to a further order, which they go on to after a return (rules/opportunities 9.7). */
import { Effect } from "effect"
import { Store } from "../../../kernel/index.ts"
import { allocated, asset_assignments, checked_in, dispatched, finalised, isClosed, on_hire } from "../tables/index.ts"
import { opportunities, prepared, type AssignmentRow, type OpportunityRow } from "../tables/index.ts"

/** Other open orders of one unit: the next it is allocated to, and the one it comes from. */
export interface Jobs {
  readonly next: OpportunityRow | undefined
  readonly before: OpportunityRow | undefined
}

/**
 * Jobs of units of an order, by stock level: the next open order they are allocated to, and the one they are out on or
 * came back from unchecked. Two queries, for any number of units.
 */
export const jobsOf = Effect.fnUntraced(function* (
  order: OpportunityRow,
  stock_level_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, Jobs>> {
  if (stock_level_ids.length === 0) return new Map()
  const units = (yield* Store.find(asset_assignments, {
    stock_level_id: stock_level_ids,
    status: [allocated, prepared, dispatched, on_hire, checked_in]
  })).filter((unit) => unit.opportunity_id !== order.id)
  const ids = [...new Set(units.map((unit) => unit.opportunity_id))]
  const headers = yield* Store.byId(opportunities, ids)
  const openOf = (unit: AssignmentRow): ReadonlyArray<OpportunityRow> => {
    const header = headers.get(unit.opportunity_id)
    return header === undefined || header.deleted_at !== null || isClosed(header) ? [] : [header]
  }
  const startOf = ({ starts_at }: OpportunityRow): string => starts_at ?? ""
  return new Map(
    [...Map.groupBy(units, (unit) => unit.stock_level_id)].map(([id, others]) => {
      const next = others
        .filter(({ status }) => status <= prepared)
        .flatMap(openOf)
        .filter((header) => startOf(header) >= startOf(order))
        .toSorted((one, other) => (startOf(one) < startOf(other) ? -1 : 1))
      const before = others
        .filter(({ status }) => status >= dispatched)
        .toSorted((one, other) => ((one.dispatched_at ?? "") < (other.dispatched_at ?? "") ? 1 : -1))
      return [id, { next: next[0], before: before.flatMap(openOf)[0] }] as const
    })
  )
})

/** The order a unit came from straight to this one: it was allocated here while it was out there. */
export const cameFrom = Effect.fnUntraced(function* (
  order: OpportunityRow,
  stock_level_id: number
): Store.Reads<OpportunityRow | undefined> {
  const { before } = (yield* jobsOf(order, [stock_level_id])).get(stock_level_id) ?? {}
  if (before !== undefined) return before
  const [own] = yield* Store.find(asset_assignments, { stock_level_id, opportunity_id: order.id })
  const checked = { stock_level_id, status: finalised }
  const last = yield* Store.first(asset_assignments, checked, { order: ["-returned_at", "-id"] })
  return own === undefined || last === undefined || (last.returned_at ?? "") < (own.allocated_at ?? "")
    ? undefined
    : yield* Store.get(opportunities, last.opportunity_id)
})
