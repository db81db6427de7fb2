/** The endpoint that issues credit notes (rules/billing 1.5); there is no other way to make one. */
import { Effect, Schema } from "effect"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { command, type Endpoint, get, type Input } from "../../kernel/endpoints/endpoint.ts"
import { created, listOf, ok, renderById, renderOne, viewContext } from "../../kernel/endpoints/resource.ts"
import { creditNoteResource, invoiceResource } from "../state/resources.ts"
import { wholeNumber } from "../../kernel/tables/field-schema.ts"
import type { JsonObject } from "../../kernel/fields/field.ts"
import { later, withRules } from "../../kernel/fields/later.ts"
import { Store } from "../../kernel/store/store.ts"
import { deductedBy } from "../invoices/facts.ts"
import { credit_note_items, invoice_items, type InvoiceRow } from "../state/tables.ts"
import type { CreditFacts, CreditResult } from "./decide.ts"
import {
  credit_notes_path,
  creditFields,
  one,
  one_credit_note,
  path,
  read_credit_notes,
  write
} from "../state/fields.ts"

// Reading credit notes: the list and one of them (interface 4.6).

const list = get(credit_notes_path, {
  answer: Shown.page(() => creditNoteResource),
  name: "credit_notes.list",
  summary: "List credit notes",
  ...read_credit_notes,
  run: (input: Input) => Effect.map(listOf(creditNoteResource, input.query, viewContext(input)), ok)
})
const show = get(`${credit_notes_path}/{id}`, {
  answer: { credit_note: Shown.row(() => creditNoteResource) },
  name: "credit_notes.show",
  summary: "Show one credit note",
  ...read_credit_notes,
  params: one_credit_note,
  run: (input) => Effect.map(renderOne(creditNoteResource, input.rows.id, input.query, viewContext(input)), ok)
})

export const creditNoteReads: ReadonlyArray<Endpoint> = [list, show]

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

const creditFacts = Effect.fnUntraced(function* (invoice: InvoiceRow) {
  const facts: CreditFacts = {
    invoice,
    items: yield* Store.find(invoice_items, { invoice_id: invoice.id }, { order: ["sort_order", "id"] }),
    credited: yield* Store.find(credit_note_items, { invoice_id: invoice.id }, { order: ["id"] }),
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
