/** A server that draws documents in the tests' own words, and what is made documents of. */
import { createHash } from "node:crypto"
import { Context, Effect } from "effect"
import { expect } from "vitest"
import type { DocumentSource, PreparedDocument } from "../../../core/documents/content/prepare.ts"
import { opportunities } from "../../../core/opportunities/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { plain, type PrintDocument } from "../../../core/print/blocks.ts"
import { DocumentPreparation, type Prepare } from "../../../server/documents/preparing.ts"
import { nothing_outside } from "../../../server/outside.ts"
import type { Engine } from "../../app.ts"
import { clockAt, type Got, serve, type ServeOptions, type Serving } from "../serving.ts"

export const paper = (title: string, text: string, logo?: string): PrintDocument => ({
  format: "flightcase.document",
  version: 1,
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

export interface Drawn {
  /** What was prepared, in its order. */
  readonly prepared: Array<DocumentSource>
  /** What preparing does with this source before it answers, or instead. */
  before: (source: DocumentSource) => Effect.Effect<Partial<PreparedDocument> | "gone" | void, never, Store>
  logo: string | undefined
}
/** Names the subject of the job, as it is when it is drawn. */
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

export interface House extends Serving {
  readonly drawn: Drawn
  /** Asks, and expects this status. */
  readonly did: (status: number, method: string, path: string, json?: object, more?: object) => Promise<any>
  readonly job: (subject: string, more?: object) => Promise<number>
  readonly invoice: (type?: string, issued?: boolean) => Promise<number>
  readonly made: (document_type: string, documentable_id: number, more?: object) => Promise<any>
  readonly document: (id: number) => Promise<any>
  readonly fetched: (address: string) => Promise<Got>
  /** The token of somebody with these permissions. */
  readonly somebody: (...permissions: ReadonlyArray<string>) => Promise<string>
  readonly sql: (text: string) => Promise<ReadonlyArray<any>>
}
export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")
export const poll = { timeout: 30_000, interval: 20 }

export const of_type: { readonly [type: string]: string } = {
  invoice: "Invoice",
  proforma_invoice: "Invoice",
  deposit_invoice: "Invoice",
  credit_note: "CreditNote",
  purchase_order: "PurchaseOrder"
}

export const openHouse = async (engine: Engine, options: ServeOptions = {}): Promise<House> => {
  const drawn: Drawn = { prepared: [], before: () => Effect.void, logo: undefined }
  const outside = { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] }
  const clock = clockAt(() => Date.now())
  const services = Context.merge(clock, Context.make(DocumentPreparation, preparing(drawn)))
  const server = await serve(engine, { outside, ...options, services })
  const did: House["did"] = async (status, method, path, json, more = {}) => {
    const got = await server.ask(`/api/v1${path}`, { method, ...(json === undefined ? {} : { json }), ...more })
    expect(got.status, `${method} ${path}: ${got.text}`).toBe(status)
    return got.body
  }
  let people = 0
  let member: number | undefined
  const memberId = async () =>
    (member ??= (await did(201, "POST", "/members", { name: "Ann Ltd", membership_type: "organisation" })).member.id)
  return {
    ...server,
    drawn,
    did,
    job: async (subject, more = {}) => (await did(201, "POST", "/opportunities", { subject, ...more })).opportunity.id,
    invoice: async (type = "standard", issued = true) => {
      const { invoice } = await did(201, "POST", "/invoices", {
        member_id: await memberId(),
        type,
        items: [{ name: "Lamp", unit_price: "50.00" }]
      })
      if (issued) await did(200, "POST", `/invoices/${invoice.id}/issue`, {})
      return invoice.id
    },
    made: async (document_type, documentable_id, more = {}) =>
      (
        await did(201, "POST", "/documents/generate", {
          document_type,
          documentable_type: of_type[document_type] ?? "Opportunity",
          documentable_id,
          ...more
        })
      ).document,
    document: async (id) => (await did(200, "GET", `/documents/${id}`)).document,
    fetched: (address) => {
      const { pathname, search } = new URL(address)
      return server.ask(`${pathname}${search}`, { token: null })
    },
    somebody: async (...permissions) => {
      const name = `Somebody ${++people}`
      const { role } = await did(201, "POST", "/roles", { name, permissions })
      const { user } = await did(201, "POST", "/users", {
        name,
        email: `somebody${people}@example.com`,
        roles: [role.name],
        active: true
      })
      const { token } = await did(201, "POST", "/tokens", { name, user_id: user.id, abilities: ["*"] })
      return token.secret
    },
    sql: (text) => server.run(Effect.flatMap(Store, (store) => store.run(text)))
  }
}
