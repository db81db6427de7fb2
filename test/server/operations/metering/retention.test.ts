/** Request logs and usage: they agree, are deleted when their time is over, and lose data of erased people. */
import { Effect } from "effect"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { insert } from "../../../../core/kernel/tables/table.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import {
  type Metered,
  request_logs,
  type RequestLogRow,
  shownAddress
} from "../../../../server/operations/metering/metered.ts"
import { makeBuffer, makeMeter, type Meter } from "../../../../server/operations/metering/meter.ts"
import { dropOld } from "../../../../server/operations/metering/slice.ts"
import type { AnsweredServerCall } from "../../../../server/ports/server-slice.ts"
import { usageOf, windowOf } from "../../../../server/operations/metering/usage-api.ts"
import { type Engine, engines } from "../../../app.ts"
import { askOf, serve, type Serving, startedDatabase } from "../../serving.ts"

const day = 86_400_000
const noon = Date.parse("2026-06-18T12:34:56.789Z")
const call: AnsweredServerCall = {
  request_id: "r",
  method: "GET",
  target: "/api/v1/stores",
  uri: "/api/v1/stores",
  endpoint: "stores.list",
  ability: null,
  metering_weight: 1,
  user_id: 1,
  token_id: 1,
  status: 200,
  started_millis: noon,
  duration_ms: 1,
  request_bytes: 0,
  response_bytes: 1,
  remote_address: "192.0.2.7",
  user_agent: "curl"
}

it.each([
  ["192.0.2.77", "192.0.2.0"],
  ["::ffff:192.0.2.77", "192.0.2.0"],
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "::1"],
  ["2001:db8:1:2:3::4", "2001:db8:1::"],
  ["2001:db8::4", "2001:db8::"],
  ["fe80::1%eth0", "fe80::"],
  ["", null],
  ["unknown", null]
])("metering stores the client address %s as %s", (address, shown) => {
  expect(shownAddress(address, "shortened")).toBe(shown)
  expect(shownAddress(address, "none")).toBeNull()
})

it("metering keeps a limited number of unwritten rows in memory, and isolates a row the database rejects", () => {
  const buffer = makeBuffer(4, 6)
  const rows = Array.from({ length: 8 }, (_, at): Metered => ({ ...call, channel: "api", request_id: String(at) }))
  expect(rows.map(buffer.add)).toEqual([true, true, true, true, true, true, false, false])
  const taken: Array<string> = []
  for (let batch = buffer.next(); batch !== undefined; batch = buffer.next()) {
    const ids = batch.metered.map((one) => one.request_id)
    if (ids.includes("2")) buffer.refused()
    else {
      taken.push(...ids)
      buffer.done()
    }
  }
  expect(taken).toEqual(["0", "1", "3", "4", "5"])
  expect([buffer.waiting(), buffer.dropped()]).toEqual([0, 3])
})

describe.each(engines)("request logs on %s", (engine: Engine) => {
  let server: Serving
  const meter: Meter = makeMeter()
  beforeAll(async () => {
    server = await serve(engine)
    server.setClock(noon)
  })
  afterAll(() => server?.close())
  const rowsOf = () => server.run(Effect.flatMap(Store, (store) => store.find(request_logs, {})))
  const empty = () =>
    server.run(
      Effect.flatMap(Store, (store) =>
        Effect.andThen(store.run("delete from request_logs"), store.run("delete from usage_hours"))
      )
    )

  it("add up to the sums of usage, for random calls and windows", { timeout: 120_000 }, async () => {
    const calls = fc.array(
      fc.record({
        started_millis: fc.integer({ min: noon - 40 * day, max: noon }),
        endpoint: fc.constantFrom(null, "stores.list", "products.list", "usage.list"),
        status: fc.constantFrom(200, 404, 429, 500),
        token_id: fc.constantFrom(null, 1, 2),
        metering_weight: fc.constantFrom(0, 1, 5)
      }),
      { maxLength: 60 }
    )
    const dayAgo = (ago: number): string => new Date(noon - ago * day).toISOString().slice(0, 10)
    const window = fc.oneof(
      fc.constantFrom("24h" as const, "7d" as const, "30d" as const).map((preset) => windowOf(preset, {}, noon)),
      fc
        .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 10 }))
        .map(([ago, long]) => windowOf("custom", { from: dayAgo(ago), to: dayAgo(Math.max(0, ago - long)) }, noon))
    )
    const dimension = fc.constantFrom(...(["token", "endpoint", "resource", "day", "status"] as const))
    const columns = {
      token: (row: RequestLogRow) => row.personal_access_token_id,
      endpoint: (row: RequestLogRow) => row.route_name,
      resource: (row: RequestLogRow) => row.resource,
      day: (row: RequestLogRow) => row.created_at.slice(0, 10),
      status: (row: RequestLogRow) => row.status_code
    }
    await fc.assert(
      fc.asyncProperty(calls, window, dimension, async (some, asked, by) => {
        await empty()
        for (const one of some) meter.answered({ ...call, ...one })
        await server.run(meter.flushed)
        const logs = await rowsOf()
        expect(logs).toHaveLength(some.length)
        const usage = await server.run(
          usageOf({ window: asked, dimension: by, channel: undefined, token_id: undefined }, noon)
        )
        const inside = logs.filter(({ created_at }) => {
          const at = Date.parse(created_at)
          return at >= asked.begin_millis && at < asked.end_millis
        })
        const sums: { [key: string]: [number, number] } = {}
        for (const row of inside) {
          const sum = (sums[String(columns[by](row) ?? "none")] ??= [0, 0])
          sum[0]++
          sum[1] += row.weighted_units
        }
        const told = usage.rows.map((row) => [row.key, [row.request_count, row.weighted_units]])
        expect(Object.fromEntries(told)).toEqual(sums)
        expect(usage.totals.request_count).toBe(inside.length)
      }),
      { numRuns: 25 }
    )
  })

  it("are deleted after 90 days, even in thousands, and sums of usage after 25 months", async () => {
    await empty()
    const ages = [0, 80, 100, 400, 900]
    for (const age of ages) meter.answered({ ...call, started_millis: noon - age * day })
    await server.run(meter.flushed)
    await server.run(
      Effect.flatMap(Store, (store) =>
        store.apply(
          Array.from({ length: 4_100 }, (_, at) =>
            insert(request_logs, {
              ...old_row,
              id: 1_000_000 + at,
              created_at: new Date(noon - 91 * day - at).toISOString()
            })
          )
        )
      )
    )
    await server.run(dropOld)
    const kept = (await rowsOf()).map(({ created_at }) => Math.round((noon - Date.parse(created_at)) / day))
    expect(kept.filter((age) => age > 1).sort()).toEqual([80])
    const hours = await server.run(
      Effect.flatMap(Store, (store) => store.run<{ hour: number }>("select hour from usage_hours"))
    )
    expect(
      hours
        .map(({ hour }) => Math.round((noon / 3_600_000 - Number(hour)) / 24))
        .filter((age) => age > 1)
        .sort()
    ).toEqual([100, 400, 80].sort())
  })

  it("lose the address and user agent of erased people, even in rows not yet written", async () => {
    const invited = await server.ask("/api/v1/users", {
      json: { name: "Mia", email: "mia@example.com", roles: ["Admin"] }
    })
    expect(invited.status, invited.text).toBe(201)
    const { id, member_id } = invited.body.user
    const token = await server.ask("/api/v1/tokens", { json: { name: "Mia's", abilities: ["*"], user_id: id } })
    const asking = () =>
      server.ask("/api/v1/stores", {
        token: token.body.token.secret,
        headers: { "x-request-id": "hers", "user-agent": "her phone" }
      })
    await asking()
    await server.ask("/api/v1/usage")
    await asking()
    const member = member_id ?? (await server.ask(`/api/v1/users/${id}`)).body.user.member_id
    const erased = await server.ask(`/api/v1/members/${member}/anonymise`, { method: "POST", json: {} })
    expect(erased.status, erased.text).toBe(200)
    await server.ask("/api/v1/usage")
    const hers = (await rowsOf()).filter((row) => row.request_id === "hers")
    expect(hers).toHaveLength(2)
    for (const row of hers) expect(row).toMatchObject({ user_id: id, ip_address: null, user_agent: null })
  })
})

const old_row: RequestLogRow = {
  id: 0,
  channel: "api",
  webhook_channel: null,
  request_id: "old",
  method: "GET",
  uri: "/",
  route_name: null,
  resource: null,
  operation: null,
  personal_access_token_id: null,
  user_id: null,
  ability: null,
  status_code: 200,
  duration_ms: 1,
  request_bytes: 0,
  response_bytes: 0,
  price_weight: 1,
  weighted_units: 1,
  ip_address: null,
  user_agent: null,
  created_at: ""
}

it("two servers on one Postgres add up their usage", { timeout: 60_000 }, async () => {
  const { database, drop } = await startedDatabase("pg")
  const [{ app: one }, { app: other }] = [await serve("pg", { database }), await serve("pg", { database })]
  const servers = [one, other]
  await Promise.all(servers.flatMap((app) => Array.from({ length: 150 }, () => askOf(app, "/api/v1/stores", {}))))
  await askOf(other, "/api/v1/usage", {})
  const told = (await askOf(one, "/api/v1/usage?token_id=1", {})).body
  expect(told.usage.find((row) => row.key === "stores.list")?.request_count).toBe(300)
  for (const app of servers) await app.close()
  await drop()
})
