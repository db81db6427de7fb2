/** Limits per minute and month over HTTP (rules/conventions 10 and 16). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import type { Got } from "../server/serving.ts"
import { type Books, minute, openBooks, patiently, times, type Token } from "./billing-black-box.ts"

const statuses = (got: ReadonlyArray<Got>): ReadonlyArray<number> => got.map(({ status }) => status)
const of = (status: number, many: number): ReadonlyArray<number> => Array.from({ length: many }, () => status)
const left = (got: Got | undefined): ReadonlyArray<string | undefined> => [
  got?.headers["x-ratelimit-limit"],
  got?.headers["x-ratelimit-remaining"]
]
const quota = (got: Got | undefined): ReadonlyArray<string | undefined> => [
  got?.headers["x-quota-limit"],
  got?.headers["x-quota-remaining"]
]

describe.each(engines)("a limit per minute on %s (rules/conventions 10)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine, { rate_limit: undefined })
  })
  afterAll(() => house.close())
  const set = async (settings: object) => {
    const got = await house.put("/settings/api", { settings })
    expect(got.status, got.text).toBe(200)
  }
  const next = () => house.later(minute)

  it("is reported on successful and on refused responses", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 50, abilities: ["products:read", "products:write"] })
    const asks: ReadonlyArray<[number, string, string, unknown?]> = [
      [200, "GET", "/products"],
      [201, "POST", "/products", { name: "Lamp" }],
      [422, "POST", "/products", {}],
      [404, "GET", "/products/999999"],
      [404, "GET", "/nowhere"],
      [405, "DELETE", "/products"],
      [403, "GET", "/members"]
    ]
    for (const [at, [status, method, path, json]] of asks.entries()) {
      const got = await house.by(till, method, path, json)
      expect([got.status, ...left(got)]).toEqual([status, "50", String(49 - at)])
      for (const header of ["retry-after", "x-ratelimit-reset"]) expect(got.headers[header]).toBeUndefined()
    }
  })
  it("counts requests for missing paths and rows, and is checked before the path", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 3 })
    const paths = ["/nowhere", "/products/999999", "/products", "/nowhere", "/products/999999"]
    expect(statuses(await times(5, (at) => house.by(till, "GET", paths[at]!)))).toEqual([404, 404, 200, 429, 429])
  })
  it("counts calls of weight 0 as well", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 2 })
    expect(statuses(await times(3, () => house.by(till, "GET", "/endpoints")))).toEqual([200, 200, 429])
  })
  it("may be higher for a token than for the company", async () => {
    next()
    await set({ rate_limit: 3 })
    next()
    const wide = await house.token({ rate_limit_per_minute: 500 })
    expect(statuses(await times(20, () => house.by(wide, "GET", "/products")))).toEqual(of(200, 20))
    next()
    await set({ rate_limit: 600 })
  })
  it("applies separately to each token without a limit of its own", async () => {
    next()
    await set({ rate_limit: 6 })
    const [one, other] = [await house.token(), await house.token()]
    expect(statuses(await times(7, () => house.by(one, "GET", "/products")))).toEqual([...of(200, 6), 429])
    expect(statuses(await times(6, () => house.by(other, "GET", "/products")))).toEqual(of(200, 6))
    next()
    await set({ rate_limit: 600 })
  })
  it.each([0, -1, 10_001, "many", 1.5])("cannot be %s", async (rate_limit) => {
    next()
    expect((await house.put("/settings/api", { settings: { rate_limit } })).status).toBe(422)
    expect(
      (await house.post("/tokens", { name: "T", abilities: ["*"], rate_limit_per_minute: rate_limit })).status
    ).toBe(422)
  })
  it.each([20, 100, 333])(
    "admits exactly as many concurrent requests as its value %i",
    async (rate_limit_per_minute) => {
      next()
      const till = await house.token({ rate_limit_per_minute })
      const got = await Promise.all(
        Array.from({ length: rate_limit_per_minute + 30 }, () => house.by(till, "GET", "/system/health/none"))
      )
      expect(statuses(got).filter((status) => status !== 429).length).toBe(rate_limit_per_minute)
      const remaining = got.filter(({ status }) => status !== 429).map((one) => Number(left(one)[1]))
      expect(Math.min(...remaining)).toBe(0)
    }
  )
})

describe.each(engines)("a quota per month on %s (rules/conventions 10 and 16)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
  })
  afterAll(() => house.close())
  const set = async (settings: object) => {
    const got = await house.put("/settings/api", { settings })
    expect(got.status, got.text).toBe(200)
  }
  const ask = (who: Token, path = "/products") => house.by(who, "GET", path)

  it("is not used up by requests over the limit per minute", async () => {
    const till = await house.token({ monthly_units: 5, rate_limit_per_minute: 2 })
    house.later(minute)
    expect(statuses(await times(6, () => ask(till)))).toEqual([200, 200, ...of(429, 4)])
    house.later(minute)
    expect(quota(await ask(till))).toEqual(["5", "2"])
  })
  it("can still be raised when it is used up, by the setting or per token", async () => {
    await set({ monthly_units: 1 })
    await house.ask("GET", "/products")
    expect((await house.ask("GET", "/products")).status).toBe(429)
    expect((await house.ask("GET", "/settings/api")).status).toBe(200)
    expect((await house.ask("GET", "/tokens")).status).toBe(200)
    expect((await ask(await house.token({ monthly_units: 5 }))).status).toBe(200)
    await set({ monthly_units: 0 })
    expect((await house.ask("GET", "/products")).status).toBe(200)
  })
  it("counts the month's earlier requests when it is set later", async () => {
    const till = await house.token()
    await times(4, () => ask(till))
    // Calls are counted shortly after the response.
    const counted = async () => (await house.get("/tokens?per_page=100")).tokens.find((one) => one.id === till.id)!
    await expect.poll(async () => (await counted()).units_this_month, patiently).toBe(4)
    await set({ monthly_units: 5 })
    expect(quota(await ask(till))).toEqual(["5", "0"])
    await set({ monthly_units: 0 })
  })
  it.each([-1, "many", 1.5])("cannot be %s", async (monthly_units) => {
    expect((await house.put("/settings/api", { settings: { monthly_units } })).status).toBe(422)
    expect((await house.post("/tokens", { name: "T", abilities: ["*"], monthly_units })).status).toBe(422)
  })
  it("admits exactly its units of concurrent requests", async () => {
    const till = await house.token({ monthly_units: 50 })
    const got = await Promise.all(Array.from({ length: 80 }, () => ask(till)))
    expect(statuses(got).filter((status) => status === 200).length).toBe(50)
    expect((await house.usage({ token_id: till.id })).meta.totals.weighted_units).toBe(50)
  })
})
