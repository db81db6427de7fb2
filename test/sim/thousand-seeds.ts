/** The thousand seeds, in parts that run in parallel. */
import { describe, expect, it } from "vitest"
import { commandKinds } from "./any-command.ts"
import { words } from "../words.ts"
import { simulate } from "./simulate.ts"
import { kindsOf, seeds_per_part } from "./work.ts"

const per_test = 25
/** Minimum share of a part's commands that must have been accepted at least once. */
const accepted_share_min = 0.85

/**
 * Commands that need states these worlds rarely reach, such as an open stocktake, an inspection kind or a second store;
 * api/prices.test.ts, sync/stocktakes.test.ts, core/warehouse and sessions cover them.
 */
const seldom_recorded = new Set(
  words(
    "opportunities.reprice opportunities.credit stocktakes.scan stocktakes.close stocktakes.cancel containers.nest " +
      "inspection_kinds.delete inspections.create inspections.delete inspection_intervals.create " +
      "inspection_intervals.update inspection_intervals.delete transfers.create transfers.send transfers.receive transfers.cancel"
  )
)

export const nothingYet = () => ({
  submitted: 0,
  accepted: 0,
  refused: 0,
  replicas_max: 0,
  met: 0,
  torn_pages: 0,
  submitted_names: new Set<string>(),
  accepted_names: new Set<string>()
})
/** Simulates seeds in sequence and adds up their counts. */
export const simulateFrom = async (
  from: number,
  count: number,
  total: ReturnType<typeof nothingYet>
): Promise<void> => {
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await simulate(seed)
    expect(outcome.submitted).toBe(outcome.accepted + outcome.refused)
    for (const what of ["submitted", "accepted", "refused", "met", "torn_pages"] as const) total[what] += outcome[what]
    total.replicas_max = Math.max(total.replicas_max, outcome.replicas)
    for (const name of outcome.submitted_names) total.submitted_names.add(name)
    for (const name of outcome.accepted_names) total.accepted_names.add(name)
  }
}

export const simulatePart = (part: number): void => {
  const first = part * seeds_per_part + 1
  const total = nothingYet()
  describe(`seeds from ${first} on`, () => {
    it.each(Array.from({ length: seeds_per_part / per_test }, (_, at) => first + at * per_test))(
      "end with devices equal to the server after lost connections, replies, power and processes: those from %i",
      (from) => simulateFrom(from, per_test, total),
      600_000
    )
    it("record all but the rarest kinds of commands, and have most kinds accepted", () => {
      const kinds = kindsOf(part)
      const expected = kinds.filter((name) => !seldom_recorded.has(name))
      expect(expected.filter((name) => !total.submitted_names.has(name))).toEqual([])
      const never_accepted = kinds.filter((name) => !total.accepted_names.has(name))
      expect(never_accepted.length, `never accepted: ${never_accepted.join(", ")}`).toBeLessThanOrEqual(
        kinds.length * (1 - accepted_share_min)
      )
      expect(kinds.length).toBeGreaterThanOrEqual(Math.floor(commandKinds.length / 4))
    })
    it("include sent and refused commands, and worlds of eight devices", () => {
      // Worlds that sent nothing or refused nothing would prove little.
      expect(total.submitted).toBeGreaterThan(seeds_per_part * 5)
      expect(total.refused).toBeGreaterThan(seeds_per_part / 10)
      expect(total.replicas_max).toBe(8)
    })
    it("include concurrent requests and torn pages", () => {
      expect(total.met).toBeGreaterThan(seeds_per_part)
      expect(total.torn_pages).toBeGreaterThan(seeds_per_part)
    })
  })
}
