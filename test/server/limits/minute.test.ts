import { describe, expect, it } from "vitest"
import {
  grantOf,
  makeLocalRateLimiter,
  makeSharedRateLimiter,
  type RateLimitState
} from "../../../server/http/limits.ts"
import { chanceFrom, makeCounters, makeSteps, type Steps } from "./simulated.ts"

type RateLimiter = ReturnType<typeof makeLocalRateLimiter>

const noon = Date.parse("2026-06-18T12:00:00.000Z")

describe("a process's reservation of a minute's limit", () => {
  it.each([
    // remaining, needed, used, given
    [600, 1, 0, 1],
    [600, 1, 1, 1],
    [599, 1, 2, 2],
    [500, 1, 40, 40],
    [500, 1, 400, 62],
    [500, 90, 3, 90],
    [17, 1, 100, 2],
    [15, 1, 100, 1],
    [2, 5, 100, 2],
    [1, 1, 100, 1],
    [0, 1, 100, 0],
    [-3, 1, 100, 0]
  ])(
    "is limited by the remaining requests: with %i left, %i needed and %i used before, it is %i",
    (remaining, needed, used, given) => {
      expect(grantOf(remaining, needed, used)).toBe(given)
    }
  )
})

/** Several processes that share one counter. */
const processesWith = (count: number, later?: Steps["later"]) => {
  const { counters, take, told, world } = makeCounters(later)
  const limiters: ReadonlyArray<RateLimiter> = Array.from({ length: count }, () =>
    makeSharedRateLimiter({
      ...told,
      take: ({ limit, minute, needed, used, who }) =>
        take(`${minute} ${who}`, limit, (remaining) => grantOf(remaining, needed, used))
    })
  )
  return { world, limiters, counters }
}
const admittedOf = (states: ReadonlyArray<RateLimitState>): number => states.filter(({ exceeded }) => !exceeded).length

describe("a rate limit shared by processes", () => {
  it.each([1, 2, 20, 600])("admits exactly its %i sequential requests", async (limit) => {
    const { limiters, world } = processesWith(3)
    const states: Array<RateLimitState> = []
    for (let at = 0; at < limit * 3 + 30; at++) states.push(await limiters[at % 3]!.count("token", limit, noon))
    expect(admittedOf(states)).toBe(limit)
    if (limit === 600) expect(world.asked).toBeLessThan(150)
  })
  it("queries the database for fewer than one in fifty requests while far below the limit", async () => {
    const { limiters, world } = processesWith(1)
    for (let at = 0; at < 1_000; at++) await limiters[0]!.count("token", 10_000, noon)
    expect(world.asked).toBeLessThan(20)
  })
  it("queries the database at most twice for all waiting requests, and not again in a refused minute", async () => {
    const { limiters, world } = processesWith(1)
    const limiter = limiters[0]!
    const states = await Promise.all(Array.from({ length: 30 }, () => limiter.count("token", 20, noon)))
    expect(admittedOf(states)).toBe(20)
    const asked = world.asked
    expect(asked).toBeLessThanOrEqual(2)
    for (let at = 0; at < 50; at++) expect(limiter.count("token", 20, noon)).toMatchObject({ exceeded: true })
    expect(world.asked).toBe(asked)
    expect(await limiter.count("token", 20, noon + 60_000)).toMatchObject({ exceeded: false, remaining: 19 })
  })
  it("reports the requests left, down to zero", async () => {
    const { limiters } = processesWith(2)
    const left: Array<number> = []
    for (let at = 0; at < 5; at++) left.push((await limiters[at % 2]!.count("token", 4, noon)).remaining)
    expect(left).toEqual([3, 2, 1, 0, 0])
    expect(limiters[0]!.look("token", 4, noon)).toMatchObject({ exceeded: true, remaining: 0, limit: 4 })
    expect(limiters[0]!.look("other", 4, noon)).toMatchObject({ exceeded: false, remaining: 4 })
  })
  it("applies a lower or higher value at once", async () => {
    const { limiters } = processesWith(2)
    for (let at = 0; at < 10; at++) await limiters[0]!.count("token", 600, noon)
    expect(await limiters[0]!.count("token", 5, noon)).toMatchObject({ exceeded: true, limit: 5 })
    expect(await limiters[1]!.count("token", 5, noon)).toMatchObject({ exceeded: true, limit: 5 })
    expect(await limiters[1]!.count("token", 600, noon)).toMatchObject({ exceeded: false, limit: 600 })
  })
  it("is counted by each process alone while the database fails, which is logged once", async () => {
    const { limiters, world } = processesWith(1)
    const limiter = limiters[0]!
    world.failing = true
    const states: Array<RateLimitState> = []
    for (let at = 0; at < 30; at++) {
      states.push(await limiter.count("token", 20, noon))
      world.elapsed += 500
    }
    expect(admittedOf(states)).toBe(20)
    expect(world.failures).toBe(1)
    const asked = world.asked
    await limiter.count("other", 20, noon)
    await limiter.count("other", 20, noon)
    expect(world.asked).toBeLessThanOrEqual(asked + 1)
    world.failing = false
    world.elapsed += 10_000
    expect(await limiter.count("third", 20, noon)).toMatchObject({ exceeded: false, remaining: 19 })
    world.failing = true
    await limiter.count("fourth", 20, noon)
    expect(world.failures).toBe(2)
  })
})

describe("a rate limit under any order of requests and database responses", () => {
  it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
    "is never exceeded, and is almost fully used: seed %i",
    async (seed) => {
      const chance = chanceFrom(seed)
      const steps = makeSteps(chance)
      const count = 1 + Math.floor(chance() * 5)
      const limit = [1, 2, 20, 100, 600][Math.floor(chance() * 5)]!
      const { limiters, counters } = processesWith(count, steps.later)
      const used = limiters.map(() => 0)
      let refused = 0
      const request = (at: number): void => {
        const settle = (state: RateLimitState): void => {
          if (state.exceeded) refused++
          else used[at]!++
          expect(state.remaining).toBeGreaterThanOrEqual(0)
        }
        const state = limiters[at]!.count("token", limit, noon)
        if (state instanceof Promise) void state.then(settle)
        else settle(state)
      }
      // Some processes stop after a while: their reserves are lost to the others.
      const silent_from = limiters.map((_, at) => (at === 0 ? Infinity : chance() * limit * 2))
      for (let at = 0; at < limit * 3 + 20; at++) {
        const process = Math.floor(chance() * count)
        if (at < silent_from[process]!) request(process)
        while (steps.waiting() > 0 && chance() < 0.7) await steps.step()
      }
      await steps.all()
      for (let at = 0; at < limit + 1; at++) {
        request(0)
        await steps.all()
      }
      const total = used.reduce((sum, one) => sum + one, 0)
      expect(total).toBeLessThanOrEqual(limit)
      expect(counters.get(`${noon / 60_000} token`)).toBe(limit)
      expect(refused).toBeGreaterThan(0)
      // A stopped process leaves no more unused than it used, and at most an eighth of the limit.
      const left = used.slice(1).reduce((sum, one) => sum + Math.min(one, limit / 8), 0)
      expect(total).toBeGreaterThanOrEqual(limit - left)
    }
  )
})

describe("a rate limit of one process", () => {
  it("admits exactly its requests, and resets each minute", () => {
    const limiter = makeLocalRateLimiter()
    const states = Array.from({ length: 5 }, () => limiter.count("token", 3, noon) as RateLimitState)
    expect(states.map(({ exceeded, remaining }) => [exceeded, remaining])).toEqual([
      [false, 2],
      [false, 1],
      [false, 0],
      [true, 0],
      [true, 0]
    ])
    expect(limiter.look("token", 3, noon)).toMatchObject({ exceeded: true, retry_after_seconds: 60 })
    expect(limiter.look("token", 3, noon + 60_000)).toMatchObject({ exceeded: false, remaining: 3 })
  })
})
