/** Resolving shortages of an opportunity by an order to a supplier, or by waiting (rules/availability 9). */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { command, type Endpoint } from "../../kernel/endpoint.ts"
import { isJsonObject } from "../../kernel/json.ts"
import { forbidden } from "../../kernel/rejection.ts"
import { later, withRules } from "../../kernel/later.ts"
import { created } from "../../kernel/resource.ts"
import { hasOnePermission } from "../../kernel/viewer.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { waitingOf, waitingShown } from "../../opportunities/waiting/api.ts"
import { shortage_waits } from "../../opportunities/waiting/schema.ts"
import { purchaseOrderAnswer, purchaseOrderShown } from "../orders/api.ts"
import { write } from "../paths.ts"
import { purchase_order_items, purchase_orders } from "../schema.ts"
import { supplyCosts } from "./costs.ts"
import { resolveFields } from "./fields.ts"

const resolving = later(() => import("./resolve.ts"))

const resolve = command("POST", "/api/v1/opportunities/{id}/shortages/resolve", {
  answer: { purchase_order: Shown.optional(purchaseOrderShown.purchase_order), waiting: Shown.optional(waitingShown) },
  name: "opportunities.resolve_shortages",
  summary: "Order what is short from a supplier, sub-hired or bought, or wait for it to come free",
  success_status: 201,
  ability: write,
  permission: "shortages.resolve",
  params: { id: { table: opportunities } },
  fields: resolveFields,
  // To wait for goods is to order nothing.
  authorize: ({ sent, viewer }) =>
    (isJsonObject(sent) && String(sent["resolution"]).toLowerCase() === "waitlist") ||
    hasOnePermission(viewer, "purchase_orders.create")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission purchase_orders.create.")),
  creates: [purchase_orders, purchase_order_items, shortage_waits],
  facts: ({ now, rows, settings, values }) =>
    withRules(resolving, ({ resolutionFacts }) => resolutionFacts({ now, settings, values, row: rows.id })),
  decide: ({ known, rules }, { rows, values }, context) => rules.decideResolution(rows.id.id, known, values, context),
  respond: (result, input) =>
    input.values.resolution === "waitlist"
      ? Effect.map(waitingOf(result.id, input), (waiting) => created({ waiting }))
      : purchaseOrderAnswer(created)(result, input)
})

export const resolutionEndpoints: ReadonlyArray<Endpoint> = [resolve, supplyCosts]
