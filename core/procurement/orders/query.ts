/** Reading purchase orders: the list and one of them. */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { type Endpoint, get, type Input } from "../../kernel/endpoint.ts"
import { listOf, ok, renderOne, viewContext } from "../../kernel/resource.ts"
import { one, path, read } from "../paths.ts"
import { purchaseOrderResource } from "../resources.ts"

const list = get(path, {
  answer: Shown.page(() => purchaseOrderResource),
  name: "purchase_orders.list",
  summary: "List purchase orders",
  ...read,
  run: (input: Input) => Effect.map(listOf(purchaseOrderResource, input.query, viewContext(input)), ok)
})
const show = get(`${path}/{id}`, {
  answer: { purchase_order: Shown.row(() => purchaseOrderResource) },
  name: "purchase_orders.show",
  summary: "Show one purchase order",
  ...read,
  params: one,
  run: (input) => Effect.map(renderOne(purchaseOrderResource, input.rows.id, input.query, viewContext(input)), ok)
})

export const purchaseOrderReads: ReadonlyArray<Endpoint> = [list, show]
