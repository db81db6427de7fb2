/**
 * Subjects of attachments. Users with the permission to view a subject see its attachments, and those with one to edit
 * it may attach files.
 */
import { invoices } from "../../billing/state/tables.ts"
import { activities } from "../activities/schema.ts"
import { choice, eventType, full_read_permission, hasAbility, hasOnePermission, integer } from "../../kernel/index.ts"
import { keyInAnyCase, longText, ref, remove, rowMade, streamOf, table, text } from "../../kernel/index.ts"
import { visibleColumnsOf } from "../../kernel/index.ts"
import type { AnyRow, ReferenceRule, RowOf, Table, Viewer } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { containers } from "../../products/packing.ts"
import { purchase_orders } from "../../purchasing/schema.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { Schema } from "effect"

interface Rights {
  /** Abilities that allow access; one of them suffices. */
  readonly abilities: ReadonlyArray<string>
  readonly permissions: ReadonlyArray<string>
}
export interface Attachable {
  readonly type: string
  readonly label: string
  readonly table: Table
  readonly rule: ReferenceRule
  readonly read: Rights
  readonly write: Rights
}

/** References to subjects are kept when these are archived, and follow merges. */
const archived: ReferenceRule = { on_delete: "keep", on_merge: "follow" }
const gone: ReferenceRule = { on_delete: "delete", on_merge: "follow" }
const rights = (area: string, ...edit: ReadonlyArray<string>): Pick<Attachable, "read" | "write"> => ({
  read: { abilities: [`${area}:read`], permissions: [`${area}.view`] },
  write: { abilities: [`${area}:write`], permissions: edit }
})

const labels = {
  Member: "Member",
  Product: "Product",
  Opportunity: "Opportunity",
  Activity: "Activity",
  Container: "Container",
  StockLevel: "Stock Level",
  Invoice: "Invoice",
  PurchaseOrder: "Purchase Order"
} as const
type AttachableType = keyof typeof labels
const attachable_types = labels

const kinds: { readonly [T in AttachableType]: Omit<Attachable, "label" | "type"> } = {
  Member: { table: members, rule: archived, ...rights("members", "members.edit") },
  Product: { table: products, rule: archived, ...rights("products", "products.edit") },
  Opportunity: { table: opportunities, rule: archived, ...rights("opportunities", "opportunities.edit") },
  Activity: { table: activities, rule: gone, ...rights("activities", "activities.edit") },
  Container: { table: containers, rule: gone, ...rights("containers", "containers.edit", "containers.pack") },
  StockLevel: {
    table: stock_levels,
    rule: gone,
    read: { abilities: ["stock:read"], permissions: ["stock.view"] },
    // Users who check in units may attach photos of damage.
    write: {
      abilities: ["stock:write", "opportunities:write"],
      permissions: ["stock.adjust", "opportunities.edit", "opportunities.fulfil"]
    }
  },
  Invoice: { table: invoices, rule: archived, ...rights("invoices", "invoices.edit") },
  PurchaseOrder: {
    table: purchase_orders,
    rule: archived,
    // Users who receive goods may attach photos of the delivery note.
    ...rights("purchase_orders", "purchase_orders.edit", "purchase_orders.receive")
  }
}
const isAttachableType = (type: string): type is AttachableType => Object.hasOwn(kinds, type)

export const attachables: ReadonlyArray<Attachable & { readonly type: AttachableType }> = Object.entries(labels).map(
  ([type, label]) => {
    if (!isAttachableType(type)) throw new Error(`nothing is known of ${type}`)
    return { type, label, ...kinds[type] }
  }
)
/** The kind of subject named by a row or body, in any case; undefined if unknown, such as one of a later release. */
export const attachableOf = (type: unknown): Attachable | undefined => {
  const key = typeof type === "string" ? keyInAnyCase(labels, type) : undefined
  return key === undefined ? undefined : attachables.find((one) => one.type === key)
}

export const mayRead = ({ read }: Attachable, viewer: Viewer): boolean => has(read, viewer)
export const mayWrite = ({ write }: Attachable, viewer: Viewer): boolean => has(write, viewer)
const has = ({ abilities, permissions }: Rights, viewer: Viewer): boolean =>
  permissions.some((one) => hasOnePermission(viewer, one)) && abilities.some((one) => hasAbility(viewer, one))

/**
 * Whether a user may read or attach files for a subject whose rows they have: stock rows reach many users who may not
 * see their attachments.
 */
export const seesAttachments = ({ attachable_type }: AnyRow, viewer: Viewer): boolean => {
  const kind = attachableOf(attachable_type)
  if (kind === undefined || visibleColumnsOf(kind.table, viewer) !== "whole") return false
  const holders = [full_read_permission, ...kind.read.permissions, ...kind.write.permissions]
  return holders.some((one) => hasOnePermission(viewer, one))
}

// Attachments: files that belong to a member, an order, a unit (rules/members-activities 4).

export const attachmentFields = {
  attachable_type: choice(attachable_types, {
    required: true,
    any_case: true,
    create_only: true,
    describe: "Type of the record it is attached to"
  }),
  attachable_id: integer({
    required: true,
    create_only: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    names: { by: "attachable_type", tables: Object.fromEntries(attachables.map((one) => [one.type, one.table.name])) }
  }),
  category: text({ nullable: true, max: 50, search: true, describe: "Category, such as photo, contract or damage" }),
  description: longText({ nullable: true, max: 1_000 })
}

export const attachments = table(
  "attachments",
  {
    ...attachmentFields,
    /** Id of the file in its URL. */
    uuid: text({ computed: true, max: 36 }),
    original_name: text({ computed: true, search: true }),
    mime_type: text({ computed: true, search: true }),
    file_size: integer({ computed: true, min: 0 }),
    /** Key of the content. Knowing it does not give access to the file. */
    sha256: text({ computed: true, hidden: true, max: 64 }),
    uploaded_by: ref("users", { computed: true, nullable: true, on_delete: "keep" })
  },
  {
    named_by: ["original_name"],
    file: { uuid: "uuid", sha256: "sha256", name: "original_name", mime_type: "mime_type", size_bytes: "file_size" },
    visibility: { all_columns: [], by_row: seesAttachments, says_by: ["attachable_type"] },
    in_streams_of_references: true,
    references: attachables.map(({ rule, table: { name }, type }) => ({
      column: "attachable_id",
      where: { attachable_type: type },
      table: name,
      rule
    })),
    indexes: [["attachable_type", "attachable_id"], ["uuid"], ["sha256"], ["created_at"]]
  }
)
export type AttachmentRow = RowOf<typeof attachments>

// Events of attachments. They belong to the stream of the attachment's subject, and are erased with it.

/** Stream of the attachment's subject: `member:12`. */
export const attachableStream = (named: { readonly attachable_type?: unknown; readonly attachable_id?: unknown }) =>
  streamOf(attachableOf(named.attachable_type)?.table.entity ?? "attachment", String(named.attachable_id))

export const attachmentCreated = rowMade("attachment.created", attachments, {
  meaning: "A file was attached to the subject of the event's stream: its name, type and SHA-256.",
  stream: attachableStream,
  activity: ({ category = null, description = null, id, original_name = "" }) => ({
    old_values: null,
    new_values: { attachment_id: id, attachment: original_name, category, description }
  })
})

/** Only the id: the deletion is sent to all devices, including those that never saw the row. */
export const attachmentDeleted = eventType("attachment.deleted", {
  meaning: "An attachment was removed, with its file.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }) => [remove(attachments, id)],
  activity: ({ id }) => ({ old_values: { attachment_id: id }, new_values: null })
})
