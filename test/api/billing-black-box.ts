/** What black-box cases of billing begin with: a taxed customer, drafts, money, and what refusals name; all over HTTP. */
import { expect } from "vitest"
import type { Engine } from "../app.ts"
import { type Got, type Sent, serve, type ServeOptions, type Serving } from "../server/serving.ts"

export const now = "2026-06-18T12:00:00.000Z"

export interface Books {
  readonly server: Serving
  readonly ask: (method: string, path: string, json?: unknown, more?: Sent) => Promise<Got>
  readonly get: (path: string) => Promise<any>
  readonly post: (path: string, json?: unknown) => Promise<Got>
  readonly put: (path: string, json?: unknown) => Promise<Got>
  readonly remove: (path: string) => Promise<Got>
  /** The thing a POST that must succeed answers with. */
  readonly made: (path: string, json?: unknown) => Promise<any>
  readonly member: number
  /** The class Standard of organisations. */
  readonly organisation: number
  readonly standard: number
  readonly reduced: number
  readonly exempt: number
  /** A draft of the customer with one row of 100.00 at 20 %, unless told. */
  readonly draft: (more?: object) => Promise<any>
  readonly issued: (more?: object, when?: object) => Promise<any>
  readonly shown: (id: number, include?: string) => Promise<any>
  /** An opportunity of the customer with lines of a product at 20 %; sold, so that days do not matter. */
  readonly job: (lines?: ReadonlyArray<object>, more?: object) => Promise<any>
  readonly checkout: (id: number, json?: unknown, more?: Sent) => Promise<Got>
  readonly billed: (id: number, json?: unknown) => Promise<any>
  /** A bearer token of somebody with these permissions and abilities. */
  readonly tokenOf: (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) => Promise<string>
  readonly setClock: (iso: string) => void
  readonly close: () => Promise<void>
}

/** Organisations of class Standard pay 20 on Standard and 5 on Reduced; nothing is said of Exempt. */
export const openBooks = async (engine: Engine, options: ServeOptions = {}): Promise<Books> => {
  const server = await serve(engine, options)
  server.setClock(Date.parse(now))
  let count = 0
  const ask: Books["ask"] = (method, path, json, more = {}) =>
    server.ask(`/api/v1${path}`, { ...(json === undefined ? {} : { json }), ...more, method })
  const post: Books["post"] = (path, json = {}) => ask("POST", path, json)
  const made: Books["made"] = async (path, json) => {
    const got = await post(path, json)
    expect([200, 201], `${path} ${got.text} to ${JSON.stringify(json)}`).toContain(got.status)
    return Object.values(got.body)[0]
  }
  const get: Books["get"] = async (path) => (await ask("GET", path)).body
  const named = async (path: string, name: string): Promise<number> =>
    (await get(`/${path}?per_page=100`))[path].find((one: any) => one.name === name).id
  const organisation = await named("organisation_tax_classes", "Standard")
  const [standard, exempt] = [
    await named("product_tax_classes", "Standard"),
    await named("product_tax_classes", "Exempt")
  ]
  const reduced = (await made("/product_tax_classes", { name: "Reduced" })).id
  await made("/tax_rules", {
    organisation_tax_class_id: organisation,
    product_tax_class_id: reduced,
    tax_rate_id: await named("tax_rates", "Reduced")
  })
  const payer = { membership_type: "organisation", sale_tax_class_id: organisation }
  const member = (await made("/members", { name: "Payer", ...payer })).id
  for (const code of ["JPY", "KWD"]) {
    expect((await ask("PUT", `/currencies/${code}`, { is_enabled: true })).status).toBe(200)
    await made("/exchange_rates", { source_currency_code: "GBP", target_currency_code: code, rate: "2" })
  }
  const product = (await made("/products", { name: "Stage", tax_class_id: standard })).id
  const draft: Books["draft"] = (more = {}) =>
    made("/invoices", { member_id: member, items: [{ name: "Stage", unit_price: "100.00" }], ...more })
  const checkout: Books["checkout"] = (id, json = {}, more = {}) =>
    ask("POST", `/opportunities/${id}/invoices`, json, more)
  return {
    ...{ server, ask, get, post, made, member, organisation, standard, reduced, exempt, draft, checkout },
    put: (path, json = {}) => ask("PUT", path, json),
    remove: (path) => ask("DELETE", path),
    issued: async (more = {}, when = {}) => made(`/invoices/${(await draft(more)).id}/issue`, when),
    shown: async (id, include = "items,payments,credit_notes") =>
      (await get(`/invoices/${id}?include=${include}`)).invoice,
    job: async (lines = [{ unit_price: "100.00" }], more = {}) => {
      const { id } = await made("/opportunities", {
        ...{ subject: "A job", store_id: 1, member_id: member },
        ...{ starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" },
        ...more
      })
      for (const line of lines)
        await made(`/opportunities/${id}/items`, { name: "A line", item_id: product, transaction_type: 1, ...line })
      return (await get(`/opportunities/${id}?include=items,costs`)).opportunity
    },
    billed: async (id, json) => {
      const got = await checkout(id, json)
      expect(got.status, got.text).toBe(201)
      return got.body.invoice
    },
    tokenOf: async (permissions, abilities) => {
      const name = `Person ${++count}`
      const role = await made("/roles", { name, permissions })
      const user = await made("/users", {
        name,
        email: `p${count}@example.com`,
        roles: [role.name],
        active: true,
        send_invitation: false
      })
      return (await made("/tokens", { name, abilities, user_id: user.id })).secret
    },
    setClock: (iso) => server.setClock(Date.parse(iso)),
    close: server.close
  }
}

/** The status, and the fields a refusal names. */
export const refusal = (got: Got): ReadonlyArray<unknown> => [got.status, ...Object.keys(got.body?.errors ?? {}).sort()]
export const sums = (one: any): ReadonlyArray<string> => [one.subtotal, one.tax_total, one.total]
export const money = (one: any): ReadonlyArray<string | boolean> => [
  one.status,
  one.amount_paid,
  one.amount_credited,
  one.amount_outstanding,
  one.paid_at !== null
]
