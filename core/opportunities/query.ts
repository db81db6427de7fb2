/** Reading around an opportunity: units, what is free for its lines, what happened, what may be done (spec 4.7). */
import { Effect } from "effect"
import { availabilityOfLines } from "../availability/lines-query.ts"
import { stockedProducts } from "../availability/load-products.ts"
import { type Endpoint, get } from "../kernel/endpoint.ts"
import { listOf, ok, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { askedLines, claimSettings } from "./claims.ts"
import { opportunity_items } from "./parts.ts"
import { one, path, read } from "./paths.ts"
import { assignmentResource } from "./resources.ts"

const assets = get(`${path}/{id}/assets`, {
  name: "opportunities.assets", summary: "List the units on all lines", ...read, params: one,
  run: (input) => Effect.map(listOf(assignmentResource, input.query, viewContext(input), { where: { opportunity_id: input.rows.id.id } }), ok)
})

/** One entry per line backed by a product that exists; lines of an opportunity without a store have nothing to be counted at. */
const availability = get(`${path}/{id}/availability`, {
  name: "opportunities.availability", summary: "What is free for each line, and by how much it is short", ...read, params: one,
  run: (input) => Effect.gen(function*() {
    const store = yield* Store
    const header = input.rows.id
    const lines = yield* store.find(opportunity_items, { opportunity_id: header.id, is_live: true }, { order: ["path", "id"] })
    const asked = askedLines({ header, lines, costs: [], units: [] }, claimSettings(input.settings, input.now))
    const known = yield* stockedProducts(asked.map((line) => line.product_id))
    const entries = yield* availabilityOfLines(asked.filter((line) => known.has(line.product_id)), input)
    return ok({ availability: entries.map((entry) => ({ ...entry })), meta: { total: entries.length, per_page: entries.length, page: 1 } })
  })
})

export const readEndpoints: ReadonlyArray<Endpoint> = [assets, availability]
