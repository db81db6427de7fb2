/** Invoices by e-mail. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { list_values } from "../../../core/kernel/custom-field.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { engines } from "../../app.ts"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import { mailServer, replies, type TestMailServer } from "../mail/smtp.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"
import { type Billing, billingOf } from "./billing.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const soon = { timeout: 30_000, interval: 50 }

describe.each(engines)("an invoice by e-mail on %s", (engine) => {
  const opened = async (
    message?: () => Error | undefined
  ): Promise<{ smtp: TestMailServer; app: Mailing; billing: Billing }> => {
    const smtp = await mailServer(message === undefined ? {} : { message })
    open.push(() => smtp.close())
    const app = await openMailing(engine, smtp.url)
    open.push(() => app.close())
    const billing = billingOf(app)
    await billing.must(
      "settings/company",
      { settings: { name: "Northlight Rental", email: "office@northlight.example" } },
      "PUT"
    )
    return { smtp, app, billing }
  }
  const billingType = (app: Mailing): Promise<number> =>
    app.run(
      Effect.flatMap(Store, (store) =>
        Effect.map(store.find(list_values, { name: "Billing" }, { limit: 1 }), (rows) => rows[0]?.id ?? 0)
      )
    )

  it("arrives with its PDF where the member's bills go", async () => {
    const { app, billing, smtp } = await opened()
    const type_id = await billingType(app)
    const member_id = await billing.member(
      "Ann Ltd",
      { address: "first@ann.example" },
      { address: "main@ann.example", is_primary: true },
      { address: "bills@ann.example", type_id }
    )
    const invoice = await billing.issued(member_id)
    const answer = await billing.must(`invoices/${invoice["id"]}/email`, { cc: ["boss@ann.example"] })
    expect(answer.invoice.emailed_at).toMatch(/^\d{4}-/)
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { read, to } = smtp.taken[0]!
    expect(to).toEqual(["bills@ann.example", "boss@ann.example"])
    expect(read.subject).toBe(`Invoice ${invoice["number"]}, Northlight Rental`)
    expect(read.text).toContain("Dear Ann Ltd,")
    const [attached] = read.attachments
    expect(attached?.filename).toBe(`invoice-${invoice["number"]}.pdf`)
    const content = attached?.content
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    expect(pagesOfPdf(new Uint8Array(content)).join("\n")).toContain(`Invoice ${invoice["number"]}`)
    const { jobs } = await billing.must("system/jobs?q[kind_eq]=invoices.mail")
    expect(jobs).toMatchObject([{ status: "done", owner_id: 1 }])
    expect((await app.ask(`/api/v1/invoices/${invoice["id"]}`)).body.invoice.emailed_at).toBe(answer.invoice.emailed_at)
  })
  it("goes to the primary address, else the first, else where it is told to", async () => {
    const { billing, smtp, app } = await opened()
    const primary = await billing.member(
      "A",
      { address: "first@a.example" },
      { address: "main@a.example", is_primary: true }
    )
    const first = await billing.member("B", { address: "first@b.example" }, { address: "second@b.example" })
    const none = await billing.member("C")
    const send = async (member_id: number, body: object) => {
      const { id } = await billing.issued(member_id)
      return app.ask(`/api/v1/invoices/${id}/email`, { json: body })
    }
    expect((await send(primary, {})).status).toBe(200)
    expect((await send(first, {})).status).toBe(200)
    const refused = await send(none, {})
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["to"]])
    expect((await send(none, { to: "told@c.example", subject: "Your bill", message: "Here it is." })).status).toBe(200)
    await expect.poll(() => smtp.taken.length, soon).toBe(3)
    expect(smtp.taken.map(({ to }) => to[0]).toSorted()).toEqual([
      "first@b.example",
      "main@a.example",
      "told@c.example"
    ])
    const told = smtp.taken.find(({ to }) => to[0] === "told@c.example")
    expect([told?.read.subject, told?.read.text?.trim()]).toEqual(["Your bill", "Here it is."])
  })
  it("is refused for drafts and for what is no address, and then nothing is noted or sent", async () => {
    const { app, billing } = await opened()
    const member_id = await billing.member("A", { address: "a@a.example" })
    const { id } = await billing.draft(member_id)
    const fields = async (body: object) => {
      const got = await app.ask(`/api/v1/invoices/${id}/email`, { json: body })
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
    const { jobs } = await billing.must("system/jobs")
    expect(jobs.filter(({ kind }: { kind: string }) => kind !== "notifications.tell")).toEqual([])
  })
  it("goes to as many as one message takes, the blind copy of the store beside them", async () => {
    const { billing, smtp } = await opened()
    const many = (count: number, at: string) => Array.from({ length: count }, (_, n) => `n${n}@${at}.example`)
    await billing.must("settings/mail", { settings: { always_bcc: "books@own.example" } }, "PUT")
    const { id } = await billing.issued(await billing.member("A"))
    await billing.must(`invoices/${id}/email`, { to: many(50, "a"), cc: many(49, "b") })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(smtp.taken[0]?.to).toHaveLength(100)
  })
  it("that the mail server refuses is noted as sent, and its sender sees the refusal on the job", async () => {
    const { billing } = await opened(() => replies(550, "no such mailbox"))
    const { id } = await billing.issued(await billing.member("A", { address: "gone@a.example" }))
    expect((await billing.must(`invoices/${id}/email`, {})).invoice.emailed_at).not.toBeNull()
    const sending = async () => (await billing.must("system/jobs?q[kind_eq]=mail.send")).jobs[0]
    await expect.poll(async () => (await sending())?.status, soon).toBe("failed")
    expect((await sending()).error).toContain("no such mailbox")
  })
  it("says what the settings word, with the fields of the invoice", async () => {
    const { billing, smtp } = await opened()
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
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { read } = smtp.taken[0]!
    expect([read.subject, read.text?.trim()]).toEqual([
      `${number} from Northlight Rental`,
      "Ann: £100.00 by 3 February 2026"
    ])
  })
})
