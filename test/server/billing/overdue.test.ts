/** What is told of invoices that nobody paid in time, and what webhooks tell of billing. */
import { afterEach, describe, expect, it } from "vitest"
import { isToBeTold } from "../../../core/billing/overdue.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { Effect } from "effect"
import { overdueSweep } from "../../../server/billing/overdue.ts"
import { engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { billingOf } from "./billing.ts"

describe("an invoice is overdue", () => {
  const due = {
    type: "standard",
    status: "issued",
    due_at: "2026-07-01T10:00:00.000Z",
    overdue_told_at: null,
    deleted_at: null
  } as const
  const at = (text: string, zone = "UTC", more: Partial<Parameters<typeof isToBeTold>[0]> = {}): boolean =>
    isToBeTold({ ...due, ...more }, zone, Date.parse(`2026-07-${text}Z`))
  it("once the day it was due has ended where it is owed", () => {
    expect([at("01T23:59:59"), at("02T00:00:00")]).toEqual([false, true])
    expect([at("01T11:59:59", "Pacific/Auckland"), at("01T12:00:00", "Pacific/Auckland")]).toEqual([false, true])
    expect([at("02T06:59:59", "America/Los_Angeles"), at("02T07:00:00", "America/Los_Angeles")]).toEqual([false, true])
  })
  it("unless it is paid, told of already, without a day, or nobody's to pay", () => {
    expect(at("09T00:00:00", "UTC", { status: "partially_paid" })).toBe(true)
    for (const more of [
      { status: "paid" },
      { status: "draft" },
      { status: "voided" },
      { type: "proforma" },
      { due_at: null },
      { overdue_told_at: due.due_at },
      { deleted_at: due.due_at }
    ] as const)
      expect(at("09T00:00:00", "UTC", more)).toBe(false)
  })
})

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each(engines)("the sweep on %s", (engine) => {
  const swept = async (serving: Serving): Promise<unknown> =>
    serving.run(
      Effect.scoped(
        overdueSweep.kind.run(
          { due_at: "2026-07-02T00:07:00.000Z" },
          { job_id: "test", number: 1, is_last: false, progress: () => Effect.void }
        )
      )
    )
  const told = (serving: Serving) =>
    serving.run(
      Effect.flatMap(Store, (store) =>
        store.run("select data from journal where type = 'invoice.overdue' order by position")
      )
    )
  it("tells of each overdue invoice once, whatever becomes of it", async () => {
    const serving = await serve(engine)
    open.push(() => serving.close())
    serving.setClock(Date.parse("2026-06-01T10:00:00Z"))
    const billing = billingOf(serving)
    const member_id = await billing.member("Ann")
    const late = await billing.issued(member_id, {}, { due_at: "2026-06-30T10:00:00Z" })
    await billing.issued(member_id, {}, { due_at: "2026-07-02T10:00:00Z" })
    await billing.issued(member_id, { type: "proforma" }, { due_at: "2026-06-02T10:00:00Z" })
    await billing.draft(member_id, { due_at: "2026-06-02T10:00:00Z" })
    serving.setClock(Date.parse("2026-07-01T09:00:00Z"))
    expect(await swept(serving)).toEqual({ told: 1 })
    expect(await swept(serving)).toEqual({ told: 0 })
    expect(JSON.stringify(await told(serving))).toContain(`${late.id}`)
    const { invoice } = await billing.must(`invoices/${late.id}`)
    expect([invoice.is_overdue, invoice.status]).toEqual([true, "issued"])
    serving.setClock(Date.parse("2026-07-03T09:00:00Z"))
    expect(await swept(serving)).toEqual({ told: 1 })
    expect(await told(serving)).toHaveLength(2)
  })
  it("goes through many at once", async () => {
    const serving = await serve(engine)
    open.push(() => serving.close())
    serving.setClock(Date.parse("2026-06-01T10:00:00Z"))
    const billing = billingOf(serving)
    const member_id = await billing.member("Ann")
    for (let at = 0; at < 103; at++) await billing.issued(member_id, {}, { due_at: "2026-06-02T10:00:00Z" })
    serving.setClock(Date.parse("2026-07-01T09:00:00Z"))
    expect(await swept(serving)).toEqual({ told: 103 })
    expect(await told(serving)).toHaveLength(103)
  })
})
