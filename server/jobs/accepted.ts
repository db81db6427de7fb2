/** The answer of calls that only queue: 202 with the id of the job, which can be asked how it goes. */
import type { Answer } from "../../core/kernel/endpoint.ts"
import { text } from "../../core/kernel/field.ts"

export const accepted_shown = {
  message: text(),
  job_id: text({ describe: "What GET /api/v1/system/jobs/{id} knows the job by" })
}
/** For an endpoint with `answer: accepted_shown, success_status: 202`. */
export const accepted = (
  job_id: string,
  message = "This was queued; the job says how it goes."
): Answer<{ readonly message: string; readonly job_id: string }> => ({ status: 202, body: { message, job_id } })
