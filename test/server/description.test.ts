import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Described, serve, type Serving } from "./serving.ts"
import { words } from "../words.ts"

describe("a server", () => {
  let server: Serving
  beforeAll(async () => {
    server = await serve()
  })
  afterAll(() => server.close())

  it("reports its health without a token", async () => {
    const got = await server.ask("/api/v1/system/health", { token: null })
    expect(got.status).toBe(200)
    expect(got.body.health.status).toBe("ok")
    expect(got.body.health.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it("describes uploads and downloads as binary, and the upload's file field as required", async () => {
    const { paths } = (await server.ask("/api/v1/openapi.json", { token: null })).body
    const form = paths["/api/v1/attachments"].post.requestBody.content["multipart/form-data"].schema
    expect(form.properties.file).toMatchObject({ type: "string", format: "binary" })
    expect(form.required).toEqual(["attachable_type", "attachable_id", "file"])
    const content = paths["/api/v1/system/files/{sha256}"].get.responses["200"].content["application/octet-stream"]
    expect(content.schema).toEqual({ type: "string", format: "binary" })
  })
  it("describes to senders of webhooks how to sign them", async () => {
    const { paths } = (await server.ask("/api/v1/openapi.json", { token: null })).body
    const { description } = paths["/api/v1/webhooks/inbound/{source}"].post.requestBody
    for (const header of ["X-Signals-Signature", "webhook-signature", "Stripe-Signature"])
      expect(description).toContain(header)
  })

  it("describes each operation once, with path parameters, security and error responses", async () => {
    const { body: api, status } = await server.ask("/api/v1/openapi.json", { token: null })
    expect(status).toBe(200)
    expect(api.openapi).toBe("3.1.0")
    const described = Object.entries<{ readonly [method: string]: Described }>(api.paths).flatMap(
      ([path, operations]) =>
        Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
    )
    const declared = server.app.catalogue.endpoints.filter((one) => one.path.startsWith("/api/"))
    for (const endpoint of declared) {
      const found = described.find((one) => one.path === endpoint.path && one.method === endpoint.method)
      expect(found, `${endpoint.method} ${endpoint.path}`).toBeDefined()
      const { operation } = found!
      expect(operation.operationId).toBe(endpoint.name)
      expect(operation.summary.length).toBeGreaterThan(0)
      const in_path = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      expect(
        operation.parameters.filter((one: Described) => one.in === "path").map((one: Described) => one.name)
      ).toEqual(in_path)
      expect(operation["x-ability"]).toEqual(endpoint.ability)
      expect(operation.security).toEqual(endpoint.public ? [] : [{ bearer: [] }])
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(endpoint.public ? ["429", "500"] : ["401", "403", "429", "500"])
      )
      if (in_path.length > 0) expect(operation.responses["404"]).toBeDefined()
    }
    const ids = described.map((one) => one.operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })
  it("does not send its description again to a client that has the current ETag", async () => {
    const ask = (headers = {}) => server.ask("/api/v1/openapi.json", { token: null, headers })
    const { headers } = await ask()
    expect(headers).toMatchObject({ "cache-control": "public, no-cache", "etag": expect.stringMatching(/^W\/"/) })
    expect(await ask({ "if-none-match": headers["etag"]! })).toMatchObject({ status: 304, text: "" })
  })
  it("resolves every reference in its description", async () => {
    const { body: api, text } = await server.ask("/api/v1/openapi.json", { token: null })
    const references = [...new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map((found) => found[1]!))]
    expect(references.length).toBeGreaterThan(5)
    for (const reference of references) {
      const target = reference
        .replace("#/", "")
        .split("/")
        .reduce((at, key) => at?.[key], api)
      expect(target, reference).toBeDefined()
    }
  })
  it("describes the settings of each group by their keys", async () => {
    const { components, paths }: Described = (await server.ask("/api/v1/openapi.json", { token: null })).body
    const { get, put } = paths["/api/v1/settings/{group}"]
    const groups = Object.keys(server.app.catalogue.settings)
    for (const operation of [get, put]) expect(operation.parameters[0].schema.enum).toEqual(groups)
    const refs = (schema: Described) =>
      schema["properties"].settings.anyOf.map((one: Described) => one.$ref.split("/").at(-1))
    const shown = refs(get.responses["200"].content["application/json"].schema)
    expect(shown).toEqual(refs(put.responses["200"].content["application/json"].schema))
    expect(components.schemas[shown[groups.indexOf("opportunities")]]).toMatchObject({
      properties: { number_pad: { type: "integer" }, contacts_as_customers: { type: "boolean" } },
      required: expect.arrayContaining(["number_pad"])
    })
    const sent = refs(put.requestBody.content["application/json"].schema)
    expect(components.schemas[sent[groups.indexOf("mail")]].properties.smtp_url).toMatchObject({ format: "uri" })
    expect(components.schemas[sent[groups.indexOf("mail")]].required).toBeUndefined()
  })
  it("describes types, limits and required fields of a body, and no computed or secret ones", async () => {
    const api: Described = (await server.ask("/api/v1/openapi.json", { token: null })).body
    const schema = api.paths["/api/v1/tokens"].post.requestBody.content["application/json"].schema
    expect(schema.required).toEqual(["name", "abilities"])
    expect(schema.properties.name).toMatchObject({ type: "string", maxLength: 255 })
    expect(schema.properties.abilities).toMatchObject({ type: "array", minItems: 1 })
    expect(schema.properties.rate_limit_per_minute).toMatchObject({
      type: ["integer", "null"],
      minimum: 1,
      maximum: 10_000
    })
    expect(Object.keys(schema.properties)).not.toContain("hash")
    expect(Object.keys(schema.properties)).not.toContain("last_used_at")
    expect(Object.keys(api.components.schemas.Token?.properties ?? {})).not.toContain("hash")
  })

  it("lists every endpoint by address and method, for tokens with system:read", async () => {
    const got = await server.ask("/api/v1/endpoints")
    expect(got.status).toBe(200)
    const declared = server.app.catalogue.endpoints.filter((one) => one.path.startsWith("/api/"))
    expect(got.body.meta).toEqual({ total: declared.length, per_page: declared.length, page: 1 })
    const keys = got.body.endpoints.map((one) => `${one.uri} ${one.method}`)
    expect(keys).toEqual([...keys].sort((a: string, b: string) => (a < b ? -1 : 1)))
    expect(got.body.endpoints.find((one) => one.uri === "/api/v1/products" && one.method === "GET")).toEqual({
      name: "products.list",
      method: "GET",
      uri: "/api/v1/products",
      resource: "products",
      operation: "list",
      ability: "products:read",
      price_weight: 1
    })
    expect(got.body.endpoints.find((one) => one.uri === "/api/v1/endpoints")?.price_weight).toBe(0)
    expect(got.body.endpoints.find((one) => one.uri === "/api/v1/system/health")).toMatchObject({
      ability: null,
      price_weight: 0
    })
    const { body } = await server.ask("/api/v1/tokens", { json: { name: "Other", abilities: ["products:read"] } })
    expect((await server.ask("/api/v1/endpoints", { token: body.token.secret })).status).toBe(403)
  })

  it("shows its metrics to this machine only", async () => {
    await server.ask("/api/v1/products")
    await server.ask("/api/v1/nope")
    const got = await server.ask("/metrics", { token: null, from: "127.0.0.1" })
    expect(got.status).toBe(200)
    expect(got.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(got.text).toMatch(/^flightcase_requests_total\{endpoint="products\.list",method="GET",status="200"\} [1-9]/m)
    expect(got.text).toMatch(/^flightcase_requests_total\{endpoint="none",method="none",status="404"\} [1-9]/m)
    for (const line of got.text.trim().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^}]*\})? [-+\d.e]+)$/)
    expect([...got.text.matchAll(/^# TYPE (.+)$/gm)].map(([, told]) => told).sort()).toEqual([
      "flightcase_event_loop_delay_max_seconds gauge",
      "flightcase_job_attempts_total counter",
      "flightcase_job_failures_total counter",
      "flightcase_jobs gauge",
      "flightcase_journal_position gauge",
      "flightcase_metering_rows_dropped_total counter",
      "flightcase_metering_rows_waiting gauge",
      "flightcase_metering_rows_written_total counter",
      "flightcase_notifications_to_be_mailed gauge",
      "flightcase_notifications_total counter",
      "flightcase_request_duration_seconds histogram",
      "flightcase_requests_total counter",
      "flightcase_webhook_attempts_total counter",
      "flightcase_webhook_deliveries_waiting gauge",
      "flightcase_webhooks_turned_off gauge",
      "nodejs_heap_size_used_bytes gauge",
      "process_cpu_seconds_total counter",
      "process_resident_memory_bytes gauge",
      "process_start_time_seconds gauge"
    ])
    const durations = [
      ...got.text.matchAll(
        /^flightcase_request_duration_seconds_bucket\{endpoint="products\.list",le="([^"]+)"\} (\d+)$/gm
      )
    ]
    expect(durations.map(([, bound]) => bound)).toEqual(
      words("0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf")
    )
    const counts = durations.map(([, , count]) => Number(count))
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
    expect(got.text).toContain(`flightcase_request_duration_seconds_count{endpoint="products.list"} ${counts.at(-1)}\n`)
    expect((await server.ask("/metrics", { token: null, from: "::ffff:127.0.0.1" })).status).toBe(200)
    expect((await server.ask("/metrics", { from: "10.0.0.7" })).status).toBe(404)
    expect(
      (await server.ask("/metrics", { from: "127.0.0.1", headers: { "x-forwarded-for": "10.0.0.7" } })).status
    ).toBe(404)
  })
})
