/** Conflicts that say whose order they are about, and ways out that work as they are shown. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Device, ResolutionRequest } from "../../../../sync/device/device.ts"
import { daysInWords } from "../../../../core/conflicts/days.ts"
import { type AskFacts, tradeWays } from "../../../../core/conflicts/ways.ts"
import { engines } from "../../../app.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "../../filling.ts"
import type { Must } from "../../people.ts"

describe.each(engines)("ways out of a shortage that came up meanwhile, on %s", (engine) => {
  let server: FillTestServer, device: Device, product_id: number, mine: number
  const at: Must = (method, path, body) => server.must(method, path.slice(1), body)
  const here = async (method: string, path: string, body?: any): Promise<any> => {
    const answer = await device.ask({ method, path: `/api/v1${path}`, query: [], body })
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const quotation = async (subject: string, quantity: number, member_id?: number): Promise<number> => {
    const { opportunity } = await at("POST", "/opportunities", {
      subject,
      store_id: 1,
      starts_at: "2030-12-03T09:00:00Z",
      ends_at: "2030-12-05T17:00:00Z",
      ...(member_id === undefined ? {} : { member_id })
    })
    await at("POST", `/opportunities/${opportunity.id}/items`, { name: "Robe Pointe", item_id: product_id, quantity })
    await at("POST", `/opportunities/${opportunity.id}/convert_to_quotation`)
    return opportunity.id
  }

  /** Six in stock, all of them wanted by Sam's order; somebody else orders two before it is sent. */
  beforeEach(async () => {
    server = await openFillTestServer(engine)
    await at("PUT", "/stores/1", { shortage_policy: "block" })
    const sam = await server.letIn({ name: "Sam", roles: ["Sales"] })
    product_id = (await at("POST", "/products", { name: "Robe Pointe", stock_method: 1 })).product.id
    await at("POST", "/stock_levels", { product_id, store_id: 1, quantity_held: 6, stock_category: 10 }).catch(
      async () => {
        const { product } = await at("GET", `/products/${product_id}?include=stock_levels`)
        await at("PUT", `/stock_levels/${product.stock_levels[0].id}`, { quantity_held: 6 })
      }
    )
    const { member } = await at("POST", "/members", { name: "Acme Ltd", membership_type: "organisation" })
    mine = await quotation("Summer Fest", 6, member.id)
    const theirs = await quotation("Winter Ball", 2)
    device = await enrolledDevice(server, "one", sam.token)
    await here("POST", `/opportunities/${mine}/convert_to_order`, {})
    await at("POST", `/opportunities/${theirs}/convert_to_order`)
    expect(await device.sync()).toMatchObject({ rejected: 1 })
  })
  afterEach(async () => {
    await device?.close()
    await server?.close()
  })
  const settle = async (how: ResolutionRequest) => {
    const [conflict] = await device.conflicts()
    const answer = await device.resolve(conflict!.id, how)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    await device.sync()
    expect(await device.conflicts()).toEqual([])
    return (await at("GET", `/opportunities/${mine}?include=items`)).opportunity
  }

  it("says who wanted what for whom, and what would do", async () => {
    const [conflict] = await device.conflicts()
    expect(conflict!.intent).toMatch(
      /^Sam wanted to make an order of quotation \d+ Summer Fest for Acme Ltd, 3–5 Dec 2030$/
    )
    expect(conflict!.about).toMatchObject({
      person: "Sam",
      order: { id: mine, name: "Summer Fest" },
      customer: { name: "Acme Ltd" }
    })
    expect(conflict!.ways_out).toMatchObject([
      { way: "reduce", command: "flightcase sync resolve 1 --reduce-to 4", quantity: 4 },
      {
        way: "dates",
        command: expect.stringMatching(/^flightcase sync resolve 1 --dates 2030-12-0\d.+[.][.]2030-12-/)
      },
      { way: "waitlist", command: "flightcase sync resolve 1 --waitlist" },
      { way: "drop", command: "flightcase sync resolve 1 --drop" }
    ])
  })
  it.each<ResolutionRequest>([
    { reduce_to: "free" },
    { reduce_to: 4 },
    { dates: { starts_at: "2030-12-13T09:00:00Z", ends_at: "2030-12-15T17:00:00Z" } },
    { waitlist: true },
    { drop: true }
  ])("plans %j, and writes nothing", async (how) => {
    const [conflict] = await device.conflicts()
    const before = [await device.status(), await here("GET", `/opportunities/${mine}`)]
    const planned = await device.resolve(conflict!.id, how, { plan: true })
    expect(planned.status, JSON.stringify(planned.body)).toBeLessThan(300)
    expect(planned.command).toBeUndefined()
    const types = planned.events!.map(({ type }) => type)
    if ("reduce_to" in how) expect(types).toContain("opportunity.item_quantity_changed")
    if ("dates" in how) expect(types).toContain("opportunity.extended")
    if ("reduce_to" in how || "dates" in how) expect(types).toContain("opportunity.converted_to_order")
    expect([await device.status(), await here("GET", `/opportunities/${mine}`)]).toEqual(before)
    expect(await device.conflicts()).toEqual([conflict])
    const { rejected, sent } = await device.sync()
    expect([sent, rejected]).toEqual([0, 0])
    expect(await device.conflicts()).toMatchObject([{ id: conflict!.id }])
  })
  it("refuses a plan that does not hold", async () => {
    const [conflict] = await device.conflicts()
    const planned = await device.resolve(conflict!.id, { reduce_to: 5 }, { plan: true })
    expect(planned.status).toBe(422)
    expect(await device.status()).toMatchObject({ pending: 0, conflicts: 1 })
  })
  it("asks for what is free", async () => {
    const order = await settle({ reduce_to: 4 })
    expect([order.state, order.has_shortage, order.items[0].quantity]).toEqual([2, false, "4.00"])
  })
  it("moves to when all of it is free", async () => {
    const [conflict] = await device.conflicts()
    const { ends_at = "", starts_at = "" } = conflict!.ways_out.find(({ way }) => way === "dates")!
    const order = await settle({ dates: { starts_at, ends_at } })
    expect([order.state, order.has_shortage, order.starts_at]).toEqual([2, false, starts_at])
    expect(Date.parse(ends_at) - Date.parse(starts_at)).toBe(56 * 3_600_000)
  })
  it("waits for what is short, as the quotation it was", async () => {
    const order = await settle({ waitlist: true })
    expect(order.state).toBe(1)
    const { shortage_waits } = await at("GET", "/shortage_waits")
    expect(shortage_waits).toMatchObject([{ opportunity_id: mine, quantity: 2 }])
  })
})

describe("other dates for an order that is short", () => {
  it("are days later by the store's clock, from and to the same times of day, also where the clocks change", async () => {
    const asked: Array<{ readonly from: string; readonly duration_minutes: number }> = []
    const free_from = Date.parse("2027-03-13T12:00:00Z")
    const facts: AskFacts = async ({ body, path }) => {
      if (path.endsWith("/shortages"))
        return {
          status: 200,
          body: { shortages: [{ product_name: "Robe", remaining_shortfall: 1, available_quantity: 0 }] }
        }
      if (path.startsWith("/api/v1/stores/")) return { status: 200, body: { store: { timezone: "America/New_York" } } }
      if (!path.endsWith("/earliest_fit")) return { status: 200, body: { opportunity } }
      const sent = body as any
      asked.push(sent)
      const starts_at = new Date(Math.max(free_from, Date.parse(sent.from))).toISOString()
      return { status: 200, body: { earliest_fit: { window: { starts_at } } } }
    }
    // Three whole days in New York, where the night to 14 March 2027 has an hour less.
    const dates = { starts_at: "2027-03-11T05:00:00.000Z", ends_at: "2027-03-14T04:59:59.000Z" }
    const opportunity = { id: 1, store_id: 1, ...dates, items: [{ item_id: 7, quantity: "1", ...dates }] }
    const order = { id: 1, name: "Fest", number: null, store_id: 1, state_name: "Quotation", ...dates }
    const about = { person: null, order, customer: null, product: null, units: [], container: null, quantity: null }
    const command = {
      ...{ name: "opportunities.convert_to_order", summary: "", params: { id: "1" }, body: {}, named: [] },
      ...{ errors: { shortages: ["short"] }, remembered: {} }
    }
    const ways = await tradeWays({ facts, fits: async () => false }, command, about)
    expect(ways.find(({ way }) => way === "dates")).toMatchObject({
      starts_at: "2027-03-14T05:00:00.000Z",
      ends_at: "2027-03-17T03:59:59.000Z"
    })
    expect(asked).toHaveLength(2)
  })
})

describe("days of a hire in words", () => {
  it.each([
    ["2026-12-03T09:00:00Z", "2026-12-05T17:00:00Z", "3–5 Dec"],
    ["2026-11-30T09:00:00Z", "2026-12-02T17:00:00Z", "30 Nov – 2 Dec"],
    ["2026-12-31T09:00:00Z", "2027-01-02T17:00:00Z", "31 Dec 2026 – 2 Jan 2027"],
    ["2027-12-03T09:00:00Z", "2027-12-03T17:00:00Z", "3 Dec 2027"],
    ["2026-12-03T09:00:00Z", null, "from 3 Dec on"]
  ])("%s to %s", (from, to, words) => {
    expect(daysInWords(from, to, "UTC", "2026-11-23T09:00:00Z")).toBe(words)
  })
})
