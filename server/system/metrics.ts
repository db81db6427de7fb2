/** Measurements in Prometheus' text form: what was asked, how it went, how long it took, what the process uses. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { AnsweredCall } from "../server-slice.ts"

/** Upper bounds of the counted durations, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Timing { readonly counts: Array<number>; sum: number; count: number }

export interface Metrics {
  readonly count: (call: AnsweredCall) => void
  readonly text: (state: { readonly journal_position: number }) => string
}

export const makeMetrics = (): Metrics => {
  const requests = new Map<string, number>()
  const timings = new Map<string, Timing>()
  const delay = monitorEventLoopDelay({ resolution: 20 })
  return {
    count: ({ endpoint, method, status, duration_ms }) => {
      // Names of endpoints only: labels somebody else could make up would grow without end.
      const route = endpoint ?? "none"
      const key = `endpoint="${route}",method="${endpoint === null ? "none" : method}",status="${status}"`
      requests.set(key, (requests.get(key) ?? 0) + 1)
      let timing = timings.get(route)
      if (timing === undefined) timings.set(route, timing = { counts: bounds.map(() => 0), sum: 0, count: 0 })
      const seconds = duration_ms / 1000
      timing.sum += seconds
      timing.count++
      const at = bounds.findIndex((bound) => seconds <= bound)
      if (at >= 0) timing.counts[at]!++
    },
    text: ({ journal_position }) => {
      const memory = process.memoryUsage()
      const { user, system } = process.cpuUsage()
      delay.enable()
      const longest = Number.isFinite(delay.max) ? delay.max / 1e9 : 0
      delay.reset()
      return [
        ...head("flightcase_requests_total", "counter", "Requests answered"),
        ...[...requests].map(([key, count]) => `flightcase_requests_total{${key}} ${count}`),
        ...head("flightcase_request_duration_seconds", "histogram", "Time from the request's head to its answer"),
        ...[...timings].flatMap(([route, timing]) => histogram("flightcase_request_duration_seconds", `endpoint="${route}"`, timing)),
        ...gauge("flightcase_journal_position", "Events recorded", journal_position),
        ...gauge("flightcase_event_loop_delay_max_seconds", "Longest delay of the event loop since this was last asked", longest),
        ...gauge("process_resident_memory_bytes", "Resident memory", memory.rss),
        ...gauge("nodejs_heap_size_used_bytes", "Heap in use", memory.heapUsed),
        ...head("process_cpu_seconds_total", "counter", "Processor time used"), `process_cpu_seconds_total ${(user + system) / 1e6}`,
        ...gauge("process_start_time_seconds", "When the process began", Math.round(Date.now() / 1000 - process.uptime())),
        ""
      ].join("\n")
    }
  }
}

const head = (name: string, type: string, help: string): ReadonlyArray<string> => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
const gauge = (name: string, help: string, value: number): ReadonlyArray<string> => [...head(name, "gauge", help), `${name} ${value}`]
const histogram = (name: string, labels: string, { counts, sum, count }: Timing): ReadonlyArray<string> => {
  let below = 0
  return [
    ...bounds.map((bound, at) => `${name}_bucket{${labels},le="${bound}"} ${below += counts[at]!}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`
  ]
}
