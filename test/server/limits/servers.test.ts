/** Several servers on one database: how many requests they accept together, and what each reports. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import type { ServerApp } from "../../../server/host/app.ts"
import { addMonthUnits } from "../../../server/http/limit-month.ts"
import { both_engines } from "../../app.ts"
import {
  askOf,
  clockAt,
  type Got,
  type OwnDatabase,
  type Sent,
  serve,
  type Serving,
  startedDatabase
} from "../serving.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")
const minute = 60_000
const june_ends = Date.parse("2026-07-01T00:00:00.000Z")

const statusesOf = (answers: ReadonlyArray<Got>) => ({
  served: answers.filter(({ status }) => status === 200).length,
  refused: answers.filter(({ status }) => status === 429).length
})

describe("two servers on one Postgres", () => {
  let own: OwnDatabase
  let servers: ReadonlyArray<ServerApp>
  let now = noon
  const logged: Array<string> = []
  const open = () =>
    serve("pg", {
      database: own.database,
      rate_limit: 10_000,
      services: clockAt(() => now),
      log: { at: (level, message) => void (level === "warn" && logged.push(message)), flush: () => {} }
    }).then(({ app }) => app)
  beforeAll(async () => {
    own = await startedDatabase("pg")
    servers = [await open(), await open()]
  })
  afterAll(async () => {
    await Promise.all(servers.map((app) => app.close()))
    await own.drop()
  })
  const ask = (at: number, target: string, sent: Sent = {}) => askOf(servers[at % servers.length]!, target, sent)
  const tokenOf = async (json: object): Promise<string> =>
    (await ask(0, "/api/v1/tokens", { json: { name: "Till", abilities: ["*"], ...json } })).body.token.secret
  const inTurns = async (times: number, sent: Sent, target = "/api/v1/products") => {
    const answers: Array<Got> = []
    for (let at = 0; at < times; at++) answers.push(await ask(at, target, sent))
    return answers
  }
  const atOnce = (times: number, sent: Sent, target = "/api/v1/products") =>
    Promise.all(Array.from({ length: times }, (_, at) => ask(at, target, sent)))
  const rows = <Row extends object>(sql: string) =>
    servers[0]!.run(Effect.flatMap(Store, (store) => store.run<Row>(sql)))

  it.each([1, 2, 20])("admit %i sequential requests a minute, and report how many are left", async (limit) => {
    now += minute
    const token = await tokenOf({ rate_limit_per_minute: limit })
    const answers = await inTurns(limit + 4, { token })
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: limit + 4 }, (_, at) => (at < limit ? 200 : 429))
    )
    const left = answers.map(({ headers }) => Number(headers["x-ratelimit-remaining"]))
    const truly = Array.from({ length: limit + 4 }, (_, at) => Math.max(0, limit - at - 1))
    // Above sixteen a server may hold reserves that the other does not know of.
    expect(left.map((said, at) => Math.abs(said - truly[at]!) <= 2)).not.toContain(false)
    expect(left.slice(-16)).toEqual(truly.slice(-16))
    now += minute
    expect(statusesOf(await inTurns(limit + 1, { token }))).toEqual({ served: limit, refused: 1 })
  })
  it.each([1, 2, 20, 600])("admit %i of many concurrent requests a minute", async (limit) => {
    now += minute
    const token = await tokenOf({ rate_limit_per_minute: limit })
    const { served } = statusesOf(await atOnce(limit + 50, { token }))
    expect(served).toBeGreaterThanOrEqual(limit - Math.floor(limit / 8))
    // A server's reserves are used by its own requests.
    const rest = statusesOf(await inTurns(2 * (limit - served) + 2, { token }))
    expect(served + rest.served).toBe(limit)
  })
  it("share one count per address: of requests without a token, and of failed public requests", async () => {
    now += minute
    const strangers = await inTurns(24, { token: null })
    expect(strangers.map(({ status }) => status).filter((status) => status === 401)).toHaveLength(20)
    const misses = await inTurns(24, { token: null, from: "192.0.2.7" }, "/calendar/feed.ics?signature=0")
    expect(misses.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, (_, at) => (at < 20 ? 403 : 429)))
  })
  it("apply a setting that one of them changed within the same minute", async () => {
    now += minute
    const token = await tokenOf({})
    expect(statusesOf(await inTurns(6, { token }))).toEqual({ served: 6, refused: 0 })
    const limitTo = (rate_limit: number) =>
      ask(0, "/api/v1/settings/api", { method: "PUT", json: { settings: { rate_limit } } })
    const statusAt = async (at: number) => (await ask(at, "/api/v1/products", { token })).status
    for (const [rate_limit, status] of [
      [5, 429],
      [10_000, 200]
    ] as const) {
      expect((await limitTo(rate_limit)).status).toBe(200)
      expect(await statusAt(0)).toBe(status)
      await expect.poll(() => statusAt(1), { timeout: 20_000 }).toBe(status)
    }
  })
  it("delete counters older than five minutes", async () => {
    now += 20 * minute
    await inTurns(4, { token: await tokenOf({}) })
    const old = async () =>
      Number(
        (
          await rows<{ old: number }>(
            `select count(*) as old from rate_windows where minute < ${Math.floor(now / minute) - 5}`
          )
        )[0]!.old
      )
    await expect.poll(old, { timeout: 20_000 }).toBe(0)
  })
  it("share a month's quota, and count calls by their weight", async () => {
    now += minute
    const token = await tokenOf({ monthly_units: 60 })
    expect(statusesOf(await atOnce(50, { token }))).toEqual({ served: 50, refused: 0 })
    const heavy = await inTurns(4, { token }, "/api/v1/availability/calendar?start=2026-06-01&end=2026-06-02")
    expect(heavy.filter(({ status }) => status === 429)).toHaveLength(2)
    expect(statusesOf(await atOnce(10, { token }))).toEqual({ served: 0, refused: 10 })
  })
  it("report a month's quota, what is left, and when it resets", async () => {
    now += minute
    const token = await tokenOf({ monthly_units: 3 })
    const answers = await inTurns(5, { token })
    expect(answers.map(({ headers, status }) => [status, headers["x-quota-remaining"]])).toEqual([
      [200, "2"],
      [200, "1"],
      [200, "0"],
      [429, "0"],
      [429, "0"]
    ])
    const { body, headers } = answers[4]!
    expect(headers).toMatchObject({
      "x-quota-limit": "3",
      "x-quota-reset": String(june_ends / 1000),
      "retry-after": String(Math.ceil((june_ends - now) / 1000))
    })
    expect(body.message).toBe(
      "3 of this month's 3 units are used. It begins anew on 1 July 2026, 00:00 UTC; an administrator may raise " +
        "the token's monthly_units."
    )
  })
  it("log no failure of the shared limits", () => {
    expect(logged.filter((message) => message.includes("limits"))).toEqual([])
  })
})

describe.each(both_engines)("a month's quota on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  const issued = async (json: object = {}) =>
    (await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["*"], ...json } })).body.token as {
      readonly id: number
      readonly secret: string
    }
  const allow = async (monthly_units: number) =>
    expect(
      (await server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { monthly_units } } })).status
    ).toBe(200)
  const get = (token: string, target = "/api/v1/products") => server.ask(target, { token })
  const heavy = "/api/v1/availability/calendar?start=2026-06-01&end=2026-06-02"
  const recorded = (token_id: number, units: number) =>
    server.run(
      Effect.flatMap(Store, (store) => store.transaction(addMonthUnits(new Map([[token_id, units]]), "2026-06")))
    )

  it("applies only if the setting or the token sets it", async () => {
    server.setClock(noon)
    const free = await get((await issued()).secret)
    expect(Object.keys(free.headers).filter((name) => name.startsWith("x-quota"))).toEqual([])
    await allow(4)
    expect((await get((await issued()).secret)).headers).toMatchObject({
      "x-quota-limit": "4",
      "x-quota-remaining": "3"
    })
    const own = await issued({ monthly_units: 2 })
    expect((await get(own.secret)).headers).toMatchObject({ "x-quota-limit": "2", "x-quota-remaining": "1" })
    const unlimited = await issued({ monthly_units: 0 })
    expect((await get(unlimited.secret)).headers["x-quota-limit"]).toBeUndefined()
    await allow(0)
  })
  it("counts requests by weight, and its refusal says when it resets and who may raise it", async () => {
    server.setClock(noon)
    const { secret } = await issued()
    await allow(8)
    expect((await get(secret, heavy)).headers["x-quota-remaining"]).toBe("3")
    const refused = await get(secret, heavy)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      message:
        "5 of this month's 8 units are used, and this request needs 5. It begins anew on 1 July 2026, 00:00 UTC; an " +
        "administrator may raise the setting api.monthly_units, or give the token monthly_units of its own."
    })
    expect((await get(secret)).headers["x-quota-remaining"]).toBe("2")
    expect((await get(secret, "/api/v1/nowhere")).headers["x-quota-remaining"]).toBe("1")
    await allow(0)
  })
  it("admits free calls and devices' sync after it is used up", async () => {
    server.setClock(noon)
    const { secret } = await issued({ monthly_units: 1 })
    expect((await get(secret)).status).toBe(200)
    expect((await get(secret)).status).toBe(429)
    expect((await get(secret, "/api/v1/system/jobs")).status).toBe(200)
    expect((await get(secret, "/api/v1/sync/replicas")).status).toBe(200)
    expect((await get(secret, "/api/v1/sync/of-a-later-release")).status).toBe(404)
    expect((await get(secret)).status).toBe(429)
  })
  it("resets with the UTC month", async () => {
    server.setClock(june_ends - 1)
    const { secret } = await issued({ monthly_units: 1 })
    expect((await get(secret)).status).toBe(200)
    const refused = await get(secret)
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"])
    server.setClock(june_ends)
    const again = await get(secret)
    expect(again.status).toBe(200)
    expect(again.headers["x-quota-reset"]).toBe(String(Date.parse("2026-08-01T00:00:00.000Z") / 1000))
  })
  it("counts the usage recorded earlier in the month, as the list of tokens shows it", async () => {
    server.setClock(noon)
    const { id, secret } = await issued({ monthly_units: 12 })
    await recorded(id, 10)
    const listed = (await server.ask("/api/v1/tokens?per_page=100")).body.tokens.find((one) => one.id === id)
    expect(listed).toMatchObject({ monthly_units: 12, units_this_month: 10 })
    expect((await get(secret)).headers["x-quota-remaining"]).toBe("1")
    expect((await get(secret)).headers["x-quota-remaining"]).toBe("0")
    expect((await get(secret)).status).toBe(429)
  })
  it("counts each response once, as the list of tokens shows", async () => {
    server.setClock(noon)
    const { id, secret } = await issued({ monthly_units: 100 })
    for (let times = 0; times < 10; times++) await get(secret)
    await server.ask("/api/v1/usage")
    expect((await get(secret)).headers["x-quota-remaining"]).toBe("89")
    await server.ask("/api/v1/usage")
    const listed = (await server.ask("/api/v1/tokens?per_page=100")).body.tokens.find((one) => one.id === id)
    expect(listed?.units_this_month).toBe(11)
  })
  it("applies to a device as set for the token it enrolled with", async () => {
    server.setClock(noon)
    const { secret } = await issued({ monthly_units: 7 })
    const enrolled = await server.ask("/api/v1/sync/replicas", {
      token: secret,
      json: { name: "van", public_key: "A".repeat(43) }
    })
    expect((await get(enrolled.body.token.secret)).headers["x-quota-limit"]).toBe("7")
  })
  it.each([
    [{ monthly_units: -1 }, "monthly_units"],
    [{ monthly_units: 1.5 }, "monthly_units"],
    [{ monthly_units: "many" }, "monthly_units"]
  ])("must be a non-negative integer: %j", async (json, field) => {
    const refused = await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["*"], ...json } })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, [field]])
  })
})
