/** What the rules of documents must know, read in the transaction. */
import { Effect } from "effect"
import { credit_notes, invoices } from "../billing/schema.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import type { Failure } from "../kernel/failure.ts"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow, Table } from "../kernel/table.ts"
import { visibleColumnsOf } from "../kernel/visibility.ts"
import type { Viewer } from "../kernel/viewer.ts"
import { opportunities } from "../opportunities/schema.ts"
import { purchase_orders } from "../procurement/schema.ts"
import type { FinaliseFacts, Source, SourceFacts } from "./decide.ts"
import { document_links, type DocumentRow } from "./schema.ts"
import type { DocumentableType } from "./types.ts"

const tables: { readonly [T in DocumentableType]: Table } = {
  Opportunity: opportunities,
  Invoice: invoices,
  CreditNote: credit_notes,
  PurchaseOrder: purchase_orders
}
const sourceOf = (type: DocumentableType, row: AnyRow): Source => ({
  id: Number(row["id"]),
  store_id: row["store_id"] === null || row["store_id"] === undefined ? null : Number(row["store_id"]),
  invoice_type: type === "Invoice" ? String(row["type"]) : null
})

/** The rows that documents are to be made of: one query, whatever their number. */
export const sourceFacts = Effect.fnUntraced(function* (
  type: DocumentableType,
  ids: ReadonlyArray<number>,
  viewer: Viewer
): Effect.fn.Return<SourceFacts, Failure, Store | CommandRuntime> {
  const { role } = yield* CommandRuntime
  const table = tables[type]
  const rows: ReadonlyArray<AnyRow> = yield* (yield* Store).getMany(table, ids)
  const there = rows.filter((row) => row["deleted_at"] === null)
  return {
    sources: new Map(there.map((row) => [Number(row["id"]), sourceOf(type, row)])),
    is_withheld: role === "replica" && visibleColumnsOf(table, viewer) !== "whole"
  }
})

/** Invoices are issued; whatever else documents are made of has no drafts that would say so on paper. */
export const finaliseFacts = Effect.fnUntraced(function* (
  row: DocumentRow
): Effect.fn.Return<FinaliseFacts, Failure, Store> {
  if (row.documentable_type !== "Invoice") return { is_draft: false }
  const invoice = yield* (yield* Store).get(invoices, row.documentable_id)
  return { is_draft: invoice?.status === "draft" && invoice.deleted_at === null }
})

export const linkIds = Effect.fnUntraced(function* (document_id: number) {
  const links = yield* (yield* Store).find(document_links, { document_id }, { order: ["id"] })
  return links.map(({ id }) => id)
})
