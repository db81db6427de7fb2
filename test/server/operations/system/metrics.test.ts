import { expect, it } from "vitest"
import { makeMetrics } from "../../../../server/operations/system/api.ts"
import type { AnsweredServerCall } from "../../../../server/ports/server-slice.ts"

const families = [
  "flightcase_event_loop_delay_max_seconds gauge",
  "flightcase_jobs gauge",
  "flightcase_journal_position gauge",
  "flightcase_request_duration_seconds histogram",
  "flightcase_requests_total counter",
  "nodejs_heap_size_used_bytes gauge",
  "process_cpu_seconds_total counter",
  "process_resident_memory_bytes gauge",
  "process_start_time_seconds gauge"
]
const at = (journal_position: number) => ({ journal_position, unfinished_jobs: [], job_attempts: [], of_slices: [] })
const declared = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^# TYPE (.+)$/gm)].map(([, family]) => String(family)).sort()
const answered: AnsweredServerCall = {
  request_id: "r",
  method: "GET",
  target: "/api/v1/stores",
  uri: "/api/v1/stores",
  endpoint: "stores.list",
  ability: null,
  metering_weight: 1,
  user_id: null,
  token_id: null,
  status: 200,
  started_millis: Date.parse("2026-07-01T09:00:00.000Z"),
  duration_ms: 3,
  request_bytes: 0,
  response_bytes: 0,
  remote_address: "127.0.0.1",
  user_agent: null
}

it("metrics list every metric family once, with its help text, before and after the first request", () => {
  const metrics = makeMetrics()
  const before = metrics.text(at(7))
  expect(declared(before)).toEqual(families)
  expect(before.match(/^# HELP /gm)).toHaveLength(families.length)
  expect(before).not.toMatch(/^flightcase_requests_total/m)
  metrics.count(answered)
  const after = metrics.text(at(8))
  expect(declared(after)).toEqual(families)
  expect(after).toContain(`flightcase_requests_total{endpoint="stores.list",method="GET",status="200"} 1\n`)
  expect(after).toContain("flightcase_journal_position 8\n")
})

it("metrics of one server do not count another's requests", () => {
  const one = makeMetrics()
  one.count(answered)
  expect(makeMetrics().text(at(0))).not.toMatch(/^flightcase_requests_total/m)
})

it("metrics show jobs by kind and status, and count attempts", () => {
  const metrics = makeMetrics()
  const kind = "mail.send"
  const busy = metrics.text({
    ...at(1),
    unfinished_jobs: [{ kind, status: "failed", jobs: 2 }],
    job_attempts: [{ kind, attempts: 5, failures: 3, dead: 1 }]
  })
  expect(busy).toContain(`flightcase_jobs{kind="mail.send",status="failed"} 2\n`)
  expect(busy).toContain(`flightcase_job_attempts_total{kind="mail.send"} 5\n`)
  expect(busy).toContain(`flightcase_job_failures_total{kind="mail.send",final="false"} 2\n`)
  expect(busy).toContain(`flightcase_job_failures_total{kind="mail.send",final="true"} 1\n`)
  const idle = metrics.text({ ...at(1), job_attempts: [{ kind, attempts: 6, failures: 3, dead: 1 }] })
  expect(idle).toContain(`flightcase_jobs{kind="mail.send",status="failed"} 0\n`)
  expect(idle).toContain(`flightcase_job_attempts_total{kind="mail.send"} 6\n`)
})
