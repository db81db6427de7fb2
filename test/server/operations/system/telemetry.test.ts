/** Telemetry of a running server: spans and metrics by OTLP, and the use of /metrics in deploy/. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openCommandLine } from "../../../cli/command-line.ts"
import { words } from "../../../words.ts"
import { cleanUp, folderOfItsOwn, type ServerProcess, startServer } from "../../process.ts"

const token = "a-token-of-more-than-twenty-characters"
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

/** Requests a collector received. */
interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}
const received: Array<Received> = []
let collector: Server, endpoint: string
beforeAll(async () => {
  collector = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(parts) })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  }).listen(0, "127.0.0.1")
  await once(collector, "listening")
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
})
afterAll(async () => {
  await cleanUp()
  collector.close()
})

/** Intervals longer than a test, so that everything arrives at shutdown. */
const seldom = { OTEL_BSP_SCHEDULE_DELAY: "600000", OTEL_METRIC_EXPORT_INTERVAL: "600000" }
const start = async (env: { readonly [name: string]: string }): Promise<ServerProcess> => {
  received.length = 0
  return startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token, ...env })
}

// Bodies in OTLP's JSON form.

interface Attributes {
  readonly attributes: ReadonlyArray<{
    readonly key: string
    readonly value: { readonly stringValue?: string; readonly intValue?: number | string }
  }>
}
interface Span extends Attributes {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
}
interface Traces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: Attributes
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}
interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<{ readonly name: string }> }>
  }>
}
const bodies = <A>(path: string): ReadonlyArray<A> =>
  received.filter((one) => one.path === path).map(({ body }) => JSON.parse(body.toString()))
const attributesOf = (of: Attributes | undefined) =>
  Object.fromEntries(of?.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]) ?? [])

describe("a server with OTEL_EXPORTER_OTLP_ENDPOINT", () => {
  let spans: ReadonlyArray<Span>, metrics: ReadonlyArray<{ readonly name: string }>, text: string
  beforeAll(async () => {
    const server = await start({
      ...seldom,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=secret",
      OTEL_SERVICE_NAME: "hire-desk"
    })
    const device = openCommandLine()
    try {
      for (const line of [
        `login ${server.url} --token ${token}`,
        "products create --name Truss --offline",
        "sync",
        "mail test ann@example.com --wait"
      ])
        expect(await device.type(words(line)), line).toMatchObject({ code: 0 })
    } finally {
      device.close()
    }
    expect((await fetch(`${server.url}/api/v1/stores/99`, { headers })).status).toBe(404)
    text = await (await fetch(`${server.url}/metrics`)).text()
    expect(received).toEqual([])
    expect(await server.kill("SIGTERM")).toMatchObject({ code: 0 })
    spans = bodies<Traces>("/v1/traces").flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans))
    )
    metrics = bodies<Metrics>("/v1/metrics").flatMap(({ resourceMetrics }) =>
      resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((one) => one.metrics))
    )
  }, 120_000)

  it("sends a span for each request, named by its route, with status and id", () => {
    const span = spans.find((one) => one.name === "GET /api/v1/stores/{id}")
    expect(attributesOf(span)).toMatchObject({
      "http.request.method": "GET",
      "http.route": "/api/v1/stores/{id}",
      "http.response.status_code": 404,
      "flightcase.request_id": expect.any(String)
    })
    const statements = spans.filter((one) => one.traceId === span?.traceId && one.spanId !== span?.spanId)
    expect(statements.length).toBeGreaterThan(0)
  })
  it("sends a span for each job and for each command that a device pushed", () => {
    expect(spans.filter((one) => one.name === "job mail.send").map(({ kind }) => kind)).toEqual([5])
    const pushed = spans.find((one) => one.name === "sync.push products.create")
    expect(attributesOf(pushed)).toMatchObject({ "flightcase.command_number": 1, "flightcase.verdict": "accepted" })
    const request = spans.find((one) => one.traceId === pushed?.traceId && one.name.startsWith("POST /api/v1/sync"))
    expect(request).toBeDefined()
  })
  it("sends the metrics that /metrics shows", () => {
    const names = new Set(metrics.map(({ name }) => name))
    const shown = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    // flightcase_jobs has no value while no job waits.
    expect(shown.filter((name) => !names.has(String(name)) && name !== "flightcase_jobs")).toEqual([])
  })
  it("names the service and sends the headers it was given", () => {
    for (const { headers: sent } of received) expect(sent["api-key"]).toBe("secret")
    const [traces] = bodies<Traces>("/v1/traces")
    expect(attributesOf(traces?.resourceSpans[0]?.resource)["service.name"]).toBe("hire-desk")
  })

  describe("/metrics", () => {
    const families = () => [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({ name, type }))
    it("declares each metric once, with help and type", () => {
      const names = families().map(({ name }) => String(name))
      expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
      const helped = [...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => String(name))
      expect(helped.toSorted()).toEqual(names.toSorted())
      const values = [...text.matchAll(/^([a-z]\w*?)(?:_bucket|_sum|_count)?(?:\{.*\})? \S+$/gm)].map(
        ([, name]) => name
      )
      expect([...new Set(values)].filter((name) => !names.includes(String(name)))).toEqual([])
    })
    it.each(["grafana/flightcase-dashboard.json", "prometheus/alerts.yml"])(
      "has each metric named in deploy/%s",
      (file) => {
        const names = new Set(families().map(({ name }) => name))
        const used = readFileSync(join(import.meta.dirname, "../../../../deploy", file), "utf8").match(
          /\b(flightcase|process|nodejs)_[a-z_]+/g
        )
        // Servers without a replica have no metric of it; test/server/pg/replica.long.test.ts reads it.
        const known = (name: string) =>
          name === "flightcase_replica_up" || names.has(name) || names.has(name.replace(/_(bucket|sum|count)$/, ""))
        expect(used?.length).toBeGreaterThan(10)
        expect(used?.filter((name) => !known(name))).toEqual([])
      }
    )
  })
})

it("a server sends protobuf by default", async () => {
  const server = await start({ ...seldom, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  await server.kill("SIGTERM")
  expect(new Set(received.map((one) => one.path))).toEqual(new Set(["/v1/traces", "/v1/metrics"]))
  for (const { headers: sent } of received) expect(sent["content-type"]).toBe("application/x-protobuf")
}, 60_000)

it("a server sends nothing with OTEL_SDK_DISABLED", async () => {
  const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: "true" })
  await server.kill("SIGTERM")
  expect(received).toEqual([])
}, 60_000)
