/** E-mail and PDF of invoices, and checkout where prices include tax, from outside: rules/billing 1.3. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, now, openBooks, refusal, sums } from "./billing-black-box.ts"

describe.each(engines)("Papers and prices, on %s", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const email = (id: number, json: object = {}) => books.post(`/invoices/${id}/email`, json)

  it("an e-mail goes to whom it says, or to an address of the customer, never of a draft", async () => {
    expect(refusal(await email((await books.draft()).id, { to: "a@example.com" }))).toEqual([422, "status"])
    const { id } = await books.issued()
    expect(refusal(await email(id))).toEqual([422, "to"])
    expect((await email(id, { to: "no address" })).status).toBe(422)
    expect(refusal(await email(id, { to: "a@example.com", subject: "x".repeat(256) }))).toEqual([422, "subject"])
    expect(refusal(await email(id, { to: "a@example.com", message: "x".repeat(5001) }))).toEqual([422, "message"])
    expect((await books.shown(id)).emailed_at).toBe(null)
    const sent = await email(id, { to: ["a@example.com", "b@example.com"], cc: "c@example.com" })
    expect([sent.status, sent.body.invoice.emailed_at]).toEqual([200, now])
    await books.made(`/members/${books.member}/emails`, { address: "pay@example.com" })
    expect((await email(id)).status).toBe(200)
  })
  it("a PDF is named after the number, or the draft", async () => {
    const draft = await books.draft()
    const issued = await books.issued()
    for (const [id, name] of [
      [draft.id, `draft-${draft.id}`],
      [issued.id, issued.number]
    ]) {
      const got = await books.ask("GET", `/invoices/${id}/pdf`)
      expect([got.status, got.headers["content-type"], got.text.slice(0, 4)]).toEqual([200, "application/pdf", "%PDF"])
      expect(got.headers["content-disposition"]).toBe(`inline; filename="invoice-${name}.pdf"`)
    }
  })
  it.each(["GBP", "JPY", "KWD"])("a checkout of prices that include tax comes to the same in %s", async (currency) => {
    const lines = [333, 1000, 999].map((unit_price) => ({ unit_price, quantity: 3, discount_percent: "12.5" }))
    const job = await books.job(lines, { currency, prices_include_tax: true })
    const draft = await books.billed(job.id)
    expect(draft.prices_include_tax).toBe(false)
    expect(sums(draft)).toEqual([job.charge_excluding_tax_total, job.tax_total, job.charge_including_tax_total])
  })
  it("a checkout takes the type only as it is known", async () => {
    const { id } = await books.job()
    for (const type of ["final", 1, []]) expect(refusal(await books.checkout(id, { type }))).toEqual([422, "type"])
    await books.remove(`/opportunities/${id}`)
    expect((await books.checkout(id)).status).toBe(404)
  })
  it("a checkout is refused without a customer, and without charges", async () => {
    expect(refusal(await books.checkout((await books.job(undefined, { member_id: null })).id))).toEqual([
      422,
      "member_id"
    ])
    expect(refusal(await books.checkout((await books.job([])).id))).toEqual([422, "items"])
    const optional = await books.job([{ unit_price: "5.00", is_optional: true }])
    expect(refusal(await books.checkout(optional.id))).toEqual([422, "items"])
  })
})
