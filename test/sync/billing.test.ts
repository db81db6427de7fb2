/** Invoices on devices: mail sent after the sync, and devices that hold none. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { nothing_outside } from "../../server/ports/outside.ts"
import { engines } from "../app.ts"
import { mailServer, type TestMailServer } from "../server/delivery/mail/smtp.ts"
import { pagesOfPdf } from "../server/print/pdf-text.ts"
import { openTestServer, type TestServer } from "./opening.ts"

const soon = { timeout: 30_000, interval: 50 }
const items = [{ name: "Heads", quantity: "4", unit_price: "25.00" }]

describe.each(engines)("invoices on devices, server on %s", (engine) => {
  let server: TestServer, smtp: TestMailServer, member_id: number
  beforeAll(async () => {
    smtp = await mailServer({})
    server = await openTestServer(engine, { outside: { ...nothing_outside, smtp_url: smtp.url } })
    await server.must("PUT", "/settings/company", { settings: { name: "Northlight", email: "office@north.example" } })
    member_id = await server.customer()
    await server.create(`/members/${member_id}/emails`, { address: "bills@payer.example" })
  })
  afterAll(async () => {
    await server?.close()
    await smtp?.close()
  })

  it("an order billed on two devices is a conflict on the second, which can bill the remainder", async () => {
    const [till, van] = [await server.enrol(), await server.enrol()]
    const window = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-03T17:00:00Z", store_id: 1 }
    const { id } = await server.create("/opportunities", { subject: "Gala", member_id, ...window })
    const order = `/opportunities/${id}`
    const add = (name: string, unit_price: string) =>
      server.create(`${order}/items`, { name, unit_price, transaction_type: 1 })
    const [lamp] = (await add("Lamp", "100.00")).items
    await add("Desk", "50.00")
    const draft = async (body: object) => `/invoices/${(await server.create(`${order}/invoices`, body)).id}`
    const [first, second] = [await draft({ lines: [{ opportunity_item_id: lamp.id }] }), await draft({})]
    for (const device of [till, van]) await device.sync()
    await till.must("POST", `${first}/issue`, {})
    await van.must("POST", `${second}/issue`, {})
    await till.sync()
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await van.conflicts()
    expect(conflict?.error.errors?.["items"]?.[0]).toContain("100.00 of 150.00 GBP")
    const ways = conflict?.ways_out.map(({ command, way }) => [way, command.split(" ").slice(4).join(" ")])
    expect(ways).toEqual([
      ["left", "--bill-left"],
      ["amend", "--set allow_overbilling=true"],
      ["drop", "--drop"]
    ])
    expect((await van.resolve(conflict?.id ?? "", { bill_left: true })).status).toBe(200)
    expect(await van.sync()).toMatchObject({ rejected: 0, conflicts: 0 })
    expect((await server.get(second)).status).toBe(404)
    expect(await server.show(order)).toMatchObject({ billed_total: "150.00", left_to_bill_total: "0.00" })
    await server.syncedAlike(till, van)
  })
  it("an e-mail requested offline is sent once, after the sync, with the final number", async () => {
    const van = await server.enrol()
    const { id } = await van.create("/invoices", { member_id, items })
    await van.create(`/invoices/${id}/issue`)
    expect(await van.create(`/invoices/${id}/email`, { cc: ["boss@payer.example"] })).toMatchObject({ number: null })
    expect(smtp.taken).toHaveLength(0)
    expect(await van.sync()).toMatchObject({ accepted: 3 })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { number } = await server.show(`/invoices/${id}`)
    const { read, to } = smtp.taken[0]!
    expect(to).toEqual(["bills@payer.example", "boss@payer.example"])
    expect(read.subject).toBe(`Invoice ${number}, Northlight`)
    const content = read.attachments[0]?.content
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    expect(pagesOfPdf(new Uint8Array(content)).join("\n")).toContain(`Invoice ${number}`)
    await van.sync()
    await server.syncedAlike(van)
    expect(smtp.taken).toHaveLength(1)
  })
  it("users who may not see invoices hold none on their device, which refuses to show, issue or mail any", async () => {
    const { id } = await server.create("/invoices", { member_id, items })
    const permissions = ["members.view", "opportunities.view", "opportunities.edit"]
    const { secret } = await server.person({ permissions })
    const counter = await server.enrol("counter", secret)
    await counter.sync()
    const tables = await counter.tables()
    for (const table of ["invoices", "invoice_items", "payments", "credit_notes", "credit_note_items"])
      expect(tables[table], table).toEqual([])
    for (const [method, path] of [
      ["GET", "/invoices"],
      ["GET", `/invoices/${id}`],
      ...["issue", "void", "credit_notes", "email"].map((what) => ["POST", `/invoices/${id}/${what}`] as const)
    ] as const) {
      const body = method === "GET" ? undefined : {}
      // Hidden rows are missing on a device, so it answers 404.
      const here = (await counter.call(method, path, body)).status
      expect(path === "/invoices" ? [403] : [403, 404], `${method} ${path}`).toContain(here)
      expect((await server.call(method, path, body, secret)).status, `${method} ${path}`).toBe(403)
    }
  })
})
