/** Endpoints of purchase orders but those about receipts (interface 4.12). */
import { Effect, Option } from "effect"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { command, type Endpoint, get, type Id, type Input } from "../../kernel/endpoints/endpoint.ts"
import {
  created,
  listOf,
  noContent,
  ok,
  renderById,
  renderOne,
  type Status,
  viewContext
} from "../../kernel/endpoints/resource.ts"
import { one, path, read, write } from "../paths.ts"
import { purchaseOrderResource } from "../resources.ts"
import { boolean } from "../../kernel/fields/field.ts"
import { later, withRules } from "../../kernel/fields/later.ts"
import { purchase_order_items, purchase_orders } from "../schema.ts"
import { cancelFactsOf, createFactsOf, sendFactsOf, updateFactsOf } from "./facts.ts"
import { cancelFields, createFields, sendFields, updateFields } from "./fields.ts"
import { purchaseOrderMail, PurchaseOrderMailer } from "./mailing.ts"

// Reading purchase orders: the list and one of them.

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

const purchaseOrderReads: ReadonlyArray<Endpoint> = [list, show]

const deciding = later(() => import("./decide.ts"))

export const purchaseOrderShown = { purchase_order: Shown.row(() => purchaseOrderResource) }
/** Of a sent one also whether a message goes to the supplier: without an address of theirs none does. */
const sentShown = { ...purchaseOrderShown, meta: Shown.keys({ is_mailed: boolean() }) }
/** What answers to writes include beside what the request asks for. */
const with_items = ["include", "items"] as const
export const purchaseOrderAnswer = (status: Status) => (result: Id, input: Input) =>
  Effect.map(renderById(purchaseOrderResource, result.id, [with_items, ...input.query], viewContext(input)), status)

const create = command("POST", path, {
  answer: purchaseOrderShown,
  name: "purchase_orders.create",
  summary: "Order from a supplier: a draft that is not sent yet",
  ability: write,
  permission: "purchase_orders.create",
  fields: createFields,
  creates: [purchase_orders, purchase_order_items],
  facts: (input) => withRules(deciding, () => createFactsOf(input, input.values)),
  decide: ({ known, rules }, input, context) => rules.createPurchaseOrder(known, input, context),
  respond: purchaseOrderAnswer(created)
})
const update = command("PUT", `${path}/{id}`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.update",
  summary: "Change a draft; what is left out stays, items replace all lines",
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: updateFields,
  facts: (input) => withRules(deciding, () => updateFactsOf(input.rows.id, input.values, input)),
  decide: ({ known, rules }, input, context) => rules.updatePurchaseOrder(known, input, context),
  respond: purchaseOrderAnswer(ok)
})
const remove = command("DELETE", `${path}/{id}`, {
  name: "purchase_orders.delete",
  summary: "Delete a draft",
  ability: write,
  permission: "purchase_orders.delete",
  params: one,
  facts: () => deciding,
  decide: ({ deletePurchaseOrder }, { rows }) => deletePurchaseOrder(rows.id),
  respond: () => Effect.succeed(noContent)
})
const send = command("POST", `${path}/{id}/send`, {
  answer: sentShown,
  name: "purchase_orders.send",
  summary: "Send a draft to its supplier, by e-mail with its PDF where an address is known",
  ability: write,
  permission: "purchase_orders.send",
  params: one,
  fields: sendFields,
  facts: ({ rows }) => withRules(deciding, () => sendFactsOf(rows.id)),
  decide: ({ known, rules }, { rows, values }, context) => rules.sendPurchaseOrder(rows.id, known, values, context),
  result: purchaseOrderMail,
  respond: (mail, input) =>
    Effect.gen(function* () {
      const mailer = Option.getOrUndefined(yield* Effect.serviceOption(PurchaseOrderMailer))
      if (mailer !== undefined && mail.to !== null) yield* mailer(mail)
      const shown = yield* renderById(
        purchaseOrderResource,
        mail.purchase_order_id,
        [with_items, ...input.query],
        viewContext(input)
      )
      return ok({ ...shown, meta: { is_mailed: mail.to !== null } })
    })
})
const cancel = command("POST", `${path}/{id}/cancel`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.cancel",
  summary: "Cancel an order of which nothing came; it keeps its number",
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: cancelFields,
  facts: ({ rows }) => withRules(deciding, () => cancelFactsOf(rows.id)),
  decide: ({ known, rules }, { rows, values }, context) =>
    rules.cancelPurchaseOrder(rows.id, known, values.reason ?? null, context),
  respond: purchaseOrderAnswer(ok)
})

export const orderEndpoints: ReadonlyArray<Endpoint> = [...purchaseOrderReads, create, update, remove, send, cancel]
