/** Public links of documents: who creates them, and who can open them. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ServerContext } from "../../../../server/ports/server-context.ts"
import { engines } from "../../../app.ts"
import { cookieOf, elsewhere, openSharing, sha256, type Sharing } from "./links.ts"

const minute = 60_000
describe.each(engines)("public links on %s", (engine) => {
  let house: Sharing
  let document_id: number
  beforeAll(async () => {
    house = await openSharing(engine)
    document_id = (await house.offered({ email: "ann@customer.example" })).document_id
  })
  afterAll(() => house.close())
  const link = `/documents/`
  const at = (id = document_id) => `${link}${id}/public_link`
  const refused = async (status: number, method: string, path: string, json?: object) =>
    Object.keys((await house.did(status, method, path, json)).errors ?? {})

  it("have a token of 40 characters, and are shown with the document", async () => {
    const { document, public_link } = await house.did(201, "POST", at(), {})
    expect(public_link).toEqual({
      token: expect.stringMatching(/^[\w-]{40}$/),
      url: `https://hire.example/d/${public_link.token}`,
      expires_at: null,
      requires_pin: false,
      created_at: expect.any(String)
    })
    expect(document).toMatchObject({ id: document_id, public_link })
    expect((await house.did(200, "GET", `/documents/${document_id}`)).document.public_link).toEqual(public_link)
  })
  it("get a new token each time the document is shared, and the earlier one stops working", async () => {
    const before = await house.shared(document_id)
    const after = await house.shared(document_id)
    expect(after).not.toBe(before)
    expect([(await house.read(before)).status, (await house.read(after)).status]).toEqual([404, 200])
  })
  it("refuse invalid PINs, past expiry times and documents that are not generated", async () => {
    await house.shared(document_id)
    for (const pin of ["123", "1234567890123", "12 34", "1234!", "πππππ"])
      expect([pin, await refused(422, "POST", at(), { pin })].flat()).toEqual([pin, "pin"])
    expect(await refused(422, "POST", at(), { expires_at: "2020-01-01T00:00:00Z" })).toEqual(["expires_at"])
    expect(await refused(422, "PUT", at(), { expires_at: "2020-01-01T00:00:00Z" })).toEqual(["expires_at"])
    const { document_id: voided } = await house.offered()
    await house.did(200, "POST", `/documents/${voided}/void`, {})
    expect(await refused(422, "POST", at(voided), {})).toEqual(["status"])
    for (const status of ["pending", "failed"]) {
      await house.sql(`update documents set status = '${status}' where id = ${voided}`)
      expect([status, await refused(422, "POST", at(voided), {})].flat()).toEqual([status, "status"])
    }
  })
  it("keep fields absent from a change, and clear fields sent as null", async () => {
    await house.shared(document_id, { pin: "1234", expires_at: "2099-01-01T00:00:00Z" })
    const put = async (json: object) => (await house.did(200, "PUT", at(), json)).public_link
    expect(await put({})).toMatchObject({ requires_pin: true, expires_at: "2099-01-01T00:00:00.000Z" })
    expect(await put({ expires_at: null })).toMatchObject({ requires_pin: true, expires_at: null })
    const { token } = await put({ pin: "abcd" })
    expect((await house.read(token, "?pin=1234")).status).toBe(403)
    expect((await house.read(token, "?pin=abcd")).status).toBe(200)
    for (const pin of ["", "  "]) expect(await refused(422, "PUT", at(), { pin })).toEqual(["pin"])
    expect((await house.read(token)).status).toBe(403)
    expect(await put({ pin: null })).toMatchObject({ requires_pin: false, token })
    expect((await house.read(token)).status).toBe(200)
  })
  it("can be revoked, and answer 404 once they are", async () => {
    const token = await house.shared(document_id)
    await house.did(204, "DELETE", at())
    expect((await house.read(token)).status).toBe(404)
    await house.did(404, "DELETE", at())
    await house.did(404, "PUT", at(), { pin: null })
    await house.did(404, "POST", at(999_999), {})
  })
  it("need the permission documents.share", async () => {
    const { secret } = await house.person({ permissions: ["documents.view"] })
    for (const method of ["POST", "PUT", "DELETE"])
      expect((await house.asks(method, at(), undefined, secret)).status).toBe(403)
  })
  it("are recorded without the PIN, which is stored as a hash", async () => {
    await house.shared(document_id, { pin: "s3cret" })
    const rows = await house.sql(`select data from journal where stream = 'document:${document_id}'`)
    expect(JSON.stringify(rows)).not.toContain("s3cret")
    const [pin] = await house.sql("select hash from document_link_pins order by link_id desc limit 1")
    expect(pin.hash).toMatch(/^scrypt\.16384\.[\w-]{22}\.[\w-]{43}$/)
  })
  it("show the document as a page and its stored PDF, with a script only for signing", async () => {
    const token = await house.shared(document_id)
    const page = await house.read(token)
    expect(page.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex, nofollow, noarchive",
      "x-frame-options": "DENY"
    })
    expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/)
    expect(page.text).toContain("Lamp operator")
    expect(page.text).toContain(`action="${token}"`)
    const [row] = await house.sql(`select sha256, file_name from documents where id = ${document_id}`)
    for (const pdf of [
      await house.read(token, "?format=pdf"),
      await house.read(token, "", { headers: { accept: "application/pdf" } })
    ]) {
      expect([pdf.status, pdf.headers["content-type"], sha256(pdf.bytes)]).toEqual([200, "application/pdf", row.sha256])
      expect(pdf.headers["content-disposition"]).toContain(`inline; filename="${row.file_name}"`)
      expect(pdf.headers["cache-control"]).toBe("private, no-store")
    }
    const browser = await house.read(token, "", { headers: { accept: "text/html,application/pdf;q=0.9" } })
    expect(browser.headers["content-type"]).toContain("text/html")
    const order = (await house.offered({ type: "order_confirmation" })).document_id
    const plain = await house.read(await house.shared(order))
    expect(plain.text).not.toContain("<script")
    expect(plain.headers["content-security-policy"]).not.toContain("script-src")
  })
  it("answer HEAD as GET, and ranges of the PDF", async () => {
    const token = await house.shared(document_id)
    const head = await house.read(token, "", { method: "HEAD" })
    expect([head.status, head.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"])
    const part = await house.read(token, "?format=pdf", { headers: { range: "bytes=0-4" } })
    expect([part.status, part.text]).toEqual([206, "%PDF-"])
  })
  it("answer 404 for shortened, extended, unknown and malformed tokens", async () => {
    const token = await house.shared(document_id)
    const pages = await Promise.all(
      ["x", token.slice(1), `${token}x`, token.toUpperCase(), "a".repeat(40), "..%2f..", "'%20or%201=1--"].map((one) =>
        house.read(one)
      )
    )
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([404]))
    expect(pages[0]?.text).not.toContain("Ann")
  })
  it("expire at their expiry time, and not a millisecond earlier", async () => {
    const now = Date.now()
    house.setClock(now)
    const token = await house.shared(document_id, { expires_at: new Date(now + minute).toISOString() })
    house.setClock(now + minute - 1)
    expect((await house.read(token)).status).toBe(200)
    house.setClock(now + minute)
    const gone = await house.read(token)
    expect(gone.status).toBe(410)
    expect(gone.text).toContain("This link has expired")
    expect((await house.sent(token, { name: "A", accept: "1" })).status).toBe(410)
    house.setClock(Date.now())
  })
  it("end when the document is voided", async () => {
    const { document_id: id } = await house.offered()
    const token = await house.shared(id)
    await house.did(200, "POST", `/documents/${id}/void`, { reason: "Wrong" })
    expect((await house.read(token)).status).toBe(404)
    expect((await house.read(token, "?format=pdf")).status).toBe(404)
    await house.did(404, "DELETE", at(id))
    expect((await house.did(200, "GET", `/documents/${id}`)).document.public_link).toBeNull()
  })
  it("show nothing of the document before the PIN is right", async () => {
    const token = await house.shared(document_id, { pin: "7Lamps" })
    const asked = await house.read(token)
    expect(asked.status).toBe(403)
    expect(asked.text).toContain('name="pin"')
    for (const word of ["Ann", "Lamp", "uotation", "hire.example"]) expect(asked.text).not.toContain(word)
    expect((await house.read(token, "?format=pdf")).status).toBe(403)
    const wrong = await house.sent(token, { pin: "7lamps" })
    expect([wrong.status, wrong.text.includes("This is not the PIN")]).toEqual([403, true])
    const right = await house.sent(token, { pin: " 7Lamps " })
    expect([right.status, right.text.includes("Lamp operator")]).toEqual([200, true])
    expect((await house.read(token, "?pin=7Lamps&format=pdf")).headers["content-type"]).toBe("application/pdf")
  })
  it("admit a reader by a cookie for this one page, for an hour or until the PIN changes", async () => {
    const now = Date.now()
    house.setClock(now)
    const token = await house.shared(document_id, { pin: "sesame77" })
    const right = await house.sent(token, { pin: "sesame77" })
    const set = right.headers["set-cookie"] ?? ""
    expect(set).toMatch(
      new RegExp(`^document_pass=\\d+\\.[\\w-]{43}; Path=/d/${token}; Max-Age=3600; HttpOnly; SameSite=Lax; Secure$`)
    )
    expect(right.text).not.toContain("sesame77")
    const headers = { cookie: `other=1; ${cookieOf(right)}` }
    expect((await house.read(token, "?format=pdf", { headers })).status).toBe(200)
    expect((await house.read(token, "", { headers: { cookie: `${cookieOf(right)}x` } })).status).toBe(403)
    const other = (await house.offered()).document_id
    const other_token = await house.shared(other, { pin: "1234" })
    expect((await house.read(other_token, "", { headers })).status).toBe(403)
    house.setClock(now + 61 * minute)
    expect((await house.read(token, "", { headers })).status).toBe(403)
    house.setClock(now)
    await house.did(200, "PUT", at(), { pin: "1234" })
    expect((await house.read(token, "", { headers })).status).toBe(403)
    house.setClock(Date.now())
  })
  it("allow five wrong PINs from one network in 15 minutes", async () => {
    const now = Date.now()
    house.setClock(now)
    const token = await house.shared(document_id, { pin: "1234" })
    const from = elsewhere()
    for (let at_once = 0; at_once < 8; at_once++) expect((await house.read(token, "", { from })).status).toBe(403)
    for (const pin of ["0000", "1111", "2222"])
      expect((await house.read(token, `?pin=${pin}`, { from })).status).toBe(403)
    house.setClock(now + 5 * minute)
    for (const pin of ["3333", "4444"]) expect((await house.sent(token, { pin }, { from })).status).toBe(403)
    const sixth = await house.read(token, "?pin=1234", { from })
    expect([sixth.status, sixth.headers["retry-after"]]).toEqual([429, "600"])
    expect((await house.read(token, "", { from })).status).toBe(403)
    expect((await house.read(token, "?pin=1234")).status).toBe(200)
    house.setClock(now + 15 * minute)
    expect((await house.read(token, "?pin=1234", { from })).status).toBe(200)
    house.setClock(Date.now())
  })
  it("count wrong PINs against the address's rate limit, but not visits without a PIN", async () => {
    const office = await openSharing(engine, { anonymous_rate_limit: 3 })
    let token = ""
    const from = elsewhere()
    const visit = async (query = "") => (await office.read(token, query, { from })).status
    try {
      token = await office.shared((await office.offered()).document_id, { pin: "1234" })
      office.setClock(Date.now())
      for (let colleague = 0; colleague < 5; colleague++) expect(await visit()).toBe(403)
      expect(await visit("?pin=1234")).toBe(200)
      for (let guess = 0; guess < 3; guess++) expect(await visit("?pin=0000")).toBe(403)
      expect(await visit("?pin=1234")).toBe(429)
    } finally {
      await office.close()
    }
  })
  it("count a /64 as one network, and ignore forwarded addresses of untrusted clients", async () => {
    const token = await house.shared(document_id, { pin: "1234" })
    for (let n = 1; n <= 5; n++)
      await house.read(token, "?pin=9999", {
        from: `2001:db8:1:1::${n}`,
        headers: { "x-forwarded-for": `203.0.113.${n}` }
      })
    expect((await house.read(token, "?pin=1234", { from: "2001:db8:1:1::77" })).status).toBe(429)
  })
  it("check at most five PINs sent concurrently", async () => {
    const token = await house.shared(document_id, { pin: "1234" })
    const from = elsewhere()
    const got = await Promise.all(
      Array.from({ length: 12 }, (_, n) => house.read(token, `?pin=${5_000 + n}`, { from }))
    )
    expect(got.filter(({ status }) => status === 403)).toHaveLength(5)
    expect(got.filter(({ status }) => status === 429)).toHaveLength(7)
  })
  it("refuse PINs for a day after fifty wrong ones, but admit holders of the cookie", async () => {
    const now = Date.now()
    house.setClock(now)
    const token = await house.shared(document_id, { pin: "1234" })
    const cookie = cookieOf(await house.sent(token, { pin: "1234" }))
    for (let n = 0; n < 50; n++) expect((await house.read(token, "?pin=9999")).status).toBe(403)
    const closed = await house.read(token, "?pin=1234")
    expect([closed.status, closed.headers["retry-after"]]).toEqual([429, "86400"])
    expect((await house.read(token, "", { headers: { cookie } })).status).toBe(200)
    house.setClock(now + 1_440 * minute)
    expect((await house.read(token, "?pin=1234")).status).toBe(200)
    house.setClock(Date.now())
  })
  it("stay closed if the hash of their PIN is missing", async () => {
    const token = await house.shared(document_id, { pin: "1234" })
    await house.sql("delete from document_link_pins")
    expect((await house.read(token, "?pin=1234")).status).toBe(403)
  })
  it("work below a path prefix, with the cookie for that path", async () => {
    await house.did(200, "PUT", "/settings/documents", { settings: { public_link_prefix: "http://offers.example/q/" } })
    const { public_link } = await house.did(201, "POST", at(), { pin: "1234" })
    expect(public_link.url).toBe(`http://offers.example/q/${public_link.token}`)
    const set = (await house.sent(public_link.token, { pin: "1234" })).headers["set-cookie"] ?? ""
    expect(set).toContain(`; Path=/q/${public_link.token};`)
    expect(set).not.toContain("Secure")
    expect(
      await refused(422, "PUT", "/settings/documents", { settings: { public_link_prefix: "javascript:x" } })
    ).not.toEqual([])
    await house.did(200, "PUT", "/settings/documents", { settings: { public_link_prefix: null } })
  })
  it("use the reader's language before the document is open, and the document's afterwards", async () => {
    const { document_id: id } = await house.offered({ locale: "de-DE" })
    const token = await house.shared(id, { pin: "1234" })
    const asked = await house.read(token, "", { headers: { "accept-language": "nl, fr-CA;q=0.8, en" } })
    expect(asked.text).toContain('<html lang="fr"')
    expect(asked.text).toContain("Ce document demande un code PIN")
    const shown = await house.read(token, "?pin=1234")
    expect(shown.text).toContain("Angebot annehmen")
  })
  it("accept PINs as multipart or JSON, and refuse other types and long bodies", async () => {
    const token = await house.shared(document_id, { pin: "1234" })
    const body = '--b\r\nContent-Disposition: form-data; name="pin"\r\n\r\n1234\r\n--b--\r\n'
    const multipart = await house.sent(
      token,
      {},
      { bytes: body, headers: { "content-type": "multipart/form-data; boundary=b" } }
    )
    expect(multipart.status).toBe(200)
    const json = await house.sent(
      token,
      {},
      { bytes: '{"pin": "1234"}', headers: { "content-type": "application/json" } }
    )
    expect(json.status).toBe(200)
    const xml = await house.sent(token, {}, { bytes: "<pin/>", headers: { "content-type": "text/xml" } })
    expect(xml.status).toBe(415)
    const long = await house.sent(token, { pin: "1".repeat(300_000) })
    expect(long.status).toBe(413)
  })
  it("need the permission costs.view for purchase orders", async () => {
    const purchase_order = await house.create("/purchase_orders", {
      supplier_id: await house.customer(),
      po_type: "purchase",
      items: [{ name: "Truss", unit_cost: "777.00" }]
    })
    const document = await house.create("/documents/generate", {
      document_type: "purchase_order",
      documentable_type: "PurchaseOrder",
      documentable_id: purchase_order.id
    })
    const token = await house.shared(document.id)
    const { secret } = await house.person({ permissions: ["documents.view", "documents.share"] })
    const as = (method: string, path: string, json?: object) => house.asks(method, path, json, secret)
    expect((await as("GET", `/documents/${document.id}`)).body.document).toMatchObject({
      public_link: null,
      download_url: null
    })
    expect((await as("GET", "/documents?per_page=100")).text).not.toContain(token)
    for (const [method, path] of [
      ["POST", at(document.id)],
      ["PUT", at(document.id)],
      ["DELETE", at(document.id)],
      ["POST", `/documents/${document.id}/email`]
    ] as const) {
      const got = await as(method, path, path.endsWith("/email") ? { to: "x@y.example" } : undefined)
      expect([path, got.status, got.text]).toEqual([path, 403, expect.stringContaining("costs.view")])
    }
    expect((await house.read(token)).status).toBe(200)
  })
  it("return the same PDF, drawn again, if its stored content is lost", async () => {
    const token = await house.shared(document_id)
    const before = await house.read(token, "?format=pdf")
    await house.run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.remove(sha256(before.bytes))))
    const after = await house.read(token, "?format=pdf")
    expect([after.status, sha256(after.bytes)]).toEqual([200, sha256(before.bytes)])
  })
})
