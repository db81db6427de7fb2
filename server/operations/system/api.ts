/** Endpoints about the server itself: health, checks, OpenAPI, the endpoint catalogue, metrics. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Context, Effect, Metric, Schedule } from "effect"
import { formatUnsafe } from "effect/observability/PrometheusMetrics"
import type { AnsweredServerCall, Measurement, ServerSlice } from "../../ports/server-slice.ts"
import { hash } from "node:crypto"
import { boolean, choice, CommandRuntime, get, integer, lastPosition, notFound } from "../../../core/kernel/index.ts"
import { ok, Shown, Store, text, timestamp, unpagedMeta } from "../../../core/kernel/index.ts"
import type { Answer, Catalogue, JsonObject } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"
import type { Condition } from "../../ports/health.ts"
import { type JobCount, type KindCount, ServerContext, serverContext, open_access } from "../../ports/server-context.ts"
import { storage_retry_seconds, storageText } from "../../ports/storage-fault.ts"

// Metrics in Prometheus' text format: requests, their outcomes and durations, and resource usage of the process.

/** Upper bounds of the histogram of durations, in seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Metrics {
  /** Counts an answered request. */
  readonly count: (call: AnsweredServerCall) => void
  /** The metrics as text, including those without a value yet. */
  readonly text: (state: MeasuredState) => string
  /** Sets the metrics that have their value from the state. */
  readonly refresh: (state: MeasuredState) => void
}
/** State read when metrics are requested. */
interface MeasuredState {
  readonly journal_position: number
  /** Jobs that are not done. */
  readonly unfinished_jobs: ReadonlyArray<JobCount>
  readonly job_attempts: ReadonlyArray<KindCount>
  readonly of_slices: ReadonlyArray<Measurement>
}

const requests_total = { name: "flightcase_requests_total", description: "Number of requests answered" }
const request_duration = {
  name: "flightcase_request_duration_seconds",
  description: "Time from request headers to response"
}
const unfinished_jobs = { name: "flightcase_jobs", description: "Number of unfinished jobs" }
/** Metrics that may have no value yet; they are declared nevertheless. */
const maybe_empty = [
  { ...requests_total, type: "counter" },
  { ...request_duration, type: "histogram" },
  { ...unfinished_jobs, type: "gauge" }
]
const declaration = ({ description, name, type }: (typeof maybe_empty)[number]): string =>
  `# HELP ${name} ${description}\n# TYPE ${name} ${type}\n`

/** Metrics of a route; its counters by method and status, as joining these for each request takes longer. */
interface RouteMetrics {
  readonly counts: Map<string, Map<number, Metric.Counter<number>>>
  readonly duration: Metric.Histogram<number>
}
const durationOf = (endpoint: string): RouteMetrics["duration"] =>
  Metric.histogram(request_duration.name, {
    description: request_duration.description,
    boundaries,
    attributes: { endpoint }
  })

/** Creates the metrics of a server; one process may run several servers. */
export const makeMetrics = (metrics: Metric.MetricRegistry = new Map()): Metrics => {
  const registry = Context.make(Metric.MetricRegistry, metrics)
  const routes = new Map<string, RouteMetrics>()
  const position = Metric.gauge("flightcase_journal_position", { description: "Events recorded" })
  registerProcess(registry)
  const showJobs = jobMeasures(registry)
  const refresh = (state: MeasuredState): void => {
    position.updateUnsafe(state.journal_position, registry)
    showJobs(state)
    for (const measured of state.of_slices) registerMeasured(registry, measured)
  }
  return {
    refresh,
    count: ({ endpoint, method, status, duration_ms }) => {
      // Labels are names of endpoints only: with labels chosen by clients the metrics would grow without limit.
      const route = endpoint ?? "none"
      const label = endpoint === null ? "none" : method
      const of_route = getOrMake(routes, route, () => ({ counts: new Map(), duration: durationOf(route) }))
      const by_status = getOrMake(of_route.counts, label, () => new Map())
      getOrMake(by_status, status, () =>
        Metric.counter(requests_total.name, {
          description: requests_total.description,
          incremental: true,
          attributes: { endpoint: route, method: label, status: String(status) }
        })
      ).updateUnsafe(1, registry)
      of_route.duration.updateUnsafe(duration_ms / 1000, registry)
    },
    text: (state) => {
      refresh(state)
      const text = formatUnsafe(registry)
      const empty = maybe_empty.filter(({ name }) => !text.includes(`# TYPE ${name} `))
      return empty.map(declaration).join("") + text
    }
  }
}

const constant = { update: () => {}, modify: () => {} }
const registerMeasured = (registry: Context.Context<never>, measured: Measurement): void => {
  const { description, kind, labels: attributes, name, value } = measured
  if (kind === "gauge") {
    const gauge = Metric.gauge(name, { description, attributes })
    Metric.registerUnsafe(gauge, registry, { ...constant, get: () => ({ value }) })
  } else {
    const counter = Metric.counter(name, { description, attributes, incremental: true })
    Metric.registerUnsafe(counter, registry, { ...constant, get: () => ({ count: value, incremental: true }) })
  }
}

/** Metrics of jobs: unfinished ones by kind and status, on all servers; attempts and failures of this process. */
const jobMeasures = (registry: Context.Context<never>) => {
  const unfinished = new Map<string, Metric.Gauge<number>>()
  const counted = new Map<string, { readonly metric: Metric.Counter<number>; counted: number }>()
  const countTo = (name: string, description: string, attributes: Record<string, string>, total: number): void => {
    const counter = getOrMake(counted, `${name} ${JSON.stringify(attributes)}`, () => ({
      metric: Metric.counter(name, { description, incremental: true, attributes }),
      counted: 0
    }))
    counter.metric.updateUnsafe(total - counter.counted, registry)
    counter.counted = total
  }
  return (state: MeasuredState): void => {
    for (const gauge of unfinished.values()) gauge.updateUnsafe(0, registry)
    for (const { jobs, kind, status } of state.unfinished_jobs)
      getOrMake(unfinished, `${kind} ${status}`, () =>
        Metric.gauge(unfinished_jobs.name, { description: unfinished_jobs.description, attributes: { kind, status } })
      ).updateUnsafe(jobs, registry)
    for (const { attempts, dead, failures, kind } of state.job_attempts) {
      countTo("flightcase_job_attempts_total", "Attempts at jobs begun by this process", { kind }, attempts)
      countTo("flightcase_job_failures_total", "Attempts that failed", { kind, final: "false" }, failures - dead)
      countTo("flightcase_job_failures_total", "Attempts that failed", { kind, final: "true" }, dead)
    }
  }
}

/** Registers metrics of the process, whose values are read on request. */
const registerProcess = (registry: Context.Context<never>): void => {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  const longestDelay = (): number => {
    delay.enable()
    const longest = Number.isFinite(delay.max) ? delay.max / 1e9 : 0
    delay.reset()
    return longest
  }
  const processorTime = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  const gauge = (name: string, description: string, read: () => number) =>
    Metric.registerUnsafe(Metric.gauge(name, { description }), registry, {
      ...constant,
      get: () => ({ value: read() })
    })
  gauge(
    "flightcase_event_loop_delay_max_seconds",
    "Longest delay of the event loop since the last reading",
    longestDelay
  )
  gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss())
  gauge("nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed)
  const processor = Metric.counter("process_cpu_seconds_total", {
    description: "Processor time used",
    incremental: true
  })
  Metric.registerUnsafe(processor, registry, {
    ...constant,
    get: () => ({ count: processorTime(), incremental: true })
  })
  gauge("process_start_time_seconds", "Start of the process", () => Math.round(Date.now() / 1000 - process.uptime()))
}

const getOrMake = <K, A>(all: Map<K, A>, key: K, make: () => A): A => {
  const existing = all.get(key)
  if (existing !== undefined) return existing
  const fresh = make()
  all.set(key, fresh)
  return fresh
}

/** The health response: 200, or 503 with the reason, which monitors notice; reads may still work. */
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
  const { health } = yield* serverContext
  return healthAnswer((yield* Store).dialect, yield* health, instantOf(yield* Clock.currentTimeMillis))
})
const databases = choice({ postgres: "Postgres", sqlite: "SQLite" })
const unwell = Shown.keys({
  status: choice({ degraded: "Degraded", unavailable: "Unavailable" }),
  timestamp: timestamp(),
  database: databases,
  journal_position: integer({ nullable: true }),
  reason: text({ describe: "Fault: full, read_only or failing; database if it does not answer" })
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
  summary: "Check the server's health",
  ...open_access,
  unlimited: true,
  run: () => healthNow
})

/** The cached OpenAPI description of a catalogue; it changes only with the server's URL. */
interface Description {
  readonly url: string
  readonly body: JsonObject
  readonly headers: { readonly [name: string]: string }
}
const descriptions = new WeakMap<Catalogue, Description>()
const description = get("/api/v1/openapi.json", {
  name: "system.openapi",
  summary: "Show the OpenAPI 3.1 description of this API",
  ...open_access,
  answer_headers: { ETag: "Changes with the description" },
  answer: Shown.map(Shown.anything("See https://spec.openapis.org/oas/v3.1.0")),
  run: Effect.fnUntraced(function* () {
    const { catalogue, public_url } = yield* CommandRuntime
    // Known only once the server listens.
    const url = public_url?.() ?? "/"
    const cached = descriptions.get(catalogue)
    if (cached?.url === url) return { ...ok(cached.body), headers: cached.headers }
    const { openApi } = yield* Effect.promise(() => import("./openapi.ts"))
    const body = yield* openApi(catalogue, url)
    const etag = `W/"${hash("sha256", JSON.stringify(body), "base64url")}"`
    const headers = { etag, "cache-control": "public, no-cache" }
    descriptions.set(catalogue, { url, body, headers })
    return { ...ok(body), headers }
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
  summary: "List all endpoints of the API",
  ability: "system:read",
  permission: "system.read",
  metering_weight: 0,
  server_only: true,
  run: Effect.fnUntraced(function* ({ query }) {
    const { catalogueRows } = yield* Effect.promise(() => import("./openapi.ts"))
    const rows = catalogueRows((yield* CommandRuntime).catalogue)
    return ok({ endpoints: rows, meta: unpagedMeta(rows.length, query) })
  })
})

const checks = get("/api/v1/system/checks", {
  answer: {
    checks: Shown.objects({
      check: text(),
      ok: boolean(),
      detail: text({ describe: "Finding of the check, in words" })
    }),
    meta: Shown.meta
  },
  name: "system.checks",
  summary: "Check the running server: database, clock, disk, mail, jobs, webhooks, backups",
  ability: "system:read",
  permission: "system.manage",
  metering_weight: 0,
  server_only: true,
  run: Effect.fnUntraced(function* ({ query }) {
    const { systemChecks } = yield* Effect.promise(() => import("./checks.ts"))
    const found = yield* systemChecks
    return ok({ checks: found, meta: unpagedMeta(found.length, query) })
  })
})

/** Whether a request comes from this machine and was not forwarded by a proxy on it. */
const isFromHere = (address: string, headers: { readonly [name: string]: unknown }): boolean =>
  /^(::ffff:)?127\.|^::1$/.test(address) &&
  headers["forwarded"] === undefined &&
  headers["x-forwarded-for"] === undefined &&
  headers["x-real-ip"] === undefined

const measuredNow = Effect.fnUntraced(function* (slices: () => ReadonlyArray<ServerSlice>) {
  const server = yield* serverContext
  const measured = yield* Effect.forEach(slices(), (slice) =>
    slice.measured === undefined ? Effect.succeed([]) : Effect.provideService(slice.measured, ServerContext, server)
  )
  return {
    journal_position: yield* lastPosition(yield* Store),
    unfinished_jobs: yield* server.jobs.unfinished,
    job_attempts: server.jobs.counts(),
    of_slices: measured.flat()
  } satisfies MeasuredState
})
/** Interval at which exported metrics are read. */
const refresh_seconds = 15

/** The slice. `slices`: returns all slices, once the catalogue is complete. `exported`: registry of an exporter. */
export const systemSlice = (
  slices: () => ReadonlyArray<ServerSlice> = () => [],
  exported?: Metric.MetricRegistry
): ServerSlice => {
  const metrics = makeMetrics(exported)
  return {
    name: "system",
    ...(exported === undefined
      ? {}
      : {
          background: measuredNow(slices).pipe(
            Effect.map((state) => metrics.refresh(state)),
            Effect.catch((failure) => Effect.logWarning("metrics not exported", failure)),
            Effect.repeat(Schedule.spaced(refresh_seconds * 1_000)),
            Effect.asVoid
          )
        }),
    endpoints: [
      health,
      description,
      endpoints,
      checks,
      get("/metrics", {
        name: "metrics",
        summary: "Show metrics in Prometheus format; only from this machine",
        ...open_access,
        run: () =>
          Effect.map(measuredNow(slices), (state) => ({
            status: 200,
            content: { type: "text/plain; version=0.0.4; charset=utf-8", text: metrics.text(state) }
          }))
      })
    ],
    // Responds to health checks before anything else is read, as reads may wait for locks.
    around: (call, next) =>
      call.endpoint.name === health.name
        ? healthNow
        : call.endpoint.name === "metrics" && !isFromHere(call.remote_address, call.headers)
          ? Effect.fail(notFound())
          : next,
    answered: metrics.count
  }
}
