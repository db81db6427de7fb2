/** Customers and invoices for what billing needs a server for. */
import type { Serving } from "../serving.ts"

export interface Billing {
  readonly serving: Serving
  /** A member, with these e-mail addresses. */
  readonly member: (name: string, ...addresses: ReadonlyArray<object>) => Promise<number>
  /** A draft; two lamps at 50.00 unless it says otherwise. */
  readonly draft: (member_id: number, more?: object) => Promise<{ readonly id: number; readonly [key: string]: any }>
  readonly issued: (
    member_id: number,
    more?: object,
    issue?: object
  ) => Promise<{ readonly id: number; readonly [key: string]: any }>
  readonly must: (target: string, json?: unknown, method?: string) => Promise<any>
}

export const billingOf = (serving: Serving): Billing => {
  const must = async (target: string, json?: unknown, method?: string) => {
    const got = await serving.ask(`/api/v1/${target}`, {
      ...(json === undefined ? {} : { json }),
      ...(method === undefined ? {} : { method })
    })
    if (got.status >= 300) throw new Error(`${target}: ${got.status} ${got.text}`)
    return got.body
  }
  const draft: Billing["draft"] = async (member_id, more = {}) =>
    (await must("invoices", { member_id, items: [{ name: "Lamp", quantity: "2", unit_price: "50.00" }], ...more }))
      .invoice
  return {
    serving,
    must,
    member: async (name, ...addresses) => {
      const { member } = await must("members", { name, membership_type: "organisation" })
      for (const address of addresses) await must(`members/${member.id}/emails`, address)
      return member.id
    },
    draft,
    issued: async (member_id, more = {}, issue = {}) => {
      const { id } = await draft(member_id, more)
      return (await must(`invoices/${id}/issue`, issue)).invoice
    }
  }
}
