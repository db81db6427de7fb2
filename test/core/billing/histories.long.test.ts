import * as fc from "fast-check"
import { expect, it, vi } from "vitest"
import { type Counted, histories, play } from "./histories.ts"
import { shareOf } from "../../share.ts"

vi.setConfig({ testTimeout: 600_000 })

it("invoices' sums stay exact over thousands of payments, refunds, credits and voids", () => {
  const counted: Counted = { accepted: 0, refused: 0, credited: 0, voided: 0 }
  fc.assert(
    fc.property(histories, (history) => play(history, counted)),
    { numRuns: shareOf(20_000) }
  )
  expect(counted.accepted).toBeGreaterThan(shareOf(15_000))
  expect(counted.refused).toBeGreaterThan(shareOf(15_000))
  expect(counted.credited).toBeGreaterThan(shareOf(1_000))
  expect(counted.voided).toBeGreaterThan(shareOf(500))
})
