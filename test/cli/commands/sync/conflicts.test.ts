/** What a person reads of outcomes that differ from what was shown. */
import { expect, it } from "vitest"
import { reportLines } from "../../../../cli/commands/sync/conflicts.ts"

const due = (here: string, there: string): ReadonlyArray<string> =>
  reportLines([
    {
      n: 9,
      id: "a",
      name: "invoices.issue",
      summary: "",
      issued_at: there,
      merged: [],
      differences: [{ what: "invoice 1", field: "due_at", here, there }]
    }
  ])

it("instants are told by the minute, and in full within one minute", () => {
  expect(due("2026-12-22T15:01:58.000Z", "2026-12-22T15:02:03.000Z")).toEqual([
    "9  invoice 1: due at is 2026-12-22 15:02Z; 2026-12-22 15:01Z was shown here."
  ])
  expect(due("2026-12-22T15:02:01.000Z", "2026-12-22T15:02:03.000Z")).toEqual([
    "9  invoice 1: due at is 2026-12-22T15:02:03.000Z; 2026-12-22T15:02:01.000Z was shown here."
  ])
})
