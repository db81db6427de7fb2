/** Requests that began before the minute in which they are counted. */
import { describe, expect, it } from "vitest"
import { makeLocalRateLimiter, makeSharedRateLimiter } from "../../../server/http/limits.ts"
import { engines } from "../../app.ts"
import { serve } from "../serving.ts"
import { makeCounters } from "./simulated.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")

describe("a request that is counted after its minute ended", () => {
  const limiters = {
    alone: makeLocalRateLimiter,
    shared: () => {
      const { take, told } = makeCounters()
      return makeSharedRateLimiter({
        ...told,
        take: ({ limit, minute, needed, who }) =>
          take(`${minute} ${who}`, limit, (remaining) => Math.min(remaining, needed))
      })
    }
  }
  it.each(Object.entries(limiters))("does not reset the current minute's count (%s)", async (_name, make) => {
    const limiter = make()
    for (let times = 0; times < 5; times++) await limiter.count("guesser", 5, noon)
    expect(limiter.look("guesser", 5, noon).exceeded).toBe(true)
    await limiter.count("late", 5, noon - 1)
    expect(limiter.look("guesser", 5, noon + 1)).toMatchObject({ exceeded: true, remaining: 0 })
    expect((await limiter.count("guesser", 5, noon + 1)).exceeded).toBe(true)
  })
  it.each(Object.entries(limiters))("counts in the current minute (%s)", async (_name, make) => {
    const limiter = make()
    await limiter.count("guesser", 5, noon)
    for (let times = 0; times < 4; times++) await limiter.count("guesser", 5, noon - 1)
    expect((await limiter.count("guesser", 5, noon)).exceeded).toBe(true)
  })
  it.each(Object.entries(limiters))(
    "starts a new minute if the clock was set back an hour (%s)",
    async (_name, make) => {
      const limiter = make()
      for (let times = 0; times < 5; times++) await limiter.count("guesser", 5, noon)
      expect((await limiter.count("guesser", 5, noon - 3_600_000)).exceeded).toBe(false)
    }
  )
})

describe.each(engines)("invalid login codes in slow bodies on %s", (engine) => {
  it("do not reset the address's count for the current minute", async () => {
    const server = await serve(engine)
    try {
      const limited = { settings: { anonymous_rate_limit: 3 } }
      expect((await server.ask("/api/v1/settings/api", { method: "PUT", json: limited })).status).toBe(200)
      const redeem = { token: null, method: "POST", from: "203.0.113.9" } as const
      const guess = (n: number) =>
        server.ask("/api/v1/login_codes/redeem", { ...redeem, json: { code: `AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-000${n}` } })
      server.setClock(noon - 1_000)
      let finish = (): void => {}
      const finished = new Promise<void>((done) => (finish = done))
      const slow = server.app.ask({
        method: "POST",
        target: "/api/v1/login_codes/redeem",
        remote_address: redeem.from,
        headers: { "content-type": "application/json" },
        body: () => finished.then(() => Buffer.from("{}"))
      })
      await new Promise((done) => setTimeout(done, 50))
      server.setClock(noon + 3_600_000)
      for (let n = 0; n < 3; n++) expect((await guess(n)).status).toBe(422)
      expect((await guess(4)).status).toBe(429)
      finish()
      await slow
      expect((await guess(5)).status).toBe(429)
    } finally {
      await server.close()
    }
  })
})
