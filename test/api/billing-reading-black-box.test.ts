/** Who may do what with invoices, and how they are found: interface 2.4, 2.5, 4.5, 4.6 and 5, rules/billing 1.3 to 1.5. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, openBooks } from "./billing-black-box.ts"

const rights = ["view", "create", "edit", "delete", "issue", "void", "credit"].map((name) => `invoices.${name}`)
const permissions = [...rights, "payments.record", "opportunities.view"]
const abilities = ["invoices:read", "invoices:write", "payments:write", "credit-notes:read"]

describe.each(engines)("The fifteen operations, on %s (interface 5)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const draft = async (): Promise<string> => `/invoices/${(await books.draft()).id}`
  const issued = async (): Promise<string> => `/invoices/${(await books.issued()).id}`
  const paid = async (): Promise<string> => {
    const path = await issued()
    await books.made(`${path}/payments`, { amount: "120.00" })
    return path
  }
  const note = async (): Promise<string> => `/credit_notes/${(await books.made(`${await issued()}/credit_notes`)).id}`
  const member = (): object => ({ member_id: books.member })
  type Case = readonly [string, string, () => Promise<string>, string, string, number, (() => object)?, string?]
  const cases: ReadonlyArray<Case> = [
    ["list", "GET", async () => "/invoices", "invoices:read", "invoices.view", 200],
    ["show", "GET", draft, "invoices:read", "invoices.view", 200],
    ["create", "POST", async () => "/invoices", "invoices:write", "invoices.create", 201, member],
    ["update", "PUT", draft, "invoices:write", "invoices.edit", 200, () => ({ subject: "New" })],
    ["delete", "DELETE", draft, "invoices:write", "invoices.delete", 204],
    [
      ...(["checkout", "POST", async () => `/opportunities/${(await books.job()).id}/invoices`] as const),
      ...(["invoices:write", "invoices.create", 201, () => ({}), "opportunities.view"] as const)
    ],
    ["issue", "POST", async () => `${await draft()}/issue`, "invoices:write", "invoices.issue", 200, () => ({})],
    ["void", "POST", async () => `${await issued()}/void`, "invoices:write", "invoices.void", 200, () => ({})],
    [
      ...(["pay", "POST", async () => `${await issued()}/payments`, "payments:write", "payments.record", 201] as const),
      () => ({ amount: "1.00" })
    ],
    [
      ...(["refund", "POST", async () => `${await paid()}/refunds`, "payments:write", "payments.record", 201] as const),
      () => ({ amount: "1.00" })
    ],
    [
      "credit",
      "POST",
      async () => `${await issued()}/credit_notes`,
      "invoices:write",
      "invoices.credit",
      201,
      () => ({})
    ],
    [
      ...(["e-mail", "POST", async () => `${await issued()}/email`, "invoices:write", "invoices.edit", 200] as const),
      () => ({ to: "pay@example.com" })
    ],
    ["PDF", "GET", async () => `${await issued()}/pdf`, "invoices:read", "invoices.view", 200],
    ["list of credit notes", "GET", async () => "/credit_notes", "credit-notes:read", "invoices.view", 200],
    ["one credit note", "GET", note, "credit-notes:read", "invoices.view", 200]
  ]
  it.each(cases.map((one) => ({ name: one[0], one })))("$name", async ({ one }) => {
    const [, method, at, ability, permission, status, json, second] = one
    const path = await at()
    const body = json?.()
    const needed = [permission, ...(second === undefined ? [] : [second])]
    const asked = async (held: ReadonlyArray<string>, can: ReadonlyArray<string>) =>
      books.ask(method, path, body, { token: await books.tokenOf(held, can) })
    for (const one of needed) {
      const got = await asked(
        permissions.filter((name) => name !== one),
        ["*"]
      )
      expect([one, got.status]).toEqual([one, 403])
    }
    const unable = await asked(
      permissions,
      abilities.filter((name) => name !== ability)
    )
    expect(unable.status).toBe(403)
    const done = await asked(needed, [ability])
    expect(done.status, done.text.slice(0, 300)).toBe(status)
    expect((await books.ask(method, path, body, { token: null })).status).toBe(401)
  })
  it("answers 404 for what is not there, even to who may do nothing", async () => {
    const token = await books.tokenOf([], ["products:read"])
    expect((await books.ask("GET", "/invoices/999999", undefined, { token })).status).toBe(404)
    expect((await books.ask("POST", "/opportunities/999999/invoices", {})).status).toBe(404)
  })
})

describe.each(engines)("Invoices are found, on %s (rules/billing 1.3)", (engine) => {
  let books: Books
  const ids: { [name: string]: number } = {}
  beforeAll(async () => {
    books = await openBooks(engine)
    const job = await books.job()
    const other = (await books.made("/members", { name: "Other", membership_type: "organisation" })).id
    const add = async (name: string, more: object, when?: object): Promise<void> => {
      ids[name] = (await (when === undefined ? books.draft(more) : books.issued(more, when))).id
    }
    await add("plain", { subject: "Summer gala" })
    await add("deposit", { type: "deposit", reference: "PO 1", store_id: 1 }, {})
    await add("old", { subject: "Old" }, { issued_at: "2026-01-05T00:00:00Z", due_at: "2026-02-01T00:00:00Z" })
    await add("yen", { currency: "JPY", items: [{ name: "Stage", unit_price: 5000 }] }, {})
    await add("voided", { member_id: other }, { issued_at: "2026-03-01T00:00:00Z" })
    await books.made(`/invoices/${ids["voided"]}/void`)
    await add("paid", { opportunity_id: job.id, items: [{ name: "Big", unit_price: "900.00" }] }, {})
    await books.made(`/invoices/${ids["paid"]}/payments`, { amount: "1080.00" })
    ids["job"] = job.id
    ids["other"] = other
  })
  afterAll(() => books.close())
  const named = async (query: string): Promise<ReadonlyArray<string>> => {
    const at = query.replaceAll(/[A-Z]{3,}(?=$|&)/g, (word) => String(ids[word.toLowerCase()] ?? word))
    const { invoices } = await books.get(`/invoices?${at}`)
    return invoices.map((one: any) => Object.keys(ids).find((name) => ids[name] === one.id))
  }
  it.each<[string, ReadonlyArray<string>]>([
    ["", ["plain", "deposit", "old", "yen", "voided", "paid"]],
    ["q[status_eq]=draft", ["plain"]],
    ["q[status_eq]=voided", ["voided"]],
    ["q[status_eq]=void", ["voided"]],
    ["q[status_in]=draft,void", ["plain", "voided"]],
    ["q[status_not_eq]=void", ["plain", "deposit", "old", "yen", "paid"]],
    ["q[type_eq]=deposit", ["deposit"]],
    ["q[number_eq]=0000000001", ["deposit"]],
    ["q[subject_cont]=GALA", ["plain"]],
    ["q[reference_eq]=PO 1", ["deposit"]],
    ["q[store_id_eq]=1", ["deposit"]],
    ["q[member_id_eq]=OTHER", ["voided"]],
    ["q[opportunity_id_eq]=JOB", ["paid"]],
    ["q[currency_code_eq]=JPY", ["yen"]],
    ["q[is_overdue_true]=1", ["old"]],
    ["q[due_at_lt]=2026-03-01", ["old"]],
    ["q[issued_at_lt]=2026-04-01", ["old", "voided"]],
    ["q[paid_at_gteq]=2026-06-01", ["paid"]],
    ["q[total_gteq]=1000.00&q[currency_code_eq]=GBP", ["paid"]],
    ["q[nonsense_eq]=1&sort=nonsense&include=nonsense", ["plain", "deposit", "old", "yen", "voided", "paid"]],
    ["sort=-number&q[number_present]=1", ["paid", "voided", "yen", "old", "deposit"]],
    ["sort=issued_at&q[issued_at_lt]=2026-04-01", ["old", "voided"]],
    ["sort=-total&q[currency_code_eq]=GBP&per_page=1", ["paid"]],
    ["sort=-amount_outstanding&q[status_eq]=issued&q[currency_code_eq]=JPY", ["yen"]],
    ["sort=due_at&q[status_eq]=issued&per_page=1", ["old"]],
    ["sort=-created_at&q[status_eq]=draft", ["plain"]]
  ])("%s", async (query, expected) => {
    expect(await named(query)).toEqual(expected)
  })
  it("with pages, and how many there are", async () => {
    expect((await books.get("/invoices?per_page=4&page=2")).meta).toEqual({ total: 6, per_page: 4, page: 2 })
  })
})
