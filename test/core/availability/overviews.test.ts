import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

describe.each(engines)("availability over many days on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const ask = async (path: string, query: ReadonlyArray<readonly [string, unknown]>) =>
    app.call(
      "GET",
      `/api/v1/availability/${path}?${new URLSearchParams(query.map(([key, value]): [string, string] => [key, String(value)]))}`
    )
  const span = (from: string, to: string) =>
    [
      ["from", `2026-${from}`],
      ["to", `2026-${to}`]
    ] as const
  const calendar = async (store: number, from: string, to: string, ...products: ReadonlyArray<number>) =>
    (
      await ask("calendar", [
        ["store_id", store],
        ...span(from, to),
        ...products.map((id) => ["product_ids[]", id] as const)
      ])
    ).body.calendar
  const gantt = async (product: number, from: string, to: string, ...assets: ReadonlyArray<number>) =>
    (
      await ask(`${product}/gantt`, [
        ["store_id", S],
        ...span(from, to),
        ...assets.map((id) => ["asset_ids[]", id] as const)
      ])
    ).body.gantt
  const errorKeys = (reply: { status: number; body: any }) => [
    reply.status,
    Object.keys(reply.body.errors ?? {}).sort()
  ]

  describe("the calendar", () => {
    it("D1: has the lowest of every day, products by id, days by date, both ends included", async () => {
      const T = await business.store()
      const P1 = await business.bulk(T, 10, { name: "PA Speaker" }),
        P2 = await business.bulk(T, 2)
      await demandOver(app, P1.id, T, 3, "07-01", "07-02")
      await demandOver(app, P1.id, T, 5, "07-02", "07-03")
      const found = await calendar(T, "07-01", "07-02")
      expect(found).toMatchObject({ store_id: T, from: "2026-07-01T00:00:00.000Z", to: "2026-07-02T00:00:00.000Z" })
      expect(found.products).toEqual([
        {
          product_id: P1.id,
          product_name: "PA Speaker",
          days: [
            { date: "2026-07-01", available: 7, has_shortage: false, pending_checkin: 0 },
            { date: "2026-07-02", available: 5, has_shortage: false, pending_checkin: 0 }
          ]
        },
        {
          product_id: P2.id,
          product_name: expect.any(String),
          days: [
            { date: "2026-07-01", available: 2, has_shortage: false, pending_checkin: 0 },
            { date: "2026-07-02", available: 2, has_shortage: false, pending_checkin: 0 }
          ]
        }
      ])
      expect((await calendar(T, "07-01", "07-02", P2.id, 99_999)).products.map((one: any) => one.product_id)).toEqual([
        P2.id
      ])
    })
    it("D3: units waiting for their check do not make a shortage", async () => {
      const P = await business.units(S, 4)
      for (const asset_id of P.units.slice(0, 3)) {
        await demandOver(app, P.id, S, 1, "06-10", "06-17T10:00", {
          asset_id,
          phase: "closed",
          is_active: false,
          pending_checkin: true,
          returned_at: "2026-06-17T10:00:00.000Z"
        })
      }
      expect((await calendar(S, "06-18", "06-18", P.id)).products[0].days).toEqual([
        { date: "2026-06-18", available: 4, has_shortage: false, pending_checkin: 3 }
      ])
    })
    it("D9: kits are derived when asked for and do not appear, untracked products neither", async () => {
      const T = await business.store()
      const plain = await business.bulk(T, 1),
        kit = await business.bulk(T, 1),
        part = await business.bulk(T, 1)
      await business.bulk(T, 1, { track_availability: false })
      await business.post(`/products/${kit.id}/components`, { component_product_id: part.id })
      expect((await calendar(T, "07-01", "07-01")).products.map((one: any) => one.product_id)).toEqual([
        plain.id,
        part.id
      ])
      expect((await calendar(T, "07-01", "07-01", kit.id)).products).toEqual([])
    })
    it("a deleted product has no name", async () => {
      const T = await business.store()
      const P = await business.bulk(T, 3)
      await app.call("DELETE", `/api/v1/products/${P.id}`)
      expect((await calendar(T, "07-01", "07-01")).products).toMatchObject([{ product_id: P.id, product_name: null }])
    })
    it("reads the days of its store", async () => {
      const york = await business.store({ timezone: "America/New_York" })
      const P = await business.bulk(york, 3)
      await demandOver(app, P.id, york, 2, "2026-07-02T03:00:00.000Z", "2026-07-02T04:00:00.000Z")
      const found = await calendar(york, "07-01", "07-02")
      expect(found.from).toBe("2026-07-01T04:00:00.000Z")
      expect(found.products[0].days.map((day: any) => [day.date, day.available])).toEqual([
        ["2026-07-01", 1],
        ["2026-07-02", 3]
      ])
      expect(P.id).toBe(found.products[0].product_id)
    })
    it("an overdue unit of a claim long ago is missing today", async () => {
      const T = await business.store()
      const P = await business.units(T, 2)
      await demandOver(app, P.id, T, 1, "04-01", "04-05", { asset_id: P.units[0]!, out: true })
      expect((await calendar(T, "06-18", "06-18")).products[0].days[0].available).toBe(1)
    })
  })

  describe("the chart", () => {
    it("B1: shows the seams of buffers around the hire", async () => {
      const P = await business.units(S, 1)
      const source = await demandOver(app, P.id, S, 1, "08-01T09:00", "08-05T17:00", {
        asset_id: P.units[0]!,
        buffers: { before_minutes: 120, after_minutes: 240 }
      })
      const found = await gantt(P.id, "08-01", "08-10")
      const { serial_number } = (await app.call("GET", `/api/v1/stock_levels/${P.units[0]}`)).body.stock_level
      expect(found).toMatchObject({ product_id: P.id, store_id: S, total_stock: 1, shortages: [] })
      expect(found.demands).toEqual([
        {
          demand_id: expect.any(Number),
          asset_id: P.units[0],
          asset_serial: serial_number,
          quantity: 1,
          source_type: "opportunity_item",
          source_id: source,
          source_name: `Bookings #${source}`,
          colour: "#3B82F6",
          phase: "reserved",
          period_start: "2026-08-01T07:00:00.000Z",
          buffer_before_end: "2026-08-01T09:00:00.000Z",
          buffer_after_start: "2026-08-05T17:00:00.000Z",
          period_end: "2026-08-05T21:00:00.000Z",
          starts_at: "2026-08-01T09:00:00.000Z",
          ends_at: "2026-08-05T17:00:00.000Z"
        }
      ])
    })
    it("orders unit claims by unit and start, quantity claims last; asset_ids keeps those units only", async () => {
      const P = await business.units(S, 2)
      await demandOver(app, P.id, S, 1, "07-01", "07-02")
      await demandOver(app, P.id, S, 1, "07-05", "07-06", { asset_id: P.units[1]! })
      await demandOver(app, P.id, S, 1, "07-03", "07-04", { asset_id: P.units[1]! })
      await demandOver(app, P.id, S, 1, "07-06", "07-07", { asset_id: P.units[0]! })
      await demandOver(app, P.id, S, 1, "07-06", "07-07", { phase: "draft" })
      const rows = (found: any) => found.demands.map((one: any) => [one.asset_id, one.starts_at.slice(5, 10)])
      expect(rows(await gantt(P.id, "07-01", "07-10"))).toEqual([
        [P.units[0], "07-06"],
        [P.units[1], "07-03"],
        [P.units[1], "07-05"],
        [null, "07-01"]
      ])
      expect(rows(await gantt(P.id, "07-01", "07-10", P.units[0]!))).toEqual([[P.units[0], "07-06"]])
      expect(rows(await gantt(P.id, "07-03", "07-03"))).toEqual([[P.units[1], "07-03"]])
    })
    it("D13, D15: shortages are told by day, turnaround alone as such; no known end is the year 2199", async () => {
      const P = await business.bulk(S, 1)
      await demandOver(app, P.id, S, 3, "07-15", "07-16", { buffers: { before_minutes: 0, after_minutes: 1440 } })
      const found = await gantt(P.id, "07-14", "07-20")
      expect(found.shortages).toEqual([
        { from: "2026-07-15", to: "2026-07-15", severity: 2, in_buffer_zone: false },
        { from: "2026-07-16", to: "2026-07-16", severity: 2, in_buffer_zone: true }
      ])
      await demandOver(app, P.id, S, 1, "07-18", null)
      expect((await gantt(P.id, "07-19", "07-20")).demands[0].ends_at).toBe("2199-01-01T00:00:00.000Z")
    })
  })

  describe("the sweep", () => {
    it("D19: lists days short, of one store or of all that count by default", async () => {
      const A = await business.store(),
        B = await business.store(),
        C = await business.store({ include_in_default_queries: false })
      const P = await business.bulk(A, 1)
      for (const [store, level] of [
        [B, 1],
        [C, 1]
      ] as const)
        await business.post("/stock_levels", { product_id: P.id, store_id: store, quantity_held: level })
      await demandOver(app, P.id, A, 3, "09-01", "09-02")
      await demandOver(app, P.id, B, 10, "09-01", "09-03")
      await demandOver(app, P.id, C, 5, "09-01", "09-02")
      const sweep = async (...more: ReadonlyArray<readonly [string, unknown]>) =>
        (await ask("shortages", [...span("09-01", "09-30"), ...more])).body
      const one = await sweep(["store_id", A])
      expect(one.shortages).toEqual([
        {
          product_id: P.id,
          product_name: expect.any(String),
          store_id: A,
          date: "2026-09-01",
          available: -2,
          severity: 2,
          calculated_at: "2026-06-18T12:00:00.000Z"
        }
      ])
      expect(one.meta).toEqual({ total: 1, per_page: 50, page: 1 })
      const all = await sweep()
      expect(all.shortages.map((row: any) => [row.store_id, row.date, row.severity])).toEqual([
        [A, "2026-09-01", 2],
        [B, "2026-09-01", 9],
        [B, "2026-09-02", 9]
      ])
      const second = await sweep(["per_page", 2], ["page", 2])
      expect([second.shortages.length, second.meta]).toEqual([1, { total: 3, per_page: 2, page: 2 }])
      expect((await sweep(["store_id", C])).shortages.length).toBe(1)
    })
  })

  it("D7: hourly, a day is judged by its worst hour", async () => {
    const other = await openApp(engine)
    try {
      other.setClock("2026-05-01T00:00:00.000Z")
      await other.call("PUT", "/api/v1/settings/availability", { settings: { resolution: "hourly" } })
      const P = await sampleBusiness(other).units(1, 2)
      await demandOver(other, P.id, 1, 5, "2026-05-10T09:00:00.000Z", "2026-05-10T10:00:00.000Z")
      const { body } = await other.call("GET", "/api/v1/availability/calendar?store_id=1&from=2026-05-10&to=2026-05-11")
      expect(body.calendar.products[0].days.map((day: any) => [day.available, day.has_shortage])).toEqual([
        [-3, true],
        [2, false]
      ])
      const range = await other.call(
        "GET",
        `/api/v1/availability?product_id=${P.id}&store_id=1&from=2026-05-10&to=2026-05-11`
      )
      expect([
        range.body.availability.slots.length,
        range.body.availability.min_available,
        range.body.availability.max_available
      ]).toEqual([24, -3, 2])
    } finally {
      await other.close()
    }
  })

  it("why: names the stock and the claims behind a number", async () => {
    const P = await business.bulk(S, 5)
    const source = await demandOver(app, P.id, S, 2, "07-01", "07-03")
    await demandOver(app, P.id, S, 2, "07-05", "07-06")
    const { body } = await ask("why", [
      ["product_id", P.id],
      ["store_id", S],
      ["date", "2026-07-02"]
    ])
    expect(body.reasons).toMatchObject({
      available: 3,
      stock_level_ids: [P.level],
      claims: [{ source_id: source, quantity: 2, is_overdue: false }],
      parts: []
    })
    expect(body.reasons.claims.length).toBe(1)
  })

  describe("refuses", () => {
    it.each([
      ["D5: a calendar of nothing", "calendar", [], ["from", "store_id", "to"]],
      ["D21: a sweep of nothing", "shortages", [], ["from", "to"]],
      ["a chart of nothing", "P/gantt", [], ["from", "store_id", "to"]],
      ["why of nothing", "why", [], ["date", "product_id", "store_id"]],
      [
        "a calendar of more than 366 days",
        "calendar",
        [
          ["store_id", 1],
          ["from", "2026-01-01"],
          ["to", "2027-01-03"]
        ],
        ["to"]
      ],
      [
        "a chart of more than 366 days",
        "P/gantt",
        [
          ["store_id", 1],
          ["from", "2026-01-01"],
          ["to", "2027-01-03"]
        ],
        ["to"]
      ],
      [
        "a sweep of more than 366 days",
        "shortages",
        [
          ["from", "2026-01-01"],
          ["to", "2027-01-03"]
        ],
        ["to"]
      ],
      [
        "a calendar reversed",
        "calendar",
        [
          ["store_id", 1],
          ["from", "2026-02-01"],
          ["to", "2026-01-01"]
        ],
        ["to"]
      ],
      [
        "products that are no ids",
        "calendar",
        [
          ["store_id", 1],
          ["from", "2026-01-01"],
          ["to", "2026-01-02"],
          ["product_ids", "5,x"]
        ],
        ["product_ids.1"]
      ],
      [
        "products that are no integers",
        "calendar",
        [
          ["store_id", 1],
          ["from", "2026-01-01"],
          ["to", "2026-01-02"],
          ["product_ids[]", "x"]
        ],
        ["product_ids.0"]
      ],
      [
        "a sweep of an unknown store",
        "shortages",
        [
          ["from", "2026-01-01"],
          ["to", "2026-01-02"],
          ["store_id", 99_999]
        ],
        ["store_id"]
      ],
      [
        "too many rows a page",
        "shortages",
        [
          ["from", "2026-01-01"],
          ["to", "2026-01-02"],
          ["per_page", 201]
        ],
        ["per_page"]
      ]
    ] as ReadonlyArray<[string, string, ReadonlyArray<[string, unknown]>, ReadonlyArray<string>]>)(
      "%s",
      async (_, path, query, keys) => {
        const P = await business.units(S, 0)
        expect(errorKeys(await ask(path.replace("P", String(P.id)), query))).toEqual([422, keys])
      }
    )
    it("a chart of a product that is not there", async () => {
      expect((await ask("99999/gantt", [])).status).toBe(404)
    })
    it("whoever lacks the permission or the ability", async () => {
      const P = await business.units(S, 0)
      for (const path of ["calendar", "shortages", `${P.id}/gantt`, "why"]) {
        const get = (viewer: ReturnType<typeof viewerWith>) =>
          app.call("GET", `/api/v1/availability/${path}`, undefined, viewer)
        expect((await get(viewerWith(["availability.view"], ["stock:read"]))).status).toBe(403)
        expect((await get(viewerWith(["stock.view"], ["availability:read"]))).status).toBe(403)
        expect((await get(viewerWith(["availability.view"], ["availability:read"]))).status).toBe(422)
      }
    })
  })
  it("a year of 366 days is allowed", async () => {
    expect(
      (
        await ask("calendar", [
          ["store_id", S],
          ["from", "2026-01-01"],
          ["to", "2027-01-01"]
        ])
      ).status
    ).toBe(200)
  })
  it("how long a calendar, chart, sweep or plan may be is a setting, which holds at once", async () => {
    const P = await business.units(S, 1)
    const set = (span_max_days: unknown) =>
      app.call("PUT", "/api/v1/settings/availability", { settings: { span_max_days } })
    const ends = async (to: string) => {
      const span = [
          ["from", "2026-07-01"],
          ["to", to]
        ] as const,
        at = ["store_id", S] as const
      return await Promise.all([
        ask("calendar", [at, ...span]),
        ask(`${P.id}/gantt`, [at, ...span]),
        ask("shortages", span),
        app.call("POST", "/api/v1/availability/what_if", {
          store_id: S,
          lines: [{ product_id: P.id, starts_at: "2026-07-01", ends_at: to }]
        }),
        app.call("POST", "/api/v1/availability/earliest_fit", {
          store_id: S,
          lines: [{ product_id: P.id }],
          from: "2026-07-01",
          until: to,
          duration_days: 1
        })
      ])
    }
    const refused = ["to", "to", "to", "lines.0.ends_at", "until"]
    expect((await app.call("GET", "/api/v1/settings/availability")).body.settings.span_max_days).toBe(366)
    for (const wrong of [0, -1, 3_661, 1.5, "many"])
      expect([wrong, errorKeys(await set(wrong))]).toEqual([wrong, [422, ["settings.span_max_days", "span_max_days"]]])
    expect((await set(7)).body.settings.span_max_days).toBe(7)
    expect((await ends("2026-07-08")).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const longer = await ends("2026-07-10")
    expect(longer.map(errorKeys)).toEqual(refused.map((key) => [422, [key]]))
    for (const [at, { body }] of longer.entries()) {
      expect(body.errors[refused[at]!][0]).toContain(" 7 days")
      expect(body.errors[refused[at]!][0]).toContain("availability.span_max_days")
    }
    const fits = { store_id: S, lines: [{ product_id: P.id }], from: "2026-07-01", until: "2026-07-05" }
    expect(
      errorKeys(await app.call("POST", "/api/v1/availability/earliest_fit", { ...fits, duration_days: 8 }))
    ).toEqual([422, ["duration_days"]])
    expect(
      errorKeys(
        await app.call("POST", "/api/v1/availability/earliest_fit", { ...fits, duration_minutes: 7 * 1_440 + 1 })
      )
    ).toEqual([422, ["duration_minutes"]])
    await set(500)
    expect((await ends("2027-10-01")).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    // A range of one product has no such limit.
    await set(1)
    expect(
      (await app.call("GET", `/api/v1/availability?product_id=${P.id}&store_id=${S}&from=2026-07-01&to=2026-08-01`))
        .status
    ).toBe(200)
    await set(366)
  })
})
