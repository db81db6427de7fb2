/** The types of documents and the fields that their texts may name (interface 4.9). */
import { later } from "../../kernel/fields/later.ts"
import { Effect } from "effect"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { type Endpoint, get } from "../../kernel/endpoints/endpoint.ts"
import { choice, list as listOf, text } from "../../kernel/fields/field.ts"
import { notFound } from "../../kernel/fields/rejection.ts"
import { ok, unpagedMeta } from "../../kernel/endpoints/resource.ts"
import { read } from "../lifecycle-api.ts"
import { document_types, type DocumentType } from "../schema.ts"

const describing = later(() => import("./fields.ts"))

const types_path = "/api/v1/document_types"
const all = Object.entries(document_types).map(([key, { description, name, of }]) => ({
  key,
  name,
  documentable_types: [of],
  description
}))
const types = get(types_path, {
  ...read,
  name: "document_types.list",
  summary: "List the types of documents, and what each is made of",
  answer: {
    document_types: Shown.objects({
      key: text(),
      name: text(),
      documentable_types: listOf(text(), { default: [] }),
      description: text()
    }),
    meta: Shown.meta
  },
  run: ({ query }) => Effect.succeed(ok({ document_types: all, meta: unpagedMeta(all.length, query) }))
})

const isType = (type: string): type is DocumentType => Object.hasOwn(document_types, type)
const field_types = {
  string: "Text",
  date: "A day, written in the document's language",
  number: "A number, written in the document's language",
  currency: "An amount with its currency, written in the document's language",
  boolean: "True or false, for conditions",
  collection: "Rows to go through: {% for item in items %}"
}
const fields = get(`${types_path}/{type}/fields`, {
  ...read,
  name: "document_types.fields",
  summary: "List the fields that texts of a type may name, as {{ member.name }}",
  answer: {
    fields: Shown.objects({
      group: text(),
      fields: Shown.objects({ name: text(), label: text(), type: choice(field_types) })
    })
  },
  run: ({ params }) =>
    Effect.gen(function* () {
      const { type = "" } = params
      if (!isType(type)) return yield* notFound("There is no such type of document.")
      // Whoever draws or asks for fields reads what all types say; nobody else does.
      const { fieldsOfType } = yield* describing
      return ok({ fields: fieldsOfType(type) })
    })
})

export const documentTypeEndpoints: ReadonlyArray<Endpoint> = [types, fields]
