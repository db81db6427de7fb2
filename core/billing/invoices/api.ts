/** Endpoints of invoices but those about money (interface 4.5). */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { command, type Endpoint, type Id, type Input } from "../../kernel/endpoint.ts"
import { later, withRules } from "../../kernel/later.ts"
import { noContent, renderById, type Status, created, ok, viewContext } from "../../kernel/resource.ts"
import { one, path, write } from "../paths.ts"
import { invoiceResource } from "../resources.ts"
import { invoice_items, invoices } from "../schema.ts"
import { createFactsOf, issueFactsOf, updateFactsOf, voidFactsOf } from "./facts.ts"
import { createFields, issueFields, updateFields, voidFields } from "./fields.ts"
import { invoiceReads } from "./query.ts"

const deciding = later(() => import("./decide.ts"))

export const invoiceShown = { invoice: Shown.row(() => invoiceResource) }
/** What answers to writes include beside what the request asks for. */
const with_items = ["include", "items"] as const
export const invoiceAnswer = (status: Status) => (result: Id, input: Input) =>
  Effect.map(renderById(invoiceResource, result.id, [with_items, ...input.query], viewContext(input)), status)

const create = command("POST", path, {
  answer: invoiceShown,
  name: "invoices.create",
  summary: "Create an invoice: a draft without a number",
  ability: write,
  permission: "invoices.create",
  fields: createFields,
  creates: [invoices, invoice_items],
  facts: (input) => withRules(deciding, () => createFactsOf(input, input.values)),
  decide: ({ known, rules }, input, context) => rules.createInvoice(known, input, context),
  respond: invoiceAnswer(created)
})
const update = command("PUT", `${path}/{id}`, {
  answer: invoiceShown,
  name: "invoices.update",
  summary: "Change a draft; what is left out stays. Of an issued invoice only custom fields change",
  ability: write,
  permission: "invoices.edit",
  params: one,
  fields: updateFields,
  facts: ({ rows, values }) => withRules(deciding, () => updateFactsOf(rows.id, values)),
  decide: ({ known, rules }, input, context) => rules.updateInvoice(known, input, context),
  respond: invoiceAnswer(ok)
})
const remove = command("DELETE", `${path}/{id}`, {
  name: "invoices.delete",
  summary: "Delete a draft",
  ability: write,
  permission: "invoices.delete",
  params: one,
  facts: () => deciding,
  decide: ({ deleteInvoice }, { rows }) => deleteInvoice(rows.id),
  respond: () => Effect.succeed(noContent)
})
const issue = command("POST", `${path}/{id}/issue`, {
  answer: invoiceShown,
  name: "invoices.issue",
  summary: "Issue a draft: it gets its number and can no longer be changed",
  ability: write,
  permission: "invoices.issue",
  params: one,
  fields: issueFields,
  facts: (input) => withRules(deciding, () => issueFactsOf(input.rows.id, input)),
  decide: ({ known, rules }, { rows, values }, context) => rules.issueInvoice(rows.id, known, values, context),
  respond: invoiceAnswer(ok)
})
const voided = command("POST", `${path}/{id}/void`, {
  answer: invoiceShown,
  name: "invoices.void",
  summary: "Void an issued invoice nobody paid; it keeps its number",
  ability: write,
  permission: "invoices.void",
  params: one,
  fields: voidFields,
  facts: ({ rows }) => withRules(deciding, () => voidFactsOf(rows.id)),
  decide: ({ known, rules }, { rows, values }, context) =>
    rules.voidInvoice(rows.id, known, values.reason ?? null, context),
  respond: invoiceAnswer(ok)
})

export const invoiceEndpoints: ReadonlyArray<Endpoint> = [...invoiceReads, create, update, remove, issue, voided]
