import { expect, it } from "vitest"
import { failedJobs, jobsFinding } from "../../../../../cli/commands/operations/doctor/doctor.ts"

const none = { total: 0, jobs: [] }
const job = { id: "mail.send:a.b", error: "No such mailbox" }

it("doctor lists failed jobs with their errors and the commands to retry or drop them", () => {
  expect(jobsFinding({ total: 5, jobs: [job] }, none)).toEqual({
    check: "jobs",
    ok: false,
    detail:
      "5 failed: mail.send:a.b (No such mailbox) and 4 more. " +
      "flightcase jobs retry ID tries one again, jobs drop ID lets it go"
  })
})
it("doctor lists jobs that should have begun an hour ago or more", () => {
  expect(jobsFinding(none, { total: 1, jobs: [{ id: "web.hook:1" }] })).toMatchObject({
    ok: false,
    detail: "1 should have begun an hour ago or more: web.hook:1. The server's log says why"
  })
})
it("doctor passes the check of jobs on a server without failed ones", () => {
  expect(jobsFinding(none, none)).toEqual({ check: "jobs", ok: true, detail: "none has failed" })
})
it("doctor omits the check of jobs for users who may not see them, and for servers without jobs", async () => {
  for (const status of [403, 404])
    expect(
      await failedJobs({ remote: { call: async () => ({ status, body: {}, headers: new Headers() }) } as never })
    ).toEqual([])
})
