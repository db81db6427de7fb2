/** Usage over HTTP (rules/conventions 16). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import {
  type Books,
  calendar,
  counts,
  day,
  ended,
  hour,
  minute,
  openBooks,
  opened,
  patiently,
  queryOf,
  times,
  type Token,
  with_broken
} from "./billing-black-box.ts"
import type { Body } from "../answers.ts"

const dimensions = ["token", "endpoint", "resource", "day", "status"]
const total = (usage: Body): readonly [number, number] => [
  usage.meta.totals.request_count,
  usage.meta.totals.weighted_units
]
const sum = (usage: Body): readonly [number, number] => [
  usage.usage.reduce((all, row) => all + row.request_count, 0),
  usage.usage.reduce((all, row) => all + row.weighted_units, 0)
]

describe.each(engines)("usage on %s (rules/conventions 16)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine, with_broken)
  })
  afterAll(() => house.close())
  const calls = (who: Token | null, many: number, path = "/products") => times(many, () => house.by(who, "GET", path))

  describe("counts of calls", () => {
    let till: Token
    beforeAll(async () => {
      house.later(day)
      till = await house.token({ name: "The counter's till" })
      await calls(till, 3)
      await calls(till, 3, "/members")
      await calls(till, 1, calendar)
      await calls(till, 2, "/products/999999")
      await calls(till, 4, "/endpoints")
      expect((await house.by(till, "POST", "/products", {})).status).toBe(422)
    })
    const of = (dimension: string, more: object = {}) => house.usage({ dimension, token_id: till.id, ...more })

    it("are grouped by endpoint, with the most units first, then calls, then the name", async () => {
      expect(counts(await of("endpoint"))).toEqual([
        ["availability.calendar", 1, 5],
        ["members.list", 3, 3],
        ["products.list", 3, 3],
        ["products.show", 2, 2],
        ["products.create", 1, 1],
        ["endpoints.list", 4, 0]
      ])
    })
    it("are labelled with method and path when grouped by endpoint", async () => {
      const labels = (await of("endpoint")).usage.map((row) => row.label)
      expect(labels).toEqual([
        "GET /api/v1/availability/calendar",
        "GET /api/v1/members",
        "GET /api/v1/products",
        "GET /api/v1/products/{id}",
        "POST /api/v1/products",
        "GET /api/v1/endpoints"
      ])
    })
    it("are labelled with the resource's name when grouped by resource", async () => {
      expect((await of("resource")).usage.map((row) => [row.key, row.label, row.request_count])).toEqual([
        ["products", "Products", 6],
        ["availability", "Availability", 1],
        ["members", "Members", 3],
        ["endpoints", "Endpoints", 4]
      ])
    })
    it("can be grouped by status", async () => {
      expect(counts(await of("status"))).toEqual([
        ["200", 11, 11],
        ["404", 2, 2],
        ["422", 1, 1]
      ])
    })
    it("are labelled with the token's name when grouped by token", async () => {
      expect((await of("token")).usage).toEqual([
        { key: String(till.id), label: "The counter's till", request_count: 14, weighted_units: 14 }
      ])
    })
    it("can be grouped by UTC day", async () => {
      expect(counts(await of("day"))).toEqual([[house.instant().slice(0, 10), 14, 14]])
    })
    it.each(dimensions)("add up to the totals when grouped by %s", async (dimension) => {
      const usage = await of(dimension)
      expect(total(usage)).toEqual([14, 14])
      expect(sum(usage)).toEqual([14, 14])
    })
    it("have a row for every endpoint, without paging", async () => {
      expect((await of("endpoint", { per_page: 1, page: 2 })).usage.length).toBe(6)
    })
  })

  it("counts a query of usage only after its response, at zero units", async () => {
    house.later(minute)
    const reader = await house.token()
    const read = async () => (await house.by(reader, "GET", `/usage?token_id=${reader.id}`)).body
    expect(counts(await read())).toEqual([])
    const second = await read()
    expect([second.usage.length, ...total(second)]).toEqual([1, 1, 0])
  })
  it("counts calls over the rate limit at zero units", async () => {
    const narrow = await house.token({ rate_limit_per_minute: 2 })
    expect((await calls(narrow, 5)).map(({ status }) => status)).toEqual([200, 200, 429, 429, 429])
    expect(counts(await house.usage({ token_id: narrow.id, dimension: "status" }))).toEqual([
      ["200", 2, 2],
      ["429", 3, 0]
    ])
  })
  it("counts calls that failed with 500 at zero units", async () => {
    const till = await house.token()
    expect((await calls(till, 2, "/broken")).map(({ status }) => status)).toEqual([500, 500])
    expect(counts(await house.usage({ token_id: till.id, dimension: "status" }))).toEqual([["500", 2, 0]])
  })
  it("counts calls refused for a missing ability or permission at their usual units", async () => {
    const poor = await house.person([], ["products:read"])
    expect((await house.by(poor.token, "GET", "/products")).status).toBe(403)
    expect((await house.by(poor.token, "GET", "/members")).status).toBe(403)
    expect(counts(await house.usage({ token_id: poor.token.id, dimension: "status" }))).toEqual([["403", 2, 2]])
  })
  it("counts a repeated request under one idempotency key as a call of its own", async () => {
    const till = await house.token()
    const again = () =>
      house.by(till, "POST", "/products", { name: "Lamp" }, { headers: { "idempotency-key": "lamp-once" } })
    expect([(await again()).status, (await again()).status]).toEqual([201, 201])
    expect(counts(await house.usage({ token_id: till.id }))).toEqual([["products.create", 2, 2]])
  })
  it("keeps the counts of a revoked token", async () => {
    const till = await house.token()
    await calls(till, 2)
    expect((await house.remove(`/tokens/${till.id}`)).status).toBe(204)
    expect(counts(await house.usage({ token_id: till.id, dimension: "token" }))).toEqual([[String(till.id), 2, 2]])
  })
  it("counts calls to unknown paths in the totals", async () => {
    const till = await house.token()
    expect((await calls(till, 2, "/nowhere")).map(({ status }) => status)).toEqual([404, 404])
    for (const dimension of dimensions)
      expect(total(await house.usage({ token_id: till.id, dimension }))).toEqual([2, 2])
  })

  describe("the window of usage", () => {
    let till: Token, read_at: number, first_at: number
    beforeAll(async () => {
      house.later(100 * day)
      till = await house.token()
      first_at = house.later(minute)
      await calls(till, 1)
      house.later(2 * day)
      await calls(till, 2)
      house.later(23 * day)
      await calls(till, 4)
      house.later(5 * day + 12 * hour)
      await calls(till, 8)
      house.later(20 * hour)
      await calls(till, 16)
      // The calls lie 31 days and 12 hours back, then 29½ days, 6½ days, almost 24 hours, and 4 hours.
      read_at = house.later(4 * hour - minute)
    })
    const in_window = async (window: string | undefined, more: object = {}) =>
      house.usage({ ...(window === undefined ? {} : { window }), token_id: till.id, dimension: "status", ...more })
    it.each<[string | undefined, string, number, number]>([
      ["24h", "24h", 24, 1],
      ["7d", "7d", 28, 7],
      ["30d", "30d", 30, 30],
      [undefined, "7d", 28, 7]
    ])("ends now for the preset %s, and is reported as %s", async (window, preset, expected, days) => {
      const usage = await in_window(window)
      expect(total(usage)).toEqual([expected, expected])
      expect(usage.meta.window.preset).toBe(preset)
      const { from, to } = usage.meta.window
      expect(Date.parse(to) - Date.parse(from)).toBe(days * day)
      expect(Date.parse(to)).toBe(read_at)
    })
    it("is exact to the minute for the last 24 hours", async () => {
      house.later(2 * minute)
      expect(total(await in_window("24h"))).toEqual([16, 16])
    })
    it("has its days in ascending order, and their calls add up to the total", async () => {
      const usage = await in_window("30d", { dimension: "day" })
      const days = counts(usage).map(([key]) => key)
      expect(days).toEqual(days.toSorted())
      expect(days.every((one) => /^\d{4}-\d\d-\d\d$/.test(one))).toBe(true)
      expect(sum(usage)).toEqual([30, 30])
    })
    it("includes both days in full if it is given by two dates", async () => {
      const first = new Date(first_at).toISOString().slice(0, 10)
      const third = new Date(first_at + 2 * day).toISOString().slice(0, 10)
      const custom = (from: string, to: string) => in_window("custom", { from, to })
      expect(total(await custom(first, third))).toEqual([3, 3])
      expect(total(await custom(first, first))).toEqual([1, 1])
      expect(total(await custom(third, third))).toEqual([2, 2])
      const { window } = (await custom(first, third)).meta
      expect([window.preset, window.from.slice(0, 10), window.to.slice(0, 10)]).toEqual(["custom", first, third])
    })
    it("starts and ends at midnight UTC if it is given by dates", async () => {
      const midnight = Math.ceil(Date.parse(house.instant()) / day) * day
      const now = Date.parse(house.instant())
      const other = await house.token()
      house.later(midnight - 1 - now)
      await calls(other, 1)
      house.later(1)
      await calls(other, 2)
      const of = async (at: number) => {
        const date = new Date(at).toISOString().slice(0, 10)
        return total(await house.usage({ window: "custom", from: date, to: date, token_id: other.id }))
      }
      expect([await of(midnight - 1), await of(midnight)]).toEqual([
        [1, 1],
        [2, 2]
      ])
    })
  })

  it("counts only the calls of the named channel", async () => {
    const till = await house.token()
    await calls(till, 2)
    expect(total(await house.usage({ token_id: till.id, channel: "api" }))).toEqual([2, 2])
    for (const channel of ["webhook_sent", "webhook_received"])
      expect(total(await house.usage({ token_id: till.id, channel }))).toEqual([0, 0])
  })

  describe("exported usage", () => {
    it.each(["token", "day"])("has the rows of the API as a CSV file, grouped by %s", async (dimension) => {
      house.later(minute)
      const till = await house.token({ name: 'A till, with "quotes", =1+1 and\na line' })
      await calls(till, 2)
      await calls(till, 1, calendar)
      await calls(till, 1, "/products/999999")
      const query = { dimension, window: "7d", token_id: till.id, channel: "api" }
      const expected = (await house.usage(query)).usage
      const got = await house.ask("GET", `/usage/export?${queryOf(query)}`)
      expect([got.status, Object.keys(got.body).sort()]).toEqual([202, ["job_id", "message"]])
      expect(got.body.job_id).toMatch(/^[0-9a-f-]{36}$/)
      expect(got.body.message).toBe("Accepted")
      const job = await ended(house, got.body.job_id)
      expect([job.status, job.error]).toEqual(["done", null])
      const file = await opened(house.server, job.download_url!)
      expect([file.status, file.headers["content-type"]]).toEqual([200, expect.stringContaining("csv")])
      const [head, ...rows] = parsedCsv(file.text)
      expect(head).toEqual(["key", "label", "request_count", "weighted_units"])
      expect(rows.map(([key, , requests, units]) => [key, Number(requests), Number(units)])).toEqual(
        expected.map((row) => [row.key, row.request_count, row.weighted_units])
      )
      // Spreadsheets could read the cell as a formula, so a quote may precede it.
      for (const [at, row] of rows.entries()) expect(row[1]?.replace(/^'/, "")).toBe(expected[at]!.label ?? "")
    })
    it("is available to a token that may only read usage, and its job is hidden from another user", async () => {
      const { token } = await house.person(["system.read"], ["api-usage:read"])
      const got = await house.by(token, "GET", "/usage/export")
      expect(got.status).toBe(202)
      const path = `/system/jobs/${encodeURIComponent(got.body.job_id)}`
      const jobOf = async () => (await house.by(token, "GET", path)).body.job
      await expect.poll(async () => (await jobOf()).status, patiently).toBe("done")
      expect((await opened(house.server, (await jobOf()).download_url!)).status).toBe(200)
      // Another user's token, or one without the ability, cannot read it.
      const other = await house.person(["system.read"], ["api-usage:read"])
      expect((await house.by(other.token, "GET", path)).status).toBe(403)
      const narrow = await house.token({ user_id: token.user_id, abilities: ["products:read", "documents:write"] })
      const refused = await house.by(narrow, "GET", path)
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("system:read")])
      expect((await house.by(token, "GET", "/system/jobs")).status).toBe(403)
    })
    it("has a URL that expires after an hour", async () => {
      const { job_id } = (await house.ask("GET", "/usage/export")).body
      const { download_url } = await ended(house, job_id)
      house.later(59 * minute)
      expect((await opened(house.server, download_url!)).status).toBe(200)
      house.later(2 * minute)
      expect([403, 404, 410]).toContain((await opened(house.server, download_url!)).status)
    })
  })
})

/** Rows of a CSV file. */
const parsedCsv = (file: string): ReadonlyArray<ReadonlyArray<string>> => {
  const rows: Array<Array<string>> = [[]]
  for (const [, quoted, plain, end] of file
    .replace(/^\uFEFF/, "")
    .matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? "")
    if (end === "") break
    if (end !== ",") rows.push([])
  }
  return rows.filter((row) => row.some((cell) => cell !== ""))
}
