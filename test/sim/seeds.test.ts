/** A few of the thousand seeds for every run; the others are in the long tests beside this file. */
import { describe, expect, it } from "vitest"
import { nothingYet, simulateFrom } from "./thousand-seeds.ts"

const per_test = 3
/** The first seed of each part; each part covers other kinds of commands. */
const firsts = [1, 251, 501, 751]

describe("twelve seeds of the simulation", () => {
  const total = nothingYet()
  it.each(firsts)(
    "end with devices equal to the server after lost connections, replies, power and processes: three from %i",
    (from) => simulateFrom(from, per_test, total)
  )
  it("include sent and refused commands, concurrent requests and torn pages", () => {
    const seeds = firsts.length * per_test
    expect(total.submitted).toBeGreaterThan(seeds * 5)
    expect(total.refused).toBeGreaterThan(0)
    expect(total.met).toBeGreaterThan(seeds)
    expect(total.torn_pages).toBeGreaterThan(seeds)
  })
})
