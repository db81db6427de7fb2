/** The server's jobs that need attention: failed ones, and those not started for an hour. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { Device, Finding } from "../../../../sync/device/device.ts"
import { plainJson, rowsIn, totalOf } from "../../../base/answers.ts"

const late_millis = 3_600_000
const named_max = 3

/** Nothing for people who may not see jobs, or whose server has none. */
export const failedJobs = async ({ remote }: Pick<Device, "remote">): Promise<ReadonlyArray<Finding>> => {
  const before = new Date(Date.now() - late_millis).toISOString()
  const failed = await remote.call("GET", `/api/v1/system/jobs?q[status_eq]=failed&per_page=${named_max}`)
  const late = await remote.call(
    "GET",
    `/api/v1/system/jobs?q[status_eq]=queued&q[next_attempt_at_lt]=${before}&per_page=${named_max}`
  )
  return failed.status >= 400 || late.status >= 400 ? [] : [jobsFinding(of(failed.body), of(late.body))]
}

interface Jobs {
  readonly total: number
  readonly jobs: ReadonlyArray<JsonObject>
}
const of = (answer: unknown): Jobs => {
  const body = plainJson(answer)
  return { total: totalOf(body), jobs: rowsIn(body, "jobs") }
}

export const jobsFinding = (failed: Jobs, late: Jobs): Finding => {
  const parts: Array<string> = []
  if (failed.total > 0) {
    const which = named(failed, ({ error, id }) => `${String(id)} (${String(error ?? "no reason known")})`)
    parts.push(`${failed.total} failed: ${which}. flightcase jobs retry ID tries one again, jobs drop ID lets it go`)
  }
  if (late.total > 0) {
    const which = named(late, ({ id }) => String(id))
    parts.push(`${late.total} should have begun an hour ago or more: ${which}. The server's log says why`)
  }
  return { check: "jobs", ok: parts.length === 0, detail: parts.length === 0 ? "none has failed" : parts.join("; ") }
}
const named = ({ jobs, total }: Jobs, word: (job: JsonObject) => string): string =>
  jobs.map(word).join(", ") + (total > jobs.length ? ` and ${total - jobs.length} more` : "")
