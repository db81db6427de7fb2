/** Endpoints of documents: generate, read, finalise, void (rules/billing 3). */
import { Effect, Result, Schema } from "effect"
import { credit_notes, invoices } from "../billing/state/tables.ts"
import { boolean, choice, command, CommandRuntime, created, get, hasOnePermission, integer } from "../kernel/index.ts"
import { list, listOf, longText, ok, ref, renderById, renderOne, resource, Shown, Store } from "../kernel/index.ts"
import { mapValues, text, timestamp, viewContext, visibleColumnsOf, wholeNumber } from "../kernel/index.ts"
import type { Answer, AnyRow, Endpoint, Id, Input, Settings, Status, Table, Viewer } from "../kernel/index.ts"
import { opportunities } from "../orders/opportunities/tables/index.ts"
import { purchase_orders } from "../purchasing/schema.ts"
import type { Asked, Batched, FinaliseFacts, Source, SourceFacts } from "./decide.ts"
import { finaliseDocument, requestBatch, requestDocument, seesDocument, voidDocument } from "./decide.ts"
import type { DocumentableType, DocumentLinkRow, DocumentRow } from "./schema.ts"
import {
  document_links,
  document_statuses,
  document_types,
  documentable_tables,
  documentable_types,
  documents,
  linkAddress
} from "./schema.ts"
import { stores } from "../setup/stores.ts"

// Facts for the rules of documents, read in the transaction.

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

/** Facts about sources by id: one query for any number. */
const sourceFacts = Effect.fnUntraced(function* (
  type: DocumentableType,
  ids: ReadonlyArray<number>,
  viewer: Viewer
): CommandRuntime.Reads<SourceFacts> {
  const { role } = yield* CommandRuntime
  const table = tables[type]
  const rows: ReadonlyArray<AnyRow> = yield* Store.getMany(table, ids)
  const there = rows.filter((row) => row["deleted_at"] === null)
  return {
    sources: new Map(there.map((row) => [Number(row["id"]), sourceOf(type, row)])),
    is_withheld: role === "replica" && visibleColumnsOf(table, viewer) !== "whole"
  }
})

/** Whether the document's source is a draft invoice; drafts of other sources do not prevent finalising. */
const finaliseFacts = Effect.fnUntraced(function* (row: DocumentRow): Store.Reads<FinaliseFacts> {
  if (row.documentable_type !== "Invoice") return { is_draft: false }
  const invoice = yield* Store.get(invoices, row.documentable_id)
  return { is_draft: invoice?.status === "draft" && invoice.deleted_at === null }
})

const linkIds = Effect.fnUntraced(function* (document_id: number) {
  const links = yield* Store.find(document_links, { document_id }, { order: ["id"] })
  return links.map(({ id }) => id)
})

/** Names of render jobs in the API, by how rendering was requested. */
export const draw_kinds = {
  request: "documents.draw",
  job: "documents.draw_queued",
  batch: "documents.draw_batch"
} as const

/**
 * How long a request waits for rendering, including retries. After that it returns the job's id, and the user is
 * notified when it is done.
 */
export const request_waits_millis = 25_000

const id_prefixes = { request: "d0c00001", job: "d0c00002", batch: "d0c00003" } as const
/** Id of the job that renders a document, or a batch by its first one: a UUID (version 8) of kind and document id. */
export const drawJobId = (kind: keyof typeof draw_kinds, document_id: number): string =>
  `${id_prefixes[kind]}-0000-8000-8000-${document_id.toString(16).padStart(12, "0")}`
/** Whether a job's id is that of rendering a user waits for; events of earlier releases name the job by kind. */
export const isRequestJob = (job_id: string): boolean =>
  [`${id_prefixes.request}-`, `${draw_kinds.request}:`].some((start) => job_id.startsWith(start))

// Paths and permissions of document endpoints (rules/billing 3).

export const path = "/api/v1/documents"
export const one = { id: { table: documents } } as const
export const read = { ability: "documents:read", permission: "documents.view" } as const
export const write = "documents:write"
/** Metering weight of a request that renders a PDF. */
export const drawing_weight = 5

// API representation of documents (rules/billing 3).

const readable_statuses: ReadonlyArray<keyof typeof document_statuses> = ["generated", "finalised"]

/** Newest public link of each document: one query for any number. */
const newestLinks = Effect.fnUntraced(function* (document_ids: ReadonlyArray<number>) {
  if (document_ids.length === 0) return new Map<number, DocumentLinkRow>()
  const rows = yield* Store.find(document_links, { document_id: document_ids, deleted_at: null }, { order: ["id"] })
  return new Map(rows.map((row) => [row.document_id, row]))
})
/** `file_url` gives the signed URL of a file, `public_url` the server's base URL; both are undefined on devices. */
const addresses = Effect.map(CommandRuntime.ifAny, (runtime) => ({
  file_url: runtime?.file_url,
  public_url: runtime?.role === "server" ? runtime.public_url : undefined
}))

const public_link_keys = {
  token: text({ max: 64 }),
  url: text({ nullable: true, max: 2_000, describe: "URL of its public page; null on a device" }),
  expires_at: timestamp({ nullable: true }),
  requires_pin: boolean(),
  created_at: timestamp()
}
export const publicLinkShown = Shown.keys(public_link_keys, { nullable: true })
/** API representation of a public link. */
export const publicLinkOut = (
  { created_at, expires_at, requires_pin, token }: DocumentLinkRow,
  settings: Settings,
  public_url: (() => string) | undefined
) => ({
  token,
  url: public_url === undefined ? null : linkAddress(token, settings, public_url()),
  expires_at,
  requires_pin,
  created_at
})

const labelled = <L extends { readonly [key: string]: string }>(column: string, labels: L) =>
  Object.entries(labels).flatMap(([value, label]) =>
    [value, label].map((name) => ({ name, where: { [column]: value } }))
  )
const type_names = mapValues(document_types, ({ name }) => name)

export const documentResource = resource({
  singular: "document",
  heading: "Deals",
  called: { by: ["document_number"] },
  table: documents,
  aliases: { type: "document_type" },
  filters: [
    "document_number",
    "document_type",
    "status",
    "documentable_type",
    "documentable_id",
    "store_id",
    "created_at",
    "finalised_at",
    "generated_at",
    "updated_at"
  ],
  sorts: ["document_number", "status", "document_type", "created_at", "generated_at", "finalised_at", "updated_at"],
  value_names: {
    document_type: labelled("document_type", type_names),
    documentable_type: labelled("documentable_type", documentable_types),
    status: labelled("status", document_statuses)
  },
  related: { "store.name": { via: "store_id", table: stores, column: "name" } },
  includes: { store: { kind: "brief", via: "store_id", table: stores } },
  shows: {
    document_type_name: text(),
    status_name: text(),
    download_url: text({
      nullable: true,
      max: 2_000,
      describe: "Signed URL of the PDF, valid for an hour without a token; null if unavailable"
    }),
    public_link: publicLinkShown
  },
  load: (rows) =>
    Effect.all({ addresses, links: newestLinks(rows.filter(({ status }) => status !== "voided").map(({ id }) => id)) }),
  view: (base, row, _related, { now, settings, viewer }, { addresses: { file_url, public_url }, links }) => {
    const link = links.get(row.id)
    const is_seen = seesDocument(row, viewer)
    const is_readable =
      is_seen &&
      row.uuid !== null &&
      readable_statuses.includes(row.status) &&
      hasOnePermission(viewer, "documents.view")
    return {
      ...base,
      document_type_name: document_types[row.document_type].name,
      status_name: document_statuses[row.status],
      download_url: is_readable && row.uuid !== null ? (file_url?.(row.uuid, now) ?? null) : null,
      public_link: link === undefined || !is_seen ? null : publicLinkOut(link, settings, public_url)
    }
  }
})

const documentShown = { document: Shown.row(() => documentResource) }
const answerOf = (status: Status) => (result: Id, input: Input) =>
  Effect.map(renderById(documentResource, result.id, input.query, viewContext(input)), status)

const about = {
  document_type: choice(type_names, { required: true, any_case: true }),
  documentable_type: choice(documentable_types, {
    required: true,
    any_case: true,
    describe: "Type of the source, such as Opportunity or purchase_order"
  })
}
const store_id = () =>
  ref("stores", { nullable: true, describe: "Store for branding and texts; default: the source's store" })
const id_max = Number.MAX_SAFE_INTEGER
const named = { by: "documentable_type", tables: documentable_tables } as const

/** The requested types and store. Both types are required, so their defaults never apply. */
const askedOf = (values: Partial<Asked>): Asked => ({
  document_type: values.document_type ?? "quotation",
  documentable_type: values.documentable_type ?? "Opportunity",
  store_id: values.store_id ?? null
})

const listed = get(path, {
  answer: Shown.page(() => documentResource),
  name: "documents.list",
  summary: "List documents",
  ...read,
  run: (input: Input) => listOf(documentResource, input)
})
const show = get(`${path}/{id}`, {
  answer: { ...documentShown, meta: Shown.optional(Shown.warnings()) },
  name: "documents.show",
  summary: "Show one document, with a URL of its PDF that is valid for an hour",
  ...read,
  params: one,
  run: (input) => Effect.map(renderOne(documentResource, input.rows.id, input.query, viewContext(input)), ok)
})

const queued_shown = {
  message: text(),
  job_id: text({ describe: "UUID of the job, for GET /api/v1/system/jobs/{id}" })
}
/** Response of a call whose document is rendered by a job. */
export const queuedAnswer = (job_id: string, message: string): Answer<{ message: string; job_id: string }> => ({
  status: 202,
  body: { message, job_id }
})

export const generate = command("POST", `${path}/generate`, {
  answer: documentShown,
  error_answers: { 202: queued_shown, 503: null },
  success_status: 201,
  metering_weight: drawing_weight,
  name: "documents.generate",
  summary: "Create a document, rendered at once or, with async, by a job",
  ability: write,
  permission: "documents.create",
  fields: {
    ...about,
    documentable_id: integer({ required: true, min: 1, max: id_max, names: named }),
    store_id: store_id(),
    async: boolean({ default: false, describe: "Respond 202 with the id of the job that renders it" })
  },
  creates: [documents],
  result: Schema.suspend(() => Schema.Struct({ id: wholeNumber, is_queued: Schema.Boolean })),
  facts: ({ values, viewer }) => sourceFacts(askedOf(values).documentable_type, [values.documentable_id ?? 0], viewer),
  decide: (facts, { values }, context) => {
    const is_queued = values.async === true
    const decided = requestDocument(
      facts,
      { ...askedOf(values), documentable_id: values.documentable_id ?? 0, drawn_by: is_queued ? "job" : "request" },
      context
    )
    return Result.map(decided, ({ events, result }) => ({ events, result: { ...result, is_queued } }))
  },
  respond: Effect.fnUntraced(function* ({ id, is_queued }, input) {
    if (is_queued && (yield* CommandRuntime.ifAny)?.role === "server")
      return queuedAnswer(drawJobId("job", id), "The document is being made.")
    return created(yield* renderById(documentResource, id, input.query, viewContext(input)))
  })
})

const batch = command("POST", `${path}/batch_generate`, {
  answer: { ...queued_shown, count: integer({ describe: "Number of documents requested" }) },
  success_status: 202,
  metering_weight: drawing_weight,
  name: "documents.batch",
  summary: "Create documents for up to 100 sources, in one job",
  ability: write,
  permission: "documents.create",
  server_only: true,
  fields: {
    ...about,
    documentable_ids: list(integer({ min: 1, max: id_max, names: named }), {
      required: true,
      min_items: 1,
      max_items: 100
    }),
    store_id: store_id()
  },
  result: Schema.suspend((): Schema.Codec<Batched> => Schema.Struct({ id: wholeNumber, count: wholeNumber })),
  facts: ({ values, viewer }) => sourceFacts(askedOf(values).documentable_type, values.documentable_ids ?? [], viewer),
  decide: (facts, { values }, context) =>
    requestBatch(facts, { ...askedOf(values), documentable_ids: values.documentable_ids ?? [] }, context),
  respond: ({ count, id }) =>
    Effect.succeed({
      status: 202,
      body: { message: "The documents are being made.", job_id: drawJobId("batch", id), count }
    })
})

const finalise = command("POST", `${path}/{id}/finalise`, {
  answer: documentShown,
  name: "documents.finalise",
  summary: "Finalise a document; later changes of its source do not affect it",
  ability: write,
  permission: "documents.create",
  params: one,
  facts: ({ rows }) => finaliseFacts(rows.id),
  decide: (facts, { rows }, context) => finaliseDocument(rows.id, facts, context),
  respond: answerOf(ok)
})
const voided = command("POST", `${path}/{id}/void`, {
  answer: documentShown,
  name: "documents.void",
  summary: "Void a document; its public page and file become unavailable",
  destructive: true,
  ability: write,
  permission: "documents.create",
  params: one,
  fields: { reason: longText({ nullable: true, max: 1_000 }) },
  facts: ({ rows }) => linkIds(rows.id.id),
  decide: (link_ids, { rows, values }, context) => voidDocument(rows.id, link_ids, values.reason ?? null, context),
  respond: answerOf(ok)
})

export const documentEndpoints: ReadonlyArray<Endpoint> = [listed, show, generate, batch, finalise, voided]
