/** Scenarios of billing, run on a server of either engine and on an offline device. */
import { expect } from "vitest"
import type { Answering, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"
import { billedScenarios } from "./scenarios/billed.ts"
import { checkoutScenarios } from "./scenarios/checkout.ts"
import { draftScenarios } from "./scenarios/invoice-drafts.ts"
import { issueScenarios } from "./scenarios/invoice-issue.ts"

export const invoices = "/api/v1/invoices"
export const opp = "/api/v1/opportunities"

export type Scenario = Told<number, Scene>
export const scenario = (n: number, title: string, run: Scenario["run"]): Scenario => ({ n, title, run })

export interface Scene extends Calling {
  readonly name: string
  /** Creates an organisation, taxed by default. */
  readonly customer: (body?: object) => Promise<Made<"member">>
  readonly product: (body?: object) => Promise<Made<"product">>
  /** Creates a draft, by default with one row of 100.00. */
  readonly draft: (body?: object) => Promise<Made<"invoice">>
  readonly issued: (body?: object) => Promise<Made<"invoice">>
  readonly issue: (id: number, body?: object) => Promise<Reply>
  readonly shown: (id: number, include?: string) => Promise<Made<"invoice">>
  /** Creates an opportunity of a new customer with these lines. */
  readonly deal: (lines?: ReadonlyArray<object>, body?: object) => Promise<Made<"opportunity">>
  readonly checkout: (opportunity_id: number, body?: object) => Promise<Reply>
  readonly billed: (opportunity_id: number, body?: object) => Promise<Made<"invoice">>
}
export const hundred = { name: "Stage", unit_price: "100.00" }
export const sceneOf = (n: number, by: Answering, looks: Array<Look>): Scene => {
  const name = `Billing ${String(n).padStart(3, "0")}`
  let count = 0
  const calling = callingOf(by, looks)
  const { made, post } = calling
  const customer: Scene["customer"] = (body = {}) =>
    made(
      "/api/v1/members",
      { name: `${name} customer ${++count}`, membership_type: "organisation", sale_tax_class_id: 1, ...body },
      "member"
    )
  const draft: Scene["draft"] = async (body = {}) =>
    made(
      invoices,
      {
        subject: name,
        items: [hundred],
        ...("member_id" in body ? {} : { member_id: (await customer()).id }),
        ...body
      },
      "invoice"
    )
  const issue: Scene["issue"] = (id, body = {}) => post(`${invoices}/${id}/issue`, body)
  const checkout: Scene["checkout"] = (id, body = {}) => post(`${opp}/${id}/invoices`, body)
  return {
    ...calling,
    name,
    customer,
    draft,
    issue,
    checkout,
    product: (body = {}) =>
      made("/api/v1/products", { name: `${name} product ${++count}`, tax_class_id: 1, ...body }, "product"),
    issued: async (body) => {
      const reply = await issue((await draft(body)).id)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return reply.body.invoice
    },
    shown: async (id, include = "items") => (await by.ask("GET", `${invoices}/${id}?include=${include}`)).body.invoice,
    deal: async (lines = [{ name: "Line L", quantity: "2", unit_price: "50.00" }], body = {}) => {
      const { id } = await made(
        opp,
        {
          subject: `${name} deal`,
          store_id: 1,
          starts_at: "2031-09-01T09:00:00Z",
          ends_at: "2031-09-05T17:00:00Z",
          ...("member_id" in body ? {} : { member_id: (await customer()).id }),
          ...body
        },
        "opportunity"
      )
      for (const line of lines) await made(`${opp}/${id}/items`, { name: "Line", ...line }, "opportunity")
      return (await by.ask("GET", `${opp}/${id}?include=items,costs`)).body.opportunity
    },
    billed: async (id, body) => {
      const reply = await checkout(id, body)
      expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
      return reply.body.invoice
    }
  }
}

export const scenarios: ReadonlyArray<Scenario> = [
  ...draftScenarios(),
  ...issueScenarios(),
  ...checkoutScenarios(),
  ...billedScenarios()
]
