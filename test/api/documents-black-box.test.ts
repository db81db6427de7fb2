/** Documents over the API alone (rules/billing 3). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../app.ts"
import type { Sent } from "../server/serving.ts"
import { type Books, ended, needsBoth, now, openBooks, opened, refusal, wordsOf } from "./billing-black-box.ts"

const of_opportunities = ["quotation", "order_confirmation", "pick_list", "delivery_note", "return_note"]
const of_invoices = ["invoice", "proforma_invoice", "deposit_invoice"]
const types = [...of_opportunities, ...of_invoices, "credit_note", "purchase_order"]
const word_of = (type: string): string =>
  of_opportunities.includes(type)
    ? "Opportunity"
    : of_invoices.includes(type)
      ? "Invoice"
      : type === "credit_note"
        ? "CreditNote"
        : "PurchaseOrder"

/** Creates one source of each kind of document. */
const sourcesOf = async (yard: Books) => {
  const job = await yard.job([{ name: "Stage", unit_price: "100.00" }], { subject: "Winter gala" })
  const invoice = await yard.issued({ store_id: 1, subject: "Winter bill" })
  const credited = await yard.issued()
  return {
    opportunity: job.id as number,
    invoice: invoice.id as number,
    proforma: (await yard.issued({ type: "proforma" })).id as number,
    deposit: (await yard.issued({ type: "deposit" })).id as number,
    credit_note: (await yard.made(`/invoices/${credited.id}/credit_notes`)).id as number,
    purchase_order: (await yard.sent({ subject: "Cranes" })).id as number
  }
}
type Sources = Awaited<ReturnType<typeof sourcesOf>>
const sourceOf = (sources: Sources, type: string) => ({
  documentable_type: word_of(type),
  documentable_id: of_opportunities.includes(type)
    ? sources.opportunity
    : type === "proforma_invoice"
      ? sources.proforma
      : type === "deposit_invoice"
        ? sources.deposit
        : sources[type as "invoice" | "credit_note" | "purchase_order"]
})

const pressOf = (yard: Books, sources: Sources) => {
  const generate = (document_type: string, more: object = {}) =>
    yard.post("/documents/generate", { ...sourceOf(sources, document_type), document_type, ...more })
  const drawn = async (document_type: string, more: object = {}) => {
    const got = await generate(document_type, more)
    expect(got.status, got.text).toBe(201)
    return got.body.document
  }
  const shown = async (id: number) => {
    const { document } = await yard.get(`/documents/${id}`)
    return { ...document, download_url: String(document.download_url) }
  }
  const act = (id: number, name: string, json: object = {}) => yard.post(`/documents/${id}/${name}`, json)
  return {
    ...{ generate, drawn, shown, act },
    bytes: async (id: number): Promise<Uint8Array> => {
      const got = await opened(yard.server, (await shown(id)).download_url)
      expect(got.status, got.text.slice(0, 200)).toBe(200)
      return got.bytes
    },
    count: async (): Promise<number> => (await yard.get("/documents")).meta.total
  }
}
type Press = ReturnType<typeof pressOf>
/** A company with one source of each kind of document, and requests for their documents. */
const openPress = async (engine: Engine) => {
  const yard = await openBooks(engine)
  await yard.put("/settings/company", { settings: { name: "Northlight Rental" } })
  const sources = await sourcesOf(yard)
  return { yard, sources, press: pressOf(yard, sources) }
}

describe.each(engines)("documents over HTTP on %s", (engine) => {
  let yard: Books
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())

  describe("a document (rules/billing 3)", () => {
    const kinds = ["opportunity", "invoice", "proforma", "deposit", "credit_note", "purchase_order"] as const
    const words = { opportunity: "Opportunity", credit_note: "CreditNote", purchase_order: "PurchaseOrder" } as const
    const fits = (type: string, kind: (typeof kinds)[number]): boolean =>
      kind === "opportunity"
        ? of_opportunities.includes(type)
        : type === (kind === "proforma" || kind === "deposit" ? `${kind}_invoice` : kind)
    it.each(
      types.flatMap((type) =>
        kinds
          .filter((kind) => !fits(type, kind) && (type !== "invoice" || !["proforma", "deposit"].includes(kind)))
          .map((kind) => ({ type, kind }))
      )
    )("cannot be created with type $type from the $kind", async ({ type, kind }) => {
      const documentable_type = kind in words ? words[kind as keyof typeof words] : "Invoice"
      const got = await press.generate(type, { documentable_type, documentable_id: sources[kind] })
      expect(refusal(got)).toEqual([422, "document_type"])
    })
    it.each([
      ["credit_note", "credit_note"],
      ["creditnote", "credit_note"],
      ["Purchase_Order", "purchase_order"],
      ["purchaseOrder", "purchase_order"]
    ])("accepts the source type %s", async (documentable_type, type) => {
      expect((await press.drawn(type, { documentable_type })).documentable_type).toBe(word_of(type))
    })
    it.each<[string, string, object]>([
      ["no type", "document_type", { document_type: undefined }],
      ["no source", "documentable_type", { documentable_type: undefined }],
      ["no id", "documentable_id", { documentable_id: undefined }],
      ["an unknown type", "document_type", { document_type: "poem" }],
      ["an unknown source", "documentable_type", { documentable_type: "Member" }],
      ["a missing source", "documentable_id", { documentable_id: 999_999 }],
      ["an invalid id", "documentable_id", { documentable_id: "first" }],
      ["a missing store", "store_id", { store_id: 999_999 }],
      ["an invalid async", "async", { async: "maybe" }]
    ])("is refused for %s: at once, in the background and, if it applies, in a batch", async (_, field, more) => {
      const before = await press.count()
      for (const async of [false, true])
        expect(refusal(await press.generate("quotation", { async, ...more }))).toEqual([422, field])
      const { documentable_id, ...body } = { document_type: "quotation", ...sourceOf(sources, "quotation"), ...more }
      if (!["documentable_id", "async"].includes(field))
        expect(
          refusal(await yard.post("/documents/batch_generate", { ...body, documentable_ids: [documentable_id] }))
        ).toEqual([...[422, field]])
      expect(await press.count()).toBe(before)
    })
    it("belongs to its source's store unless the request names another", async () => {
      const depot = (await yard.made("/stores", { name: "Depot" })).id
      expect((await press.drawn("quotation")).store_id).toBe(1)
      expect((await press.drawn("quotation", { store_id: depot })).store_id).toBe(depot)
      const { id } = await yard.issued()
      expect((await press.drawn("invoice", { documentable_id: id })).store_id).toBe(null)
      const order = await yard.order({ store_id: depot })
      expect((await press.drawn("purchase_order", { documentable_id: order.id })).store_id).toBe(depot)
    })
    it("is numbered in sequence whatever its type, and a refused request uses no number", async () => {
      const first = Number((await press.drawn("quotation")).document_number)
      expect((await press.generate("poem")).status).toBe(422)
      expect(Number((await press.drawn("credit_note")).document_number)).toBe(first + 1)
      expect(Number((await press.drawn("quotation")).document_number)).toBe(first + 2)
    })
    it("opens by its signed URL without a token for 60 minutes", async () => {
      const { id, file_size } = await press.drawn("quotation")
      const { download_url } = await press.shown(id)
      const got = await opened(yard.server, download_url)
      expect([got.status, got.headers["content-type"], got.bytes.length]).toEqual([200, "application/pdf", file_size])
      expect(got.headers["content-disposition"]).toMatch(/^inline/)
      const again = await opened(yard.server, (await press.shown(id)).download_url)
      expect(Buffer.from(again.bytes).equals(Buffer.from(got.bytes))).toBe(true)
      expect(
        (
          await opened(
            yard.server,
            download_url.replace(/.$/, (last: string) => (last === "A" ? "B" : "A"))
          )
        ).status
      ).toBe(403)
      expect((await opened(yard.server, download_url.replace(/\?.*/, ""))).status).toBe(403)
      yard.setClock("2026-06-18T12:59:00.000Z")
      expect((await opened(yard.server, download_url)).status).toBe(200)
      yard.setClock("2026-06-18T13:01:00.000Z")
      expect((await opened(yard.server, download_url)).status).toBe(403)
      expect((await opened(yard.server, (await press.shown(id)).download_url)).status).toBe(200)
      yard.setClock(now)
    })
  })

  describe("documents in the background (rules/billing 3, rules/rulings 23)", () => {
    const batch = (json: object, more = {}) =>
      yard.ask(
        "POST",
        "/documents/batch_generate",
        { document_type: "invoice", documentable_type: "Invoice", ...json },
        more
      )
    const bills = async (count: number): Promise<ReadonlyArray<number>> => {
      const ids: Array<number> = []
      for (let at = 0; at < count; at++) ids.push((await yard.issued({ subject: `Bill ${at}` })).id)
      return ids
    }

    it("belong to the store the batch names", async () => {
      const depot = (await yard.made("/stores", { name: "Depot" })).id
      const [id] = await bills(1)
      const { job_id } = (await batch({ documentable_ids: [id], store_id: depot })).body
      await ended(yard, job_id)
      const { documents } = await yard.get(`/documents?q[documentable_id_eq]=${id}&q[documentable_type_eq]=Invoice`)
      expect(documents.map((one) => one.store_id)).toEqual([depot])
    })
    it("cannot be finalised, voided or linked while pending or failed", async () => {
      const documentable_ids: Array<number> = []
      for (let at = 0; at < 8; at++) documentable_ids.push((await yard.draft()).id)
      const { job_id } = (await batch({ documentable_ids })).body
      const gone = documentable_ids.at(-1)
      const last = async () =>
        (await yard.get(`/documents?q[documentable_type_eq]=Invoice&q[documentable_id_eq]=${gone}`)).documents[0]
      const moved = async (id: number): Promise<ReadonlyArray<unknown>> =>
        Promise.all(["finalise", "void", "public_link"].map(async (name) => (await press.act(id, name)).status))
      const { id, status } = await last()
      expect([status, await moved(id)]).toEqual(["pending", [422, 422, 422]])
      expect((await yard.remove(`/invoices/${gone}`)).status).toBe(204)
      await ended(yard, job_id)
      expect(await last()).toMatchObject({
        id,
        status: "failed",
        status_name: "Failed",
        download_url: null,
        file_size: null
      })
      expect((await last()).error?.length).toBeGreaterThan(0)
      expect(await moved(id)).toEqual([422, 422, 422])
      const others = await yard.get(
        `/documents?q[documentable_id_in]=${documentable_ids.slice(0, -1).join(",")}&per_page=100`
      )
      expect(new Set(others.documents.map((one) => one.status))).toEqual(new Set(["generated"]))
    })
  })

  describe("the text of documents (rules/billing 3)", () => {
    const read = async (type: string, more: object = {}): Promise<string> =>
      wordsOf(await press.bytes((await press.drawn(type, more)).id))

    it.each<[string, ReadonlyArray<string>, ReadonlyArray<string>]>([
      ["quotation", ["Winter gala", "Payer", "Northlight Rental", "Stage", "100.00", "120.00"], ["VOID"]],
      ["order_confirmation", ["Winter gala", "Payer", "Northlight Rental", "Stage", "100.00", "120.00"], ["VOID"]],
      ["pick_list", ["Winter gala", "Stage"], ["120.00", "VOID"]],
      ["delivery_note", ["Winter gala", "Payer", "Stage"], ["120.00", "VOID"]],
      ["return_note", ["Winter gala", "Payer"], ["120.00", "VOID"]],
      ["invoice", ["Winter bill", "Payer", "Northlight Rental", "0000000001", "Stage", "120.00"], ["DRAFT", "VOID"]],
      ["proforma_invoice", ["Payer", "Stage", "120.00"], ["DRAFT", "VOID"]],
      ["deposit_invoice", ["Payer", "Stage", "120.00"], ["DRAFT", "VOID"]],
      ["credit_note", ["Payer", "Stage", "120.00"], ["DRAFT", "VOID"]],
      ["purchase_order", ["Cranes", "Big Cranes Ltd", "0000000001", "Crane", "100.00", "120.00"], ["DRAFT", "VOID"]]
    ])("contains, for a %s, %j and not %j", async (type, says, never) => {
      const document = await press.drawn(type, { async: false })
      expect(document).toMatchObject({ document_type: type, documentable_type: word_of(type), status: "generated" })
      const words = wordsOf(await press.bytes(document.id))
      expect(says.filter((word) => !words.includes(word))).toEqual([])
      expect(never.filter((word) => words.includes(word))).toEqual([])
    })
    it.each([
      ["invoice", "standard"],
      ["proforma_invoice", "proforma"],
      ["deposit_invoice", "deposit"]
    ])("marks a draft %s DRAFT, and a voided one VOID", async (document_type, type) => {
      const { id } = await yard.draft({ type })
      expect(await read(document_type, { documentable_id: id })).toContain("DRAFT")
      await yard.made(`/invoices/${id}/issue`)
      await yard.made(`/invoices/${id}/void`)
      const words = await read(document_type, { documentable_id: id })
      expect([words.includes("VOID"), words.includes("DRAFT")]).toEqual([true, false])
    })
    it("is generated for a purchase order only with the permission to see costs", async () => {
      const made = async (...held: ReadonlyArray<string>) => {
        const token = await yard.tokenOf(["documents.create", "purchase_orders.view", ...held], ["*"])
        const body = { ...sourceOf(sources, "purchase_order"), document_type: "purchase_order" }
        return (await yard.ask("POST", "/documents/generate", body, { token })).status
      }
      expect([await made(), await made("costs.view")]).toEqual([403, 201])
    })
  })

  describe("permissions and abilities for documents (rules/conventions 11)", () => {
    const seeing = ["opportunities.view", "invoices.view"]
    const drawn = async (): Promise<string> => `/documents/${(await press.drawn("quotation")).id}`
    let path_of_one: string
    beforeAll(async () => {
      path_of_one = await drawn()
    })
    const one_drawn = async (): Promise<string> => path_of_one
    const linked = async (): Promise<string> => {
      await yard.made(`${path_of_one}/public_link`)
      return `${path_of_one}/public_link`
    }
    const quotation = (): object => ({ ...sourceOf(sources, "quotation"), document_type: "quotation" })
    const cases: ReadonlyArray<Parameters<typeof needsBoth>[2]> = [
      ["list", "GET", async () => "/documents", "read", "view", 200],
      ["show", "GET", one_drawn, "read", "view", 200],
      ["list types", "GET", async () => "/document_types", "read", "view", 200],
      ["list the fields of a type", "GET", async () => "/document_types/invoice/fields", "read", "view", 200],
      ["generate", "POST", async () => "/documents/generate", "write", "create", 201, quotation],
      [
        ...(["generate a batch", "POST", async () => "/documents/batch_generate", "write", "create", 202] as const),
        () => ({ ...quotation(), documentable_id: undefined, documentable_ids: [sources.opportunity] })
      ],
      ["finalise", "POST", async () => `${await drawn()}/finalise`, "write", "create", 200, () => ({})],
      ["void", "POST", async () => `${await drawn()}/void`, "write", "create", 200, () => ({})],
      ["make a link", "POST", async () => `${path_of_one}/public_link`, "write", "share", 201, () => ({})],
      ["change a link", "PUT", linked, "write", "share", 200, () => ({})],
      ["revoke a link", "DELETE", linked, "write", "share", 204]
    ]
    it.each(cases.map((one) => ({ name: one[0], one })))("are both needed to $name", async ({ one }) => {
      await needsBoth(yard, ["documents", ["view", "create", "share"]], one, { seeing })
    })
    it.each<[string, ReadonlyArray<number>]>([
      ["Warehouse", [200, 403]],
      ["Sales", [200, 201]],
      ["Operations Manager", [200, 201]],
      ["Read Only", [200, 403]]
    ])("give the role %s the statuses %j for listing and generating documents", async (role, expected) => {
      const token = await yard.tokenOfRole(role)
      const list = await yard.ask("GET", "/documents", undefined, { token })
      const made = await yard.ask("POST", "/documents/generate", quotation(), { token })
      expect([list.status, made.status]).toEqual(expected)
    })
  })

  describe("concurrent requests for documents (rules/billing 3)", () => {
    it("finalise or void a document once", async () => {
      for (const name of ["finalise", "void"]) {
        const { id } = await press.drawn("quotation")
        const got = await Promise.all([1, 2, 3].map(() => press.act(id, name)))
        expect([name, got.map((one) => one.status).toSorted()]).toEqual([name, [200, 422, 422]])
      }
    })
    it("give the documents distinct numbers", async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => press.drawn("pick_list")))
      expect(new Set(all.map((one) => one.document_number)).size).toBe(6)
      expect(all.map((one) => one.status)).toEqual(Array(6).fill("generated"))
    })
  })

  describe("a public link (rules/billing 3)", () => {
    let id: number
    beforeAll(async () => {
      id = (await press.drawn("quotation")).id
    })
    const link = (of: number, json: object = {}, more: Sent = {}) =>
      yard.ask("POST", `/documents/${of}/public_link`, json, more)
    const tokenOf = async (of: number, json: object = {}): Promise<string> => {
      const got = await link(of, json)
      expect(got.status, got.text).toBe(201)
      return got.body.public_link.token
    }
    const change = (json: object) => yard.put(`/documents/${id}/public_link`, json)
    const open = (token: string, query = "", more: Sent = {}) =>
      yard.server.ask(`/d/${token}${query}`, { token: null, ...more })

    it("shows the same PDF text after the document is finalised", async () => {
      const document = await press.drawn("quotation")
      const token = await tokenOf(document.id)
      const before = await open(token, "?format=pdf")
      await yard.made(`/documents/${document.id}/finalise`)
      const after = await open(token, "?format=pdf")
      expect([after.status, wordsOf(after.bytes)]).toEqual([200, wordsOf(before.bytes)])
      expect((await link(document.id)).status).toBe(201)
    })
    it.each([
      ["invoice", "0000000001"],
      ["pick_list", "Winter gala"],
      ["purchase_order", "0000000001"]
    ])("can be created for a %s", async (type, says) => {
      const page = await open(await tokenOf((await press.drawn(type)).id))
      expect([page.status, page.text.includes(says)]).toEqual([200, true])
    })
    it("answers 410 once expired, even to a wrong PIN, works again with a later expiry, and answers 404 once revoked", async () => {
      const token = await tokenOf(id, { pin: "1234", expires_at: "2026-06-20T00:00:00Z" })
      yard.setClock("2026-06-21T00:00:00.000Z")
      expect([(await open(token)).status, (await open(token, "?pin=9999")).status]).toEqual([410, 410])
      expect(refusal(await change({ expires_at: "soon" }))).toEqual([422, "expires_at"])
      expect((await change({ expires_at: "2026-06-22T00:00:00Z", pin: null })).status).toBe(200)
      const alive = (await open(token)).status
      await yard.remove(`/documents/${id}/public_link`)
      const gone = [(await open(token)).status, (await open(token, "?pin=1234")).status]
      yard.setClock(now)
      expect([alive, ...gone]).toEqual([200, 404, 404])
    })
    it("is created, changed, shown and listed without its PIN in the response", async () => {
      const [made, changed] = [await link(id, { pin: "Zq81xW" }), await change({ pin: "Zq81xW" })]
      const all = [made.text, changed.text, JSON.stringify([await press.shown(id), await yard.get("/documents")])]
      expect(all.filter((one) => one.includes("Zq81xW"))).toEqual([])
    })
    const accepted = (token: string) =>
      open(token, "", {
        ...{ method: "POST", bytes: "name=Ann+Bell&accept=1" },
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
    it("has no form to accept an expired quotation, and refuses its acceptance", async () => {
      const job = await yard.job([{ unit_price: "100.00" }], { quote_invalid_at: "2026-06-20T00:00:00Z" })
      await yard.made(`/opportunities/${job.id}/convert_to_quotation`)
      const token = await tokenOf((await press.drawn("quotation", { documentable_id: job.id })).id)
      expect((await open(token)).text).toMatch(/<input[^>]+name="?accept/i)
      yard.setClock("2026-06-22T00:00:00.000Z")
      const page = await open(token)
      const got = await accepted(token)
      yard.setClock(now)
      expect([page.status, /<input[^>]+name="?accept/i.test(page.text), got.status >= 400]).toEqual([200, false, true])
      expect((await yard.get(`/opportunities/${job.id}`)).opportunity.status_name).toBe("Provisional")
    })
  })
})
