/** Batches of documents, their files, and notifications (rules/billing 3). */
import { drawJobId } from "../../../../core/documents/lifecycle-api.ts"
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { documentPdf, drawnAgain } from "../../../../server/documents/papers/drawing.ts"
import { collectFiles } from "../../../../server/files/serve.ts"
import { ServerContext } from "../../../../server/ports/server-context.ts"
import { engines } from "../../../app.ts"
import { formOf } from "../../files/sending.ts"
import { fadingPng } from "../../print/png.ts"
import { type Receiver, receiver } from "../../delivery/webhooks/receiver.ts"
import { type House, openHouse, poll, sha256 } from "./house.ts"

const day_millis = 86_400_000

describe.each(engines)("a server that draws documents on %s", (engine) => {
  let house: House
  const jobs: Array<number> = []
  beforeAll(async () => {
    house = await openHouse(engine)
    for (const name of ["Ball", "Fair", "Gala"]) jobs.push(await house.job(name))
  })
  beforeEach(() => {
    house.drawn.before = () => Effect.void
    house.drawn.logo = undefined
    house.drawn.prepared.length = 0
  })
  afterAll(() => house?.close())
  const batch = (documentable_ids: ReadonlyArray<unknown>, more = {}) =>
    house.ask("/api/v1/documents/batch_generate", {
      json: { document_type: "quotation", documentable_type: "opportunity", documentable_ids, ...more }
    })
  const jobOf = async (id: string) => (await house.did(200, "GET", `/system/jobs/${id}`)).job
  const resultOf = async (id: string) => {
    const [row] = await house.sql(`select result from job_notes where job_id = '${id}'`)
    return typeof row?.result === "string" ? JSON.parse(row.result) : row?.result
  }
  const newest = async (count: number): Promise<ReadonlyArray<any>> =>
    (await house.did(200, "GET", `/documents?sort=-id&per_page=${count}`)).documents

  it("creates one pending document per source of a batch, numbered in order, and one job", async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    house.drawn.before = () => Effect.promise(() => held)
    const { body, status } = await batch(jobs)
    expect([status, body.count]).toEqual([202, 3])
    const rows = (await newest(3)).toReversed()
    expect(rows.map((row) => [row.status, row.documentable_id])).toEqual(jobs.map((id) => ["pending", id]))
    const numbers = rows.map((row) => Number(row.document_number))
    expect(numbers).toEqual([numbers[0], numbers[0]! + 1, numbers[0]! + 2])
    release()
    await expect.poll(async () => (await jobOf(body.job_id)).status, poll).toBe("done")
    expect(await jobOf(body.job_id)).toMatchObject({ progress: 1, owner_id: 1 })
    expect((await newest(3)).map((row) => row.status)).toEqual(["generated", "generated", "generated"])
    await expect.poll(() => resultOf(body.job_id), poll).toEqual({ done: 3, failed: 0 })
  })
  it("draws the rest of a batch if one of its documents fails", async () => {
    house.drawn.before = ({ documentable_id }) =>
      documentable_id === jobs[1] ? Effect.succeed("gone" as const) : Effect.void
    const { body } = await batch(jobs)
    await expect.poll(async () => (await jobOf(body.job_id)).status, poll).toBe("done")
    expect((await newest(3)).map((row) => row.status)).toEqual(["generated", "failed", "generated"])
    await expect.poll(() => resultOf(body.job_id), poll).toEqual({ done: 2, failed: 1 })
  })
  it("does not queue a document whose client waits behind a batch", async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    house.drawn.before = ({ document_type }) =>
      document_type === "quotation" ? Effect.promise(() => held) : Effect.void
    const { body } = await batch(jobs)
    expect((await house.made("pick_list", jobs[0]!)).status).toBe("generated")
    expect((await jobOf(body.job_id)).status).not.toBe("done")
    release()
    await expect.poll(async () => (await jobOf(body.job_id)).status, poll).toBe("done")
  })
  it("draws batches and background documents one at a time", async () => {
    let now = 0
    let most = 0
    house.drawn.before = () =>
      Effect.promise(async () => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 20))
        now--
      })
    const { body } = await batch(jobs)
    const queued = await house.ask("/api/v1/documents/generate", {
      json: { document_type: "quotation", documentable_type: "Opportunity", documentable_id: jobs[0], async: true }
    })
    for (const id of [body.job_id, queued.body.job_id])
      await expect.poll(async () => (await jobOf(id)).status, poll).toBe("done")
    expect(most).toBe(1)
  })
  it("refuses unknown sources, naming their positions, and creates no document", async () => {
    const before = await house.sql("select id from documents")
    const got = await batch([jobs[0], 777_777, jobs[1], 888_888])
    expect([got.status, Object.keys(got.body.errors)]).toEqual([422, ["documentable_ids.1", "documentable_ids.3"]])
    expect(await house.sql("select id from documents")).toEqual(before)
  })
  it("refuses batches that are empty or too long, or have duplicate or mismatched sources", async () => {
    for (const ids of [[], Array.from({ length: 101 }, (_, at) => at + 1), [jobs[0], jobs[0]]])
      expect(Object.keys((await batch(ids)).body.errors)[0]).toMatch(/^documentable_ids/)
    expect(Object.keys((await batch(jobs, { document_type: "invoice" })).body.errors)).toEqual(["document_type"])
    expect((await batch(jobs, { documentable_type: "poster" })).status).toBe(422)
  })
  it("creates a batch once per Idempotency-Key", async () => {
    const headers = { "idempotency-key": `b-${engine}` }
    const json = { document_type: "quotation", documentable_type: "Opportunity", documentable_ids: jobs }
    const [one, other] = [
      await house.ask("/api/v1/documents/batch_generate", { json, headers }),
      await house.ask("/api/v1/documents/batch_generate", { json, headers })
    ]
    expect(other.body).toEqual(one.body)
    await expect.poll(async () => (await jobOf(one.body.job_id)).status, poll).toBe("done")
  })

  const logo = async (): Promise<{ readonly id: number; readonly sha256: string }> => {
    const png = fadingPng(20, 10)
    const { bytes, type } = await formOf([
      ["file", new Blob([png]), "logo.png"],
      ["attachable_type", "Opportunity"],
      ["attachable_id", String(jobs[0])]
    ])
    const { body, status } = await house.ask("/api/v1/attachments", { bytes, headers: { "content-type": type } })
    expect(status).toBe(201)
    return { id: body.attachment.id, sha256: sha256(png) }
  }
  const remove = (hash: string) => house.run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.remove(hash)))

  it("draws a finalised document again to the same bytes after its source, logo and PDF are lost", async () => {
    const picture = await logo()
    house.drawn.logo = picture.sha256
    const job = await house.job("Frozen")
    const made = await house.made("quotation", job)
    const { document } = await house.did(200, "POST", `/documents/${made.id}/finalise`)
    const before = await house.fetched(document.download_url!)
    await house.did(204, "DELETE", `/attachments/${picture.id}`)
    await house.did(204, "DELETE", `/opportunities/${job}`)
    // Unreferenced files are removed; a document references its input.
    const far = Date.now() + 40 * day_millis
    await house.run(collectFiles(far))
    await house.run(collectFiles(far + 2 * day_millis))
    expect(sha256(await house.run(drawnAgain(made.id)))).toBe(sha256(before.bytes))
    await remove(sha256(before.bytes))
    const after = await house.fetched(document.download_url!)
    expect([after.status, sha256(after.bytes)]).toEqual([200, sha256(before.bytes)])
  })
  it("leaves a logo whose file is missing out of the PDF", async () => {
    house.drawn.logo = "a".repeat(64)
    const made = await house.made("quotation", jobs[0]!)
    const file = await house.fetched(made.download_url)
    expect(sha256(await house.run(drawnAgain(made.id)))).toBe(sha256(file.bytes))
  })
  it("does not replace a lost PDF with a different one", async () => {
    const made = await house.made("quotation", jobs[0]!)
    const other = await house.made("pick_list", jobs[0]!)
    const [tree] = await house.sql(`select sha256 from document_snapshots where document_id = ${other.id}`)
    await house.sql(`update document_snapshots set sha256 = '${tree.sha256}' where document_id = ${made.id}`)
    const [row] = await house.sql(`select id, sha256 from documents where id = ${made.id}`)
    await remove(row.sha256)
    expect((await house.fetched(made.download_url)).status).toBe(410)
    const lost = house.run(documentPdf({ id: Number(row.id), sha256: row.sha256 }))
    await expect(lost).rejects.toThrow(/lost/)
  })
  it("keeps the files of a voided document", async () => {
    const made = await house.made("quotation", jobs[0]!)
    await house.did(200, "POST", `/documents/${made.id}/void`, {})
    const far = Date.now() + 90 * day_millis
    await house.run(collectFiles(far))
    await house.run(collectFiles(far + 2 * day_millis))
    const [row] = await house.sql(`select id, sha256, uuid from documents where id = ${made.id}`)
    expect(row.uuid).toBeNull()
    expect(sha256(await house.run(documentPdf({ id: Number(row.id), sha256: row.sha256 })))).toBe(row.sha256)
  })

  const subscribed = async (...events: ReadonlyArray<string>): Promise<Receiver> => {
    const target = await receiver()
    const { webhook } = await house.did(201, "POST", "/webhooks", { url: target.url, events })
    onTestFinished(async () => {
      await house.did(204, "DELETE", `/webhooks/${webhook.id}`)
      await target.close()
    })
    return target
  }
  const told = (target: Receiver, event: string) =>
    target.got.filter(({ body }) => body.event === event).map(({ body }) => body.data)

  it("sends generated, finalised and voided documents in full to webhooks", async () => {
    const target = await subscribed("document.generated", "document.finalised", "document.voided", "pdf_generated")
    const made = await house.made("quotation", jobs[0]!)
    await expect.poll(() => told(target, "document.generated").length, poll).toBe(1)
    expect(told(target, "document.generated")[0].document).toMatchObject({
      id: made.id,
      document_number: made.document_number,
      status_name: "Generated",
      public_link: null
    })
    await expect
      .poll(() => told(target, "pdf_generated"), poll)
      .toEqual([
        {
          document_id: made.id,
          documentable_type: "Opportunity",
          documentable_id: jobs[0],
          job_id: drawJobId("request", made.id)
        }
      ])
    await house.did(200, "POST", `/documents/${made.id}/finalise`)
    await house.did(200, "POST", `/documents/${made.id}/void`, { reason: "No" })
    await expect.poll(() => told(target, "document.voided").length, poll).toBe(1)
    expect(told(target, "document.voided")[0].document).toMatchObject({ status: "voided", void_reason: "No" })
    await expect.poll(() => told(target, "document.finalised").length, poll).toBe(1)
  })
  it("sends a message to webhooks for each PDF of an invoice or credit note, which records no event", async () => {
    const target = await subscribed("pdf_generated")
    const invoice = await house.invoice()
    const { credit_note } = await house.did(201, "POST", `/invoices/${invoice}/credit_notes`, {})
    const [{ events }] = await house.sql("select count(*) as events from journal")
    expect((await house.ask(`/api/v1/invoices/${invoice}/pdf`)).status).toBe(200)
    expect((await house.ask(`/api/v1/credit_notes/${credit_note.id}/pdf`)).status).toBe(200)
    await expect.poll(() => target.got.length, poll).toBe(2)
    expect(
      told(target, "pdf_generated").toSorted((a, b) => (a.documentable_type < b.documentable_type ? 1 : -1))
    ).toEqual([
      { document_id: null, documentable_type: "Invoice", documentable_id: invoice, job_id: null },
      { document_id: null, documentable_type: "CreditNote", documentable_id: credit_note.id, job_id: null }
    ])
    expect((await house.sql("select count(*) as events from journal"))[0].events).toBe(events)
  })
  it("sends nothing to webhooks for failed documents", async () => {
    const target = await subscribed("*")
    house.drawn.before = () => Effect.succeed("gone" as const)
    const failed = await house.ask("/api/v1/documents/generate", {
      json: { document_type: "quotation", documentable_type: "Opportunity", documentable_id: jobs[0] }
    })
    expect(failed.status).toBe(422)
    house.drawn.before = () => Effect.void
    await house.made("quotation", jobs[0]!)
    await expect.poll(() => target.got.length, poll).toBe(2)
    expect(target.got.map(({ body }) => body.event).toSorted()).toEqual(["document.generated", "pdf_generated"])
  })
})

describe.each(engines)("documents restored from %s on the other engine", (from) => {
  it("have their files, and are drawn to the same bytes", async () => {
    const [house, other] = [await openHouse(from), await openHouse(from === "pg" ? "sqlite" : "pg")]
    onTestFinished(() => house.close())
    onTestFinished(() => other.close())
    const job = await house.job("Moved")
    const made = await house.made("quotation", job)
    await house.did(200, "POST", `/documents/${made.id}/finalise`)
    const voided = await house.made("pick_list", job)
    await house.did(200, "POST", `/documents/${voided.id}/void`, {})
    const { manifest } = await house.did(200, "GET", "/system/manifest")
    const { events } = await house.did(200, "GET", "/system/journal?after=0&limit=2000")
    const { files } = await house.did(200, "GET", "/system/files")
    expect(files).toHaveLength(4)
    const begun = (await other.did(201, "POST", "/system/restores", manifest)).restore
    await other.did(200, "POST", `/system/restores/${begun.id}/events`, { events })
    for (const file of files) {
      const { bytes: content } = await house.ask(`/api/v1/system/files/${file.sha256}`)
      const { bytes, type } = await formOf([
        ["file", new Blob([Buffer.from(content)]), "file"],
        ["sha256", file.sha256]
      ])
      const got = await other.ask(`/api/v1/system/restores/${begun.id}/files`, {
        bytes,
        headers: { "content-type": type }
      })
      expect(got.status, got.text).toBe(201)
    }
    await other.did(200, "POST", `/system/restores/${begun.id}/finish`)
    expect(other.drawn.prepared).toEqual([])
    const here = await house.document(made.id)
    const there = await other.document(made.id)
    expect({ ...there, download_url: "" }).toEqual({ ...here, download_url: "" })
    const { bytes } = await house.fetched(here.download_url!)
    expect(sha256((await other.fetched(there.download_url!)).bytes)).toBe(sha256(bytes))
    expect(sha256(await other.run(drawnAgain(made.id)))).toBe(sha256(bytes))
    const notes = await other.sql("select id from effect_queue where queue_name like 'documents.%' and state <> 'bell'")
    expect(notes).toEqual([])
  })
})
