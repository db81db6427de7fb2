/** Dates and days in the texts of resolutions. */
import { describe, expect, it } from "vitest"
import { daysInWords } from "../../../../core/offline/conflicts/intent.ts"
import { type AskFacts, tradeWays } from "../../../../core/offline/conflicts/ways.ts"

describe("other dates for a short order", () => {
  it("are whole days later by the store's clock, at the same times of day, across a clock change", async () => {
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
    // Three whole days in New York; the night to 14 March 2027 is an hour shorter.
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
  ])('name the days from %s to %s as "%s"', (from, to, words) => {
    expect(daysInWords(from, to, "UTC", "2026-11-23T09:00:00Z")).toBe(words)
  })
})
