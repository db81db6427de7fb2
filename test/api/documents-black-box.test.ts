/** Documents from outside: rules/billing 3, the rulings, and the interface 2.8, 3.4, 4.9, 5 and 6. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../app.ts"
import { formOf } from "../server/files/sending.ts"
import { now, refusal } from "./billing-black-box.ts"
import {
  ended,
  keyed,
  listening,
  opened,
  openYard,
  public_url,
  soon,
  wordsOf,
  type Yard
} from "./procurement-black-box.ts"

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
const sourcesOf = async (yard: Yard) => {
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

const pressOf = (yard: Yard, sources: Sources) => {
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
/** A yard, told what comes before all else, with one thing of each kind and a press for their documents. */
const openPress = async (engine: Engine, before: (yard: Yard) => Promise<unknown> = async () => undefined) => {
  const yard = await openYard(engine)
  await before(yard)
  const sources = await sourcesOf(yard)
  return { yard, sources, press: pressOf(yard, sources) }
}

describe.each(engines)("A document, on %s (rules/billing 3)", (engine) => {
  let yard: Yard
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())

  it("has every field in its form", async () => {
    const document = await press.drawn("invoice")
    expect(document).toMatchObject({
      ...{ document_type: "invoice", status: "generated", status_name: "Generated", documentable_type: "Invoice" },
      ...{ documentable_id: sources.invoice, store_id: 1, mime_type: "application/pdf", public_link: null },
      ...{ generated_at: now, finalised_at: null, voided_at: null, void_reason: null, error: null, created_by: 1 },
      ...{ created_at: now, updated_at: now }
    })
    expect(document.document_number).toMatch(/^\d{10}$/)
    expect([typeof document.id, typeof document.document_type_name]).toEqual(["number", "string"])
    expect([document.file_size > 500, document.download_url.startsWith(`${public_url}/files/`)]).toEqual([true, true])
    expect(await press.shown(document.id)).toMatchObject({ ...document, download_url: expect.any(String) })
  })

  const kinds = ["opportunity", "invoice", "proforma", "deposit", "credit_note", "purchase_order"] as const
  const words = { opportunity: "Opportunity", credit_note: "CreditNote", purchase_order: "PurchaseOrder" } as const
  const fits = (type: string, kind: (typeof kinds)[number]): boolean =>
    kind === "opportunity"
      ? of_opportunities.includes(type)
      : type === (kind === "proforma" || kind === "deposit" ? `${kind}_invoice` : kind)
  it.each(
    types.flatMap((type) =>
      kinds
        .filter((kind) => type !== "invoice" || !["proforma", "deposit"].includes(kind))
        .map((kind) => ({ type, kind, status: fits(type, kind) ? 201 : 422 }))
    )
  )("of type $type from the $kind: $status", async ({ type, kind, status }) => {
    const documentable_type = kind in words ? words[kind as keyof typeof words] : "Invoice"
    const got = await press.generate(type, { documentable_type, documentable_id: sources[kind] })
    if (status === 422) return expect(refusal(got)).toEqual([422, "document_type"])
    expect([got.status, got.body.document?.status], got.text).toEqual([201, "generated"])
    expect(got.body.document).toMatchObject({ document_type: type, documentable_type })
  })
  it.each([
    ["opportunity", "quotation"],
    ["OPPORTUNITY", "quotation"],
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
  it("is not made of what was deleted", async () => {
    const { id } = await yard.draft()
    await yard.remove(`/invoices/${id}`)
    expect(refusal(await press.generate("invoice", { documentable_id: id }))).toEqual([422, "documentable_id"])
  })
  it("is of its source's store unless told, or of none", async () => {
    const depot = (await yard.made("/stores", { name: "Depot" })).id
    expect((await press.drawn("quotation")).store_id).toBe(1)
    expect((await press.drawn("quotation", { store_id: depot })).store_id).toBe(depot)
    const { id } = await yard.issued()
    expect((await press.drawn("invoice", { documentable_id: id })).store_id).toBe(null)
    const order = await yard.order({ store_id: depot })
    expect((await press.drawn("purchase_order", { documentable_id: order.id })).store_id).toBe(depot)
  })
  it("is numbered one after the other, whatever its type; refused ones take none", async () => {
    const first = Number((await press.drawn("quotation")).document_number)
    expect((await press.generate("poem")).status).toBe(422)
    expect(Number((await press.drawn("credit_note")).document_number)).toBe(first + 1)
    expect(Number((await press.drawn("quotation")).document_number)).toBe(first + 2)
  })
  it("made again is a new one; the one before stays", async () => {
    const [first, second] = [await press.drawn("quotation"), await press.drawn("quotation")]
    expect(second.id).not.toBe(first.id)
    expect([(await press.shown(first.id)).status, (await press.bytes(first.id)).length]).toEqual([
      ...["generated", first.file_size]
    ])
  })
  it("is opened by its address without a token, for 60 minutes, and by no other", async () => {
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
  it("that is not there is not found, even by who may do nothing; none is deleted or changed", async () => {
    const token = await yard.tokenOf([], ["products:read"])
    expect((await yard.ask("GET", "/documents/999999", undefined, { token })).status).toBe(404)
    for (const name of ["finalise", "void", "public_link"])
      expect([name, (await press.act(999_999, name)).status]).toEqual([name, 404])
    const { id } = await press.drawn("quotation")
    for (const method of ["DELETE", "PUT"])
      expect([method, (await yard.ask(method, `/documents/${id}`, {})).status]).toEqual([method, 405])
  })

  it("is finalised, and then neither again nor of anything else than it was", async () => {
    const job = await yard.job([{ unit_price: "100.00" }], { subject: "Before the change" })
    const { id, document_number } = await press.drawn("quotation", { documentable_id: job.id })
    const before = wordsOf(await press.bytes(id))
    const got = (await press.act(id, "finalise")).body.document
    expect(got).toMatchObject({
      ...{ id, document_number, status: "finalised", status_name: "Finalised", finalised_at: now, voided_at: null }
    })
    const bytes = await press.bytes(id)
    expect(wordsOf(bytes)).toBe(before)
    await yard.put(`/opportunities/${job.id}`, { subject: "After the change" })
    await yard.made(`/opportunities/${job.id}/items`, { name: "One more", unit_price: "900.00" })
    expect(Buffer.from(await press.bytes(id)).equals(Buffer.from(bytes))).toBe(true)
    await yard.remove(`/opportunities/${job.id}`)
    expect(Buffer.from(await press.bytes(id)).equals(Buffer.from(bytes))).toBe(true)
    expect(refusal(await press.act(id, "finalise"))).toEqual([422, "status"])
  })
  it("says what its source said when it was made, also when it is finalised later", async () => {
    const job = await yard.job([{ unit_price: "100.00" }], { subject: "As it was" })
    const { id } = await press.drawn("quotation", { documentable_id: job.id })
    await yard.put(`/opportunities/${job.id}`, { subject: "As it became" })
    expect((await press.act(id, "finalise")).status).toBe(200)
    const words = wordsOf(await press.bytes(id))
    expect([words.includes("As it was"), words.includes("As it became")]).toEqual([true, false])
    const anew = wordsOf(await press.bytes((await press.drawn("quotation", { documentable_id: job.id })).id))
    expect(anew).toContain("As it became")
  })
  it("of a draft invoice is made and not finalised", async () => {
    const { id } = await yard.draft()
    const document = await press.drawn("invoice", { documentable_id: id })
    expect((await press.act(document.id, "finalise")).status).toBe(422)
    expect((await press.shown(document.id)).status).toBe("generated")
  })
  it.each(["generated", "finalised"])("is voided when %s, for a reason, and then for good", async (status) => {
    const { id } = await press.drawn("quotation")
    if (status === "finalised") await press.act(id, "finalise")
    expect(refusal(await press.act(id, "void", { reason: "x".repeat(1001) }))).toEqual([422, "reason"])
    const got = await press.act(id, "void", { reason: "Wrong price" })
    expect([got.status, got.body.document], got.text).toMatchObject([
      200,
      { status: "voided", status_name: "Voided", voided_at: now, void_reason: "Wrong price", download_url: null }
    ])
    expect(await press.shown(id)).toMatchObject({ status: "voided", download_url: null, public_link: null })
    for (const name of ["void", "finalise"]) expect(refusal(await press.act(id, name))).toEqual([422, "status"])
  })
  it("is voided without a reason as well", async () => {
    const { id } = await press.drawn("quotation")
    const { document } = (await press.act(id, "void")).body
    expect([document.status, document.void_reason]).toEqual(["voided", null])
  })
  it("under an idempotency key is drawn once", async () => {
    const before = await press.count()
    const body = { ...sourceOf(sources, "quotation"), document_type: "quotation" }
    const once = (json: object) => yard.ask("POST", "/documents/generate", json, keyed("D1"))
    const [first, again] = [await once(body), await once(body)]
    expect([first.status, again.status, again.body.document.id]).toEqual([201, 201, first.body.document.id])
    expect(again.headers["idempotent-replayed"]).toBe("true")
    expect(refusal(await once({ ...body, document_type: "pick_list" }))).toEqual([409, "idempotency_key"])
    expect(await press.count()).toBe(before + 1)
    const { id } = first.body.document
    const finalise = () => yard.ask("POST", `/documents/${id}/finalise`, {}, keyed("D2"))
    expect([(await finalise()).status, (await finalise()).status]).toEqual([200, 200])
  })
})

describe.each(engines)("Documents in the background, on %s (rules/billing 3, rulings 23)", (engine) => {
  let yard: Yard
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())
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

  it("one is pending at once and drawn by its job", async () => {
    const got = await press.generate("quotation", { async: true })
    expect([got.status, Object.keys(got.body).sort()], got.text).toEqual([202, ["job_id", "message"]])
    const query = `/documents?q[documentable_type_eq]=Opportunity&q[documentable_id_eq]=${sources.opportunity}`
    const { documents } = await yard.get(query)
    expect(documents.length).toBe(1)
    expect(["pending", "generated"]).toContain(documents[0].status)
    if (documents[0].status === "pending")
      expect(documents[0]).toMatchObject({ file_size: null, download_url: null, generated_at: null })
    const job = await ended(yard, got.body.job_id)
    expect(job).toMatchObject({ id: got.body.job_id, status: "done", error: null })
    const [document] = (await yard.get(query)).documents
    expect(document).toMatchObject({ id: documents[0].id, status: "generated", generated_at: now })
    expect(wordsOf(await press.bytes(document.id))).toContain("Winter gala")
  })
  it("one that is asked for at once is drawn at once", async () => {
    expect((await press.generate("quotation", { async: false })).status).toBe(201)
  })
  it("refuses in the background what it refuses at once", async () => {
    const before = await press.count()
    expect(refusal(await press.generate("invoice", { async: true, documentable_type: "Opportunity" }))).toEqual([
      ...[422, "document_type"]
    ])
    expect(refusal(await press.generate("quotation", { async: true, documentable_id: 999_999 }))).toEqual([
      ...[422, "documentable_id"]
    ])
    expect(await press.count()).toBe(before)
  })
  it("many are drawn in a batch, each a document of its own", async () => {
    const documentable_ids = await bills(3)
    const got = await batch({ documentable_ids })
    expect([got.status, Object.keys(got.body).sort(), got.body.count], got.text).toEqual([
      ...[202, ["count", "job_id", "message"], 3]
    ])
    expect(await ended(yard, got.body.job_id)).toMatchObject({ status: "done", error: null })
    for (const [at, id] of documentable_ids.entries()) {
      const { documents } = await yard.get(`/documents?q[documentable_type_eq]=Invoice&q[documentable_id_eq]=${id}`)
      expect(documents).toMatchObject([{ status: "generated", document_type: "invoice", created_by: 1 }])
      expect(wordsOf(await press.bytes(documents[0].id))).toContain(`Bill ${at}`)
    }
  })
  it("a hundred at most, one at least", async () => {
    const ids = Array.from({ length: 101 }, () => sources.invoice)
    for (const documentable_ids of [undefined, [], "all", ids])
      expect(refusal(await batch({ documentable_ids }))).toEqual([422, "documentable_ids"])
  })
  it("with one that is not there are refused by its place, and none is made", async () => {
    const before = await press.count()
    const documentable_ids = [sources.invoice, 999_999]
    expect(refusal(await batch({ documentable_ids }))).toEqual([422, "documentable_ids.1"])
    expect(refusal(await batch({ documentable_ids: [sources.invoice], document_type: "quotation" }))).toEqual([
      ...[422, "document_type"]
    ])
    expect(await press.count()).toBe(before)
  })
  it("are of the store the batch names", async () => {
    const depot = (await yard.made("/stores", { name: "Depot" })).id
    const [id] = await bills(1)
    const { job_id } = (await batch({ documentable_ids: [id], store_id: depot })).body
    await ended(yard, job_id)
    const { documents } = await yard.get(`/documents?q[documentable_id_eq]=${id}&q[documentable_type_eq]=Invoice`)
    expect(documents.map((one: any) => one.store_id)).toEqual([depot])
  })
  it("under an idempotency key are one batch", async () => {
    const documentable_ids = await bills(2)
    const before = await press.count()
    const [first, again] = [
      await batch({ documentable_ids }, keyed("B1")),
      await batch({ documentable_ids }, keyed("B1"))
    ]
    expect([first.status, again.status, again.body.job_id]).toEqual([202, 202, first.body.job_id])
    await ended(yard, first.body.job_id)
    expect(await press.count()).toBe(before + 2)
  })
  it("neither finalised, voided nor linked while they are pending, nor when they failed", async () => {
    const documentable_ids: Array<number> = []
    for (let at = 0; at < 20; at++) documentable_ids.push((await yard.draft()).id)
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
  it("a job is its owner's, and of whoever manages the system", async () => {
    const rights = ["documents.create", "documents.view", "invoices.view"]
    const [mine, other] = [await yard.tokenOf(rights, ["*"]), await yard.tokenOf(rights, ["*"])]
    const { job_id } = (await batch({ documentable_ids: [sources.invoice] }, { token: mine })).body
    await ended(yard, job_id)
    const seen = async (token: string) =>
      (await yard.ask("GET", `/system/jobs/${encodeURIComponent(job_id)}`, undefined, { token })).status
    expect([await seen(mine), await seen(other)]).toEqual([200, 403])
  })
})

describe.each(engines)("What documents say, on %s (rulings, rules/billing 3)", (engine) => {
  let yard: Yard
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    const named = { settings: { name: "Northlight Rental" } }
    ;({ press, sources, yard } = await openPress(engine, (opened) => opened.put("/settings/company", named)))
  })
  afterAll(() => yard.close())
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
    const words = await read(type)
    expect(says.filter((word) => !words.includes(word))).toEqual([])
    expect(never.filter((word) => words.includes(word))).toEqual([])
  })
  it.each([
    ["invoice", "standard"],
    ["proforma_invoice", "proforma"],
    ["deposit_invoice", "deposit"]
  ])("a draft %s says DRAFT, a voided one VOID", async (document_type, type) => {
    const { id } = await yard.draft({ type })
    expect(await read(document_type, { documentable_id: id })).toContain("DRAFT")
    await yard.made(`/invoices/${id}/issue`)
    expect(await read(document_type, { documentable_id: id })).not.toMatch(/DRAFT|VOID/)
    await yard.made(`/invoices/${id}/void`)
    const words = await read(document_type, { documentable_id: id })
    expect([words.includes("VOID"), words.includes("DRAFT")]).toEqual([true, false])
  })
  it("a return note names what is out", async () => {
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
  it("an order to a supplier is made only by who may see costs", async () => {
    const made = async (...held: ReadonlyArray<string>) => {
      const token = await yard.tokenOf(["documents.create", "purchase_orders.view", ...held], ["*"])
      const body = { ...sourceOf(sources, "purchase_order"), document_type: "purchase_order" }
      return (await yard.ask("POST", "/documents/generate", body, { token })).status
    }
    expect([await made(), await made("costs.view")]).toEqual([403, 201])
  })
  it("a draft order to a supplier says DRAFT, one that was sent does not", async () => {
    const { id } = await yard.order()
    expect(await read("purchase_order", { documentable_id: id })).toContain("DRAFT")
    await yard.made(`/purchase_orders/${id}/send`)
    expect(await read("purchase_order", { documentable_id: id })).not.toContain("DRAFT")
  })
  it.each([
    ["GBP", "1234.56", "1,234.56", "1,481.47"],
    ["JPY", "123456", "123,456", "148,147"],
    ["KWD", "1234.567", "1,234.567", "1,481.480"]
  ])("an invoice of %s %s shows %s and %s", async (currency, unit_price, net, gross) => {
    const { id } = await yard.issued({ currency, items: [{ name: "Stage", unit_price }] })
    const plain = (await read("invoice", { documentable_id: id })).replaceAll(/(?<=\d)[,\u00a0\u202f ](?=\d{3})/g, "")
    for (const amount of [net, gross]) expect(plain).toContain(amount.replaceAll(",", ""))
  })
  it("every name in its own letters", async () => {
    const member_id = await yard.organisation_of({ name: "Φωτισμός Αθηνών Ödön Ż" })
    const { id } = await yard.issued({ member_id })
    expect(await read("invoice", { documentable_id: id })).toContain("Φωτισμός Αθηνών Ödön Ż")
  })
  it("every row of a long job", async () => {
    const items = Array.from({ length: 60 }, (_, at) => ({ name: `Row no. ${at + 1};`, unit_price: "1.00" }))
    const { id } = await yard.issued({ items })
    const words = await read("invoice", { documentable_id: id })
    expect(items.filter(({ name }) => !words.includes(name))).toEqual([])
    expect(words).toContain("72.00")
  })
  it("the same as the invoice's own PDF", async () => {
    const own = wordsOf((await yard.ask("GET", `/invoices/${sources.invoice}/pdf`)).bytes)
    for (const word of ["Winter bill", "Payer", "120.00"]) expect(own).toContain(word)
  })
})

describe.each(engines)("Types of documents and their fields, on %s (rules/billing 3)", (engine) => {
  let yard: Yard
  beforeAll(async () => {
    yard = await openYard(engine)
  })
  afterAll(() => yard.close())

  it("ten, with what each is made of", async () => {
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
  it("no fields of a type there is not", async () => {
    expect((await yard.ask("GET", "/document_types/poem/fields")).status).toBe(404)
  })
})

describe.each(engines)("Who may do what with documents, on %s (interface 5)", (engine) => {
  let yard: Yard
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())
  const rights = ["view", "create", "share"].map((name) => `documents.${name}`)
  const seeing = ["opportunities.view", "invoices.view"]
  const abilities = ["documents:read", "documents:write"]
  const drawn = async (): Promise<string> => `/documents/${(await press.drawn("quotation")).id}`
  const linked = async (): Promise<string> => {
    const path = await drawn()
    await yard.made(`${path}/public_link`)
    return `${path}/public_link`
  }
  const quotation = (): object => ({ ...sourceOf(sources, "quotation"), document_type: "quotation" })
  type Case = readonly [string, string, () => Promise<string>, string, string, number, (() => object)?]
  const cases: ReadonlyArray<Case> = [
    ["list", "GET", async () => "/documents", "read", "view", 200],
    ["show", "GET", drawn, "read", "view", 200],
    ["types", "GET", async () => "/document_types", "read", "view", 200],
    ["fields", "GET", async () => "/document_types/invoice/fields", "read", "view", 200],
    ["generate", "POST", async () => "/documents/generate", "write", "create", 201, quotation],
    [
      ...(["batch", "POST", async () => "/documents/batch_generate", "write", "create", 202] as const),
      () => ({ ...quotation(), documentable_id: undefined, documentable_ids: [sources.opportunity] })
    ],
    ["finalise", "POST", async () => `${await drawn()}/finalise`, "write", "create", 200, () => ({})],
    ["void", "POST", async () => `${await drawn()}/void`, "write", "create", 200, () => ({})],
    ["make a link", "POST", async () => `${await drawn()}/public_link`, "write", "share", 201, () => ({})],
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
  it("a document's address is for those who may view documents", async () => {
    const made = async (...held: ReadonlyArray<string>) => {
      const token = await yard.tokenOf([...held, ...seeing], ["*"])
      const got = await yard.ask("POST", "/documents/generate", quotation(), { token })
      expect(got.status, got.text).toBe(201)
      return got.body.document.download_url
    }
    expect([await made("documents.create"), typeof (await made("documents.create", "documents.view"))]).toEqual([
      ...[null, "string"]
    ])
  })
  it("nobody reads an order's costs by its document who may not see costs (interface 2.10)", async () => {
    const { id } = await press.drawn("purchase_order")
    const rights_blind = [...rights, "purchase_orders.view"]
    const token = await yard.tokenOf(rights_blind, ["*"])
    const shown = async () => (await yard.ask("GET", `/documents/${id}`, undefined, { token })).body.document
    expect((await shown()).download_url).toBe(null)
    expect((await yard.ask("POST", `/documents/${id}/public_link`, {}, { token })).status).toBe(403)
    await yard.made(`/documents/${id}/public_link`)
    expect((await shown()).public_link?.token ?? null).toBe(null)
    const seer = await yard.tokenOf([...rights_blind, "costs.view"], ["*"])
    const seen = (await yard.ask("GET", `/documents/${id}`, undefined, { token: seer })).body.document
    expect([typeof seen.download_url, typeof seen.public_link.token]).toEqual(["string", "string"])
  })
  it.each<[string, ReadonlyArray<number>]>([
    ["Warehouse", [200, 403]],
    ["Sales", [200, 201]],
    ["Operations Manager", [200, 201]],
    ["Read Only", [200, 403]]
  ])("the role %s lists and makes: %j (rules/conventions 11)", async (role, expected) => {
    const email = `${role.replaceAll(" ", "")}@example.com`
    const user = await yard.made("/users", { name: role, email, roles: [role], active: true })
    const token = (await yard.made("/tokens", { name: role, abilities: ["*"], user_id: user.id })).secret
    const list = await yard.ask("GET", "/documents", undefined, { token })
    const made = await yard.ask("POST", "/documents/generate", quotation(), { token })
    expect([list.status, made.status]).toEqual(expected)
  })
})

describe.each(engines)("Documents are found, on %s (rules/billing 3)", (engine) => {
  let yard: Yard
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
    ["q[nonsense_eq]=1&sort=nonsense&include=nonsense", ["quote", "picks", "bill", "credit", "buys", "old"]],
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
  it("by status in one order, and the other way round in the other", async () => {
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

describe.each(engines)("What others are told of documents, on %s (rules/billing 3, interface 6)", (engine) => {
  let yard: Yard
  let sources: Sources
  let press: Press
  beforeAll(async () => {
    ;({ press, sources, yard } = await openPress(engine))
  })
  afterAll(() => yard.close())
  const kinds = ["document.generated", "document.finalised", "document.voided", "pdf_generated"]
  it("made, finalised and voided, each with the whole document", async () => {
    const { webhook_events } = await yard.get("/webhook_events?per_page=100")
    for (const kind of kinds) expect(webhook_events.map((one: any) => one.name)).toContain(kind)
    const ear = await listening(yard, kinds)
    const { id } = await press.drawn("quotation")
    for (const [kind, status, then] of [
      ["document.generated", "generated", "finalise"],
      ["document.finalised", "finalised", "void"],
      ["document.voided", "voided", undefined]
    ] as const) {
      const { data, type, event, timestamp } = await ear.heard(kind)
      expect([type, event, timestamp]).toEqual([kind, kind, now])
      expect([kind, data.document]).toMatchObject([kind, { id, status, document_type: "quotation" }])
      expect(ear.told(kind).length).toBe(1)
      if (then !== undefined) expect((await press.act(id, then)).status).toBe(200)
    }
    expect((await ear.heard("pdf_generated")).data).toMatchObject({
      ...{ document_id: id, documentable_type: "Opportunity", documentable_id: sources.opportunity }
    })
    await ear.close()
  })
  it("a PDF that a job drew, with the job", async () => {
    const ear = await listening(yard, kinds)
    const { job_id } = (await press.generate("quotation", { async: true })).body
    const { data } = await ear.heard("pdf_generated")
    expect(Object.keys(data).sort()).toEqual(["document_id", "documentable_id", "documentable_type", "job_id"])
    expect([typeof data.document_id, data.job_id]).toEqual(["number", job_id])
    expect((await ear.heard("document.generated")).data.document.id).toBe(data.document_id)
    await ear.close()
  })
  it("an invoice's own PDF, which is no document", async () => {
    const ear = await listening(yard, kinds)
    expect((await yard.ask("GET", `/invoices/${sources.invoice}/pdf`)).status).toBe(200)
    const { data } = await ear.heard("pdf_generated")
    expect(data).toEqual({
      ...{ document_id: null, documentable_type: "Invoice", documentable_id: sources.invoice, job_id: null }
    })
    await ear.close()
  })
  it("each of a batch by itself, and nothing of what was refused", async () => {
    const ear = await listening(yard, kinds)
    const documentable_ids = [sources.invoice, sources.proforma]
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

describe.each(engines)(
  "The nineteen operations stand in the interface, on %s (interface 4.9, 4.12, rules/conventions)",
  (engine) => {
    let yard: Yard
    let press: Press
    beforeAll(async () => {
      ;({ press, yard } = await openPress(engine))
    })
    afterAll(() => yard.close())

    it.each([
      ...["get /purchase_orders", "get /purchase_orders/{}", "post /purchase_orders", "put /purchase_orders/{}"],
      ...["delete /purchase_orders/{}", "post /purchase_orders/{}/send", "post /purchase_orders/{}/receive"],
      ...["post /purchase_orders/{}/cancel", "get /documents", "get /documents/{}", "post /documents/generate"],
      ...["post /documents/batch_generate", "post /documents/{}/finalise", "post /documents/{}/void"],
      ...["post /documents/{}/public_link", "put /documents/{}/public_link", "delete /documents/{}/public_link"],
      ...["get /document_types", "get /document_types/{}/fields"]
    ])("%s", async (operation) => {
      const { paths } = await yard.get("/openapi.json")
      const described = Object.entries<object>(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method} ${path.replace("/api/v1", "").replaceAll(/\{\w+\}/g, "{}")}`)
      )
      expect(described).toContain(operation)
    })
    it("drawing weighs five, reading one (rules/conventions 16)", async () => {
      const { endpoints } = await yard.get("/endpoints")
      const weights = (method: string, uri: string) =>
        endpoints
          .filter((one: any) => one.method === method && one.uri === `/api/v1${uri}`)
          .map((one: any) => one.price_weight)
      expect(weights("POST", "/documents/generate")).toEqual([5])
      expect(weights("POST", "/documents/batch_generate")).toEqual([5])
      expect([...weights("GET", "/documents"), ...weights("POST", "/purchase_orders")]).toEqual([1, 1])
    })
    it("documents are shown by a view of one's own", async () => {
      const { id, document_number } = await press.drawn("pick_list")
      const view = await yard.made("/custom_views", {
        ...{ name: "Picks", entity_type: "documents", visibility: "personal" },
        ...{ columns: ["document_number", "status"], sort_column: "document_number" },
        filters: [{ field: "document_type", predicate: "eq", value: "pick_list" }]
      })
      const { documents } = await yard.get(`/documents?view_id=${view.id}`)
      expect(documents).toEqual([{ id, document_number, status: "generated" }])
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
    it("two who finalise or void at once do it once", async () => {
      for (const name of ["finalise", "void"]) {
        const { id } = await press.drawn("quotation")
        const got = await Promise.all([1, 2, 3].map(() => press.act(id, name)))
        expect([name, got.map((one) => one.status).toSorted()]).toEqual([name, [200, 422, 422]])
      }
    })
    it("many who draw at once have a number each", async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => press.drawn("pick_list")))
      expect(new Set(all.map((one) => one.document_number)).size).toBe(6)
      expect(all.map((one) => one.status)).toEqual(Array(6).fill("generated"))
    })
    it("many who order at once have a number each, without a hole", async () => {
      const numbers = (await Promise.all(Array.from({ length: 6 }, () => yard.order()))).map((one) =>
        Number(one.number)
      )
      expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, at) => Math.min(...numbers) + at))
    })
    it("the wrong verb is answered with the right ones", async () => {
      const { id } = await yard.order()
      for (const path of [`/purchase_orders/${id}/send`, "/documents/generate"]) {
        const got = await yard.ask("GET", path)
        expect([path, got.status === 405 || got.status === 404]).toEqual([path, true])
        if (got.status === 405) expect(got.headers["allow"]).toContain("POST")
      }
    })
  }
)
