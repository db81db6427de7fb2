/** Requesting, finalising and voiding documents (rules/billing 3). */
import { Result } from "effect"
import { nextDocumentNumber } from "../billing/state/events.ts"
import { decided, decision, forbidden, hasOnePermission, invalid, reject, wordsOf } from "../kernel/index.ts"
import type { DecideContext, Decided, NewEvent, Rejection, Viewer } from "../kernel/index.ts"
import type { DocumentableType, DocumentRow, DocumentType, DrawnBy } from "./schema.ts"
import {
  document_statuses,
  document_types,
  documentable_types,
  documentChange,
  documentFinalised,
  documentRequested,
  documents,
  documentsBatched,
  documentVoided,
  names_costs
} from "./schema.ts"

export const seesDocument = ({ document_type }: Pick<DocumentRow, "document_type">, viewer: Viewer): boolean =>
  !names_costs.has(document_type) || hasOnePermission(viewer, "costs.view")

/** Facts about a document's source. */
export interface Source {
  readonly id: number
  readonly store_id: number | null
  /** Type of an invoice; null for other sources. */
  readonly invoice_type: string | null
}
export interface SourceFacts {
  /** Undeleted sources by id. */
  readonly sources: ReadonlyMap<number, Source>
  /** True on devices whose user does not see all columns of the sources; the server looks them up. */
  readonly is_withheld: boolean
}
export interface Asked {
  readonly document_type: DocumentType
  readonly documentable_type: DocumentableType
  readonly store_id: number | null
}

const fits = ({ document_type, documentable_type }: Asked): Result.Result<void, Rejection> => {
  const { name, of } = document_types[document_type]
  return of === documentable_type
    ? Result.succeed(undefined)
    : reject(
        "document_type",
        `A document of the type ${name} is made of the documentable_type ${of}, not of ${documentable_type}.`
      )
}
export const mayHandle = (
  { document_type }: Pick<DocumentRow, "document_type">,
  viewer: Viewer
): Result.Result<void, Rejection> =>
  seesDocument({ document_type }, viewer)
    ? Result.succeed(undefined)
    : Result.fail(forbidden("An order to a supplier names costs: its document needs the permission costs.view."))

/** Invoice type that a document type requires; others fit every type. */
const only_of: { readonly [T in DocumentType]?: string } = { proforma_invoice: "proforma", deposit_invoice: "deposit" }
/** Reason a source cannot have such a document; undefined if it can. */
const misfit = ({ document_type }: Asked, { invoice_type }: Source): string | undefined => {
  const wanted = only_of[document_type]
  return wanted === undefined || invoice_type === null || invoice_type === wanted
    ? undefined
    : `A document of the type ${document_types[document_type].name} is made of a ${wanted} invoice only; ` +
        `this one is ${invoice_type}.`
}
const missing = (type: DocumentableType): string =>
  `There is no ${documentable_types[type].toLowerCase()} with this id, or it was deleted.`

/** The new row of a requested document. */
const requested = (
  asked: Asked,
  documentable_id: number,
  store_id: number | null,
  drawn_by: DrawnBy,
  context: DecideContext
): { readonly id: number; readonly event: NewEvent } => {
  const id = context.id(documents)
  const row = {
    id,
    document_number: nextDocumentNumber("document", store_id, context),
    document_type: asked.document_type,
    status: "pending" as const,
    documentable_type: asked.documentable_type,
    documentable_id,
    store_id,
    mime_type: "application/pdf",
    file_size: null,
    uuid: null,
    file_name: null,
    sha256: null,
    of_draft: false,
    generated_at: null,
    finalised_at: null,
    voided_at: null,
    void_reason: null,
    error: null,
    created_by: context.viewer.user_id || null,
    drawn_by
  }
  return { id, event: documentRequested.make(row) }
}

export const requestDocument = (
  { is_withheld, sources }: SourceFacts,
  asked: Asked & { readonly documentable_id: number; readonly drawn_by: DrawnBy },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    yield* mayHandle(asked, context.viewer)
    yield* fits(asked)
    const source = sources.get(asked.documentable_id)
    if (source === undefined && !is_withheld) return yield* reject("documentable_id", missing(asked.documentable_type))
    const problem = source === undefined ? undefined : misfit(asked, source)
    if (problem !== undefined) return yield* reject("document_type", problem)
    const store_id = asked.store_id ?? source?.store_id ?? null
    const { event, id } = requested(asked, asked.documentable_id, store_id, asked.drawn_by, context)
    return decision(id, [event])
  })

/** A requested batch: documents of several sources, requested all or none. `id` is that of the first document. */
export interface Batched {
  readonly id: number
  readonly count: number
}
export const requestBatch = (
  { sources }: SourceFacts,
  asked: Asked & { readonly documentable_ids: ReadonlyArray<number> },
  context: DecideContext
): Decided<Batched> =>
  Result.gen(function* () {
    yield* mayHandle(asked, context.viewer)
    yield* fits(asked)
    const errors = Object.fromEntries(
      asked.documentable_ids.flatMap((id, at) => {
        const source = sources.get(id)
        const problem =
          asked.documentable_ids.indexOf(id) < at
            ? "This id stands in the list already: each gets one document."
            : source === undefined
              ? missing(asked.documentable_type)
              : misfit(asked, source)
        return problem === undefined ? [] : [[`documentable_ids.${at}`, [problem]]]
      })
    )
    if (Object.keys(errors).length > 0) return yield* Result.fail(invalid(errors))
    const made = asked.documentable_ids.map((id) =>
      requested(asked, id, asked.store_id ?? sources.get(id)?.store_id ?? null, "batch", context)
    )
    const [first] = made
    if (first === undefined) return yield* reject("documentable_ids", "Name at least one to make a document of.")
    const document_ids = made.map(({ id }) => id)
    return {
      events: [...made.map(({ event }) => event), documentsBatched.make({ id: first.id, document_ids })],
      result: { id: first.id, count: made.length }
    }
  })

const refuse = (text: string) => reject("status", text)
const wordOf = (row: DocumentRow): string => document_statuses[row.status].toLowerCase()

export interface FinaliseFacts {
  /** Whether the source is currently a draft invoice. */
  readonly is_draft: boolean
}
export const finaliseDocument = (row: DocumentRow, { is_draft }: FinaliseFacts, { now }: DecideContext): Decided => {
  if (row.status !== "generated")
    return refuse(`The ${wordsOf(documents)} is ${wordOf(row)}; only a generated one can be made final.`)
  if (is_draft) return refuse("It was made of a draft: issue the invoice, then generate the document again.")
  if (row.of_draft) return refuse("It was drawn while the invoice was a draft, and says so: generate it again.")
  return decided(row.id, [documentFinalised.make(documentChange(row, { status: "finalised", finalised_at: now }))])
}

export const voidDocument = (
  row: DocumentRow,
  link_ids: ReadonlyArray<number>,
  reason: string | null,
  { now }: DecideContext
): Decided =>
  row.status !== "generated" && row.status !== "finalised"
    ? refuse(`The document is ${wordOf(row)}; only a generated or a finalised one can be voided.`)
    : decided(row.id, [
        documentVoided.make({
          // Clearing the uuid disables its signed URLs; the content stays under its hash.
          ...documentChange(row, { status: "voided", voided_at: now, void_reason: reason, uuid: null }),
          link_ids
        })
      ])
