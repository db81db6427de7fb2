/** Measurements in Prometheus' text format: requests, their outcomes and durations, and what the process uses. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Metric } from "effect"
import { formatUnsafe } from "effect/observability/PrometheusMetrics"
import type { KindCount } from "../jobs/counters.ts"
import type { JobCount } from "../jobs/queue-table.ts"
import type { AnsweredServerCall } from "../server-slice.ts"

/** Upper bounds of the histogram of durations, in seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface Metrics {
  /** Counts a request that was answered. */
  readonly count: (call: AnsweredServerCall) => void
  /** Every family, also those without a value yet. */
  readonly text: (state: MeasuredState) => string
}
/** What is looked up when the measurements are asked for. */
export interface MeasuredState {
  readonly journal_position: number
  /** Jobs that are not done. */
  readonly unfinished_jobs: ReadonlyArray<JobCount>
  readonly job_attempts: ReadonlyArray<KindCount>
}

const requests_total = { name: "flightcase_requests_total", description: "Requests answered" }
const request_duration = {
  name: "flightcase_request_duration_seconds",
  description: "Time from the request's head to its answer"
}
/** Families that have a value only once a request was answered. */
const before_first_request = [
  `# HELP ${requests_total.name} ${requests_total.description}`,
  `# TYPE ${requests_total.name} counter`,
  `# HELP ${request_duration.name} ${request_duration.description}`,
  `# TYPE ${request_duration.name} histogram`,
  ""
].join("\n")

/** The measurements of one server; a process may hold several. */
export const makeMetrics = (): Metrics => {
  const registry = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  const requests = new Map<string, Metric.Counter<number>>()
  const durations = new Map<string, Metric.Histogram<number>>()
  const position = Metric.gauge("flightcase_journal_position", { description: "Events recorded" })
  registerProcess(registry)
  const showJobs = jobMeasures(registry)
  return {
    count: ({ endpoint, method, status, duration_ms }) => {
      // Names of endpoints only: labels that clients can invent would grow without end.
      const route = endpoint ?? "none"
      const labels = { endpoint: route, method: endpoint === null ? "none" : method, status: String(status) }
      getOrMake(requests, `${route} ${labels.method} ${status}`, () =>
        Metric.counter(requests_total.name, {
          description: requests_total.description,
          incremental: true,
          attributes: labels
        })
      ).updateUnsafe(1, registry)
      getOrMake(durations, route, () =>
        Metric.histogram(request_duration.name, {
          description: request_duration.description,
          boundaries,
          attributes: { endpoint: route }
        })
      ).updateUnsafe(duration_ms / 1000, registry)
    },
    text: (state) => {
      position.updateUnsafe(state.journal_position, registry)
      showJobs(state)
      return `${requests.size === 0 ? before_first_request : ""}${formatUnsafe(registry)}`
    }
  }
}

/** Jobs by kind and status, on all servers; attempts and failures of this process. */
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
  return ({ job_attempts, unfinished_jobs }: MeasuredState): void => {
    for (const gauge of unfinished.values()) gauge.updateUnsafe(0, registry)
    for (const { jobs, kind, status } of unfinished_jobs)
      getOrMake(unfinished, `${kind} ${status}`, () =>
        Metric.gauge("flightcase_jobs", { description: "Jobs that are not done", attributes: { kind, status } })
      ).updateUnsafe(jobs, registry)
    for (const { attempts, dead, failures, kind } of job_attempts) {
      countTo("flightcase_job_attempts_total", "Attempts at jobs begun by this process", { kind }, attempts)
      countTo("flightcase_job_failures_total", "Attempts that failed", { kind, final: "false" }, failures - dead)
      countTo("flightcase_job_failures_total", "Attempts that failed", { kind, final: "true" }, dead)
    }
  }
}

/** What the process uses; each value is read when the measurements are asked for. */
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
  const constant = { update: () => {}, modify: () => {} }
  const gauge = (name: string, description: string, read: () => number) =>
    Metric.registerUnsafe(Metric.gauge(name, { description }), registry, {
      ...constant,
      get: () => ({ value: read() })
    })
  gauge(
    "flightcase_event_loop_delay_max_seconds",
    "Longest delay of the event loop since this was last asked",
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
  gauge("process_start_time_seconds", "When the process began", () => Math.round(Date.now() / 1000 - process.uptime()))
}

const getOrMake = <A>(all: Map<string, A>, key: string, make: () => A): A => {
  const existing = all.get(key)
  if (existing !== undefined) return existing
  const fresh = make()
  all.set(key, fresh)
  return fresh
}
