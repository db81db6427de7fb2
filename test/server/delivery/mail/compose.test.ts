/** Messages before they are queued: refused and cleaned contents, limits and Message-IDs. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CommandRuntime } from "../../../../core/kernel/endpoints/endpoint.ts"
import { composeMail, type MailDraft, type MailMessage } from "../../../../server/delivery/mail/compose.ts"
import { serve, type Serving } from "../../serving.ts"

let serving: Serving
beforeAll(async () => {
  serving = await serve("sqlite", { public_url: "https://hire.example:8443" })
})
afterAll(() => serving.close())

const draft: MailDraft = {
  id: "quote.7",
  sender_user_id: 1,
  to: ["ann@customer.example"],
  subject: "Your quote",
  text: "Here it is."
}
const composed = (more: Partial<MailDraft>): Promise<MailMessage> =>
  serving.run(
    Effect.flatMap(CommandRuntime, ({ settings }) =>
      Effect.flatMap(settings, (known) => composeMail({ ...draft, ...more }, known))
    )
  )
const errorsOf = async (more: Partial<MailDraft>): Promise<unknown> =>
  composed(more).then(
    () => undefined,
    (refused: { readonly errors?: unknown }) => refused.errors
  )

describe("an e-mail message", () => {
  it.each([
    ["to", { to: [] }],
    ["to", { to: ["ann"] }],
    ["to.1", { to: ["ann@customer.example", "bob@"] }],
    ["cc", { cc: ["a@b.example, c@d.example"] }],
    ["bcc", { bcc: [{ name: "X", address: "a@b.example\r\nX-Evil: 1" }] }],
    ["reply_to", { reply_to: "<a@b.example>" }],
    ["to,cc,reply_to", { to: ["ann"], cc: ["x"], reply_to: "y" }],
    ["subject", { subject: " \r\n " }],
    ["subject", { subject: "s".repeat(999) }],
    ["text", { text: "t".repeat(500_001) }],
    ["to", { to: Array.from({ length: 101 }, (_, at) => `a${at}@customer.example`) }]
  ])("is refused for an invalid %s", async (field, more) => {
    expect(Object.keys((await errorsOf(more)) as object).join()).toBe(field)
  })
  it("accepts 25 MB of attachments, at most 1 MB of which are not stored files", async () => {
    const file = { name: "a.pdf", mime_type: "application/pdf", sha256: "0".repeat(64) }
    const of = (size_bytes: number) => ({ ...file, size_bytes })
    expect(await errorsOf({ attachments: [of(12_000_000), of(13_000_000)] })).toBeUndefined()
    expect(await errorsOf({ attachments: [of(12_000_000), of(13_000_001)] })).toEqual({
      attachments: ["The attachments have 25.1 MB, and a message takes 25 MB: leave some out, or send a link."]
    })
    const bytes = (length: number) => ({ name: "a.txt", mime_type: "text/plain", bytes: new Uint8Array(length) })
    expect(await errorsOf({ attachments: [bytes(1_000_000)] })).toBeUndefined()
    expect(await errorsOf({ attachments: [bytes(500_000), bytes(500_001)] })).toEqual({
      attachments: ["Attachments that are not stored as files may have 1 MB together."]
    })
  })
  it("has no line breaks in its subject and names, and no slashes in names of attachments", async () => {
    const { subject, to, attachments } = await composed({
      subject: "Your quote\r\nBcc: other@house.example",
      to: [{ name: "Ann\r\nX-Evil: 1", address: "ann@customer.example" }],
      attachments: [{ name: "a/b\\c\u0000.pdf", mime_type: "application/pdf", bytes: new Uint8Array() }]
    })
    expect([subject, to[0]?.name, attachments[0]?.name]).toEqual([
      "Your quote Bcc: other@house.example",
      "Ann X-Evil: 1",
      "a_b_c\ufffd.pdf"
    ])
  })
  it("has each address at most once among its recipients", async () => {
    const { recipients } = await composed({
      to: ["a@b.example", "a@b.example"],
      cc: ["a@b.example"],
      bcc: ["c@d.example"]
    })
    expect(recipients).toEqual(["a@b.example", "c@d.example"])
  })
  it.each([
    ["invoice.42.issued", "<invoice.42.issued@hire.example>"],
    ["a:b c", "<a=3ab=20c@hire.example>"],
    ["a=3ab", "<a=3d3ab@hire.example>"],
    [".a..b.", "<=2ea=2e.b=2e@hire.example>"],
    ["<x@y>\r\n", "<=3cx=40y=3e=0d=0a@hire.example>"]
  ])("has a Message-ID made from its id %j", async (id, expected) => {
    expect((await composed({ id })).message_id).toBe(expected)
  })
  it("is refused for an invalid sender address in the settings, naming the setting", async () => {
    await serving.ask("/api/v1/settings/mail", {
      method: "PUT",
      json: { settings: { sender_address: "a..b@house.example" } }
    })
    expect(await errorsOf({})).toEqual({
      "mail.sender_address": [
        "The setting mail.sender_address must be a valid e-mail address, such as name@example.com."
      ]
    })
  })
})
