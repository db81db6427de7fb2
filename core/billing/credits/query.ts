/** Reading credit notes: the list and one of them (interface 4.6). */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { type Endpoint, get, type Input } from "../../kernel/endpoint.ts"
import { listOf, ok, renderOne, viewContext } from "../../kernel/resource.ts"
import { credit_notes_path, one_credit_note, read_credit_notes } from "../paths.ts"
import { creditNoteResource } from "../resources.ts"

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
