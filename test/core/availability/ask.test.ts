import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

describe.each(engines)("availability on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const ask = async (query: object, path = "/availability") =>
    app.call(
      "GET",
      `/api/v1${path}?${new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]))}`
    )
  const point = async (product_id: number, date: string, store_id = S) =>
    (await ask({ product_id, store_id, date })).body.availability
  const range = async (product_id: number, from: string, to: string, store_id = S) =>
    (await ask({ product_id, store_id, from, to })).body.availability
  const errorKeys = (reply: { status: number; body: any }) => [
    reply.status,
    Object.keys(reply.body.errors ?? {}).sort()
  ]

  describe("at one moment", () => {
    it("A1: is stock less claims", async () => {
      const P = await business.bulk(S, 10)
      await demandOver(app, P.id, S, 4, "07-01", "07-04")
      expect(await point(P.id, "2026-07-02")).toEqual({
        product_id: P.id,
        store_id: S,
        date: "2026-07-02",
        total_stock: 10,
        total_demanded: 4,
        available: 6,
        demand_breakdown: { opportunity_item: 4 }
      })
      expect(
        (await ask({ store_id: S, date: "2026-07-02" }, `/products/${P.id}/availability`)).body.availability.available
      ).toBe(6)
    })
    it("A9: counts serialised rows", async () => {
      const P = await business.units(S, 4)
      expect(await point(P.id, "2026-07-02")).toMatchObject({ total_stock: 4, available: 4, demand_breakdown: {} })
    })
    it("A11: a claim elsewhere in time takes nothing", async () => {
      const P = await business.bulk(S, 10)
      await demandOver(app, P.id, S, 5, "04-10", "04-11")
      expect(await point(P.id, "2026-04-20")).toMatchObject({ total_demanded: 0, available: 10 })
      expect(await point(P.id, "2026-04-10")).toMatchObject({ total_demanded: 5, available: 5 })
    })
    it("A15: an order without an end counts beyond the horizon", async () => {
      const P = await business.bulk(S, 10)
      await demandOver(app, P.id, S, 3, "06-18", null)
      expect(await point(P.id, "2030-01-01")).toMatchObject({ total_demanded: 3, available: 7 })
    })
    it("B7: a unit overdue has no known end", async () => {
      const P = await business.units(S, 1)
      await demandOver(app, P.id, S, 1, "06-10", "06-15T17:00", { asset_id: P.units[0]!, out: true })
      expect(await point(P.id, "2026-06-25")).toMatchObject({ total_stock: 1, total_demanded: 1, available: 0 })
    })
    it("may be negative, and other stores do not count", async () => {
      const P = await business.bulk(S, 2)
      await demandOver(app, P.id, S, 5, "07-01", "07-02")
      await demandOver(app, P.id, 1, 9, "07-01", "07-02")
      expect(await point(P.id, "2026-07-01")).toMatchObject({ total_stock: 2, total_demanded: 5, available: -3 })
    })
    it("a plain date is the day of the store, an instant is an instant", async () => {
      const york = await business.store({ timezone: "America/New_York" })
      const P = await business.bulk(york, 10)
      await demandOver(app, P.id, york, 4, "2026-07-02T04:00:00.000Z", "2026-07-03T04:00:00.000Z")
      expect(await point(P.id, "2026-07-02", york)).toMatchObject({ date: "2026-07-02", available: 6 })
      expect(await point(P.id, "2026-07-01", york)).toMatchObject({ date: "2026-07-01", available: 10 })
      expect(await point(P.id, "2026-07-03T03:59:00Z", york)).toMatchObject({ date: "2026-07-02", available: 6 })
      expect(await point(P.id, "2026-07-02T03:59:00Z", york)).toMatchObject({ date: "2026-07-01", available: 10 })
    })
    it("of a deleted product nothing is counted on the flat path, and its own path is gone", async () => {
      const P = await business.bulk(S, 10)
      await app.call("DELETE", `/api/v1/products/${P.id}`)
      expect(await point(P.id, "2026-07-02")).toMatchObject({ total_stock: 0, total_demanded: 0, available: 0 })
      expect((await ask({ store_id: S, date: "2026-07-02" }, `/products/${P.id}/availability`)).status).toBe(404)
    })
    it("stock with dates counts inside them only", async () => {
      const P = await business.units(S, 1)
      await business.unit(P.id, S, { starts_at: "2026-07-01T00:00:00Z", ends_at: "2026-07-03T00:00:00Z" })
      expect((await point(P.id, "2026-06-30")).total_stock).toBe(1)
      expect((await point(P.id, "2026-07-02")).total_stock).toBe(2)
      expect((await point(P.id, "2026-07-03")).total_stock).toBe(1)
    })
  })

  describe("over a range", () => {
    it("C2: has one slot a day, the end excluded", async () => {
      const P = await business.bulk(S, 7)
      await demandOver(app, P.id, S, 2, "08-10", "08-12")
      const found = await range(P.id, "2026-08-10", "2026-08-12")
      expect(found).toMatchObject({
        product_id: P.id,
        store_id: S,
        from: "2026-08-10T00:00:00.000Z",
        to: "2026-08-12T00:00:00.000Z",
        min_available: 5,
        max_available: 5,
        calculated_at: "2026-06-18T12:00:00.000Z"
      })
      expect(found.slots).toEqual(
        ["2026-08-10", "2026-08-11"].map((day) => ({
          slot_start: `${day}T00:00:00.000Z`,
          total_stock: 7,
          total_demanded: 2,
          available: 5,
          demand_breakdown: { opportunity_item: 2 },
          pending_checkin_quantity: 0
        }))
      )
      expect(await point(P.id, "2026-08-10T06:00Z")).toMatchObject({ total_stock: 7, total_demanded: 2, available: 5 })
    })
    it("C4: speaks of stock never booked", async () => {
      const P = await business.bulk(S, 12)
      const found = await range(P.id, "2026-06-18", "2026-06-21")
      expect(found.slots.length).toBe(3)
      expect(found.slots[0]).toMatchObject({ total_stock: 12, available: 12 })
    })
    it("C8: a claim that is let go takes nothing any more", async () => {
      const P = await business.bulk(S, 10)
      const source = await demandOver(app, P.id, S, 4, "06-20", "06-21")
      expect((await range(P.id, "2026-06-20", "2026-06-21")).slots[0]).toMatchObject({
        total_demanded: 4,
        available: 6
      })
      await demandOver(app, P.id, S, 4, "06-20", "06-21", { phase: "void" }, source)
      expect((await range(P.id, "2026-06-20", "2026-06-21")).slots[0]).toMatchObject({
        total_demanded: 0,
        available: 10
      })
    })
    it("a range begun in the middle of a slot includes the slot in progress", async () => {
      const P = await business.bulk(S, 1)
      expect(
        (await range(P.id, "2026-06-20T15:00:00Z", "2026-06-21T01:00:00Z")).slots.map((slot: any) => slot.slot_start)
      ).toEqual(["2026-06-20T00:00:00.000Z", "2026-06-21T00:00:00.000Z"])
    })
    it("beyond the horizon there is nothing to say", async () => {
      const P = await business.bulk(S, 1)
      expect(await range(P.id, "2031-01-01", "2031-01-05")).toMatchObject({
        min_available: null,
        max_available: null,
        calculated_at: null,
        slots: []
      })
      expect((await range(P.id, "2000-01-01", "2040-01-01")).slots.length).toBe(90 + 365 + 1)
    })
    it("C10: half a day is six hours", async () => {
      const other = await openApp(engine)
      try {
        other.setClock("2026-03-01T00:00:00.000Z")
        await other.call("PUT", "/api/v1/settings/availability", { settings: { resolution: "half_daily" } })
        const P = await sampleBusiness(other).units(1, 1)
        const { body } = await other.call(
          "GET",
          `/api/v1/availability?product_id=${P.id}&store_id=1&from=2026-03-02&to=2026-03-03`
        )
        expect(body.availability.slots.map((slot: any) => slot.slot_start.slice(11, 16))).toEqual([
          "00:00",
          "06:00",
          "12:00",
          "18:00"
        ])
      } finally {
        await other.close()
      }
    })
    it("an untracked product has no slots", async () => {
      const P = await business.bulk(S, 5, { track_availability: false })
      expect((await range(P.id, "2026-06-20", "2026-06-22")).slots).toEqual([])
      expect((await point(P.id, "2026-06-20")).available).toBe(5)
    })
    it("a product this store once promised is known though the claim lies outside the range", async () => {
      const T = await business.store()
      const P = await business.bulk(S, 5)
      await demandOver(app, P.id, T, 1, "06-20", "06-21")
      expect((await range(P.id, "2026-08-01", "2026-08-03", T)).slots.map((slot: any) => slot.available)).toEqual([
        0, 0
      ])
    })
    it("a returned unit waits for its check from the day of its return", async () => {
      const P = await business.units(S, 1)
      await demandOver(app, P.id, S, 1, "06-10", "06-16T10:00", {
        asset_id: P.units[0]!,
        phase: "closed",
        is_active: false,
        pending_checkin: true,
        returned_at: "2026-06-16T10:00:00.000Z"
      })
      const found = await range(P.id, "2026-06-14", "2026-06-20")
      expect(found.slots.map((slot: any) => slot.pending_checkin_quantity)).toEqual([0, 0, 1, 1, 1, 1])
      expect(found.slots.map((slot: any) => slot.available)).toEqual([1, 1, 1, 1, 1, 1])
      expect(found.slots.map((slot: any) => [slot.total_demanded, slot.demand_breakdown])).toEqual(
        [0, 0, 1, 1, 1, 1].map((waiting) => [0, waiting === 0 ? {} : { returned_not_checked: 1 }])
      )
      expect((await point(P.id, "2026-06-17")).demand_breakdown).toEqual({})
      const { body } = await app.call(
        "GET",
        `/api/v1/availability/why?product_id=${P.id}&store_id=${S}&date=2026-06-17`
      )
      expect(body.reasons).toMatchObject({ available: 1, demand_breakdown: { returned_not_checked: 1 } })
    })
    it("a unit that waits for its check stands beside what is claimed, and no longer once it is checked", async () => {
      const P = await business.units(S, 2)
      await demandOver(app, P.id, S, 1, "06-10", "06-20", { asset_id: P.units[1]! })
      const returned = {
        asset_id: P.units[0]!,
        phase: "closed",
        is_active: false,
        returned_at: "2026-06-16T10:00:00.000Z"
      } as const
      await demandOver(app, P.id, S, 1, "06-10", "06-16T10:00", {
        ...returned,
        pending_checkin: false,
        checked_at: "2026-06-17T09:00:00.000Z"
      })
      expect((await range(P.id, "2026-06-15", "2026-06-19")).slots.map((slot: any) => slot.demand_breakdown)).toEqual([
        { opportunity_item: 1 },
        { opportunity_item: 1, returned_not_checked: 1 },
        { opportunity_item: 1, returned_not_checked: 1 },
        { opportunity_item: 1 }
      ])
    })
    it("a unit that was checked at the moment it came back never waited for its check", async () => {
      const P = await business.units(S, 1)
      await demandOver(app, P.id, S, 1, "06-10", "06-16T10:00", {
        asset_id: P.units[0]!,
        phase: "closed",
        is_active: false,
        pending_checkin: false,
        returned_at: "2026-06-16T10:00:00.000Z",
        checked_at: "2026-06-16T10:00:00.000Z"
      })
      const found = await range(P.id, "2026-06-15", "2026-06-18")
      expect(found.slots.map((slot: any) => slot.demand_breakdown)).toEqual([{}, {}, {}])
      expect(found.slots.map((slot: any) => slot.pending_checkin_quantity)).toEqual([0, 0, 0])
    })
    it("a product whose last stock level was deleted or moved away is 0 of 0 where it was, and unknown where it never was", async () => {
      const [T, U] = [await business.store(), await business.store()]
      const P = await business.units(T, 1),
        Q = await business.units(T, 1)
      const slots = async (product_id: number, store_id: number, more = "") =>
        (
          await app.call(
            "GET",
            `/api/v1/availability?product_id=${product_id}&store_id=${store_id}&from=2026-06-20&to=2026-06-22${more}`
          )
        ).body.availability
      app.setClock("2026-06-18T13:00:00.000Z")
      expect((await app.call("DELETE", `/api/v1/stock_levels/${P.units[0]}`)).status).toBe(204)
      expect((await app.call("PUT", `/api/v1/stock_levels/${Q.units[0]}`, { store_id: U })).status).toBe(200)
      app.setClock("2026-06-18T14:00:00.000Z")
      const none = {
        total_stock: 0,
        total_demanded: 0,
        available: 0,
        demand_breakdown: {},
        pending_checkin_quantity: 0
      }
      for (const [id, store, as_of] of [
        [P.id, T, ""],
        [Q.id, T, ""],
        [P.id, T, "&as_of=2026-06-18T13:30:00Z"],
        [Q.id, T, "&as_of=2026-06-18T13:30:00Z"]
      ] as const) {
        const found = await slots(id, store, as_of)
        expect([id, found.min_available, found.max_available, found.calculated_at]).toEqual([
          id,
          0,
          0,
          expect.any(String)
        ])
        expect(found.slots).toEqual(
          ["2026-06-20", "2026-06-21"].map((day) => ({ slot_start: `${day}T00:00:00.000Z`, ...none }))
        )
      }
      expect((await slots(Q.id, U)).slots.map((slot: any) => slot.available)).toEqual([1, 1])
      expect((await slots(P.id, T, "&as_of=2026-06-18T12:30:00Z")).slots.map((slot: any) => slot.available)).toEqual([
        1, 1
      ])
      for (const [id, store, as_of] of [
        [P.id, U, ""],
        [P.id, S, ""],
        [P.id, U, "&as_of=2026-06-18T13:30:00Z"],
        [Q.id, S, ""]
      ] as const) {
        expect(await slots(id, store, as_of)).toMatchObject({ slots: [], min_available: null, calculated_at: null })
      }
      const { calendar } = (
        await app.call("GET", `/api/v1/availability/calendar?store_id=${T}&from=2026-06-20&to=2026-06-20`)
      ).body
      expect(calendar.products.map((one: any) => [one.product_id, one.days[0].available])).toEqual([
        [P.id, 0],
        [Q.id, 0]
      ])
      await app.call("DELETE", `/api/v1/products/${P.id}`)
      expect(
        (await app.call("GET", `/api/v1/availability/calendar?store_id=${T}&from=2026-06-20&to=2026-06-20`)).body
          .calendar.products.length
      ).toBe(1)
      app.setClock("2026-06-18T12:00:00.000Z")
    })
    it("what was merged into a product counts as its own past", async () => {
      const T = await business.store()
      const P = await business.units(S, 1),
        Q = await business.units(T, 1)
      expect((await app.call("POST", `/api/v1/products/${P.id}/merge`, { secondary_id: Q.id })).status).toBe(200)
      expect((await app.call("DELETE", `/api/v1/stock_levels/${Q.units[0]}`)).status).toBe(204)
      expect((await range(P.id, "2026-06-20", "2026-06-21", T)).slots).toMatchObject([{ total_stock: 0, available: 0 }])
    })
  })

  describe("refuses", () => {
    it.each([
      ["A5: no product and no store", { date: "2026-07-02" }, ["product_id", "store_id"]],
      ["A7: no date", { product_id: 1, store_id: 1 }, ["date"]],
      ["nothing at all", {}, ["date", "product_id", "store_id"]],
      ["a range without its end", { product_id: 1, store_id: 1, from: "2026-07-01" }, ["to"]],
      ["a range without its start", { product_id: 1, store_id: 1, to: "2026-07-01" }, ["from"]],
      [
        "a date with a range",
        { product_id: 1, store_id: 1, date: "2026-07-01", from: "2026-07-01", to: "2026-07-02" },
        ["from", "to"]
      ],
      ["a date with half a range", { product_id: 1, store_id: 1, date: "2026-07-01", to: "2026-07-02" }, ["to"]],
      ["a range reversed", { product_id: 1, store_id: 1, from: "2026-07-02", to: "2026-07-01" }, ["to"]],
      ["words", { product_id: "x", store_id: "y", date: "soon" }, ["date", "product_id", "store_id"]],
      ["unknown ids", { product_id: 99_999, store_id: 99_999, date: "2026-07-01" }, ["product_id", "store_id"]],
      ["a day that does not exist", { product_id: 1, store_id: 1, from: "2026-02-30", to: "2026-03-01" }, ["from"]],
      ["empty values", { product_id: "", store_id: "", date: "" }, ["date", "product_id", "store_id"]]
    ])("%s", async (_, query, keys) => {
      if ((query as any).product_id === 1) await business.bulk(S, 1)
      expect(errorKeys(await ask(query))).toEqual([422, keys])
    })
    it("an unknown product in the path before anything else", async () => {
      const nobody = viewerWith([], [])
      expect((await app.call("GET", "/api/v1/products/99999/availability", undefined, nobody)).status).toBe(404)
      expect((await app.call("GET", "/api/v1/products/x/available-assets", undefined, nobody)).status).toBe(404)
    })
    it("whoever lacks the permission or the ability, before looking at the dates", async () => {
      const P = await business.bulk(S, 1)
      for (const path of ["/availability", `/products/${P.id}/availability`, `/products/${P.id}/available-assets`]) {
        expect(
          (await app.call("GET", `/api/v1${path}`, undefined, viewerWith(["availability.view"], ["stock:read"]))).status
        ).toBe(403)
        expect(
          (await app.call("GET", `/api/v1${path}`, undefined, viewerWith(["stock.view"], ["availability:read"]))).status
        ).toBe(403)
        expect(
          (await app.call("GET", `/api/v1${path}`, undefined, viewerWith(["availability.view"], ["availability:read"])))
            .status
        ).toBe(422)
      }
    })
  })

  describe("of single units", () => {
    const free = async (product: number, query: object) =>
      ask({ store_id: S, ...query }, `/products/${product}/available-assets`)
    const ids = (reply: { body: any }) => reply.body.available_assets.map((one: any) => one.id)

    it("E2: is listed by page", async () => {
      const P = await business.units(S, 3)
      const all = await free(P.id, { from: "2026-07-10", to: "2026-07-12" })
      expect(all.body.meta).toEqual({ total: 3, per_page: 50, page: 1 })
      expect(Object.keys(all.body.available_assets[0])).toEqual([
        "id",
        "item_name",
        "asset_number",
        "serial_number",
        "barcode",
        "location"
      ])
      const second = await free(P.id, { from: "2026-07-10", to: "2026-07-12", per_page: 1, page: 2 })
      expect([ids(second), second.body.meta]).toEqual([[P.units[1]], { total: 3, per_page: 1, page: 2 }])
    })
    it("E4: a claim that has ended, or that only claims a quantity, excludes nobody", async () => {
      const P = await business.units(S, 2)
      await demandOver(app, P.id, S, 1, "07-01", "07-03", { asset_id: P.units[0]! })
      await demandOver(app, P.id, S, 2, "07-10", "07-12")
      expect(ids(await free(P.id, { from: "2026-07-10", to: "2026-07-12" }))).toEqual(P.units)
      expect(ids(await free(P.id, { from: "2026-07-02", to: "2026-07-12" }))).toEqual([P.units[1]])
      expect(ids(await free(P.id, { from: "2026-07-03", to: "2026-07-12" }))).toEqual(P.units)
    })
    it("E6: units of other stores and products are never listed, nor those written off", async () => {
      const P = await business.units(S, 2)
      await business.unit(P.id, 1)
      await business.units(S, 1)
      await business.post(`/products/${P.id}/stock_levels/${P.units[0]}/stock_transactions`, {
        transaction_type: 6,
        quantity: 1
      })
      expect(ids(await free(P.id, { from: "2026-07-10", to: "2026-07-12" }))).toEqual([P.units[1]])
    })
    it("a bulk product has none", async () => {
      const P = await business.bulk(S, 5)
      const reply = await free(P.id, { from: "2026-07-10", to: "2026-07-12" })
      expect([reply.status, reply.body]).toEqual([
        200,
        { available_assets: [], meta: { total: 0, per_page: 50, page: 1 } }
      ])
    })
    it("a window without length is an instant; a unit overdue is not free", async () => {
      const P = await business.units(S, 2)
      await demandOver(app, P.id, S, 1, "07-01T09:00", "07-01T17:00", { asset_id: P.units[0]! })
      await demandOver(app, P.id, S, 1, "06-01", "06-02", { asset_id: P.units[1]!, out: true })
      expect(ids(await free(P.id, { from: "2026-07-01T09:00:00Z", to: "2026-07-01T09:00:00Z" }))).toEqual([])
      expect(ids(await free(P.id, { from: "2026-07-01T17:00:00Z", to: "2026-07-01T17:00:00Z" }))).toEqual([P.units[0]])
    })
    it("the product's own buffers widen what is asked", async () => {
      const P = await business.units(S, 1, { buffer_before_minutes: 120, post_rent_unavailability: 60 })
      await demandOver(app, P.id, S, 1, "07-01T00:00", "07-01T10:00", { asset_id: P.units[0]! })
      expect(ids(await free(P.id, { from: "2026-07-01T11:00:00Z", to: "2026-07-01T13:00:00Z" }))).toEqual([])
      expect(ids(await free(P.id, { from: "2026-07-01T12:00:00Z", to: "2026-07-01T13:00:00Z" }))).toEqual(P.units)
    })
    it.each([
      ["nothing given", {}, ["from", "store_id", "to"]],
      ["a window reversed", { from: "2026-07-02", to: "2026-07-01" }, ["to"]],
      ["a plain date against an instant before it", { from: "2026-07-02", to: "2026-07-01T23:00:00Z" }, ["to"]],
      ["pages out of range", { from: "2026-07-01", to: "2026-07-02", per_page: 101, page: 0 }, ["page", "per_page"]],
      ["no rows a page", { from: "2026-07-01", to: "2026-07-02", per_page: 0 }, ["per_page"]],
      ["words", { from: "x", to: "y", store_id: "z" }, ["from", "store_id", "to"]]
    ])("%s is refused", async (_, query, keys) => {
      const P = await business.units(S, 1)
      const asked = keys.includes("store_id") ? query : { store_id: S, ...query }
      expect(errorKeys(await ask(asked, `/products/${P.id}/available-assets`))).toEqual([422, keys])
    })
  })

  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
