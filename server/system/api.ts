/** Endpoints about the server itself: health, OpenAPI, the endpoint catalogue, measurements. */
import { Clock, Effect, Option } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { type Answer, get, type SharedDraft } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { lastPosition } from "../../core/kernel/journal.ts"
import { notFound } from "../../core/kernel/rejection.ts"
import { ok, unpagedMeta } from "../../core/kernel/resource.ts"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import type { Condition } from "../health.ts"
import { ServerContext, serverContext } from "../server-context.ts"
import type { ServerSlice } from "../server-slice.ts"
import { storage_retry_seconds, storageText } from "../storage-fault.ts"
import { catalogueRows } from "./catalogue-rows.ts"
import { measurementsText } from "./measurements.ts"
import { makeMetrics } from "./metrics.ts"
import { choice, integer, text, timestamp } from "../../core/kernel/field.ts"

const open = {
  ability: null,
  permission: null,
  metering_weight: 0,
  public: true,
  server_only: true
} as const satisfies SharedDraft

/** 200, or 503 with the reason, which monitors notice; reads may work all the same. */
const healthAnswer = (dialect: string, condition: Condition, now: string): HealthAnswer => {
  const database = dialect === "pg" ? "postgres" : "sqlite"
  if (condition.status === "ok")
    return ok({ health: { status: "ok", timestamp: now, database, journal_position: condition.journal_position } })
  const [message, more, retry_seconds] =
    condition.status === "degraded"
      ? [
          storageText[condition.reason],
          { reason: condition.reason, journal_position: condition.journal_position },
          storage_retry_seconds
        ]
      : ["The database does not answer.", { reason: "database", journal_position: null }, 1]
  return {
    status: 503,
    body: { message, health: { status: condition.status, timestamp: now, database, ...more } },
    headers: { "retry-after": String(retry_seconds) }
  }
}
const healthNow = Effect.gen(function* () {
  const { health } = Option.getOrThrow(yield* Effect.serviceOption(ServerContext))
  return healthAnswer((yield* Store).dialect, yield* health, instantOf(yield* Clock.currentTimeMillis))
})
const databases = choice({ postgres: "Postgres", sqlite: "SQLite" })
const unwell = Shown.keys({
  status: choice({ degraded: "Degraded", unavailable: "Unavailable" }),
  timestamp: timestamp(),
  database: databases,
  journal_position: integer({ nullable: true }),
  reason: text({ describe: "What keeps the database from recording, or that it does not answer" })
})
const well = {
  health: Shown.keys({
    status: choice({ ok: "Ok" }),
    timestamp: timestamp(),
    database: databases,
    journal_position: integer()
  })
}
const refused = { message: text(), health: unwell }
type HealthAnswer = Answer<Shown.KeysShown<typeof well>> | Answer<Shown.KeysShown<typeof refused>>
const health = get("/api/v1/system/health", {
  answer: well,
  error_answers: { 503: refused },
  name: "system.health",
  summary: "Is the server well?",
  ...open,
  unlimited: true,
  run: () => healthNow
})

/** The description last made of each catalogue: it changes only with the address it names. */
const descriptions = new WeakMap<Catalogue, { readonly url: string; readonly description: JsonObject }>()
const description = get("/api/v1/openapi.json", {
  name: "system.openapi",
  summary: "This interface, described as OpenAPI 3.1",
  ...open,
  answer: Shown.map(Shown.anything("See https://spec.openapis.org/oas/v3.1.0")),
  run: () =>
    Effect.gen(function* () {
      const { catalogue, public_url } = yield* CommandRuntime
      // The address is known once the server listens.
      const url = public_url?.() ?? "/"
      const cached = descriptions.get(catalogue)
      if (cached?.url === url) return ok(cached.description)
      const { openApi } = yield* Effect.promise(() => import("./openapi.ts"))
      const description = yield* openApi(catalogue, url)
      descriptions.set(catalogue, { url, description })
      return ok(description)
    })
})

const endpoints = get("/api/v1/endpoints", {
  answer: {
    endpoints: Shown.objects({
      name: text(),
      method: text(),
      uri: text(),
      resource: text({ nullable: true }),
      operation: text({ nullable: true }),
      ability: text({ nullable: true }),
      price_weight: integer()
    }),
    meta: Shown.meta
  },
  name: "endpoints.list",
  summary: "List what can be asked",
  ability: "system:read",
  permission: "system.read",
  metering_weight: 0,
  server_only: true,
  run: ({ query }) =>
    Effect.map(CommandRuntime, ({ catalogue }) => {
      const rows = catalogueRows(catalogue)
      return ok({ endpoints: rows, meta: unpagedMeta(rows.length, query) })
    })
})

const docs = get("/docs", {
  name: "docs",
  summary: "This interface, to read and to try",
  ...open,
  run: () =>
    Effect.promise(async () => {
      const { docsPage } = await import("./docs-page.ts")
      const { html, policy } = docsPage()
      return {
        status: 200,
        content: { type: "text/html; charset=utf-8", text: html },
        headers: { "content-security-policy": policy, "cache-control": "no-cache", "referrer-policy": "no-referrer" }
      }
    })
})

/** Whether a request comes from this machine itself and was not forwarded by a proxy on it. */
const isFromHere = (address: string, headers: { readonly [name: string]: unknown }): boolean =>
  /^(::ffff:)?127\.|^::1$/.test(address) &&
  headers["forwarded"] === undefined &&
  headers["x-forwarded-for"] === undefined &&
  headers["x-real-ip"] === undefined

/** `slices`: all there are, once the catalogue is complete. */
export const systemSlice = (slices: () => ReadonlyArray<ServerSlice> = () => []): ServerSlice => {
  const metrics = makeMetrics()
  return {
    name: "system",
    endpoints: [
      health,
      description,
      endpoints,
      docs,
      get("/metrics", {
        name: "metrics",
        summary: "Measurements, as Prometheus reads them; on this machine only",
        ...open,
        run: () =>
          Effect.gen(function* () {
            const { jobs } = yield* serverContext
            const text = metrics.text({
              journal_position: yield* lastPosition(yield* Store),
              unfinished_jobs: yield* jobs.unfinished,
              job_attempts: jobs.counts()
            })
            const server = yield* serverContext
            const measured = yield* Effect.forEach(slices(), (slice) =>
              slice.measured === undefined
                ? Effect.succeed([])
                : Effect.provideService(slice.measured, ServerContext, server)
            )
            return {
              status: 200,
              content: {
                type: "text/plain; version=0.0.4; charset=utf-8",
                text: text + measurementsText(measured.flat())
              }
            }
          })
      })
    ],
    // Health is answered before anything is read for the request, as reads may wait for locks.
    around: (call, next) =>
      call.endpoint.name === health.name
        ? healthNow
        : call.endpoint.name === "metrics" && !isFromHere(call.remote_address, call.headers)
          ? Effect.fail(notFound())
          : next,
    answered: metrics.count
  }
}
