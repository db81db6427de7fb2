/** Tables on a terminal: what is cut where they are too wide, and how columns are called. */
import { expect, it } from "vitest"
import { bodyText } from "../../../cli/output/body.ts"
import type { Terminal } from "../../../cli/output/terminal.ts"
import { columnsSeen, tableText } from "../../../cli/output/table.ts"

const terminal: Terminal = { is_tty: true, progress: false, answers: false, colour: false, columns: 80 }
const job = {
  id: "mail.send:test.0e16944c-a798-42da-ab6c-56b5e533e9d6",
  kind: "mail.send",
  status: "failed",
  attempts: 12,
  error: "The mail server refused gone@customer.example: 550 no such mailbox",
  owner_id: 1,
  meaning: "sends a message by e-mail",
  next_attempt_at: null,
  attempts_max: 12
}

it("leaves ids whole, as they are there to be copied, and cuts the other columns", () => {
  const { text } = bodyText({ jobs: [job] }, terminal)
  expect(text).toContain(job.id)
  expect(text).toMatch(/^ID +STATUS +ATTEMPTS +NEXT +MEANING +ERROR\n/)
  expect(text).toContain("…")
})
it("gives an event and its id two titles", () => {
  const rows = [{ id: 1, event: "member.created", event_id: "msg_1", source_id: 3 }]
  expect(tableText(columnsSeen(rows), rows, terminal).split("\n")[0]).toBe("ID  EVENT           EVENT ID  SOURCE")
})
