/** The endpoint that issues credit notes (rules/billing 1.5); there is no other way to make one. */
import { Effect, Schema } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { command, type Endpoint } from "../../kernel/endpoint.ts"
import { wholeNumber } from "../../kernel/field-schema.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { later, withRules } from "../../kernel/later.ts"
import { created, renderById, viewContext } from "../../kernel/resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { deductedBy } from "../invoices/facts.ts"
import { one, path, write } from "../paths.ts"
import { creditNoteResource, invoiceResource } from "../resources.ts"
import { credit_note_items, invoice_items, type InvoiceRow } from "../schema.ts"
import type { CreditFacts, CreditResult } from "./decide.ts"
import { creditFields } from "./schema.ts"

const crediting = later(() => import("./decide.ts"))

const result: Schema.Codec<CreditResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, credit_note_id: wholeNumber })
)
const is = (value: unknown): boolean => value !== null && value !== undefined
const oneOfThem = ({ amount, items }: JsonObject): { readonly [field: string]: ReadonlyArray<string> } =>
  is(items) && is(amount)
    ? { amount: ["Give items or an amount, not both; with neither all that is left is credited."] }
    : {}
const rows_of_credit_notes = [["include", "items"]] as const

export const creditFacts = Effect.fnUntraced(function* (invoice: InvoiceRow) {
  const store = yield* Store
  const facts: CreditFacts = {
    invoice,
    items: yield* store.find(invoice_items, { invoice_id: invoice.id }, { order: ["sort_order", "id"] }),
    credited: yield* store.find(credit_note_items, { invoice_id: invoice.id }, { order: ["id"] }),
    deducted_by: yield* deductedBy(invoice)
  }
  return facts
})

const credit = command("POST", `${path}/{id}/credit_notes`, {
  answer: { credit_note: Shown.row(() => creditNoteResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.credit",
  summary: "Issue a credit note: for rows, for an amount, or for all that is left",
  ability: write,
  permission: "invoices.credit",
  params: one,
  fields: creditFields,
  check: oneOfThem,
  result,
  facts: (input) => withRules(crediting, () => creditFacts(input.rows.id)),
  decide: ({ known, rules }, input, context) => rules.issueCreditNote(known, input.values, context),
  respond: ({ id, credit_note_id }, input) =>
    Effect.map(
      Effect.all({
        note: renderById(creditNoteResource, credit_note_id, rows_of_credit_notes, viewContext(input)),
        invoice: renderById(invoiceResource, id, input.query, viewContext(input))
      }),
      ({ note, invoice }) => created({ credit_note: note.credit_note, invoice: invoice.invoice })
    )
})

export const creditEndpoints: ReadonlyArray<Endpoint> = [credit]
