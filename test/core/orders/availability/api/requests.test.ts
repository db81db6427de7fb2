import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, errorKeys, itFoldsAgain } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import type { Answer } from "../../../../rental-house.ts"

describe.each(engines)("availability requests on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const ask = async (query: object, path = "/availability") =>
    w.get(
      `${path}?${new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]))}`
    )
  const point = async (product_id: number, date: string, store_id = S) =>
    (await ask({ product_id, store_id, date })).body.availability
  const range = async (product_id: number, from: string, to: string, store_id = S) =>
    (await ask({ product_id, store_id, from, to })).body.availability

  describe("at one moment", () => {
    it("read a plain date as the store's day, and return the store's day of an instant", async () => {
      const york = await w.store({ timezone: "America/New_York" })
      const P = await w.bulk(york, 10)
      await demandOver(w.app, P.id, york, 4, "2026-07-02T04:00:00.000Z", "2026-07-03T04:00:00.000Z")
      expect(await point(P.id, "2026-07-02", york)).toMatchObject({ date: "2026-07-02", available: 6 })
      expect(await point(P.id, "2026-07-01", york)).toMatchObject({ date: "2026-07-01", available: 10 })
      expect(await point(P.id, "2026-07-03T03:59:00Z", york)).toMatchObject({ date: "2026-07-02", available: 6 })
      expect(await point(P.id, "2026-07-02T03:59:00Z", york)).toMatchObject({ date: "2026-07-01", available: 10 })
    })
    it("return zeros for a deleted product by id, and are 404 on its path", async () => {
      const P = await w.bulk(S, 10)
      await w.remove(`/products/${P.id}`)
      expect(await point(P.id, "2026-07-02")).toMatchObject({ total_stock: 0, total_demanded: 0, available: 0 })
      expect((await ask({ store_id: S, date: "2026-07-02" }, `/products/${P.id}/availability`)).status).toBe(404)
    })
  })

  describe("over a range", () => {
    it("return slots for a product that this store once reserved, even if the demand is outside the range", async () => {
      const T = await w.store()
      const P = await w.bulk(S, 5)
      await demandOver(w.app, P.id, T, 1, "06-20", "06-21")
      expect((await range(P.id, "2026-08-01", "2026-08-03", T)).slots.map((slot) => slot.available)).toEqual([0, 0])
    })
    it("return zeros at stores that the product's stock has left, and no slots at stores that never had any", async () => {
      const [T, U] = [await w.store(), await w.store()]
      const [P, Q] = [await w.units(T, 1), await w.units(T, 1)]
      const slots = async (product_id: number, store_id: number, more = "") =>
        await w.show(`/availability?product_id=${product_id}&store_id=${store_id}&from=2026-06-20&to=2026-06-22${more}`)
      w.app.setClock("2026-06-18T13:00:00.000Z")
      expect((await w.remove(`/stock_levels/${P.units[0]}`)).status).toBe(204)
      expect((await w.put(`/stock_levels/${Q.units[0]}`, { store_id: U })).status).toBe(200)
      w.app.setClock("2026-06-18T14:00:00.000Z")
      const nothing = { total_stock: 0, total_demanded: 0, available: 0 }
      const none = { ...nothing, demand_breakdown: {}, pending_checkin_quantity: 0 }
      for (const [id, store, as_of] of [
        [P.id, T, ""],
        [Q.id, T, ""],
        [P.id, T, "&as_of=2026-06-18T13:30:00Z"],
        [Q.id, T, "&as_of=2026-06-18T13:30:00Z"]
      ] as const) {
        const found = await slots(id, store, as_of)
        const { calculated_at, max_available, min_available } = found
        expect([id, min_available, max_available, calculated_at]).toEqual([id, 0, 0, expect.any(String)])
        expect(found.slots).toEqual(
          ["2026-06-20", "2026-06-21"].map((day) => ({ slot_start: `${day}T00:00:00.000Z`, ...none }))
        )
      }
      expect((await slots(Q.id, U)).slots.map((slot) => slot.available)).toEqual([1, 1])
      expect((await slots(P.id, T, "&as_of=2026-06-18T12:30:00Z")).slots.map((slot) => slot.available)).toEqual([1, 1])
      for (const [id, store, as_of] of [
        [P.id, U, ""],
        [P.id, S, ""],
        [P.id, U, "&as_of=2026-06-18T13:30:00Z"],
        [Q.id, S, ""]
      ] as const) {
        expect(await slots(id, store, as_of)).toMatchObject({ slots: [], min_available: null, calculated_at: null })
      }
      const { calendar } = (await w.get(`/availability/calendar?store_id=${T}&from=2026-06-20&to=2026-06-20`)).body
      expect(calendar.products.map((one) => [one.product_id, one.days[0].available])).toEqual([
        [P.id, 0],
        [Q.id, 0]
      ])
      await w.remove(`/products/${P.id}`)
      expect((await w.show(`/availability/calendar?store_id=${T}&from=2026-06-20&to=2026-06-20`)).products.length).toBe(
        1
      )
      w.app.setClock("2026-06-18T12:00:00.000Z")
    })
    it("return slots at a store where only a product merged into the requested one had stock", async () => {
      const T = await w.store()
      const [P, Q] = [await w.units(S, 1), await w.units(T, 1)]
      expect((await w.post(`/products/${P.id}/merge`, { secondary_id: Q.id })).status).toBe(200)
      expect((await w.remove(`/stock_levels/${Q.units[0]}`)).status).toBe(204)
      expect((await range(P.id, "2026-06-20", "2026-06-21", T)).slots).toMatchObject([{ total_stock: 0, available: 0 }])
    })
  })

  describe("invalid availability requests", () => {
    it.each([
      ["no parameters", {}, ["date", "product_id", "store_id"]],
      ["a range without its end", { product_id: 1, store_id: 1, from: "2026-07-01" }, ["to"]],
      ["a range without its start", { product_id: 1, store_id: 1, to: "2026-07-01" }, ["from"]],
      [
        "a date with a range",
        { product_id: 1, store_id: 1, date: "2026-07-01", from: "2026-07-01", to: "2026-07-02" },
        ["from", "to"]
      ],
      ["a date with half a range", { product_id: 1, store_id: 1, date: "2026-07-01", to: "2026-07-02" }, ["to"]],
      ["a reversed range", { product_id: 1, store_id: 1, from: "2026-07-02", to: "2026-07-01" }, ["to"]],
      ["words as ids and dates", { product_id: "x", store_id: "y", date: "soon" }, ["date", "product_id", "store_id"]],
      ["unknown ids", { product_id: 99_999, store_id: 99_999, date: "2026-07-01" }, ["product_id", "store_id"]],
      ["a day that does not exist", { product_id: 1, store_id: 1, from: "2026-02-30", to: "2026-03-01" }, ["from"]],
      ["empty values", { product_id: "", store_id: "", date: "" }, ["date", "product_id", "store_id"]]
    ])("are rejected for %s", async (_, query, keys) => {
      if ("product_id" in query && query.product_id === 1) await w.bulk(S, 1)
      expect(errorKeys(await ask(query))).toEqual([422, keys])
    })
    it("are 404 for an unknown product in the path, before permissions are checked", async () => {
      const nobody = viewerWith([], [])
      expect((await w.get("/products/99999/availability", nobody)).status).toBe(404)
      expect((await w.get("/products/x/available-assets", nobody)).status).toBe(404)
    })
    it("are 404 for an unknown or deleted product in the path, whatever else is wrong with them", async () => {
      const P = await w.bulk(S, 1)
      await w.remove(`/products/${P.id}`)
      const moments = [{ date: "2026-07-01" }, { from: "2026-07-01", to: "2026-07-02" }]
      const faults = [{}, { from: "2026-07-02", to: "2026-07-01T23:00:00Z" }, { date: "2026-07-01", store_id: 99_999 }]
      for (const id of [P.id, 99_999])
        for (const path of [`/products/${id}/availability`, `/availability/${id}/gantt`])
          for (const query of [...moments, { ...moments[0], as_of: "2026-06-18T11:00:00Z" }, ...faults]) {
            const { body, status } = await ask({ store_id: S, ...query }, path)
            expect([path, query, status, body]).toEqual([path, query, 404, { message: "No such product." }])
          }
    })
    it("are rejected for an unknown product before their dates are compared with the store's clock", async () => {
      const reversed = { from: "2026-07-02", to: "2026-07-01T23:00:00Z" }
      expect(errorKeys(await ask({ product_id: 99_999, store_id: S, ...reversed }))).toEqual([422, ["product_id"]])
    })
    it("are 403 without availability.view or availability:read, before dates are checked", async () => {
      const P = await w.bulk(S, 1)
      for (const path of ["/availability", `/products/${P.id}/availability`, `/products/${P.id}/available-assets`]) {
        expect((await w.get(path, viewerWith(["availability.view"], ["stock:read"]))).status).toBe(403)
        expect((await w.get(path, viewerWith(["stock.view"], ["availability:read"]))).status).toBe(403)
        expect((await w.get(path, viewerWith(["availability.view"], ["availability:read"]))).status).toBe(422)
      }
    })
  })

  describe("free units of a product", () => {
    const free = async (product: number, query: object) =>
      ask({ store_id: S, ...query }, `/products/${product}/available-assets`)
    const ids = (reply: Answer) => reply.body.available_assets.map((one) => one.id)

    it("are listed by page", async () => {
      const P = await w.units(S, 3)
      const second = await free(P.id, { from: "2026-07-10", to: "2026-07-12", per_page: 1, page: 2 })
      expect([ids(second), second.body.meta]).toEqual([[P.units[1]], { total: 3, per_page: 1, page: 2 }])
    })
    it.each([
      ["no parameters", {}, ["from", "store_id", "to"]],
      ["a reversed window", { from: "2026-07-02", to: "2026-07-01" }, ["to"]],
      ["an instant before the plain date", { from: "2026-07-02", to: "2026-07-01T23:00:00Z" }, ["to"]],
      ["pages out of range", { from: "2026-07-01", to: "2026-07-02", per_page: 101, page: 0 }, ["page", "per_page"]],
      ["zero rows per page", { from: "2026-07-01", to: "2026-07-02", per_page: 0 }, ["per_page"]],
      ["words as ids and dates", { from: "x", to: "y", store_id: "z" }, ["from", "store_id", "to"]]
    ])("cannot be requested with %s", async (_, query, keys) => {
      const P = await w.units(S, 1)
      const asked = keys.includes("store_id") ? query : { store_id: S, ...query }
      expect(errorKeys(await ask(asked, `/products/${P.id}/available-assets`))).toEqual([422, keys])
    })
  })

  itFoldsAgain(w)
})
