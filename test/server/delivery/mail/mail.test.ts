/** Mail as mail servers receive it and mail programs read it. */
import { createVerify, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Stream } from "effect"
import PostalMime from "postal-mime"
import { describe, expect, it, onTestFinished } from "vitest"
import { keepContent } from "../../../../server/files/downloads.ts"
import { collectFiles } from "../../../../server/files/serve.ts"
import { serverContext } from "../../../../server/ports/server-context.ts"
import { engines } from "../../../app.ts"
import { type Mailing, openMailing } from "./mailing.ts"
import { type Behaviour, mailServer, replies, type TestMailServer } from "./smtp.ts"

const soon = { timeout: 30_000, interval: 50 }

describe.each(engines)("mail on %s", (engine) => {
  /** Opens a server whose environment names the mail server, or none with null. */
  const opened = async (behaviour: Behaviour = {}, url?: null): Promise<{ smtp: TestMailServer; app: Mailing }> => {
    const smtp = await mailServer(behaviour)
    onTestFinished(() => smtp.close())
    const app = await openMailing(engine, url === null ? undefined : smtp.url)
    onTestFinished(() => app.close())
    return { smtp, app }
  }

  it("arrives with its texts, headers and attachments, and no sign of blind copies", async () => {
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

  it("is sent once per id, and not at all with an invalid address", async () => {
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

  it("carries stored files byte for byte, and fails at once if one is missing", async () => {
    const { smtp, app } = await opened()
    const bytes = randomBytes(3_000_000)
    const blob = await app.run(keepContent(Stream.make(new Uint8Array(bytes)), 20_000_000))
    const attached = { name: "plan.pdf", ...blob, mime_type: "application/pdf" }
    await app.mail({ id: "plan.1", attachments: [attached] })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const [found] = smtp.taken[0]?.read.attachments ?? []
    expect(Buffer.from(found?.content as ArrayBuffer).equals(bytes)).toBe(true)
    await expect(
      app.mail({ id: "none", attachments: [{ ...attached, sha256: "0".repeat(64) }] })
    ).rejects.toMatchObject({ errors: { file: [expect.any(String)] } })
    await app.run(Effect.flatMap(serverContext, ({ blobs }) => blobs.remove(blob.sha256)))
    await app.mail({ id: "plan.2", attachments: [attached] })
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:plan.2"), soon)
      .toMatchObject({ status: "failed", attempts: 1, error: "An attachment's file is gone: nothing was sent." })
    await expect.poll(() => smtp.taken.length, soon).toBe(2)
    expect(smtp.taken[1]?.read.text).toContain("An attachment's file is gone: nothing was sent.")
  })

  it("keeps its attachments for two days while it waits", async () => {
    let up = false
    const { smtp, app } = await opened({ message: () => (up ? undefined : replies(451, "4.3.0 Later")) })
    const { sha256, ...blob } = await app.run(
      keepContent(Stream.make(new Uint8Array(randomBytes(2_000_000))), 20_000_000)
    )
    await app.mail({ id: "late", attachments: [{ name: "plan.pdf", sha256, ...blob }] })
    await expect.poll(async () => (await app.jobs()).get("mail.send:late")?.attempts, soon).toBe(1)
    await app.run(Effect.suspend(() => collectFiles(Date.now() + 47 * 3_600_000)))
    await app.run(Effect.suspend(() => collectFiles(Date.now() + 48 * 3_600_000)))
    up = true
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(smtp.taken[0]?.read.attachments).toHaveLength(1)
  })

  it("is retried after a 451 with the same bytes", async () => {
    let refusals = 1
    const seen: Array<string> = []
    const { smtp, app } = await opened({
      message: ({ raw }) => {
        seen.push(raw.toString("latin1"))
        return refusals-- > 0 ? replies(451, "Greylisted") : undefined
      }
    })
    await app.mail({ id: "invoice.9", html: "<p>x</p>" })
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:invoice.9"), soon)
      .toMatchObject({ status: "queued", attempts: 1 })
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toBe(seen[1])
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:invoice.9"), soon)
      .toMatchObject({
        status: "done",
        attempts: 2,
        owner_id: 1,
        result: { delivered_to: "smtp", accepted: ["ann@customer.example"], refused: [], deferred: [] }
      })
  })

  it("fails at once after a 550, with one notice to its sender even if that is refused, too", async () => {
    const { smtp, app } = await opened({ recipient: () => replies(550, "No such mailbox") })
    await app.mail({ id: "invoice.10" })
    await expect
      .poll(
        async () => [...(await app.jobs()).values()].map(({ id, status, attempts }) => [id, status, attempts]),
        soon
      )
      .toEqual([
        ["mail.send:invoice.10", "failed", 1],
        ["mail.refused:invoice.10~1", "done", 1],
        ["mail.send:refused.invoice.10.1", "failed", 1]
      ])
    const { error } = (await app.jobs()).get("mail.send:invoice.10") ?? {}
    expect(error).toMatch(/^The mail server refused ann@customer\.example: .*No such mailbox/)
    expect(smtp.taken).toEqual([])
  })

  it("reaches each accepted recipient once when others are refused or deferred", async () => {
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
    await expect.poll(async () => (await app.jobs()).has("mail.send:invoice.11~2"), soon).toBe(true)
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(3)
    const of_invoice = smtp.taken.filter(({ read }) => read.messageId === "<invoice.11@hire.example>")
    expect(of_invoice.map(({ to }) => to)).toEqual([["ann@customer.example"], ["full@customer.example"]])
    expect(of_invoice.map(({ read }) => read.to?.length)).toEqual([3, 3])
    expect((await app.jobs()).get("mail.send:invoice.11")).toMatchObject({
      status: "done",
      result: {
        accepted: ["ann@customer.example"],
        refused: [{ address: "gone@customer.example", code: 550 }],
        deferred: [{ address: "full@customer.example", code: 452 }],
        continued_by: "mail.send:invoice.11~2"
      }
    })
    const notice = smtp.taken.find(({ read }) => read.subject?.startsWith("Not delivered"))
    expect(notice?.from).toBe("")
    expect(notice?.read.text).toContain("gone@customer.example")
    expect(notice?.read.text).toContain("No such mailbox here")
    expect(notice?.read.text).not.toContain("full@customer.example")
  })

  it("is signed with DKIM if a valid key is set, and waits while the key is invalid", async () => {
    const { smtp, app } = await opened()
    const set = (settings: object) => app.ask("/api/v1/settings/mail", { method: "PUT", json: { settings } })
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 })
    await set({ dkim_domain: "house.example", dkim_selector: "hire", dkim_private_key: "no key" })
    await app.mail({ id: "signed.1" })
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:signed.1")?.error, soon)
      .toBe("The setting mail.dkim_private_key must be an RSA private key as PEM, without a passphrase.")
    await set({ dkim_private_key: privateKey.export({ type: "pkcs8", format: "pem" }) })
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const signature = smtp.taken[0]?.read.headers.find(({ key }) => key === "dkim-signature")?.value ?? ""
    expect(signature).toContain("d=house.example")
    expect(signature).toContain("s=hire")
    expect(isSignedBy(publicKey, smtp.taken[0]!.raw.toString("latin1"))).toBe(true)
    expect(isSignedBy(publicKey, smtp.taken[0]!.raw.toString("latin1").replace("Your invoice", "My invoice"))).toBe(
      false
    )
  })

  it("waits while the password is wrong, and is sent once it is right; errors never repeat it", async () => {
    const { smtp, app } = await opened(
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) =>
          password === "right" ? done(null, { user: username }) : done(replies(535, "Authentication failed"))
      },
      null
    )
    const set = (password: string) =>
      app.ask("/api/v1/settings/mail", {
        method: "PUT",
        json: { settings: { smtp_url: smtp.url.replace("//", `//me:${password}@`) } }
      })
    expect((await set("wrong")).status).toBe(200)
    await app.mail({ id: "invoice.12" })
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:invoice.12"), soon)
      .toMatchObject({ status: "queued", error: expect.stringContaining("did not accept the user name and password") })
    await set("right")
    await app.hurry()
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const refused = await app.ask("/api/v1/settings/mail", {
      method: "PUT",
      json: { settings: { smtp_url: "smtp://me:sesame%@house.example" } }
    })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["smtp_url", "settings.smtp_url"]])
    expect(refused.text).not.toContain("sesame")
  })

  it("is written to the outbox if no mail server is set", async () => {
    const app = await openMailing(engine, undefined)
    onTestFinished(() => app.close())
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
    await expect
      .poll(async () => (await app.jobs()).get("mail.send:quote:7/β"), soon)
      .toMatchObject({ status: "done", result: { delivered_to: "outbox", file: `outbox/${name}` } })
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })

  it("uses the store's sender, reply address and blind copy, else the company's", async () => {
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
    const third = await app.ask("/api/v1/stores", {
      json: { name: "South", mail_reply_to: "south@house.example", mail_always_bcc: "south-books@house.example" }
    })
    expect(second.status).toBe(201)
    await app.mail({ id: "a" })
    await app.mail({ id: "b", store_id: second.body.store.id })
    await app.mail({ id: "c", store_id: third.body.store.id })
    await expect.poll(() => smtp.taken.length, soon).toBe(3)
    const sentAs = (id: string) => smtp.taken.find(({ read }) => read.messageId === `<${id}@hire.example>`)!
    expect(sentAs("a").read.from).toEqual({ name: "Hire & Co", address: "hello@house.example" })
    expect(sentAs("a").from).toBe("hello@house.example")
    expect(sentAs("a").to).toEqual(["ann@customer.example", "books@house.example"])
    expect(sentAs("b").read.from).toEqual({ name: "North Hire", address: "north@house.example" })
    expect(sentAs("b").from).toBe("north@house.example")
    expect(sentAs("b").read.replyTo).toEqual([{ name: "", address: "desk@house.example" }])
    expect(sentAs("c").read.replyTo).toEqual([{ name: "", address: "south@house.example" }])
    expect(sentAs("c").to).toEqual(["ann@customer.example", "south-books@house.example"])
    const refused = await put(`/api/v1/stores/${second.body.store.id}`, { mail_always_bcc: "no address" })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["mail_always_bcc"]])
  })
})

/** Whether the signature of the headers is valid (RFC 6376, relaxed). */
const isSignedBy = (key: KeyObject, raw: string): boolean => {
  const head = raw
    .slice(0, raw.indexOf("\r\n\r\n"))
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n")
  const relaxed = (line: string): string => {
    const at = line.indexOf(":")
    return `${line.slice(0, at).toLowerCase().trim()}:${line
      .slice(at + 1)
      .replace(/[ \t]+/g, " ")
      .trim()}`
  }
  const own = head.find((line) => /^dkim-signature:/i.test(line)) ?? ""
  const tag = (name: string): string => new RegExp(`[;\\s]${name}=([^;]*)`).exec(own)?.[1]?.replace(/\s/g, "") ?? ""
  const named = tag("h").toLowerCase().split(":")
  const signed = named.flatMap((name) => {
    const line = head.findLast((one) => one.toLowerCase().startsWith(`${name}:`))
    return line === undefined ? [] : [relaxed(line)]
  })
  const verify = createVerify("RSA-SHA256")
  verify.update(`${signed.join("\r\n")}\r\n${relaxed(own.replace(/([;\s]b=)[^;]*/, "$1"))}`, "latin1")
  return verify.verify(key, tag("b"), "base64")
}
