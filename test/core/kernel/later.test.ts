import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { later, loadAll, withRules } from "../../../core/kernel/fields/later.ts"

const counted = () => {
  let times = 0
  const rules = later(async () => {
    times++
    return { double: (value: number) => value * 2 }
  })
  return { rules, times: () => times }
}

describe("lazily loaded rules", () => {
  it("are loaded once, on first use", async () => {
    const { rules, times } = counted()
    expect(times()).toBe(0)
    const facts = withRules(rules, () => Effect.succeed(21))
    for (let asked = 0; asked < 3; asked++) {
      const { known, rules: loaded } = await Effect.runPromise(facts)
      expect(loaded.double(known)).toBe(42)
    }
    expect(times()).toBe(1)
  })
  it("are available synchronously after all were loaded", async () => {
    const { rules, times } = counted()
    await Effect.runPromise(loadAll)
    expect(times()).toBe(1)
    expect(Effect.runSync(rules).double(1)).toBe(2)
    expect(times()).toBe(1)
  })
})
