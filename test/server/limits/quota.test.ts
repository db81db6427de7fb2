import { describe, expect, it } from "vitest"
import {
  type Admission,
  makeMonthQuota,
  type MonthQuota,
  type QuotaState,
  type TakingUnits,
  unitsGranted
} from "../../../server/http/limit-quota.ts"
import { chanceFrom, makeCounters, makeSteps, type Steps } from "./simulated.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")

describe("a process's reservation of a month's quota", () => {
  it.each([
    // remaining, needed, used lately, given
    [1_000, 1, 0, 1],
    [1_000, 5, 3, 5],
    [1_000, 1, 100, 100],
    [1_000, 1, 400, 125],
    [15, 1, 400, 1],
    [5, 5, 400, 5],
    [4, 5, 400, undefined],
    [0, 1, 0, undefined],
    [0, 0, 0, 0],
    [-20, -25, 0, -2],
    [-20, -1, 0, undefined]
  ])(
    "is limited by the remaining units: with %i left, %i needed and %i used before, it is %s",
    (remaining, needed, used, given) => {
      expect(unitsGranted(remaining, needed, used)).toBe(given)
    }
  )
})

/** Several processes that share counters by month and token, with the calls each has answered but not recorded. */
const processesWith = (count: number, options: { readonly shared?: boolean; readonly later?: Steps["later"] } = {}) => {
  const { shared = true } = options
  const { ask, counters, later, take, told, world } = makeCounters(options.later)
  const takeUnits = async ({ limit, month, needed, token_id, used }: TakingUnits) => {
    const { granted, taken } = await take(`${month} ${token_id}`, limit, (left) => unitsGranted(left, needed, used))
    return { granted, units: taken }
  }
  const processes = Array.from({ length: count }, () => {
    const quota = makeMonthQuota({
      ...told,
      take: shared ? takeUnits : undefined,
      read: (token_id, month) => ask(() => counters.get(`${month} ${token_id}`) ?? 0)
    })
    const answered = new Map<number, number>()
    return {
      quota,
      answer: (admission: Admission, units: number, token_id = 12) => {
        admission.settle(units)
        answered.set(token_id, (answered.get(token_id) ?? 0) + units)
      },
      /** Records answered calls some time later, as a server does, or fails to. */
      record: async (month = "2026-06", comes_to_nothing = false) => {
        const units = new Map(answered)
        answered.clear()
        await later(() => undefined)
        const { changes, committed } = quota.flushing(units, month)
        await later(() => {
          if (comes_to_nothing) return
          for (const [id, more] of changes) counters.set(`${month} ${id}`, (counters.get(`${month} ${id}`) ?? 0) + more)
          committed()
        })
        if (comes_to_nothing) for (const [id, more] of units) answered.set(id, (answered.get(id) ?? 0) + more)
      }
    }
  })
  return { world, processes, counters }
}
const asking = { token_id: 12, weight: 1, limit: 10, passes: false, now: noon }
const stateOf = async (quota: MonthQuota, more: Partial<typeof asking> = {}): Promise<QuotaState> => {
  const admission = await quota.admit({ ...asking, ...more })
  if (!admission.state.exceeded) admission.settle(admission.state.weight)
  return admission.state
}

describe.each([true, false])("a month's quota (shared with others: %s)", (shared) => {
  it("admits exactly its units, and reports what is left and when it resets", async () => {
    const { processes } = processesWith(1, { shared })
    const { quota } = processes[0]!
    const states: Array<QuotaState> = []
    for (let at = 0; at < 12; at++) states.push(await stateOf(quota))
    expect(states.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0])
    expect(states.map(({ exceeded }) => exceeded).indexOf(true)).toBe(10)
    expect(states[11]).toMatchObject({
      limit: 10,
      used: 10,
      reset_at_seconds: Date.parse("2026-07-01T00:00:00.000Z") / 1000,
      retry_after_seconds: 12.5 * 86_400
    })
  })
  it("counts the usage recorded earlier in the month, and resets with the month", async () => {
    const { counters, processes } = processesWith(1, { shared })
    counters.set("2026-06 12", 8)
    const { quota } = processes[0]!
    expect(await stateOf(quota)).toMatchObject({ used: 9, exceeded: false })
    expect(await stateOf(quota, { weight: 2 })).toMatchObject({ used: 9, exceeded: true, weight: 2 })
    expect(await stateOf(quota)).toMatchObject({ used: 10, exceeded: false })
    expect(await stateOf(quota)).toMatchObject({ exceeded: true })
    const last = Date.parse("2026-06-30T23:59:59.999Z")
    expect(await stateOf(quota, { now: last })).toMatchObject({ exceeded: true, retry_after_seconds: 1 })
    expect(await stateOf(quota, { now: last + 1 })).toMatchObject({ exceeded: false, used: 1 })
  })
  it("admits free calls above the quota, and admits and counts devices' sync", async () => {
    const { processes } = processesWith(1, { shared })
    const { quota } = processes[0]!
    for (let at = 0; at < 10; at++) await stateOf(quota)
    expect(await stateOf(quota, { weight: 0 })).toMatchObject({ exceeded: false, remaining: 0 })
    expect(await stateOf(quota, { passes: true })).toMatchObject({ exceeded: false, remaining: 0, used: 11 })
    expect(await stateOf(quota)).toMatchObject({ exceeded: true, used: 11 })
  })
  it("is credited the units that a response did not cost", async () => {
    const { processes } = processesWith(1, { shared })
    const { quota } = processes[0]!
    const admissions = await Promise.all([5, 5].map((weight) => quota.admit({ ...asking, weight })))
    expect(await stateOf(quota)).toMatchObject({ exceeded: true })
    admissions[0]!.settle(0)
    admissions[0]!.settle(5)
    expect(await stateOf(quota)).toMatchObject({ exceeded: false, used: 6 })
  })
  it("applies a lower or higher value at once", async () => {
    const { processes } = processesWith(1, { shared })
    const { quota } = processes[0]!
    for (let at = 0; at < 6; at++) await stateOf(quota, { limit: 1_000 })
    expect(await stateOf(quota, { limit: 6 })).toMatchObject({ exceeded: true, used: 6 })
    expect(await stateOf(quota, { limit: 7 })).toMatchObject({ exceeded: false, used: 7 })
  })
  it("uses local counts while the database fails, which is logged once", async () => {
    const { processes, world } = processesWith(1, { shared })
    const { quota } = processes[0]!
    expect(await stateOf(quota)).toMatchObject({ used: 1 })
    world.failing = true
    const states: Array<QuotaState> = []
    for (let at = 0; at < 12; at++) states.push(await stateOf(quota))
    expect(states.filter(({ exceeded }) => !exceeded)).toHaveLength(9)
    expect(world.failures).toBe(shared ? 1 : 0)
    world.failing = false
    world.elapsed += 10_000
    expect(await stateOf(quota, { limit: 11 })).toMatchObject({ exceeded: false, used: 11 })
  })
  it("writes the units of responses to the database once", async () => {
    const { counters, processes } = processesWith(1, { shared })
    const one = processes[0]!
    for (let at = 0; at < 40; at++) one.answer(await one.quota.admit({ ...asking, limit: 1_000 }), at % 4 === 0 ? 0 : 1)
    const in_flight = await one.quota.admit({ ...asking, limit: 1_000, weight: 5 })
    await one.record("2026-06", true)
    await one.record()
    expect(counters.get("2026-06 12")).toBe(shared ? 35 : 30)
    one.answer(in_flight, 5)
    await one.record()
    expect(counters.get("2026-06 12")).toBe(35)
    expect(await stateOf(one.quota, { limit: 1_000 })).toMatchObject({ used: 36 })
  })
})

describe("processes that share a quota", () => {
  it("query the database for fewer than one in ten requests while far below the quota", async () => {
    const { processes, world } = processesWith(2)
    for (let at = 0; at < 2_000; at++) {
      const one = processes[at % 2]!
      one.answer(await one.quota.admit({ ...asking, limit: 100_000 }), 1)
      if (at % 200 === 199) await one.record()
    }
    expect(world.asked).toBeLessThan(200)
  })
  it("admit exactly the quota's units of concurrent requests, and query once a second after a refusal", async () => {
    const { processes, world } = processesWith(1)
    const { quota } = processes[0]!
    const states = await Promise.all(Array.from({ length: 30 }, () => stateOf(quota)))
    expect(states.filter(({ exceeded }) => !exceeded)).toHaveLength(10)
    const { asked } = world
    for (let at = 0; at < 20; at++) expect((await stateOf(quota, { now: noon + at * 50 })).exceeded).toBe(true)
    expect(world.asked).toBe(asked)
    await stateOf(quota, { now: noon + 1_001 })
    expect(world.asked).toBe(asked + 1)
  })
  it("return unused reservations when responses are recorded", async () => {
    const { processes } = processesWith(2)
    const [one, other] = [processes[0]!, processes[1]!]
    for (let at = 0; at < 40; at++) one.answer(await one.quota.admit({ ...asking, limit: 80 }), 1)
    await one.record()
    for (let at = 0; at < 40; at++) expect(await stateOf(other.quota, { limit: 80 })).toMatchObject({ exceeded: false })
    expect(await stateOf(other.quota, { limit: 80 })).toMatchObject({ exceeded: true, used: 80 })
  })
  it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
    "never exceed the quota, and count every unit, in any order of requests and responses (%i)",
    async (seed) => {
      const chance = chanceFrom(seed)
      const steps = makeSteps(chance)
      const count = 1 + Math.floor(chance() * 4)
      const limit = [1, 3, 20, 200, 1_000][Math.floor(chance() * 5)]!
      const { counters, processes } = processesWith(count, { later: steps.later })
      let [spent, most, refused] = [0, 0, 0]
      const open: Array<() => void> = []
      let promised = 0
      const request = (at: number): void => {
        const weight = chance() < 0.2 ? 5 : chance() < 0.1 ? 0 : 1
        const one = processes[at]!
        const settle = (admission: Admission): void => {
          if (admission.state.exceeded) return void refused++
          promised += weight
          most = Math.max(most, spent + promised)
          open.push(() => {
            const units = chance() < 0.1 ? 0 : weight
            promised -= weight
            spent += units
            one.answer(admission, units)
          })
        }
        const admission = one.quota.admit({ ...asking, weight, limit })
        if (admission instanceof Promise) void admission.then(settle)
        else settle(admission)
      }
      const recording = processes.map(() => Promise.resolve())
      const record = (at: number, comes_to_nothing = false): void => {
        recording[at] = recording[at]!.then(() => processes[at]!.record("2026-06", comes_to_nothing))
      }
      for (let at = 0; at < limit * 2 + 40; at++) {
        request(Math.floor(chance() * count))
        if (chance() < 0.5) open.splice(Math.floor(chance() * open.length), 1)[0]?.()
        if (chance() < 0.05) record(Math.floor(chance() * count), chance() < 0.3)
        while (steps.waiting() > 0 && chance() < 0.7) await steps.step()
      }
      await steps.all()
      for (const answer of open.splice(0)) answer()
      for (const at of processes.keys()) record(at)
      await steps.all()
      expect(most).toBeLessThanOrEqual(limit)
      expect(counters.get("2026-06 12")).toBe(spent)
      // The rest of the limit is still granted.
      for (let at = spent; at < limit; at++) {
        const got = processes[0]!.quota.admit({ ...asking, limit, now: noon + 2_000 })
        await steps.all()
        expect((await got).state.exceeded).toBe(false)
      }
      const over = processes[0]!.quota.admit({ ...asking, limit, now: noon + 2_000 })
      await steps.all()
      expect((await over).state.exceeded).toBe(true)
    }
  )
})
