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
    issued: async (member_id: number, more: object = {}, issue: object = {}) =>
      (await must(`invoices/${(await draft(member_id, more)).id}/issue`, issue)).invoice
  }
}
export type Billing = ReturnType<typeof billingOf>
