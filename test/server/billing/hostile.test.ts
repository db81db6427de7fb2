/** Logos and texts that somebody means ill with, and invoices of a thousand rows: the document is drawn all the same. */
import { deflateSync } from "node:zlib"
import { afterEach, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { formOf } from "../files/sending.ts"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import { mailServer, type TestMailServer } from "../mail/smtp.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"
import { fadingPng } from "../print/png.ts"
import { type Billing, billingOf } from "./billing.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const soon = { timeout: 60_000, interval: 50 }

/** Names dimensions that its few bytes do not have. */
const hugePng = (): Buffer => {
  const png = Buffer.from(fadingPng(4, 4))
  png.writeUInt32BE(60_000, 16)
  png.writeUInt32BE(60_000, 20)
  return png
}
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

describe.each(engines)("invoices that are hard to draw, on %s", (engine) => {
  const opened = async (): Promise<{ app: Mailing; billing: Billing; smtp: TestMailServer; member_id: number }> => {
    const smtp = await mailServer({})
    open.push(() => smtp.close())
    const app = await openMailing(engine, smtp.url)
    open.push(() => app.close())
    const billing = billingOf(app)
    const company = { settings: { name: "Northlight", email: "office@north.example" } }
    await billing.must("settings/company", company, "PUT")
    return { app, billing, smtp, member_id: await billing.member("Ann", { address: "a@a.example" }) }
  }
  const logo = async ({ app, billing, member_id }: Awaited<ReturnType<typeof opened>>, bytes: Uint8Array) => {
    const form = await formOf([
      ["attachable_type", "Member"],
      ["attachable_id", String(member_id)],
      ["file", new Blob([new Uint8Array(bytes)]), "logo"]
    ])
    const sent = await app.ask("/api/v1/attachments", { bytes: form.bytes, headers: { "content-type": form.type } })
    expect(sent.status, sent.text).toBe(201)
    const settings = { logo_attachment_id: sent.body.attachment.id }
    return app.ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings } })
  }
  const drawn = async (app: Mailing, id: number) => {
    const got = await app.ask(`/api/v1/invoices/${id}/pdf`)
    expect(got.status, got.text.slice(0, 500)).toBe(200)
    return { text: pagesOfPdf(got.bytes).join("\n"), pictures: Buffer.from(got.bytes).toString("latin1") }
  }

  it("carry the logo, and the same invoice without one does not", async () => {
    const there = await opened()
    const { id } = await there.billing.issued(there.member_id)
    expect((await drawn(there.app, id)).pictures).not.toContain("/Subtype /Image")
    expect((await logo(there, fadingPng(200, 80))).status).toBe(200)
    expect((await drawn(there.app, id)).pictures).toContain("/Subtype /Image")
  })
  it.each([
    ["a PNG of more pixels than memory", hugePng()],
    ["a PNG whose content unpacks for ever", Buffer.concat([hugePng(), deflateSync(Buffer.alloc(5_000_000))])],
    ["an SVG whose shapes multiply to a billion", multiplying],
    ["an SVG tiled a billion times", tiled],
    ["an SVG of very many shapes", dense],
    ["an SVG nested forty thousand deep", deep]
  ])("are drawn although the logo is %s", async (_what, bytes) => {
    const there = await opened()
    const { id, number } = await there.billing.issued(there.member_id)
    const saved = await logo(there, bytes)
    expect([200, 422]).toContain(saved.status)
    expect((await drawn(there.app, id)).text).toContain(`Invoice ${number}`)
    await there.billing.must(`invoices/${id}/email`, {})
    await expect.poll(() => there.smtp.taken.length, soon).toBe(1)
  })
  it.each([
    ["loops", "{% for a in (1..1000000000) %}{% for b in (1..1000000000) %}x{% endfor %}{% endfor %}"],
    ["grows", "{% assign a = 'xxxxxxxxxx' %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}{{ a }}"],
    ["nests", "{% if true %}".repeat(1_500) + "x" + "{% endif %}".repeat(1_500)]
  ])("are mailed although the text %s without end", async (_what, mail_text) => {
    const { app, billing, member_id, smtp } = await opened()
    const { id, number } = await billing.issued(member_id)
    const saved = await app.ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings: { mail_text } } })
    expect([200, 422]).toContain(saved.status)
    const layout = await app.ask("/api/v1/document_layouts", {
      json: { document_type: "invoice", intro: mail_text, mail_text }
    })
    expect([201, 422], layout.text.slice(0, 300)).toContain(layout.status)
    await billing.must(`invoices/${id}/email`, {})
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(smtp.taken[0]?.read.subject).toContain(number)
    expect((smtp.taken[0]?.read.text ?? "").length).toBeLessThan(200_000)
    expect((await drawn(app, id)).text).toContain(`Invoice ${number}`)
  })
  it("of a thousand rows are mailed as a job, whole", async () => {
    const { billing, member_id, smtp } = await opened()
    const items = Array.from({ length: 1_000 }, (_, at) => ({ name: `Row-${at + 1}.`, unit_price: "1.00" }))
    const { id, total } = await billing.issued(member_id, { items })
    expect(total).toBe("1000.00")
    await billing.must(`invoices/${id}/email`, {})
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const content = smtp.taken[0]?.read.attachments[0]?.content
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    const text = pagesOfPdf(new Uint8Array(content)).join("\n")
    expect(items.filter(({ name }) => !text.includes(name))).toEqual([])
    expect(text).toContain("£1,000.00")
  })
})
