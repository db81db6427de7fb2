/** Waiting lines in responses, and leaving the list (rules/availability 9). */
import { Effect, Result } from "effect"
import { command, get, integer, later, list, listOf, ok, referredRows } from "../../../kernel/index.ts"
import { picked, resource, Shown, Store, text, timestamp, withRules } from "../../../kernel/index.ts"
import type { Endpoint, Input, Now } from "../../../kernel/index.ts"
import { products } from "../../../products/products/schema.ts"
import { draft, one, opportunities, opportunity_items, order, path, shortage_waits } from "../tables/index.ts"
import type { ItemRow, OpportunityRow, WaitRow } from "../tables/index.ts"
import type { Looked, Queued } from "./decide.ts"
import { type LineAtStore, snapshotsForLines } from "../../availability/api/window.ts"
import { loadStockedProducts } from "../../availability/facts/load-products.ts"
import type { StockedProduct } from "../../availability/rules/snapshot.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import { demandSettings, demandsOf, hasShortageCheck, isHoldingStock, linesTakingStock } from "../state/index.ts"
import type { Opportunity } from "../state/index.ts"
import type { LeaveReason } from "../events/waiting.ts"

const queueing = later(() => import("./decide.ts"))

// Loads queues of the waiting list, in a fixed number of queries.

interface Rows {
  readonly header: OpportunityRow | undefined
  readonly line: ItemRow | undefined
  readonly stored: ReadonlyArray<DemandRow>
  readonly stocked: ReadonlyMap<number, StockedProduct>
}

/** The line's current demand, or the reason why it no longer waits. */
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

/** All lines waiting for these products, at any store, with current availability. */
export const lookAtWaiting = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  context: Now
): Store.Reads<ReadonlyArray<Looked>> {
  const rows = yield* Store.find(shortage_waits, { product_id: product_ids })
  if (rows.length === 0) return []
  const line_ids = rows.map(({ opportunity_item_id }) => opportunity_item_id)
  const headers = yield* referredRows(opportunities, rows, "opportunity_id")
  const lines = yield* Store.byId(opportunity_items, line_ids)
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
  const { lookAtQueue } = yield* queueing
  return lookAtQueue(yield* snapshotsForLines(asked, context), queued)
})

export const waitingShown = Shown.objects({
  id: integer(),
  opportunity_id: integer(),
  opportunity_item_id: integer(),
  product_id: integer(),
  store_id: integer(),
  quantity: integer({ describe: "Quantity short when added or last changed" }),
  requested_quantity: integer({ describe: "Quantity requested; all of it must be available to notify" }),
  free_quantity: integer({ describe: "Quantity currently available for the line's dates, at most the requested one" }),
  position: integer({ describe: "Position in the queue; 1 is notified first" }),
  starts_at: timestamp(),
  ends_at: timestamp(),
  waitlisted_by: integer({ nullable: true }),
  waitlisted_at: timestamp(),
  note: text({ nullable: true })
})

/** Waiting lines of the opportunity, with their positions among lines that wait for the same goods at that time. */
export const waitingOf = Effect.fnUntraced(function* (
  opportunity_id: number,
  context: Pick<Input, "now" | "settings">
): Store.Reads<ReadonlyArray<Shown.ValueShown<typeof waitingShown>[number]>> {
  const own = yield* Store.find(shortage_waits, { opportunity_id, status: "waiting" })
  if (own.length === 0) return []
  const looked = yield* lookAtWaiting([...new Set(own.map(({ product_id }) => product_id))], context)
  return looked.flatMap(({ found, queued: { row } }, at) => {
    if (row.opportunity_id !== opportunity_id || found === undefined) return []
    const ahead = looked.slice(0, at).filter(({ found: other, queued }) => {
      return (
        other !== undefined &&
        queued.row.product_id === row.product_id &&
        other.store_id === found.store_id &&
        other.from < found.to &&
        found.from < other.to
      )
    })
    return [
      {
        id: row.id,
        opportunity_id,
        opportunity_item_id: row.opportunity_item_id,
        product_id: row.product_id,
        store_id: found.store_id,
        quantity: row.quantity,
        requested_quantity: found.requested_quantity,
        free_quantity: Math.max(0, Math.min(found.requested_quantity, found.available_for_item)),
        position: ahead.length + 1,
        starts_at: found.from,
        ends_at: found.to,
        ...picked(row, ["waitlisted_by", "waitlisted_at", "note"])
      }
    ]
  })
})

export const waitResource = resource({
  singular: "shortage_wait",
  plural: "shortage_waits",
  table: shortage_waits,
  shows: { opportunity: Shown.brief(), product: Shown.brief() },
  filters: [
    "opportunity_id",
    "opportunity_item_id",
    "product_id",
    "store_id",
    "status",
    "waitlisted_by",
    "waitlisted_at"
  ],
  sorts: ["waitlisted_at", "starts_at", "product_id"],
  order: ["waitlisted_at", "id"],
  lookups: { deal: { via: "opportunity_id", table: opportunities }, what: { via: "product_id", table: products } },
  view: (base, row, { deal, what }) => ({
    ...base,
    opportunity: deal === undefined ? null : { id: row.opportunity_id, name: String(deal["subject"]) },
    product: what === undefined ? null : { id: row.product_id, name: String(what["name"]) }
  })
})
const index = get("/api/v1/shortage_waits", {
  answer: Shown.page(() => waitResource),
  name: "shortage_waits.list",
  summary: "List waiting lines, and notified lines of drafts and quotations",
  ability: "opportunities:read",
  permission: "shortages.view",
  run: (input) => listOf(waitResource, input)
})

const leave = command("POST", `${path}/{id}/shortages/leave`, {
  answer: { waiting: waitingShown },
  name: "opportunities.leave_waiting_list",
  summary: "Take an opportunity's lines off the waiting list",
  ability: "opportunities:write",
  permission: "shortages.resolve",
  params: one,
  fields: {
    opportunity_item_ids: list(integer({ min: 1, names: "opportunity_items" }), {
      nullable: true,
      min_items: 1,
      max_items: 1_000,
      describe: "Lines to take off the list; default: all of the opportunity's"
    })
  },
  facts: ({ rows }) =>
    withRules(queueing, () => Store.find(shortage_waits, { opportunity_id: rows.id.id }, { order: ["id"] })),
  decide: ({ known, rules }, { rows, values }) =>
    rules.leaveWaiting(rows.id.id, known, values.opportunity_item_ids ?? null),
  respond: ({ id }, input) => Effect.map(waitingOf(id, input), (waiting) => ok({ waiting }))
})

export const waitingEndpoints: ReadonlyArray<Endpoint> = [index, leave]
