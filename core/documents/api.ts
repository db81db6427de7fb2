/** The documents slice. */
import { choice, crudResource, get, later, list as listOf, notFound, ok, reject, resource } from "../kernel/index.ts"
import { Shown, text, unpagedMeta, viewManageAccess, type Endpoint, type Slice } from "../kernel/index.ts"
import { documentEndpoints, documentResource, read } from "./lifecycle-api.ts"
import { acceptanceEndpoints, acceptanceResource, linkReactions, linkSettings } from "./links/api.ts"
import { linkEvents } from "./links/events.ts"
import {
  document_acceptances,
  document_layouts,
  document_links,
  document_snapshots,
  document_types,
  documentEvents,
  documents,
  type DocumentType,
  layoutFields
} from "./schema.ts"
import { Effect, Result } from "effect"
import { stores } from "../setup/stores.ts"
import { scopeOf } from "./brand.ts"

// Look and texts of documents, by store and type (rules/billing 3).

const layoutResource = resource({
  singular: "document_layout",
  heading: "Set-up",
  table: document_layouts,
  filters: ["store_id", "document_type", "created_at", "updated_at"],
  sorts: ["store_id", "document_type", "created_at", "updated_at"],
  aliases: { type: "document_type" },
  includes: { store: { kind: "brief", via: "store_id", table: stores } }
})
const access = viewManageAccess("documents", "documents.view", "settings.manage")

const layouts = crudResource({
  resource: layoutResource,
  fields: layoutFields,
  path: "/api/v1/document_layouts",
  access,
  rules: {
    save: ({ next }) =>
      next.accent !== null && !/^#[0-9a-f]{6}$/i.test(next.accent)
        ? reject("accent", "The accent field must be a colour such as #1f4e79.")
        : Result.succeed({
            set: { accent: next.accent?.toLowerCase() ?? null, scope: scopeOf(next.store_id, next.document_type) }
          })
  }
})

/**
 * Writes are server only: only the server can check the fields of a text, and offline its author would learn of an
 * error too late.
 */
const layoutsSlice: Slice = {
  ...layouts,
  endpoints: layouts.endpoints?.map((one) => (one.method === "GET" ? one : { ...one, server_only: true })) ?? []
}

// The document types and the fields of their texts (rules/billing 3).

const describing = later(() => import("./content/fields.ts"))

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
  summary: "List document types, each with its source type",
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
  collection: "Rows to loop over: {% for item in items %}"
}
const fields = get(`${types_path}/{type}/fields`, {
  ...read,
  name: "document_types.fields",
  summary: "List the fields that a type's texts may use, such as {{ member.name }}",
  answer: {
    fields: Shown.objects({
      group: text(),
      fields: Shown.objects({ name: text(), label: text(), type: choice(field_types) })
    })
  },
  run: Effect.fnUntraced(function* ({ params }) {
    const { type = "" } = params
    if (!isType(type)) return yield* notFound("There is no such type of document.")
    // Imported late: only rendering documents and listing fields need it.
    const { fieldsOfType } = yield* describing
    return ok({ fields: fieldsOfType(type) })
  })
})

const documentTypeEndpoints: ReadonlyArray<Endpoint> = [types, fields]

export const documentsSlice: Slice = {
  name: "documents",
  tables: [documents, document_snapshots, document_links, document_acceptances, document_layouts],
  resources: [documentResource, acceptanceResource, ...(layoutsSlice.resources ?? [])],
  settings: linkSettings,
  react: linkReactions,
  events: [...documentEvents, ...linkEvents, ...(layoutsSlice.events ?? [])],
  endpoints: [...documentEndpoints, ...acceptanceEndpoints, ...documentTypeEndpoints, ...(layoutsSlice.endpoints ?? [])]
}
