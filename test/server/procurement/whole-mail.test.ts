/** A purchase order as its supplier gets it: the document of the house in a mail that a layout words. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import { mailServer, type TestMailServer } from "../mail/smtp.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"

let smtp: TestMailServer, app: Mailing
beforeAll(async () => {
  smtp = await mailServer()
  app = await openMailing("sqlite", smtp.url)
})
afterAll(async () => {
  await app.close()
  await smtp.close()
})

it("arrives with its lines and amounts, in the words of the layout", async () => {
  const must = async (target: string, json: object, method = "POST") => {
    const got = await app.ask(`/api/v1/${target}`, { json, method })
    if (got.status >= 300) throw new Error(`${target}: ${got.status} ${got.text}`)
    return got.body
  }
  await must("settings/company", { settings: { name: "Northlight Rental", email: "office@northlight.example" } }, "PUT")
  await must("document_layouts", {
    document_type: "purchase_order",
    mail_subject: "Order {{ purchase_order.number }}",
    mail_text: "For {{ supplier.name }}"
  })
  const { member } = await must("members", { name: "Rig Hire", membership_type: "organisation" })
  await must(`members/${member.id}/emails`, { address: "main@rig.example" })
  const { purchase_order } = await must("purchase_orders", {
    supplier_id: member.id,
    starts_at: "2026-07-01T09:00:00Z",
    ends_at: "2026-07-05T09:00:00Z",
    items: [{ name: "Truss 3 m", quantity: "4", unit_cost: "12.34" }]
  })
  await must(`purchase_orders/${purchase_order.id}/send`, {})
  await expect.poll(() => smtp.taken.length, { timeout: 30_000, interval: 50 }).toBe(1)
  const { read, to } = smtp.taken[0]!
  expect([to, read.subject, read.text?.trim()]).toEqual([
    ["main@rig.example"],
    `Order ${purchase_order.number}`,
    "For Rig Hire"
  ])
  const content = read.attachments[0]?.content
  if (!(content instanceof ArrayBuffer)) throw new Error("no content")
  const text = pagesOfPdf(new Uint8Array(content)).join("\n")
  for (const part of [purchase_order.number, "Rig Hire", "Truss 3 m", "49.36"]) expect(text).toContain(part)
})
