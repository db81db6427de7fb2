/** Customers and invoices for tests of billing that need a server. */
import { houseOn } from "../house.ts"
import type { Serving } from "../serving.ts"

export const billingOf = <S extends Serving>(serving: S) => {
  const house = houseOn(serving)
  const must = (target: string, json?: unknown, method = json === undefined ? "GET" : "POST") =>
    house.must(method, `/${target}`, json)
  /** Creates a draft, by default of two lamps at 50.00. */
  const draft = async (member_id: number, more: object = {}) =>
    (await must("invoices", { member_id, items: [{ name: "Lamp", quantity: "2", unit_price: "50.00" }], ...more }))
      .invoice
  return {
    must,
    /** Creates a member with these e-mail addresses. */
    member: async (name: string, ...addresses: ReadonlyArray<object>): Promise<number> => {
      const id = await house.customer({ name })
      for (const address of addresses) await must(`members/${id}/emails`, address)
      return id
    },
    draft,
    /** Creates an order of two lines at 10.00 in September 2031, and returns its path. */
    order: async (member_id: number): Promise<string> => {
      const dates = { starts_at: "2031-09-01T09:00:00Z", ends_at: "2031-09-05T17:00:00Z" }
      const { opportunity } = await must("opportunities", { subject: "Festival", store_id: 1, member_id, ...dates })
      for (const name of ["Lamp", "Tower"])
        await must(`opportunities/${opportunity.id}/items`, { name, unit_price: "10.00", transaction_type: 1 })
      return `opportunities/${opportunity.id}`
    },
    issued: async (member_id: number, more: object = {}, issue: object = {}) =>
      (await must(`invoices/${(await draft(member_id, more)).id}/issue`, issue)).invoice
  }
}
export type Billing = ReturnType<typeof billingOf>
