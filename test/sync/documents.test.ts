/** Documents asked for without a network: recorded as pending, and drawn by the server once it hears of them. */
import { Context, Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Device } from "../../sync/device/device.ts"
import { DocumentPreparation } from "../../server/documents/preparing.ts"
import { engines } from "../app.ts"
import { paper, poll } from "../server/documents/house.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

describe.each(engines)("documents of a device on %s", (engine) => {
  let grounds: DeviceTestServer, device: Device, job: number, prepared: number
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  beforeAll(async () => {
    prepared = 0
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
    grounds = await openDeviceTestServer(engine, { services })
    job = (await made("opportunities", { subject: "Offline" }, "opportunity")).id
    device = await grounds.enrol("van")
  })
  afterAll(() => grounds?.close())
  const ask = async (at: Device, method: string, path: string, body?: object): Promise<any> =>
    at.ask({ method, path: `/api/v1${path}`, query: [], ...(body === undefined ? {} : { body }) } as never)
  const generate = (at: Device, more = {}) =>
    ask(at, "POST", "/documents/generate", {
      document_type: "quotation",
      documentable_type: "opportunity",
      documentable_id: job,
      ...more
    })

  it("one is pending and has no number until the server has it, then it is drawn", async () => {
    await device.sync()
    const { body, status } = await generate(device)
    expect([status, body.document.status, body.document.document_number, body.document.download_url]).toEqual([
      201,
      "pending",
      null,
      null
    ])
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const { id } = body.document
    const onServer = async () => (await grounds.ask("GET", `/api/v1/documents/${id}`)).body.document
    await expect.poll(async () => (await onServer()).status, poll).toBe("generated")
    expect((await onServer()).document_number).toMatch(/^\d{10}$/)
    expect((await onServer()).download_url).toMatch(/\/files\//)
    await device.sync()
    const here = (await ask(device, "GET", `/documents/${id}`)).body.document
    expect(here).toMatchObject({ status: "generated", download_url: null, public_link: null })
    expect(here.document_number).toBe((await onServer()).document_number)
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
    expect(prepared).toBe(1)
  })
  it("async on a device is pending as well: there is no job to name yet", async () => {
    const { body, status } = await generate(device, { async: true })
    expect([status, body.document.status]).toEqual([201, "pending"])
    await device.sync()
    const { id } = body.document
    await expect
      .poll(async () => (await grounds.ask("GET", `/api/v1/documents/${id}`)).body.document.status, poll)
      .toBe("generated")
    const { body: jobs } = await grounds.ask("GET", `/api/v1/system/jobs?q[kind_eq]=documents.draw_queued`)
    expect(jobs.jobs).toHaveLength(1)
  })
  it("it is made final and voided without a network", async () => {
    const { document } = (
      await grounds.ask("POST", "/api/v1/documents/generate", {
        document_type: "quotation",
        documentable_type: "Opportunity",
        documentable_id: job
      })
    ).body
    await device.sync()
    expect((await ask(device, "POST", `/documents/${document.id}/finalise`)).body.document.status).toBe("finalised")
    expect((await ask(device, "POST", `/documents/${document.id}/void`, { reason: "No" })).body.document).toMatchObject(
      { status: "voided", void_reason: "No" }
    )
    expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
  })
  it("what the device can refuse it refuses; what changed meanwhile the server refuses, and nothing is drawn", async () => {
    expect((await generate(device, { documentable_id: 987_654 })).status).toBe(422)
    const gone = (await made("opportunities", { subject: "Gone soon" }, "opportunity")).id
    await device.sync()
    expect((await generate(device, { documentable_id: gone })).status).toBe(201)
    expect((await grounds.ask("DELETE", `/api/v1/opportunities/${gone}`)).status).toBe(204)
    const before = prepared
    expect(await device.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await device.conflicts()
    expect(conflict?.error).toMatchObject({ status: 422, errors: { documentable_id: [expect.any(String)] } })
    await device.resolve(conflict?.id ?? "", { drop: true })
    await device.sync()
    expect(prepared).toBe(before)
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
  })
  it("somebody who may make documents and not see jobs is judged by the server", async () => {
    const { token } = await grounds.letInWith({ name: "Clerk", permissions: ["documents.create", "documents.view"] })
    const clerk = await grounds.enrol("clerk", token)
    const { body, status } = await generate(clerk)
    expect([status, body.document?.status]).toEqual([201, "pending"])
    expect((await generate(clerk, { documentable_id: 987_654 })).status).toBe(201)
    expect(await clerk.sync()).toMatchObject({ accepted: 1, rejected: 1 })
    const order = { document_type: "purchase_order", documentable_type: "PurchaseOrder", documentable_id: 1 }
    expect((await generate(clerk, order)).status).toBe(403)
  })
  it("a batch is the server's", async () => {
    const { status } = await ask(device, "POST", "/documents/batch_generate", {
      document_type: "quotation",
      documentable_type: "Opportunity",
      documentable_ids: [job]
    })
    expect(status).toBeGreaterThanOrEqual(400)
  })
})
