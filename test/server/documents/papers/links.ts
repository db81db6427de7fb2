/** A company with shared quotations, and readers without accounts. */
import type { Engine } from "../../../app.ts"
import { houseOn } from "../../house.ts"
import { openMailing } from "../../delivery/mail/mailing.ts"
import type { Got, Sent, ServeOptions } from "../../serving.ts"

export { poll } from "../../house.ts"
export { sha256 } from "./house.ts"

export type Form = { readonly [name: string]: string }
export const yes: Form = { name: "Ann Arbor", accept: "1" }

let networks = 0
/** An IP address that was not used before. */
export const elsewhere = (): string => {
  networks++
  return `198.51.${Math.floor(networks / 250)}.${(networks % 250) + 1}`
}

interface OfferOptions {
  readonly subject?: string
  readonly name?: string
  readonly email?: string
  readonly locale?: string
  readonly type?: string
  readonly is_draft?: boolean
}
export const openSharing = async (engine: Engine, options: ServeOptions = {}, smtp?: string) => {
  const house = houseOn(await openMailing(engine, smtp, { anonymous_rate_limit: 1_000_000, ...options }))
  const { create, customer, did, show } = house
  const document_of = async (documentable_id: number, document_type = "quotation"): Promise<number> =>
    (await create("/documents/generate", { documentable_type: "Opportunity", documentable_id, document_type })).id
  return {
    ...house,
    document_of,
    /** Creates a quotation of two lamp operators, and its document. */
    offered: async ({
      email,
      is_draft = false,
      locale,
      name = "Ann Ltd",
      subject = "Summer stage",
      type
    }: OfferOptions = {}) => {
      const member_id = await customer({ name, ...(locale === undefined ? {} : { locale }) })
      if (email !== undefined) await create(`/members/${member_id}/emails`, { address: email })
      const dates = { starts_at: "2027-07-01T09:00:00Z", ends_at: "2027-07-03T18:00:00Z" }
      const line = { item_type: "service", name: "Lamp operator", quantity: 2, unit_price: "50.00" }
      const { id: opportunity_id } = await create("/opportunities", { subject, member_id, ...dates })
      await create(`/opportunities/${opportunity_id}/items`, line)
      if (!is_draft) await did(200, "POST", `/opportunities/${opportunity_id}/convert_to_quotation`, {})
      return {
        opportunity_id: opportunity_id as number,
        member_id,
        document_id: await document_of(opportunity_id, type)
      }
    },
    /** Creates a link; returns its token. */
    shared: async (document_id: number, more: object = {}): Promise<string> =>
      (await did(201, "POST", `/documents/${document_id}/public_link`, more)).public_link.token,
    read: (token: string, query = "", sent: Sent = {}): Promise<Got> =>
      house.ask(`/d/${token}${query}`, { token: null, from: elsewhere(), ...sent }),
    sent: (token: string, form: Form, more: Sent = {}): Promise<Got> =>
      house.ask(`/d/${token}`, {
        method: "POST",
        token: null,
        from: elsewhere(),
        bytes: new URLSearchParams(form).toString(),
        ...more,
        headers: { "content-type": "application/x-www-form-urlencoded", ...more.headers }
      }),
    status: async (id: number): Promise<string> => (await show(`/opportunities/${id}`)).status_name,
    acceptances: (id: number) => show(`/documents/${id}/acceptances`)
  }
}
export type Sharing = Awaited<ReturnType<typeof openSharing>>
/** Cookie of the page, for the next request. */
export const cookieOf = (got: Got): string => (got.headers["set-cookie"] ?? "").split(";")[0] ?? ""
