/** Public addresses of documents from outside: rules/billing 3, rulings on PINs and pages, interface 2.8, 4.9 and 5. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import type { Got, Sent } from "../server/serving.ts"
import { mailServer, type TestMailServer } from "../server/mail/smtp.ts"
import { now, refusal } from "./billing-black-box.ts"
import { keyed, openYard, public_url, soon, wordsOf, type Yard } from "./procurement-black-box.ts"

const form = (fields: { readonly [name: string]: string }, from?: string): Sent => ({
  ...{ method: "POST", bytes: new URLSearchParams(fields).toString() },
  headers: { "content-type": "application/x-www-form-urlencoded" },
  ...(from === undefined ? {} : { from })
})

const deskOf = (yard: Yard) => {
  const made = async (document_type = "quotation", source?: object): Promise<any> => {
    const own = source ?? {
      documentable_type: "Opportunity",
      documentable_id: (await yard.job([{ name: "Stage", unit_price: "100.00" }])).id
    }
    const got = await yard.post("/documents/generate", { ...own, document_type })
    expect(got.status, got.text).toBe(201)
    return got.body.document
  }
  const link = (id: number, json: object = {}, more: Sent = {}) =>
    yard.ask("POST", `/documents/${id}/public_link`, json, more)
  const shown = async (id: number): Promise<any> => (await yard.get(`/documents/${id}`)).document
  return {
    ...{ made, link, shown },
    /** A document with a link, by its id and token. */
    linked: async (json: object = {}): Promise<{ readonly id: number; readonly token: string }> => {
      const { id } = await made()
      const got = await link(id, json)
      expect(got.status, got.text).toBe(201)
      return { id, token: got.body.public_link.token }
    },
    change: (id: number, json: object) => yard.put(`/documents/${id}/public_link`, json),
    revoke: (id: number) => yard.remove(`/documents/${id}/public_link`),
    open: (token: string, query = "", more: Sent = {}): Promise<Got> =>
      yard.server.ask(`/d/${token}${query}`, { token: null, ...more })
  }
}
type Desk = ReturnType<typeof deskOf>

describe.each(engines)("A public link, on %s (rules/billing 3)", (engine) => {
  let yard: Yard
  let desk: Desk
  beforeAll(async () => {
    yard = await openYard(engine)
    desk = deskOf(yard)
  })
  afterAll(() => yard.close())

  it("has every field in its form, also in the document and in lists", async () => {
    const { id } = await desk.made()
    const got = await desk.link(id)
    expect([got.status, Object.keys(got.body).sort()], got.text).toEqual([201, ["document", "public_link"]])
    const { token, ...link } = got.body.public_link
    expect(token).toMatch(/^[\w-]{40}$/)
    expect(link).toMatchObject({
      ...{ url: `${public_url}/d/${token}`, expires_at: null, requires_pin: false, created_at: now }
    })
    for (const document of [
      got.body.document,
      await desk.shown(id),
      (await yard.get("/documents?sort=-document_number&per_page=1")).documents[0]
    ])
      expect(document).toMatchObject({ id, public_link: { token, ...link } })
  })
  it("shows the document without an account: a page, and its PDF", async () => {
    const { id, token } = await desk.linked()
    const { document_number, file_size } = await desk.shown(id)
    const page = await desk.open(token, "", { headers: { accept: "text/html" } })
    expect([page.status, page.headers["content-type"]?.split(";")[0]]).toEqual([200, "text/html"])
    for (const word of [document_number, "Stage", "100.00", "format=pdf"]) expect(page.text).toContain(word)
    for (const pdf of [
      await desk.open(token, "?format=pdf"),
      await desk.open(token, "", { headers: { accept: "application/pdf" } })
    ]) {
      expect([pdf.status, pdf.headers["content-type"], pdf.bytes.length]).toEqual([200, "application/pdf", file_size])
      expect(pdf.headers["content-disposition"]).toMatch(/^inline/)
      expect(wordsOf(pdf.bytes)).toContain("Stage")
    }
  })
  it("needs no script, and nothing of anybody else", async () => {
    const { token } = await desk.linked()
    const { text, headers } = await desk.open(token)
    expect(text).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)="https?:\/\/(?!hire\.example)/i)
    expect(text).toMatch(/<meta[^>]+name="viewport"/i)
    expect(headers["content-security-policy"]).toBeDefined()
    expect(`${headers["x-robots-tag"] ?? ""}${text}`).toMatch(/noindex/i)
    expect(headers["referrer-policy"] ?? "").toMatch(/no-referrer|same-origin|strict-origin/)
  })
  it("that nobody made is not found, whatever its form", async () => {
    for (const token of ["x".repeat(40), "x".repeat(41), "short", "..%2f..%2fetc", "%C3%A4", "__proto__"])
      expect([token, (await desk.open(token)).status]).toEqual([token, 404])
  })
  it("made again has a new token, and the old one is not found", async () => {
    const { id, token } = await desk.linked({ pin: "1234" })
    const again = (await desk.link(id)).body.public_link
    expect([again.token === token, again.requires_pin]).toEqual([false, false])
    expect([(await desk.open(token)).status, (await desk.open(again.token)).status]).toEqual([404, 200])
    expect((await desk.shown(id)).public_link.token).toBe(again.token)
  })
  it("under an idempotency key is made once", async () => {
    const { id } = await desk.made()
    const [first, second] = [await desk.link(id, {}, keyed("L1")), await desk.link(id, {}, keyed("L1"))]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.public_link.token).toBe(first.body.public_link.token)
  })
  it("revoked is gone, and cannot be revoked or changed again", async () => {
    const { id, token } = await desk.linked()
    const gone = await desk.revoke(id)
    expect([gone.status, gone.text, (await desk.open(token)).status]).toEqual([204, "", 404])
    expect((await desk.shown(id)).public_link).toBe(null)
    expect([(await desk.revoke(id)).status, (await desk.change(id, {})).status]).toEqual([404, 404])
    expect((await desk.link(id)).status).toBe(201)
  })
  it("that was never made is neither changed nor revoked", async () => {
    const { id } = await desk.made()
    expect([(await desk.revoke(id)).status, (await desk.change(id, { pin: "1234" })).status]).toEqual([404, 404])
  })
  it("of a voided document is gone, and no other is made of it", async () => {
    const { id, token } = await desk.linked()
    await yard.made(`/documents/${id}/void`)
    expect([(await desk.open(token)).status, (await desk.open(token, "?format=pdf")).status]).toEqual([404, 404])
    expect((await desk.shown(id)).public_link).toBe(null)
    expect((await desk.link(id)).status).toBe(422)
    expect((await desk.revoke(id)).status).toBe(404)
  })
  it("stays when the document is finalised, and shows the same", async () => {
    const { id, token } = await desk.linked()
    const before = await desk.open(token, "?format=pdf")
    await yard.made(`/documents/${id}/finalise`)
    const after = await desk.open(token, "?format=pdf")
    expect([after.status, wordsOf(after.bytes)]).toEqual([200, wordsOf(before.bytes)])
    expect((await desk.link(id)).status).toBe(201)
  })
  it.each(["invoice", "pick_list", "purchase_order"])("is made of a %s as well", async (type) => {
    const [documentable_type, { id: documentable_id, number }] =
      type === "invoice"
        ? ["Invoice", await yard.issued()]
        : type === "purchase_order"
          ? ["PurchaseOrder", await yard.sent()]
          : ["Opportunity", await yard.job()]
    const { id } = await desk.made(type, { documentable_type, documentable_id })
    const { token } = (await desk.link(id)).body.public_link
    const page = await desk.open(token)
    expect([page.status, page.text.includes(number)]).toEqual([200, true])
  })
  it("with another sign at its end, as a mail leaves it, is not found", async () => {
    const { token } = await desk.linked()
    for (const more of [".", ")", ">", "/", "%20"]) {
      const { status } = await desk.open(token + more)
      expect([more, [404, 200].includes(status)]).toEqual([more, true])
    }
  })
  it("ends when it says", async () => {
    const { id, token } = await desk.linked({ expires_at: "2026-06-20T00:00:00Z" })
    expect((await desk.shown(id)).public_link.expires_at).toBe("2026-06-20T00:00:00.000Z")
    yard.setClock("2026-06-19T23:59:00.000Z")
    const before = await desk.open(token)
    yard.setClock("2026-06-20T00:01:00.000Z")
    const after = [await desk.open(token), await desk.open(token, "?format=pdf")]
    yard.setClock(now)
    expect([before.status, ...after.map((one) => one.status)]).toEqual([200, 410, 410])
    for (const one of after) expect(one.text).not.toContain("Stage")
  })
  it("that ended is not found once it is revoked, and lives again with a later end", async () => {
    const { id, token } = await desk.linked({ expires_at: "2026-06-20T00:00:00Z" })
    yard.setClock("2026-06-21T00:00:00.000Z")
    expect((await desk.open(token)).status).toBe(410)
    expect((await desk.change(id, { expires_at: "2026-06-22T00:00:00Z" })).status).toBe(200)
    const alive = (await desk.open(token)).status
    await desk.revoke(id)
    const gone = (await desk.open(token)).status
    yard.setClock(now)
    expect([alive, gone]).toEqual([200, 404])
  })
  it.each<[string, object]>([
    ["expires_at", { expires_at: "2026-06-18T11:59:00Z" }],
    ["expires_at", { expires_at: "soon" }],
    ["pin", { pin: "123" }],
    ["pin", { pin: "x".repeat(13) }],
    ["pin", { pin: "12 34" }],
    ["pin", { pin: "12-34" }],
    ["pin", { pin: "pïnn" }]
  ])("is refused on %s for %j, new or changed", async (field, json) => {
    const { id, token } = await desk.linked()
    expect(refusal(await desk.link(id, json))).toEqual([422, field])
    expect(refusal(await desk.change(id, json))).toEqual([422, field])
    expect([(await desk.open(token)).status, (await desk.shown(id)).public_link]).toMatchObject([
      200,
      { token, requires_pin: false, expires_at: null }
    ])
  })
  it("is changed in part, and keeps its token", async () => {
    const { id, token } = await desk.linked()
    const expires_at = "2026-07-01T00:00:00.000Z"
    const change = async (json: object): Promise<ReadonlyArray<unknown>> => {
      const got = await desk.change(id, json)
      expect([got.status, Object.keys(got.body).sort()], got.text).toEqual([200, ["document", "public_link"]])
      expect(got.body.document.public_link).toEqual(got.body.public_link)
      expect(got.body.public_link.token).toBe(token)
      return [got.body.public_link.requires_pin, got.body.public_link.expires_at]
    }
    expect(await change({})).toEqual([false, null])
    expect(await change({ pin: "abcd1234" })).toEqual([true, null])
    expect(await change({ expires_at })).toEqual([true, expires_at])
    expect(await change({ pin: null })).toEqual([false, expires_at])
    expect((await desk.open(token)).status).toBe(200)
    expect(await change({ pin: "ABCD" })).toEqual([true, expires_at])
    expect(await change({ expires_at: null })).toEqual([true, null])
  })
  it("is no call of the interface, and closes to nobody for being read often", async () => {
    const { token } = await desk.linked()
    const all = []
    for (let at = 0; at < 30; at++) all.push((await desk.open(token, "", { from: "198.51.100.20" })).status)
    expect(all).toEqual(Array(30).fill(200))
    const { paths } = await yard.get("/openapi.json")
    expect(Object.keys(paths).filter((path) => path.startsWith("/api/v1/d/"))).toEqual([])
  })
})

describe.each(engines)("A public link with a PIN, on %s (rules/billing 3, rulings)", (engine) => {
  let yard: Yard
  let desk: Desk
  beforeAll(async () => {
    yard = await openYard(engine)
    desk = deskOf(yard)
  })
  afterAll(() => yard.close())

  it.each(["1234", "abcdEFGH1234"])("opens by %s in the query or a form, and by nothing else", async (pin) => {
    const { id, token } = await desk.linked({ pin })
    expect((await desk.shown(id)).public_link.requires_pin).toBe(true)
    for (const query of ["", "?pin=", "?pin=9999", "?format=pdf", "?format=pdf&pin=9999"]) {
      const closed = await desk.open(token, query)
      expect([query, closed.status, closed.text.includes("Stage")]).toEqual([query, 403, false])
    }
    expect((await desk.open(token, "", form({ pin: "9999" }))).status).toBe(403)
    for (const open of [
      await desk.open(token, `?pin=${pin}`),
      await desk.open(token, `?pin=${pin}&format=pdf`),
      await desk.open(token, "", form({ pin }))
    ])
      expect(open.status, open.text.slice(0, 200)).toBe(200)
  })
  it("asks for it with a form that needs no script", async () => {
    const { token } = await desk.linked({ pin: "1234" })
    const { status, text } = await desk.open(token, "", { headers: { accept: "text/html" } })
    expect(status).toBe(403)
    expect(text).toMatch(/<form[^>]+method="?post/i)
    expect(text).toMatch(/<input[^>]+name="?pin/i)
  })
  it("never tells it", async () => {
    const { id } = await desk.made()
    const got = await desk.link(id, { pin: "Zq81xW" })
    const put = await desk.change(id, { pin: "Zq81xW" })
    const all = [got.text, put.text, JSON.stringify(await desk.shown(id)), JSON.stringify(await yard.get("/documents"))]
    expect(all.filter((one) => one.includes("Zq81xW"))).toEqual([])
  })
  it("is closed to an address for 15 minutes after five wrong tries, and to no other", async () => {
    const { token } = await desk.linked({ pin: "1234" })
    const other = (await desk.linked({ pin: "1234" })).token
    const from = "198.51.100.7"
    const attempt = async (pin: string, more: Sent = {}) =>
      (await desk.open(token, `?pin=${pin}`, { from, ...more })).status
    for (let at = 0; at < 4; at++) expect(await attempt("9999")).toBe(403)
    expect((await desk.open(token, "", form({ pin: "9999" }, from))).status).toBe(403)
    expect([await attempt("9999"), await attempt("1234")]).toEqual([429, 429])
    expect((await desk.open(token, "", form({ pin: "1234" }, from))).status).toBe(429)
    expect(await attempt("1234", { from: "198.51.100.8" })).toBe(200)
    expect((await desk.open(other, "?pin=1234", { from })).status).toBe(200)
    yard.setClock("2026-06-18T12:16:00.000Z")
    expect([await attempt("9999"), await attempt("1234")]).toEqual([403, 200])
    yard.setClock(now)
  })
  it("is tried by many at once no more than by one", async () => {
    const { token } = await desk.linked({ pin: "1234" })
    const from = "198.51.100.30"
    const got = await Promise.all(Array.from({ length: 12 }, () => desk.open(token, "?pin=9999", { from })))
    expect(got.map((one) => one.status).toSorted()).toEqual([...Array(5).fill(403), ...Array(7).fill(429)])
  })
  it("is not closed by those who send none", async () => {
    const { token } = await desk.linked({ pin: "1234" })
    const from = "198.51.100.9"
    for (let at = 0; at < 8; at++) expect((await desk.open(token, "", { from })).status).toBe(403)
    expect((await desk.open(token, "?pin=1234", { from })).status).toBe(200)
  })
  it("changed opens by the new one alone; taken away, by none", async () => {
    const { id, token } = await desk.linked({ pin: "1234" })
    await desk.change(id, { pin: "5678" })
    expect([(await desk.open(token, "?pin=1234")).status, (await desk.open(token, "?pin=5678")).status]).toEqual([
      403, 200
    ])
    await desk.change(id, { pin: null })
    expect((await desk.open(token)).status).toBe(200)
  })
  it("that has ended, was revoked or never was asks for no PIN", async () => {
    const { id, token } = await desk.linked({ pin: "1234", expires_at: "2026-06-20T00:00:00Z" })
    yard.setClock("2026-06-21T00:00:00.000Z")
    expect([(await desk.open(token)).status, (await desk.open(token, "?pin=9999")).status]).toEqual([410, 410])
    await desk.revoke(id)
    expect((await desk.open(token, "?pin=1234")).status).toBe(404)
    yard.setClock(now)
  })
})

describe.each(engines)("A quotation is accepted at its public address, on %s (surface)", (engine) => {
  let yard: Yard
  let desk: Desk
  let mail: TestMailServer
  beforeAll(async () => {
    mail = await mailServer()
    yard = await openYard(engine, { smtp_url: mail.url })
    await yard.put("/settings/company", { settings: { name: "Northlight", email: "office@north.example" } })
    desk = deskOf(yard)
  })
  afterAll(async () => {
    await yard.close()
    await mail.close()
  })
  const quoted = async (json: object = {}, opportunity: object = {}) => {
    const job = await yard.job([{ name: "Stage", unit_price: "100.00" }], opportunity)
    await yard.made(`/opportunities/${job.id}/convert_to_quotation`)
    const { id } = await desk.made("quotation", { documentable_type: "Opportunity", documentable_id: job.id })
    const { token } = (await desk.link(id, json)).body.public_link
    return { id, token, job: job.id as number }
  }
  const accept = (token: string, fields: { readonly [name: string]: string } = { name: "Ann Bell", accept: "1" }) =>
    desk.open(token, "", form(fields))
  const looked = async (id: number) => {
    const { opportunity } = await yard.get(`/opportunities/${id}`)
    return [opportunity.state_name ?? opportunity.state, opportunity.status_name ?? opportunity.status]
  }

  it("by a name and a tick, and then the page says by whom", async () => {
    const { token, job } = await quoted()
    expect((await desk.open(token)).text).toMatch(/<input[^>]+name="?accept/i)
    const before = await looked(job)
    const got = await accept(token)
    expect([200, 303], got.text.slice(0, 300)).toContain(got.status)
    const page = await desk.open(token)
    expect([page.status, page.text.includes("Ann Bell")]).toEqual([200, true])
    expect(page.text).not.toMatch(/<input[^>]+name="?accept/i)
    expect(await looked(job)).not.toEqual(before)
  })
  it("both sides get a copy by e-mail, which says by whom, when, and of what", async () => {
    const { token } = await quoted()
    const to = "ann@customer.example"
    await accept(token, { name: "Ann Bell", accept: "1", email: to })
    const sent = () => mail.taken.find((one) => one.to.includes(to))
    await expect.poll(() => sent() !== undefined, soon).toBe(true)
    expect(mail.taken.flatMap((one) => one.to)).toContain("office@north.example")
    const { content } = sent()!.read.attachments[0]!
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    const words = wordsOf(new Uint8Array(content))
    for (const word of ["Stage", "120.00", "Ann Bell", to, "2026-06-18T12:00:00.000Z"]) expect(words).toContain(word)
  })
  it.each<[string, { readonly [name: string]: string }]>([
    ["no name", { accept: "1" }],
    ["an empty name", { name: "  ", accept: "1" }],
    ["no tick", { name: "Ann Bell" }]
  ])("with %s it is not, and nothing happens", async (_, fields) => {
    const { token, job } = await quoted()
    const before = await looked(job)
    expect((await accept(token, fields)).status).toBe(422)
    expect(await looked(job)).toEqual(before)
    expect((await desk.open(token)).text).not.toContain("Ann Bell")
  })
  it("only by who has its PIN", async () => {
    const { token, job } = await quoted({ pin: "1234" })
    const before = await looked(job)
    expect((await accept(token)).status).toBe(403)
    expect((await accept(token, { name: "Ann Bell", accept: "1", pin: "9999" })).status).toBe(403)
    expect(await looked(job)).toEqual(before)
    expect([200, 303]).toContain((await accept(token, { name: "Ann Bell", accept: "1", pin: "1234" })).status)
  })
  it("not where the link has ended, was revoked or its document voided", async () => {
    const ended = await quoted({ expires_at: "2026-06-19T00:00:00Z" })
    yard.setClock("2026-06-20T00:00:00.000Z")
    expect((await accept(ended.token)).status).toBe(410)
    yard.setClock(now)
    const revoked = await quoted()
    await desk.revoke(revoked.id)
    const voided = await quoted()
    await yard.made(`/documents/${voided.id}/void`)
    for (const { token } of [revoked, voided]) expect((await accept(token)).status).toBe(404)
  })
  it("and nothing else is", async () => {
    const { id } = await yard.issued()
    const document = await desk.made("invoice", { documentable_type: "Invoice", documentable_id: id })
    const { token } = (await desk.link(document.id)).body.public_link
    expect((await desk.open(token)).text).not.toMatch(/<input[^>]+name="?accept/i)
    expect((await accept(token)).status).toBeGreaterThanOrEqual(400)
    expect((await desk.open(token)).text).not.toContain("Ann Bell")
  })
  it("not once the quotation has changed since", async () => {
    const { token, job } = await quoted()
    await yard.made(`/opportunities/${job}/items`, { name: "One more", unit_price: "900.00", transaction_type: 1 })
    expect((await accept(token)).status).toBeGreaterThanOrEqual(400)
    expect((await desk.open(token)).text).not.toContain("Ann Bell")
  })
  it("not once it is no longer valid, which the page shows", async () => {
    const { token, job } = await quoted({}, { quote_invalid_at: "2026-06-20T00:00:00Z" })
    expect((await desk.open(token)).text).toMatch(/<input[^>]+name="?accept/i)
    const before = await looked(job)
    yard.setClock("2026-06-22T00:00:00.000Z")
    const page = await desk.open(token)
    const got = await accept(token)
    yard.setClock(now)
    expect([page.status, /<input[^>]+name="?accept/i.test(page.text), got.status >= 400]).toEqual([200, false, true])
    expect(await looked(job)).toEqual(before)
  })
  it.each(["lost", "deleted"])("not once the job is %s", async (kind) => {
    const { token, job } = await quoted()
    if (kind === "deleted") await yard.remove(`/opportunities/${job}`)
    else expect((await yard.post(`/opportunities/${job}/change_status`, { status: 2 })).status).toBe(200)
    expect((await accept(token)).status).toBeGreaterThanOrEqual(400)
    expect((await desk.open(token)).text).not.toContain("Ann Bell")
  })
  it("with every sign of a name, which the page shows as it is and runs none of", async () => {
    const { token } = await quoted({}, { subject: "<script>alert(1)</script>" })
    await accept(token, { name: "<b>Ann</b> & Ödön", accept: "1" })
    const { text } = await desk.open(token)
    expect([text.includes("<script>alert(1)"), text.includes("<b>Ann"), text.includes("Ödön")]).toEqual([
      false,
      false,
      true
    ])
  })
  it.each<[string, { readonly [name: string]: string }]>([
    ["a tick that says no", { name: "Ann Bell", accept: "0" }],
    ["a name of 256 characters", { name: "x".repeat(256), accept: "1" }]
  ])("with %s it is not either", async (_, fields) => {
    const { token, job } = await quoted()
    const before = await looked(job)
    expect((await accept(token, fields)).status).toBe(422)
    expect(await looked(job)).toEqual(before)
  })
  it("by several at once is accepted by one", async () => {
    const { token } = await quoted()
    await Promise.all([1, 2, 3].map((at) => accept(token, { name: `Person no. ${at}`, accept: "1" })))
    const { text } = await desk.open(token)
    expect(new Set(text.match(/Person no\. \d/g)).size).toBe(1)
  })
  it("once: a second time changes nothing", async () => {
    const { token } = await quoted()
    await accept(token)
    await accept(token, { name: "Bob Crook", accept: "1" })
    const { text } = await desk.open(token)
    expect([text.includes("Ann Bell"), text.includes("Bob Crook")]).toEqual([true, false])
  })
})
