/** Reading invoices: the list and one of them. */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { type Endpoint, get, type Input } from "../../kernel/endpoint.ts"
import { listOf, ok, renderOne, viewContext } from "../../kernel/resource.ts"
import { one, path, read } from "../paths.ts"
import { invoiceResource } from "../resources.ts"

const list = get(path, {
  answer: Shown.page(() => invoiceResource),
  name: "invoices.list",
  summary: "List invoices",
  ...read,
  run: (input: Input) => Effect.map(listOf(invoiceResource, input.query, viewContext(input)), ok)
})
const show = get(`${path}/{id}`, {
  answer: { invoice: Shown.row(() => invoiceResource) },
  name: "invoices.show",
  summary: "Show one invoice",
  ...read,
  params: one,
  run: (input) => Effect.map(renderOne(invoiceResource, input.rows.id, input.query, viewContext(input)), ok)
})

export const invoiceReads: ReadonlyArray<Endpoint> = [list, show]
