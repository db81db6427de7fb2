/**
 * Documents: quotes, orders, warehouse documents, invoices and purchase orders, for printing, sending and signing
 * (rules/billing 3). A row names its source; its PDF and its tree of blocks are files.
 */
import type { InvoiceRow } from "../billing/state/tables.ts"
import { boolean, choice, eventType, full_read_permission, hasOnePermission, insertRow } from "../kernel/index.ts"
import { integer, longText, newRow, newRowWith, recordEvents, ref, remove, settingText } from "../kernel/index.ts"
import { mapValues, table, text, timestamp } from "../kernel/index.ts"
import type { AnyEventType, AnyRow, NewRow, RowOf, Settings, SomeColumns, Viewer } from "../kernel/index.ts"
import { Schema } from "effect"

// The document types and their sources (rules/billing 3).

export const documentable_types = {
  Opportunity: "Opportunity",
  Invoice: "Invoice",
  CreditNote: "Credit Note",
  PurchaseOrder: "Purchase Order"
} as const
export type DocumentableType = keyof typeof documentable_types
export const documentable_tables = {
  Opportunity: "opportunities",
  Invoice: "invoices",
  CreditNote: "credit_notes",
  PurchaseOrder: "purchase_orders"
} as const satisfies { readonly [T in DocumentableType]: string }

interface TypeOfDocument {
  readonly name: string
  readonly of: DocumentableType
  readonly description: string
}
const ofType = <const K extends string>(types: { readonly [T in K]: TypeOfDocument }) => types
export const document_types = ofType({
  quotation: {
    name: "Quotation",
    of: "Opportunity",
    description: "Prices and terms of a job, for the customer to accept"
  },
  order_confirmation: {
    name: "Order Confirmation",
    of: "Opportunity",
    description: "Ordered goods, delivery dates and prices"
  },
  pick_list: {
    name: "Pick List",
    of: "Opportunity",
    description: "Goods to pick, with their places, codes to scan and boxes to tick"
  },
  delivery_note: {
    name: "Delivery Note",
    of: "Opportunity",
    description: "Dispatched goods, for the recipient to sign"
  },
  return_note: { name: "Return Note", of: "Opportunity", description: "Goods due back, and those already returned" },
  invoice: { name: "Invoice", of: "Invoice", description: "Invoice" },
  proforma_invoice: {
    name: "Proforma Invoice",
    of: "Invoice",
    description: "Proforma invoice, from an invoice of that type"
  },
  deposit_invoice: {
    name: "Deposit Invoice",
    of: "Invoice",
    description: "Deposit invoice, from an invoice of that type"
  },
  credit_note: { name: "Credit Note", of: "CreditNote", description: "Credit note" },
  purchase_order: { name: "Purchase Order", of: "PurchaseOrder", description: "Purchase order to a supplier" }
})
export type DocumentType = keyof typeof document_types

/** Purchase orders show costs, so their documents need the costs permission. */
export const names_costs: ReadonlySet<DocumentType> = new Set<DocumentType>(["purchase_order"])

export const typeOfInvoice = ({ type }: Pick<InvoiceRow, "type">): DocumentType =>
  type === "standard" ? "invoice" : type === "deposit" ? "deposit_invoice" : "proforma_invoice"

export const document_statuses = {
  pending: "Pending",
  generated: "Generated",
  finalised: "Finalised",
  voided: "Voided",
  failed: "Failed"
} as const
const type_labels = mapValues(document_types, ({ name }) => name)
const seen = { all_columns: ["documents.*"] } as const

export const documents = table(
  "documents",
  {
    /** Null until numbered by a server. */
    document_number: text({ nullable: true, computed: true, max: 80, search: true }),
    document_type: choice(type_labels, { create_only: true, any_case: true }),
    status: choice(document_statuses, { computed: true, default: "pending" }),
    documentable_type: choice(documentable_types, { create_only: true, any_case: true }),
    documentable_id: integer({
      create_only: true,
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      names: { by: "documentable_type", tables: documentable_tables }
    }),
    store_id: ref("stores", { nullable: true, live: false, on_delete: "keep" }),
    mime_type: text({ computed: true, default: "application/pdf" }),
    file_size: integer({ nullable: true, computed: true, min: 0 }),
    /** The PDF: its uuid for URLs, its file name, and the hash of its content. */
    uuid: text({ nullable: true, computed: true, hidden: true, max: 36 }),
    file_name: text({ nullable: true, computed: true, hidden: true }),
    sha256: text({ nullable: true, computed: true, hidden: true, max: 64 }),
    /** Whether it was rendered from a draft, with a watermark on every page. */
    of_draft: boolean({ computed: true, hidden: true, default: false }),
    generated_at: timestamp({ nullable: true, computed: true }),
    finalised_at: timestamp({ nullable: true, computed: true }),
    voided_at: timestamp({ nullable: true, computed: true }),
    void_reason: longText({ nullable: true, computed: true, max: 1_000 }),
    /** Reason rendering failed. */
    error: longText({ nullable: true, computed: true, max: 1_000 }),
    created_by: ref("users", { nullable: true, computed: true, on_delete: "keep" })
  },
  {
    visibility: seen,
    named_by: ["document_number"],
    file: { uuid: "uuid", sha256: "sha256", name: "file_name", mime_type: "mime_type", size_bytes: "file_size" },
    references: Object.entries(documentable_tables).map(([type, name]) => ({
      column: "documentable_id",
      where: { documentable_type: type },
      table: name,
      rule: { on_delete: "keep", on_merge: "follow" } as const
    })),
    lease_block_size: 50,
    indexes: [
      ["document_number_folded"],
      ["document_type"],
      ["status"],
      ["documentable_type", "documentable_id"],
      ["store_id"],
      ["created_at"],
      ["finalised_at"],
      ["updated_at"],
      ["uuid"],
      ["sha256"]
    ]
  }
)
export type DocumentRow = RowOf<typeof documents>

/** Rows belong to the document's stream. */
const ofDocument = { stream: { entity: "document", column: "document_id" }, visibility: seen } as const
const documentId = () => ref("documents", { computed: true, live: false, on_delete: "keep" })

/**
 * Input of rendering: the tree of blocks as a JSON file, and its pictures. It gives the same pages whatever happens to
 * source and logo.
 */
export const document_snapshots = table(
  "document_snapshots",
  {
    document_id: documentId(),
    uuid: text({ computed: true, max: 36 }),
    file_name: text({ computed: true }),
    mime_type: text({ computed: true, default: "application/json" }),
    file_size: integer({ computed: true, min: 0 }),
    sha256: text({ computed: true, max: 64 })
  },
  {
    ...ofDocument,
    entity: "document_snapshot",
    file: { uuid: "uuid", sha256: "sha256", name: "file_name", mime_type: "mime_type", size_bytes: "file_size" },
    indexes: [["document_id"], ["uuid"], ["sha256"]]
  }
)
export type DocumentSnapshotRow = RowOf<typeof document_snapshots>

/** Whether the viewer may see a link. As links open the whole document, permissions of documents apply. */
const seesLink = ({ document_type }: AnyRow, viewer: Viewer): boolean =>
  ["documents.view", "documents.create", "documents.share", full_read_permission].some((one) =>
    hasOnePermission(viewer, one)
  ) &&
  (!names_costs.has(document_type as DocumentType) || hasOnePermission(viewer, "costs.view"))
/** Public link for readers without an account; at most one per document. */
export const document_links = table(
  "document_links",
  {
    document_id: documentId(),
    /** Type of the document, which decides who may see the link. */
    document_type: choice(type_labels, { computed: true, hidden: true }),
    token: text({ computed: true, max: 64 }),
    expires_at: timestamp({ nullable: true }),
    /** Whether a PIN is required. Its hash is kept outside the journal; if that is lost, the link stays closed. */
    requires_pin: boolean({ computed: true, default: false })
  },
  {
    ...ofDocument,
    visibility: { all_columns: [], by_row: seesLink, says_by: ["document_type"] },
    entity: "document_link",
    indexes: [["document_id"]],
    uniques: [{ columns: ["token"], field: "public_link", message: "Another document has this link; try again." }]
  }
)
export type DocumentLinkRow = RowOf<typeof document_links>

/** An acceptance at a public link. */
export const document_acceptances = table(
  "document_acceptances",
  {
    document_id: documentId(),
    opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    accepted_at: timestamp({ computed: true }),
    name: text({ computed: true }),
    email: text({ nullable: true, computed: true }),
    ip_address: text({ nullable: true, computed: true, max: 64 }),
    user_agent: text({ nullable: true, computed: true, max: 500 }),
    link_id: ref("document_links", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    /** Hashes of the displayed text and of its PDF. */
    text_sha256: text({ computed: true, max: 64 }),
    pdf_sha256: text({ computed: true, max: 64 }),
    /** Strokes of a drawn signature, as SVG path data (`M12 30L13 31…`); null without one. */
    signature_svg: longText({ nullable: true, computed: true, hidden: true, max: 100_000 }),
    /** Result of the acceptance for the opportunity, or why it failed: "Stock is short: …". */
    note: longText({ nullable: true, computed: true, max: 2_000 }),
    /** PDF of the document with its certificate: its uuid for URLs, and hash. */
    uuid: text({ nullable: true, computed: true, hidden: true, max: 36 }),
    file_name: text({ nullable: true, computed: true, hidden: true }),
    mime_type: text({ computed: true, default: "application/pdf", hidden: true }),
    file_size: integer({ nullable: true, computed: true, hidden: true, min: 0 }),
    sha256: text({ nullable: true, computed: true, hidden: true, max: 64 })
  },
  {
    ...ofDocument,
    entity: "document_acceptance",
    file: { uuid: "uuid", sha256: "sha256", name: "file_name", mime_type: "mime_type", size_bytes: "file_size" },
    indexes: [["opportunity_id"], ["uuid"], ["sha256"], ["pdf_sha256"]],
    uniques: [{ columns: ["document_id"], field: "document", message: "The document was accepted already." }]
  }
)
export type DocumentAcceptanceRow = RowOf<typeof document_acceptances>

export const layoutFields = {
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "delete" }),
  document_type: choice(type_labels, { nullable: true, on_null: "clear", any_case: true }),
  logo_attachment_id: ref("attachments", { nullable: true, on_null: "clear", on_delete: "clear" }),
  /** Colour of headings and rules, as `#rrggbb`. */
  accent: text({ nullable: true, max: 7, on_null: "clear" }),
  page_size: choice({ A4: "A4", LETTER: "Letter" }, { nullable: true, any_case: true }),
  /** Liquid texts with fields of the type: above the lines, below the totals, in the footer, and of the mail. */
  intro: longText({ nullable: true, max: 5_000, on_null: "clear" }),
  terms: longText({ nullable: true, max: 50_000, on_null: "clear" }),
  footer: longText({ nullable: true, max: 2_000, on_null: "clear" }),
  mail_subject: text({ nullable: true, on_null: "clear" }),
  mail_text: longText({ nullable: true, max: 5_000, on_null: "clear" })
}
/**
 * Branding and texts of documents by store and type, either or neither. Each field comes from the most specific row
 * that has it.
 */
export const document_layouts = table(
  "document_layouts",
  {
    ...layoutFields,
    /** Store and type as one text, as a unique index would not compare nulls. */
    scope: text({ computed: true, hidden: true, max: 60 })
  },
  {
    visibility: { all_columns: "everyone" },
    indexes: [["store_id"]],
    uniques: [
      {
        columns: ["scope"],
        field: "document_type",
        message: "There is a layout for this store and type already: change that one."
      }
    ]
  }
)
export type DocumentLayoutRow = RowOf<typeof document_layouts>

// URLs of public links.

/** URL of a public link: below the prefix in the settings, else below the server's URL. */
export const linkAddress = (token: string, settings: Settings, public_url: string): string => {
  const prefix = settingText(settings, "documents", "public_link_prefix").trim() || `${public_url}/d`
  return `${prefix.replace(/\/+$/, "")}/${token}`
}

// Events of documents (rules/billing 3). They carry results: rendered content and its hashes. Replaying renders and
// sends nothing.

// Columns hidden from the activity, as they locate files.
const records = recordEvents(documents, "uuid", "sha256", "of_draft")
const { changed, shown } = records
export const { change: documentChange, stream: documentStream } = records

/** How rendering was requested; for `request` a user waits for it. */
const drawn_by = ["request", "job", "batch"] as const
export type DrawnBy = (typeof drawn_by)[number]

interface Requested extends SomeColumns<typeof documents> {
  readonly id: number
  readonly drawn_by: DrawnBy
}
export const documentRequested = eventType<Requested, NewRow<typeof documents> & Pick<Requested, "drawn_by">>(
  "document.requested",
  {
    meaning: "A document was requested: its source and its number, null until assigned.",
    data: () => newRowWith(documents, { drawn_by: Schema.Literals(drawn_by) }),
    project: ({ drawn_by: _drawn_by, ...row }, { recorded_at }) => [insertRow(documents, row, recorded_at)],
    activity: ({ drawn_by: _drawn_by, ...row }) => ({ old_values: null, new_values: shown(row) })
  }
)
export const documentsBatched = eventType("document.batched", {
  meaning: "A batch of documents was requested, to be drawn in turn. The stream is the first document's.",
  data: () => Schema.Struct({ id: Schema.Int, document_ids: Schema.Array(Schema.Int) }),
  project: "changes_no_table"
})

export const documentGenerated = changed("document.generated", {
  meaning: "A document was drawn: its PDF and the content it was drawn from, each with its SHA-256.",
  more: () => ({
    documentable_type: Schema.String,
    documentable_id: Schema.Int,
    job_id: Schema.NullOr(Schema.String),
    drawn_from: Schema.Array(newRow(document_snapshots))
  }),
  rows: ({ drawn_from }, at) => drawn_from.map((row) => insertRow(document_snapshots, row, at))
})
export const documentFailed = changed("document.failed", {
  meaning: "A document could not be drawn: the reason, and whether it may be temporary.",
  more: () => ({ may_work_later: Schema.Boolean })
})
export const documentFinalised = changed("document.finalised", {
  meaning: "A document was finalised: its content can no longer change."
})
export const documentVoided = changed("document.voided", {
  meaning: "A document was voided. It keeps its number and content; its public links stopped working.",
  // Ids of its public links, which are removed.
  more: () => ({ link_ids: Schema.Array(Schema.Int) }),
  rows: ({ link_ids }) => link_ids.map((id) => remove(document_links, id))
})

export const documentEvents: ReadonlyArray<AnyEventType> = [
  documentRequested,
  documentsBatched,
  documentGenerated,
  documentFailed,
  documentFinalised,
  documentVoided
]
