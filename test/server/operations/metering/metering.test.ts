/** Logging, counting and reporting of calls (rules/conventions 16). */
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { csvOf } from "../../../../server/operations/metering/usage-api.ts"
import { get, postQuery } from "../../../../core/kernel/endpoints/endpoint.ts"
import { text } from "../../../../core/kernel/fields/field.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { houseAt } from "../../../api/calling.ts"
import { type Engine, engines } from "../../../app.ts"
import { signedGeneric } from "../../delivery/inbound/signing.ts"
import { formOf } from "../../files/sending.ts"
import { owner_token, serve, type Serving } from "../../serving.ts"

const logsOf = async (server: Serving, query = ""): Promise<ReadonlyArray<any>> => {
  const got = await server.ask(`/api/v1/request_logs?per_page=100${query}`)
  expect(got.status, got.text).toBe(200)
  return got.body.request_logs
}
const logOf = async (server: Serving, request_id: string) =>
  (await logsOf(server)).filter((row) => row.request_id === request_id)
const usageOf = async (server: Serving, query: string) => {
  const got = await server.ask(`/api/v1/usage?${query}`)
  expect(got.status, got.text).toBe(200)
  return got.body
}
const id = (request_id: string) => ({ "x-request-id": request_id })

const drawing = get("/api/v1/drawing", {
  name: "drawings.show",
  summary: "A drawing",
  ability: null,
  permission: null,
  server_only: true,
  produces: "image/png",
  run: () =>
    Effect.succeed({
      status: 200,
      streamed: {
        type: "image/png",
        size_bytes: 300_000,
        open: (range) => {
          const { first, last } = range ?? { first: 0, last: 299_999 }
          return Effect.succeed(Stream.fromIterable([Buffer.alloc(1), Buffer.alloc(last - first)]))
        }
      }
    })
})
const drawn = postQuery("/api/v1/drawing", {
  answer: {},
  name: "drawings.create",
  summary: "Take a drawing",
  ability: null,
  permission: null,
  server_only: true,
  uploads: true,
  success_status: 201,
  fields: { name: text({ max: 20_000 }) },
  run: () => Effect.succeed({ status: 201, body: {} })
})

describe.each(engines)("metering on %s", (engine: Engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { undescribed: () => {}, slices: [{ name: "drawing", endpoints: [drawing, drawn] }] })
  })
  afterAll(() => server?.close())

  it("records the caller, the call, its duration and its result", async () => {
    const got = await server.ask("/api/v1/products?per_page=5", { headers: { ...id("first"), "user-agent": "curl/8" } })
    const [row, ...others] = await logOf(server, "first")
    expect(others).toEqual([])
    expect(row).toMatchObject({
      channel: "api",
      method: "GET",
      uri: "/api/v1/products",
      route_name: "products.list",
      resource: "products",
      operation: "list",
      personal_access_token_id: 1,
      user_id: 1,
      ability: "products:read",
      status_code: 200,
      request_bytes: 0,
      response_bytes: Buffer.byteLength(got.text),
      price_weight: 1,
      weighted_units: 1,
      ip_address: "192.0.2.0",
      user_agent: "curl/8"
    })
    expect(row.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(row.duration_ms).toBeGreaterThanOrEqual(0)
  })

  it("records refused calls under the requested route", async () => {
    await server.ask("/api/v1/products", { token: null, headers: id("anonymous") })
    await server.ask("/api/v1/products/999999", { headers: id("missing") })
    await server.ask("/api/v1/products", { json: {}, headers: id("invalid") })
    await server.ask("/api/v1/nothing", { headers: id("nowhere") })
    await server.ask("/api/v1/products", { method: "PATCH", json: {}, headers: id("verb") })
    const rows = Object.fromEntries((await logsOf(server)).map((row) => [row.request_id, row]))
    expect(rows["anonymous"]).toMatchObject({
      status_code: 401,
      route_name: "products.list",
      personal_access_token_id: null,
      user_id: null,
      ability: null,
      weighted_units: 1
    })
    expect(rows["missing"]).toMatchObject({ status_code: 404, route_name: "products.show", operation: "show" })
    expect(rows["invalid"]).toMatchObject({ status_code: 422, request_bytes: 2, ability: "products:write" })
    expect(rows["nowhere"]).toMatchObject({
      status_code: 404,
      uri: "/api/v1/nothing",
      route_name: null,
      resource: null,
      operation: null
    })
    expect(rows["verb"]).toMatchObject({ status_code: 405, uri: "/api/v1/products", route_name: null })
  })

  it("charges nothing for free calls, and records no requests outside the API", async () => {
    await server.ask("/api/v1/usage", { headers: id("free") })
    await server.ask("/metrics", { headers: id("page"), from: "127.0.0.1" })
    expect(await logOf(server, "free")).toMatchObject([{ price_weight: 0, weighted_units: 0 }])
    expect(await logOf(server, "page")).toEqual([])
  })

  it("records no query string, and no secret in the path", async () => {
    const key = "sEcReT-0123456789-abcdefghijklmnop"
    await server.ask(`/api/v1/products?signature=${key}`, { headers: id("query") })
    await server.ask(`/api/v1/documents/public/${key}/pdf`, { headers: id("key") })
    await server.ask(`/api/v1/webhooks/inbound/${key}`, { json: {}, token: null, headers: id("source") })
    expect(JSON.stringify(await logsOf(server))).not.toContain(key)
    expect(await logOf(server, "source")).toEqual([])
    const stored = await server.run(Effect.flatMap(Store, (store) => store.run("select * from request_logs")))
    expect(JSON.stringify(stored)).not.toContain(key)
  })

  it("records no token or code in place of an id", async () => {
    const uuid = "0198b6f2-7a31-7c4e-9d55-0c6a7e1f2b3d"
    const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
    for (const [at, [path, shown]] of [
      [`tokens/12%7C${secret}`, "tokens/…"],
      [`tokens/${secret}`, "tokens/…"],
      ["users/7K2M-9QXY-ABCD-EFGH-JKMN-PQRS-TVWX", "users/…"],
      ["users/ann%40example.com", "users/…"],
      [`jobs/usage.export:${uuid}`, `jobs/usage.export:${uuid}`],
      [`jobs/usage.export%3A${uuid}`, `jobs/usage.export%3A${uuid}`],
      [`nothing/${uuid}/${secret}`, `nothing/${uuid}/…`],
      ["products/4711", "products/4711"],
      ["products/%E0%A4%A", "products/…"]
    ].entries()) {
      await server.ask(`/api/v1/${path}`, { headers: id(`id-${at}`) })
      expect((await logsOf(server)).flatMap((row) => (row.request_id === `id-${at}` ? [row.uri] : []))).toEqual([
        `/api/v1/${shown}`
      ])
    }
  })

  it("lists calls with filters, sorts and pages", async () => {
    const newest = await logsOf(server)
    const ids = newest.map((row) => row.id)
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    const same = await logsOf(server, "&sort=created_at&q[created_at_lteq]=" + newest[3].created_at)
    expect(same[0].created_at <= newest[3].created_at).toBe(true)
    const oldest = await logsOf(server, "&sort=-created_at")
    expect(oldest[0].request_id).toBe("first")
    expect((await logsOf(server, "&q[s]=created_at desc"))[0].request_id).toBe("first")
    for (const sort of ["status_code", "route_name"]) {
      const values = (await logsOf(server, `&sort=${sort}`)).map((row) => row[sort]).filter((value) => value !== null)
      expect(values).toEqual([...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)))
      const back = (await logsOf(server, `&sort=-${sort}`)).map((row) => row[sort]).filter((value) => value !== null)
      expect(back[0]).toBe(values.at(-1))
    }
    for (const [query, column, value] of [
      ["route_name_eq", "route_name", "products.list"],
      ["status_code_eq", "status_code", 404],
      ["personal_access_token_id_eq", "personal_access_token_id", 1],
      ["channel_eq", "channel", "api"]
    ] as const) {
      const rows = await logsOf(server, `&q[${query}]=${value}`)
      expect(rows.length).toBeGreaterThan(0)
      for (const row of rows) expect(row[column]).toBe(value)
    }
    expect((await logsOf(server, "&q[status_code_in]=404,422")).every((row) => row.status_code! >= 404)).toBe(true)
    expect(await logsOf(server, "&q[created_at_gteq]=2999-01-01")).toEqual([])
    const page = await server.ask("/api/v1/request_logs?per_page=2&page=2")
    expect(page.body.meta).toMatchObject({ per_page: 2, page: 2 })
    expect(page.body.request_logs).toHaveLength(2)
    expect((await server.ask("/api/v1/request_logs")).body.meta.per_page).toBe(20)
  })

  it("sums calls without a token under the key none, and nothing for an unknown token or an empty window", async () => {
    const { usage } = await usageOf(server, "dimension=token")
    expect(usage.toSorted((a: Record<"key", string>, b: Record<"key", string>) => a.key.localeCompare(b.key))).toEqual([
      expect.objectContaining({ key: "1", label: expect.any(String) }),
      expect.objectContaining({ key: "none", label: null })
    ])
    expect((await usageOf(server, "token_id=999")).usage).toEqual([])
    expect(await usageOf(server, "window=custom&from=2020-01-01&to=2020-01-02")).toMatchObject({
      usage: [],
      meta: {
        totals: { request_count: 0, weighted_units: 0 },
        window: { preset: "custom", from: "2020-01-01", to: "2020-01-02" }
      }
    })
  })

  it.each([
    ["window=1y", "window"],
    ["channel=mail", "channel"],
    ["dimension=colour", "dimension"],
    ["window=custom&to=2026-01-01", "from"],
    ["window=custom&from=2026-01-01", "to"],
    ["window=custom&from=2026-01-02&to=2026-01-01", "to"],
    ["window=custom&from=01.02.2026&to=2026-03-01", "from"],
    ["window=custom&from=2026-01-01&to=2026-02-30", "to"],
    ["token_id=x", "token_id"]
  ])("refuses the query %s with an error at the parameter", async (query, field) => {
    for (const path of ["usage", "usage/export"]) {
      const got = await server.ask(`/api/v1/${path}?${query}`)
      expect(got.status, got.text).toBe(422)
      expect(Object.keys(got.body.errors)).toEqual([field])
    }
  })

  it("escapes spreadsheet formulas in the exported CSV", () => {
    const row = { key: "7", request_count: 1, weighted_units: 1 }
    expect(
      csvOf([
        { ...row, label: "\uff1dcmd|' /C calc'!A0" },
        { ...row, label: "'=1+1" },
        { ...row, label: 'A "B"' }
      ])
    ).toBe(
      `key,label,request_count,weighted_units\r\n7,'\uff1dcmd|' /C calc'!A0,1,1\r\n7,''=1+1,1,1\r\n7,"A ""B""",1,1\r\n`
    )
  })

  it("counts inbound webhooks once under their own channel, and none without a valid signature", async () => {
    const { body } = await server.ask("/api/v1/inbound_sources", { json: { name: "bank", kind: "generic" } })
    const text = JSON.stringify({ type: "noted" })
    const send = (headers: { readonly [name: string]: string }) =>
      server.ask("/api/v1/webhooks/inbound/bank?x=1", { method: "POST", bytes: text, token: null, headers })
    const { secret } = body.inbound_source
    expect((await send({ ...signedGeneric(secret, text), ...id("in") })).status).toBe(202)
    expect((await send({ ...signedGeneric(`${secret}x`, text), ...id("forged") })).status).toBe(403)
    const list = signedGeneric(secret, "[]")
    const no_object = { method: "POST", bytes: "[]", token: null, headers: { ...list, ...id("list") } }
    expect((await server.ask("/api/v1/webhooks/inbound/bank", no_object)).status).toBe(422)
    expect(await logOf(server, "in")).toMatchObject([
      {
        channel: "webhook_received",
        uri: "/api/v1/webhooks/inbound/bank",
        personal_access_token_id: null,
        user_id: null,
        status_code: 202,
        request_bytes: text.length,
        price_weight: 1,
        weighted_units: 1
      }
    ])
    expect(await logOf(server, "forged")).toEqual([])
    expect(await logOf(server, "list")).toMatchObject([{ channel: "webhook_received", status_code: 422 }])
    expect((await usageOf(server, "channel=webhook_received")).meta.totals).toEqual({
      request_count: 2,
      weighted_units: 2
    })
  })

  it("counts the bytes of downloads as sent, and of uploads as received", async () => {
    const whole = await server.ask("/api/v1/drawing", { headers: id("whole") })
    expect(whole.bytes.length).toBe(300_000)
    expect((await server.ask("/api/v1/drawing", { headers: { ...id("part"), range: "bytes=5-14" } })).status).toBe(206)
    expect((await server.ask("/api/v1/drawing", { method: "HEAD", headers: id("head") })).status).toBe(200)
    const sizes = async (request_id: string) => (await logOf(server, request_id)).map((row) => row.response_bytes)
    expect([await sizes("whole"), await sizes("part"), await sizes("head")]).toEqual([[300_000], [10], [0]])
    const { bytes, type } = await formOf([["name", "x".repeat(10_000)]])
    const form = { method: "POST", bytes, headers: { ...id("form"), "content-type": type } }
    expect((await server.ask("/api/v1/drawing", form)).status).toBe(201)
    expect(await logOf(server, "form")).toMatchObject([{ status_code: 201, request_bytes: bytes.length }])
  })
  it("counts a notification stream when it starts", async () => {
    const got = await server.app.ask({
      ...{ method: "GET", target: "/api/v1/notifications/stream", remote_address: "192.0.2.1" },
      ...{ headers: { authorization: `Bearer ${owner_token}`, ...id("events") }, body: async () => Buffer.alloc(0) }
    })
    expect(got.status).toBe(200)
    expect(await logOf(server, "events")).toMatchObject([
      { status_code: 200, route_name: "notifications.stream", response_bytes: 0, weighted_units: 1 }
    ])
  })

  it("needs api-usage:read for usage and api-log:read for request logs", async () => {
    const { body } = await server.ask("/api/v1/tokens", { json: { name: "Narrow", abilities: ["products:read"] } })
    const token = body.token.secret
    for (const [path, ability] of [
      ["/api/v1/usage", "api-usage:read"],
      ["/api/v1/usage/export", "api-usage:read"],
      ["/api/v1/request_logs", "api-log:read"]
    ] as const) {
      const got = await server.ask(path, { token })
      expect(got.status).toBe(403)
      expect(got.body.message).toContain(ability)
    }
    await server.ask(`/api/v1/tokens/${body.token.id}`, { method: "DELETE" })
    const named = await usageOf(server, `dimension=token&token_id=${body.token.id}`)
    expect(named.usage).toMatchObject([{ key: String(body.token.id), label: "Narrow", request_count: 3 }])
  })
  it.each([
    ["usage", "api-usage:read", "api-log:read"],
    ["usage/export", "api-usage:read", "api-log:read"],
    ["request_logs", "api-log:read", "api-usage:read"]
  ])(
    "%s needs the permission system.read and the ability %s, and %s does not suffice",
    async (path, ability, other) => {
      const status = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) => {
        const { secret } = await houseAt(server).person({ permissions, abilities })
        return (await server.ask(`/api/v1/${path}`, { token: secret })).status
      }
      const others = server.app.catalogue.permissions.map(({ key }) => key).filter((key) => key !== "system.read")
      expect(await status(["system.read"], [ability])).toBeLessThan(300)
      expect(await status(["system.read"], [other, "system:read"])).toBe(403)
      expect(await status(others, [ability])).toBe(403)
    }
  )
})
