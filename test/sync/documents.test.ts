/** Documents requested offline: recorded as pending, and rendered by the server after the sync. */
import { Context, Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { DocumentPreparation } from "../../server/documents/papers/filled.ts"
import { engines } from "../app.ts"
import { paper, poll } from "../server/documents/papers/house.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

describe.each(engines)("documents requested on a device, server on %s", (engine) => {
  let prepared = 0
  const services = Context.make(DocumentPreparation, (source) =>
    Effect.sync(() => {
      prepared++
      return {
        fragments: {},
        data: {},
        compose: () => paper(String(source.document_number), "On the device first"),
        file_name: `quotation-${source.document_number}`
      }
    })
  )
  const server = serverOfSuite(engine, { services })
  let device: TestDevice, job: number
  beforeAll(async () => {
    job = (await server.opportunity()).id
    device = await server.enrol()
  })
  const asked = (more: object = {}) => ({
    document_type: "quotation",
    documentable_type: "opportunity",
    documentable_id: job,
    ...more
  })
  const generate = (at: TestDevice, more = {}) => at.post("/documents/generate", asked(more))
  const onServer = (id: number) => server.show(`/documents/${id}`)
  const generated = (id: number) => expect.poll(async () => (await onServer(id)).status, poll).toBe("generated")

  it("are pending and have no number until the server renders them", async () => {
    const document = await device.create("/documents/generate", asked())
    expect(document).toMatchObject({ status: "pending", document_number: null, download_url: null })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await generated(document.id)
    const there = await onServer(document.id)
    expect(there).toMatchObject({
      document_number: expect.stringMatching(/^\d{10}$/),
      download_url: expect.stringMatching(/\/files\//)
    })
    await server.syncedAlike(device)
    const { document_number } = there
    expect(await device.show(`/documents/${document.id}`)).toMatchObject({
      ...{ status: "generated", document_number, download_url: null, public_link: null }
    })
    expect(prepared).toBe(1)
  })
  it("are pending with `async`, too, and cannot be requested in batches", async () => {
    const { body, status } = await generate(device, { async: true })
    expect([status, body.document.status]).toEqual([201, "pending"])
    await device.sync()
    await generated(body.document.id)
    expect(await server.show("/system/jobs?q[kind_eq]=documents.draw_queued")).toHaveLength(1)
    const batch = { document_type: "quotation", documentable_type: "Opportunity", documentable_ids: [job] }
    expect((await device.post("/documents/batch_generate", batch)).status).toBeGreaterThanOrEqual(400)
  })
  it("can be finalised and voided offline", async () => {
    const { id } = await server.create("/documents/generate", asked())
    await device.sync()
    expect(await device.create(`/documents/${id}/finalise`)).toMatchObject({ status: "finalised" })
    const voided = { status: "voided", void_reason: "No" }
    expect(await device.create(`/documents/${id}/void`, { reason: "No" })).toMatchObject(voided)
    expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    await server.sameOn(device)
  })
  it("are refused offline for an unknown order, and by the server for one deleted meanwhile", async () => {
    expect((await generate(device, { documentable_id: 987_654 })).status).toBe(422)
    const { id } = await server.opportunity()
    await device.sync()
    expect((await generate(device, { documentable_id: id })).status).toBe(201)
    await server.must("DELETE", `/opportunities/${id}`)
    const before = prepared
    expect(await device.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await device.conflicts()
    expect(conflict?.error).toMatchObject({ status: 422, errors: { documentable_id: [expect.any(String)] } })
    await device.resolve(conflict?.id ?? "", { drop: true })
    await server.syncedAlike(device)
    expect(prepared).toBe(before)
  })
  it("of orders hidden from the user are recorded offline, and accepted only if the order exists", async () => {
    const { secret } = await server.person({ permissions: ["documents.create", "documents.view"] })
    const clerk = await server.enrol("clerk", secret)
    for (const documentable_id of [job, 987_654]) expect((await generate(clerk, { documentable_id })).status).toBe(201)
    expect(await clerk.sync()).toMatchObject({ accepted: 1, rejected: 1 })
    const order = { document_type: "purchase_order", documentable_type: "PurchaseOrder", documentable_id: 1 }
    expect((await generate(clerk, order)).status).toBe(403)
  })
})
