/** Single units: allocating them to lines, one by one or many at once (spec 4.7, opportunities 9.1, 9.2). */
import { Effect } from "effect"
import { command, type Endpoint, type Input, type Streams } from "../kernel/endpoint.ts"
import { integer, list, object, ref } from "../kernel/field.ts"
import { isJsonObject, type JsonObject } from "../kernel/json.ts"
import { invalid, notFound } from "../kernel/rejection.ts"
import { created, shownById, viewContext } from "../kernel/resource.ts"
import { dealAnswer, withUnits } from "./answers.ts"
import { holds } from "./claims.ts"
import { allocate } from "./decide/units.ts"
import { knownOf } from "./facts.ts"
import { edit, item, one, path } from "./paths.ts"
import { assignmentResource } from "./resources.ts"
import type { OpportunityRow } from "./schema.ts"

/** Writers of one unit wait for each other, whichever deal they work on. */
const unitStreams = (entries: (body: JsonObject) => ReadonlyArray<unknown>): Streams => (params, body) =>
  [`opportunity:${params["id"]}`, ...entries(body).filter((id) => typeof id === "number" || typeof id === "string").map((id) => `stock_level:${id}`)]
const stockOf = (input: Input) => ({ stock: holds((input.rows as { readonly id: OpportunityRow }).id, input.settings) })

const quickAllocate = command("POST", `${path}/{id}/quick_allocate`, {
  name: "opportunities.quick_allocate", summary: "Allocate many units to lines, all or none", ...edit, params: one,
  streams: unitStreams((body) => Array.isArray(body["allocations"]) ? body["allocations"].map((one) => isJsonObject(one) ? one["stock_level_id"] : undefined) : []),
  fields: {
    allocations: list(object({ opportunity_item_id: integer({ required: true, min: 1 }), stock_level_id: ref("stock_levels", { required: true }) }), {
      required: true, min_items: 1, max_items: 1_000
    })
  },
  facts: (input) => Effect.gen(function*() {
    const wanted = input.values.allocations ?? []
    const ids = wanted.map((one) => one.stock_level_id)
    const repeated = ids.findIndex((id, at) => ids.indexOf(id) !== at)
    if (repeated >= 0) return yield* invalid({ [`allocations.${repeated}.stock_level_id`]: ["The unit is listed twice."] })
    const known = yield* knownOf(input.rows.id, input, { level_ids: ids, ...stockOf(input) })
    const lines = new Map(known.deal.lines.map((line) => [line.id, line]))
    const allocations = wanted.flatMap((one, at) => {
      const line = lines.get(one.opportunity_item_id)
      return line === undefined ? [] : [{ line, stock_level_id: one.stock_level_id, field: `allocations.${at}.stock_level_id`, count_field: "allocations" }]
    })
    return allocations.length < wanted.length ? yield* notFound("No such opportunity item.") : { known, allocations }
  }),
  decide: ({ known, allocations }, _input, context) => allocate(known, allocations, context),
  respond: (_result, input) => dealAnswer(input.rows.id.id, input, withUnits)
})

const allocateOne = command("POST", `${path}/{id}/items/{item}/assets`, {
  name: "opportunities.allocate_asset", summary: "Allocate one unit to a line", ...edit, params: item,
  streams: unitStreams((body) => [body["stock_level_id"]]),
  fields: { stock_level_id: ref("stock_levels", { required: true }) },
  facts: (input) => knownOf(input.rows.id, input, { level_ids: [input.values.stock_level_id!], ...stockOf(input) }),
  decide: (known, input, context) => allocate(known, [{
    line: input.rows.item, stock_level_id: input.values.stock_level_id!, field: "stock_level_id", count_field: "stock_level_id"
  }], context),
  respond: (result, input) => Effect.map(shownById(assignmentResource, Number(result["assignment_id"]), input.query, viewContext(input)), created)
})

export const unitEndpoints: ReadonlyArray<Endpoint> = [quickAllocate, allocateOne]
