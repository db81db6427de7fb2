/** Mail, as a mail server gets it and a mail program reads it. */
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import PostalMime from "postal-mime"
import { afterEach, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { type Mailing, openMailing } from "./mailing.ts"
import { type Behaviour, mailServer, replies, type TestMailServer } from "./smtp.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const soon = { timeout: 30_000, interval: 50 }

describe.each(engines)("mail on %s", (engine) => {
  const opened = async (behaviour: Behaviour = {}, url?: string): Promise<{ smtp: TestMailServer; app: Mailing }> => {
    const smtp = await mailServer(behaviour)
    open.push(() => smtp.close())
    const app = await openMailing(engine, url ?? smtp.url)
    open.push(() => app.close())
    return { smtp, app }
  }

  it("arrives with its parts, its headers and its attachments as they were", async () => {
    const { smtp, app } = await opened()
    const every_byte = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7 + (at >> 8)) % 256)
    const line = "A very long line. ".repeat(200).trim()
    const queued = await app.mail({
      id: "invoice.42.issued",
      to: [{ name: 'Jörg Ångström, "Bühne" 🎪', address: "jörg@bücher.example" }, "second@customer.example"],
      cc: [{ name: "Accounts", address: "accounts@customer.example" }],
      bcc: ["secret@house.example"],
      reply_to: { name: "Hire desk", address: "desk@house.example" },
      subject: "Ihre Rechnung für das Straßenfest — 請求書 № 42",
      text: `Größe: 3 m\n.\n..\nFrom here\n${line}\n`,
      html: `<p>Größe: <b>3 m</b></p><p>${line}</p>`,
      attachments: [
        { name: "Rechnung № 42 – Bühne.pdf", mime_type: "application/pdf", bytes: every_byte },
        { name: "../../etc/pass\r\nX-Evil: 1", mime_type: "text/plain", bytes: new TextEncoder().encode("a\nb\r\nc") }
      ]
    })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { from, to, read, raw } = smtp.taken[0]!
    expect(from).toBe("flightcase@hire.example")
    expect(to).toEqual([
      "jörg@bücher.example",
      "second@customer.example",
      "accounts@customer.example",
      "secret@house.example"
    ])
    expect(queued.message_id).toBe("<invoice.42.issued@hire.example>")
    expect(read.messageId).toBe(queued.message_id)
    expect(read.subject).toBe("Ihre Rechnung für das Straßenfest — 請求書 № 42")
    expect(read.to?.[0]).toMatchObject({ name: 'Jörg Ångström, "Bühne" 🎪' })
    expect(read.cc).toEqual([{ name: "Accounts", address: "accounts@customer.example" }])
    expect(read.replyTo).toEqual([{ name: "Hire desk", address: "desk@house.example" }])
    expect(read.headers.find(({ key }) => key === "auto-submitted")?.value).toBe("auto-generated")
    expect(Number.isNaN(Date.parse(read.date ?? ""))).toBe(false)
    expect(read.bcc).toBeUndefined()
    expect(raw.toString("latin1")).not.toContain("secret@house.example")
    expect(read.headers.map(({ key }) => key)).not.toContain("x-evil")
    expect(read.text?.replaceAll("\r\n", "\n")).toBe(`Größe: 3 m\n.\n..\nFrom here\n${line}\n\n`)
    expect(read.html?.trim()).toBe(`<p>Größe: <b>3 m</b></p><p>${line}</p>`)
    expect(read.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ["Rechnung № 42 – Bühne.pdf", "application/pdf"],
      [".._.._etc_pass X-Evil: 1", "text/plain"]
    ])
    const [pdf, text] = read.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer))
    expect(pdf?.equals(every_byte)).toBe(true)
    expect(text?.toString()).toBe("a\nb\r\nc")
    const lines = raw.toString("latin1").split("\r\n")
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(998)
  })

  it("is sent once for one id, and never when what caused it was refused", async () => {
    const { smtp, app } = await opened()
    await app.mail({ id: "quote.1" })
    await app.mail({ id: "quote.1" })
    await expect(app.mail({ id: "quote.2", to: ["nobody"] })).rejects.toMatchObject({
      errors: { to: ["The to field must be a valid e-mail address, such as name@example.com."] }
    })
    await app.mail({ id: "quote.3" })
    await expect.poll(() => smtp.taken.length, soon).toBe(2)
    expect(smtp.taken.map(({ read }) => read.messageId).sort()).toEqual([
      "<quote.1@hire.example>",
      "<quote.3@hire.example>"
    ])
  })

  it("is tried again after 451, as the same message", async () => {
    let refusals = 1
    const seen: Array<string> = []
    const { smtp, app } = await opened({
      message: ({ raw }) => {
        seen.push(raw.toString("latin1"))
        return refusals-- > 0 ? replies(451, "Greylisted") : undefined
      }
    })
    await app.mail({ id: "invoice.9", html: "<p>x</p>" })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toBe(seen[1])
    await expect.poll(async () => (await app.queue()).get("mail.send:invoice.9")?.state, soon).toBe("completed")
  })

  it("fails at once when it is refused for good, and tells its sender, but nobody about that", async () => {
    const { smtp, app } = await opened({ recipient: () => replies(550, "No such mailbox") })
    await app.mail({ id: "invoice.10" })
    await expect
      .poll(async () => [...(await app.queue()).values()].map(({ id, attempts }) => [id, attempts]), soon)
      .toEqual([
        ["mail.send:invoice.10", 1],
        ["mail.refused:invoice.10~1", 1],
        ["mail.send:refused.invoice.10.1", 1]
      ])
    await expect
      .poll(async () => [...(await app.queue()).values()].every(({ state }) => state !== "pending"), soon)
      .toBe(true)
    expect(await app.queue()).toHaveProperty("size", 3)
    expect(smtp.taken).toEqual([])
  })

  it("goes to those who can be reached, and once to each of them, when others are refused or deferred", async () => {
    let deferrals = 1
    const { smtp, app } = await opened({
      recipient: (address) =>
        address === "gone@customer.example"
          ? replies(550, "No such mailbox here")
          : address === "full@customer.example" && deferrals-- > 0
            ? replies(452, "Mailbox full for now")
            : undefined
    })
    await app.mail({ id: "invoice.11", to: ["ann@customer.example", "gone@customer.example", "full@customer.example"] })
    await expect.poll(async () => (await app.queue()).has("mail.send:invoice.11~2"), soon).toBe(true)
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(3)
    const of_invoice = smtp.taken.filter(({ read }) => read.messageId === "<invoice.11@hire.example>")
    expect(of_invoice.map(({ to }) => to)).toEqual([["ann@customer.example"], ["full@customer.example"]])
    expect(of_invoice.map(({ read }) => read.to?.length)).toEqual([3, 3])
    const notice = smtp.taken.find(({ read }) => read.subject?.startsWith("Not delivered"))
    expect(notice?.from).toBe("")
    expect(notice?.read.text).toContain("gone@customer.example")
    expect(notice?.read.text).toContain("No such mailbox here")
    expect(notice?.read.text).not.toContain("full@customer.example")
  })

  it("is written to the outbox where no mail server is set, and says so", async () => {
    const app = await openMailing(engine, undefined)
    open.push(() => app.close())
    const answer = await app.ask("/api/v1/system/mail/test", { json: { to: "ann@customer.example" } })
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ mode: "outbox", message: expect.stringContaining("not sent") })
    await app.mail({ id: "quote:7/β", bcc: ["secret@house.example"], subject: "Grüße" })
    const folder = join(app.folder, "outbox")
    const names = (): Promise<ReadonlyArray<string>> =>
      readdir(folder)
        .then((all) => all.filter((one) => !one.endsWith(".tmp")))
        .catch(() => [])
    await expect.poll(async () => (await names()).length, soon).toBe(2)
    const name = (await names()).find((one) => one.includes("quote"))!
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-quote_7_\.[0-9a-f]{12}\.eml$/)
    const read = await PostalMime.parse(await readFile(join(folder, name)))
    expect(read).toMatchObject({
      subject: "Grüße",
      messageId: "<quote=3a7=2f=ce=b2@hire.example>",
      bcc: [{ name: "", address: "secret@house.example" }]
    })
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })

  it("is from the store, answered to the store and copied for the store, where the store says so", async () => {
    const { smtp, app } = await opened()
    const put = (target: string, json: unknown) => app.ask(target, { method: "PUT", json })
    expect(
      (
        await put("/api/v1/settings/mail", {
          settings: {
            sender_name: "Hire & Co",
            sender_address: "hello@house.example",
            reply_to: "desk@house.example",
            always_bcc: "books@house.example"
          }
        })
      ).status
    ).toBe(200)
    const second = await app.ask("/api/v1/stores", {
      json: { name: "North", mail_sender_name: "North Hire", mail_sender_address: "north@house.example" }
    })
    expect(second.status).toBe(201)
    await app.mail({ id: "a" })
    await app.mail({ id: "b", store_id: second.body.store.id })
    await expect.poll(() => smtp.taken.length, soon).toBe(2)
    const sentAs = (id: string) => smtp.taken.find(({ read }) => read.messageId === `<${id}@hire.example>`)!
    expect(sentAs("a").read.from).toEqual({ name: "Hire & Co", address: "hello@house.example" })
    expect(sentAs("a").from).toBe("hello@house.example")
    expect(sentAs("a").to).toEqual(["ann@customer.example", "books@house.example"])
    expect(sentAs("b").read.from).toEqual({ name: "North Hire", address: "north@house.example" })
    expect(sentAs("b").from).toBe("north@house.example")
    expect(sentAs("b").read.replyTo).toEqual([{ name: "", address: "desk@house.example" }])
    const refused = await put(`/api/v1/stores/${second.body.store.id}`, { mail_always_bcc: "no address" })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["mail_always_bcc"]])
  })
})
