/** Recipients and times of reminders that sub-hired goods are due back. */
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import { dueBackAt, isReminderDue } from "../../../core/purchasing/receiving/intake.ts"
import { returnSweep } from "../../../server/purchasing/slice.ts"
import { engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { ranOnce } from "../delivery/jobs/words.ts"

const order = {
  po_type: "sub_hire",
  starts_at: "2026-06-20T00:00:00.000Z",
  ends_at: "2026-06-25T10:00:00.000Z",
  returned_at: null,
  deleted_at: null,
  return_reminded_for: null
} as const
const item = { starts_at: null, ends_at: null, received_quantity: "2.00", returned_quantity: "0.00" }

describe("the date a purchase order's goods are due back", () => {
  it("is the earliest hire end of the goods not yet returned", () => {
    expect(dueBackAt(order, [item])).toBe(order.ends_at)
    const early = { ...item, ends_at: "2026-06-22T10:00:00.000Z" }
    expect(dueBackAt(order, [item, early])).toBe(early.ends_at)
    expect(dueBackAt(order, [item, { ...early, returned_quantity: "2.00" }])).toBe(order.ends_at)
  })
  it("is null if no goods were received, the goods are bought or the order is deleted", () => {
    expect(dueBackAt(order, [{ ...item, received_quantity: "0.00" }])).toBeNull()
    expect(dueBackAt({ ...order, po_type: "purchase" }, [item])).toBeNull()
    expect(dueBackAt({ ...order, deleted_at: order.ends_at }, [item])).toBeNull()
  })
  it("triggers one reminder per end date, the day before on the store's clock", () => {
    const at = (text: string, zone = "UTC", days = 1, more = {}): boolean =>
      isReminderDue({ ...order, ...more }, order.ends_at, { days, now_millis: Date.parse(`2026-06-${text}Z`), zone })
    expect([at("23T23:59:59"), at("24T00:00:00")]).toEqual([false, true])
    expect([at("24T23:59:59", "UTC", 0), at("25T00:00:00", "UTC", 0)]).toEqual([false, true])
    expect([at("23T11:59:59", "Pacific/Auckland"), at("23T12:00:00", "Pacific/Auckland")]).toEqual([false, true])
    expect(at("24T00:00:00", "UTC", 1, { return_reminded_for: order.ends_at })).toBe(false)
    expect(at("24T00:00:00", "UTC", 1, { return_reminded_for: "2026-06-22T00:00:00.000Z" })).toBe(true)
  })
})

describe.each(engines)("the sweep for goods due back on %s", (engine) => {
  it("records one reminder and queues its mail, and none for returned goods", async () => {
    const serving = await serve(engine)
    onTestFinished(() => serving.close())
    serving.setClock(Date.parse("2026-06-18T10:00:00Z"))
    const must = async (target: string, json?: unknown) => {
      const got = await serving.ask(`/api/v1/${target}`, json === undefined ? {} : { json, method: "POST" })
      expect(got.status, got.text).toBeLessThan(300)
      return got.body
    }
    const { member } = await must("members", { name: "Lender", membership_type: "organisation" })
    const received = async (name: string): Promise<number> => {
      const items = [{ name, quantity: "2" }]
      const { starts_at, ends_at } = order
      const { purchase_order } = await must("purchase_orders", { supplier_id: member.id, starts_at, ends_at, items })
      await must(`purchase_orders/${purchase_order.id}/send`, {})
      const [line] = (await must(`purchase_orders/${purchase_order.id}?include=items`)).purchase_order.items
      await must(`purchase_orders/${purchase_order.id}/receive`, { lines: [{ item_id: line.id, quantity: "2" }] })
      return purchase_order.id
    }
    const kept = await received("Crane")
    const gone = await received("Forklift")
    await must(`purchase_orders/${gone}/return`, {})
    const swept = (serve: Serving): Promise<unknown> =>
      serve.run(ranOnce(returnSweep.kind, { due_at: "2026-06-24T00:12:00.000Z" }))
    const rows = (sql: string) => serving.run(Effect.flatMap(Store, (store) => store.run<{ text: string }>(sql)))
    serving.setClock(Date.parse("2026-06-23T10:00:00Z"))
    expect(await swept(serving)).toEqual({ reminded: 0 })
    serving.setClock(Date.parse("2026-06-24T10:00:00Z"))
    expect(await swept(serving)).toEqual({ reminded: 1 })
    expect(await swept(serving)).toEqual({ reminded: 0 })
    const told = await rows("select stream as text from journal where type = 'purchase_order.return_due'")
    expect(told.map(({ text }) => text)).toEqual([`purchase_order:${kept}`])
    const mails = JSON.stringify(await rows("select element as text from effect_queue"))
    expect(mails).toContain("2 x Crane")
    expect(mails).not.toContain("Forklift")
  })
})
