/** Whoever lacks the permission or the ability of an operation on invoices is refused, and nothing changes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, openApp, viewerWith } from "../app.ts"

const permissions = ["view", "create", "edit", "delete", "issue", "void", "credit"].map((one) => `invoices.${one}`)
const all = [...permissions, "payments.record", "members.view", "opportunities.view"]
const abilities = ["invoices:read", "invoices:write", "payments:write", "payments:read", "opportunities:read"]
const operations: ReadonlyArray<readonly [string, string, string, string, object | undefined]> = [
  ["GET", "", "invoices.view", "invoices:read", undefined],
  ["GET", "/1", "invoices.view", "invoices:read", undefined],
  ["GET", "/1/xml", "invoices.view", "invoices:read", undefined],
  ["POST", "", "invoices.create", "invoices:write", { member_id: 1, items: [] }],
  ["PUT", "/1", "invoices.edit", "invoices:write", { subject: "Other" }],
  ["DELETE", "/1", "invoices.delete", "invoices:write", undefined],
  ["POST", "/1/issue", "invoices.issue", "invoices:write", {}],
  ["POST", "/1/void", "invoices.void", "invoices:write", {}],
  ["POST", "/1/payments", "payments.record", "payments:write", { amount: "1.00" }],
  ["POST", "/1/refunds", "payments.record", "payments:write", { amount: "1.00" }],
  ["POST", "/1/credit_notes", "invoices.credit", "invoices:write", {}],
  ["POST", "/1/email", "invoices.edit", "invoices:write", { to: "a@b.example" }]
]

describe("operations on invoices", () => {
  let app: App
  let id: number
  beforeAll(async () => {
    app = await openApp()
    const { body } = await app.call("POST", "/api/v1/members", { name: "Ann", membership_type: "organisation" })
    const items = [{ name: "Lamp", unit_price: "10.00" }]
    id = (await app.call("POST", "/api/v1/invoices", { member_id: body.member.id, items })).body.invoice.id
  })
  afterAll(() => app?.close())

  it.each(operations)("%s /invoices%s needs %s and %s", async (method, path, permission, ability, body) => {
    const target = `/api/v1/invoices${path.replace("/1", `/${id}`)}`
    const before = await app.dump()
    const by = (some: ReadonlyArray<string>, able: ReadonlyArray<string>) =>
      app.call(method, target, body, viewerWith(some, able))
    const without = (list: ReadonlyArray<string>, one: string) => list.filter((other) => other !== one)
    expect((await by(without(all, permission), abilities)).status).toBe(403)
    expect((await by(all, without(abilities, ability))).status).toBe(403)
    expect(await app.dump()).toEqual(before)
  })
  it.each(["attachments", "activity", "actions"])("%s of an invoice need the right to see invoices", async (list) => {
    const { status } = await app.call(
      "GET",
      `/api/v1/invoices/${id}/${list}`,
      undefined,
      viewerWith(
        all.filter((one) => one !== "invoices.view"),
        abilities
      )
    )
    expect([403, 404]).toContain(status)
  })
})
