/** Measurements in Prometheus' text form: what was asked, how it went, how long it took, what the process uses. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Metric } from "effect"
import { formatUnsafe } from "effect/observability/PrometheusMetrics"
import type { AnsweredServerCall } from "../server-slice.ts"

/** Upper bounds of the counted durations, in seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface Metrics {
  readonly count: (call: AnsweredServerCall) => void
  readonly text: (state: { readonly journal_position: number }) => string
}

export const makeMetrics = (): Metrics => {
  // Of this server alone: a process may hold several.
  const registry = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  const requests = new Map<string, Metric.Counter<number>>()
  const durations = new Map<string, Metric.Histogram<number>>()
  const delay = monitorEventLoopDelay({ resolution: 20 })
  const position = Metric.gauge("flightcase_journal_position", { description: "Events recorded" })
  /** Looked up whenever somebody asks. */
  const looked = (name: string, description: string, value: () => number): void => {
    Metric.registerUnsafe(Metric.gauge(name, { description }), registry, {
      get: () => ({ value: value() }),
      update: () => {},
      modify: () => {}
    })
  }
  const longestDelay = (): number => {
    delay.enable()
    const longest = Number.isFinite(delay.max) ? delay.max / 1e9 : 0
    delay.reset()
    return longest
  }
  looked(
    "flightcase_event_loop_delay_max_seconds",
    "Longest delay of the event loop since this was last asked",
    longestDelay
  )
  looked("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss())
  looked("nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed)
  looked("process_start_time_seconds", "When the process began", () => Math.round(Date.now() / 1000 - process.uptime()))
  const processor = Metric.counter("process_cpu_seconds_total", {
    description: "Processor time used",
    incremental: true
  })
  const processorTime = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  Metric.registerUnsafe(processor, registry, {
    get: () => ({ count: processorTime(), incremental: true }),
    update: () => {},
    modify: () => {}
  })
  return {
    count: ({ endpoint, method, status, duration_ms }) => {
      // Names of endpoints only: labels somebody else could make up would grow without end.
      const route = endpoint ?? "none"
      const labels = { endpoint: route, method: endpoint === null ? "none" : method, status: String(status) }
      kept(requests, `${route} ${labels.method} ${status}`, () =>
        Metric.counter("flightcase_requests_total", {
          description: "Requests answered",
          incremental: true,
          attributes: labels
        })
      ).updateUnsafe(1, registry)
      kept(durations, route, () =>
        Metric.histogram("flightcase_request_duration_seconds", {
          description: "Time from the request's head to its answer",
          boundaries,
          attributes: { endpoint: route }
        })
      ).updateUnsafe(duration_ms / 1000, registry)
    },
    text: ({ journal_position }) => {
      position.updateUnsafe(journal_position, registry)
      return formatUnsafe(registry)
    }
  }
}

const kept = <A>(all: Map<string, A>, key: string, make: () => A): A => {
  const known = all.get(key)
  if (known !== undefined) return known
  const made = make()
  all.set(key, made)
  return made
}
