import * as fc from "fast-check"
import { expect, it } from "vitest"
import { type Counted, histories, play } from "./histories.ts"

it("an invoice's sums stay exact in any order of payments, refunds, credits and voids", () => {
  const counted: Counted = { accepted: 0, refused: 0, credited: 0, voided: 0 }
  fc.assert(
    fc.property(histories, (history) => play(history, counted)),
    { numRuns: 400 }
  )
  // Guards against histories too short or uneventful to test anything.
  expect(counted.accepted).toBeGreaterThan(300)
  expect(counted.refused).toBeGreaterThan(300)
  expect(counted.credited).toBeGreaterThan(20)
  expect(counted.voided).toBeGreaterThan(10)
})
