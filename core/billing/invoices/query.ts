/** Endpoints of invoices, except payments and credits (rules/billing 1.1, 1.3). */
import { Effect } from "effect"
import { boolean, command, created, get, later, list, listOf, longText, noContent, ok } from "../../kernel/index.ts"
import { renderOne, Shown, Store, text, timestamp, viewContext, warningsMeta, withRules } from "../../kernel/index.ts"
import type { Endpoint, Id, Input, One, Query, Now, Status, ViewContext } from "../../kernel/index.ts"
import { unpricedLines, unpricedText } from "../../orders/opportunities/state/index.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { members } from "../../people/members/schema.ts"
import { compareDecimals } from "../../values/decimal.ts"
import { billingOf, draftWarnings } from "../state/billed.ts"
import { credit_notes, invoice_items, type InvoiceItemRow, type InvoiceRow, invoices } from "../state/tables.ts"
import type { VoidFacts } from "./decide.ts"
import { createFactsOf, deductedBy, issueFactsOf, itemsOf, updateFactsOf } from "./facts.ts"
import { invoiceResource } from "../state/resources.ts"
import { createFields, one, path, read, updateFields, write } from "../state/fields.ts"

// Warnings about a draft: other invoices for the same work, rows untaxed for lack of a class, and unpriced rows.

const untaxed = (
  items: ReadonlyArray<InvoiceItemRow>,
  member: { readonly id: number; readonly name: string; readonly sale_tax_class_id: number | null } | undefined
): ReadonlyArray<string> => {
  // Rows with an amount but no tax rate: for lack of a class, a rule or an active rate.
  const rows = items.filter(
    (row) =>
      row.tax_rate !== null &&
      row.tax_rate_id === null &&
      compareDecimals(row.tax_rate, "0") === 0 &&
      row.subtotal !== 0
  )
  if (rows.length === 0) return []
  if (member !== undefined && member.sale_tax_class_id === null)
    return [
      `Untaxed: ${member.name} has no tax class. Give them one ` +
        `(flightcase members update ${member.id} --sale-tax-class-id ID), then make the draft again.`
    ]
  const names = rows.filter((row) => row.tax_class_id === null).map(({ name }) => name)
  return names.length === 0 ? [] : [`Untaxed for lack of a tax class: ${[...new Set(names)].join(", ")}.`]
}

/** Warnings about rows at zero whose line has no price. */
const unpriced = Effect.fnUntraced(function* (
  { opportunity_id }: InvoiceRow,
  items: ReadonlyArray<InvoiceItemRow>,
  input: Now
) {
  const at_nothing = items.filter(({ subtotal }) => subtotal === 0).flatMap((one) => one.opportunity_item_id ?? [])
  if (opportunity_id === null || at_nothing.length === 0) return []
  const header = yield* Store.get(opportunities, opportunity_id)
  if (header === undefined) return []
  return unpricedText(
    header,
    (yield* unpricedLines(header, input)).filter(({ id }) => at_nothing.includes(id))
  )
})

const warningsOf = Effect.fnUntraced(function* (row: InvoiceRow, input: Now): Store.Reads<ReadonlyArray<string>> {
  if (row.status !== "draft") return []
  const items = yield* itemsOf(row.id)
  return [
    ...draftWarnings(yield* billingOf(row, items)),
    ...untaxed(items, yield* Store.get(members, row.member_id)),
    ...(yield* unpriced(row, items, input))
  ]
})

/** Response of one invoice; `meta` only with warnings about a draft. */
export const invoiceShown = {
  invoice: Shown.row(() => invoiceResource),
  meta: Shown.optional(
    Shown.keys({ warnings: list(text(), { describe: "Warnings to check before issuing the draft" }) })
  )
}
const warnedInvoice = Effect.fnUntraced(function* (
  row: InvoiceRow,
  query: Query,
  input: Omit<ViewContext, "base_currency">
): Store.Reads<One<"invoice"> & { readonly meta?: { readonly warnings: ReadonlyArray<string> } }> {
  const shown = yield* renderOne(invoiceResource, row, query, viewContext(input))
  return { ...shown, ...warningsMeta(yield* warningsOf(row, input)) }
})

const all = get(path, {
  answer: Shown.page(() => invoiceResource),
  name: "invoices.list",
  summary: "List invoices",
  ...read,
  run: (input: Input) => listOf(invoiceResource, input)
})
const show = get(`${path}/{id}`, {
  answer: invoiceShown,
  name: "invoices.show",
  summary: "Show one invoice",
  ...read,
  params: one,
  run: (input) => Effect.map(warnedInvoice(input.rows.id, input.query, input), ok)
})

const invoiceReads: ReadonlyArray<Endpoint> = [all, show]

const deciding = later(() => import("./decide.ts"))

/** Includes of write responses besides the requested ones. */
const with_items = ["include", "items"] as const
export const invoiceAnswer = (status: Status) => (result: Id, input: Input) =>
  Effect.gen(function* () {
    const row = yield* Store.get(invoices, result.id)
    if (row === undefined) return yield* Effect.die(new Error(`invoice ${result.id} vanished while it was being shown`))
    return status(yield* warnedInvoice(row, [with_items, ...input.query], input))
  })

const create = command("POST", path, {
  answer: invoiceShown,
  name: "invoices.create",
  summary: "Create a draft invoice, without a number",
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
  summary: "Update a draft invoice, or an issued one's custom fields",
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
  summary: "Delete a draft invoice",
  ability: write,
  permission: "invoices.delete",
  params: one,
  facts: () => deciding,
  decide: ({ deleteInvoice }, { rows }) => deleteInvoice(rows.id),
  respond: () => Effect.succeed(noContent)
})
const issueFields = {
  issued_at: timestamp({ nullable: true, describe: "Issue date; default: now; not in the future" }),
  due_at: timestamp({ nullable: true, describe: "Due date; default: the draft's or the payment terms" }),
  allow_overbilling: boolean({
    default: false,
    describe: "Allow a standard invoice above the opportunity's unbilled remainder"
  })
}

const issue = command("POST", `${path}/{id}/issue`, {
  answer: invoiceShown,
  name: "invoices.issue",
  summary: "Issue a draft invoice; it gets its number",
  ability: write,
  permission: "invoices.issue",
  params: one,
  fields: issueFields,
  facts: (input) => withRules(deciding, () => issueFactsOf(input.rows.id, input)),
  decide: ({ known, rules }, { rows, values }, context) => rules.issueInvoice(rows.id, known, values, context),
  respond: invoiceAnswer(ok)
})
const voidFactsOf = Effect.fnUntraced(function* (row: InvoiceRow): Store.Reads<VoidFacts> {
  const notes = yield* Store.find(credit_notes, { invoice_id: row.id }, { limit: 1 })
  return { credit_notes: notes.length, deducted_by: yield* deductedBy(row) }
})

const voided = command("POST", `${path}/{id}/void`, {
  answer: invoiceShown,
  name: "invoices.void",
  summary: "Void an issued, unpaid invoice; it keeps its number",
  destructive: true,
  ability: write,
  permission: "invoices.void",
  params: one,
  fields: { reason: longText({ nullable: true, max: 1_000 }) },
  facts: ({ rows }) => withRules(deciding, () => voidFactsOf(rows.id)),
  decide: ({ known, rules }, { rows, values }, context) =>
    rules.voidInvoice(rows.id, known, values.reason ?? null, context),
  respond: invoiceAnswer(ok)
})

export const invoiceEndpoints: ReadonlyArray<Endpoint> = [...invoiceReads, create, update, remove, issue, voided]
