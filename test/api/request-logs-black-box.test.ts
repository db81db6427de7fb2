/** Request logs from outside: rules/conventions 10 and 16, and the interface 2.18, 4.18 and 5. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { get } from "../../core/kernel/endpoint.ts"
import { text } from "../../core/kernel/field.ts"
import { engines } from "../app.ts"
import type { Sent } from "../server/serving.ts"
import { calendar, day, type House, minute, openHouse, queryOf, times, type Token } from "./metering-black-box.ts"

const broken = get("/api/v1/broken", {
  answer: Shown.list(text()),
  name: "broken.list",
  summary: "Breaks",
  ability: null,
  permission: null,
  run: () => Effect.die(new Error("a fault"))
})
const fields = [
  ...["id", "channel", "request_id", "method", "uri", "route_name", "resource", "operation"],
  ...["personal_access_token_id", "user_id", "ability", "status_code", "duration_ms", "request_bytes"],
  ...["response_bytes", "price_weight", "weighted_units", "ip_address", "user_agent", "created_at"]
]
let asked = 0

describe.each(engines)("A request log, on %s (rules/conventions 16)", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine, { undescribed: () => {}, slices: [{ name: "broken", endpoints: [broken] }] })
  })
  afterAll(() => house.close())
  /** Asks, and gives what was answered with its row in the log. */
  const logged = async (who: Token | null, method: string, path: string, json?: unknown, more: Sent = {}) => {
    house.later(minute)
    const request_id = `asked-${++asked}`
    const got = await house.by(who, method, path, json, {
      ...more,
      headers: { ...more.headers, "x-request-id": request_id }
    })
    const rows = await house.logs({ "q[created_at_gteq]": house.instant() })
    const found = rows.filter((row) => row.request_id === request_id)
    expect(found.length, got.text).toBe(1)
    return { got, row: found[0] }
  }

  describe("of a call", () => {
    it("has these fields and no others", async () => {
      const till = await house.token()
      const { row } = await logged(till, "GET", "/products")
      expect(Object.keys(row).sort()).toEqual(fields.toSorted())
    })
    it("says who asked what of whom, when, and what came of it", async () => {
      const { token, user_id } = await house.person(["products.create"])
      const json = { name: "Scheinwerfer für außen" }
      const { got, row } = await logged(token, "POST", "/products", json, { headers: { "user-agent": "Till/1.0" } })
      expect(row).toMatchObject({
        ...{ channel: "api", method: "POST", uri: "/api/v1/products", route_name: "products.create" },
        ...{ resource: "products", operation: "create", personal_access_token_id: token.id, user_id },
        ...{ ability: "products:write", status_code: 201, price_weight: 1, weighted_units: 1 },
        ...{ request_bytes: Buffer.byteLength(JSON.stringify(json)), response_bytes: Buffer.byteLength(got.text) },
        ...{ user_agent: "Till/1.0", created_at: house.instant() }
      })
      expect([typeof row.id, Number.isInteger(row.duration_ms), row.duration_ms >= 0]).toEqual(["number", true, true])
    })
    it("has no bytes asked where nothing was sent", async () => {
      expect((await logged(await house.token(), "GET", "/products")).row.request_bytes).toBe(0)
    })
    it("has no bytes answered where nothing came back", async () => {
      const { id } = await house.made("/products", { name: "Short-lived" })
      const { row } = await logged(await house.token(), "DELETE", `/products/${id}`)
      expect([row.status_code, row.response_bytes, row.operation]).toEqual([204, 0, "delete"])
    })
    it.each<[string, string, () => Promise<string>, [string, string, string]]>([
      ["a list", "GET", async () => "/members", ["members.list", "members", "list"]],
      ["a row", "GET", async () => "/stores/1", ["stores.show", "stores", "show"]],
      ["a change", "PUT", async () => "/stores/1", ["stores.update", "stores", "update"]],
      [
        "an action",
        "POST",
        async () => `/invoices/${(await house.draft()).id}/issue`,
        ["invoices.issue", "invoices", "issue"]
      ]
    ])("names the route, the resource and the operation of %s", async (_what, method, path, names) => {
      const { row } = await logged(await house.token(), method, await path(), method === "GET" ? undefined : {})
      expect([row.route_name, row.resource, row.operation]).toEqual(names)
    })
    it("has the ability that was asked for, whatever it was asked by", async () => {
      const whole = await logged(await house.token(), "GET", "/products")
      expect(whole.row.ability).toBe("products:read")
      const poor = await logged(await house.token({ abilities: ["members:read"] }), "GET", "/products")
      expect([poor.row.status_code, poor.row.ability]).toEqual([403, "products:read"])
    })
    it("has no ability where none is asked for", async () => {
      expect((await logged(null, "GET", "/system/health")).row.ability).toBe(null)
    })
    it("takes over the request id it was given, or makes one that the answer says", async () => {
      house.later(minute)
      const got = await house.ask("GET", "/products")
      const made = got.headers["x-request-id"]
      expect(made).toMatch(/^[0-9a-f-]{36}$/)
      expect((await house.logs({ "q[created_at_gteq]": house.instant() })).map((row) => row.request_id)).toContain(made)
    })
    it("has its own request id where the one it was given is none", async () => {
      house.later(minute)
      const bad = "no spaces, please"
      const got = await house.ask("GET", "/products", undefined, { headers: { "x-request-id": bad } })
      const ids = (await house.logs({ "q[created_at_gteq]": house.instant() })).map((row) => row.request_id)
      expect([got.headers["x-request-id"] === bad, ids.includes(bad)]).toEqual([false, false])
      expect(ids).toContain(got.headers["x-request-id"])
    })
    it("weighs 5 where it is a grid of days, and 0 where it is the log itself", async () => {
      const till = await house.token()
      const grid = (await logged(till, "GET", calendar)).row
      expect([grid.price_weight, grid.weighted_units]).toEqual([5, 5])
      const log = (await logged(till, "GET", "/request_logs")).row
      expect([log.price_weight, log.weighted_units]).toEqual([0, 0])
    })
  })

  describe("is kept of every answer:", () => {
    it("401 without a token, of nobody", async () => {
      const { row } = await logged(null, "GET", "/products")
      expect(row).toMatchObject({ status_code: 401, personal_access_token_id: null, user_id: null, weighted_units: 1 })
      expect([row.route_name, row.resource, row.operation]).toEqual(["products.list", "products", "list"])
    })
    it("401 with a wrong token, which is not in it", async () => {
      const wrong = { ...(await house.token()), secret: "7|this-secret-opens-nothing" }
      const { row } = await logged(wrong, "GET", "/products")
      expect([row.status_code, row.personal_access_token_id, row.user_id]).toEqual([401, null, null])
      expect(JSON.stringify(row)).not.toContain("opens-nothing")
    })
    it("403 for want of a permission", async () => {
      const { token, user_id } = await house.person([])
      const { row } = await logged(token, "GET", "/products")
      expect(row).toMatchObject({ status_code: 403, personal_access_token_id: token.id, user_id })
    })
    it("404 of a row that is not there, under its route", async () => {
      const { row } = await logged(await house.token(), "GET", "/products/999999")
      expect([row.status_code, row.route_name, row.uri]).toEqual([404, "products.show", "/api/v1/products/999999"])
    })
    it("404 of a path that is not there, without a route", async () => {
      const till = await house.token()
      const { row } = await logged(till, "GET", "/nowhere/at/all")
      expect(row).toMatchObject({
        ...{ status_code: 404, route_name: null, resource: null, operation: null, ability: null },
        ...{
          personal_access_token_id: till.id,
          user_id: till.user_id,
          uri: "/api/v1/nowhere/at/all",
          weighted_units: 1
        }
      })
    })
    it("405 of a verb that is not taken there", async () => {
      const { row } = await logged(await house.token(), "DELETE", "/products")
      expect([row.status_code, row.method, row.uri]).toEqual([405, "DELETE", "/api/v1/products"])
    })
    it("422 of a body that is wrong", async () => {
      expect((await logged(await house.token(), "POST", "/products", {})).row.status_code).toBe(422)
    })
    it("422 of a body that is no JSON, with the bytes that came", async () => {
      const { row } = await logged(await house.token(), "POST", "/products", undefined, { bytes: '{"name":' })
      expect([row.status_code, row.request_bytes]).toEqual([422, 8])
    })
    it("409 of an idempotency key used for something else", async () => {
      const till = await house.token()
      const keyed = { headers: { "idempotency-key": "two-things" } }
      // Keys are honoured where money or numbers come of a call; elsewhere they are passed over.
      expect((await house.by(till, "POST", "/opportunities", { subject: "One" }, keyed)).status).toBe(201)
      expect((await logged(till, "POST", "/opportunities", { subject: "Other" }, keyed)).row.status_code).toBe(409)
    })
    it("429 of one call too many, at no units and under its route", async () => {
      const narrow = await house.token({ rate_limit_per_minute: 1 })
      house.later(minute)
      const [, refused] = await times(2, () => house.by(narrow, "GET", "/products"))
      expect(refused?.status).toBe(429)
      const rows = await house.logs({ "q[personal_access_token_id_eq]": narrow.id, "q[status_code_eq]": 429 })
      expect(rows.length).toBe(1)
      expect(rows[0]).toMatchObject({ price_weight: 1, weighted_units: 0, user_id: 1, route_name: "products.list" })
    })
    it("500 of a fault, at no units", async () => {
      const { row } = await logged(await house.token(), "GET", "/broken")
      expect(row).toMatchObject({ status_code: 500, route_name: "broken.list", price_weight: 1, weighted_units: 0 })
    })
    it("202 of what is done later", async () => {
      const { row } = await logged(await house.token(), "GET", "/usage/export")
      expect([row.status_code, row.price_weight, row.weighted_units]).toEqual([202, 0, 0])
    })
    it("and not of what lies beside the interface", async () => {
      house.later(minute)
      for (const path of ["/docs", "/metrics", "/calendar/feed.ics?signature=0", "/d/0000"])
        await house.server.ask(path, { token: null })
      const rows = await house.logs({ "q[created_at_gteq]": house.instant() })
      expect(rows.filter((row) => !row.uri.startsWith("/api/v1"))).toEqual([])
    })
  })

  describe("is found", () => {
    let one: Token, other: Token, from: string, until: string
    beforeAll(async () => {
      house.later(day)
      one = await house.token()
      other = await house.token()
      house.later(minute)
      from = house.instant()
      await house.by(one, "GET", "/products")
      house.later(minute)
      await house.by(one, "GET", "/members")
      await house.by(other, "GET", "/products")
      house.later(minute)
      await house.by(one, "GET", "/products/999999")
      until = house.instant()
      house.later(minute)
      await house.by(one, "GET", "/products")
    })
    const of_one = (query: object = {}) => house.logs({ "q[personal_access_token_id_eq]": one.id, ...query })
    const routes = (rows: ReadonlyArray<any>) => rows.map((row) => row.route_name)

    it("by its token", async () => {
      expect((await of_one()).length).toBe(4)
      expect((await house.logs({ "q[personal_access_token_id_eq]": other.id })).length).toBe(1)
    })
    it("by its route", async () => {
      expect(routes(await of_one({ "q[route_name_eq]": "products.list" }))).toEqual(["products.list", "products.list"])
      expect(await of_one({ "q[route_name_eq]": "products" })).toEqual([])
    })
    it("by its status", async () => {
      expect(routes(await of_one({ "q[status_code_eq]": 404 }))).toEqual(["products.show"])
      expect(await of_one({ "q[status_code_eq]": "missing" })).toEqual([])
    })
    it("by its channel, and by none that is not there", async () => {
      expect((await of_one({ "q[channel_eq]": "api" })).length).toBe(4)
      expect((await of_one({ "q[channel_eq]": "API" })).length).toBe(4)
      expect(await of_one({ "q[channel_eq]": "webhook_sent" })).toEqual([])
      expect(await of_one({ "q[channel_eq]": "smoke" })).toEqual([])
    })
    it("from a time on, and up to a time, both included", async () => {
      expect((await of_one({ "q[created_at_gteq]": until })).length).toBe(2)
      expect((await of_one({ "q[created_at_lteq]": from })).length).toBe(1)
      expect((await of_one({ "q[created_at_gteq]": from, "q[created_at_lteq]": until })).length).toBe(3)
    })
    it("by a day, which begins at midnight UTC", async () => {
      const today = from.slice(0, 10)
      const tomorrow = new Date(Date.parse(today) + day).toISOString().slice(0, 10)
      expect((await of_one({ "q[created_at_gteq]": today })).length).toBe(4)
      expect(await of_one({ "q[created_at_gteq]": tomorrow })).toEqual([])
      expect(await of_one({ "q[created_at_lteq]": today })).toEqual([])
    })
    it("by a time that is none not at all", async () => {
      expect(await of_one({ "q[created_at_gteq]": "yesterday" })).toEqual([])
    })
    it("by several of these at once", async () => {
      const query = { "q[route_name_eq]": "products.list", "q[status_code_eq]": 200, "q[created_at_lteq]": from }
      expect((await of_one(query)).length).toBe(1)
    })
    it("by nothing else: other filters are passed over", async () => {
      expect(
        (await of_one({ "q[ip_address_eq]": "nobody", "q[request_id_eq]": "none", "q[user_agent_cont]": "x" })).length
      ).toBe(4)
    })
    it("newest first, unless told", async () => {
      expect(routes(await of_one())).toEqual(["products.list", "products.show", "members.list", "products.list"])
      expect(await of_one({ sort: "created_at" })).toEqual(await of_one())
    })
    it("oldest first by -created_at", async () => {
      expect(await of_one({ sort: "-created_at" })).toEqual((await of_one()).toReversed())
    })
    it("by status, and by route", async () => {
      expect((await of_one({ sort: "status_code" })).map((row) => row.status_code)).toEqual([200, 200, 200, 404])
      expect(routes(await of_one({ sort: "route_name" }))).toEqual([
        ...["members.list", "products.list", "products.list", "products.show"]
      ])
    })
    it("newest first where it is to be sorted by something else", async () => {
      expect(await of_one({ sort: "ip_address" })).toEqual(await of_one())
    })
    it("newest first among those of one instant", async () => {
      house.later(minute)
      const burst = await house.token()
      for (const path of ["/products", "/members", "/stores", "/opportunities"]) await house.by(burst, "GET", path)
      const query = { "q[personal_access_token_id_eq]": burst.id }
      const newest = routes(await house.logs(query))
      expect(newest).toEqual(["opportunities.list", "stores.list", "members.list", "products.list"])
      expect(routes(await house.logs({ ...query, sort: "-created_at" }))).toEqual(newest.toReversed())
    })
  })

  describe("lies in pages", () => {
    let till: Token
    beforeAll(async () => {
      house.later(minute)
      till = await house.token()
      await Promise.all(Array.from({ length: 123 }, () => house.by(till, "GET", "/products")))
    })
    const page = async (query: object) => {
      const got = await house.ask(
        "GET",
        `/request_logs?${queryOf({ "q[personal_access_token_id_eq]": till.id, ...query })}`
      )
      expect(got.status, got.text).toBe(200)
      return got.body
    }
    it.each<[string, object, object, number]>([
      ["20 unless told", {}, { total: 123, per_page: 20, page: 1 }, 20],
      ["as many as told", { per_page: 50, page: 3 }, { total: 123, per_page: 50, page: 3 }, 23],
      ["100 at most", { per_page: 1000 }, { total: 123, per_page: 100, page: 1 }, 100],
      ["1 at least", { per_page: 0 }, { total: 123, per_page: 1, page: 1 }, 1],
      ["20 where the number is none", { per_page: "all" }, { total: 123, per_page: 20, page: 1 }, 20],
      ["none past the end", { page: 8 }, { total: 123, per_page: 20, page: 8 }, 0],
      ["the first below the first", { page: -3 }, { total: 123, per_page: 20, page: 1 }, 20]
    ])("%s", async (_what, query, meta, length) => {
      const body = await page(query)
      expect([body.meta, body.request_logs.length]).toEqual([meta, length])
    })
    it("that hold each row once", async () => {
      const ids = (await Promise.all([1, 2, 3, 4, 5].map((at) => page({ page: at, per_page: 30 })))).flatMap((body) =>
        body.request_logs.map((row: any) => row.id)
      )
      expect([ids.length, new Set(ids).size]).toEqual([123, 123])
    })
  })

  describe("is read", () => {
    it("only with the ability and the permission", async () => {
      const status = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
        (await house.by((await house.person(permissions, abilities)).token, "GET", "/request_logs")).status
      expect(await status(["system.read"], ["api-log:read"])).toBe(200)
      expect(await status(["system.read"], ["api-usage:read", "system:read"])).toBe(403)
      expect(await status([], ["api-log:read"])).toBe(403)
      expect((await house.by(null, "GET", "/request_logs")).status).toBe(401)
    })
    it("and never written", async () => {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"])
        expect((await house.ask(method, "/request_logs", {})).status).toBe(405)
      expect((await house.ask("DELETE", "/request_logs/1")).status).toBe(404)
    })
  })

  describe("holds nothing personal", () => {
    it("of what was asked for: the query is left out", async () => {
      const { row } = await logged(
        await house.token(),
        "GET",
        "/members?q[name_cont]=Ada%20Lovelace&email=ada@x.example"
      )
      expect(row.uri).toBe("/api/v1/members")
      expect(JSON.stringify(row)).not.toMatch(/ada/i)
    })
    it("of what was sent or answered", async () => {
      const { row } = await logged(await house.token(), "POST", "/members", {
        name: "Ada Lovelace",
        membership_type: "contact"
      })
      expect([row.status_code, JSON.stringify(row).includes("Lovelace")]).toEqual([201, false])
    })
    it("of the token but its number", async () => {
      const till = await house.token()
      const { row } = await logged(till, "GET", "/products")
      expect(JSON.stringify(row)).not.toContain(till.secret.split("|")[1])
    })
    it("of an address but the network it is in", async () => {
      const { row } = await logged(await house.token(), "GET", "/products", undefined, { from: "203.0.113.77" })
      expect([row.ip_address, typeof row.ip_address]).not.toEqual(["203.0.113.77", "string"])
      expect(row.ip_address).toMatch(/^203\.0\.113\./)
      const six = await logged(await house.token(), "GET", "/products", undefined, { from: "2001:db8:1:2:3:4:5:6" })
      expect(six.row.ip_address).not.toContain("3:4:5:6")
    })
    it("but this machine's own address as it is", async () => {
      expect(
        (await logged(await house.token(), "GET", "/products", undefined, { from: "127.0.0.1" })).row.ip_address
      ).toBe("127.0.0.1")
    })
    it("of a program's name but 500 characters", async () => {
      const agent = `Till/${"1".repeat(2_000)}`
      const { row } = await logged(await house.token(), "GET", "/products", undefined, {
        headers: { "user-agent": agent }
      })
      expect(row.user_agent).toBe(agent.slice(0, 500))
    })
    it("of somebody who was anonymised: neither address nor program", async () => {
      const { token, user_id, member_id } = await house.person(["products.view"])
      await house.by(token, "GET", "/products", undefined, { headers: { "user-agent": "Ada's own till" } })
      expect((await house.remove(`/users/${user_id}`)).status).toBeLessThan(300)
      const gone = await house.ask("POST", `/members/${member_id}/anonymise`, {})
      expect(gone.status, gone.text).toBeLessThan(300)
      const rows = await house.logs({ "q[personal_access_token_id_eq]": token.id })
      expect(rows.length).toBe(1)
      expect(rows.map((row) => [row.ip_address, row.user_agent])).toEqual([[null, null]])
      expect((await house.usage({ token_id: token.id })).meta.totals.request_count).toBe(1)
    })
  })
})
