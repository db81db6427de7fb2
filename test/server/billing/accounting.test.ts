/** What an accounting program is told: all of it, and each document once. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"

describe.each(engines)("accounting on %s", (engine: Engine) => {
  let serving: Serving
  let billing: Billing
  beforeAll(async () => {
    serving = await serve(engine)
    billing = billingOf(serving)
  })
  afterAll(() => serving?.close())
  const told = async (kind: string, more = "") =>
    (await billing.must(`accounting/postings?kind=${kind}&since=2026-01-01${more}`)).documents

  it("is told of each document once, until it is asked for again", async () => {
    const member_id = await billing.member("Ann", { address: "ann@ann.example" })
    const paid = await billing.issued(member_id)
    const voided = await billing.issued(member_id)
    const unheard = await billing.issued(member_id)
    await billing.issued(member_id, { type: "proforma" })
    await billing.draft(member_id)
    await billing.must(`invoices/${unheard.id}/void`, {})
    await billing.must(`invoices/${paid.id}/payments`, { amount: "30.00", method: "cash" })
    await billing.must(`invoices/${paid.id}/refunds`, { amount: "10.00", method: "cash" })
    await billing.must(`invoices/${paid.id}/credit_notes`, { amount: "20.00" })
    const documents = [
      ...(await told("invoices")),
      ...(await told("voids")),
      ...(await told("credit_notes")),
      ...(await told("payments"))
    ]
    expect(documents.map(({ key, total }) => [key.replace(/\/.*/, ""), total])).toEqual([
      ["invoices", "100.00"],
      ["invoices", "100.00"],
      ["credit_notes", "-20.00"],
      ["payments", "30.00"],
      ["payments", "-10.00"]
    ])
    expect(documents[0]).toMatchObject({ member_name: "Ann", member_email: "ann@ann.example", number: paid["number"] })
    for (const { postings } of documents) {
      const sum = (side: string) => postings.reduce((all: number, one: any) => all + Number(one[side]), 0)
      expect(sum("debit")).toBeCloseTo(sum("credit"), 9)
    }
    const keys = documents.map(({ key }) => key)
    expect(await billing.must("accounting/exports", { keys })).toEqual({ marked: 5 })
    expect(await billing.must("accounting/exports", { keys })).toEqual({ marked: 5 })
    expect(await told("invoices")).toEqual([])
    expect(await told("payments")).toEqual([])
    expect(await told("invoices", "&again=1")).toHaveLength(2)
    await billing.must(`invoices/${voided.id}/void`, {})
    const [taken] = await told("voids")
    expect([taken.total, taken.number]).toEqual(["-100.00", `${voided["number"]}-VOID`])
  })
  it("posts to the accounts of the settings", async () => {
    await billing.must(
      "settings/accounting",
      { settings: { revenue_account: "4711", receivables_account: "1300" } },
      "PUT"
    )
    await billing.issued(await billing.member("Bob"))
    const [document] = await told("invoices")
    expect(document.postings.map(({ account }: { account: string }) => account).slice(0, 2)).toEqual(["1300", "4711"])
  })
  it("refuses what is no day and no document", async () => {
    expect((await serving.ask("/api/v1/accounting/postings?kind=invoices&since=yesterday")).status).toBe(422)
    expect((await serving.ask("/api/v1/accounting/postings?kind=bills&since=2026-01-01")).status).toBe(422)
    expect((await serving.ask("/api/v1/accounting/exports", { json: { keys: ["bills/1"] } })).status).toBe(422)
  })
})
