/** Look and texts of documents, by store and type (rules/billing 3). */
import { Result } from "effect"
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { type Access, crudResource } from "../../kernel/endpoints/crud-resource.ts"
import { reject } from "../../kernel/fields/rejection.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { stores } from "../../setup/stores.ts"
import { document_layouts, layoutFields } from "../schema.ts"
import { scopeOf } from "./brand.ts"

const layoutResource = resource({
  singular: "document_layout",
  heading: "Set-up",
  table: document_layouts,
  filters: ["store_id", "document_type", "created_at", "updated_at"],
  sorts: ["store_id", "document_type", "created_at", "updated_at"],
  aliases: { type: "document_type" },
  includes: { store: { kind: "brief", via: "store_id", table: stores } }
})
const access: Access = {
  read: "documents:read",
  write: "documents:write",
  view: "documents.view",
  create: "settings.manage",
  edit: "settings.manage",
  delete: "settings.manage"
}

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
 * Changed on a server only: it alone can tell whether a text names fields that there are, and a device would find out
 * long after whoever wrote it has left.
 */
export const layoutsSlice: Slice = {
  ...layouts,
  endpoints: layouts.endpoints?.map((one) => (one.method === "GET" ? one : { ...one, server_only: true })) ?? []
}
