/** A house that shares quotations, and people who read them without an account. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { expect } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Engine } from "../../app.ts"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import type { Got, Sent, ServeOptions } from "../serving.ts"

export interface Offer {
  readonly opportunity_id: number
  readonly document_id: number
  readonly member_id: number
}
export interface Sharing extends Mailing {
  readonly did: (status: number, method: string, path: string, json?: object) => Promise<any>
  /** A quotation of two lamps, with its document. */
  readonly offered: (more?: OfferOptions) => Promise<Offer>
  readonly document_of: (opportunity_id: number, type?: string) => Promise<number>
  /** The token of a link that was just made. */
  readonly shared: (document_id: number, more?: object) => Promise<string>
  readonly read: (token: string, query?: string, sent?: Sent) => Promise<Got>
  readonly sent: (token: string, form: Form, more?: Sent) => Promise<Got>
  readonly sql: (text: string) => Promise<ReadonlyArray<any>>
  readonly status: (opportunity_id: number) => Promise<string>
  readonly acceptances: (document_id: number) => Promise<ReadonlyArray<any>>
}
export interface OfferOptions {
  readonly subject?: string
  readonly name?: string
  readonly email?: string
  readonly locale?: string
  readonly type?: string
  readonly is_draft?: boolean
  readonly stock?: boolean
}
export type Form = { readonly [name: string]: string }
export const yes: Form = { name: "Ann Arbor", accept: "1" }
export const poll = { timeout: 30_000, interval: 30 }
export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

let networks = 0
/** A network that nobody used yet. */
export const elsewhere = (): string => {
  networks++
  return `198.51.${Math.floor(networks / 250)}.${(networks % 250) + 1}`
}

export const openSharing = async (engine: Engine, options: ServeOptions = {}, smtp?: string): Promise<Sharing> => {
  const server = await openMailing(engine, smtp, { anonymous_rate_limit: 1_000_000, ...options })
  const did: Sharing["did"] = async (status, method, path, json) => {
    const got = await server.ask(`/api/v1${path}`, { method, ...(json === undefined ? {} : { json }) })
    expect(got.status, `${method} ${path}: ${got.text}`).toBe(status)
    return got.body
  }
  const document_of: Sharing["document_of"] = async (documentable_id, document_type = "quotation") =>
    (
      await did(201, "POST", "/documents/generate", {
        documentable_type: "Opportunity",
        documentable_id,
        document_type
      })
    ).document.id
  const offered: Sharing["offered"] = async ({ email, is_draft = false, locale, name, subject, type } = {}) => {
    const { member } = await did(201, "POST", "/members", {
      name: name ?? "Ann Ltd",
      membership_type: "organisation",
      ...(locale === undefined ? {} : { locale })
    })
    if (email !== undefined) await did(201, "POST", `/members/${member.id}/emails`, { address: email })
    const { opportunity } = await did(201, "POST", "/opportunities", {
      subject: subject ?? "Summer stage",
      member_id: member.id,
      starts_at: "2027-07-01T09:00:00Z",
      ends_at: "2027-07-03T18:00:00Z"
    })
    await did(201, "POST", `/opportunities/${opportunity.id}/items`, {
      item_type: "service",
      name: "Lamp operator",
      quantity: 2,
      unit_price: "50.00"
    })
    if (!is_draft) await did(200, "POST", `/opportunities/${opportunity.id}/convert_to_quotation`, {})
    return {
      opportunity_id: opportunity.id,
      member_id: member.id,
      document_id: await document_of(opportunity.id, type)
    }
  }
  const shared: Sharing["shared"] = async (document_id, more = {}) =>
    (await did(201, "POST", `/documents/${document_id}/public_link`, more)).public_link.token
  return {
    ...server,
    did,
    document_of,
    offered,
    shared,
    read: (token, query = "", sent = {}) =>
      server.ask(`/d/${token}${query}`, { token: null, from: elsewhere(), ...sent }),
    sent: (token, form, more = {}) =>
      server.ask(`/d/${token}`, {
        method: "POST",
        token: null,
        from: elsewhere(),
        bytes: new URLSearchParams(form).toString(),
        ...more,
        headers: { "content-type": "application/x-www-form-urlencoded", ...more.headers }
      }),
    sql: (text) => server.run(Effect.flatMap(Store, (store) => store.run(text))),
    status: async (id) => (await did(200, "GET", `/opportunities/${id}`)).opportunity.status_name,
    acceptances: async (id) => (await did(200, "GET", `/documents/${id}/acceptances`)).document_acceptances
  }
}
/** What the page's cookie is sent back as. */
export const cookieOf = (got: Got): string => (got.headers["set-cookie"] ?? "").split(";")[0] ?? ""
