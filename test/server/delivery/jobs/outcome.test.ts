import { Cause, Exit, Schema } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { GivenUp } from "../../../../server/ports/server-context.ts"
import { failedAttempt, lineOf, shownError, waitSeconds } from "../../../../server/delivery/jobs/queue-table.ts"

const kind = { attempts_max: 3, waits_seconds: [10, 60] }

describe("the wait after a failed attempt of a job", () => {
  it("follows the kind's list of waits, repeats the last one, and adds up to a tenth", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 30 }), (job_id, attempt) => {
        const base = attempt === 1 ? 10 : 60
        const wait = waitSeconds([10, 60], job_id, attempt)
        expect(wait).toBeGreaterThanOrEqual(base)
        expect(wait).toBeLessThan(base * 1.1)
        expect(waitSeconds([10, 60], job_id, attempt)).toBe(wait)
      })
    )
  })
  it("varies by job, so that jobs that failed together are not retried together", () => {
    const tenths = new Set(
      Array.from({ length: 1_000 }, (_, at) => Math.floor(waitSeconds([100], `hook.send:${at}`, 1) - 100))
    )
    expect(tenths.size).toBe(10)
  })
})

describe("a failed attempt of a job", () => {
  it("is retried until the kind's attempts are used up", () => {
    const waits = [1, 2, 3].map((n) => failedAttempt(kind, "a:1", n, Cause.fail(new Error("no"))).wait_seconds)
    expect(waits.map((wait) => wait !== undefined)).toEqual([true, true, false])
  })
  it("is the last one if the job gives up", () => {
    expect(failedAttempt(kind, "a:1", 1, Cause.fail(new GivenUp({ message: "No such address." })))).toEqual({
      error: "No such address.",
      is_defect: false,
      wait_seconds: undefined
    })
  })
  it("is recorded in one line, whatever the error", () => {
    expect(lineOf(new Error("first\n  second\tthird"))).toBe("first second third")
    expect(lineOf({ _tag: "Odd", message: "\u001b[31mred" })).toBe("\ufffd[31mred")
    for (const nothing of [undefined, null, "", 7, {}]) expect(lineOf(nothing)).toBe("It failed without saying why.")
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(lineOf(text)).toMatch(/^[^\n]{1,500}$/)
      })
    )
  })
  it("is shown without a stack, also if the queue itself failed", () => {
    expect(shownError(null)).toBeNull()
    expect(shownError("Lock expired after final attempt")).toBe("The server ended during the last attempt.")
    expect(shownError("TypeError: x is not a function\n    at run (/srv/a.ts:1:2)\n    at next (/srv/b.ts:3:4)")).toBe(
      "x is not a function"
    )
    const unread = Schema.decodeUnknownExit(Schema.Struct({ word: Schema.String }))({})
    expect(Exit.isFailure(unread) && shownError(Cause.pretty(unread.cause))).toMatch(/^[^\n]*\["word"\][^\n]*$/)
  })
})
