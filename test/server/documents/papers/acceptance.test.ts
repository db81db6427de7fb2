/** Quotations accepted at their public links: once, unchanged, with all effects. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { engines, plays_everything } from "../../../app.ts"
import { mailServer, type TestMailServer } from "../../delivery/mail/smtp.ts"
import { pagesOfPdf } from "../../print/pdf-text.ts"
import { cookieOf, type Form, openSharing, poll, sha256, type Sharing, yes } from "./links.ts"

/** Number of races. */
const rounds = plays_everything ? 8 : 3

describe.each(engines)("a quotation with an acceptance link on %s", (engine) => {
  let house: Sharing
  let smtp: TestMailServer
  beforeAll(async () => {
    smtp = await mailServer()
    house = await openSharing(engine, {}, smtp.url)
    await house.did(200, "PUT", "/settings/company", {
      settings: { name: "Northlight Rental", email: "office@northlight.example" }
    })
  })
  afterEach(() => house.did(200, "PUT", "/settings/documents", { settings: { acceptance: "reserve" } }))
  afterAll(async () => {
    await house.close()
    await smtp.close()
  })
  const effect = (acceptance: string) => house.did(200, "PUT", "/settings/documents", { settings: { acceptance } })
  const offered = async (more: Parameters<Sharing["offered"]>[0] = {}) => {
    const offer = await house.offered(more)
    return { ...offer, token: await house.shared(offer.document_id) }
  }

  it("has one place to sign and one date format on its page", async () => {
    const { token } = await offered()
    const papered = "Name and signature of the customer"
    const before = (await house.read(token)).text
    expect([before.includes(papered), before.match(/id="board"/g)?.length]).toEqual([false, 1])
    expect(before).toContain("1 July 2027 – 3 July 2027")
    expect(before).not.toMatch(/\d\d\/\d\d\/\d{4}/)
    expect((await house.sent(token, yes)).text).not.toContain(papered)
  })
  it("when accepted, records name, address, browser and hashes, and is finalised and reserved", async () => {
    const { document_id, opportunity_id, token } = await offered()
    const page = await house.sent(
      token,
      { ...yes, email: "ann@arbor.example" },
      { from: "203.0.113.9", headers: { "user-agent": "Browser/1 (phone)" } }
    )
    expect([page.status, page.text.includes("Ann Arbor accepted this quotation on")]).toEqual([200, true])
    const [row] = await house.sql(
      `select d.sha256, s.sha256 as text from documents d join document_snapshots s on s.document_id = d.id where d.id = ${document_id} and s.mime_type = 'application/json'`
    )
    expect(await house.acceptances(document_id)).toMatchObject([
      {
        document_id,
        opportunity_id,
        name: "Ann Arbor",
        email: "ann@arbor.example",
        ip_address: "203.0.113.9",
        user_agent: "Browser/1 (phone)",
        pdf_sha256: row.sha256,
        text_sha256: row.text,
        note: null
      }
    ])
    expect((await house.did(200, "GET", `/documents/${document_id}`)).document.status).toBe("finalised")
    expect(await house.status(opportunity_id)).toBe("Reserved")
    const { activity } = await house.did(200, "GET", `/opportunities/${opportunity_id}/activity`)
    expect(JSON.stringify(activity)).toContain("quotation_accepted")
  })
  it("is accepted once, and a second form shows the first acceptance", async () => {
    const { document_id, token } = await offered()
    await house.sent(token, yes)
    const second = await house.sent(token, { name: "Somebody Else", accept: "1" })
    expect(second.text).toContain("Ann Arbor accepted")
    expect(await house.acceptances(document_id)).toHaveLength(1)
    expect((await house.read(token)).text).not.toContain("<form")
  })
  it("is accepted once by ten concurrent forms", async () => {
    const { document_id, token } = await offered()
    const got = await Promise.all(
      Array.from({ length: 10 }, (_, n) => house.sent(token, { name: `Person ${n}`, accept: "1" }))
    )
    expect(new Set(got.map(({ status }) => status))).toEqual(new Set([200]))
    const [acceptance, ...others] = await house.acceptances(document_id)
    expect(others).toEqual([])
    for (const { text } of got) expect(text).toContain(`${acceptance.name} accepted this quotation`)
    const events = await house.sql(
      `select type from journal where stream = 'document:${document_id}' and type in ('document.accepted', 'document.finalised')`
    )
    expect(events).toHaveLength(2)
  })
  it("is accepted only with the ticked box and a valid name, e-mail and signature; its form keeps values", async () => {
    const { document_id, token } = await offered()
    const wrong: ReadonlyArray<readonly [Form, string]> = [
      [{ name: "  ", accept: "1" }, "Write your name."],
      [{ name: "x".repeat(256), accept: "1" }, "must not be longer"],
      [{ name: "Ann <b>", accept: "0" }, "Tick the box"],
      [{ ...yes, email: "ann@" }, "This is no e-mail address."],
      [{ ...yes, email: "a@b.example, c@d.example" }, "This is no e-mail address."],
      [{ ...yes, signature: "<svg onload=alert(1)>" }, "signature could not be read"]
    ]
    for (const [form, text] of wrong) {
      const got = await house.sent(token, form)
      expect([got.status, got.text.includes(text)], text).toEqual([422, true])
    }
    expect((await house.sent(token, { name: "Ann <b>" })).text).toContain('value="Ann &lt;b&gt;"')
    expect(await house.acceptances(document_id)).toEqual([])
  })
  it("rejects a name without visible characters", async () => {
    const { document_id, token } = await offered()
    for (const name of ["\u200b", " \u200b\u2060\ufeff ", "\u00ad", "\u202e", "\u3164"])
      expect([name, (await house.sent(token, { name, accept: "1" })).status]).toEqual([name, 422])
    expect(await house.acceptances(document_id)).toEqual([])
  })
  it("cannot be accepted after a line's quantity or the opportunity's dates changed", async () => {
    const { document_id, opportunity_id, token } = await offered()
    const { opportunity } = await house.did(200, "GET", `/opportunities/${opportunity_id}?include=items`)
    const [item] = opportunity.items
    await house.did(200, "PUT", `/opportunities/${opportunity_id}/items/${item.id}`, { quantity: 3 })
    const got = await house.sent(token, yes)
    expect([got.status, got.text.includes("The quotation was changed since")]).toEqual([409, true])
    expect(await house.acceptances(document_id)).toEqual([])
    expect(await house.status(opportunity_id)).toBe("Provisional")
    await house.did(200, "PUT", `/opportunities/${opportunity_id}/items/${item.id}`, { quantity: 2 })
    expect((await house.sent(token, yes)).status).toBe(200)
    const { token: dated, ...other } = await offered()
    await house.did(200, "PUT", `/opportunities/${other.opportunity_id}`, { ends_at: "2027-07-04T18:00:00Z" })
    expect((await house.sent(dated, yes)).status).toBe(409)
  })
  it("can be accepted after a change of the company's terms or accent colour", async () => {
    const { token } = await offered()
    await house.did(200, "PUT", "/settings/invoicing", { settings: { terms: "New terms", accent: "#112233" } })
    expect((await house.sent(token, yes)).status).toBe(200)
    await house.did(200, "PUT", "/settings/invoicing", { settings: { terms: null, accent: null } })
  })
  it("cannot be accepted for a lost, dead or deleted opportunity", async () => {
    for (const end of ["2", "3", "deleted"]) {
      const { document_id, opportunity_id, token } = await offered()
      if (end === "deleted") await house.did(204, "DELETE", `/opportunities/${opportunity_id}`)
      else await house.did(200, "POST", `/opportunities/${opportunity_id}/change_status`, { status: Number(end) })
      const got = await house.sent(token, yes)
      expect([got.status, got.text.includes("no longer open")]).toEqual([409, true])
      expect(await house.acceptances(document_id)).toEqual([])
    }
  })
  it("can be accepted, unlike an order confirmation", async () => {
    const { document_id, token } = await offered({ type: "order_confirmation" })
    expect((await house.sent(token, yes)).status).toBe(422)
    expect(await house.acceptances(document_id)).toEqual([])
  })
  it("leaves the opportunity's status unchanged when accepted, if the settings say so", async () => {
    await effect("none")
    const { document_id, opportunity_id, token } = await offered()
    await house.sent(token, yes)
    expect([await house.status(opportunity_id), (await house.acceptances(document_id)).length]).toEqual([
      "Provisional",
      1
    ])
  })
  it("becomes an order when accepted, if the settings say so, from a draft as well", async () => {
    await effect("order")
    const one = await offered()
    await house.sent(one.token, yes)
    expect(await house.status(one.opportunity_id)).toBe("Active")
    const draft = await offered({ is_draft: true })
    expect((await house.sent(draft.token, yes)).status).toBe(200)
    expect(await house.status(draft.opportunity_id)).toBe("Active")
  })
  it("becomes a reservation with a note when accepted, if a shortage prevents the order", async () => {
    await effect("order")
    const opportunity = await house.withLine(
      {
        store_id: await house.store({ shortage_policy: "block" }),
        member_id: await house.customer(),
        starts_at: "2027-07-01T09:00:00Z",
        ends_at: "2027-07-03T18:00:00Z"
      },
      {
        name: "Rare lamp",
        item_type: "product",
        item_id: await house.product({ name: "Rare lamp", product_type: "rental" }),
        quantity: 1
      }
    )
    await house.did(200, "POST", `/opportunities/${opportunity.id}/convert_to_quotation`, {})
    const document_id = await house.document_of(opportunity.id)
    expect((await house.sent(await house.shared(document_id), yes)).status).toBe(200)
    expect(await house.status(opportunity.id)).toBe("Reserved")
    expect((await house.acceptances(document_id))[0].note).toContain("Rare lamp")
  })
  it("cannot be accepted with the hash of another text", async () => {
    const { document_id, token } = await offered()
    const text_sha256 = /name="text_sha256" value="([0-9a-f]{64})"/.exec((await house.read(token)).text)?.[1] ?? ""
    expect((await house.sent(token, { ...yes, text_sha256: "0".repeat(64) })).status).toBe(409)
    expect((await house.sent(token, { ...yes, text_sha256 })).status).toBe(200)
    expect((await house.acceptances(document_id))[0].text_sha256).toBe(text_sha256)
  })
  it("cannot be accepted from another site's page, or without the PIN", async () => {
    const { document_id, token } = await offered()
    expect((await house.sent(token, yes, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403)
    await house.did(200, "PUT", `/documents/${document_id}/public_link`, { pin: "1234" })
    expect((await house.sent(token, yes)).status).toBe(403)
    expect((await house.sent(token, { ...yes, pin: "4321" })).status).toBe(403)
    expect(await house.acceptances(document_id)).toEqual([])
    const cookie = cookieOf(await house.sent(token, { pin: "1234" }))
    expect((await house.sent(token, yes, { headers: { cookie } })).status).toBe(200)
  })
  it("escapes user text in markup and headers", async () => {
    const { document_id, token } = await offered({
      subject: `<script>alert(1)</script>`,
      name: `"><img src=x onerror=alert(2)>`
    })
    const page = await house.read(token)
    expect(page.text).not.toMatch(/<script>alert|<img src=x/)
    const name = `<i>Ann</i>\r\nBcc: all@example.com`
    const got = await house.sent(token, { name, accept: "1", email: "ann@arbor.example" })
    expect(got.status).toBe(200)
    expect(got.text).not.toContain("<i>Ann")
    const [{ name: kept }] = await house.acceptances(document_id)
    expect(kept).not.toMatch(/[\r\n]/)
  })
  it("stores a signature as strokes only", async () => {
    const { document_id, token } = await offered()
    const signature = "M10 10L200 90L300 20M20 100L580 100"
    for (const bad of ["M1 1L2 2Z", `${signature}"/>`, "M700 10L1 1", `M1 1${"L5 5".repeat(30_000)}`, "url(#x)"])
      expect((await house.sent(token, { ...yes, signature: bad })).status).toBe(422)
    expect((await house.sent(token, { ...yes, signature })).status).toBe(200)
    const [row] = await house.sql(`select signature_svg from document_acceptances where document_id = ${document_id}`)
    expect(row.signature_svg).toBe(signature)
    await expect.poll(async () => (await house.acceptances(document_id))[0].download_url, poll).not.toBeNull()
  })
  it("sends both sides the PDF with a certificate", async () => {
    const { document_id, token } = await offered({ email: "bills@ann.example" })
    await house.sent(token, { ...yes, signature: "M10 10L200 90" }, { from: "203.0.113.77" })
    await expect.poll(async () => (await house.acceptances(document_id))[0].download_url, poll).not.toBeNull()
    const [{ download_url, pdf_sha256, text_sha256 }] = await house.acceptances(document_id)
    const { pathname, search } = new URL(String(download_url))
    const certificate = await house.ask(`${pathname}${search}`, { token: null })
    const pages = pagesOfPdf(certificate.bytes)
    const last = (pages.at(-1) ?? "").replaceAll(/\s/g, "")
    expect(pages.join("\n")).toContain("Lamp operator")
    for (const word of ["Certificateofacceptance", "AnnArbor", "203.0.113.77", pdf_sha256, text_sha256])
      expect(last).toContain(word)
    expect((await house.read(token, "?format=certificate")).bytes).toEqual(certificate.bytes)
    const mine = () =>
      smtp.taken.filter(({ read }) => {
        const content = read.attachments[0]?.content
        return content instanceof ArrayBuffer && sha256(new Uint8Array(content)) === sha256(certificate.bytes)
      })
    await expect.poll(() => mine().length, poll).toBe(2)
    expect(
      mine()
        .map(({ to }) => to[0])
        .toSorted()
    ).toEqual(["bills@ann.example", "office@northlight.example"])
    for (const { read } of mine()) expect(read.subject).toContain("was accepted")
  })
  it("is identified by the checksum of its PDF or certificate, and not by that of an altered file", async () => {
    const { document_id, token } = await offered()
    await house.sent(token, yes)
    await expect.poll(async () => (await house.acceptances(document_id))[0].download_url, poll).not.toBeNull()
    const check = (sum: string) => house.did(200, "POST", "/documents/verify", { sha256: sum })
    const pdf = (await house.read(token, "?format=pdf")).bytes
    expect(await check(sha256(pdf))).toMatchObject({
      known: true,
      part: "pdf",
      document: { id: document_id, status: "finalised" },
      acceptances: [{ name: "Ann Arbor" }]
    })
    const certificate = (await house.read(token, "?format=certificate")).bytes
    expect(await check(sha256(certificate).toUpperCase())).toMatchObject({ known: true, part: "certificate" })
    const altered = Buffer.from(pdf)
    altered[100] = (altered[100] ?? 0) ^ 1
    expect(await check(sha256(altered))).toEqual({ known: false, part: null, document: null, acceptances: [] })
    await house.did(422, "POST", "/documents/verify", { sha256: "abc" })
    await house.did(200, "POST", `/documents/${document_id}/void`, {})
    expect(await check(sha256(pdf))).toMatchObject({ known: true, document: { status: "voided" } })
  })
  it("loses the signer's name when the customer is erased, and stays accepted", async () => {
    const { document_id, member_id, token } = await offered()
    await house.sent(token, { name: "Ann Secretperson", accept: "1", email: "ann@secret.example" })
    await expect.poll(async () => (await house.acceptances(document_id))[0].download_url, poll).not.toBeNull()
    await house.did(200, "POST", `/members/${member_id}/anonymise`, {})
    // Erasing the customer also revokes the link.
    expect((await house.read(token)).status).toBe(404)
    expect((await house.did(200, "GET", `/documents/${document_id}`)).document.public_link).toBeNull()
    expect(await house.acceptances(document_id)).toMatchObject([
      { name: "Anonymised", email: null, ip_address: null, user_agent: null, download_url: null }
    ])
    const journal = await house.sql(`select data from journal where stream = 'document:${document_id}'`)
    expect(JSON.stringify(journal)).not.toMatch(/Secretperson|secret\.example/)
  })
  it("is accepted before it is voided, or not at all, when both arrive at once", async () => {
    for (let round = 0; round < rounds; round++) {
      const { document_id, token } = await offered()
      const [got, voided] = await Promise.all([
        house.sent(token, yes),
        house.ask(`/api/v1/documents/${document_id}/void`, { method: "POST", json: {} })
      ])
      expect(voided.status).toBe(200)
      const accepted = (await house.acceptances(document_id)).length
      // Once accepted, the form answers 200 even if the quotation is voided meanwhile.
      expect(accepted === 1 ? [200] : [404]).toContain(got.status)
    }
  })
  it("is accepted as it was, or refused, when it changes at the same time", async () => {
    for (let round = 0; round < rounds; round++) {
      const { document_id, opportunity_id, token } = await offered()
      const { opportunity } = await house.did(200, "GET", `/opportunities/${opportunity_id}?include=items`)
      const path = `/api/v1/opportunities/${opportunity_id}/items/${opportunity.items[0].id}`
      const [got, changed] = await Promise.all([
        house.sent(token, yes),
        house.ask(path, { method: "PUT", json: { quantity: 9 } })
      ])
      expect(changed.status).toBe(200)
      const order = await house.sql(
        `select type from journal where (stream = 'document:${document_id}' and type = 'document.accepted') or (stream = 'opportunity:${opportunity_id}' and type like '%item%') order by position`
      )
      const types = order.map(({ type }) => type)
      if (got.status === 200) expect(types.indexOf("document.accepted")).toBeLessThan(types.length - 1)
      else expect([got.status, types.includes("document.accepted")]).toEqual([409, false])
    }
  })
  it("can be accepted at its current link while links are replaced", async () => {
    const { document_id } = await offered()
    for (let round = 0; round < (engine === "pg" ? 50 : 5); round++) {
      const token = await house.shared(document_id)
      const [{ id }] = await house.sql(`select id from document_links where document_id = ${document_id}`)
      const [got, rotated] = await Promise.all([
        house.sent(token, yes),
        house.ask(`/api/v1/documents/${document_id}/public_link`, { method: "POST", json: {} })
      ])
      expect(rotated.status).toBe(201)
      const links = (await house.acceptances(document_id)).map(({ link_id }) => link_id)
      // A page revoked while it renders shows nothing, even if accepted before.
      expect(got.status === 200 ? links : links.filter((one) => one !== Number(id))).toEqual(
        got.status === 200 ? [Number(id)] : []
      )
      expect((await house.read(token)).status).toBe(404)
      expect((await house.read(rotated.body.public_link.token)).status).toBe(200)
      await house.sql(`delete from document_acceptances where document_id = ${document_id}`)
    }
  })
  it("is mailed with its link to the customer or the given addresses, with its PDF unless that is left out", async () => {
    const mine = () => smtp.taken.filter(({ to }) => /mail@ann|x@y/.test(to.join()))
    const { document_id } = await house.offered({ email: "mail@ann.example" })
    const answer = await house.did(202, "POST", `/documents/${document_id}/email`, {})
    expect(answer).toEqual({
      message: expect.stringContaining("mail@ann.example"),
      job_id: expect.stringMatching(/^[0-9a-f-]{36}$/)
    })
    await expect.poll(() => mine().length, poll).toBe(1)
    const { document } = await house.did(200, "GET", `/documents/${document_id}`)
    const { read, to } = mine()[0]!
    expect(to).toEqual(["mail@ann.example"])
    expect(read.text).toContain(document.public_link!.url)
    expect(read.attachments).toHaveLength(1)
    await house.did(202, "POST", `/documents/${document_id}/email`, {
      to: ["x@y.example"],
      cc: "z@y.example",
      subject: "Yours",
      message: "See below.",
      attach_pdf: false
    })
    await expect.poll(() => mine().length, poll).toBe(2)
    const second = mine()[1]!
    expect([second.to, second.read.subject, second.read.attachments.length]).toEqual([
      ["x@y.example", "z@y.example"],
      "Yours",
      0
    ])
    expect(second.read.text).toContain("See below.")
    // The first mail's link is used again, so that it keeps working.
    expect(second.read.text).toContain(document.public_link!.token)
    const { document_id: nobody } = await house.offered()
    expect(Object.keys((await house.did(422, "POST", `/documents/${nobody}/email`, {})).errors)).toEqual(["to"])
    await house.did(200, "POST", `/documents/${nobody}/void`, {})
    expect(
      Object.keys((await house.did(422, "POST", `/documents/${nobody}/email`, { to: "a@b.example" })).errors)
    ).toEqual(["status"])
  })
})
