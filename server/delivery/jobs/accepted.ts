/** The answer of calls that only queue work: 202 with the job's id, whose progress can be requested. */
import { text } from "../../../core/kernel/fields/field.ts"

export const accepted_shown = {
  message: text(),
  job_id: text({ describe: "Id of the job for GET /api/v1/system/jobs/{id}" })
}
/** For an endpoint with `answer: { ...accepted_shown, … }, success_status: 202`. `more`: keys of its own beside. */
export const accepted = <More extends object = {}>(job_id: string, message: string, more?: More) => ({
  status: 202,
  body: { message, job_id, ...more } as { readonly message: string; readonly job_id: string } & More
})
