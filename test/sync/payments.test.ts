/** Two devices take money for one invoice without a network: the server takes it once, and the other is told what to do. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

describe.each(engines)("two devices at one invoice on %s", (engine) => {
  let grounds: DeviceTestServer, till: Device, van: Device, member: number
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    member = (await made("members", { name: "Payer", membership_type: "organisation" }, "member")).id
    till = await grounds.enrol("till")
    van = await grounds.enrol("van")
  })
  afterAll(() => grounds.close())

  const issued = async (): Promise<number> => {
    const items = [{ name: "Heads", quantity: "4", unit_price: "25.00" }]
    const { id } = await made("invoices", { member_id: member, items }, "invoice")
    await made(`invoices/${id}/issue`, {}, "invoice")
    for (const device of [till, van]) await device.sync()
    return id
  }
  const record = async (device: Device, id: number, what: string, body: Json = {}) => {
    const { status, body: answered } = await device.ask({
      method: "POST",
      path: `/api/v1/invoices/${id}/${what}`,
      query: [],
      body
    })
    expect(status, JSON.stringify(answered)).toBe(201)
  }
  const shown = async (id: number) =>
    (await grounds.ask("GET", `/api/v1/invoices/${id}?include=payments,credit_notes`)).body.invoice
  const sameEverywhere = async (): Promise<void> => {
    for (const device of [till, van]) await device.sync()
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("till")).toEqual(truth)
    expect(await grounds.replicaTables("van")).toEqual(truth)
  }

  it("both record all of it: one payment stands, the other is a conflict that says what is outstanding", async () => {
    const id = await issued()
    await record(till, id, "payments", { amount: "100.00", method: "cash" })
    await record(van, id, "payments", { amount: "100.00", method: "card" })
    expect(await till.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error).toMatchObject({
      status: 422,
      errors: {
        status: [
          expect.stringMatching(
            /^Invoice \d{10} is paid already; nothing is outstanding\. If this money came as well, give it back or record it on another invoice\.$/
          )
        ]
      }
    })
    await van.resolve(conflict?.id ?? "", { drop: true })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "paid", amount_paid: "100.00", payments: [{ method: "cash" }] })
  })
  it("one pays a part and the other all: what is left of it can be recorded instead", async () => {
    const id = await issued()
    await record(till, id, "payments", { amount: "60.00", method: "cash" })
    await record(van, id, "payments", { amount: "100.00", method: "card" })
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error).toMatchObject({
      errors: { amount: [expect.stringContaining("more than the 40.00 GBP that are outstanding")] }
    })
    expect((await van.resolve(conflict?.id ?? "", { amend: { amount: "40.00", method: "card" } })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "paid", amount_outstanding: "0.00" })
  })
  it("both refund a part and one too much: what is left can be given back instead", async () => {
    const id = await issued()
    await record(till, id, "payments", { amount: "100.00" })
    for (const device of [till, van]) await device.sync()
    await record(till, id, "refunds", { amount: "70.00" })
    await record(van, id, "refunds", { amount: "50.00" })
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error).toMatchObject({ errors: { amount: [expect.stringContaining("the 30.00 GBP that are")] } })
    expect((await van.resolve(conflict?.id ?? "", { amend: { amount: "30.00" } })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "issued", amount_paid: "0.00" })
  })
  it("both credit a part and one too much: what is left can be credited instead", async () => {
    const id = await issued()
    await record(till, id, "credit_notes", { amount: "70.00" })
    await record(van, id, "credit_notes", { amount: "50.00" })
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error).toMatchObject({ errors: { amount: [expect.stringContaining("the 30.00 GBP that are")] } })
    expect((await van.resolve(conflict?.id ?? "", { amend: { amount: "30.00" } })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "credited", amount_outstanding: "0.00" })
  })
  it("one credits a paid invoice while the other refunds it: both stand, since both are true", async () => {
    const id = await issued()
    await record(till, id, "payments", { amount: "100.00" })
    for (const device of [till, van]) await device.sync()
    await record(till, id, "credit_notes")
    await record(van, id, "refunds", { amount: "100.00" })
    for (const device of [till, van]) expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "credited", amount_paid: "0.00", amount_outstanding: "0.00" })
  })
  it("both refund all of it, and both credit all of it: the second of each is a conflict, and credit notes have numbers in a row", async () => {
    const id = await issued()
    await record(till, id, "payments", { amount: "100.00" })
    for (const device of [till, van]) await device.sync()
    for (const device of [till, van]) {
      await record(device, id, "refunds", { amount: "100.00" })
      await record(device, id, "credit_notes")
    }
    expect(await till.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    expect(await van.sync()).toMatchObject({ rejected: 2, conflicts: 2 })
    for (const conflict of await van.conflicts()) await van.resolve(conflict.id, { drop: true })
    await sameEverywhere()
    const { credit_notes, payments, status } = await shown(id)
    expect([status, payments.length, credit_notes.length]).toEqual(["credited", 2, 1])
    const { body } = await grounds.ask("GET", "/api/v1/credit_notes?sort=number")
    expect(body.credit_notes.map((note: { number: string }) => Number(note.number))).toEqual(
      body.credit_notes.map((_: unknown, at: number) => at + 1)
    )
  })
})
