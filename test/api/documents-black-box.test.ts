/** Documents from outside: rules/billing 3, the rulings, and the interface 2.8, 3.4, 4.9, 5 and 6. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../app.ts"
import { formOf } from "../server/files/sending.ts"
import type { Sent } from "../server/serving.ts"
import {
  type Books,
  ended,
  keyed,
  listening,
  now,
  openBooks,
  opened,
  refusal,
  soon,
  wordsOf
} from "./billing-black-box.ts"

const of_opportunities = ["quotation", "order_confirmation", "pick_list", "delivery_note", "return_note"]
const of_warehouse = ["pick_list", "delivery_note", "return_note"]
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

/** One thing of each kind that documents are made of. */
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
const sourceOf = (sources: Sources, type: string): object => ({
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
  const drawn = async (document_type: string, more: object = {}): Promise<any> => {
    const got = await generate(document_type, more)
    expect(got.status, got.text).toBe(201)
    return got.body.document
  }
  const shown = async (id: number): Promise<any> => (await yard.get(`/documents/${id}`)).document
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
/** A yard of Northlight Rental, with one thing of each kind and a press for their documents. */
const openPress = async (engine: Engine) => {
  const yard = await openBooks(engine)
  await yard.put("/settings/company", { settings: { name: "Northlight Rental" } })
  const sources = await sourcesOf(yard)
  return { yard, sources, press: pressOf(yard, sources) }
}

describe.each(engines)("Documents, on %s", (engine) => {
  let yard: Books
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())

  describe("A document (rules/billing 3)", () => {
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
    )("of type $type cannot be created from the $kind", async ({ type, kind }) => {
      const documentable_type = kind in words ? words[kind as keyof typeof words] : "Invoice"
      const got = await press.generate(type, { documentable_type, documentable_id: sources[kind] })
      expect(refusal(got)).toEqual([422, "document_type"])
    })
    it.each([
      ["credit_note", "credit_note"],
      ["creditnote", "credit_note"],
      ["Purchase_Order", "purchase_order"],
      ["purchaseOrder", "purchase_order"]
    ])("is of a source named %s", async (documentable_type, type) => {
      expect((await press.drawn(type, { documentable_type })).documentable_type).toBe(word_of(type))
    })
    it.each<[string, string, object]>([
      ["no type", "document_type", { document_type: undefined }],
      ["no source", "documentable_type", { documentable_type: undefined }],
      ["no id", "documentable_id", { documentable_id: undefined }],
      ["an unknown type", "document_type", { document_type: "poem" }],
      ["an unknown source", "documentable_type", { documentable_type: "Member" }],
      ["a source that is not there", "documentable_id", { documentable_id: 999_999 }],
      ["an id that is none", "documentable_id", { documentable_id: "first" }],
      ["a store that is not there", "store_id", { store_id: 999_999 }],
      ["an answer to when that is none", "async", { async: "maybe" }]
    ])("is refused for %s, whether drawn at once or in a batch", async (_, field, more) => {
      const before = await press.count()
      expect(refusal(await press.generate("quotation", more))).toEqual([422, field])
      const { documentable_id, ...body } = {
        ...sourceOf(sources, "quotation"),
        document_type: "quotation",
        ...more
      } as any
      if (!["documentable_id", "async"].includes(field))
        expect(
          refusal(await yard.post("/documents/batch_generate", { ...body, documentable_ids: [documentable_id] }))
        ).toEqual([...[422, field]])
      expect(await press.count()).toBe(before)
    })
    it("belongs to its source's store unless the request names another or none", async () => {
      const depot = (await yard.made("/stores", { name: "Depot" })).id
      expect((await press.drawn("quotation")).store_id).toBe(1)
      expect((await press.drawn("quotation", { store_id: depot })).store_id).toBe(depot)
      const { id } = await yard.issued()
      expect((await press.drawn("invoice", { documentable_id: id })).store_id).toBe(null)
      const order = await yard.order({ store_id: depot })
      expect((await press.drawn("purchase_order", { documentable_id: order.id })).store_id).toBe(depot)
    })
    it("is numbered in sequence, whatever its type; refused ones use no number", async () => {
      const first = Number((await press.drawn("quotation")).document_number)
      expect((await press.generate("poem")).status).toBe(422)
      expect(Number((await press.drawn("credit_note")).document_number)).toBe(first + 1)
      expect(Number((await press.drawn("quotation")).document_number)).toBe(first + 2)
    })
    it("opens by its signed URL without a token for 60 minutes, and by no other", async () => {
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
    it("answers 404 if missing, even to users without permissions; documents cannot be deleted or changed", async () => {
      const token = await yard.tokenOf([], ["products:read"])
      expect((await yard.ask("GET", "/documents/999999", undefined, { token })).status).toBe(404)
      for (const name of ["finalise", "void", "public_link"])
        expect([name, (await press.act(999_999, name)).status]).toEqual([name, 404])
      const { id } = await press.drawn("quotation")
      for (const method of ["DELETE", "PUT"])
        expect([method, (await yard.ask(method, `/documents/${id}`, {})).status]).toEqual([method, 405])
    })

    it("shows its source as it was when generated, even if finalised later", async () => {
      const job = await yard.job([{ unit_price: "100.00" }], { subject: "As it was" })
      const { id } = await press.drawn("quotation", { documentable_id: job.id })
      await yard.put(`/opportunities/${job.id}`, { subject: "As it became" })
      expect((await press.act(id, "finalise")).status).toBe(200)
      const words = wordsOf(await press.bytes(id))
      expect([words.includes("As it was"), words.includes("As it became")]).toEqual([true, false])
      const anew = wordsOf(await press.bytes((await press.drawn("quotation", { documentable_id: job.id })).id))
      expect(anew).toContain("As it became")
    })
  })

  describe("Documents in the background (rules/billing 3, rulings 23)", () => {
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

    it("is refused in the background for the same reasons as directly", async () => {
      const before = await press.count()
      expect(refusal(await press.generate("invoice", { async: true, documentable_type: "Opportunity" }))).toEqual([
        ...[422, "document_type"]
      ])
      expect(refusal(await press.generate("quotation", { async: true, documentable_id: 999_999 }))).toEqual([
        ...[422, "documentable_id"]
      ])
      expect(await press.count()).toBe(before)
    })
    it("a hundred at most, one at least", async () => {
      const ids = Array.from({ length: 101 }, () => sources.invoice)
      for (const documentable_ids of [undefined, [], "all", ids])
        expect(refusal(await batch({ documentable_ids }))).toEqual([422, "documentable_ids"])
    })
    it("are of the store the batch names", async () => {
      const depot = (await yard.made("/stores", { name: "Depot" })).id
      const [id] = await bills(1)
      const { job_id } = (await batch({ documentable_ids: [id], store_id: depot })).body
      await ended(yard, job_id)
      const { documents } = await yard.get(`/documents?q[documentable_id_eq]=${id}&q[documentable_type_eq]=Invoice`)
      expect(documents.map((one: any) => one.store_id)).toEqual([depot])
    })
    it("neither finalised, voided nor linked while they are pending, nor when they failed", async () => {
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
      expect((await last()).error.length).toBeGreaterThan(0)
      expect(await moved(id)).toEqual([422, 422, 422])
      const others = await yard.get(
        `/documents?q[documentable_id_in]=${documentable_ids.slice(0, -1).join(",")}&per_page=100`
      )
      expect(new Set(others.documents.map((one: any) => one.status))).toEqual(new Set(["generated"]))
    })
    it("a job is hidden from other users than its owner", async () => {
      const rights = ["documents.create", "documents.view", "invoices.view"]
      const [mine, other] = [await yard.tokenOf(rights, ["*"]), await yard.tokenOf(rights, ["*"])]
      const { job_id } = (await batch({ documentable_ids: [sources.invoice] }, { token: mine })).body
      await ended(yard, job_id)
      const seen = async (token: string) =>
        (await yard.ask("GET", `/system/jobs/${encodeURIComponent(job_id)}`, undefined, { token })).status
      expect([await seen(mine), await seen(other)]).toEqual([200, 403])
    })
  })

  describe("Content of documents (rulings, rules/billing 3)", () => {
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
    ])("a %s: %j, and never %j", async (type, says, never) => {
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
    ])("a draft %s is marked DRAFT, a voided one VOID", async (document_type, type) => {
      const { id } = await yard.draft({ type })
      expect(await read(document_type, { documentable_id: id })).toContain("DRAFT")
      await yard.made(`/invoices/${id}/issue`)
      await yard.made(`/invoices/${id}/void`)
      const words = await read(document_type, { documentable_id: id })
      expect([words.includes("VOID"), words.includes("DRAFT")]).toEqual([true, false])
    })
    it("a return note lists the goods that are out", async () => {
      const unit = await yard.made("/stock_levels", { product_id: yard.lamp, store_id: 1, serial_number: "OUT-1" })
      const { id, items } = await yard.job([{ name: "Lamp", item_id: yard.lamp, transaction_type: 0 }])
      const before = await read("return_note", { documentable_id: id })
      for (const step of ["convert_to_quotation", "convert_to_order"]) await yard.made(`/opportunities/${id}/${step}`)
      const allocations = [{ opportunity_item_id: items[0].id, stock_level_id: unit.id }]
      await yard.made(`/opportunities/${id}/quick_allocate`, { allocations })
      const asset_ids = (await yard.get(`/opportunities/${id}/assets`)).assets.map((one: any) => one.id)
      for (const step of ["quick_prepare", "quick_book_out"])
        await yard.made(`/opportunities/${id}/${step}`, { asset_ids })
      const after = await read("return_note", { documentable_id: id })
      expect([before.includes("OUT-1"), after.includes("OUT-1"), after.includes("Lamp")]).toEqual([false, true, true])
    })
    it("a purchase order document needs permission to see costs", async () => {
      const made = async (...held: ReadonlyArray<string>) => {
        const token = await yard.tokenOf(["documents.create", "purchase_orders.view", ...held], ["*"])
        const body = { ...sourceOf(sources, "purchase_order"), document_type: "purchase_order" }
        return (await yard.ask("POST", "/documents/generate", body, { token })).status
      }
      expect([await made(), await made("costs.view")]).toEqual([403, 201])
    })
    it("a draft purchase order is marked DRAFT", async () => {
      const { id } = await yard.order()
      expect(await read("purchase_order", { documentable_id: id })).toContain("DRAFT")
    })
    it("prints every name in its own script", async () => {
      const member_id = await yard.organisation_of({ name: "Φωτισμός Αθηνών Ödön Ż" })
      const { id } = await yard.issued({ member_id })
      expect(await read("invoice", { documentable_id: id })).toContain("Φωτισμός Αθηνών Ödön Ż")
    })
    it("equals the invoice's own PDF", async () => {
      const own = wordsOf((await yard.ask("GET", `/invoices/${sources.invoice}/pdf`)).bytes)
      for (const word of ["Winter bill", "Payer", "120.00"]) expect(own).toContain(word)
    })
  })

  describe("Types of documents and their fields (rules/billing 3)", () => {
    it("ten, with their sources", async () => {
      const { document_types, meta } = await yard.get("/document_types")
      expect(meta).toEqual({ total: 10, per_page: 10, page: 1 })
      expect(document_types.map((one: any) => one.key).toSorted()).toEqual(types.toSorted())
      for (const one of document_types) {
        expect([one.key, one.documentable_types]).toEqual([one.key, [word_of(one.key)]])
        expect([typeof one.name, typeof one.description, one.name.length > 0]).toEqual(["string", "string", true])
      }
    })
    const scalars = {
      opportunity:
        "subject reference status starts_at ends_at charge_total tax_total grand_total description rental_days",
      member: "company_name name email phone billing_address delivery_address vat_number",
      item: "product_name quantity unit_charge total_charge discount description",
      store: "name address phone email vat_number company_number website",
      document: "number date due_date terms notes"
    }
    const dotted = (group: keyof typeof scalars): ReadonlyArray<string> =>
      scalars[group].split(" ").map((name) => `${group}.${name}`)
    const common = ["items", ...dotted("store"), ...dotted("document")]
    // Papers of the warehouse offer no amounts.
    const inType = (type: string) => (name: string) =>
      !of_warehouse.includes(type) || !/_(charge|total)$|\.discount$/.test(name)
    const wanted = (type: string): ReadonlyArray<string> => [
      ...common,
      ...(of_opportunities.includes(type) ? [...dotted("opportunity"), ...dotted("item")].filter(inType(type)) : []),
      ...(type === "purchase_order"
        ? ["purchase_order.number", "purchase_order.total", "supplier.name"]
        : dotted("member")),
      ...(of_invoices.includes(type) ? ["invoice.number", "invoice.total", "invoice.due_at"] : []),
      ...(type === "credit_note" ? ["credit_note.number", "credit_note.total"] : [])
    ]
    it.each(types)("the fields of %s, in groups", async (type) => {
      const { fields } = await yard.get(`/document_types/${type}/fields`)
      const all = fields.flatMap((group: any) => group.fields)
      for (const { group } of fields) expect([typeof group, group.length > 0]).toEqual(["string", true])
      for (const one of all) {
        expect([one.name, typeof one.label]).toEqual([one.name, "string"])
        expect(["string", "date", "number", "currency", "boolean", "collection"]).toContain(one.type)
      }
      const names = all.map((one: any) => one.name)
      expect(wanted(type).filter((name) => !names.includes(name))).toEqual([])
      const typed = new Map(all.map((one: any) => [one.name, one.type]))
      expect(typed.get("items")).toBe("collection")
      if (of_opportunities.includes(type))
        expect(
          ["opportunity.starts_at", "opportunity.charge_total", "opportunity.subject"].map((one) => typed.get(one))
        ).toEqual(["date", of_warehouse.includes(type) ? undefined : "currency", "string"])
    })
  })

  describe("Permissions for documents (interface 5)", () => {
    const rights = ["view", "create", "share"].map((name) => `documents.${name}`)
    const seeing = ["opportunities.view", "invoices.view"]
    const abilities = ["documents:read", "documents:write"]
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
    type Case = readonly [string, string, () => Promise<string>, string, string, number, (() => object)?]
    const cases: ReadonlyArray<Case> = [
      ["list", "GET", async () => "/documents", "read", "view", 200],
      ["show", "GET", one_drawn, "read", "view", 200],
      ["types", "GET", async () => "/document_types", "read", "view", 200],
      ["fields", "GET", async () => "/document_types/invoice/fields", "read", "view", 200],
      ["generate", "POST", async () => "/documents/generate", "write", "create", 201, quotation],
      [
        ...(["batch", "POST", async () => "/documents/batch_generate", "write", "create", 202] as const),
        () => ({ ...quotation(), documentable_id: undefined, documentable_ids: [sources.opportunity] })
      ],
      ["finalise", "POST", async () => `${await drawn()}/finalise`, "write", "create", 200, () => ({})],
      ["void", "POST", async () => `${await drawn()}/void`, "write", "create", 200, () => ({})],
      ["make a link", "POST", async () => `${path_of_one}/public_link`, "write", "share", 201, () => ({})],
      ["change a link", "PUT", linked, "write", "share", 200, () => ({})],
      ["revoke a link", "DELETE", linked, "write", "share", 204]
    ]
    it.each(cases.map((one) => ({ name: one[0], one })))("$name", async ({ one }) => {
      const [, method, at, able, permission, status, json] = one
      const [ability, right] = [`documents:${able}`, `documents.${permission}`]
      const path = await at()
      const asked = async (held: ReadonlyArray<string>, can: ReadonlyArray<string>) =>
        yard.ask(method, path, json?.(), { token: await yard.tokenOf([...held, ...seeing], can) })
      const others = rights.filter((name) => name !== right)
      expect((await asked(others, ["*"])).status).toBe(403)
      const unable = await asked(
        rights,
        abilities.filter((name) => name !== ability)
      )
      expect(unable.status).toBe(403)
      const done = await asked([right], [ability])
      expect(done.status, done.text.slice(0, 300)).toBe(status)
      expect((await yard.ask(method, path, json?.(), { token: null })).status).toBe(401)
    })
    it.each<[string, ReadonlyArray<number>]>([
      ["Warehouse", [200, 403]],
      ["Sales", [200, 201]],
      ["Operations Manager", [200, 201]],
      ["Read Only", [200, 403]]
    ])("the role %s lists and generates: %j (rules/conventions 11)", async (role, expected) => {
      const email = `${role.replaceAll(" ", "")}@example.com`
      const user = await yard.made("/users", { name: role, email, roles: [role], active: true })
      const token = (await yard.made("/tokens", { name: role, abilities: ["*"], user_id: user.id })).secret
      const list = await yard.ask("GET", "/documents", undefined, { token })
      const made = await yard.ask("POST", "/documents/generate", quotation(), { token })
      expect([list.status, made.status]).toEqual(expected)
    })
  })

  describe("Webhooks and activity of documents (rules/billing 3, interface 6)", () => {
    const kinds = ["document.generated", "document.finalised", "document.voided", "pdf_generated"]
    it("one event for each document of a batch, and none for refused ones", async () => {
      const ear = await listening(yard, kinds)
      const documentable_ids = [sources.opportunity, 999_999]
      expect((await press.generate("poem")).status).toBe(422)
      const batch = {
        document_type: "quotation",
        documentable_type: "Opportunity",
        documentable_ids: [sources.opportunity]
      }
      expect((await yard.post("/documents/batch_generate", { ...batch, documentable_ids })).status).toBe(422)
      const second = (await yard.job()).id
      const ids = [sources.opportunity, second]
      await ended(yard, (await yard.post("/documents/batch_generate", { ...batch, documentable_ids: ids })).body.job_id)
      await expect.poll(() => ear.told("document.generated").length, soon).toBe(2)
      await expect.poll(() => ear.told("pdf_generated").length, soon).toBe(2)
      expect(
        ear
          .told("document.generated")
          .map((one) => one.body.data.document.documentable_id)
          .toSorted()
      ).toEqual(ids.toSorted())
      await ear.close()
    })
  })

  describe("Documents in lists and races (interface 4.9)", () => {
    it("documents are listed by a user's own view", async () => {
      const { id, document_number } = await press.drawn("pick_list")
      const view = await yard.made("/custom_views", {
        ...{ name: "Picks", entity_type: "documents", visibility: "personal" },
        ...{ columns: ["document_number", "status"], sort_column: "document_number" },
        filters: [{ field: "document_type", predicate: "eq", value: "pick_list" }]
      })
      const { documents } = await yard.get(`/documents?view_id=${view.id}`)
      expect(documents.at(-1)).toEqual({ id, document_number, status: "generated" })
      expect((await yard.ask("GET", `/purchase_orders?view_id=${view.id}`)).status).toBe(404)
    })
    it("files are attached to orders", async () => {
      const { id } = await yard.order()
      const { bytes, type } = await formOf([
        ["attachable_type", "PurchaseOrder"],
        ["attachable_id", String(id)],
        ["file", new Blob(["An offer"], { type: "text/plain" }), "offer.txt"]
      ])
      const got = await yard.ask("POST", "/attachments", undefined, { bytes, headers: { "content-type": type } })
      expect([got.status, got.body.attachment?.attachable_id], got.text).toEqual([201, id])
    })
    it("concurrent finalising or voiding happens once", async () => {
      for (const name of ["finalise", "void"]) {
        const { id } = await press.drawn("quotation")
        const got = await Promise.all([1, 2, 3].map(() => press.act(id, name)))
        expect([name, got.map((one) => one.status).toSorted()]).toEqual([name, [200, 422, 422]])
      }
    })
    it("concurrent drawings have a number each", async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => press.drawn("pick_list")))
      expect(new Set(all.map((one) => one.document_number)).size).toBe(6)
      expect(all.map((one) => one.status)).toEqual(Array(6).fill("generated"))
    })
  })

  describe("A public link (rules/billing 3, rulings on PINs)", () => {
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

    it("is created once per idempotency key", async () => {
      const [first, second] = [await link(id, {}, keyed("L1")), await link(id, {}, keyed("L1"))]
      expect([first.status, second.status]).toEqual([201, 201])
      expect(second.body.public_link.token).toBe(first.body.public_link.token)
    })
    it("stays when the document is finalised, and shows the same", async () => {
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
    ])("can be created for a %s as well", async (type, says) => {
      const page = await open(await tokenOf((await press.drawn(type)).id))
      expect([page.status, page.text.includes(says)]).toEqual([200, true])
    })
    it("that expired answers 404 once revoked, asks for no PIN, and works again with a later expiry", async () => {
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
    it("is not counted as an API call, so frequent readers are never rate-limited", async () => {
      const token = await tokenOf(id)
      const all = []
      for (let at = 0; at < 25; at++) all.push((await open(token, "", { from: "198.51.100.20" })).status)
      expect(all).toEqual(Array(25).fill(200))
      const { paths } = await yard.get("/openapi.json")
      expect(Object.keys(paths).filter((path) => path.startsWith("/api/v1/d/"))).toEqual([])
    })
    it("never reveals its PIN", async () => {
      const [made, changed] = [await link(id, { pin: "Zq81xW" }), await change({ pin: "Zq81xW" })]
      const all = [made.text, changed.text, JSON.stringify([await press.shown(id), await yard.get("/documents")])]
      expect(all.filter((one) => one.includes("Zq81xW"))).toEqual([])
    })
    const accepted = (token: string) =>
      open(token, "", {
        ...{ method: "POST", bytes: "name=Ann+Bell&accept=1" },
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
    it("of a quotation that is no longer valid offers no acceptance, and takes none", async () => {
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
    it("takes no acceptance once it has ended or was revoked, or its quotation voided", async () => {
      const job = await yard.job()
      await yard.made(`/opportunities/${job.id}/convert_to_quotation`)
      const quoted = async (how: object = {}) => {
        const document = await press.drawn("quotation", { documentable_id: job.id })
        return { id: document.id, token: await tokenOf(document.id, how) }
      }
      const [ended, revoked, voided] = [
        await quoted({ expires_at: "2026-06-19T00:00:00Z" }),
        await quoted(),
        await quoted()
      ]
      await yard.remove(`/documents/${revoked.id}/public_link`)
      await yard.made(`/documents/${voided.id}/void`)
      yard.setClock("2026-06-20T00:00:00.000Z")
      const got = [ended, revoked, voided].map(({ token }) => accepted(token))
      expect((await Promise.all(got)).map(({ status }) => status)).toEqual([410, 404, 404])
      yard.setClock(now)
      expect((await yard.get(`/opportunities/${job.id}`)).opportunity.status_name).toBe("Provisional")
    })
  })
})

describe.each(engines)("Documents are found, on %s (rules/billing 3)", (engine) => {
  let yard: Books
  let sources: Sources
  let press: Press
  let depot: number
  const ids: { [name: string]: number } = {}
  const order = ["quote", "picks", "bill", "credit", "buys", "old"]
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
    depot = (await yard.made("/stores", { name: "Depot" })).id
    ids["quote"] = (await press.drawn("quotation")).id
    ids["picks"] = (await press.drawn("pick_list", { store_id: depot })).id
    const draw = async (name: string, type: string, then?: string): Promise<void> => {
      const { id } = await press.drawn(type)
      if (then !== undefined) expect((await press.act(id, then)).status).toBe(200)
      ids[name] = id
    }
    await draw("bill", "invoice", "finalise")
    await draw("credit", "credit_note", "void")
    yard.setClock("2026-06-20T12:00:00.000Z")
    await draw("buys", "purchase_order", "finalise")
    await draw("old", "quotation")
    yard.setClock(now)
    ids["job"] = sources.opportunity
    ids["depot"] = depot
  })
  afterAll(() => yard.close())
  it.each<[string, ReadonlyArray<string>]>([
    ["", ["quote", "picks", "bill", "credit", "buys", "old"]],
    ["q[document_type_eq]=quotation", ["quote", "old"]],
    ["q[type_eq]=quotation", ["quote", "old"]],
    ["q[type_in]=pick_list,invoice", ["picks", "bill"]],
    ["q[document_type_eq]=poem", []],
    ["q[status_eq]=generated", ["quote", "picks", "old"]],
    ["q[status_eq]=finalised", ["bill", "buys"]],
    ["q[status_eq]=voided", ["credit"]],
    ["q[status_not_eq]=generated", ["bill", "credit", "buys"]],
    ["q[store_id_eq]=DEPOT", ["picks"]],
    ["q[documentable_type_eq]=Opportunity", ["quote", "picks", "old"]],
    ["q[documentable_type_eq]=opportunity&q[documentable_id_eq]=JOB", ["quote", "picks", "old"]],
    ["q[documentable_type_eq]=CreditNote", ["credit"]],
    ["q[documentable_type_eq]=purchase_order", ["buys"]],
    ["q[document_number_eq]=0000000002", ["picks"]],
    ["q[document_number_end]=3", ["bill"]],
    ["q[created_at_gteq]=2026-06-19", ["buys", "old"]],
    ["q[finalised_at_lt]=2026-06-19", ["bill"]],
    ["q[finalised_at_present]=1", ["bill", "buys"]],
    ["sort=-document_number", ["old", "buys", "credit", "bill", "picks", "quote"]],
    ["sort=document_number&per_page=2&page=2", ["bill", "credit"]],
    ["sort=-created_at&per_page=2", ["buys", "old"]],
    ["page=7", []]
  ])("%s", async (query, expected) => {
    const at = query.replaceAll(/[A-Z]{3,}(?=$|&)/g, (word) => String(ids[word.toLowerCase()] ?? word))
    const { documents } = await yard.get(`/documents?${at}`)
    const found = documents.map((one: any) => order.find((name) => ids[name] === one.id))
    expect(query.startsWith("sort=-created_at") ? found.toSorted() : found).toEqual(expected)
  })
  it("sorted by status, ascending and descending", async () => {
    const status = async (sort: string) =>
      (await yard.get(`/documents?sort=${sort}`)).documents.map((one: any) => one.status)
    expect(await status("-status")).toEqual((await status("status")).toReversed())
  })
  it("with pages, how many there are, and an address for each that has one", async () => {
    const { documents, meta } = await yard.get("/documents?per_page=4&page=1")
    expect(meta).toEqual({ total: 6, per_page: 4, page: 1 })
    expect(documents.map((one: any) => typeof one.download_url)).toEqual(["string", "string", "string", "object"])
    expect((await opened(yard.server, documents[0].download_url)).status).toBe(200)
  })
})
