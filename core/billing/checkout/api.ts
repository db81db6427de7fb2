/** Billing an opportunity (interface 4.5). */
import { Effect } from "effect"
import { command, type Endpoint } from "../../kernel/endpoints/endpoint.ts"
import { boolean, choice, decimal, integer, type Json, json, list, object } from "../../kernel/fields/field.ts"
import { later, withRules } from "../../kernel/fields/later.ts"
import { forbidden, hasOnePermission } from "../../kernel/fields/rejection.ts"
import { created } from "../../kernel/endpoints/resource.ts"
import { opportunities } from "../../orders/opportunities/tables/opportunities.ts"
import { invoiceAnswer, invoiceShown } from "../invoices/query.ts"
import { items_max } from "../state/fields.ts"
import { write } from "../state/paths.ts"
import { invoice_items, invoice_types, invoices } from "../state/tables.ts"
import { checkoutFactsOf } from "./facts.ts"

const checkingOut = later(() => import("./decide.ts"))

const create = command("POST", "/api/v1/opportunities/{id}/invoices", {
  answer: invoiceShown,
  name: "opportunities.invoice",
  summary: "Draft an invoice for the unbilled rest of an opportunity, at its tax rates",
  success_status: 201,
  ability: write,
  permission: "invoices.create",
  params: { id: { table: opportunities } },
  fields: {
    type: choice(invoice_types, { default: "standard", any_case: true }),
    deduct_deposits: boolean({
      default: true,
      describe: "Take off deposits that were issued: rows that can be removed while it is a draft"
    }),
    percent: decimal({
      scale: 2,
      min: "0.01",
      max: "100",
      nullable: true,
      describe: "Part of the opportunity's whole, a row for each tax; with amount and lines at most one"
    }),
    amount: json({ form: "any", nullable: true, describe: 'Part of the whole as money without tax: "500.00"' }),
    lines: list(
      object({
        opportunity_item_id: integer({ required: true, names: "opportunity_items" }),
        quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", nullable: true, describe: "All that is left" })
      }),
      { nullable: true, max_items: items_max, describe: "Lines to bill, and how many of each" }
    )
  },
  authorize: ({ viewer }) =>
    hasOnePermission(viewer, "opportunities.view")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission opportunities.view.")),
  creates: [invoices, invoice_items],
  facts: ({ rows }) => withRules(checkingOut, () => checkoutFactsOf(rows.id)),
  decide: ({ known, rules }, { values }, context) =>
    rules.checkout(
      known,
      {
        type: values.type ?? "standard",
        deduct_deposits: values.deduct_deposits ?? true,
        percent: values.percent ?? null,
        amount: (values.amount ?? null) as Json,
        lines: values.lines ?? null
      },
      context
    ),
  respond: invoiceAnswer(created)
})

export const checkoutEndpoints: ReadonlyArray<Endpoint> = [create]
