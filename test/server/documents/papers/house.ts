/** A server that renders documents from the tests' own sources. */
import { createHash } from "node:crypto"
import { Context, Effect } from "effect"
import type { DocumentSource, PreparedDocument } from "../../../../core/documents/content/prepare.ts"
import { opportunities } from "../../../../core/orders/opportunities/tables/opportunities.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { plain, type PrintDocument } from "../../../../core/pricing/print/blocks.ts"
import { DocumentPreparation, type Prepare } from "../../../../server/documents/papers/filled.ts"
import { nothing_outside } from "../../../../server/ports/outside.ts"
import type { Engine } from "../../../app.ts"
import { houseOn } from "../../house.ts"
import { clockAt, type Got, serve, type ServeOptions } from "../../serving.ts"

export { poll } from "../../house.ts"

export const paper = (title: string, text: string, logo?: string): PrintDocument => ({
  format: "flightcase.document",
  version: 2,
  language: "en",
  title,
  dated_at: "2026-06-18T12:00:00Z",
  page: { size: "A4" },
  blocks: [
    { kind: "heading", level: 1, text: title },
    { kind: "paragraph", runs: plain(text) },
    ...(logo === undefined
      ? []
      : [
          {
            kind: "columns" as const,
            columns: [
              { share: 1, blocks: [{ kind: "image" as const, picture: { sha256: logo }, alt: "Logo", width_mm: 30 }] }
            ]
          }
        ])
  ]
})

interface Drawn {
  /** Sources of the prepared documents, in order. */
  readonly prepared: Array<DocumentSource>
  /** Called when a source is prepared; may replace its result. */
  before: (source: DocumentSource) => Effect.Effect<Partial<PreparedDocument> | "gone" | void, never, Store>
  logo: string | undefined
}
/** Prepares a document with the opportunity's current subject. */
const preparing =
  (drawn: Drawn): Prepare =>
  (source) =>
    Effect.gen(function* () {
      drawn.prepared.push(source)
      const more = yield* drawn.before(source)
      if (more === "gone") return undefined
      const job = yield* (yield* Store).get(opportunities, source.documentable_id)
      const name = `${source.document_type}-${source.document_number ?? "pending"}`
      return {
        fragments: {},
        data: {},
        compose: () => paper(name, `Of ${job?.subject ?? "something else"}, ${source.now}`, drawn.logo),
        file_name: name,
        ...more
      }
    })

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const of_type: { readonly [type: string]: string } = {
  invoice: "Invoice",
  proforma_invoice: "Invoice",
  deposit_invoice: "Invoice",
  credit_note: "CreditNote",
  purchase_order: "PurchaseOrder"
}

export const openHouse = async (engine: Engine, options: ServeOptions = {}) => {
  const drawn: Drawn = { prepared: [], before: () => Effect.void, logo: undefined }
  const outside = { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] }
  const services = Context.merge(
    clockAt(() => Date.now()),
    Context.make(DocumentPreparation, preparing(drawn))
  )
  const house = houseOn(await serve(engine, { outside, ...options, services }))
  const { create, customer, did, show } = house
  let member: Promise<number> | undefined
  return {
    ...house,
    drawn,
    job: async (subject: string, more: object = {}): Promise<number> =>
      (await create("/opportunities", { subject, ...more })).id,
    invoice: async (type = "standard", issued = true): Promise<number> => {
      const member_id = await (member ??= customer({ name: "Ann Ltd" }))
      const { id } = await create("/invoices", { member_id, type, items: [{ name: "Lamp", unit_price: "50.00" }] })
      if (issued) await did(200, "POST", `/invoices/${id}/issue`, {})
      return id
    },
    made: async (document_type: string, documentable_id: number, more: object = {}): Promise<any> => {
      const documentable_type = of_type[document_type] ?? "Opportunity"
      return (
        await did(201, "POST", "/documents/generate", { document_type, documentable_type, documentable_id, ...more })
      ).document
    },
    document: (id: number) => show(`/documents/${id}`),
    fetched: (address: string): Promise<Got> => {
      const { pathname, search } = new URL(address)
      return house.ask(`${pathname}${search}`, { token: null })
    },
    /** Token of a new user with these permissions. */
    somebody: async (...permissions: ReadonlyArray<string>) => (await house.person({ permissions })).secret
  }
}
export type House = Awaited<ReturnType<typeof openHouse>>
