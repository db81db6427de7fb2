import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { serve, type Serving } from "./serving.ts"

const minute_start = Date.parse("2026-06-18T12:00:00.000Z")

describe.each(engines)("rate limits on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { rate_limit: undefined })
  })
  afterAll(() => server.close())
  const tokenOf = async (json: object = {}): Promise<string> =>
    (await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["*"], ...json } })).body.token.secret
  const limitTo = (rate_limit: number) =>
    server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { rate_limit } } })

  it("allow a token 600 requests a minute by default, and report how many are left, on a 404 too", async () => {
    server.setClock(minute_start)
    const token = await tokenOf()
    const first = await server.ask("/api/v1/products", { token })
    expect(first.headers).toMatchObject({ "x-ratelimit-limit": "600", "x-ratelimit-remaining": "599" })
    const missing = await server.ask("/api/v1/products/999999", { token })
    expect(missing.status).toBe(404)
    expect(missing.headers["x-ratelimit-remaining"]).toBe("598")
  })
  it("refuse a request over the limit with the time to retry, until the next minute", async () => {
    server.setClock(minute_start + 60_000)
    const token = await tokenOf({ rate_limit_per_minute: 2 })
    server.setClock(minute_start + 77_500)
    expect((await server.ask("/api/v1/products", { token })).headers["x-ratelimit-remaining"]).toBe("1")
    expect((await server.ask("/api/v1/products", { token })).headers["x-ratelimit-remaining"]).toBe("0")
    const third = await server.ask("/api/v1/products", { token })
    expect(third.status).toBe(429)
    expect(Object.keys(third.body)).toEqual(["message"])
    expect(third.headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "0",
      "retry-after": "43",
      "x-ratelimit-reset": String((minute_start + 120_000) / 1000)
    })
    server.setClock(minute_start + 120_000)
    expect((await server.ask("/api/v1/products", { token })).status).toBe(200)
  })
  it("apply to one token, not to its user's other tokens", async () => {
    server.setClock(minute_start + 180_000)
    const narrow = await tokenOf({ rate_limit_per_minute: 2 })
    const other = await tokenOf()
    for (let times = 0; times < 2; times++)
      expect((await server.ask("/api/v1/products", { token: narrow })).status).toBe(200)
    expect((await server.ask("/api/v1/products", { token: narrow })).status).toBe(429)
    expect((await server.ask("/api/v1/products", { token: other })).status).toBe(200)
  })
  it("apply a changed setting at once", async () => {
    server.setClock(minute_start + 240_000)
    const token = await tokenOf()
    expect((await server.ask("/api/v1/products", { token })).headers["x-ratelimit-limit"]).toBe("600")
    expect((await limitTo(2)).status).toBe(200)
    expect((await server.ask("/api/v1/products", { token })).headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "0"
    })
    expect((await server.ask("/api/v1/products", { token })).status).toBe(429)
    server.setClock(minute_start + 300_000)
    expect((await limitTo(600)).status).toBe(200)
    expect((await limitTo(0)).status).toBe(422)
    expect((await limitTo(10_001)).status).toBe(422)
  })
  const misses = async (times: number, sent: { readonly token?: string | null; readonly from?: string } = {}) => {
    const statuses: Array<number> = []
    for (let time = 0; time < times; time++)
      statuses.push((await server.ask("/api/v1/products", { token: null, ...sent })).status)
    return statuses
  }
  const of = (status: number, times: number): ReadonlyArray<number> => Array.from({ length: times }, () => status)
  it("allow an address 20 requests a minute without a token, and refuse more with the time to retry", async () => {
    server.setClock(minute_start + 360_000)
    const first = await server.ask("/api/v1/products", { token: null })
    expect([first.status, first.headers["x-ratelimit-limit"], first.headers["x-ratelimit-remaining"]]).toEqual([
      401,
      "20",
      "19"
    ])
    expect(await misses(19)).toEqual(of(401, 19))
    server.setClock(minute_start + 377_500)
    const refused = await server.ask("/api/v1/products", { token: null })
    expect([refused.status, Object.keys(refused.body)]).toEqual([429, ["message"]])
    expect(refused.headers).toMatchObject({
      "x-ratelimit-limit": "20",
      "x-ratelimit-remaining": "0",
      "retry-after": "43",
      "x-ratelimit-reset": String((minute_start + 420_000) / 1000)
    })
    expect(await misses(1, { from: "192.0.2.2" })).toEqual([401])
    server.setClock(minute_start + 420_000)
    expect(await misses(1)).toEqual([401])
  })
  it("count invalid tokens against the address like missing ones, on unknown paths too", async () => {
    server.setClock(minute_start + 480_000)
    expect(await misses(10, { token: "nobody-has-this-token" })).toEqual(of(401, 10))
    for (let time = 0; time < 10; time++)
      expect((await server.ask(`/api/v1/nowhere/${time}`, { token: `1|guess-${time}` })).status).toBe(401)
    expect(await misses(2, { token: "1|one-more-guess" })).toEqual([429, 429])
  })
  it("do not affect valid tokens from an address that exceeded its limit", async () => {
    server.setClock(minute_start + 540_000)
    await misses(25)
    expect((await server.ask("/api/v1/products")).status).toBe(200)
    const token = await tokenOf()
    expect((await server.ask("/api/v1/products", { token })).status).toBe(200)
    expect((await server.ask("/api/v1/system/health", { token: null })).status).toBe(200)
    expect((await server.ask("/calendar/feed.ics?signature=0", { token: null })).status).toBe(403)
    expect(await misses(1)).toEqual([429])
  })
  it("apply a changed setting for addresses at once", async () => {
    server.setClock(minute_start + 600_000)
    const limit = (anonymous_rate_limit: number) =>
      server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { anonymous_rate_limit } } })
    expect((await limit(2)).status).toBe(200)
    expect(await misses(3)).toEqual([401, 401, 429])
    expect((await limit(4)).status).toBe(200)
    expect(await misses(3)).toEqual([401, 401, 429])
    expect((await limit(20)).status).toBe(200)
  })
  it("count an IPv6 /64 as one address", async () => {
    server.setClock(minute_start + 660_000)
    for (let time = 0; time < 20; time++) expect(await misses(1, { from: `2001:db8:1:2::${time + 1}` })).toEqual([401])
    expect(await misses(1, { from: "2001:db8:1:2:ffff::1" })).toEqual([429])
    expect(await misses(1, { from: "2001:db8:1:3::1" })).toEqual([401])
  })
  it("do not apply to the health check", async () => {
    for (let times = 0; times < 100; times++)
      expect((await server.ask("/api/v1/system/health", { token: null })).status).toBe(200)
  })
})
