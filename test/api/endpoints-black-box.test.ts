/** The catalogue of endpoints over the API alone (rules/conventions 16). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, openBooks } from "./billing-black-box.ts"
import type { Body } from "../answers.ts"

/** Ten operations of metering and notifications, with their permission and weight. */
const ten = [
  ["GET", "/api/v1/usage", "api-usage:read", 0],
  ["GET", "/api/v1/usage/export", "api-usage:read", 0],
  ["GET", "/api/v1/request_logs", "api-log:read", 0],
  ["GET", "/api/v1/endpoints", "system:read", 0],
  ["GET", "/api/v1/notification_preferences", "notification-preferences:read", 1],
  ["PUT", "/api/v1/notification_preferences", "notification-preferences:write", 1],
  ["GET", "/api/v1/members/{}/notification_preferences", "notification-preferences:read", 1],
  ["PUT", "/api/v1/members/{}/notification_preferences", "notification-preferences:write", 1],
  ["GET", "/api/v1/notification_settings", "notification-settings:read", 1],
  ["PUT", "/api/v1/notification_settings", "notification-settings:write", 1]
] as const
const heavy = [
  ["GET", "/api/v1/availability/calendar"],
  ["GET", "/api/v1/availability/{}/gantt"],
  ["GET", "/api/v1/availability/shortages"],
  ["POST", "/api/v1/documents/generate"],
  ["POST", "/api/v1/documents/batch_generate"],
  ["GET", "/api/v1/invoices/{}/pdf"]
]
const plain = [
  ["GET", "/api/v1/products"],
  ["POST", "/api/v1/products"],
  ["GET", "/api/v1/members/{}"],
  ["GET", "/api/v1/availability"],
  ["POST", "/api/v1/opportunities"],
  ["POST", "/api/v1/invoices/{}/issue"],
  ["DELETE", "/api/v1/members/{}"],
  ["PUT", "/api/v1/settings/{}"],
  ["POST", "/api/v1/webhooks"],
  ["POST", "/api/v1/tokens"]
]
const free = (uri: string): string => uri.replaceAll(/\{\w*\}/g, "{}")

describe.each(engines)("the catalogue of endpoints on %s (rules/conventions 16)", (engine) => {
  let house: Books, body: Body
  beforeAll(async () => {
    house = await openBooks(engine)
    body = (await house.ask("GET", "/endpoints")).body
  })
  afterAll(() => house.close())
  const row = (method: string, uri: string) =>
    body.endpoints.find((one) => one.method === method && free(one.uri) === uri)

  it("is on one page, with the total", async () => {
    const { length } = body.endpoints
    expect(body.meta).toEqual({ total: length, per_page: length, page: 1 })
    expect((await house.get("/endpoints?page=2&per_page=5")).endpoints).toEqual(body.endpoints)
  })
  it("names each route by its resource and its operation", () => {
    for (const { name, resource, operation } of body.endpoints)
      expect([name, typeof operation]).toEqual([
        [resource, operation].filter((part) => part !== null).join("."),
        "string"
      ])
  })
  it.each(ten)("lists %s %s with its required ability and its weight", (method, uri, ability, price_weight) => {
    expect(row(method, uri)).toMatchObject({ ability, price_weight })
  })
  it.each(heavy)("gives %s %s a weight of 5 units", (method, uri) => {
    expect(row(method, uri)?.price_weight).toBe(5)
  })
  it.each(plain)("gives %s %s a weight of 1 unit", (method, uri) => {
    expect(row(method, uri)?.price_weight).toBe(1)
  })
  it("lists only paths that are served, and methods that are served there", async () => {
    const at = new Map<string, Array<string>>()
    for (const { uri, method } of body.endpoints) at.set(uri, [...(at.get(uri) ?? []), method])
    for (const [uri, methods] of at) {
      const got = await house.server.ask(uri.replaceAll(/\{\w+\}/g, "1"), { method: "PURGE" })
      expect([uri, got.status]).toEqual([uri, 405])
      const allowed = (got.headers["allow"] ?? "").split(/, */).filter((one) => !["HEAD", "OPTIONS"].includes(one))
      // Another route may also match an address with a word for a number, so more methods may be allowed.
      for (const method of methods) expect(allowed, uri).toContain(method)
    }
  })
  it("has the same weights as the request log records", async () => {
    const till = await house.token()
    const readable = body.endpoints.filter(({ method, uri }) => method === "GET" && !uri.includes("{"))
    for (const { uri } of readable) {
      if (/\/(stream|shape|snapshot|rows|checksums)$/.test(uri)) continue
      await house.server.ask(uri, { token: till.secret })
    }
    const rows = await house.logs({ "q[personal_access_token_id_eq]": till.id })
    const weights = new Map<string | null, number>(body.endpoints.map((one) => [one.name, one.price_weight]))
    expect(rows.length).toBeGreaterThan(30)
    for (const { route_name, price_weight } of rows)
      expect([route_name, price_weight]).toEqual([route_name, weights.get(route_name)])
  })
  it("needs the ability system:read and the permission system.read", async () => {
    const status = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (await house.by((await house.person(permissions, abilities)).token, "GET", "/endpoints")).status
    expect(await status(["system.read"], ["system:read"])).toBe(200)
    expect(await status(["system.read"], ["api-usage:read"])).toBe(403)
    expect(await status([], ["system:read"])).toBe(403)
    expect((await house.by(null, "GET", "/endpoints")).status).toBe(401)
  })
})
