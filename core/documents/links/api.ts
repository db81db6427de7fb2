/** Acceptances, verification of files, and settings of public links; on devices as well. */
import { Effect, Result } from "effect"
import { boolean, choice, CommandRuntime, get, invalidField, listOf, ok, postQuery } from "../../kernel/index.ts"
import { reaction, render, renderOne, resource, Shown, Store, text, viewContext } from "../../kernel/index.ts"
import type { Endpoint, SettingGroups } from "../../kernel/index.ts"
import type { DocumentLinkRow, DocumentRow } from "../schema.ts"
import { document_acceptances, document_links, document_snapshots, documents } from "../schema.ts"
import { invoices } from "../../billing/state/tables.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { memberAnonymised } from "../../people/personal-data/erase.ts"
import { documentResource, one, path, read } from "../lifecycle-api.ts"
import { seesDocument } from "../decide.ts"
import { acceptanceErased, revoked } from "./events.ts"

// API representation of acceptances (rules/billing 3).

const addressOf = Effect.map(CommandRuntime.ifAny, (runtime) => runtime?.file_url)
export const acceptanceResource = resource({
  singular: "document_acceptance",
  table: document_acceptances,
  filters: ["document_id", "opportunity_id", "accepted_at", "created_at"],
  sorts: ["accepted_at", "created_at"],
  shows: {
    download_url: text({
      nullable: true,
      describe: "Signed URL of document and certificate, valid for an hour; null if unavailable"
    })
  },
  load: () => addressOf,
  view: (base, row, _related, { now }, addressAt) => ({
    ...base,
    download_url: row.uuid === null ? null : (addressAt?.(row.uuid, now) ?? null)
  })
})

const acceptances = get(`${path}/{id}/acceptances`, {
  ...read,
  answer: Shown.page(() => acceptanceResource),
  name: "documents.acceptances",
  summary: "Show who accepted a document at its public link, with its certificate",
  params: one,
  run: (input) => listOf(acceptanceResource, input, { where: { document_id: input.rows.id.id } })
})

const parts = {
  pdf: "PDF of the document",
  certificate: "PDF of the document with its acceptance certificate",
  snapshot: "Data the document was rendered from"
} as const
/** The document that a file belongs to, by the file's hash, and which of its files it is; undefined if unknown. */
const recordOf = Effect.fnUntraced(function* (sha256: string) {
  // Two documents of one invoice may be identical; one that is not voided takes precedence.
  const same = yield* Store.find(documents, { sha256 }, { order: ["id"] })
  const pdf = same.findLast(({ status }) => status !== "voided") ?? same.at(-1)
  if (pdf !== undefined) return { part: "pdf", document: pdf } as const
  const certificate = yield* Store.first(document_acceptances, { sha256 })
  const snapshot =
    certificate === undefined
      ? yield* Store.first(document_snapshots, { sha256, mime_type: "application/json" })
      : undefined
  const id = certificate?.document_id ?? snapshot?.document_id
  const document: DocumentRow | undefined = id === undefined ? undefined : yield* Store.get(documents, id)
  if (document === undefined) return undefined
  return { part: certificate === undefined ? "snapshot" : "certificate", document } as const
})
const verify = postQuery(`${path}/verify`, {
  ...read,
  answer: {
    known: boolean({ describe: "Whether this server created an identical file" }),
    part: choice(parts, { nullable: true, describe: "File of the document that matches" }),
    document: Shown.row(() => documentResource, { nullable: true }),
    acceptances: Shown.rows(() => acceptanceResource)
  },
  name: "documents.check_file",
  summary: "Identify the document and acceptances of an unaltered file by its SHA-256",
  fields: { sha256: text({ required: true, max: 64, describe: "SHA-256 of the file: 64 hexadecimal digits" }) },
  run: Effect.fnUntraced(function* (input) {
    const sha256 = (input.values.sha256 ?? "").toLowerCase()
    if (!/^[0-9a-f]{64}$/.test(sha256))
      return yield* invalidField("sha256", "The sha256 field must be 64 hexadecimal digits.")
    const found = yield* recordOf(sha256)
    if (found === undefined || !seesDocument(found.document, input.viewer))
      return ok({ known: false, part: null, document: null, acceptances: [] } as const)
    const context = viewContext(input)
    const rows = yield* Store.find(document_acceptances, { document_id: found.document.id }, { order: ["id"] })
    return ok({
      known: true,
      part: found.part,
      document: (yield* renderOne(documentResource, found.document, [], context)).document,
      acceptances: yield* render(acceptanceResource, rows, [], context)
    } as const)
  })
})

/** Public links to documents of these opportunities and invoices. */
const linksNaming = Effect.fnUntraced(function* (
  jobs: ReadonlyArray<number>,
  bills: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<DocumentLinkRow>> {
  const of = (documentable_type: "Opportunity" | "Invoice", ids: ReadonlyArray<number>) =>
    ids.length === 0 ? Effect.succeed([]) : Store.find(documents, { documentable_type, documentable_id: ids })
  const made = [...(yield* of("Opportunity", jobs)), ...(yield* of("Invoice", bills))]
  return made.length === 0 ? [] : yield* Store.find(document_links, { document_id: made.map(({ id }) => id) })
})
/** Erasing a customer revokes the links to their documents and erases the acceptances of their opportunities. */
export const linkReactions = [
  reaction({
    on: [memberAnonymised],
    facts: ({ events }) =>
      Effect.gen(function* () {
        const member_id = events.flatMap(({ data }) => [data.id, ...data.merged_ids])
        const jobs = (yield* Store.find(opportunities, { member_id })).map(({ id }) => id)
        const bills = (yield* Store.find(invoices, { member_id })).map(({ id }) => id)
        return {
          links: yield* linksNaming(jobs, bills),
          rows: jobs.length === 0 ? [] : yield* Store.find(document_acceptances, { opportunity_id: jobs })
        }
      }),
    decide: (_happened, { links, rows }) =>
      Result.succeed([
        ...links.map((link) => revoked(link)),
        ...rows.map((row) => acceptanceErased.make({ id: row.document_id }))
      ])
  })
]
export const acceptanceEndpoints: ReadonlyArray<Endpoint> = [acceptances, verify]

// Settings of public links and acceptance.

export const acceptance_effects = {
  none: "The quotation stays as it is",
  reserve: "The quotation is reserved",
  order: "The quotation becomes an order, unless it is short"
} as const
export const linkSettings = {
  documents: {
    public_link_prefix: text({
      nullable: true,
      on_null: "clear",
      max: 500,
      format: "url",
      describe: "Base URL of public links if a proxy serves them, such as https://offers.example/d"
    }),
    acceptance: choice(acceptance_effects, {
      default: "reserve",
      any_case: true,
      describe: "Effect of accepting a quotation at its public link"
    })
  }
} satisfies SettingGroups
