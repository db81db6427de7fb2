import { expect, it } from "vitest"
import { simulate } from "./simulate.ts"

const seeds = 200
const per_test = 20

it.each(Array.from({ length: seeds / per_test }, (_, at) => at * per_test + 1))(
  "devices that lose the network, replies and their process agree with the server in the end: seeds from %i",
  async (first) => {
    let submitted = 0, rejected = 0
    for (let seed = first; seed < first + per_test; seed++) {
      const outcome = await simulate(seed, { replicas: 3, steps: 40 })
      submitted += outcome.submitted
      rejected += outcome.rejected
    }
    // A schedule in which nothing was sent or nothing ever refused would prove little.
    expect(submitted).toBeGreaterThan(per_test)
    expect(rejected).toBeGreaterThan(0)
  }
)
