/** Invoices on devices: what is undone meanwhile, what is mailed after the sync, and who may hold none. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import { nothing_outside } from "../../server/outside.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { mailServer, type TestMailServer } from "../server/mail/smtp.ts"
import { pagesOfPdf } from "../server/print/pdf-text.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

const soon = { timeout: 30_000, interval: 50 }
const items = [{ name: "Heads", quantity: "4", unit_price: "25.00" }]

describe.each(engines)("invoices on devices of %s", (engine) => {
  let grounds: DeviceTestServer, smtp: TestMailServer, till: Device, van: Device, member_id: number
  const made = async (path: string, body: object, key: string, method = "POST"): Promise<any> => {
    const reply = await grounds.ask(method, `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  beforeAll(async () => {
    smtp = await mailServer({})
    grounds = await openDeviceTestServer(engine, { outside: { ...nothing_outside, smtp_url: smtp.url } })
    await made("settings/company", { settings: { name: "Northlight", email: "office@north.example" } }, "", "PUT")
    member_id = (await made("members", { name: "Payer", membership_type: "organisation" }, "member")).id
    await made(`members/${member_id}/emails`, { address: "bills@payer.example" }, "")
    till = await grounds.enrol("till")
    van = await grounds.enrol("van")
  })
  afterAll(async () => {
    await grounds?.close()
    await smtp?.close()
  })
  const ask = (device: Device, method: string, path: string, body?: Json) =>
    device.ask({ method, path: `/api/v1/${path}`, query: [], body })
  const issued = async (): Promise<number> => {
    const { id } = await made("invoices", { member_id, items }, "invoice")
    await made(`invoices/${id}/issue`, {}, "invoice")
    for (const device of [till, van]) await device.sync()
    return id
  }
  const shown = async (id: number) => (await grounds.ask("GET", `/api/v1/invoices/${id}`)).body.invoice
  const sameEverywhere = async (): Promise<void> => {
    for (const device of [till, van]) await device.sync()
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("till")).toEqual(truth)
    expect(await grounds.replicaTables("van")).toEqual(truth)
  }

  it("a void after money came is a conflict, and can be retried once the money is given back", async () => {
    const id = await issued()
    expect((await ask(till, "POST", `invoices/${id}/payments`, { amount: "40.00" })).status).toBe(201)
    expect((await ask(van, "POST", `invoices/${id}/void`, { reason: "Made twice" })).status).toBe(200)
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error).toMatchObject({
      status: 422,
      errors: { status: ["The invoice has payments; refund them first, or issue a credit note."] }
    })
    expect((await ask(van, "GET", `invoices/${id}`)).body).toMatchObject({ invoice: { status: "partially_paid" } })
    await made(`invoices/${id}/refunds`, { amount: "40.00" }, "refund")
    await van.sync()
    expect((await van.resolve(conflict?.id ?? "", { retry: true })).status).toBe(200)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await shown(id)).toMatchObject({ status: "voided", void_reason: "Made twice", amount_paid: "0.00" })
    await sameEverywhere()
  })
  it("a void after money came can be dropped, or be given another reason that does not help", async () => {
    const id = await issued()
    await ask(till, "POST", `invoices/${id}/payments`, { amount: "100.00" })
    await ask(van, "POST", `invoices/${id}/void`, {})
    await till.sync()
    await van.sync()
    const [conflict] = await van.conflicts()
    expect((await van.resolve(conflict?.id ?? "", { amend: { reason: "Other" } })).status).toBe(422)
    const [still] = await van.conflicts()
    await van.resolve(still?.id ?? "", { drop: true })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "paid", void_reason: null })
  })
  it("money that comes after a void is a conflict that says so, and is recorded on another invoice", async () => {
    const [id, other] = [await issued(), await issued()]
    expect((await ask(till, "POST", `invoices/${id}/void`, {})).status).toBe(200)
    expect((await ask(van, "POST", `invoices/${id}/payments`, { amount: "100.00" })).status).toBe(201)
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(JSON.stringify(conflict?.error)).toContain("voided")
    await van.resolve(conflict?.id ?? "", { drop: true })
    expect((await ask(van, "POST", `invoices/${other}/payments`, { amount: "100.00" })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect([(await shown(id)).status, (await shown(other)).status]).toEqual(["voided", "paid"])
  })
  it("a mail that is asked for without a network goes once, after the sync, with the number on it", async () => {
    const draft = await ask(van, "POST", "invoices", { member_id, items })
    const id = (draft.body as any).invoice.id as number
    expect((await ask(van, "POST", `invoices/${id}/issue`, {})).status).toBe(200)
    const asked = await ask(van, "POST", `invoices/${id}/email`, { cc: ["boss@payer.example"] })
    expect([asked.status, (asked.body as any).invoice.number]).toEqual([200, null])
    expect(smtp.taken).toHaveLength(0)
    expect(await van.sync()).toMatchObject({ accepted: 3 })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { number } = await shown(id)
    const { read, to } = smtp.taken[0]!
    expect(to).toEqual(["bills@payer.example", "boss@payer.example"])
    expect(read.subject).toBe(`Invoice ${number}, Northlight`)
    const content = read.attachments[0]?.content
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    expect(pagesOfPdf(new Uint8Array(content)).join("\n")).toContain(`Invoice ${number}`)
    await van.sync()
    await sameEverywhere()
    expect(smtp.taken).toHaveLength(1)
  })
  it("whoever may not see invoices holds none, and is refused on the device as by the server", async () => {
    const id = await issued()
    const held = ["members.view", "opportunities.view", "opportunities.edit"]
    const { token } = await grounds.letInWith({ name: "Counter", permissions: held })
    const counter = await grounds.enrol("counter", token)
    await counter.sync()
    const tables = (await grounds.replicaTables("counter")) as { readonly [table: string]: ReadonlyArray<unknown> }
    for (const table of ["invoices", "invoice_items", "payments", "credit_notes", "credit_note_items"])
      expect(tables[table], table).toEqual([])
    for (const [method, path, body] of [
      ["GET", "invoices", undefined],
      ["GET", `invoices/${id}`, undefined],
      ["POST", `invoices/${id}/issue`, {}],
      ["POST", `invoices/${id}/void`, {}],
      ["POST", `invoices/${id}/credit_notes`, {}],
      ["POST", `invoices/${id}/email`, {}]
    ] as const) {
      const here = await ask(counter, method, path, body)
      const there = await grounds.ask(method, `/api/v1/${path}`, body, token)
      // What a device does not hold is nothing to it.
      expect(path === "invoices" ? [403] : [403, 404], `${method} ${path}`).toContain(here.status)
      expect(there.status, `${method} ${path}`).toBe(403)
    }
  })
})
