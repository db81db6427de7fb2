/** Time-based effects over HTTP: expiring request logs and overdue invoices. Servers check the clock each minute. */
import { describe, it, type onTestFinished } from "vitest"
import { type Engine, engines } from "../app.ts"
import { type Books, day, minute, openBooks, times } from "./billing-black-box.ts"
import { share } from "../share.ts"

const minutes = { timeout: 200_000, interval: 1_000 }

// Each waits for minutes of real time and uses little CPU, so they run in parallel, each with its own company.
describe.concurrent.each(share(engines))("a server whose clock moves on by days, on %s,", (engine: Engine) => {
  const openHere = async (finished: typeof onTestFinished): Promise<Books> => {
    const house = await openBooks(engine)
    finished(() => house.close())
    return house
  }

  it("notifies only users who may see invoices, once per overdue invoice", async ({ expect, onTestFinished }) => {
    const house = await openHere(onTestFinished)
    const [ann, blind] = [await house.person(["invoices.view"]), await house.person(["products.view"])]
    const { number } = await house.issued({ due_at: "2026-06-20" })
    const told = async () => (await house.inbox(ann)).filter((row) => row.notification_type === "invoice.overdue")
    expect(await told()).toEqual([])
    // The server reads its clock each real minute; time continues from when it notices the change.
    const toldLater = async () => {
      house.later(10 * minute)
      return told()
    }
    house.later(5 * day)
    await expect.poll(async () => (await toldLater()).length, minutes).toBe(1)
    expect(JSON.stringify(await told())).toContain(String(number))
    const other = await house.issued({ due_at: house.instant() })
    house.later(2 * day)
    await expect.poll(async () => JSON.stringify(await toldLater()).includes(String(other.number)), minutes).toBe(true)
    expect((await told()).length).toBe(2)
    expect(await house.inbox(blind)).toEqual([])
  }, 420_000)

  it("keeps request logs for 90 days, and sums of usage longer", async ({ expect, onTestFinished }) => {
    const house = await openHere(onTestFinished)
    const [old, young] = [await house.token(), await house.token()]
    const first = house.instant().slice(0, 10)
    await times(3, () => house.by(old, "GET", "/products"))
    house.later(10 * day)
    await times(2, () => house.by(young, "GET", "/products"))
    const of = async (id: number) => (await house.logs({ "q[personal_access_token_id_eq]": id })).length
    house.later(79 * day)
    expect([await of(old.id), await of(young.id)]).toEqual([3, 2])
    house.later(2 * day + minute)
    // Time continues from when the server notices the change, so less than ten days lie between the two.
    const laterOf = async () => {
      house.later(20 * minute)
      return of(old.id)
    }
    await expect.poll(laterOf, minutes).toBe(0)
    expect(await of(young.id)).toBe(2)
    const usage = await house.usage({ window: "custom", from: first, to: first, token_id: old.id })
    expect(usage.meta.totals).toEqual({ request_count: 3, weighted_units: 3 })
  }, 420_000)
})
