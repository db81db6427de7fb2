/** Waiting lines in answers, and how they leave the list (rules/availability 9). */
import { Effect } from "effect"
import * as Shown from "../../../kernel/lists/answer-schema.ts"
import { command, type Endpoint, type Failure, get, type Input } from "../../../kernel/endpoints/endpoint.ts"
import { integer, list, longText, text, timestamp } from "../../../kernel/fields/field.ts"
import { listOf, ok, resource, viewContext } from "../../../kernel/endpoints/resource.ts"
import { Store } from "../../../kernel/store/store.ts"
import { products } from "../../../products/products/schema.ts"
import { one, path } from "../tables/paths.ts"
import { opportunities } from "../tables/opportunities.ts"
import { lookAtWaiting } from "./load.ts"
import { leaveWaiting } from "./decide.ts"
import { shortage_waits } from "../tables/lines.ts"

export const waitingShown = Shown.objects({
  id: integer(),
  opportunity_id: integer(),
  opportunity_item_id: integer(),
  product_id: integer(),
  store_id: integer(),
  quantity: integer({ describe: "What was short when it began to wait" }),
  requested_quantity: integer({ describe: "Quantity requested; the line is notified once all of it is available" }),
  free_quantity: integer({ describe: "How much of that is there now, for this line" }),
  position: integer({ describe: "Position in the queue for these goods at this time: 1 is notified first" }),
  starts_at: timestamp(),
  ends_at: timestamp(),
  waitlisted_by: integer({ nullable: true }),
  waitlisted_at: timestamp(),
  note: text({ nullable: true })
})
type Waiting = Shown.ValueShown<typeof waitingShown>[number]

/** Lines of the opportunity that wait, each with its place among all that wait for the same goods at its time. */
export const waitingOf = Effect.fnUntraced(function* (
  opportunity_id: number,
  context: Pick<Input, "now" | "settings">
): Effect.fn.Return<ReadonlyArray<Waiting>, Failure, Store> {
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
        waitlisted_by: row.waitlisted_by,
        waitlisted_at: row.waitlisted_at,
        note: row.note
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
  summary: "List waiting lines, and notified quotations that keep their place",
  ability: "opportunities:read",
  permission: "shortages.view",
  run: (input) => Effect.map(listOf(waitResource, input.query, viewContext(input)), ok)
})

const leave = command("POST", `${path}/{id}/shortages/leave`, {
  answer: { waiting: waitingShown },
  name: "opportunities.leave_waiting_list",
  summary: "Take lines off the waiting list",
  ability: "opportunities:write",
  permission: "shortages.resolve",
  params: one,
  fields: {
    opportunity_item_ids: list(integer({ min: 1, names: "opportunity_items" }), {
      nullable: true,
      min_items: 1,
      max_items: 1_000,
      describe: "All of the opportunity's unless given"
    })
  },
  facts: ({ rows }) => Store.find(shortage_waits, { opportunity_id: rows.id.id }, { order: ["id"] }),
  decide: (facts, { rows, values }) => leaveWaiting(rows.id.id, facts, values.opportunity_item_ids ?? null),
  respond: ({ id }, input) => Effect.map(waitingOf(id, input), (waiting) => ok({ waiting }))
})

export const waitingEndpoints: ReadonlyArray<Endpoint> = [index, leave]
export const waitingNote = longText({ nullable: true, max: 2000, describe: "For the waiting list" })
