/** Billing an opportunity (interface 4.5). */
import { Effect } from "effect"
import { command, type Endpoint } from "../../kernel/endpoint.ts"
import { boolean, choice, decimal } from "../../kernel/field.ts"
import { later, withRules } from "../../kernel/later.ts"
import { forbidden } from "../../kernel/rejection.ts"
import { created } from "../../kernel/resource.ts"
import { hasOnePermission } from "../../kernel/viewer.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { invoiceAnswer, invoiceShown } from "../invoices/api.ts"
import { write } from "../paths.ts"
import { invoice_items, invoice_types, invoices } from "../schema.ts"
import { checkoutFactsOf } from "./facts.ts"

const checkingOut = later(() => import("./decide.ts"))

const create = command("POST", "/api/v1/opportunities/{id}/invoices", {
  answer: invoiceShown,
  name: "opportunities.invoice",
  summary: "Make a draft invoice of an opportunity, with its taxes as they were priced",
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
      describe: "Of a deposit: this part of the whole instead of all rows"
    })
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
        percent: values.percent ?? null
      },
      context
    ),
  respond: invoiceAnswer(created)
})

export const checkoutEndpoints: ReadonlyArray<Endpoint> = [create]
