/** Document types, fields of their texts, layouts, and documents' agreement with the API. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type DocumentSource, prepareDocument } from "../../../../core/documents/content/prepare.ts"
import { CommandRuntime } from "../../../../core/kernel/endpoints/endpoint.ts"
import { dateText, moneyText } from "../../../../core/pricing/print/format.ts"
import { filledDocument, filledMail } from "../../../../server/documents/papers/filled.ts"
import { type Engine, engines } from "../../../app.ts"
import { flat } from "../../../core/billing/paper/samples.ts"
import { pagesOfPdf } from "../../print/pdf-text.ts"
import { serve, type Serving } from "../../serving.ts"
import { type Billing, billingOf } from "../../billing/billing.ts"
import { words } from "../../../words.ts"

const window = { starts_at: "2026-12-01T08:00:00Z", ends_at: "2026-12-04T17:00:00Z" }

describe.each(engines)("the API of documents and layouts on %s", (engine: Engine) => {
  let serving: Serving
  let house: Billing
  let member_id: number
  let product_id: number
  beforeAll(async () => {
    serving = await serve(engine, { public_url: "https://hire.example" })
    house = billingOf(serving)
    await house.must("settings/company", { settings: { name: "Northlight Rental", base_currency: "GBP" } }, "PUT")
    for (const code of ["JPY", "KWD"]) {
      await house.must(`currencies/${code}`, { is_enabled: true }, "PUT")
      const rate = { source_currency_code: code, target_currency_code: "GBP", rate: "2", effective_at: "2026-01-01" }
      await house.must("exchange_rates", rate)
    }
    const { organisation_tax_classes } = await house.must("organisation_tax_classes")
    const { product_tax_classes } = await house.must("product_tax_classes")
    const { member } = await house.must("members", {
      name: "Φωτισμός Αθηνών Α.Ε.",
      membership_type: "organisation",
      tax_number: "EL123456789",
      sale_tax_class_id: organisation_tax_classes[0].id
    })
    member_id = member.id
    await house.must(`members/${member_id}/addresses`, { street: "Οδός 1", city: "Αθήνα", postcode: "10558" })
    const tax_class_id = product_tax_classes[0].id
    product_id = (await house.must("products", { name: "Lamp", tax_class_id })).product.id
  })
  afterAll(() => serving?.close())

  const quote = async (set: object = {}, ...lines: ReadonlyArray<object>) => {
    const { opportunity } = await house.must("opportunities", { subject: "Gala", member_id, ...window, ...set })
    for (const line of lines.length === 0 ? [{ unit_price: "33.33", quantity: "3" }] : lines)
      await house.must(`opportunities/${opportunity.id}/items`, { name: "Lamp", item_id: product_id, ...line })
    return opportunity.id as number
  }
  const prepared = (source: Pick<DocumentSource, "document_type" | "documentable_id"> & Partial<DocumentSource>) =>
    Effect.gen(function* () {
      const settings = yield* (yield* CommandRuntime).settings
      const now = "2026-11-22T09:30:00.000Z"
      const made = yield* prepareDocument({ store_id: null, document_number: "0000000009", now, ...source }, settings)
      if (made === undefined) throw new Error("there is no such document")
      return made
    })
  const documentOf = (document_type: DocumentSource["document_type"], documentable_id: number, store_id?: number) =>
    serving.run(
      Effect.flatMap(
        prepared({ document_type, documentable_id, ...(store_id === undefined ? {} : { store_id }) }),
        filledDocument
      )
    )
  const said = async (...given: Parameters<typeof documentOf>) => JSON.stringify(await documentOf(...given))
  const totalsOf = async (...given: Parameters<typeof documentOf>) =>
    flat((await documentOf(...given)).blocks).flatMap((block) =>
      block.kind === "totals" ? block.rows.map(({ value }) => value) : []
    )
  const layout = async (body: object) => (await house.must("document_layouts", body)).document_layout
  const drop = (id: number) => serving.ask(`/api/v1/document_layouts/${id}`, { method: "DELETE" })
  const refused = async (body: object, status = 422) => {
    const got = await serving.ask("/api/v1/document_layouts", { json: body })
    expect(got.status, got.text).toBe(status)
    return got.body.errors as { readonly [field: string]: ReadonlyArray<string> }
  }

  it("lists the ten document types with their sources", async () => {
    const { document_types, meta } = await house.must("document_types")
    expect(meta).toEqual({ total: 10, per_page: 10, page: 1 })
    const sources = document_types.map((one: Record<"key" | "documentable_types", unknown>) => [
      one.key,
      one.documentable_types
    ])
    expect(Object.fromEntries(sources)).toEqual({
      ...Object.fromEntries(
        words("quotation order_confirmation pick_list delivery_note return_note").map((key) => [key, ["Opportunity"]])
      ),
      ...Object.fromEntries(words("invoice proforma_invoice deposit_invoice").map((key) => [key, ["Invoice"]])),
      credit_note: ["CreditNote"],
      purchase_order: ["PurchaseOrder"]
    })
  })
  const fieldTypes = async (type: string): Promise<ReadonlyMap<string, string>> => {
    const { fields } = await house.must(`document_types/${type}/fields`)
    const all = fields.flatMap((group: { fields: ReadonlyArray<{ name: string; type: string }> }) => group.fields)
    return new Map(all.map((one: { name: string; type: string }) => [one.name, one.type]))
  }
  it("lists the template fields of a document type with their data types", async () => {
    const fields = await fieldTypes("quotation")
    expect([...fields.keys()]).toEqual(
      expect.arrayContaining(
        (
          "opportunity.subject opportunity.reference opportunity.status opportunity.starts_at opportunity.ends_at " +
          "opportunity.charge_total opportunity.tax_total opportunity.grand_total opportunity.description " +
          "opportunity.rental_days member.company_name member.name member.email member.phone member.billing_address " +
          "member.delivery_address member.vat_number items item.product_name item.quantity item.unit_charge " +
          "item.total_charge item.discount item.description store.name store.address store.phone store.email " +
          "store.vat_number store.company_number store.website document.number document.date document.due_date " +
          "document.terms document.notes"
        ).split(" ")
      )
    )
    expect(
      words("items opportunity.starts_at opportunity.charge_total opportunity.subject").map((name) => fields.get(name))
    ).toEqual(words("collection date currency string"))
  })
  it("refuses an unknown document type", async () => {
    expect((await serving.ask("/api/v1/document_types/poster/fields")).status).toBe(404)
    expect((await serving.ask("/api/v1/document_types/constructor/fields")).status).toBe(404)
  })
  it.each([
    ["purchase_order", "purchase_order.number purchase_order.total supplier.name", "member.name"],
    ["invoice", "member.name invoice.number invoice.total invoice.due_at", "supplier.name"],
    ["credit_note", "member.name credit_note.number credit_note.total", "invoice.total"],
    ["pick_list", "opportunity.subject item.quantity", "opportunity.charge_total"]
  ])("gives a %s the fields %s, and not %s", async (type, offered, missing) => {
    const fields = await fieldTypes(type)
    expect(words(offered).filter((name) => !fields.has(name))).toEqual([])
    expect(fields.has(missing)).toBe(false)
  })
  it("refuses a token without the abilities for documents and layouts", async () => {
    const { token } = await house.must("tokens", { name: "Reads", abilities: ["products:read"] })
    for (const target of ["document_types", "document_types/quotation/fields", "document_layouts"])
      expect((await serving.ask(`/api/v1/${target}`, { token: token.secret })).status).toBe(403)
    const writes = { token: token.secret, json: { intro: "{{ wrong" } }
    expect((await serving.ask("/api/v1/document_layouts", writes)).status).toBe(403)
  })

  it("creates, shows, changes and deletes a layout", async () => {
    const made = await layout({ document_type: "quotation", intro: "Dear {{ member.name }}", accent: "#1F4E79" })
    expect(made).toMatchObject({ store_id: null, document_type: "quotation", accent: "#1f4e79" })
    const listed = await house.must("document_layouts?q[type_eq]=quotation&include=store")
    expect(listed.document_layouts).toHaveLength(1)
    const changed = await house.must(`document_layouts/${made.id}`, { intro: null, footer: "Hi" }, "PUT")
    expect(changed.document_layout).toMatchObject({ intro: null, footer: "Hi", accent: "#1f4e79" })
    expect((await drop(made.id)).status).toBe(204)
    expect((await serving.ask(`/api/v1/document_layouts/${made.id}`)).status).toBe(404)
  })
  it("allows one layout per store and type, either of which may be empty", async () => {
    const both = await layout({ store_id: 1, document_type: "invoice" })
    const neither = await layout({})
    expect(Object.keys(await refused({ store_id: 1, document_type: "invoice" }))).toEqual(["document_type"])
    expect(Object.keys(await refused({}))).toEqual(["document_type"])
    const third = await layout({ document_type: "invoice" })
    const moved = await serving.ask(`/api/v1/document_layouts/${third.id}`, { method: "PUT", json: { store_id: 1 } })
    expect(moved.status).toBe(422)
    for (const { id } of [both, neither, third]) await drop(id)
  })
  it("refuses an invalid colour", async () => {
    expect(await refused({ accent: "blue" })).toHaveProperty("accent")
  })
  it("refuses an unknown store, type, logo and page size", async () => {
    expect(await refused({ store_id: 4711 })).toHaveProperty("store_id")
    expect(await refused({ document_type: "poster" })).toHaveProperty("document_type")
    expect(await refused({ logo_attachment_id: 4711 })).toHaveProperty("logo_attachment_id")
    expect(await refused({ page_size: "A3" })).toHaveProperty("page_size")
  })
  it.each([
    ["intro", "Dear {{ member.nam }}", "member.nam,", "Did you mean member.name?"],
    ["terms", "{{ opportunity.subjct }}", "opportunity.subjct,", "Did you mean opportunity.subject?"],
    ["footer", "{{ customer.vat_number }}", "customer.vat_number,", "Did you mean"],
    ["mail_subject", "{{ quote_number }}", "quote_number,", "/document_types/quotation/fields lists them."],
    [
      "mail_text",
      "{% for line in items %}{{ line.produkt_name }}{% endfor %}",
      "items.produkt_name,",
      "Did you mean items.product_name?"
    ]
  ])(
    "names the unknown field in %s, and suggests a similar one or the list of fields",
    async (place, text, unknown, hint) => {
      const errors = await refused({ document_type: "quotation", [place]: text })
      expect(Object.keys(errors)).toEqual([place])
      expect(errors[place]?.[0]).toContain(`names ${unknown}`)
      expect(errors[place]?.[0]).toContain(hint)
    }
  )
  it("refuses a text with a syntax error, with its position", async () => {
    const errors = await refused({ document_type: "quotation", intro: "Dear\n{% if member.name %}" })
    expect(errors["intro"]?.[0]).toMatch(/cannot be read in line 2/)
  })
  it("allows a layout without a type only the fields of all types", async () => {
    expect(await refused({ intro: "{{ opportunity.subject }}" })).toHaveProperty("intro")
    const made = await layout({ intro: "{{ store.name }}, {{ document.date }}" })
    await drop(made.id)
  })
  it("checks the texts again when the type changes", async () => {
    const made = await layout({ document_type: "quotation", intro: "{{ opportunity.subject }}" })
    const to = { method: "PUT", json: { document_type: "invoice" } }
    const got = await serving.ask(`/api/v1/document_layouts/${made.id}`, to)
    expect([got.status, Object.keys(got.body.errors)]).toEqual([422, ["intro"]])
    await drop(made.id)
  })
  it("refuses prices in the texts of warehouse documents", async () => {
    expect(await refused({ document_type: "pick_list", intro: "{{ opportunity.grand_total }}" })).toHaveProperty(
      "intro"
    )
    const made = await layout({ document_type: "pick_list", intro: "{{ opportunity.subject }}" })
    await drop(made.id)
  })
  it("uses the most specific layout for each text", async () => {
    const store = (await house.must("stores", { name: "Second" })).store.id
    const id = await quote({ subject: "Ball" })
    const made = [
      await layout({
        document_type: "quotation",
        intro: "For {{ opportunity.subject }}",
        terms: "Pay {{ opportunity.grand_total }}"
      }),
      await layout({ store_id: store, document_type: "quotation", intro: "Second: {{ member.name }}" })
    ]
    expect(await said("quotation", id)).toContain("For Ball")
    const second = await said("quotation", id, store)
    expect(second).toContain("Second: Φωτισμός Αθηνών Α.Ε.")
    expect(second).toContain("Pay £")
    expect(second).not.toContain("For Ball")
    for (const one of made) await drop(one.id)
    expect(await said("quotation", id)).not.toContain("For Ball")
  })
  it("uses the layout's colour, page size and footer before the settings'", async () => {
    await house.must("settings/invoicing", { settings: { footer: "Of the settings", accent: "#111111" } }, "PUT")
    const id = await quote()
    expect(await documentOf("quotation", id)).toMatchObject({
      accent: "#111111",
      page: { size: "A4" },
      footer: { lines: ["Of the settings"] }
    })
    const made = await layout({ accent: "#222222", page_size: "LETTER", footer: "{{ store.name }}\nBank 1" })
    expect(await documentOf("quotation", id)).toMatchObject({
      accent: "#222222",
      page: { size: "LETTER" },
      footer: { lines: ["Northlight Rental", "Bank 1"] }
    })
    await drop(made.id)
  })
  it("deletes a store's layouts with the store", async () => {
    const store = (await house.must("stores", { name: "Third" })).store.id
    const made = await layout({ store_id: store, intro: "Gone soon" })
    await house.must(`stores/${store}`, undefined, "DELETE")
    expect((await serving.ask(`/api/v1/document_layouts/${made.id}`)).status).toBe(404)
  })
  it("leaves out a layout's text whose template fails on the document's data", async () => {
    // More memory than a text may use.
    const endless = "{% for a in (1..99999999) %}x{% endfor %}"
    const made = await layout({ document_type: "quotation", intro: endless, terms: "Kept" })
    const text = await said("quotation", await quote())
    expect([text.includes("Kept"), text.includes("xxxx")]).toEqual([true, false])
    await drop(made.id)
  })
  it("shows a layout's texts in an invoice's own PDF, and a watermark on a draft", async () => {
    const made = await layout({ document_type: "invoice", intro: "Invoice of {{ invoice.total }}", terms: "Net 30" })
    const { id } = await house.issued(member_id)
    const { bytes } = await serving.ask(`/api/v1/invoices/${id}/pdf`)
    const text = pagesOfPdf(bytes).join("\n")
    expect(text).toContain("Invoice of £")
    expect(text).toContain("Net 30")
    const draft = await house.draft(member_id)
    expect((await documentOf("invoice", draft.id)).watermark).toBe("DRAFT")
    await drop(made.id)
  })
  it("fills the texts of the mail, with a subject of one line", async () => {
    const id = await quote({ subject: "Ball" })
    const mail = () =>
      serving.run(Effect.flatMap(prepared({ document_type: "quotation", documentable_id: id }), filledMail))
    expect((await mail()).subject).toBe("Quotation 0000000009, Ball, Northlight Rental")
    const made = await layout({
      document_type: "quotation",
      mail_subject: "For\n{{ opportunity.subject }}",
      mail_text: "Hi"
    })
    expect(await mail()).toEqual({ subject: "For Ball", text: "Hi" })
    await drop(made.id)
  })
  it("lists layouts by their document type", async () => {
    const made = await layout({ document_type: "return_note", intro: "Back" })
    const { document_layouts } = await house.must("document_layouts?q[document_type_eq]=return_note")
    expect(document_layouts[0]).toMatchObject({ id: made.id, intro: "Back" })
    await drop(made.id)
  })

  describe.each(["GBP", "JPY", "KWD"])("a document's amounts in %s", (currency) => {
    it.each([
      ["net prices", { prices_include_tax: false }],
      ["prices with tax", { prices_include_tax: true }]
    ])("equal the API's with %s", async (_what, set) => {
      const price = currency === "JPY" ? "3333" : "33.33"
      const id = await quote(
        { currency, ...set },
        { unit_price: price, quantity: "3" },
        { unit_price: price, quantity: "1", discount_percent: "12.5" },
        { unit_price: price, quantity: "7", is_optional: true }
      )
      await house.must(`opportunities/${id}/costs`, { description: "Truck", amount: price, quantity: "1" })
      const { opportunity } = await house.must(`opportunities/${id}`)
      const money = (amount: string) => moneyText(amount, currency, "en-GB")
      const totals = await totalsOf("quotation", id)
      expect(totals[0]).toBe(money(opportunity.charge_excluding_tax_total))
      expect(totals.at(-2)).toBe(money(opportunity.tax_total))
      expect(totals.at(-1)).toBe(money(opportunity.charge_including_tax_total))
      const { invoice } = await house.must(`opportunities/${id}/invoices`, { type: "standard" })
      const [net, ...others] = await totalsOf("invoice", invoice.id)
      expect([net, others.at(-1)]).toEqual([totals[0], totals.at(-1)])
    })
  })
  it("shows an agreed price as the total, beside the list price", async () => {
    const id = await quote()
    await house.must(`opportunities/${id}/deal_price`, { deal_total: "200.00" })
    const { opportunity } = await house.must(`opportunities/${id}`)
    const totals = await totalsOf("order_confirmation", id)
    expect(totals.slice(0, 2)).toEqual(["£299.97", "£200.00"])
    expect(totals.at(-1)).toBe(moneyText(opportunity.charge_including_tax_total, "GBP", "en-GB"))
  })
  it("lists an invoiced deposit on an order confirmation", async () => {
    const id = await quote()
    const deposit = {
      type: "deposit",
      member_id,
      opportunity_id: id,
      items: [{ name: "Deposit", unit_price: "50.00" }]
    }
    const { number } = await house.issued(member_id, deposit)
    expect(await said("order_confirmation", id)).toContain(`Deposit invoice ${number} of`)
  })
  it("dates a deducted deposit as it dates everything, unless its row was renamed", async () => {
    const id = await quote()
    const deposit = await house.must(`opportunities/${id}/invoices`, { type: "deposit", percent: "10" })
    const { number, issued_at } = (await house.must(`invoices/${deposit.invoice.id}/issue`, {})).invoice
    const { invoice } = await house.must(`opportunities/${id}/invoices`, { type: "standard" })
    const day = dateText(String(issued_at).slice(0, 10), "en-GB")
    expect(await said("invoice", invoice.id)).toContain(`Deposit invoice ${number} of ${day}`)
    const items = invoice.items.map(({ id, deposit_invoice_id }: { id: number; deposit_invoice_id: number | null }) =>
      deposit_invoice_id === null ? { id } : { id, name: "Paid on account" }
    )
    await house.must(`invoices/${invoice.id}`, { items }, "PUT")
    expect(await said("invoice", invoice.id)).toContain("Paid on account")
  })
  it("names the version of the quotation by number and label", async () => {
    const id = await quote({}, { name: "In both" })
    await house.must(`opportunities/${id}/convert_to_quotation`, {})
    await house.must(`opportunities/${id}/versions`, { label: "Smaller" })
    expect(await said("quotation", id)).toContain('{"label":"Version","value":"1 · Smaller"}')
  })
  it("shows the credited invoice's number and the reason on a credit note", async () => {
    const { id, number } = await house.issued(member_id)
    const { credit_note } = await house.must(`invoices/${id}/credit_notes`, { reason: "Broken" })
    const text = await said("credit_note", credit_note.id)
    expect(text).toContain(String(number))
    expect(text).toContain("Broken")
  })
  it("refuses a deposit invoice made from a standard invoice, and a quotation of a missing opportunity", async () => {
    const { id } = await house.issued(member_id)
    await expect(documentOf("deposit_invoice", id)).rejects.toThrow()
    await expect(documentOf("quotation", 4711)).rejects.toThrow()
  })
})
