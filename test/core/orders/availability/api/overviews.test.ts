import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, errorKeys, refused } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import type { Body } from "../../../../answers.ts"

describe.each(engines)("availability over many days on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const span = (from: string, to: string) => `from=2026-${from}&to=2026-${to}`
  const calendar = (store: number, from: string, to: string, ...products: ReadonlyArray<number>) =>
    w.show(
      `/availability/calendar?store_id=${store}&${span(from, to)}${products.map((id) => `&product_ids[]=${id}`).join("")}`
    )
  const gantt = (product: number, from: string, to: string, ...assets: ReadonlyArray<number>) =>
    w.show(
      `/availability/${product}/gantt?store_id=${S}&${span(from, to)}${assets.map((id) => `&asset_ids[]=${id}`).join("")}`
    )

  describe("the calendar", () => {
    it("shows a deleted product, without a name, only on days on which it has demands", async () => {
      const T = await w.store()
      const P = await w.bulk(T, 3)
      await demandOver(w.app, P.id, T, 1, "07-01", "07-02")
      await w.remove(`/products/${P.id}`)
      expect((await calendar(T, "07-05", "07-06")).products).toEqual([])
      expect((await calendar(T, "07-01", "07-01")).products).toMatchObject([{ product_id: P.id, product_name: null }])
    })
  })

  describe("the chart", () => {
    it("sorts unit demands by unit, and filters them by asset_ids", async () => {
      const P = await w.units(S, 2)
      for (const asset_id of [...P.units].reverse()) await demandOver(w.app, P.id, S, 1, "07-05", "07-06", { asset_id })
      const rows = (found: Body["gantt"]) => found.demands.map((one) => one.asset_id)
      expect(rows(await gantt(P.id, "07-01", "07-10"))).toEqual(P.units)
      expect(rows(await gantt(P.id, "07-01", "07-10", P.units[1]!))).toEqual([P.units[1]])
    })
  })

  describe("the list of shortages", () => {
    it("lists short days by page, of the default stores unless one is named", async () => {
      const [A, B, C] = [await w.store(), await w.store(), await w.store({ include_in_default_queries: false })]
      const P = await w.bulk(A, 1)
      await demandOver(w.app, P.id, A, 3, "09-01", "09-02")
      await demandOver(w.app, P.id, B, 9, "09-01", "09-03")
      await demandOver(w.app, P.id, C, 5, "09-01", "09-02")
      const sweep = async (more = "") => (await w.get(`/availability/shortages?${span("09-01", "09-30")}${more}`)).body
      const all = await sweep()
      expect(all.shortages.map((row) => [row.store_id, row.date, row.severity])).toEqual([
        [A, "2026-09-01", 2],
        [B, "2026-09-01", 9],
        [B, "2026-09-02", 9]
      ])
      const second = await sweep("&per_page=2&page=2")
      expect([second.shortages.length, second.meta]).toEqual([1, { total: 3, per_page: 2, page: 2 }])
      expect((await sweep(`&store_id=${C}`)).shortages.length).toBe(1)
    })
  })

  describe("invalid requests", () => {
    const days = "&from=2026-01-01&to=2026-01-02"
    it.each<readonly [string, string, ReadonlyArray<string>]>([
      ["a chart without parameters", "P/gantt", ["from", "store_id", "to"]],
      ["an explanation without parameters", "why", ["date", "product_id", "store_id"]],
      ["a reversed calendar", "calendar?store_id=1&from=2026-02-01&to=2026-01-01", ["to"]],
      ["a comma-separated product id that is a word", `calendar?store_id=1${days}&product_ids=5,x`, ["product_ids.1"]],
      ["a repeated product id that is a word", `calendar?store_id=1${days}&product_ids[]=x`, ["product_ids.0"]],
      ["shortages of an unknown store", `shortages?store_id=99999${days}`, ["store_id"]],
      ["too many rows per page", `shortages?per_page=201${days}`, ["per_page"]]
    ])("are rejected for %s", async (_, path, fields) => {
      const product = await w.serialised()
      await refused(w.get(`/availability/${path.replace("P", String(product))}`), ...fields)
    })
    it("are 403 without availability.view or availability:read", async () => {
      const P = await w.units(S, 0)
      for (const path of ["calendar", "shortages", `${P.id}/gantt`, "why"]) {
        const get = (viewer: ReturnType<typeof viewerWith>) => w.get(`/availability/${path}`, viewer)
        expect((await get(viewerWith(["availability.view"], ["stock:read"]))).status).toBe(403)
        expect((await get(viewerWith(["stock.view"], ["availability:read"]))).status).toBe(403)
        expect((await get(viewerWith(["availability.view"], ["availability:read"]))).status).toBe(422)
      }
    })
  })
  it("is limited to span_max_days in calendars, charts, shortages, plans and searches, but not in ranges", async () => {
    const P = await w.units(S, 1)
    const set = (span_max_days: unknown) => w.put("/settings/availability", { settings: { span_max_days } })
    const line = { product_id: P.id }
    const search = { store_id: S, lines: [line], from: "2026-07-01" }
    const ends = async (to: string) => {
      const span = `from=2026-07-01&to=${to}`
      return await Promise.all([
        w.get(`/availability/calendar?store_id=${S}&${span}`),
        w.get(`/availability/${P.id}/gantt?store_id=${S}&${span}`),
        w.get(`/availability/shortages?${span}`),
        w.post("/availability/what_if", { store_id: S, lines: [{ ...line, starts_at: "2026-07-01", ends_at: to }] }),
        w.post("/availability/earliest_fit", { ...search, until: to, duration_days: 1 })
      ])
    }
    const wrong_fields = ["to", "to", "to", "lines.0.ends_at", "until"]
    expect((await w.show("/settings/availability")).span_max_days).toBe(366)
    for (const wrong of [0, -1, 3_661, 1.5, "many"])
      expect([wrong, errorKeys(await set(wrong))]).toEqual([wrong, [422, ["settings.span_max_days", "span_max_days"]]])
    expect((await set(7)).body.settings.span_max_days).toBe(7)
    expect((await ends("2026-07-08")).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const longer = await ends("2026-07-10")
    expect(longer.map(errorKeys)).toEqual(wrong_fields.map((key) => [422, [key]]))
    for (const [at, { body }] of longer.entries()) {
      expect(body.errors[wrong_fields[at]!][0]).toContain(" 7 days")
      expect(body.errors[wrong_fields[at]!][0]).toContain("availability.span_max_days")
    }
    for (const [field, most] of [
      ["duration_days", 7],
      ["duration_minutes", 7 * 1_440]
    ] as const)
      await refused(w.post("/availability/earliest_fit", { ...search, until: "2026-07-05", [field]: most + 1 }), field)
    await set(500)
    expect((await ends("2027-10-01")).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    // A range of one product has no such limit.
    await set(1)
    expect((await w.get(`/availability?product_id=${P.id}&store_id=${S}&from=2026-07-01&to=2026-08-01`)).status).toBe(
      200
    )
    await set(366)
  })
})
