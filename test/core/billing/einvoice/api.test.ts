/** E-invoices over the API, equal on an offline device (rules/billing 1.7). */
import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { refused } from "../../../app-house.ts"
import { serverOfSuite, token } from "../../../sync/opening.ts"
import { brokenRules } from "./rules.ts"
import { readInvoice } from "./semantic.ts"
import { words } from "../../../words.ts"

describe.each(engines)("e-invoices on %s", (engine) => {
  const there = serverOfSuite(engine)
  let member_id: number
  beforeAll(async () => {
    member_id = await there.customer({ name: "Théâtre du Nord", account_number: "C-0042", sale_tax_class_id: 1 })
  })
  const fetched = (path: string): Promise<Response> =>
    fetch(`${there.url()}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
  const draft = async (more: object = {}): Promise<number> =>
    (
      await there.create("/invoices", {
        member_id,
        reference: "PO 77",
        items: [
          { name: "Lamps", quantity: "3.00", unit_price: "33.33", starts_at: "2026-03-02", ends_at: "2026-03-06" },
          { name: "Van", unit_price: "80.00", discount_percent: "10" }
        ],
        ...more
      })
    ).id
  const issued = async (more: object = {}): Promise<number> => {
    const id = await draft(more)
    await there.must("POST", `/invoices/${id}/issue`)
    return id
  }

  it("are rejected with every missing setting and field named", async () => {
    const id = await issued()
    const missing = `
      company.country_code company.name company.tax_number einvoice.peppol_id member.country_id member.peppol_id
    `
    await refused(there.get(`/invoices/${id}/xml`), ...words(missing))
    // Data missing at the issue can be added later.
    await there.must("PUT", "/settings/company", {
      settings: { name: "Bright Hire", country_code: "GB", tax_number: "GB123456789", city: "Leeds" }
    })
    await there.must("PUT", "/settings/einvoice", { settings: { peppol_id: "0088:5012345678900" } })
    const country_id = (await there.show("/countries?q[code_eq]=FR"))[0].id
    await there.must("POST", `/members/${member_id}/addresses`, { street: "4 Place", city: "Lille", country_id })
    await there.must("PUT", `/members/${member_id}`, { peppol_id: "0009:12345678900012", tax_number: "FR12345678901" })
    expect((await fetched(`/invoices/${id}/xml`)).status).toBe(200)
  })
  it("are embedded in the PDF with format=facturx, which is rejected for a draft", async () => {
    const drawn = await fetched(`/invoices/${await issued()}/pdf?format=facturx`)
    expect([drawn.status, drawn.headers.get("content-type")]).toEqual([200, "application/pdf"])
    const bytes = Buffer.from(await drawn.arrayBuffer()).toString("latin1")
    expect(bytes).toContain("/AFRelationship /Alternative")
    expect(bytes).toContain("(factur-x.xml)")
    await refused(there.get(`/invoices/${await draft()}/pdf?format=facturx`), "status")
  })
  it("break no EN 16931 rule in UBL or CII", async () => {
    const id = await issued()
    const { number, tax_total, total } = await there.show(`/invoices/${id}`)
    for (const [query, form] of [
      ["", "ubl"],
      ["?format=cii", "cii"]
    ]) {
      const answer = await fetched(`/invoices/${id}/xml${query}`)
      expect(answer.headers.get("content-type")).toBe("application/xml; charset=utf-8")
      expect(answer.headers.get("content-disposition")).toContain(
        `attachment; filename="invoice-${number}-${form}.xml"`
      )
      const read = readInvoice(await answer.text())
      expect(brokenRules(read)).toEqual([])
      expect(read).toMatchObject({
        form,
        number,
        code: "380",
        order_reference: "PO 77",
        buyer_reference: "C-0042",
        tax: tax_total,
        due: total,
        period: { first: "2026-03-02" }
      })
    }
  })
  it("are rejected for drafts, voided invoices, proformas and unknown formats", async () => {
    await refused(there.get(`/invoices/${await draft()}/xml`), "status")
    await refused(there.get(`/invoices/${await issued({ type: "proforma" })}/xml`), "type")
    await refused(there.get(`/invoices/${await issued()}/xml?format=edifact`), "format")
    const voided = await issued()
    await there.must("POST", `/invoices/${voided}/void`)
    await refused(there.get(`/invoices/${voided}/xml`), "status")
    expect((await there.get("/invoices/999999/xml")).status).toBe(404)
  })
  it("state the exemption reason of an exempt tax rate, and are rejected while it is missing", async () => {
    const rate = (body: object) => there.put("/tax_rates/3", body)
    expect((await rate({ vat_category: "standard" })).body.errors).toHaveProperty("vat_category")
    expect((await there.put("/tax_rates/1", { vat_category: "exempt" })).body.errors).toHaveProperty("vat_category")
    await there.must("PUT", "/tax_rates/3", { vat_category: "exempt" })
    await there.must("POST", "/tax_rules", { organisation_tax_class_id: 1, product_tax_class_id: 2, tax_rate_id: 3 })
    const id = await issued({ items: [{ name: "Insurance", unit_price: "50.00", tax_class_id: 2 }] })
    expect((await there.get(`/invoices/${id}/xml`)).body.errors).toHaveProperty(["items.0.tax_rate_id"])
    await there.must("PUT", "/tax_rates/3", { exemption_reason: "Insurance is exempt" })
    const read = readInvoice(await (await fetched(`/invoices/${id}/xml`)).text())
    expect(brokenRules(read)).toEqual([])
    expect(read.vat).toMatchObject([{ category: "E", tax: "0.00", reason: "Insurance is exempt" }])
  })
  it("state the configured reason and VAT category on rows without a tax rate", async () => {
    const untaxed = await there.customer({ peppol_id: "0009:1" })
    const [{ id: country_id }] = await there.show("/countries?q[code_eq]=GB")
    await there.must("POST", `/members/${untaxed}/addresses`, { street: "1 Row", country_id })
    const path = `/invoices/${await issued({ member_id: untaxed })}/xml`
    expect((await there.get(path)).body.errors).toHaveProperty(["items.1.tax_rate_id"])
    await there.must("PUT", "/settings/einvoice", { settings: { untaxed_reason: "Small business" } })
    expect(readInvoice(await (await fetched(path)).text()).vat).toMatchObject([
      { category: "E", reason: "Small business" }
    ])
    await there.must("PUT", "/settings/einvoice", { settings: { untaxed_category: "outside" } })
    const outside = `/invoices/${await issued({ member_id: untaxed })}/xml`
    expect((await there.get(outside)).body.errors).toHaveProperty(["company.registration_number"])
    await there.must("PUT", "/settings/company", { settings: { registration_number: "01234567" } })
    const read = readInvoice(await (await fetched(outside)).text())
    expect([read.vat[0]?.category, brokenRules(read)]).toEqual(["O", []])
    // Invoices issued earlier keep their content.
    expect(readInvoice(await (await fetched(path)).text()).vat).toMatchObject([
      { category: "E", reason: "Small business" }
    ])
  })
  it("keep the VAT category of their issue when the tax rate changes, and so do their credit notes", async () => {
    const tax_rate = await there.create("/tax_rates", {
      name: "Export",
      rate: "0",
      vat_category: "exempt",
      exemption_reason: "Art. 146"
    })
    const { id: tax_class_id } = await there.create("/product_tax_classes", { name: "Exported" })
    const exported = { organisation_tax_class_id: 1, product_tax_class_id: tax_class_id, tax_rate_id: tax_rate.id }
    await there.must("POST", "/tax_rules", exported)
    const sold = { items: [{ name: "Freight", unit_price: "50.00", tax_class_id }] }
    const [one, other] = [await issued(sold), await issued(sold)]
    const text = async (path: string) => (await fetched(`/${path}/xml`)).text()
    const before = await text(`invoices/${one}`)
    expect(readInvoice(before).vat).toMatchObject([{ category: "E", reason: "Art. 146" }])
    await there.must("PUT", `/tax_rates/${tax_rate.id}`, { vat_category: "zero", exemption_reason: "Art. 15" })
    expect(await text(`invoices/${one}`)).toBe(before)
    const credit_note = await there.create(`/invoices/${other}/credit_notes`, {})
    expect(readInvoice(await text(`credit_notes/${credit_note.id}`)).vat).toMatchObject([
      { category: "E", reason: "Art. 146" }
    ])
    expect(readInvoice(await text(`invoices/${await issued(sold)}`)).vat).toMatchObject([{ category: "Z" }])
  })
  it("stay the same when legal name, bank account, time zone, hire dates or the customer's data change", async () => {
    await there.must("PUT", "/settings/einvoice", { settings: { legal_name: "Bright Hire Ltd" } })
    await there.must("PUT", "/settings/invoicing", { settings: { iban: "GB82 WEST 1234 5698 7654 32" } })
    const opportunity = await there.opportunity({
      member_id,
      starts_at: "2026-03-01T23:30:00Z",
      ends_at: "2026-03-04T10:00:00Z",
      charge_total: "200.00"
    })
    const items = [{ name: "Lamps", unit_price: "100.00" }]
    const id = await issued({ items, store_id: 1, opportunity_id: opportunity.id })
    const other = await issued({ items, store_id: 1, opportunity_id: opportunity.id })
    const text = async (path: string) => (await fetched(`/${path}`)).text()
    const paths = [`invoices/${id}/xml`, `invoices/${id}/xml?format=cii`]
    const before = await Promise.all(paths.map(text))
    expect(before[0]).toContain("Bright Hire Ltd")
    expect(before[0]).toContain("GB82WEST12345698765432")
    const changes = [
      ["settings/einvoice", { settings: { legal_name: "Dark Hire Ltd", peppol_id: "0088:5012345678917" } }],
      ["settings/invoicing", { settings: { iban: "DE89370400440532013000", bic: "COBADEFFXXX" } }],
      ["settings/company", { settings: { timezone: "Asia/Tokyo", phone: "0113 496 0000" } }],
      ["stores/1", { timezone: "Asia/Tokyo" }],
      [`opportunities/${opportunity.id}`, { starts_at: "2026-04-01T08:00:00Z", ends_at: "2026-04-09T08:00:00Z" }],
      [`members/${member_id}`, { chamber_of_commerce_number: "552 100 554" }]
    ] as const
    for (const [path, body] of changes) await there.must("PUT", `/${path}`, body)
    expect(await Promise.all(paths.map(text))).toEqual(before)
    const credit_note = await there.create(`/invoices/${other}/credit_notes`, {})
    expect(await text(`credit_notes/${credit_note.id}/xml`)).toContain("Bright Hire Ltd")
    expect(await text(`invoices/${await issued()}/xml`)).toContain("Dark Hire Ltd")
  })
  it("name the credited invoice on credit notes for an amount and for the rest", async () => {
    const id = await issued()
    const { number } = await there.show(`/invoices/${id}`)
    const credited = async (body: object) => {
      const credit_note = await there.create(`/invoices/${id}/credit_notes`, body)
      const answer = await fetched(`/credit_notes/${credit_note.id}/xml`)
      expect(answer.headers.get("content-disposition")).toContain(`credit-note-${credit_note.number}-ubl.xml`)
      const read = readInvoice(await answer.text())
      expect(brokenRules(read)).toEqual([])
      expect(read).toMatchObject({ code: "381", number: credit_note.number, preceding: [{ number }] })
      return [Number(read.with_vat), -Number(credit_note.total)]
    }
    const [in_part, as_noted] = await credited({ amount: "50.01", reason: "One lamp was dark" })
    expect([in_part, as_noted]).toEqual([50.01, 50.01])
    const [rest, rest_noted] = await credited({})
    expect(rest).toBe(rest_noted)
  })
  it("are the same text on a device without a network", async () => {
    const id = await issued()
    const device = await there.enrol("van")
    await device.sync()
    for (const format of ["ubl", "cii"]) {
      const path = `/invoices/${id}/xml?format=${format}`
      const here = await device.get(path)
      expect(here).toMatchObject({ status: 200, content: { type: "application/xml; charset=utf-8" } })
      expect(here.content).toMatchObject({ text: await (await fetched(path)).text() })
    }
  })
})
