/** Invoices by e-mail, also with malicious logos and texts, and with the maximum number of rows. */
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { engines, plays_everything } from "../../app.ts"
import { formOf } from "../files/sending.ts"
import { poll } from "../house.ts"
import { rowsOf } from "../delivery/jobs/words.ts"
import { attachedText, mailsFor } from "../delivery/mail/mailing.ts"
import { replies } from "../delivery/mail/smtp.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"
import { fadingPng, packedZeros, swollenPng, unfilteredPng, circlingPng } from "../print/png.ts"
import { type Billing, billingOf } from "./billing.ts"

const svg = (inside: string): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">${inside}</svg>`)
const multiplying = svg(
  '<g id="a0"><rect width="1" height="1"/></g>' +
    Array.from({ length: 30 }, (_, at) => `<g id="a${at + 1}"><use href="#a${at}"/><use href="#a${at}"/></g>`).join("")
)
const tiled = svg(
  '<defs><pattern id="p" width="0.001" height="0.001" patternUnits="userSpaceOnUse"><rect width="1" height="1"/></pattern></defs>' +
    '<rect width="100" height="40" fill="url(#p)"/>'
)
const dense = svg('<path d="M0 0l1 1"/>'.repeat(24_000))
const deep = svg("<g>".repeat(40_000) + "</g>".repeat(40_000))

describe.each(engines)("an invoice by e-mail on %s", (engine) => {
  const mails = mailsFor(engine)
  let billing: Billing
  let member_id: number
  beforeAll(async () => {
    billing = billingOf(mails.app())
    member_id = await billing.member("Ann", { address: "a@a.example" })
  })
  afterEach(async () => {
    const settings = { logo_attachment_id: null, mail_subject: null, mail_text: null }
    await billing.must("settings/invoicing", { settings }, "PUT")
    await billing.must("settings/mail", { settings: { always_bcc: null } }, "PUT")
    for (const { id } of (await billing.must("document_layouts")).document_layouts)
      await billing.must(`document_layouts/${id}`, undefined, "DELETE")
  })

  it("goes with its PDF to the billing address and the given cc", async () => {
    const type_id = await mails.billingType()
    const member_id = await billing.member(
      "Ann Ltd",
      { address: "first@ann.example" },
      { address: "main@ann.example", is_primary: true },
      { address: "bills@ann.example", type_id }
    )
    const invoice = await billing.issued(member_id)
    const answer = await billing.must(`invoices/${invoice["id"]}/email`, { cc: ["boss@ann.example"] })
    expect(answer.invoice.emailed_at).toMatch(/^\d{4}-/)
    expect(answer.meta).toEqual({ is_mailed: true, warnings: [] })
    const [mail] = await mails.arrived()
    const { read, to } = mail!
    expect(to).toEqual(["bills@ann.example", "boss@ann.example"])
    expect(read.subject).toBe(`Invoice ${invoice["number"]}, Northlight Rental`)
    expect(read.text).toContain("Dear Ann Ltd,")
    expect(read.attachments[0]?.filename).toBe(`invoice-${invoice["number"]}.pdf`)
    expect(attachedText(mail!)).toContain(`Invoice ${invoice["number"]}`)
    const { jobs } = await billing.must("system/jobs?q[kind_eq]=invoices.mail")
    expect(jobs).toMatchObject([{ status: "done", owner_id: 1 }])
    expect((await mails.app().ask(`/api/v1/invoices/${invoice["id"]}`)).body.invoice.emailed_at).toBe(
      answer.invoice.emailed_at
    )
  })
  it("leaves no address in its jobs once anyone is erased", async () => {
    const erased = await billing.member("Bea", { address: "bea@b.example" })
    const invoice = await billing.issued(member_id)
    await billing.must(`invoices/${invoice["id"]}/email`, { to: ["bea@b.example"] })
    await mails.arrived()
    const named = "select state from effect_queue where element like '%bea@b.example%'"
    const states = async () => (await rowsOf(mails.app(), named)).map(({ state }) => state)
    await expect.poll(states, poll).toEqual(["completed", "completed"])
    await billing.must(`members/${erased}/anonymise`, {})
    expect(await states()).toEqual([])
  })
  it("has the same number in subject, file name, PDF, e-invoice and postings", async () => {
    const company = {
      name: "Northlight Rental",
      street: "Dock 4",
      city: "Bristol",
      postcode: "BS1",
      country_code: "GB"
    }
    await billing.must("settings/company", { settings: { ...company, tax_number: "GB123456789" } }, "PUT")
    await billing.must("settings/einvoice", { settings: { untaxed_reason: "Outside the scope" } }, "PUT")
    const { countries } = await billing.must("countries?q[code_eq]=GB")
    const member_id = await billing.member("Ann Ltd", { address: "bills@ann.example" })
    await billing.must(`members/${member_id}/addresses`, { street: "1 Row", country_id: countries[0].id })
    const numbering = (settings: object) => billing.must("settings/numbering", { settings }, "PUT")
    await numbering({ "invoice.prefix": "INV-", "invoice.digits": 4 })
    const { id, number } = await billing.issued(member_id)
    await numbering({ "invoice.prefix": "", "invoice.digits": 10 })
    expect(number).toMatch(/^INV-\d{4}$/)
    await billing.must(`invoices/${id}/email`, {})
    const [mail] = await mails.arrived()
    expect(mail!.read.subject).toContain(`Invoice ${number},`)
    expect(mail!.read.attachments[0]?.filename).toBe(`invoice-${number}.pdf`)
    expect(attachedText(mail!)).toContain(`Invoice ${number}`)
    const xml = await mails.app().ask(`/api/v1/invoices/${id}/xml`)
    expect(xml.text).toContain(`<cbc:ID>${number}</cbc:ID>`)
    expect(xml.headers["content-disposition"]).toContain(`invoice-${number}-ubl.xml`)
    const { documents } = await billing.must("accounting/postings?kind=invoices&since=2026-01-01")
    expect(documents).toContainEqual(expect.objectContaining({ number }))
  })
  it("goes to the primary address, else the first; without either, an address must be given", async () => {
    const primary = await billing.member(
      "A",
      { address: "first@a.example" },
      { address: "main@a.example", is_primary: true }
    )
    const first = await billing.member("B", { address: "first@b.example" }, { address: "second@b.example" })
    const none = await billing.member("C")
    const send = async (member_id: number, body: object) => {
      const { id } = await billing.issued(member_id)
      return mails.app().ask(`/api/v1/invoices/${id}/email`, { json: body })
    }
    expect((await send(primary, {})).status).toBe(200)
    expect((await send(first, {})).status).toBe(200)
    const refused = await send(none, {})
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["to"]])
    expect((await send(none, { to: "told@c.example", subject: "Your bill", message: "Here it is." })).status).toBe(200)
    const taken = await mails.arrived(3)
    expect(taken.map(({ to }) => to[0]).toSorted()).toEqual(["first@b.example", "main@a.example", "told@c.example"])
    const told = taken.find(({ to }) => to[0] === "told@c.example")
    expect([told?.read.subject, told?.read.text?.trim()]).toEqual(["Your bill", "Here it is."])
  })
  it("is refused for drafts, invalid recipients and long texts, and nothing is recorded or queued", async () => {
    const member_id = await billing.member("A", { address: "a@a.example" })
    const { id } = await billing.draft(member_id)
    const jobs = async () => {
      const { jobs } = await billing.must("system/jobs?per_page=100")
      return jobs.flatMap((job) => (job.kind === "notifications.tell" ? [] : [job.id]))
    }
    const before = await jobs()
    const fields = async (body: object) => {
      const got = await mails.app().ask(`/api/v1/invoices/${id}/email`, { json: body })
      return [got.status, ...Object.keys(got.body.errors ?? {})]
    }
    expect(await fields({})).toEqual([422, "status"])
    await billing.must(`invoices/${id}/issue`, {})
    expect(await fields({ to: ["a@a.example", "b@"] })).toEqual([422, "to.1"])
    expect(await fields({ to: 7 })).toEqual([422, "to"])
    expect(await fields({ cc: "x" })).toEqual([422, "cc"])
    const many = (count: number, at: string) => Array.from({ length: count }, (_, n) => `n${n}@${at}.example`)
    expect(await fields({ to: many(51, "a") })).toEqual([422, "to"])
    expect(await fields({ to: many(50, "a"), cc: many(50, "b") })).toEqual([422, "cc"])
    expect(await fields({ subject: "s".repeat(256) })).toEqual([422, "subject"])
    expect(await fields({ message: "m".repeat(5_001) })).toEqual([422, "message"])
    expect((await billing.must(`invoices/${id}`)).invoice.emailed_at).toBeNull()
    expect(await jobs()).toEqual(before)
  })
  it("goes to 99 recipients and the blind copy of the settings", async () => {
    const many = (count: number, at: string) => Array.from({ length: count }, (_, n) => `n${n}@${at}.example`)
    await billing.must("settings/mail", { settings: { always_bcc: "books@own.example" } }, "PUT")
    const { id } = await billing.issued(await billing.member("A"))
    await billing.must(`invoices/${id}/email`, { to: many(50, "a"), cc: many(49, "b") })
    expect((await mails.arrived())[0]?.to).toHaveLength(100)
  })
  it("is recorded as sent when the mail server refuses it, and its sender is notified", async () => {
    mails.refuses(replies(550, "no such mailbox"))
    const { id } = await billing.issued(await billing.member("A", { address: "gone@a.example" }))
    expect((await billing.must(`invoices/${id}/email`, {})).invoice.emailed_at).not.toBeNull()
    const sending = async () =>
      (await billing.must("system/jobs?q[kind_eq]=mail.send")).jobs.find((job) => job.status === "failed")
    await expect.poll(sending, poll).toBeDefined()
    expect((await sending())?.error).toContain("no such mailbox")
    expect((await mails.arrived())[0]?.read.subject).toContain("Not delivered")
  })
  it("fills the settings' subject and text with the invoice's fields", async () => {
    await billing.must(
      "settings/invoicing",
      {
        settings: {
          mail_subject: "{{ invoice.number }} from {{ company.name }}",
          mail_text: "{{ member.name }}: {{ invoice.to_pay }} by {{ invoice.due_on }}"
        }
      },
      "PUT"
    )
    const { id, number } = await billing.issued(
      await billing.member("Ann", { address: "a@a.example" }),
      {},
      { issued_at: "2026-01-02T10:00:00Z", due_at: "2026-02-03T10:00:00Z" }
    )
    await billing.must(`invoices/${id}/email`, {})
    const { read } = (await mails.arrived())[0]!
    expect([read.subject, read.text?.trim()]).toEqual([
      `${number} from Northlight Rental`,
      "Ann: £100.00 by 3 February 2026"
    ])
  })

  const logo = async (bytes: Uint8Array) => {
    const form = await formOf([
      ["attachable_type", "Member"],
      ["attachable_id", String(member_id)],
      ["file", new Blob([new Uint8Array(bytes)]), "logo"]
    ])
    const sent = await mails
      .app()
      .ask("/api/v1/attachments", { bytes: form.bytes, headers: { "content-type": form.type } })
    expect(sent.status, sent.text).toBe(201)
    const settings = { logo_attachment_id: sent.body.attachment.id }
    return mails.app().ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings } })
  }
  const drawn = async (id: number) => {
    const got = await mails.app().ask(`/api/v1/invoices/${id}/pdf`)
    expect(got.status, got.text.slice(0, 500)).toBe(200)
    return { text: pagesOfPdf(got.bytes).join("\n"), pictures: Buffer.from(got.bytes).toString("latin1") }
  }

  describe("invoices with custom logos or texts, or many rows", () => {
    it("contain the logo of the settings", async () => {
      const { id } = await billing.issued(member_id)
      expect((await drawn(id)).pictures).not.toContain("/Subtype /Image")
      expect((await logo(fadingPng(200, 80))).status).toBe(200)
      expect((await drawn(id)).pictures).toContain("/Subtype /Image")
    })
    it.each([
      ["a PNG of more pixels than memory", swollenPng(30_000, 3_600)],
      ["a PNG of sixteen pixels that unpack to four gigabytes", swollenPng(4, 4_000)],
      ["a PNG that is larger than it says first", swollenPng(4, 1, 30_000)],
      ["a PNG of an unknown filter", unfilteredPng()],
      ["a PNG that is read in a circle", circlingPng()],
      ["a PNG with compressed data after its end", Buffer.concat([fadingPng(4, 4), packedZeros(4_000)])],
      ["an SVG whose shapes multiply to a billion", multiplying],
      ["an SVG tiled a billion times", tiled],
      ["an SVG of very many shapes", dense],
      ["an SVG nested forty thousand deep", deep]
    ])("are drawn and mailed after an attempt to set a logo that is %s", async (_what, bytes) => {
      const { id, number } = await billing.issued(member_id)
      const saved = await logo(bytes)
      expect([200, 422]).toContain(saved.status)
      expect((await drawn(id)).text).toContain(`Invoice ${number}`)
      await billing.must(`invoices/${id}/email`, {})
      expect(attachedText((await mails.arrived())[0]!)).toContain(`Invoice ${number}`)
    })
    it.each([
      ["loops", "{% for a in (1..1000000000) %}{% for b in (1..1000000000) %}x{% endfor %}{% endfor %}"],
      ["grows", "{% assign a = 'xxxxxxxxxx' %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}{{ a }}"],
      ["nests", "{% if true %}".repeat(1_500) + "x" + "{% endif %}".repeat(1_500)]
    ])("are drawn and mailed after an attempt to set a text template that %s without end", async (_what, mail_text) => {
      const { id, number } = await billing.issued(member_id)
      const saved = await mails
        .app()
        .ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings: { mail_text } } })
      expect([200, 422]).toContain(saved.status)
      const layout = await mails
        .app()
        .ask("/api/v1/document_layouts", { json: { document_type: "invoice", intro: mail_text, mail_text } })
      expect([201, 422], layout.text.slice(0, 300)).toContain(layout.status)
      await billing.must(`invoices/${id}/email`, {})
      const { read } = (await mails.arrived())[0]!
      expect(read.subject).toContain(number)
      expect((read.text ?? "").length).toBeLessThan(200_000)
      expect((await drawn(id)).text).toContain(`Invoice ${number}`)
    })
    it("are mailed with every row of a long invoice", async () => {
      const count = plays_everything ? 1_000 : 120
      const items = Array.from({ length: count }, (_, at) => ({ name: `Row-${at + 1}.`, unit_price: "10.00" }))
      const { id, total } = await billing.issued(member_id, { items })
      expect(total).toBe(`${count}0.00`)
      await billing.must(`invoices/${id}/email`, {})
      const text = attachedText((await mails.arrived())[0]!)
      expect(items.filter(({ name }) => !text.includes(name))).toEqual([])
      expect(text).toContain(plays_everything ? "£10,000.00" : "£1,200.00")
    })
  })
})
