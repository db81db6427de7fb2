/** Payments, refunds and credit notes, run on every runtime (see `playing.ts`). */
import { expect } from "vitest"
import type { Answering, Ask, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"

export const invoices = "/api/v1/invoices"
export const now = "2026-06-18T12:00:00.000Z"
export type Scenario = Told<string, Scene>
export const scenario = (n: string, title: string, run: Scenario["run"]): Scenario => ({ n, title, run })

export interface Scene extends Calling {
  /** Creates a customer taxed at 20 % on the standard class. */
  readonly customer: () => Promise<number>
  /** Creates a draft of rows at prices; by default one of 100.00, 120.00 with tax. */
  readonly draft: (set?: object, ...rows: ReadonlyArray<object>) => Promise<Made<"invoice">>
  /** Creates and issues such a draft; includes its rows. */
  readonly issued: (set?: object, ...rows: ReadonlyArray<object>) => Promise<Made<"invoice">>
  readonly pay: (id: number, amount: unknown, more?: object) => Promise<Reply>
  readonly refund: (id: number, amount: unknown, more?: object) => Promise<Reply>
  readonly credit: (id: number, body?: object) => Promise<Reply>
  readonly voided: (id: number) => Promise<Reply>
  /** The invoice with all related records. */
  readonly shown: (id: number) => Promise<Made<"invoice">>
}

/** Sets 20 % tax for organisations of class Standard on products of the standard class; enables yen and dinars. */
export const prepare = async (ask: Ask): Promise<void> => {
  for (const code of ["JPY", "KWD"]) {
    expect((await ask("PUT", `/api/v1/currencies/${code}`, { is_enabled: true })).status).toBe(200)
    const rate = { source_currency_code: code, target_currency_code: "GBP", rate: "2", effective_at: "2026-01-01" }
    expect((await ask("POST", "/api/v1/exchange_rates", rate)).status).toBe(201)
  }
}

export const sceneOf = (n: string, by: Answering, looks: Array<Look>): Scene => {
  const calling = callingOf(by, looks)
  const { made, post } = calling
  const customer: Scene["customer"] = async () => {
    const { body } = await by.ask("GET", "/api/v1/organisation_tax_classes")
    const standard = body.organisation_tax_classes.find((one: { name: string }) => one.name === "Standard").id
    const member = { name: `Customer of ${n}`, membership_type: "organisation", sale_tax_class_id: standard }
    return (await made("/api/v1/members", member, "member")).id
  }
  const draft: Scene["draft"] = async (set = {}, ...rows) =>
    made(
      `${invoices}?include=items`,
      {
        member_id: await customer(),
        subject: `Scenario ${n}`,
        items: rows.length === 0 ? [{ name: "Heads", quantity: "4", unit_price: "25.00" }] : rows,
        ...set
      },
      "invoice"
    )
  return {
    ...calling,
    customer,
    draft,
    issued: async (set, ...rows) =>
      made(`${invoices}/${(await draft(set, ...rows)).id}/issue?include=items`, {}, "invoice"),
    pay: (id, amount, more = {}) => post(`${invoices}/${id}/payments`, { amount, ...more }),
    refund: (id, amount, more = {}) => post(`${invoices}/${id}/refunds`, { amount, ...more }),
    credit: (id, body = {}) => post(`${invoices}/${id}/credit_notes`, body),
    voided: (id) => post(`${invoices}/${id}/void`),
    shown: async (id) =>
      (await by.ask("GET", `${invoices}/${id}?include=items,payments,credit_notes,credit_notes.items`)).body.invoice
  }
}
