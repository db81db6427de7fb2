/** Invoices and credit notes as PDF, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../../app.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"
import { serve, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"

describe.each(engines)("the PDF of an invoice on %s", (engine: Engine) => {
  let serving: Serving
  let billing: Billing
  let member_id: number
  beforeAll(async () => {
    serving = await serve(engine, { public_url: "https://hire.example" })
    billing = billingOf(serving)
    await billing.must("settings/company", { settings: { name: "Northlight Rental", base_currency: "EUR" } }, "PUT")
    await billing.must(
      "settings/invoicing",
      {
        settings: {
          iban: "DE02 1203 0000 0000 2020 51",
          bic: "BYLADEM1001",
          payment_link: "https://pay.example/?ref={number}&amount={amount}&currency={currency}",
          terms: "Equipment remains ours."
        }
      },
      "PUT"
    )
    member_id = await billing.member("Φωτισμός Αθηνών Α.Ε.")
  })
  afterAll(() => serving?.close())
  const textOf = async (target: string) => {
    const got = await serving.ask(`/api/v1/${target}`)
    expect(got.status, got.text).toBe(200)
    return { headers: got.headers, text: pagesOfPdf(got.bytes).join("\n") }
  }

  it("says what the invoice says, and how to pay it", async () => {
    const invoice = await billing.issued(member_id, { subject: "Winter Gala" })
    const { headers, text } = await textOf(`invoices/${invoice["id"]}/pdf`)
    expect(headers["content-type"]).toBe("application/pdf")
    expect(headers["content-disposition"]).toBe(`inline; filename="invoice-${invoice["number"]}.pdf"`)
    expect(text).toContain(`Invoice ${invoice["number"]}`)
    expect(text).toContain("Φωτισμός Αθηνών Α.Ε.")
    expect(text).toContain("Winter Gala")
    expect(text).toContain("Please pay €100.00 by")
    expect(text).toContain("DE02 1203 0000 0000 2020 51")
    expect(text).toContain("Equipment remains ours.")
    expect(text).not.toMatch(/DRAFT|VOID/)
  })
  it("is marked on drafts, which have no number yet and nothing to pay, and on voided ones", async () => {
    const { id } = await billing.draft(member_id)
    const draft = await textOf(`invoices/${id}/pdf`)
    expect(draft.headers["content-disposition"]).toBe(`inline; filename="invoice-draft-${id}.pdf"`)
    expect(draft.text).toContain("DRAFT")
    expect(draft.text).not.toContain("Please pay")
    await billing.must(`invoices/${id}/issue`, {})
    await billing.must(`invoices/${id}/void`, {})
    const voided = await textOf(`invoices/${id}/pdf`)
    expect(voided.text).toContain("VOID")
    expect(voided.text).not.toContain("Please pay")
  })
  it("names whom the invoice was issued to, whatever becomes of their name", async () => {
    const other = await billing.member("Before Ltd")
    const { id } = await billing.issued(other)
    await billing.must(`members/${other}`, { name: "After Ltd" }, "PUT")
    const { text } = await textOf(`invoices/${id}/pdf`)
    expect([text.includes("Before Ltd"), text.includes("After Ltd")]).toEqual([true, false])
  })
  it("is there of a credit note too, which names its invoice and amounts below zero", async () => {
    const { id, number } = await billing.issued(member_id)
    const { credit_note } = await billing.must(`invoices/${id}/credit_notes`, { amount: "30.00", reason: "Dark lamp" })
    const { headers, text } = await textOf(`credit_notes/${credit_note.id}/pdf`)
    expect(headers["content-disposition"]).toBe(`inline; filename="credit-note-${credit_note.number}.pdf"`)
    for (const part of [`Credit note ${credit_note.number}`, number, "30.00", "Dark lamp"]) expect(text).toContain(part)
  })
  it("goes to whom a customer was merged into between draft and issue", async () => {
    const [gone, kept] = [await billing.member("Twice Ltd"), await billing.member("Once Ltd")]
    const { id } = await billing.draft(gone)
    await billing.must(`members/${kept}/merge`, { secondary_id: gone })
    const { invoice } = await billing.must(`invoices/${id}/issue`, {})
    expect(invoice.member_id).toBe(kept)
    expect((await textOf(`invoices/${id}/pdf`)).text).toContain("Once Ltd")
  })
  it("is for those who may see invoices", async () => {
    const { id } = await billing.draft(member_id)
    const { token } = await billing.must("tokens", { name: "Reads", abilities: ["products:read"] })
    expect((await serving.ask(`/api/v1/invoices/${id}/pdf`, { token: token.secret })).status).toBe(403)
    expect((await serving.ask("/api/v1/invoices/999999/pdf")).status).toBe(404)
  })
  it("has settings that are checked when they are saved", async () => {
    const refused = async (settings: object) => {
      const got = await serving.ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings } })
      expect(got.status, got.text).toBe(422)
      return Object.keys(got.body.errors)[0]
    }
    expect(await refused({ iban: "DE02120300000000202052" })).toBe("iban")
    expect(await refused({ bic: "X" })).toBe("bic")
    expect(await refused({ payment_link: "https://pay.example/{invoice}" })).toBe("payment_link")
    expect(await refused({ payment_link: "javascript:alert(1)" })).toBe("payment_link")
    expect(await refused({ logo_attachment_id: 4711 })).toBe("logo_attachment_id")
    expect(await refused({ accent: "blue" })).toBe("accent")
    expect(await refused({ mail_subject: "Invoice {{ invoice.nummer }}" })).toBe("mail_subject")
    expect(await refused({ mail_text: "Dear {{ member.name " })).toBe("mail_text")
  })
})
