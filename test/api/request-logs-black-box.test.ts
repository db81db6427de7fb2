/** Request logs over the API alone (rules/conventions 10 and 16). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import type { Sent } from "../server/serving.ts"
import { type Books, calendar, day, minute, openBooks, times, type Token, with_broken } from "./billing-black-box.ts"
import type { Body } from "../answers.ts"

let asked = 0

describe.each(engines)("the request log on %s (rules/conventions 16)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine, with_broken)
  })
  afterAll(() => house.close())
  /** Sends a request; returns the response and its row in the log. */
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
    return { got, row: found[0]! }
  }

  describe("a row", () => {
    it("has the caller, the call, its resource, its time and its result", async () => {
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
    it("has no response bytes if nothing was sent", async () => {
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
    it("has the ability the call required, even if the token lacks it", async () => {
      const whole = await logged(await house.token(), "GET", "/products")
      expect(whole.row.ability).toBe("products:read")
      const poor = await logged(await house.token({ abilities: ["members:read"] }), "GET", "/products")
      expect([poor.row.status_code, poor.row.ability]).toEqual([403, "products:read"])
    })
    it("has no ability if the call requires none", async () => {
      expect((await logged(null, "GET", "/system/health")).row.ability).toBe(null)
    })
    it("has the generated request id that the response carries", async () => {
      house.later(minute)
      const got = await house.ask("GET", "/products")
      const made = got.headers["x-request-id"]
      expect(made).toMatch(/^[0-9a-f-]{36}$/)
      expect((await house.logs({ "q[created_at_gteq]": house.instant() })).map((row) => row.request_id)).toContain(made)
    })
    it("has weight 5 for an availability calendar, and 0 for the log itself", async () => {
      const till = await house.token()
      const grid = (await logged(till, "GET", calendar)).row
      expect([grid.price_weight, grid.weighted_units]).toEqual([5, 5])
      const log = (await logged(till, "GET", "/request_logs")).row
      expect([log.price_weight, log.weighted_units]).toEqual([0, 0])
    })
  })

  describe("rows of responses with status", () => {
    it("401 do not contain the wrong token", async () => {
      const wrong = { ...(await house.token()), secret: "7|this-secret-opens-nothing" }
      const { row } = await logged(wrong, "GET", "/products")
      expect([row.status_code, row.personal_access_token_id, row.user_id]).toEqual([401, null, null])
      expect(JSON.stringify(row)).not.toContain("opens-nothing")
    })
    it("403 name the token and the user", async () => {
      const { token, user_id } = await house.person([])
      const { row } = await logged(token, "GET", "/products")
      expect(row).toMatchObject({ status_code: 403, personal_access_token_id: token.id, user_id })
    })
    it("422 for invalid JSON record the number of bytes received", async () => {
      const { row } = await logged(await house.token(), "POST", "/products", undefined, { bytes: '{"name":' })
      expect([row.status_code, row.request_bytes]).toEqual([422, 8])
    })
    it("409 are written for a reused idempotency key", async () => {
      const till = await house.token()
      const keyed = { headers: { "idempotency-key": "two-things" } }
      // Idempotency keys count where money or numbers result; elsewhere they are ignored.
      expect((await house.by(till, "POST", "/opportunities", { subject: "One" }, keyed)).status).toBe(201)
      expect((await logged(till, "POST", "/opportunities", { subject: "Other" }, keyed)).row.status_code).toBe(409)
    })
    it("429 have no units, and name the route", async () => {
      const narrow = await house.token({ rate_limit_per_minute: 1 })
      house.later(minute)
      const [, refused] = await times(2, () => house.by(narrow, "GET", "/products"))
      expect(refused?.status).toBe(429)
      const rows = await house.logs({ "q[personal_access_token_id_eq]": narrow.id, "q[status_code_eq]": 429 })
      expect(rows.length).toBe(1)
      expect(rows[0]).toMatchObject({ price_weight: 1, weighted_units: 0, user_id: 1, route_name: "products.list" })
    })
    it("500 have no units", async () => {
      const { row } = await logged(await house.token(), "GET", "/broken")
      expect(row).toMatchObject({ status_code: 500, route_name: "broken.list", price_weight: 1, weighted_units: 0 })
    })
    it("202 are written for background work", async () => {
      const { row } = await logged(await house.token(), "GET", "/usage/export")
      expect([row.status_code, row.price_weight, row.weighted_units]).toEqual([202, 0, 0])
    })
  })

  describe("filters and order of request log rows", () => {
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
    const routes = (rows: Body["request_logs"]) => rows.map((row) => row.route_name)

    it("ignore the letter case of the channel, and return no row for an unknown channel", async () => {
      expect((await of_one({ "q[channel_eq]": "api" })).length).toBe(4)
      expect((await of_one({ "q[channel_eq]": "API" })).length).toBe(4)
      expect(await of_one({ "q[channel_eq]": "webhook_sent" })).toEqual([])
      expect(await of_one({ "q[channel_eq]": "smoke" })).toEqual([])
    })
    it("include both ends of a range of times", async () => {
      expect((await of_one({ "q[created_at_gteq]": until })).length).toBe(2)
      expect((await of_one({ "q[created_at_lteq]": from })).length).toBe(1)
      expect((await of_one({ "q[created_at_gteq]": from, "q[created_at_lteq]": until })).length).toBe(3)
    })
    it("read a date as midnight UTC at its start", async () => {
      const today = from.slice(0, 10)
      const tomorrow = new Date(Date.parse(today) + day).toISOString().slice(0, 10)
      expect((await of_one({ "q[created_at_gteq]": today })).length).toBe(4)
      expect(await of_one({ "q[created_at_gteq]": tomorrow })).toEqual([])
      expect(await of_one({ "q[created_at_lteq]": today })).toEqual([])
    })
    it("apply together if a request has several", async () => {
      const query = { "q[route_name_eq]": "products.list", "q[status_code_eq]": 200, "q[created_at_lteq]": from }
      expect((await of_one(query)).length).toBe(1)
    })
    it("return the newest row first by default, as the sort created_at does", async () => {
      expect(routes(await of_one())).toEqual(["products.list", "products.show", "members.list", "products.list"])
      expect(await of_one({ sort: "created_at" })).toEqual(await of_one())
    })
    it("put the higher id first among rows of the same instant", async () => {
      house.later(minute)
      const burst = await house.token()
      for (const path of ["/products", "/members", "/stores", "/opportunities"]) await house.by(burst, "GET", path)
      const query = { "q[personal_access_token_id_eq]": burst.id }
      const newest = routes(await house.logs(query))
      expect(newest).toEqual(["opportunities.list", "stores.list", "members.list", "products.list"])
      expect(routes(await house.logs({ ...query, sort: "-created_at" }))).toEqual(newest.toReversed())
    })
  })

  describe("the row of a request", () => {
    it("does not contain a name from the request's body", async () => {
      const { row } = await logged(await house.token(), "POST", "/members", {
        name: "Ada Lovelace",
        membership_type: "contact"
      })
      expect([row.status_code, JSON.stringify(row).includes("Lovelace")]).toEqual([201, false])
    })
    it("does not contain the secret of the token", async () => {
      const till = await house.token()
      const { row } = await logged(till, "GET", "/products")
      expect(JSON.stringify(row)).not.toContain(till.secret.split("|")[1])
    })
    it("contains at most 500 characters of the user agent", async () => {
      const agent = `Till/${"1".repeat(2_000)}`
      const { row } = await logged(await house.token(), "GET", "/products", undefined, {
        headers: { "user-agent": agent }
      })
      expect(row.user_agent).toBe(agent.slice(0, 500))
    })
  })
})
