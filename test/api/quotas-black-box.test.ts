/** Limits a minute and a month from outside: rules/conventions 10 and 16, cases B. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openServerApp, type ServerApp } from "../../server/app.ts"
import { engines } from "../app.ts"
import { freshDatabase, type FreshDatabase } from "../postgres.ts"
import { askOf, clockAt, type Got, owner_token } from "../server/serving.ts"
import {
  calendar,
  day,
  hour,
  type House,
  minute,
  openHouse,
  patiently,
  times,
  type Token
} from "./metering-black-box.ts"

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

describe.each(engines)("A limit a minute, on %s (rules/conventions 10)", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine, { rate_limit: undefined })
  })
  afterAll(() => house.close())
  const set = async (settings: object) => {
    const got = await house.put("/settings/api", { settings })
    expect(got.status, got.text).toBe(200)
  }
  const next = () => house.later(minute)

  it("is said on every answer, good or not", async () => {
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
  it("is said to who has no token", async () => {
    next()
    const got = await house.by(null, "GET", "/products", undefined, { from: "192.0.2.9" })
    expect([got.status, ...left(got)]).toEqual([401, "20", "19"])
  })
  it("of 2 refuses the third call, and says when to come again", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 2 })
    house.later(15_000)
    const got = await times(3, () => house.by(till, "GET", "/products"))
    expect(statuses(got)).toEqual([200, 200, 429])
    const begins = (Math.floor(Date.parse(house.instant()) / minute) + 1) * minute
    expect(got[2]?.headers).toMatchObject({
      ...{ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "0" },
      ...{ "retry-after": "45", "x-ratelimit-reset": String(begins / 1_000) }
    })
    expect(Object.keys(got[2]?.body)).toEqual(["message"])
    house.later(45_000)
    expect((await house.by(till, "GET", "/products")).status).toBe(200)
  })
  it("counts what is refused for other reasons as well, before anything else is looked at", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 3 })
    const paths = ["/nowhere", "/products/999999", "/products", "/nowhere", "/products/999999"]
    expect(statuses(await times(5, (at) => house.by(till, "GET", paths[at]!)))).toEqual([404, 404, 200, 429, 429])
  })
  it("counts calls of no units too", async () => {
    next()
    const till = await house.token({ rate_limit_per_minute: 2 })
    expect(statuses(await times(3, () => house.by(till, "GET", "/endpoints")))).toEqual([200, 200, 429])
  })
  it("of a token's own is nobody else's, not even another token's of the same person", async () => {
    next()
    await set({ rate_limit: 60 })
    const [narrow, other] = [await house.token({ rate_limit_per_minute: 2 }), await house.token()]
    expect(statuses(await times(3, () => house.by(narrow, "GET", "/products")))).toEqual([200, 200, 429])
    expect(left(await house.by(other, "GET", "/products"))).toEqual(["60", "59"])
  })
  it("of a token's own may be wider than the house's", async () => {
    next()
    await set({ rate_limit: 3 })
    next()
    const wide = await house.token({ rate_limit_per_minute: 500 })
    expect(statuses(await times(20, () => house.by(wide, "GET", "/products")))).toEqual(of(200, 20))
    next()
    await set({ rate_limit: 600 })
  })
  it("is one for each token of those who have none of their own", async () => {
    next()
    await set({ rate_limit: 6 })
    const [one, other] = [await house.token(), await house.token()]
    expect(statuses(await times(7, () => house.by(one, "GET", "/products")))).toEqual([...of(200, 6), 429])
    expect(statuses(await times(6, () => house.by(other, "GET", "/products")))).toEqual(of(200, 6))
    next()
    await set({ rate_limit: 600 })
  })
  it("acts at once when it is changed, up and down", async () => {
    next()
    const till = await house.token()
    await times(5, () => house.by(till, "GET", "/products"))
    await set({ rate_limit: 5 })
    expect((await house.by(till, "GET", "/products")).status).toBe(429)
    next()
    await set({ rate_limit: 600 })
    expect(left(await house.by(till, "GET", "/products"))).toEqual(["600", "599"])
  })
  it.each([0, -1, 10_001, "many", 1.5])("is not %s", async (rate_limit) => {
    next()
    expect((await house.put("/settings/api", { settings: { rate_limit } })).status).toBe(422)
    expect(
      (await house.post("/tokens", { name: "T", abilities: ["*"], rate_limit_per_minute: rate_limit })).status
    ).toBe(422)
  })
  it.each([20, 100, 333])(
    "of %i lets exactly as many through, however many come at once",
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

describe.each(engines)("A quota a month, on %s (rules/conventions 10 and 16)", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine)
  })
  afterAll(() => house.close())
  const set = async (settings: object) => {
    const got = await house.put("/settings/api", { settings })
    expect(got.status, got.text).toBe(200)
  }
  const begins = () => {
    const at = new Date(house.instant())
    return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
  }
  const ask = (who: Token, path = "/products") => house.by(who, "GET", path)

  it("is none unless told, and nothing is said of it", async () => {
    const got = await ask(await house.token())
    for (const header of ["x-quota-limit", "x-quota-remaining", "x-quota-reset"])
      expect(got.headers[header]).toBeUndefined()
    expect((await house.get("/settings/api")).settings.monthly_units).toBe(0)
  })
  it("of a token's own is said on each of its answers, and when it begins anew", async () => {
    const till = await house.token({ monthly_units: 10 })
    const got = await ask(till)
    expect([got.status, ...quota(got)]).toEqual([200, "10", "9"])
    expect(got.headers["x-quota-reset"]).toBe(String(begins() / 1_000))
    expect(quota(await ask(till, "/products/999999"))).toEqual(["10", "8"])
  })
  it("is shown with its token", async () => {
    const { id } = await house.token({ monthly_units: 10 })
    const { tokens } = await house.get("/tokens?per_page=100")
    expect(tokens.find((one: any) => one.id === id).monthly_units).toBe(10)
    expect(tokens.find((one: any) => one.id === 1).monthly_units).toBe(null)
  })
  it("is used up by units, and what weighs 5 takes 5", async () => {
    const till = await house.token({ monthly_units: 12 })
    expect(quota(await ask(till, calendar))).toEqual(["12", "7"])
    expect(quota(await ask(till))).toEqual(["12", "6"])
    expect(quota(await ask(till, calendar))).toEqual(["12", "1"])
    expect([(await ask(till)).status, (await ask(till)).status]).toEqual([200, 429])
  })
  it("refuses what weighs more than is left, and lets through what still fits", async () => {
    const till = await house.token({ monthly_units: 7 })
    expect(statuses(await times(3, (at) => ask(till, at < 2 ? calendar : "/products")))).toEqual([200, 429, 200])
  })
  it("that is used up says so, and when to come again", async () => {
    const till = await house.token({ monthly_units: 1 })
    const [, refused] = await times(2, () => ask(till))
    expect([refused?.status, ...quota(refused)]).toEqual([429, "1", "0"])
    const seconds = Math.ceil((begins() - Date.parse(house.instant())) / 1_000)
    expect(refused?.headers["retry-after"]).toBe(String(seconds))
    expect(Object.keys(refused?.body)).toEqual(["message"])
    expect(refused?.body.message).toMatch(/month/i)
    const first = new Date(begins())
    const month = first.toLocaleString("en", { month: "long", timeZone: "UTC" })
    expect(refused?.body.message).toContain(`1 ${month} ${first.getUTCFullYear()}`)
  })
  it("that is used up lets through what weighs nothing", async () => {
    const till = await house.token({ monthly_units: 1 })
    expect(statuses(await times(2, () => ask(till)))).toEqual([200, 429])
    for (const path of ["/usage", "/request_logs", "/endpoints", "/usage/export"])
      expect([path, (await ask(till, path)).status < 300]).toEqual([path, true])
    expect((await ask(till)).status).toBe(429)
  })
  it("that is used up never keeps a device from sending its work", async () => {
    const till = await house.token({ monthly_units: 1 })
    expect(statuses(await times(2, () => ask(till)))).toEqual([200, 429])
    const replica = await house.by(till, "POST", "/sync/replicas", { name: "van", public_key: "A".repeat(43) })
    expect(replica.status, replica.text).toBe(201)
  })
  it("is not used up by what is refused for being too many", async () => {
    const till = await house.token({ monthly_units: 5, rate_limit_per_minute: 2 })
    house.later(minute)
    expect(statuses(await times(6, () => ask(till)))).toEqual([200, 200, ...of(429, 4)])
    house.later(minute)
    expect(quota(await ask(till))).toEqual(["5", "2"])
  })
  it("of the house is each token's that has none of its own, and acts at once", async () => {
    await set({ monthly_units: 100 })
    const [one, other] = [await house.token(), await house.token({ monthly_units: 3 })]
    expect(quota(await ask(one))).toEqual(["100", "99"])
    expect(quota(await ask(other))).toEqual(["3", "2"])
    await set({ monthly_units: 2 })
    expect(quota(await ask(one))).toEqual(["2", "0"])
    expect((await ask(one)).status).toBe(429)
    await set({ monthly_units: 0 })
    expect((await ask(one)).status).toBe(200)
  })
  it("that is too low keeps nobody from raising it, by the setting or for a token", async () => {
    await set({ monthly_units: 1 })
    expect((await house.ask("GET", "/products")).status).toBe(429)
    expect((await house.ask("GET", "/settings/api")).status).toBe(200)
    expect((await house.ask("GET", "/tokens")).status).toBe(200)
    expect((await ask(await house.token({ monthly_units: 5 }))).status).toBe(200)
    await set({ monthly_units: 0 })
    expect((await house.ask("GET", "/products")).status).toBe(200)
  })
  it("set in the middle of a month counts what was asked in it before", async () => {
    const till = await house.token()
    await times(4, () => ask(till))
    // What was asked is counted a moment later.
    const counted = async () => (await house.get("/tokens?per_page=100")).tokens.find((one: any) => one.id === till.id)
    await expect.poll(async () => (await counted()).units_this_month, patiently).toBe(4)
    await set({ monthly_units: 5 })
    expect(quota(await ask(till))).toEqual(["5", "0"])
    await set({ monthly_units: 0 })
  })
  it.each([-1, "many", 1.5])("is not %s", async (monthly_units) => {
    expect((await house.put("/settings/api", { settings: { monthly_units } })).status).toBe(422)
    expect((await house.post("/tokens", { name: "T", abilities: ["*"], monthly_units })).status).toBe(422)
  })
  it("lets exactly as much through, however many come at once", async () => {
    const till = await house.token({ monthly_units: 50 })
    const got = await Promise.all(Array.from({ length: 80 }, () => ask(till)))
    expect(statuses(got).filter((status) => status === 200).length).toBe(50)
    expect((await house.usage({ token_id: till.id })).meta.totals.weighted_units).toBe(50)
  })
  it("begins anew with the month of the UTC calendar, not before", async () => {
    const till = await house.token({ monthly_units: 2 })
    expect(statuses(await times(3, () => ask(till)))).toEqual([200, 200, 429])
    house.later(begins() - Date.parse(house.instant()) - 1)
    expect((await ask(till)).status).toBe(429)
    house.later(1)
    expect(quota(await ask(till))).toEqual(["2", "1"])
    house.later(day + hour)
    expect(quota(await ask(till))).toEqual(["2", "0"])
  })
})

describe("Two servers on one Postgres", () => {
  let database: FreshDatabase, one: ServerApp, other: ServerApp
  let clock = Date.parse("2026-06-18T12:00:00.000Z")
  beforeAll(async () => {
    database = await freshDatabase()
    const options = {
      database: { kind: "pg", url: database.url, connections_max: 4 },
      key: "key-of-the-tests-which-is-long",
      owner_token,
      rate_limit: 1_000_000,
      services: clockAt(() => clock)
    } as const
    one = await openServerApp(options)
    other = await openServerApp(options)
  })
  afterAll(async () => {
    await Promise.all([one.close(), other.close()])
    await database.drop()
  })
  const made = async (more: object): Promise<any> =>
    (await askOf(one, "/api/v1/tokens", { json: { name: "Till", abilities: ["*"], ...more } })).body.token
  const ask = (app: ServerApp, token: string, target = "/api/v1/products") => askOf(app, target, { token })
  const let_through = (got: ReadonlyArray<Got>): number => got.filter(({ status }) => status === 200).length

  it.each([2, 7, 40, 120])(
    "let through no more than a limit of %i in turns, and no fewer",
    async (rate_limit_per_minute) => {
      clock += minute
      const { secret } = await made({ rate_limit_per_minute })
      const got = await times(rate_limit_per_minute * 2 + 6, (at) => ask(at % 2 === 0 ? one : other, secret))
      expect(let_through(got)).toBe(rate_limit_per_minute)
      clock += minute
      expect(statuses(await Promise.all([ask(one, secret), ask(other, secret)]))).toEqual([200, 200])
    }
  )
  it("let through no more than a limit when both are asked at once, and no fewer", async () => {
    clock += minute
    const { secret } = await made({ rate_limit_per_minute: 60 })
    const both = [one, other]
    const got = await Promise.all(Array.from({ length: 200 }, (_, at) => ask(both[at % 2]!, secret)))
    // What one has taken and not used the other cannot give: a few more calls use it up.
    const rest = await times(40, (at) => ask(both[at % 2]!, secret))
    expect(let_through([...got, ...rest])).toBe(60)
  })
  it("let one of them through as far as the limit while the other rests", async () => {
    clock += minute
    const { secret } = await made({ rate_limit_per_minute: 50 })
    expect(let_through(await times(60, () => ask(other, secret)))).toBe(50)
  })
  it("let through no more units a month than there are, and no fewer", async () => {
    clock += minute
    const { secret } = await made({ monthly_units: 60 })
    const got = await times(100, (at) => ask(at % 2 === 0 ? one : other, secret))
    expect(let_through(got)).toBe(60)
  })
  it("count together: either shows what both were asked", async () => {
    clock += minute
    const { secret, id } = await made({})
    await times(30, (at) => ask(at % 3 === 0 ? one : other, secret))
    const seen = async (app: ServerApp) =>
      (await askOf(app, `/api/v1/usage?token_id=${id}&window=24h`, {})).body.meta?.totals.request_count
    await expect.poll(() => seen(one), { timeout: 30_000, interval: 100 }).toBe(30)
    await expect.poll(() => seen(other), { timeout: 30_000, interval: 100 }).toBe(30)
    const logs = await askOf(one, `/api/v1/request_logs?q[personal_access_token_id_eq]=${id}`, {})
    expect(logs.body.meta.total).toBe(30)
  })
})
