/** Documents from request to void (rules/billing 3). */
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { rebuild } from "../../../../core/kernel/runtime/schema.ts"
import { BlobStoreFailure } from "../../../../server/ports/blob-store.ts"
import { DrawingTooLong } from "../../../../server/print/renderer.ts"
import { engines } from "../../../app.ts"
import { pagesOfPdf } from "../../print/pdf-text.ts"
import { type House, openHouse, poll, sha256 } from "./house.ts"
import { words } from "../../../words.ts"

const keys = words(`
  id document_number document_type document_type_name status status_name documentable_type documentable_id store_id
  mime_type file_size download_url public_link generated_at finalised_at voided_at void_reason error created_by
  created_at updated_at
`)

describe.each(engines)("documents on %s", (engine) => {
  let house: House, job: number
  beforeAll(async () => {
    house = await openHouse(engine)
    job = await house.job("Summer Ball")
  })
  beforeEach(() => {
    house.drawn.before = () => Effect.void
    house.drawn.logo = undefined
    house.drawn.prepared.length = 0
  })
  afterAll(() => house?.close())
  const generate = (body: object, more = {}) => house.ask("/api/v1/documents/generate", { json: body, ...more })
  const quotation = (more = {}) => ({
    document_type: "quotation",
    documentable_type: "Opportunity",
    documentable_id: job,
    ...more
  })
  const refusedFor = async (body: object): Promise<ReadonlyArray<string>> => {
    const before = (await house.sql("select id from documents")).length
    const got = await generate(body)
    expect(got.status, got.text).toBe(422)
    expect(await house.sql("select id from documents")).toHaveLength(before)
    return Object.keys(got.body.errors)
  }

  it("are drawn at once, with a signed URL that opens the PDF without a token", async () => {
    const { body, status } = await generate(quotation())
    expect(status).toBe(201)
    const { document } = body
    expect(Object.keys(document).toSorted()).toEqual([...keys, "store"].toSorted())
    expect(document).toMatchObject({
      document_type: "quotation",
      document_type_name: "Quotation",
      status: "generated",
      status_name: "Generated",
      documentable_type: "Opportunity",
      documentable_id: job,
      mime_type: "application/pdf",
      public_link: null,
      finalised_at: null,
      voided_at: null,
      void_reason: null,
      error: null,
      created_by: 1
    })
    expect(document.document_number).toMatch(/^\d{10}$/)
    const file = await house.fetched(document.download_url!)
    expect([file.status, file.headers["content-type"]]).toEqual([200, "application/pdf"])
    expect(file.bytes).toHaveLength(document.file_size!)
    expect(pagesOfPdf(file.bytes).join()).toContain("Of Summer Ball")
    expect(file.headers["content-disposition"]).toContain(`quotation-${document.document_number}.pdf`)
    expect(await house.document(document.id)).toMatchObject({ id: document.id, status: "generated" })
  })
  it.each(["opportunity", "OPPORTUNITY", "Opportunity", "oppOrtunity"])("accept the source type %s", async (word) => {
    const { body, status } = await generate(quotation({ documentable_type: word, document_type: "Order_Confirmation" }))
    expect([status, body.document?.documentable_type, body.document?.document_type]).toEqual([
      201,
      "Opportunity",
      "order_confirmation"
    ])
  })
  it("require an existing purchase order for the source type purchase_order", async () => {
    const got = await generate({
      document_type: "purchase_order",
      documentable_type: "purchase_order",
      documentable_id: 999
    })
    expect([got.status, Object.keys(got.body.errors)]).toEqual([422, ["documentable_id"]])
  })
  it("have numbers with the prefix of the settings", async () => {
    await house.did(200, "PUT", "/settings/numbering", { settings: { "document.prefix": "D-" } })
    expect((await house.made("quotation", job)).document_number).toMatch(/^D-\d{10}$/)
    await house.did(200, "PUT", "/settings/numbering", { settings: { "document.prefix": "" } })
  })
  it("are refused for a deleted source, with an error at documentable_id", async () => {
    const gone = await house.job("Called off")
    await house.did(204, "DELETE", `/opportunities/${gone}`)
    expect(await refusedFor(quotation({ documentable_id: gone }))).toEqual(["documentable_id"])
  })
  it("belong to their source's store unless another is named", async () => {
    const [north, south] = [await house.store(), await house.store()]
    const there = await house.job("There", { store_id: north })
    expect((await house.made("quotation", there)).store_id).toBe(north)
    expect((await house.made("quotation", there, { store_id: south })).store_id).toBe(south)
    expect(house.drawn.prepared.map(({ store_id }) => store_id)).toEqual([north, south])
  })

  it.each([true, "1", 1])("stay pending with async %s until a job draws them", async (async) => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    house.drawn.before = () => Effect.promise(() => held)
    const { body, status } = await generate(quotation({ async }))
    expect([status, body]).toEqual([
      202,
      { message: expect.any(String), job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) }
    ])
    const [row] = (await house.did(200, "GET", "/documents?sort=-id&per_page=1")).documents
    expect(row).toMatchObject({ status: "pending", download_url: null, generated_at: null, file_size: null })
    expect(row.document_number).toMatch(/^\d{10}$/)
    release()
    await expect.poll(async () => (await house.document(row.id)).status, poll).toBe("generated")
    await expect
      .poll(async () => (await house.did(200, "GET", `/system/jobs/${body.job_id}`)).job, poll)
      .toMatchObject({ status: "done", owner_id: 1 })
  })
  it("are refused with 422 if they cannot be rendered, and kept with status failed and the reason", async () => {
    house.drawn.before = () => Effect.succeed("gone" as const)
    const got = await generate(quotation())
    expect([got.status, Object.keys(got.body.errors)]).toEqual([422, ["document"]])
    const [row] = (await house.did(200, "GET", "/documents?sort=-id&per_page=1")).documents
    expect(row).toMatchObject({ status: "failed", download_url: null })
    expect(row.error).toContain("gone")
  })
  it("say while pending that drawing failed and is tried again", async () => {
    const failure = new BlobStoreFailure({ fault: "unreachable", message: "No answer." })
    house.drawn.before = () => Effect.fail(failure) as Effect.Effect<never>
    await generate(quotation({ async: true }))
    const [row] = (await house.did(200, "GET", "/documents?sort=-id&per_page=1")).documents
    const shown = () => house.did(200, "GET", `/documents/${row.id}`)
    await expect
      .poll(async () => (await shown()).meta?.warnings?.[0], poll)
      .toMatch(/^Drawing it failed, and is (being tried again|tried again at \S+Z)\.$/)
    expect((await shown()).document).toMatchObject({ status: "pending", error: null })
    house.drawn.before = () => Effect.void
    await expect.poll(async () => (await shown()).document.status, { ...poll, timeout: 15_000 }).toBe("generated")
    expect(await shown()).not.toHaveProperty("meta")
  })
  it("are refused with 422 if they take too long, and are not retried", async () => {
    let tries = 0
    house.drawn.before = () => {
      tries++
      const message = "This took longer than 10 s."
      // Rendering itself fails, not its preparation.
      return Effect.fail(new DrawingTooLong({ message, limit_millis: 10_000 })) as Effect.Effect<never>
    }
    const got = await generate(quotation())
    expect([got.status, got.body.errors.document[0], tries]).toEqual([
      422,
      "It cannot be drawn: This took longer than 10 s.",
      1
    ])
  })
  it("are refused with 422 if an error is thrown while they are composed", async () => {
    house.drawn.before = () =>
      Effect.succeed({
        compose: () => {
          throw new Error("broken")
        }
      })
    expect((await generate(quotation())).status).toBe(422)
  })
  it("show the values of fields in their texts", async () => {
    house.drawn.before = () =>
      Effect.succeed({
        fragments: { intro: "Hello {{ who }}", empty: " " },
        data: { who: "Ann" },
        compose: (filled: { readonly [place: string]: string }) => ({
          format: "flightcase.document" as const,
          version: 1 as const,
          language: "en",
          title: "x",
          dated_at: "2026-06-18T12:00:00Z",
          page: { size: "A4" as const },
          blocks: [{ kind: "heading" as const, level: 1 as const, text: filled["intro"] ?? "none" }]
        })
      })
    const { download_url } = await house.made("quotation", job)
    expect(pagesOfPdf((await house.fetched(download_url)).bytes).join()).toContain("Hello Ann")
  })

  it("are created once per Idempotency-Key, which stores the final response", async () => {
    const headers = { "idempotency-key": `k-${engine}` }
    const first = await generate(quotation(), { headers })
    const count = (await house.sql("select id from documents")).length
    const again = await generate(quotation(), { headers })
    expect(again.headers["idempotent-replayed"]).toBe("true")
    expect(again.body).toEqual(first.body)
    expect(again.body.document.status).toBe("generated")
    expect(await house.sql("select id from documents")).toHaveLength(count)
  })
  it("that fail are refused with the same response when repeated under their Idempotency-Key", async () => {
    const headers = { "idempotency-key": `f-${engine}` }
    house.drawn.before = () => Effect.succeed("gone" as const)
    const first = await generate(quotation(), { headers })
    const again = await generate(quotation(), { headers })
    expect([first.status, again.status, again.body]).toEqual([422, 422, first.body])
  })
  it("are awaited by a second request under the same key while they are drawn", async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    house.drawn.before = () => Effect.promise(() => held)
    const headers = { "idempotency-key": `h-${engine}` }
    const begun = generate(quotation(), { headers })
    await expect.poll(() => house.drawn.prepared.length, poll).toBe(1)
    const repeated = generate(quotation(), { headers })
    release()
    const [one, other] = [await begun, await repeated]
    expect([one.status, other.status]).toEqual([201, 201])
    expect(other.body.document.id).toBe(one.body.document.id)
    expect(other.body.document.status).toBe("generated")
  })

  it("are finalised once", async () => {
    const { id } = await house.made("quotation", job)
    const { document } = await house.did(200, "POST", `/documents/${id}/finalise`)
    expect(document).toMatchObject({ status: "finalised", status_name: "Finalised", finalised_at: expect.any(String) })
    expect((await house.fetched(document.download_url!)).status).toBe(200)
    expect(Object.keys((await house.did(422, "POST", `/documents/${id}/finalise`)).errors)).toEqual(["status"])
  })
  it("cannot be finalised if they were made of a draft invoice, even after it is issued", async () => {
    const draft = await house.invoice("standard", false)
    const { id } = await house.made("invoice", draft)
    expect(Object.keys((await house.did(422, "POST", `/documents/${id}/finalise`)).errors)).toEqual(["status"])
    await house.did(200, "POST", `/invoices/${draft}/issue`, {})
    expect(Object.keys((await house.did(422, "POST", `/documents/${id}/finalise`)).errors)).toEqual(["status"])
    const again = await house.made("invoice", draft)
    await house.did(200, "POST", `/documents/${again.id}/finalise`)
  })
  it("have no URL once voided, and the earlier one answers 404", async () => {
    const { download_url, id } = await house.made("quotation", job)
    const { document } = await house.did(200, "POST", `/documents/${id}/void`, { reason: "Wrong price" })
    expect(document).toMatchObject({
      status: "voided",
      void_reason: "Wrong price",
      download_url: null,
      public_link: null
    })
    expect((await house.fetched(download_url)).status).toBe(404)
    for (const what of ["void", "finalise"])
      expect(Object.keys((await house.did(422, "POST", `/documents/${id}/${what}`)).errors)).toEqual(["status"])
  })
  it("can be voided if finalised, and neither voided nor finalised if failed", async () => {
    const { id } = await house.made("quotation", job)
    await house.did(200, "POST", `/documents/${id}/finalise`)
    await house.did(200, "POST", `/documents/${id}/void`, {})
    house.drawn.before = () => Effect.succeed("gone" as const)
    await generate(quotation())
    const [failed] = (await house.did(200, "GET", "/documents?sort=-id&per_page=1")).documents
    for (const what of ["void", "finalise"]) await house.did(422, "POST", `/documents/${failed.id}/${what}`)
  })
  it("are voided with a reason of at most 1000 characters", async () => {
    const { id } = await house.made("quotation", job)
    await house.did(422, "POST", `/documents/${id}/void`, { reason: "x".repeat(1_001) })
    await house.did(200, "POST", `/documents/${id}/void`, { reason: "x".repeat(1_000) })
  })
  it("are created by each request, without replacing earlier ones", async () => {
    const first = await house.made("quotation", job)
    const second = await house.made("quotation", job)
    expect(second.id).not.toBe(first.id)
    expect((await house.document(first.id)).status).toBe("generated")
  })

  it("can be filtered by type, status, source, number and dates", async () => {
    const ball = await house.job("Filtered")
    const { id } = await house.made("delivery_note", ball)
    const other = await house.made("quotation", ball)
    await house.did(200, "POST", `/documents/${other.id}/finalise`)
    const ids = async (query: string) =>
      (await house.did(200, "GET", `/documents?q[documentable_id_eq]=${ball}&${query}`)).documents.map((row) => row.id)
    expect(await ids("q[type_eq]=delivery_note")).toEqual([id])
    expect(await ids("q[document_type_eq]=quotation")).toEqual([other.id])
    expect(await ids("q[status_eq]=finalised")).toEqual([other.id])
    for (const word of ["Opportunity", "opportunity", "OPPORTUNITY"])
      expect(await ids(`q[documentable_type_eq]=${word}`)).toEqual([id, other.id])
    expect(await ids("q[documentable_type_eq]=invoice")).toEqual([])
    expect(await ids(`q[document_number_eq]=${other.document_number}`)).toEqual([other.id])
    expect(await ids(`q[finalised_at_gt]=2000-01-01T00:00:00Z`)).toEqual([other.id])
    expect(await ids("sort=-document_number")).toEqual([other.id, id])
    expect(await ids("sort=-created_at&per_page=1")).toEqual([other.id])
    expect(await ids("q[store_id_eq]=424242")).toEqual([])
  })
  it("show their newest public link, and none once voided", async () => {
    const { id } = await house.made("quotation", job)
    const at = engine === "pg" ? "now()" : "'2026-06-18T12:00:00.000Z'"
    const no = engine === "pg" ? "false" : "0"
    for (const [link, token] of [
      [9_001, "older"],
      [9_002, "newer"]
    ])
      await house.sql(
        "insert into document_links (id, document_id, document_type, token, expires_at, requires_pin, created_at, updated_at) " +
          `values (${link}, ${id}, 'quotation', '${token}', null, ${no}, ${at}, ${at})`
      )
    expect((await house.document(id)).public_link).toMatchObject({
      token: "newer",
      url: "http://127.0.0.1:4480/d/newer",
      expires_at: null,
      requires_pin: false
    })
    const { document } = await house.did(200, "POST", `/documents/${id}/void`)
    expect(document.public_link).toBeNull()
    expect(await house.sql(`select id from document_links where document_id = ${id}`)).toEqual([])
  })
  it("need separate permissions to be viewed, created and voided", async () => {
    const sees = await house.somebody("documents.view")
    const makes = await house.somebody("documents.create")
    const { id } = await house.made("quotation", job)
    const as = (token: string, method: string, path: string, json?: object) => house.asks(method, path, json, token)
    expect((await as(sees, "POST", "/documents/generate", quotation())).status).toBe(403)
    expect((await as(sees, "POST", `/documents/${id}/void`)).status).toBe(403)
    expect((await as(makes, "GET", `/documents/${id}`)).status).toBe(403)
    expect((await as(sees, "GET", `/documents/${id}`)).body.document.download_url).toMatch(/^http/)
    const made = await as(makes, "POST", "/documents/generate", quotation())
    expect([made.status, made.body.document.download_url]).toEqual([201, null])
    const order = { document_type: "purchase_order", documentable_type: "PurchaseOrder", documentable_id: 1 }
    expect((await as(makes, "POST", "/documents/generate", order)).status).toBe(403)
  })

  it("are drawn again to the same bytes after their source is deleted, once finalised", async () => {
    const ball = await house.job("Frozen")
    const made = await house.made("quotation", ball)
    await house.did(200, "POST", `/documents/${made.id}/finalise`)
    const before = await house.fetched(made.download_url)
    await house.did(200, "PUT", `/opportunities/${ball}`, { subject: "Changed" })
    await house.did(204, "DELETE", `/opportunities/${ball}`)
    const { drawnAgain } = await import("../../../../server/documents/papers/drawing.ts")
    expect(sha256(await house.run(drawnAgain(made.id)))).toBe(sha256(before.bytes))
  })
  it("are restored by a rebuild, which draws nothing", async () => {
    const before = (await house.did(200, "GET", "/documents?per_page=100&sort=id")).documents
    house.drawn.prepared.length = 0
    await house.run(rebuild(house.app.catalogue))
    const after = (await house.did(200, "GET", "/documents?per_page=100&sort=id")).documents
    const plainly = (rows: typeof before) => rows.map(({ download_url: _url, ...row }) => row)
    expect(plainly(after)).toEqual(plainly(before))
    expect(house.drawn.prepared).toEqual([])
  })
})
